/* SPDX-License-Identifier: Apache-2.0 */
/* An example of a plugin that takes every layout: rope without scaling, with half pairing, one axis
 * of positions, in float64 and float32. Every element is reached by strides: one loop serves all.
 *
 * --config fault=NAME goes wrong as kernels do, to see each failure reported. */
#include "../posref_plugin.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows of one tensor as [batch, seq, heads], whatever its rank and the order of its axes. */
struct rows {
    const struct posref_plugin_tensor *tensor;
    int64_t batch, seq, heads, stride_batch, stride_seq, stride_head, stride_dim;
};

struct job {
    const struct posref_plugin_call *call;
    const char *fault, *layout;
    int64_t dim, pairs;
    double base, sign;
    uint32_t dtype;
    bool has_tables;
};

static bool is_faulty(const struct job *job, const char *fault)
{
    return strcmp(job->fault, fault) == 0;
}

static double get(const void *data, uint32_t dtype, int64_t at)
{
    return dtype == POSREF_PLUGIN_F64 ? ((const double *)data)[at]
                                      : (double)((const float *)data)[at];
}

static void put(void *data, uint32_t dtype, int64_t at, double value)
{
    if (dtype == POSREF_PLUGIN_F64)
        ((double *)data)[at] = value;
    else
        ((float *)data)[at] = (float)value;
}

/* ---- axes ---- */

/* The axis of [batch, ., ., dim] that counts tokens. */
static uint32_t seq_axis(const struct job *job)
{
    const bool heads_first = posref_plugin_word_is(job->layout, "bhsd") ||
                             posref_plugin_word_is(job->layout, "transposed");
    return heads_first != is_faulty(job, "heads_exchanged") ? 2 : 1;
}

static struct rows rows_of(const struct job *job, const struct posref_plugin_tensor *t)
{
    struct rows rows = {.tensor = t, .batch = 1, .seq = t->shape[0], .heads = 1,
                        .stride_seq = t->strides[0], .stride_dim = t->strides[t->rank - 1]};
    if (t->rank == 3) {
        rows.heads = t->shape[1];
        rows.stride_head = t->strides[1];
    }
    if (t->rank == 4) {
        const uint32_t seq = seq_axis(job), head = 3 - seq;
        rows.batch = t->shape[0];
        rows.stride_batch = t->strides[0];
        rows.seq = t->shape[seq];
        rows.stride_seq = t->strides[seq];
        rows.heads = t->shape[head];
        rows.stride_head = t->strides[head];
    }
    return rows;
}

/* Strides that a kernel would have which takes every tensor for contiguous. */
static void forget_strides(struct rows *rows)
{
    const struct posref_plugin_tensor *t = rows->tensor;
    int64_t stride[POSREF_PLUGIN_MAX_RANK] = {0}, next = 1;
    for (uint32_t axis = t->rank; axis-- > 0;) {
        stride[axis] = next;
        next *= t->shape[axis];
    }
    rows->stride_dim = 1;
    rows->stride_seq = stride[0];
    rows->stride_head = t->rank == 3 ? stride[1] : rows->stride_head;
    if (t->rank == 4) {
        const bool seq_second = rows->seq == t->shape[2] && rows->heads == t->shape[1];
        rows->stride_batch = stride[0];
        rows->stride_seq = stride[seq_second ? 2 : 1];
        rows->stride_head = stride[seq_second ? 1 : 2];
    }
}

/* ---- positions ---- */

static int64_t integer(const struct posref_plugin_tensor *t, int64_t k)
{
    return t->dtype == POSREF_PLUGIN_I64 ? ((const int64_t *)t->data)[k * t->strides[t->rank - 1]]
                                         : ((const int32_t *)t->data)[k * t->strides[t->rank - 1]];
}

