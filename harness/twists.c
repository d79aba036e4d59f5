/* SPDX-License-Identifier: Apache-2.0 */
/* What the twists do. */
#include "twists_impl.h"

#include "trial.h"

#include <math.h>
#include <string.h>

double *posref_twist_renew(struct posref_tensors *set, int i, const struct posref_twisting *t)
{
    struct posref_tensor *tensor = &set->item[i];
    const size_t size = (size_t)posref_tensor_count(tensor) * sizeof(double);
    double *data = t->arena->alloc(t->arena->ctx, size + 1);
    if (!data)
        return NULL;
    memcpy(data, tensor->data, size);
    tensor->data = data;
    return data;
}

/* The number of the tensor of that name; -1: there is none. */
static int find(const struct posref_tensors *set, const char *name)
{
    for (int i = 0; i < set->n; i++)
        if (strcmp(set->item[i].name, name) == 0)
            return i;
    return -1;
}

/* ---- axes ---- */

bool posref_twist_has_axes(const struct posref_tensor *tensor)
{
    return posref_trial_is_positions(tensor) && tensor->rank == 2;
}

/* Rows of positions in another order: row a is the old row from[a]. */
static bool pick_axes(struct posref_tensors *set, const struct posref_twisting *t, const int *from)
{
    bool changed = false;
    for (int i = 0; i < set->n; i++) {
        const struct posref_tensor old = set->item[i];
        if (!posref_twist_has_axes(&old) || old.shape[0] < 2)
            continue;
        double *data = posref_twist_renew(set, i, t);
        for (int64_t a = 0; a < old.shape[0] && data; a++)
            memcpy(data + a * old.shape[1], (const double *)old.data + from[a] * old.shape[1],
                   (size_t)old.shape[1] * sizeof *data);
        changed = changed || data;
    }
    return changed;
}

static int axes_of(const struct posref_tensors *set)
{
    for (int i = 0; i < set->n; i++)
        if (posref_twist_has_axes(&set->item[i]))
            return (int)set->item[i].shape[0];
    return 1;
}

bool posref_twist_axes_exchange(struct posref_tensors *set, const struct posref_twisting *t)
{
    const int n = axes_of(set);
    int from[POSREF_MAX_INTS];
    for (int a = 0; a < POSREF_MAX_INTS; a++)
        from[a] = n <= POSREF_MAX_INTS && a >= n - 2 && a < n ? 2 * n - 3 - a : a;
    return n > 1 && n <= POSREF_MAX_INTS && pick_axes(set, t, from);
}

bool posref_twist_axes_reverse(struct posref_tensors *set, const struct posref_twisting *t)
{
    const int n = axes_of(set);
    int from[POSREF_MAX_INTS];
    for (int a = 0; a < POSREF_MAX_INTS; a++)
        from[a] = a < n ? n - 1 - a : a;
    return n > 1 && n <= POSREF_MAX_INTS && pick_axes(set, t, from);
}

bool posref_twist_axes_collapse(struct posref_tensors *set, const struct posref_twisting *t)
{
    static const int first[POSREF_MAX_INTS] = {0};
    return axes_of(set) <= POSREF_MAX_INTS && pick_axes(set, t, first);
}

static void range_of(double *lo, double *hi, const double *p, int64_t n)
{
    *lo = HUGE_VAL;
    *hi = -HUGE_VAL;
    for (int64_t k = 0; k < n; k++) {
        *lo = p[k] < *lo ? p[k] : *lo;
        *hi = p[k] > *hi ? p[k] : *hi;
    }
}

bool posref_twist_axis_mirror(struct posref_tensors *set, const struct posref_twisting *t)
{
    bool changed = false;
    for (int i = 0; i < set->n; i++) {
        const int64_t axis = (int64_t)t->value, n = set->item[i].shape[1];
        double lo, hi, *data;
        if (!posref_twist_has_axes(&set->item[i]) || axis >= set->item[i].shape[0] ||
            (data = posref_twist_renew(set, i, t)) == NULL)
            continue;
        range_of(&lo, &hi, data + axis * n, n);
        for (int64_t k = axis * n; k < (axis + 1) * n; k++)
            data[k] = lo + hi - data[k];
        changed = true;
    }
    return changed;
}

bool posref_twist_axes_centre(struct posref_tensors *set, const struct posref_twisting *t)
{
    bool changed = false;
    for (int i = 0; i < set->n; i++) {
        double lo, hi, *data;
        if (!posref_twist_has_axes(&set->item[i]) || (data = posref_twist_renew(set, i, t)) == NULL)
            continue;
        const int64_t n = set->item[i].shape[1];
        for (int64_t a = 0; a < set->item[i].shape[0]; a++) {
            range_of(&lo, &hi, data + a * n, n);
            for (int64_t k = a * n; k < (a + 1) * n; k++)
                data[k] -= (lo + hi) / 2;
        }
        changed = true;
    }
    return changed;
}

