/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin ABI of posref: what an implementation of positional encodings exports so that
 * `posref test ./libmine.so` can judge it. Self-contained: copy this one file into your project.
 * C99 and C++98 with <stdint.h>. docs/plugin.md has a complete example.
 *
 * A plugin is a shared library with one exported function, posref_plugin_entry. It is loaded in a
 * process of its own, which posref starts, watches and replaces: a crash or a hang is a verdict.
 * Everything runs on one thread of that process; the plugin may start threads of its own.
 *
 * Growth: structures only ever grow at their end. Each carries its size as the side that made it
 * knows it; look at a later field only when struct_size covers it. New ops, new tensors and new
 * spec keys do not change the ABI: decline (POSREF_PLUGIN_UNSUPPORTED) what you do not know. Keys
 * that change what rope or yarn mean are named in scaling too ("none+xpos_scale_base",
 * "yarn+mscale_rule"), so that who knows scaling=none alone declines them without knowing the key.
 *
 * A call names an op and tensors. Outputs are what the op is asked to compute:
 *
 *   op          | in                                       | out
 *   ------------+------------------------------------------+-----------------------------------
 *   frequencies |                                          | inv_freq [pairs], attention_factor []
 *               |                                          | or slopes [heads]
 *   table       | positions [n]                            | cos, sin [n, pairs]
 *               |                                          | or table [n, dim]; table_layout
 *               |                                          |   says of rope (docs/rope.md): cos,
 *               |                                          |  sin [n, 2 pairs]; table [n, 2 pairs],
 *               |                                          |   [n, pairs, 2] or [n, pairs, 2, 2],
 *               |                                          |   angles [n, pairs] in radians
 *               | or q, k (maybe mask), as of scores       | contextual_positions, as scores
 *   rotate      | positions [n], x [n, dim]                | y, shape of x
 *               |   or x [n, heads, dim]                   |
 *   rotate_     | positions [n], dy, shape as x            | dx, shape of dy: the gradient, the
 *    backward   |                                          |   transpose of rotate
 *   embed       | positions [n], x [n, dim]                | y, shape of x
 *   bias        | q_positions [n_q], k_positions [n_k]     | bias [heads, n_q, n_k]
 *   weights     | the same, and logits [heads, n_q, n_k]   | weights [heads, n_q, n_k]: softmax
 *               |                                          |   over k of logits + bias
 *   scores      | q [n_q, dim], k [n_k, dim], or with a    | scores [n_q, n_k], [heads, n_q, n_k]
 *               |   dimension of heads in the middle;      |   with heads: -infinity (or at most
 *               |   maybe q_positions, k_positions, mask   |   -10000) where a key is not seen;
 *               |   [n_q, n_k] of 0 and 1                  |   terms of the same shape by name,
 *               |                                          |   whatever is seen
 *   attention   | the same, and v [n_k, dim_v]             | attention [n_q, dim_v] or
 *               |                                          |   [n_q, heads, dim_v]
 *
 * Tensors are contiguous and apart, unless the plugin names further layouts (struct posref_plugin)
 * or the user asks for them (posref test --layouts). These change the tensors of rotate and
 * rotate_backward (dy, dx for x, y), with B batches, S tokens of each, H heads, D = dim:
 *
 *   layout          | tensors
 *   ----------------+-----------------------------------------------------------------------------
 *   strided         | x and y have gaps behind each row, x other ones than y; embed too
 *   strided-dim     | the last axis of x and y has stride 2; embed too
 *   inplace         | y lies where x lies, both are INOUT; embed too
 *   int32           | positions are INT32; every op
 *   bhsd, bshd      | x [B, H, S, D], x [B, S, H, D], contiguous; positions [S]
 *   transposed      | x [B, H, S, D] with the strides of [B, S, H, D]; positions [S]
 *   broadcast       | x [B, S, H, D] whose H has stride 0; positions [B, S] whose B has stride 0
 *   batch-positions | x [B, S, H, D]; positions [B, S]
 *   left-pad        | the same, and mask [B, S] of 0 and 1: rows of mask 0 hold NaN in x, and
 *                   |   need not be written in y
 *   decode          | x [B, 1, H, D]; offset [B] in the place of positions: the tokens before
 *   varlen          | x [tokens, H, D]; cu_seqlens [B + 1] (INT32) and offset [B] in the place of
 *                   |   positions: token t of sequence b, cu_seqlens[b] <= t < cu_seqlens[b + 1],
 *                   |   has position offset[b] + t - cu_seqlens[b]; sequences may be empty
 *   qkv             | q [tokens, 12, D], k and v [tokens, 2, D] in the place of x and y, views of
 *                   |   one array [tokens, 12 + 2 + 2, D]; q and k (INOUT) are rotated in place,
 *                   |   v (IN) stays; rotate only
 *   tables          | cos, sin [n, pairs] in the place of positions, of the dtype under test
 *   tables-f32      | the same, of F32 whatever x is
 *   cos-sin         | table [n, 2 pairs] in their place: cosines, then sines
 *   cos-sin-cache   | cos_sin_cache [rows, 2 pairs], of such rows; positions [n] are rows of it
 *   cos-sin-cache-  | the same, of F32 whatever x is
 *    f32            |
 *   kv-cache        | k, v [tokens, H, D], positions [tokens], slot [tokens] in the place of x, and
 *                   |   key_cache, value_cache [blocks, block, H, D] (INOUT) of y: rotated k and v
 *                   |   as it is go to slot (slot / block, slot % block) of them, or, where slot is
 *                   |   -1, nowhere; all else of them stays as it was; rotate only
 *   kv-cache-hnd    | the same, the caches with the strides of [blocks, H, block, D]
 *   norm            | x, y [n, H, D]; norm_weight [D] and eps [] of the dtype under test: before it
 *                   |   turns, each x[i, h] is divided by sqrt(mean over D of its squares + eps)
 *                   |   and multiplied with norm_weight; rotate only
 *   norm-plus-one   | the same, multiplied with 1 + norm_weight
 *   norm-after      | post_norm_weight [D] in the place of norm_weight: each row is normed so after
 *                   |   it turned, all D channels of it
 *
 * and these those of scores and attention, and where it is said of bias and weights, with H heads
 * of q, G of k and v, Q queries and K keys of each sequence, E = dim_v:
 *
 *   layout          | tensors
 *   ----------------+-----------------------------------------------------------------------------
 *   attention-      | gaps behind each row of q, k, v, logits and of the outputs, others in each;
 *    strided        |   bias and weights too
 *   attention-bhsd  | q [B, H, Q, D], k [B, G, K, D], v [B, G, K, E]; attention [B, H, Q, E],
 *                   |   scores [B, H, Q, K]; H and G may be 1
 *   attention-bshd  | q [B, Q, H, D], k [B, K, G, D], v [B, K, G, E]; attention [B, Q, H, E],
 *                   |   scores [B, H, Q, K]
 *   attention-      | q [tokens, H, D], k [keys, G, D], v [keys, G, E], cu_seqlens_q and
 *    varlen         |   cu_seqlens_k [B + 1] (INT32); q_positions [tokens] and k_positions [keys],
 *                   |   if any, as they are; attention [tokens, H, E]; sequences may be empty;
 *                   |   attention only
 *
 * Positions and mask are of one sequence there, and the same for all.
 *
 * Positions over several axes have the axes in front: [n_axes, S], [n_axes, B, S].
 *
 * Which line applies follows from the spec; the tensors that are present say it too. Encodings
 * with several position axes get positions [n_axes, n]. inv_freq has the context scaling in it but
 * not the attention factor; cos, sin and y have both. Positions are INT64 when all are whole
 * numbers, else F64 (be ready for INT32 as well); every other tensor has the one dtype under test.
 */
