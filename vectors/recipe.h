/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes of inputs: what case_vector.c and recipe_attention.c share. Private to vectors/. */
#ifndef POSREF_RECIPE_H
#define POSREF_RECIPE_H

#include "vectors/vectors.h"

/* The seed of input `name` of vector `text`, and the generator (SplitMix64). */
uint64_t posref_recipe_seed(const char *text, const char *name);
uint64_t posref_recipe_random(uint64_t *state);
/* +-k * unit, 1 <= k <= 127. */
void posref_recipe_fill(double *out, int64_t count, uint64_t seed, double unit);

/* Inputs of scores and attention: q, k, v, mask. */
bool posref_recipe_is_attention(const char *name);
POSREF_MUST_USE enum posref_status
posref_recipe_attention(struct posref_vector *vector, const char *name, const char *recipe,
                        const struct posref_arena *arena, struct posref_error *err);

/* Flat values of q, k or v as a row for each query or key, without heads. */
POSREF_MUST_USE enum posref_status posref_recipe_shape(struct posref_tensor *tensor,
                                                       const struct posref_tensors *inputs,
                                                       struct posref_error *err);

#endif
