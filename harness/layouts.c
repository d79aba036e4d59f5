/* SPDX-License-Identifier: Apache-2.0 */
/* The table of layouts, and what a layout makes of a vector: rows, then the call. */
#include "layout_build.h"

#include "batch.h"
#include "pattern.h"
#include "trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROTATE (1U << POSREF_OP_ROTATE)
#define TURNS (ROTATE | 1U << POSREF_OP_ROTATE_BACKWARD)
#define ROWS (TURNS | 1U << POSREF_OP_EMBED)
#define ATTENDS (1U << POSREF_OP_SCORES | 1U << POSREF_OP_ATTENTION)
#define BIASES (1U << POSREF_OP_BIAS | 1U << POSREF_OP_WEIGHTS)
#define ANY (~0U)

#define FREE POSREF_LAYOUT_ROWS
#define COUNTED POSREF_LAYOUT_COUNTED
#define TABLES POSREF_LAYOUT_TABLES
#define INDEXED POSREF_LAYOUT_INDEXED
#define KEYS POSREF_LAYOUT_KEYS

static const struct posref_layout layouts[POSREF_N_LAYOUTS] = {
    {"strided", "gaps between the rows of x and of y", ROWS, FREE},
    {"strided-dim", "every second element of x and of y", ROWS, FREE},
    {"inplace", "y lies where x lies", ROWS, FREE},
    {"int32", "positions of 32 bits", ANY, POSREF_LAYOUT_WHOLE},
    {"bhsd", "x [batch, heads, seq, dim]", TURNS, FREE},
    {"bshd", "x [batch, seq, heads, dim]", TURNS, FREE},
    {"transposed", "x [batch, heads, seq, dim] in memory of [batch, seq, heads, dim]", TURNS, FREE},
    {"broadcast", "heads of x and the batch of positions have stride 0", TURNS, FREE},
    {"batch-positions", "positions [batch, seq]", TURNS, FREE},
    {"left-pad", "mask [batch, seq]: shorter sequences are padded in front", TURNS, FREE},
    {"decode", "one token of each sequence, offset [batch] tokens before it", TURNS, COUNTED},
    {"varlen", "x [tokens, heads, dim], cu_seqlens [batch + 1], offset [batch]", TURNS, COUNTED},
    {"qkv", "q, k, v in [tokens, heads + 2 kv_heads, dim], q and k in place", ROTATE, FREE},
    {"tables", "cos and sin [n, pairs] in the place of positions", TURNS, TABLES},
    {"tables-f32", "the same in float32, whatever x is", TURNS, TABLES},
    {"cos-sin", "table [n, 2 pairs]: a row's cosines, then its sines", TURNS, TABLES},
    {"cos-sin-cache", "cos_sin_cache [rows, 2 pairs], positions say which row", TURNS, INDEXED},
    {"cos-sin-cache-f32", "the same in float32, whatever x is", TURNS, INDEXED},
    {"kv-cache", "k rotated and v copied to slots of [blocks, block, heads, dim]", ROTATE, FREE},
    {"kv-cache-hnd", "the same in memory of [blocks, heads, block, dim]", ROTATE, FREE},
    {"norm", "an RMS norm by norm_weight [dim] and eps, then rotated", ROTATE, INDEXED},
    {"norm-plus-one", "the same, by 1 + norm_weight", ROTATE, INDEXED},
    {"norm-after", "rotated, then an RMS norm by post_norm_weight [dim] and eps", ROTATE, INDEXED},
    {"attention-strided", "gaps between the rows of q, k, v, logits and of the result",
     ATTENDS | BIASES, KEYS},
    {"attention-bhsd", "q, k, v [batch, heads, seq, dim]", ATTENDS, KEYS},
    {"attention-bshd", "q, k, v [batch, seq, heads, dim]", ATTENDS, KEYS},
    {"attention-varlen", "q, k, v [tokens, heads, dim], cu_seqlens_q, cu_seqlens_k [batch + 1]",
     1U << POSREF_OP_ATTENTION, POSREF_LAYOUT_UNMASKED},
};

const struct posref_layout *posref_layout_at(int k)
{
    return k >= 0 && k < POSREF_N_LAYOUTS ? &layouts[k] : NULL;
}