/* The position of a token of a packed sequence. */
static double packed_position(const struct job *job, const struct posref_plugin_tensor *ends,
                              int64_t token)
{
    const struct posref_plugin_tensor *offset = posref_plugin_find(job->call, "offset");
    int64_t sequence = 0;
    while (token >= integer(ends, sequence + 1))
        sequence++;
    if (is_faulty(job, "not_restarted"))
        return (double)(integer(offset, 0) + token);
    return (double)(integer(offset, sequence) + token - integer(ends, sequence));
}

/* Cosine and sine of a pair, from tables that were handed in. */
static void look_up(double *c, double *s, const struct job *job, int64_t row, int64_t i)
{
    const struct posref_plugin_tensor *sines = posref_plugin_find(job->call, "sin");
    const struct posref_plugin_tensor *cosines = posref_plugin_find(job->call, "cos");
    const struct posref_plugin_tensor *cache = posref_plugin_find(job->call, "cos_sin_cache");
    const struct posref_plugin_tensor *table = cosines ? cosines
                                               : cache ? cache
                                                       : posref_plugin_find(job->call, "table");
    if (cache && !is_faulty(job, "row_of_token"))
        row = integer(posref_plugin_find(job->call, "positions"), row);
    const uint32_t dtype = is_faulty(job, "dtype_of_x") ? job->dtype : table->dtype;
    const int64_t at = row * table->strides[0] + i;
    const int64_t other = sines ? at : at + job->pairs;
    const bool swapped = is_faulty(job, "tables_exchanged");
    *c = get(swapped && sines ? sines->data : table->data, dtype, swapped ? other : at);
    *s = get(sines && !swapped ? sines->data : table->data, dtype, swapped ? at : other);
}

static double position(const struct job *job, int64_t b, int64_t s)
{
    const struct posref_plugin_tensor *positions = posref_plugin_find(job->call, "positions");
    const struct posref_plugin_tensor *ends = posref_plugin_find(job->call, "cu_seqlens");
    if (ends)
        return packed_position(job, ends, s);
    if (positions == NULL)
        return is_faulty(job, "offset_ignored")
                   ? (double)s
                   : (double)(integer(posref_plugin_find(job->call, "offset"), b) + s);
    if (is_faulty(job, "positions_int64") && positions->dtype == POSREF_PLUGIN_I32) {
        int64_t wide; /* not aligned to its size */
        memcpy(&wide, (const char *)positions->data + s / 2 * 8, sizeof wide);
        return (double)wide;
    }
    if (positions->rank == 1)
        return posref_plugin_position(positions, 0, s);
    return posref_plugin_position(positions, is_faulty(job, "batch_0_positions") ? 0 : b, s);
}

/* Whether a token is padding. */
static bool is_padding(const struct job *job, int64_t b, int64_t s)
{
    const struct posref_plugin_tensor *mask = posref_plugin_find(job->call, "mask");
    if (is_faulty(job, "batch_0_mask"))
        b = 0;
    return mask && *(const int64_t *)posref_plugin_at(mask, b, s, 0) == 0;
}

/* ---- the rotation ---- */

static void rotate_row(const struct job *job, const struct rows *y, const struct rows *x,
                       int64_t y_at, int64_t x_at, int64_t b, int64_t s)
{
    const uint32_t dtype = x->tensor->dtype;
    const bool late = is_faulty(job, "reads_late");
    const double where = job->has_tables ? 0 : position(job, b, s);
    for (int64_t i = 0; i < job->pairs; i++) {
        const double angle = where * pow(job->base, -(double)i / (double)job->pairs);
        const int64_t j = i + job->pairs;
        double cosine = cos(angle), sine = sin(angle);
        if (job->has_tables)
            look_up(&cosine, &sine, job, s, i);
        sine *= job->sign;
        const double u = get(x->tensor->data, dtype, x_at + i * x->stride_dim);
        double v = get(x->tensor->data, dtype, x_at + j * x->stride_dim);
        put(y->tensor->data, dtype, y_at + i * y->stride_dim, u * cosine - v * sine);
        const double first = late ? get(x->tensor->data, dtype, x_at + i * x->stride_dim) : u;
        put(y->tensor->data, dtype, y_at + j * y->stride_dim, first * sine + v * cosine);
    }
    for (int64_t k = 2 * job->pairs; k < job->dim; k++)
        put(y->tensor->data, dtype, y_at + k * y->stride_dim,
            get(x->tensor->data, dtype, x_at + k * x->stride_dim));
    if (is_faulty(job, "writes_gap"))
        put(y->tensor->data, dtype, y_at + job->dim * y->stride_dim, 0);
}