#ifndef POSREF_PLUGIN_H
#define POSREF_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define POSREF_PLUGIN_ABI 1u
#define POSREF_PLUGIN_MAX_RANK 8

/* struct posref_plugin_tensor.dtype. F16 is IEEE binary16, BF16 the upper half of binary32. F8E4M3
 * (no infinities, largest 448, NaN 0x7F and 0xFF) and F8E5M2 (the upper half of binary16) come to
 * plugins that name them in posref_plugin.dtypes, when the user asks for them. */
enum {
    POSREF_PLUGIN_F64 = 0,
    POSREF_PLUGIN_F32 = 1,
    POSREF_PLUGIN_F16 = 2,
    POSREF_PLUGIN_BF16 = 3,
    POSREF_PLUGIN_I32 = 4,
    POSREF_PLUGIN_I64 = 5,
    POSREF_PLUGIN_F8E4M3 = 6,
    POSREF_PLUGIN_F8E5M2 = 7
};

/* struct posref_plugin_tensor.access. IN MUST NOT be written, not even with the same values;
 * OUT holds NaN patterns before the call, and every element MUST be written. */
enum { POSREF_PLUGIN_IN = 1, POSREF_PLUGIN_OUT = 2, POSREF_PLUGIN_INOUT = 3 };

/* What supports, open and run return. Any other value is an error of the plugin. */
enum {
    POSREF_PLUGIN_OK = 0,          /* yes; done */
    POSREF_PLUGIN_UNSUPPORTED = 1, /* declined: say why in `why` */
    POSREF_PLUGIN_ERROR = 2        /* tried and failed: say why in `why` */
};