/* ---- distances and tables ---- */

bool posref_positions_hide_keys(const struct posref_spec *spec)
{
    return spec->given[POSREF_FIELD_CAUSAL] && spec->causal &&
           spec->causal_align == POSREF_ALIGN_POSITION;
}

/* value[k] = factor value[k] + summand of tensor i; false: i < 0, or no memory. */
static bool line(struct posref_tensors *set, const struct posref_twisting *t, int i, double factor,
                 double summand)
{
    double *data = i < 0 ? NULL : posref_twist_renew(set, i, t);
    for (int64_t k = 0; data && k < posref_tensor_count(&set->item[i]); k++)
        data[k] = factor * data[k] + summand;
    return data != NULL;
}

static bool line_of(struct posref_tensors *set, const struct posref_twisting *t, const char *name,
                    double factor, double summand)
{
    return line(set, t, find(set, name), factor, summand);
}

static bool multiply_positions(struct posref_tensors *set, const struct posref_twisting *t,
                               double factor)
{
    bool changed = false;
    for (int i = 0; i < set->n; i++)
        if (posref_trial_is_positions(&set->item[i]))
            changed = line(set, t, i, factor, 0) || changed;
    return changed;
}

bool posref_twist_negate_positions(struct posref_tensors *set, const struct posref_twisting *t)
{
    return !posref_positions_hide_keys(t->spec) && multiply_positions(set, t, -1);
}

/* Tensor i, to the first `has` entries of its axis 0 or 1. */
static bool cut(struct posref_tensors *set, const struct posref_twisting *t, int i, int axis,
                int64_t has)
{
    struct posref_tensor *table = &set->item[i];
    const int64_t had = table->shape[axis], outer = axis > 0 ? table->shape[0] : 1;
    double *data = has < had ? posref_twist_renew(set, i, t) : NULL;
    if (!data)
        return false;
    const int64_t inner = posref_tensor_count(table) / (outer * had);
    for (int64_t k = 0; k < outer; k++)
        memmove(data + k * has * inner, data + k * had * inner,
                (size_t)(has * inner) * sizeof *data);
    table->shape[axis] = has;
    return true;
}

bool posref_twist_cut_table(struct posref_tensors *set, const struct posref_twisting *t)
{
    const int i = find(set, "weights");
    if (i < 0)
        return t->op == POSREF_OP_INDEX;
    return set->item[i].rank == 2 &&
           cut(set, t, i, t->spec->weights_layout == POSREF_WEIGHTS_HEADS_ENTRIES,
               t->spec->num_buckets);
}

/* The spec has the other layout by now: the same values in the shape of that. */
bool posref_twist_reshape_table(struct posref_tensors *set, const struct posref_twisting *t)
{
    const int i = find(set, "weights");
    (void)t;
    if (i < 0 || set->item[i].rank != 2)
        return false;
    const int64_t first = set->item[i].shape[0];
    set->item[i].shape[0] = set->item[i].shape[1];
    set->item[i].shape[1] = first;
    return true;
}

static bool exchange(struct posref_tensors *set, const char *first, const char *second)
{
    const int a = find(set, first), b = find(set, second);
    if (a < 0 || b < 0)
        return false;
    void *data = set->item[a].data;
    set->item[a].data = set->item[b].data;
    set->item[b].data = data;
    return true;
}

bool posref_twist_exchange_parameters(struct posref_tensors *set, const struct posref_twisting *t)
{
    (void)t;
    return exchange(set, "r1", "r2") || exchange(set, "u", "v_bias");
}

bool posref_twist_exchange_tables(struct posref_tensors *set, const struct posref_twisting *t)
{
    (void)t;
    return exchange(set, "key_weights", "query_weights");
}

/* [npos_max, dim], or that for each head. */
bool posref_twist_cut_rows(struct posref_tensors *set, const struct posref_twisting *t)
{
    const int i = find(set, "weights");
    if (i < 0)
        return t->op == POSREF_OP_TABLE;
    const int rank = set->item[i].rank;
    return (rank == 2 || rank == 3) && cut(set, t, i, rank - 2, t->spec->npos_max);
}

bool posref_twist_drop_c2p(struct posref_tensors *set, const struct posref_twisting *t)
{
    return line_of(set, t, "key_weights", 0, 0);
}

bool posref_twist_drop_p2c(struct posref_tensors *set, const struct posref_twisting *t)
{
    return line_of(set, t, "query_weights", 0, 0);
}