const struct posref_layout *posref_layout_find(const char *name, size_t length)
{
    for (int k = 0; k < POSREF_N_LAYOUTS; k++)
        if (strlen(layouts[k].name) == length && strncmp(layouts[k].name, name, length) == 0)
            return &layouts[k];
    return NULL;
}

static bool set_layout(bool *plain, bool layout[POSREF_N_LAYOUTS], const char *name, size_t length)
{
    const struct posref_layout *found = posref_layout_find(name, length);
    const bool all = length == 3 && strncmp(name, "all", 3) == 0;
    const bool is_plain = length == strlen(POSREF_LAYOUT_PLAIN) &&
                          strncmp(name, POSREF_LAYOUT_PLAIN, length) == 0;
    *plain = *plain || all || is_plain;
    for (int k = 0; k < POSREF_N_LAYOUTS; k++)
        layout[k] = layout[k] || all || found == &layouts[k];
    return all || is_plain || found;
}

enum posref_status posref_layouts_parse(bool *plain, bool layout[POSREF_N_LAYOUTS],
                                        const char *text, const char *key,
                                        struct posref_error *err)
{
    for (;;) {
        const size_t length = strcspn(text, ", ");
        if (!set_layout(plain, layout, text, length) && key)
            return posref_fail(err, POSREF_BAD_INPUT, key,
                               "'%.*s' is no layout; docs/plugin.md lists them",
                               length < 40 ? (int)length : 40, text);
        if (text[length] == '\0')
            return POSREF_OK;
        text += length + 1;
    }
}

static const struct posref_layout_form *form_of(const struct posref_layout *layout)
{
    return &posref_forms[layout - layouts];
}

static bool are_whole(const struct posref_vector *vector, bool one_axis)
{
    bool any = false;
    for (int k = 0; k < vector->inputs.n; k++) {
        const struct posref_tensor *tensor = &vector->inputs.item[k];
        const double *p = tensor->data;
        if (!posref_trial_is_positions(tensor))
            continue;
        any = true;
        if (one_axis && tensor->rank != 1)
            return false;
        for (int64_t i = 0; i < posref_tensor_count(tensor); i++)
            if (p[i] != floor(p[i]))
                return false;
    }
    return any;
}

bool posref_layout_applies(const struct posref_layout *layout, const struct posref_vector *vector)
{
    if ((layout->ops >> vector->op & 1U) == 0)
        return false;
    if (layout->need == POSREF_LAYOUT_KEYS || layout->need == POSREF_LAYOUT_UNMASKED)
        return layout->need == POSREF_LAYOUT_KEYS || !posref_tensors_find(&vector->inputs, "mask");
    if (layout->ops != ANY && !posref_tensors_find(&vector->inputs, "positions"))
        return false;
    if (layout->need == POSREF_LAYOUT_INDEXED &&
        posref_tensors_find(&vector->inputs, "positions")->rank != 1)
        return false;
    if (layout->need == POSREF_LAYOUT_TABLES || layout->need == POSREF_LAYOUT_INDEXED)
        return vector->spec.pairing != POSREF_PAIRING_MISMATCHED &&
               vector->spec.partial != POSREF_PARTIAL_PROPORTIONAL &&
               !vector->spec.given[POSREF_FIELD_XPOS_SCALE_BASE];
    return layout->need == POSREF_LAYOUT_ROWS ||
           are_whole(vector, layout->need == POSREF_LAYOUT_COUNTED);
}

/* ---- judged rows ---- */

/* A power of two (and, after seven of them, a sign) that tells copies apart. Inputs have at most
 * seven bits between 2^-6 and 2^1: they stay exact and normal in float16. */
static double factor_of(int64_t copy)
{
    return ldexp(copy / 7 % 2 ? -1 : 1, (int)(copy % 7) - 3);
}

static enum posref_status no_memory(struct posref_error *err)
{
    return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
}