/* A strided array. The element at (i0, i1, ...) lies at data + (i0 * strides[0] + i1 * strides[1]
 * + ...) * element size: strides count ELEMENTS, as in PyTorch, not bytes. Alignment is that of
 * one element and no more: the last byte of the tensor lies just before an inaccessible page. */
struct posref_plugin_tensor {
    uint32_t struct_size;
    uint32_t dtype;
    uint32_t access;
    uint32_t rank; /* 0: one element */
    const char *name;
    void *data;
    int64_t shape[POSREF_PLUGIN_MAX_RANK];
    int64_t strides[POSREF_PLUGIN_MAX_RANK];
};

/* Valid during the call it is handed to; the plugin keeps no pointer into it. */
struct posref_plugin_call {
    uint32_t struct_size;
    uint32_t n_tensors;
    const char *op;   /* "rotate", ... */
    const char *spec; /* "key=value key=value ...": every field spelt out, C locale, one space */
    const struct posref_plugin_tensor *const *tensors;
    const char *layout; /* "plain", "bhsd", ...; posref_plugin_layout reads it */
};

/* struct posref_plugin.flags */
#define POSREF_PLUGIN_VARIES 1u

/* `why` is a buffer for one line of text in UTF-8 (NUL-terminated, why_size_bytes with the NUL). */
struct posref_plugin {
    uint32_t abi;         /* POSREF_PLUGIN_ABI */
    uint32_t struct_size; /* sizeof(struct posref_plugin) */
    const char *name;     /* "mykernel" */
    const char *version;  /* "1.2", or "" */

    /* Once, before any call. config is what the user gave as --config KEY=VALUE, in the form of a
     * spec ("" when nothing); an unknown key deserves POSREF_PLUGIN_ERROR. *state is handed to
     * every later call. May be NULL: no state. */
    int32_t (*open)(void **state, const char *config, char *why, size_t why_size_bytes);
    /* Whether run can do this call. Inputs are there to be looked at; outputs must not be
     * written. May be NULL: run says so itself. */
    int32_t (*supports)(void *state, const struct posref_plugin_call *call, char *why,
                        size_t why_size_bytes);
    /* Computes. May return POSREF_PLUGIN_UNSUPPORTED too. */
    int32_t (*run)(void *state, const struct posref_plugin_call *call, char *why,
                   size_t why_size_bytes);
    /* Once, at the end. May be NULL. */
    void (*close)(void *state);
    /* POSREF_PLUGIN_VARIES or 0: results may differ in their last bits from call to call, as sums
     * do whose order is left to chance. The report says that this was declared. */
    uint32_t flags;
    /* The layouts that run and supports take beside plain tensors, between spaces: "bhsd strided".
     * They are then tested too, unless the user says which are. "" or NULL: none. */
    const char *layouts;
    /* The 8-bit dtypes that run and supports take, between spaces: "f8e4m3 f8e5m2". "" or NULL:
     * none. */
    const char *dtypes;
};

#if defined(_WIN32)
#define POSREF_PLUGIN_EXPORT __declspec(dllexport)
#else
#define POSREF_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

