/* SPDX-License-Identifier: Apache-2.0 */
/* The little of ggml that the test of weights calls, resolved at run time. */
#ifndef POSREF_TESTS_WEIGHTS_GGML_H
#define POSREF_TESTS_WEIGHTS_GGML_H

#include "harness/weights.h"
#include "tests/unit/made_model.h"

#define GGML_NORMAL 0
#define GGML_NEOX 2

struct ggml_start { size_t mem_size; void *mem_buffer; bool no_alloc; };

struct ggml {
    void *base, *cpu;
    int64_t (*blck_size)(int type);
    size_t (*type_size)(int type);
    size_t (*quantize_chunk)(int type, const float *from, void *to, int64_t start, int64_t n_rows,
                             int64_t n_per_row, const float *importance);
    void (*cpu_init)(void);
    void *(*init)(struct ggml_start start);
    void (*free)(void *context);
    void *(*new_1d)(void *context, int type, int64_t n);
    void *(*new_4d)(void *context, int type, int64_t a, int64_t b, int64_t c, int64_t d);
    void *(*get_data)(const void *tensor);
    void *(*rope_ext)(void *context, void *x, void *positions, void *factors, int n_dims, int mode,
                      int n_ctx_orig, float base, float scale, float ext, float attention,
                      float beta_fast, float beta_slow);
    void *(*new_graph)(void *context);
    void (*build)(void *graph, void *tensor);
    int (*compute)(void *context, void *graph, int n_threads);
};

extern const int32_t ggml_positions[3];

/* Loads libggml-base.so and a CPU library that suits this machine; NULL, or why not. */
const char *ggml_open(struct ggml *out, const char *directory);
/* Rotates y[token][head][dim] in place at ggml_positions. */
void ggml_rotate(const struct ggml *ggml, float *y, int64_t heads, int64_t dim, int64_t n_tokens,
                 int mode, float base);

#endif