static enum posref_status expand_rows(struct posref_tensor *out, const struct posref_tensor *from,
                                      const struct posref_layout_rows *rows,
                                      const struct posref_layout_case *of,
                                      const struct posref_arena *arena, struct posref_error *err)
{
    const int64_t dim = of->dim, heads = rows->heads, had = from->rank == 3 ? from->shape[1] : 1;
    double *to = arena->alloc(arena->ctx, (size_t)(rows->n * heads * dim) * sizeof *to);
    *out = (struct posref_tensor){.dtype = POSREF_F64, .rank = 3, .shape = {rows->n, heads, dim},
                                  .data = to};
    memcpy(out->name, from->name, sizeof out->name);
    if (!to)
        return no_memory(err);
    for (int64_t i = 0; i < rows->n; i++)
        for (int64_t h = 0; h < heads; h++) {
            const int64_t head = rows->same_heads ? 0 : h;
            const double factor = factor_of(rows->copy[i] * heads + head);
            const double *row =
                (const double *)from->data + (rows->row[i] * had + head % had) * dim;
            for (int64_t k = 0; k < dim; k++)
                to[(i * heads + h) * dim + k] = factor * row[k];
        }
    return POSREF_OK;
}

static enum posref_status expand_positions(struct posref_tensor *out,
                                           const struct posref_tensor *from,
                                           const struct posref_layout_rows *rows,
                                           const struct posref_arena *arena,
                                           struct posref_error *err)
{
    const int64_t n = from->shape[from->rank - 1], n_axes = posref_tensor_count(from) / n;
    double *to = arena->alloc(arena->ctx, (size_t)(rows->n * n_axes) * sizeof *to);
    *out = *from;
    out->shape[from->rank - 1] = rows->n;
    out->data = to;
    if (!to)
        return no_memory(err);
    for (int64_t axis = 0; axis < n_axes; axis++)
        for (int64_t i = 0; i < rows->n; i++)
            to[axis * rows->n + i] = ((const double *)from->data)[axis * n + rows->row[i]];
    return POSREF_OK;
}

static enum posref_status expand(struct posref_layout_case *out,
                                 const struct posref_layout_rows *rows,
                                 const struct posref_vector *vector,
                                 const struct posref_arena *arena, struct posref_error *err)
{
    enum posref_status status = POSREF_OK;
    for (int k = 0; k < vector->inputs.n && status == POSREF_OK; k++) {
        const struct posref_tensor *from = &vector->inputs.item[k];
        struct posref_tensor *to = &out->judged.inputs.item[k];
        status = posref_trial_is_positions(from) ? expand_positions(to, from, rows, arena, err)
                                                 : expand_rows(to, from, rows, out, arena, err);
    }
    if (status == POSREF_OK)
        status = expand_rows(&out->judged.outputs.item[0], &vector->outputs.item[0], rows, out,
                             arena, err);
    out->n = rows->n;
    out->heads = rows->heads;
    return status;
}

static enum posref_status name_case(struct posref_layout_case *out,
                                    const struct posref_vector *vector,
                                    const struct posref_arena *arena, struct posref_error *err)
{
    const size_t size = strlen(vector->id) + 1 + strlen(out->layout->name) + 1;
    char *id = arena->alloc(arena->ctx, size);
    if (!id)
        return no_memory(err);
    snprintf(id, size, "%s@%s", vector->id, out->layout->name);
    out->judged.id = id;
    return POSREF_OK;
}

enum posref_status posref_layout_make(struct posref_layout_case *out,
                                      const struct posref_layout *layout,
                                      const struct posref_vector *vector,
                                      const struct posref_arena *arena, struct posref_error *err)
{
    const struct posref_layout_form *form = form_of(layout);
    const struct posref_tensor *y = &vector->outputs.item[0];
    *out = (struct posref_layout_case){.layout = layout, .judged = *vector};
    enum posref_status status = name_case(out, vector, arena, err);
    if (status != POSREF_OK || !form->rows)
        return status;
    const struct posref_tensor *positions = posref_tensors_find(&vector->inputs, "positions");
    const int64_t n = positions->shape[positions->rank - 1];
    int64_t *room = arena->alloc(arena->ctx, (size_t)(3 * (2 * n + 2)) * sizeof *room);
    if (!room)
        return no_memory(err);
    struct posref_layout_rows rows = {.row = room, .copy = room + 2 * n + 2,
                                      .first = room + 2 * (2 * n + 2),
                                      .heads = y->rank == 3 ? y->shape[1] : 3};
    out->source_rows = n;
    out->dim = y->shape[y->rank - 1];
    form->rows(out, &rows, vector);
    status = expand(out, &rows, vector, arena, err);
    return status == POSREF_OK && form->golden ? form->golden(out, arena, err) : status;
}

/* ---- the call ---- */

