/* SPDX-License-Identifier: Apache-2.0 */
/* The table of forms of layouts.c, and those of the vector's own rows elsewhere in memory. */
#include "layout_build.h"

#include <string.h>

/* ---- the vector's own rows, elsewhere in memory ---- */

static int tensor_of(const struct posref_layout_build *b, const char *name)
{
    const int n = b->trial->in.n + b->trial->out.n;
    int k = 0;
    while (k < n && strcmp(posref_layout_tensor(b, k)->name, name) != 0)
        k++;
    return k;
}

/* Rows with `gap` elements behind each, and more behind each group of rows. */
static void spread(struct posref_layout_build *b, const char *name, int64_t step, int64_t gap)
{
    const int k = tensor_of(b, name);
    const struct posref_tensor *tensor = posref_layout_tensor(b, k);
    struct posref_place *place = posref_layout_place(b, k);
    int64_t stride = step;
    for (int axis = tensor->rank - 1; axis >= 0; axis--) {
        place->strides[axis] = stride;
        stride = stride * tensor->shape[axis] + gap;
    }
    place->n_buffer = posref_layout_extent(place, tensor);
}

/* Other gaps in x than in y: a kernel that takes the strides of one for the other's is caught. */
static void lay_strided(struct posref_layout_build *b)
{
    spread(b, posref_layout_in(b), 1, 3);
    spread(b, posref_layout_out(b), 1, 6);
}

static void lay_strided_dim(struct posref_layout_build *b)
{
    spread(b, posref_layout_in(b), 2, 0);
    spread(b, posref_layout_out(b), 2, 4);
}

static void lay_inplace(struct posref_layout_build *b)
{
    const int in = tensor_of(b, posref_layout_in(b)), out = tensor_of(b, posref_layout_out(b));
    posref_layout_place(b, in)->is_written = true;
    posref_layout_place(b, out)->is_written = true;
    posref_layout_place(b, out)->n_buffer = 0;
    posref_layout_place(b, out)->buffer = in;
}

/* Gaps of another size in each; learned tables and masks stay as they are. */
static void lay_attention_strided(struct posref_layout_build *b)
{
    static const char *const names[] = {"q", "k", "v", "logits"};
    int64_t gap = 3;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (posref_tensors_find(&b->trial->in, names[k]))
            spread(b, names[k], 1, gap++);
    for (int k = 0; k < b->trial->out.n; k++)
        spread(b, b->trial->out.item[k].name, 1, gap++);
}

static void lay_int32(struct posref_layout_build *b)
{
    for (int k = 0; k < b->trial->in.n; k++) {
        struct posref_tensor *tensor = &b->trial->in.item[k];
        const int64_t *wide = tensor->data, count = posref_tensor_count(tensor);
        if (tensor->dtype != POSREF_I64)
            continue;
        int32_t *narrow = posref_layout_room(b, count);
        tensor->dtype = POSREF_I32;
        tensor->data = narrow;
        for (int64_t i = 0; i < count && narrow; i++)
            narrow[i] = (int32_t)wide[i]; /* positions reach 2^31 - 1 */
    }
}

/* In the order of layouts.c. */
const struct posref_layout_form posref_forms[POSREF_N_LAYOUTS] = {
    {NULL, lay_strided, NULL},
    {NULL, lay_strided_dim, NULL},
    {NULL, lay_inplace, NULL},
    {NULL, lay_int32, NULL},
    {posref_rows_shared, posref_lay_bhsd, NULL},
    {posref_rows_shared, posref_lay_bshd, NULL},
    {posref_rows_shared, posref_lay_transposed, NULL},
    {posref_rows_same_heads, posref_lay_broadcast, NULL},
    {posref_rows_own, posref_lay_batch_positions, NULL},
    {posref_rows_left_pad, posref_lay_left_pad, NULL},
    {posref_rows_decode, posref_lay_decode, NULL},
    {posref_rows_varlen, posref_lay_varlen, NULL},
    {posref_rows_qkv, posref_lay_qkv, NULL},
    {NULL, posref_lay_tables, NULL},
    {NULL, posref_lay_tables_f32, NULL},
    {NULL, posref_lay_cos_sin, NULL},
    {NULL, posref_lay_cos_sin_cache, NULL},
    {NULL, posref_lay_cos_sin_cache_f32, NULL},
    {posref_rows_decode, posref_lay_kv_cache, NULL},
    {posref_rows_decode, posref_lay_kv_cache_hnd, NULL},
    {posref_rows_decode, posref_lay_norm, posref_golden_norm},
    {posref_rows_decode, posref_lay_norm, posref_golden_norm_plus_one},
    {posref_rows_decode, posref_lay_norm, posref_golden_norm_after},
    {NULL, lay_attention_strided, NULL},
    {NULL, posref_lay_attention_bhsd, NULL},
    {NULL, posref_lay_attention_bshd, NULL},
    {NULL, posref_lay_attention_varlen, NULL},
};