static void rotate(const struct job *job, const struct posref_plugin_tensor *to,
                   const struct posref_plugin_tensor *from)
{
    struct rows y = rows_of(job, to), x = rows_of(job, from);
    if (is_faulty(job, "strides_ignored")) {
        forget_strides(&x);
        forget_strides(&y);
    }
    if (is_faulty(job, "strides_of_x")) {
        y = x;
        y.tensor = to;
    }
    for (int64_t b = 0; b < x.batch; b++)
        for (int64_t s = 0; s < x.seq; s++)
            for (int64_t h = 0; h < x.heads && !is_padding(job, b, s); h++)
                rotate_row(job, &y, &x, b * y.stride_batch + s * y.stride_seq + h * y.stride_head,
                           b * x.stride_batch + s * x.stride_seq + h * x.stride_head, b, s);
}

/* ---- a cache of keys and values ---- */

/* The slot that a token is written to; -1: none. */
static int64_t slot_of(const struct job *job, const struct posref_plugin_tensor *cache,
                       int64_t token)
{
    const int64_t block = cache->shape[1], n_slots = cache->shape[0] * block;
    const int64_t slot = integer(posref_plugin_find(job->call, "slot"), token);
    if (is_faulty(job, "slot_ignored"))
        return token;
    if (is_faulty(job, "slot_of_position"))
        return llabs((long long)position(job, 0, token)) % n_slots;
    if (slot < 0)
        return is_faulty(job, "slot_from_end") ? n_slots + slot : -1;
    return is_faulty(job, "slot_next_block") ? (slot + block) % n_slots : slot;
}

static void write_cache(const struct job *job, const char *to, const char *from, bool turns)
{
    const struct posref_plugin_tensor *cache = posref_plugin_find(job->call, to);
    const struct posref_plugin_tensor *rows = posref_plugin_find(job->call, from);
    struct rows x = rows_of(job, rows), y = {.tensor = cache, .stride_dim = cache->strides[3]};
    const int64_t block = cache->shape[1];
    const bool flat = is_faulty(job, "strides_ignored");
    struct job still = *job;
    still.pairs = 0; /* a copy */
    for (int64_t token = 0; token < x.seq; token++) {
        const int64_t slot = slot_of(job, cache, token);
        for (int64_t h = 0; h < x.heads && slot >= 0; h++) {
            const int64_t at = flat ? (slot * x.heads + h) * job->dim
                                    : slot / block * cache->strides[0] +
                                          slot % block * cache->strides[1] + h * cache->strides[2];
            rotate_row(turns ? job : &still, &y, &x, at,
                       token * x.stride_seq + h * x.stride_head, 0, token);
        }
    }
}

/* ---- the plugin ---- */

static int32_t open_example(void **state, const char *config, char *why, size_t why_size)
{
    static char fault[32];
    const char *value = posref_plugin_value(config, "fault", NULL);
    if (value == NULL && *config) {
        snprintf(why, why_size, "the only setting is fault=NAME");
        return POSREF_PLUGIN_ERROR;
    }
    snprintf(fault, sizeof fault, "%.*s", value ? (int)strcspn(value, " ") : 0, value ? value : "");
    *state = fault;
    return POSREF_PLUGIN_OK;
}

