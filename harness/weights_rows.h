/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of two parts, ready to be compared any against any: by hash where both are stored alike,
 * else by decoded leading columns. Internal to harness/weights*.c. */
#ifndef POSREF_HARNESS_WEIGHTS_ROWS_H
#define POSREF_HARNESS_WEIGHTS_ROWS_H

#include "harness/weights.h"

#define POSREF_WEIGHTS_COLUMNS 256 /* decoded of each row: a whole number of any type's blocks */

struct posref_weights_rows {
    const struct posref_weights_part *before, *after;
    int64_t n;                                      /* rows of each */
    struct posref_weights_hash *old_hash, *new_hash; /* same type, or NULL */
    float *old_value, *new_value;                   /* n * columns, or NULL */
    int64_t columns;
    double tolerance, floor;                        /* relative to the row; per element */
    double shift;                                   /* new = old + shift */
    int n_threads;
};

/* Reads both parts (in parallel). */
POSREF_MUST_USE enum posref_status
posref_weights_rows_read(struct posref_weights_rows *out, const struct posref_weights_part *before,
                         const struct posref_weights_part *after, double shift, int n_threads,
                         struct posref_error *err);
void posref_weights_rows_clear(struct posref_weights_rows *rows);

/* Whether new row i is old row j. *square_error, when not NULL, gets the squared distance of the
 * decoded columns added (0 for hashes). */
bool posref_weights_rows_equal(const struct posref_weights_rows *rows, int64_t i, int64_t j,
                               double *square_error);

/* Compares all columns of new row i with old row source(ctx, i). Returns the first row that
 * differs, or -1; *worst gets the largest relative error, or that row's. */
int64_t posref_weights_rows_verify(const struct posref_weights_rows *rows,
                                   int64_t (*source)(const void *ctx, int64_t i), const void *ctx,
                                   double *worst);

/* Relative error of a row: root of sum (new - old - shift)^2 over the larger sum of squares;
 * *within says whether it is small enough for the pair's types. What is not finite must be the same
 * on both sides: then it counts nothing, else the error is infinite. */
double posref_weights_row_error(bool *within, const struct posref_stored *old_tensor,
                                const unsigned char *old_row,
                                const struct posref_stored *new_tensor,
                                const unsigned char *new_row, int64_t n_elements, double shift);

/* Asks the kernel to map these pages at once: a fault each costs more than the comparison. */
void posref_weights_touch(const unsigned char *data, int64_t size_bytes);

#endif