bool posref_twist_drop_u(struct posref_tensors *set, const struct posref_twisting *t)
{
    return line_of(set, t, "u", 0, 0);
}

bool posref_twist_drop_v(struct posref_tensors *set, const struct posref_twisting *t)
{
    return line_of(set, t, "v_bias", 0, 0);
}

bool posref_twist_drop_values(struct posref_tensors *set, const struct posref_twisting *t)
{
    return line_of(set, t, "value_weights", 0, 0);
}

/* Of biases without q and k the table is the whole term. */
bool posref_twist_scale_term(struct posref_tensors *set, const struct posref_twisting *t)
{
    static const char *const linear[] = {"weights", "key_weights", "query_weights", "r1"};
    bool changed = false;
    for (size_t k = 0; k < sizeof linear / sizeof *linear; k++)
        changed = line_of(set, t, linear[k], t->value, 0) || changed;
    if (t->spec->scheme == POSREF_SCHEME_FIRE)
        changed = line_of(set, t, "w2", t->value, 0) && line_of(set, t, "b2", t->value, 0);
    return changed;
}

/* Slice 0 of an axis in the place of the others. */
static bool spread(struct posref_tensors *set, const struct posref_twisting *t, const char *name,
                   int axis)
{
    const int i = find(set, name);
    const int64_t n = i < 0 ? 1 : set->item[i].shape[axis];
    double *data = n > 1 ? posref_twist_renew(set, i, t) : NULL;
    if (!data)
        return false;
    const int64_t outer = axis > 0 ? set->item[i].shape[0] : 1;
    const int64_t inner = posref_tensor_count(&set->item[i]) / (outer * n);
    for (int64_t k = 0; k < outer * n * inner; k++)
        data[k] = data[k / (n * inner) * n * inner + k % inner];
    return true;
}

bool posref_twist_first_head(struct posref_tensors *set, const struct posref_twisting *t)
{
    static const char *const by_head[] = {"r1", "r2", "w2", "b2"};
    static const char *const in_three[] = {"weights", "key_weights", "query_weights"};
    bool changed = false;
    for (size_t k = 0; k < sizeof by_head / sizeof *by_head; k++)
        changed = spread(set, t, by_head[k], 0) || changed;
    for (size_t k = 0; k < sizeof in_three / sizeof *in_three; k++) {
        const int i = find(set, in_three[k]);
        if (i >= 0 && set->item[i].rank == 3)
            changed = spread(set, t, in_three[k], 0) || changed;
    }
    if (posref_field_applies(t->spec, POSREF_FIELD_WEIGHTS_LAYOUT))
        changed = spread(set, t, "weights",
                         t->spec->weights_layout == POSREF_WEIGHTS_ENTRIES_HEADS) || changed;
    return changed;
}

/* ---- scores and attention ---- */

bool posref_twist_see_all(struct posref_tensors *set, const struct posref_twisting *t)
{
    return line_of(set, t, "mask", 0, 1);
}

bool posref_twist_invert_mask(struct posref_tensors *set, const struct posref_twisting *t)
{
    return line_of(set, t, "mask", -1, 1);
}

/* Where there is no mask yet, one that hides nothing else. */
bool posref_twist_hide_last_key(struct posref_tensors *set, const struct posref_twisting *t)
{
    const int q = find(set, "q"), k = find(set, "k");
    int i = find(set, "mask");
    if (t->op != POSREF_OP_ATTENTION || q < 0 || k < 0)
        return false;
    const int64_t rows = set->item[q].shape[0], width = set->item[k].shape[0];
    if (i < 0 && set->n < POSREF_MAX_TENSORS) {
        i = set->n;
        set->item[i] = (struct posref_tensor){.name = "mask", .dtype = POSREF_F64, .rank = 2,
                                              .shape = {rows, width}};
        double *ones = t->arena->alloc(t->arena->ctx, (size_t)(rows * width) * sizeof *ones + 1);
        for (int64_t e = 0; ones && e < rows * width; e++)
            ones[e] = 1;
        set->item[i].data = ones;
        set->n += ones != NULL;
        i = ones ? i : -1;
    }
    double *data = i < 0 ? NULL : posref_twist_renew(set, i, t);
    for (int64_t row = 0; data && row < rows; row++)
        data[row * width + width - 1] = 0;
    return data != NULL;
}

static bool deal(struct posref_tensors *set, const struct posref_twisting *t, int i, int64_t heads)
{
    struct posref_tensor *tensor = &set->item[i];
    if (i < 0 || tensor->rank != 3 || tensor->shape[1] >= heads || tensor->shape[1] < 2)
        return false;
    const int64_t n = tensor->shape[0], had = tensor->shape[1], width = tensor->shape[2];
    const double *old = tensor->data;
    double *data = t->arena->alloc(t->arena->ctx, (size_t)(n * heads * width) * sizeof *data);
    for (int64_t r = 0; data && r < n * heads; r++)
        memcpy(data + r * width, old + (r / heads * had + r % heads % had) * width,
               (size_t)width * sizeof *data);
    if (data) {
        tensor->data = data;
        tensor->shape[1] = heads;
    }
    return data != NULL;
}

