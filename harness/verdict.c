/* SPDX-License-Identifier: Apache-2.0 */
/* Names of verdicts. */
#include "verdict.h"

#include <string.h>

const char *posref_verdict_name(enum posref_verdict verdict)
{
    static const char *const names[POSREF_N_VERDICTS] = {
        "pass",    "fail",     "nan",       "unsupported",    "error",     "crash",
        "timeout", "bad-read", "bad-write", "input-modified", "unwritten", "nondeterministic",
        "exited"};
    return (unsigned)verdict < POSREF_N_VERDICTS ? names[verdict] : "?";
}

int posref_verdict_find(const char *name)
{
    for (int v = 0; v < POSREF_N_VERDICTS; v++)
        if (strcmp(posref_verdict_name((enum posref_verdict)v), name) == 0)
            return v;
    return -1;
}
