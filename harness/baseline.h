/* SPDX-License-Identifier: Apache-2.0 */
/* Known failures: a text file with a line "ID DTYPE VERDICT" each; # begins a comment. A failure
 * that is listed with its verdict is known and fails no run; a listed one that passes does, until
 * it is taken off the list. Private to harness/. */
#ifndef POSREF_BASELINE_H
#define POSREF_BASELINE_H

#include "verdict.h"
#include "vectors/vectors.h"

struct posref_baseline;

enum posref_baseline_answer {
    POSREF_BASELINE_NONE,  /* not listed */
    POSREF_BASELINE_KNOWN, /* listed, and fails as listed */
    POSREF_BASELINE_FIXED, /* listed, and passes */
    POSREF_BASELINE_OTHER  /* listed, and fails in another way: a new failure */
};

/* Reads the file; errors name it and the line. */
POSREF_MUST_USE enum posref_status posref_baseline_read(struct posref_baseline **out,
                                                        const char *path,
                                                        struct posref_error *err);
void posref_baseline_free(struct posref_baseline *baseline); /* NULL is fine */
/* baseline may be NULL: nothing is listed. */
enum posref_baseline_answer posref_baseline_look(const struct posref_baseline *baseline,
                                                 const char *id, enum posref_dtype dtype,
                                                 enum posref_verdict verdict);
/* Writes the failures of a complete stream of lines as a baseline: a temporary file, then renamed.
 * Fails, leaving the old file, when a process died or a call timed out: such a run says too
 * little. */
POSREF_MUST_USE enum posref_status posref_baseline_write(const char *path, const char *lines,
                                                         size_t size_bytes,
                                                         struct posref_error *err);

#endif