/* The one symbol a plugin exports. host_abi is posref's POSREF_PLUGIN_ABI. The result is static. */
POSREF_PLUGIN_EXPORT const struct posref_plugin *posref_plugin_entry(uint32_t host_abi);

/* ---- helpers ---------------------------------------------------------------------------------
 * For calls as well as for config text. They need no library. */

/* Whether the text at a (up to a space or its end) equals the text b. */
static inline int posref_plugin_word_is(const char *a, const char *b)
{
    while (*b != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *b == '\0' && (*a == '\0' || *a == ' ');
}

/* The value of a key in "key=value key=value ...", or `missing` when the key is not there. The
 * value ends at a space or at the end of the text, where strtod and strtol stop by themselves:
 * double base = strtod(posref_plugin_value(call->spec, "base", "10000"), NULL); */
static inline const char *posref_plugin_value(const char *text, const char *key,
                                              const char *missing)
{
    while (*text != '\0') {
        const char *k = key;
        while (*k != '\0' && *text == *k) {
            text++;
            k++;
        }
        if (*k == '\0' && *text == '=')
            return text + 1;
        while (*text != '\0' && *text != ' ')
            text++;
        while (*text == ' ')
            text++;
    }
    return missing;
}

/* Whether key has exactly this value: posref_plugin_is(call->spec, "pairing", "half"). */
static inline int posref_plugin_is(const char *text, const char *key, const char *value)
{
    const char *found = posref_plugin_value(text, key, NULL);
    return found != NULL && posref_plugin_word_is(found, value);
}

/* The tensor of that name, or NULL. */
static inline const struct posref_plugin_tensor *
posref_plugin_find(const struct posref_plugin_call *call, const char *name)
{
    uint32_t i;
    for (i = 0; i < call->n_tensors; i++)
        if (posref_plugin_word_is(call->tensors[i]->name, name))
            return call->tensors[i];
    return NULL;
}

/* The call's layout. */
static inline const char *posref_plugin_layout(const struct posref_plugin_call *call)
{
    size_t end = offsetof(struct posref_plugin_call, layout) + sizeof call->layout;
    return call->struct_size >= end ? call->layout : "plain";
}

/* Bytes of one element; 0 for an unknown dtype. */
static inline size_t posref_plugin_dtype_size(uint32_t dtype)
{
    switch (dtype) {
    case POSREF_PLUGIN_F64:
    case POSREF_PLUGIN_I64: return 8;
    case POSREF_PLUGIN_F32:
    case POSREF_PLUGIN_I32: return 4;
    case POSREF_PLUGIN_F16:
    case POSREF_PLUGIN_BF16: return 2;
    case POSREF_PLUGIN_F8E4M3:
    case POSREF_PLUGIN_F8E5M2: return 1;
    default: return 0;
    }
}

/* Address of element (i, j, k); indices beyond the rank must be 0. */
static inline void *posref_plugin_at(const struct posref_plugin_tensor *t, int64_t i, int64_t j,
                                     int64_t k)
{
    int64_t offset = 0;
    if (t->rank > 0)
        offset += i * t->strides[0];
    if (t->rank > 1)
        offset += j * t->strides[1];
    if (t->rank > 2)
        offset += k * t->strides[2];
    return (char *)t->data + offset * (int64_t)posref_plugin_dtype_size(t->dtype);
}

/* Position number i as a double, whatever integer or float type it comes in. axis is 0 unless the
 * positions are [n_axes, n]. */
static inline double posref_plugin_position(const struct posref_plugin_tensor *t, int64_t axis,
                                            int64_t i)
{
    const void *at = t->rank > 1 ? posref_plugin_at(t, axis, i, 0) : posref_plugin_at(t, i, 0, 0);
    switch (t->dtype) {
    case POSREF_PLUGIN_I32: return (double)*(const int32_t *)at;
    case POSREF_PLUGIN_I64: return (double)*(const int64_t *)at;
    case POSREF_PLUGIN_F32: return (double)*(const float *)at;
    default: return *(const double *)at;
    }
}

#ifdef __cplusplus
}
#endif

#endif
