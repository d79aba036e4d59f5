/* SPDX-License-Identifier: Apache-2.0 */
/* One evaluation in a test: a spec as text, inputs from C arrays, outputs as arrays. Every failure
 * that a test does not ask for ends the test with the error's text. */
#ifndef POSREF_TESTS_EVAL_FIXTURE_H
#define POSREF_TESTS_EVAL_FIXTURE_H

#include "vectors/vectors.h"

#include <check.h>

struct evaluation {
    struct posref_heap *heap;
    struct posref_arena arena;
    struct posref_spec spec; /* completed */
    struct posref_tensors in, out;
    struct posref_error err;
};

void evaluation_open(struct evaluation *e, const char *spec_text);
void evaluation_close(struct evaluation *e);
/* Borrows data. shape: rank numbers, e.g. (const int64_t[]){2, 4}. */
void evaluation_input(struct evaluation *e, const char *name, const double *data, int rank,
                      const int64_t *shape);
void evaluation_positions(struct evaluation *e, const double *positions, int64_t n);
/* Evaluates and hands out one output; *count, unless NULL, is its number of elements. */
const double *evaluation_run(struct evaluation *e, enum posref_op op, const char *output,
                             int64_t *count);
/* One output of the last evaluation. */
const double *evaluation_output(const struct evaluation *e, const char *name);
/* Evaluates, expects POSREF_BAD_INPUT with this key, and that no output was written. */
void evaluation_refused(struct evaluation *e, enum posref_op op, const char *key);

/* Rotations in one line: y [n, dim] of x [n, dim]. */
void rotate_rows(double *y, const char *spec_text, const double *positions, const double *x,
                 int64_t n);

/* Equal as bits, so that -0 and +0 differ. */
#define ck_assert_same(got, want, n) ck_assert_mem_eq((got), (want), (size_t)(n) * sizeof(double))
#define ck_assert_close(got, want, tolerance)                                                     \
    ck_assert_msg(fabs((got) - (want)) <= (tolerance), "got %.17g, want %.17g", (double)(got),    \
                  (double)(want))

/* Deterministic values in [-2, 2) with 10 significant bits; the seed goes on. */
double next_random(uint64_t *seed);

int run_evaluations(const char *name, const TTest *const *tests, size_t n_tests);
#define RUN_EVALUATIONS(name, tests) \
    run_evaluations((name), (tests), sizeof(tests) / sizeof *(tests))

#endif
