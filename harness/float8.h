/* SPDX-License-Identifier: Apache-2.0 */
/* Golden vectors in dtypes of 8 bits. Stored inputs are exact in 16 bits and not in 8: here they
 * are rounded first, and the reference answers on the spot. Private to harness/. */
#ifndef POSREF_FLOAT8_H
#define POSREF_FLOAT8_H

#include "runner.h"
#include "vectors/vectors.h"

/* Whether the vector is handed out in 8 bits at all: rotations (either way) of plain tensors. */
bool posref_float8_offers(const struct posref_vector *vector);
/* Whether the dtype is one of 8 bits in which the vector is not offered. */
bool posref_float8_excludes(enum posref_dtype dtype, const struct posref_vector *vector);

/* Whether a plugin's list of dtypes ("f8e4m3 f8e5m2") has this one. */
bool posref_float8_is_named(const char *dtypes, enum posref_dtype dtype);

/* What stands for the trial of a vector that is not offered, or whose dtype the plugin does not
 * name: declined, and nothing to run. */
void posref_float8_withhold(struct posref_trial *trial, const struct posref_vector *vector,
                            const char *spec, enum posref_dtype dtype, bool is_offered);

/* The vector with x (or dy) times a power of two, rounded to the dtype, and the reference's answer
 * to that, in the arena; the id is a copy. The largest |x| is then from 16 to 32, or less where an
 * |output| would be above a quarter of the dtype's largest value: whether conversions saturate is
 * not asked. Fails as posref_eval does. */
POSREF_MUST_USE enum posref_status posref_float8_vector(struct posref_vector *out,
                                                        const struct posref_vector *in,
                                                        enum posref_dtype dtype,
                                                        const struct posref_arena *arena,
                                                        struct posref_error *err);

#endif
