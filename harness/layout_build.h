/* SPDX-License-Identifier: Apache-2.0 */
/* What a form of layouts.c is made of, and the pieces it is made with. Private to the layout
 * files. */
#ifndef POSREF_LAYOUT_BUILD_H
#define POSREF_LAYOUT_BUILD_H

#include "layouts.h"

/* Rows of a vector, repeated: judged row i is row[i] of the vector, in copy number copy[i]. */
struct posref_layout_rows {
    int64_t n, heads; /* heads 0: as the vector has them */
    int64_t *row, *copy, *first; /* room for 2 n + 2 */
    bool same_heads; /* the heads of a row are one and the same */
};

struct posref_layout_build {
    const struct posref_layout_case *of;
    struct posref_trial *trial;
    struct posref_layout_result *result;
    struct posref_tensors rows; /* inputs of the judged rows, as posref_trial_make has them */
    struct posref_placement *placement; /* NULL until one is needed */
    enum posref_dtype dtype;
    const struct posref_arena *arena;
    struct posref_error *err;
    bool failed; /* for want of memory */
    enum posref_status status; /* of what the reference had to compute */
    struct posref_place spare; /* then */
};

/* A form: which rows it has, and its tensors. */
typedef void posref_rows_fn(struct posref_layout_case *out, struct posref_layout_rows *rows,
                            const struct posref_vector *vector);
typedef void posref_lay_fn(struct posref_layout_build *b);
typedef enum posref_status posref_golden_fn(struct posref_layout_case *out,
                                            const struct posref_arena *arena,
                                            struct posref_error *err);
struct posref_layout_form {
    /* Fills *rows, and batch, seq and first of out, where the form has them. NULL: the vector's
     * rows as they are, and lay changes the call that posref_trial_make has made of them. */
    posref_rows_fn *rows;
    posref_lay_fn *lay;
    /* Changes the judged vector's inputs and output; NULL: they are the vector's. */
    posref_golden_fn *golden;
};
extern const struct posref_layout_form posref_forms[POSREF_N_LAYOUTS];

/* Memory for count elements of 8 bytes; NULL sets failed. */
void *posref_layout_room(struct posref_layout_build *b, int64_t count);
/* A tensor without data. */
struct posref_tensor *posref_layout_add(struct posref_tensors *set, const char *name,
                                        enum posref_dtype dtype, int rank, const int64_t *shape);
/* Names of what is rotated and of the result: x and y, dy and dx. */
const char *posref_layout_in(const struct posref_layout_build *b);
const char *posref_layout_out(const struct posref_layout_build *b);
/* A tensor whose row k (of its last axis) is row row_of[k] of another one, a NaN pattern for -1. */
void posref_layout_input_of(struct posref_layout_build *b, const struct posref_tensor *from,
                            const char *name, int rank, const int64_t *shape,
                            const int64_t *row_of);
/* The same of judged rows. */
void posref_layout_input(struct posref_layout_build *b, const char *name, int rank,
                         const int64_t *shape, const int64_t *row_of);
void posref_layout_output(struct posref_layout_build *b, const char *name, int rank,
                          const int64_t *shape, const int64_t *row_of);
/* x and y alike. */
void posref_layout_both(struct posref_layout_build *b, int rank, const int64_t *shape,
                        const int64_t *row_of);
/* Judged rows of [batch, seq, heads] or [batch, heads, seq]. */
int64_t *posref_layout_grid(struct posref_layout_build *b, bool heads_first);
/* 0, 1, 2, ... */
int64_t *posref_layout_count(struct posref_layout_build *b, int64_t n);
/* Positions whose k-th is that of judged row row_of[k] (0 for -1): shape, after the axes' where
 * there are several. */
void posref_layout_positions(struct posref_layout_build *b, int rank, const int64_t *shape,
                             const int64_t *row_of);
/* Integers, I32 or I64. */
void posref_layout_integers(struct posref_layout_build *b, const char *name,
                            enum posref_dtype dtype, int rank, const int64_t *shape,
                            const int64_t *value);
/* The place of a tensor by its number (inputs, then outputs), contiguous so far; to be called once
 * all tensors are there. */
struct posref_place *posref_layout_place(struct posref_layout_build *b, int tensor);
/* Elements from the first to the last. */
int64_t posref_layout_extent(const struct posref_place *place, const struct posref_tensor *tensor);
const struct posref_tensor *posref_layout_tensor(const struct posref_layout_build *b, int tensor);

/* The forms, by file. layout_batches.c: */
posref_rows_fn posref_rows_shared, posref_rows_own, posref_rows_same_heads, posref_rows_left_pad;
posref_lay_fn posref_lay_bhsd, posref_lay_bshd, posref_lay_transposed, posref_lay_broadcast,
    posref_lay_batch_positions, posref_lay_left_pad;
/* layout_packed.c: */
posref_rows_fn posref_rows_decode, posref_rows_varlen, posref_rows_qkv;
posref_lay_fn posref_lay_decode, posref_lay_varlen, posref_lay_qkv;
/* layout_attention.c: */
posref_lay_fn posref_lay_attention_bhsd, posref_lay_attention_bshd, posref_lay_attention_varlen;
/* layout_cache.c: */
posref_lay_fn posref_lay_kv_cache, posref_lay_kv_cache_hnd;
/* layout_norm.c: */
posref_golden_fn posref_golden_norm, posref_golden_norm_plus_one, posref_golden_norm_after;
posref_lay_fn posref_lay_norm;
/* layout_tables.c: rotation by tables that are handed in */
posref_lay_fn posref_lay_tables, posref_lay_tables_f32, posref_lay_cos_sin,
    posref_lay_cos_sin_cache, posref_lay_cos_sin_cache_f32;

#endif