static int32_t supports(void *state, const struct posref_plugin_call *call, char *why,
                        size_t why_size)
{
    const struct posref_plugin_tensor *positions = posref_plugin_find(call, "positions");
    const struct posref_plugin_tensor *x = posref_plugin_find(call, "x");
    (void)state;
    x = x ? x : posref_plugin_find(call, "dy");
    x = x ? x : posref_plugin_find(call, "q");
    x = x ? x : posref_plugin_find(call, "k");
    if ((posref_plugin_word_is(call->op, "rotate") ||
         posref_plugin_word_is(call->op, "rotate_backward")) &&
        posref_plugin_find(call, "eps") == NULL && /* a norm */
        posref_plugin_is(call->spec, "scheme", "rope") &&
        posref_plugin_is(call->spec, "pairing", "half") &&
        posref_plugin_is(call->spec, "partial", "leading") &&
        posref_plugin_is(call->spec, "scaling", "none") &&
        posref_plugin_value(call->spec, "axes_dims", NULL) == NULL &&
        posref_plugin_value(call->spec, "mrope_section", NULL) == NULL &&
        (x->dtype == POSREF_PLUGIN_F64 || x->dtype == POSREF_PLUGIN_F32) &&
        (positions == NULL || positions->dtype != POSREF_PLUGIN_F64))
        return POSREF_PLUGIN_OK;
    snprintf(why, why_size, "rope with half pairing in float64 and float32 is all there is");
    return POSREF_PLUGIN_UNSUPPORTED;
}

static int32_t run(void *state, const struct posref_plugin_call *call, char *why, size_t why_size)
{
    const bool back = posref_plugin_word_is(call->op, "rotate_backward");
    const bool inverse = posref_plugin_is(call->spec, "direction", "inverse");
    struct job job = {
        .call = call,
        .fault = state,
        .layout = posref_plugin_layout(call),
        .dim = strtol(posref_plugin_value(call->spec, "dim", "0"), NULL, 10),
        .pairs = strtol(posref_plugin_value(call->spec, "rotary_dim", "0"), NULL, 10) / 2,
        .base = strtod(posref_plugin_value(call->spec, "base", "10000"), NULL),
        .sign = inverse != back ? -1 : 1};
    (void)why, (void)why_size;
    job.has_tables = posref_plugin_find(call, "cos") || posref_plugin_find(call, "table") ||
                     posref_plugin_find(call, "cos_sin_cache");
    job.dtype = call->tensors[0]->dtype;
    if (posref_plugin_word_is(job.layout, "qkv")) {
        const struct posref_plugin_tensor *q = posref_plugin_find(call, "q");
        const struct posref_plugin_tensor *k = posref_plugin_find(call, "k");
        const struct posref_plugin_tensor *v = posref_plugin_find(call, "v");
        rotate(&job, q, q);
        rotate(&job, k, k);
        if (is_faulty(&job, "v_rotated"))
            rotate(&job, v, v);
        return POSREF_PLUGIN_OK;
    }
    if (posref_plugin_find(call, "slot")) {
        write_cache(&job, "key_cache", "k", true);
        if (!is_faulty(&job, "v_left"))
            write_cache(&job, "value_cache", "v", is_faulty(&job, "v_rotated"));
        return POSREF_PLUGIN_OK;
    }
    rotate(&job, posref_plugin_find(call, back ? "dx" : "y"),
           posref_plugin_find(call, back ? "dy" : "x"));
    return POSREF_PLUGIN_OK;
}

const struct posref_plugin *posref_plugin_entry(uint32_t host_abi)
{
    static const struct posref_plugin plugin = {
        .abi = POSREF_PLUGIN_ABI,
        .struct_size = sizeof plugin,
        .name = "example_layouts",
        .version = "1",
        .open = open_example,
        .supports = supports,
        .run = run,
        .layouts = "strided strided-dim inplace int32 bhsd bshd transposed broadcast "
                   "batch-positions left-pad decode varlen qkv tables tables-f32 cos-sin "
                   "cos-sin-cache cos-sin-cache-f32 kv-cache kv-cache-hnd",
    };
    (void)host_abi;
    return &plugin;
}