enum posref_status posref_layout_trial(struct posref_trial *out,
                                       struct posref_layout_result *result,
                                       const struct posref_layout_case *of,
                                       const char *spec_text, enum posref_dtype dtype,
                                       const struct posref_arena *arena, struct posref_error *err)
{
    const struct posref_layout_form *form = form_of(of->layout);
    struct posref_layout_build b = {.of = of, .trial = out, .result = result, .dtype = dtype,
                                    .arena = arena, .err = err};
    *result = (struct posref_layout_result){.dim = of->dim};
    enum posref_status status = posref_trial_make(out, &of->judged, spec_text, dtype, arena, err);
    if (status != POSREF_OK)
        return status;
    if (form->rows) { /* the call is made anew, the outputs are those to be judged */
        result->judged = out->out;
        b.rows = out->in;
        out->in.n = out->out.n = 0;
    }
    form->lay(&b);
    out->look_later = true;
    out->layout = of->layout->name;
    return b.failed ? no_memory(err) : b.status;
}

/* Elements of a row before the first that does not hold the pattern any more; dim: all do. */
static int64_t untouched(const unsigned char *row, int64_t dim, enum posref_dtype dtype)
{
    const size_t size = posref_dtype_size(dtype);
    unsigned char pattern[8];
    int64_t n = 0;
    posref_pattern_fill(pattern, dtype, 1);
    while (n < dim && memcmp(row + (size_t)n * size, pattern, size) == 0)
        n++;
    return n;
}

static bool blame_row(struct posref_trial *trial, enum posref_verdict verdict,
                      const struct posref_tensor *output, int64_t element, const char *why)
{
    trial->verdict = verdict;
    trial->tensor = output->name;
    trial->element = element;
    snprintf(trial->why, sizeof trial->why, "%s", why);
    return false;
}

static const char never_written[] = "this row was never written";

/* Rows of output i that stay, or copy; false: one does not, and is blamed. */
static bool check_rows(struct posref_trial *trial, const struct posref_layout_result *result, int i)
{
    const struct posref_tensor *output = &trial->out.item[i], *from = result->copied[i];
    const int64_t dim = result->dim;
    const size_t bytes = (size_t)dim * posref_dtype_size(output->dtype);
    for (int64_t k = 0; k < posref_tensor_count(output) / dim; k++) {
        const unsigned char *row = (const unsigned char *)output->data + (size_t)k * bytes;
        const int64_t source = result->row_of[i][k], n = untouched(row, dim, output->dtype);
        char why[100];
        if (source == POSREF_LAYOUT_STAYS && n < dim)
            return blame_row(trial, POSREF_VERDICT_BAD_WRITE, output, k * dim + n,
                             "wrote into a row that was to stay as it was");
        if (source == POSREF_LAYOUT_OTHER && n == dim)
            return blame_row(trial, POSREF_VERDICT_UNWRITTEN, output, k * dim, never_written);
        if (!from || source < 0 ||
            memcmp(row, (const unsigned char *)from->data + (size_t)source * bytes, bytes) == 0)
            continue;
        if (n == dim)
            return blame_row(trial, POSREF_VERDICT_UNWRITTEN, output, k * dim, never_written);
        snprintf(why, sizeof why, "this row is no copy of row %lld of %s", (long long)source,
                 from->name);
        return blame_row(trial, POSREF_VERDICT_FAIL, output, k * dim, why);
    }
    return true;
}

void posref_layout_collect(struct posref_trial *trial, const struct posref_layout_result *result)
{
    if (trial->verdict != POSREF_VERDICT_PASS)
        return;
    for (int i = 0; i < trial->out.n && result->judged.n > 0; i++)
        if (!check_rows(trial, result, i))
            return;
    for (int i = 0; i < trial->out.n && result->judged.n > 0; i++) {
        const struct posref_tensor *from = &trial->out.item[i];
        if (result->copied[i])
            continue;
        const size_t bytes = (size_t)result->dim * posref_dtype_size(from->dtype);
        char *to = result->judged.item[result->judged.n > 1 ? i : 0].data;
        for (int64_t k = 0; k < posref_tensor_count(from) / result->dim; k++)
            if (result->row_of[i][k] >= 0)
                memcpy(to + (size_t)result->row_of[i][k] * bytes,
                       (const char *)from->data + (size_t)k * bytes, bytes);
    }
    if (result->judged.n > 0)
        trial->out = result->judged;
    posref_trial_look(trial);
}
