/* SPDX-License-Identifier: Apache-2.0 */
/* Small models for tests: random weights in memory, permuted as a port (or a mistake) would, and
 * written as safetensors, GGUF or npy. */
#ifndef POSREF_TESTS_MADE_MODEL_H
#define POSREF_TESTS_MADE_MODEL_H

#include "vectors/files.h"

struct made_tensor {
    char name[128];
    int64_t rows, columns; /* columns 0: a vector */
    float *value;
    enum posref_stored_type type; /* how it is written */
};

struct made_model {
    struct made_tensor tensor[64];
    int n;
    uint64_t state; /* of the random numbers */
};

/* Values are multiples of 1/64 in about [-4, 4]: exact in every float type. */
void made_init(struct made_model *model, uint64_t seed);
void made_clear(struct made_model *model);
struct made_tensor *made_add(struct made_model *model, const char *name, int64_t rows,
                             int64_t columns);
struct made_tensor *made_find(struct made_model *model, const char *name);
void made_copy(struct made_model *to, const struct made_model *from);
double made_random(struct made_model *model); /* uniform in [0, 1) */

/* Row i becomes old row source[i]. */
void made_move_rows(struct made_tensor *tensor, const int64_t *source);
/* half to interleaved (or back, to_half) of rows first.. in each of n_heads heads; written from
 * its definition, not shared with the product. */
void made_port(struct made_tensor *tensor, int64_t n_heads, int64_t first, int64_t rows,
               bool to_half);

/* Encodes n values (whole blocks) as `type`; the quantised ones with plain rounding. */
void made_encode(unsigned char *out, enum posref_stored_type type, const float *value, int64_t n);

void made_save_safetensors(const struct made_model *model, const char *path);

struct made_pair { const char *key; int64_t number; const char *text; }; /* text wins */
/* version 3, alignment 32; pairs end with a NULL key. Only tensors first.. to last - 1. */
void made_save_gguf(const struct made_model *model, const char *path,
                    const struct made_pair *pairs, int first, int last);
void made_save_npy(const struct made_tensor *tensor, const char *path);
void made_save_text(const char *path, const char *text);

#endif
