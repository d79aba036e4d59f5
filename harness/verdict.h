/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of one vector on one plugin. The names are stable: reports and scripts rely on them. */
#ifndef POSREF_VERDICT_H
#define POSREF_VERDICT_H

enum posref_verdict { POSREF_VERDICT_PASS, POSREF_VERDICT_FAIL, POSREF_VERDICT_NAN,
                      POSREF_VERDICT_UNSUPPORTED, POSREF_VERDICT_ERROR, POSREF_VERDICT_CRASH,
                      POSREF_VERDICT_TIMEOUT, POSREF_VERDICT_BAD_READ, POSREF_VERDICT_BAD_WRITE,
                      POSREF_VERDICT_INPUT_MODIFIED, POSREF_VERDICT_UNWRITTEN,
                      POSREF_VERDICT_NONDETERMINISTIC, POSREF_VERDICT_EXITED, POSREF_N_VERDICTS };

/* "pass", "fail", "bad-read", ... */
const char *posref_verdict_name(enum posref_verdict verdict);
/* The verdict called `name`, or -1. */
int posref_verdict_find(const char *name);

/* Neither passed nor declined: a run with one of these does not conform. */
static inline int posref_verdict_is_failure(enum posref_verdict verdict)
{
    return verdict != POSREF_VERDICT_PASS && verdict != POSREF_VERDICT_UNSUPPORTED;
}

#endif