bool posref_twist_deal_heads(struct posref_tensors *set, const struct posref_twisting *t)
{
    const int q = find(set, "q");
    if (q < 0 || set->item[q].rank != 3)
        return false;
    const bool keys = deal(set, t, find(set, "k"), set->item[q].shape[1]);
    return deal(set, t, find(set, "v"), set->item[q].shape[1]) || keys;
}

/* Positions of one side, which may be the shared ones. */
static bool bare(struct posref_tensors *set, const struct posref_twisting *t, const char *name,
                 const char *rows_of)
{
    int i = find(set, name);
    const int shared = find(set, "positions"), rows = find(set, rows_of);
    if (rows < 0 || posref_positions_hide_keys(t->spec))
        return false;
    if (i < 0 && shared >= 0 && set->n < POSREF_MAX_TENSORS) {
        i = set->n++;
        set->item[i] = set->item[shared];
        memset(set->item[i].name, 0, sizeof set->item[i].name);
        memcpy(set->item[i].name, name, strlen(name));
    }
    return line(set, t, i, 0, 0);
}

bool posref_twist_bare_keys(struct posref_tensors *set, const struct posref_twisting *t)
{
    return bare(set, t, "k_positions", "k");
}

bool posref_twist_bare_queries(struct posref_tensors *set, const struct posref_twisting *t)
{
    return bare(set, t, "q_positions", "q");
}

static double scale_of(const struct posref_tensors *set, const struct posref_twisting *t)
{
    const int q = find(set, "q");
    const int64_t dim = q < 0 ? 0 : set->item[q].shape[set->item[q].rank - 1];
    return t->spec->given[POSREF_FIELD_SOFTMAX_SCALE] ? t->spec->softmax_scale
           : dim > 0 ? 1 / sqrt((double)dim) : 1;
}

/* Scores are proportional to the query, unless keys have relative terms of their own. */
static bool scale_query(struct posref_tensors *set, const struct posref_twisting *t, double scale)
{
    static const char *const factor[] = {"q", "u", "v_bias"};
    bool changed = false;
    if (scale == 1 || t->spec->attention_kind == POSREF_ATTENTION_LINEAR ||
        t->spec->position_embedding_type == POSREF_EMBEDDING_RELATIVE_KEY_QUERY)
        return false;
    for (int k = 0; k < 3; k++)
        changed = line_of(set, t, factor[k], scale, 0) || changed;
    return changed;
}

bool posref_twist_scale_query(struct posref_tensors *set, const struct posref_twisting *t)
{
    return scale_query(set, t, scale_of(set, t));
}

bool posref_twist_scale_by_heads(struct posref_tensors *set, const struct posref_twisting *t)
{
    const int q = find(set, "q");
    const int64_t heads = q >= 0 && set->item[q].rank == 3 ? set->item[q].shape[1] : 1;
    return !t->spec->given[POSREF_FIELD_SOFTMAX_SCALE] &&
           scale_query(set, t, 1 / sqrt((double)heads));
}

/* alibi's bias is proportional to the positions, the others' to their tables. */
bool posref_twist_scale_bias(struct posref_tensors *set, const struct posref_twisting *t)
{
    const double scale = scale_of(set, t);
    if (scale == 1)
        return false;
    return t->spec->scheme == POSREF_SCHEME_ALIBI
               ? multiply_positions(set, t, scale)
               : line_of(set, t, "weights", scale, 0);
}

/* ---- outputs ---- */

bool posref_twist_transpose(struct posref_tensors *set, const struct posref_twisting *t)
{
    bool changed = false;
    for (int i = 0; i < set->n; i++) {
        const struct posref_tensor old = set->item[i];
        const int64_t n = old.rank < 2 ? 0 : old.shape[old.rank - 1];
        double *data = n > 1 && old.shape[old.rank - 2] == n ? posref_twist_renew(set, i, t) : NULL;
        const double *from = old.data;
        for (int64_t k = 0; data && k < posref_tensor_count(&old); k++)
            data[k] = from[k / (n * n) * n * n + k % n * n + k / n % n];
        changed = changed || data;
    }
    return changed;
}

bool posref_twist_negate(struct posref_tensors *set, const struct posref_twisting *t)
{
    bool changed = false;
    for (int i = 0; i < set->n; i++)
        changed = line(set, t, i, -1, 0) || changed;
    return changed;
}
