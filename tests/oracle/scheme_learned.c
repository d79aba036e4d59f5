/* SPDX-License-Identifier: Apache-2.0 */
/* Learned absolute embeddings, as fractions: table_scale times row `position + offset` of the
 * weights, or, counted from a mask, padding_idx + 1 + k and padding_idx (padding_idx given),
 * offset + k and offset - 1 (not). beyond=truncate takes the nearest row; beyond=interpolate: after
 * prefix_rows entry t of a target grid is at (t + 1/2) S/T - 1/2 of the source, axis by axis;
 * linear: max(0, .) between two neighbours; cubic: Keys' kernel with a = -3/4 on four, the ends
 * repeated; S = T on every axis untouched. y = x_scale x + table. Scores are those of q + table and
 * k + table, term by term. */
#include "attention.h"

#include <stdlib.h>

struct learned {
    struct oracle_tally *tally;
    struct oracle_case *c;
    int64_t dim, n, n_rows, n_heads, row, channel, prefix;
    int64_t source[2], target[2];
    int n_axes; /* 0: rows as they are */
    bool cubic, root;
    double offset, table_scale;
    struct oracle_tensor *weights, *positions, *mask, *x, *table, *y;
    double *rows; /* [n] */
    fmpq_t value;
};

/* w(u) for |u| in [0, 2]. */
static void kernel(fmpq_t w, const fmpq_t u, bool cubic)
{
    fmpq_t one, a, t;
    fmpq_init(one);
    fmpq_init(a);
    fmpq_init(t);
    fmpq_one(one);
    fmpq_abs(t, u);
    if (!cubic) { /* 1 - |u|, or 0 */
        fmpq_sub(w, one, t);
        if (fmpq_sgn(w) < 0)
            fmpq_zero(w);
    } else {
        fmpq_t c0, c1, c2, c3;
        const bool inner = fmpq_cmp(t, one) <= 0;
        fmpq_init(c0);
        fmpq_init(c1);
        fmpq_init(c2);
        fmpq_init(c3);
        fmpq_set_si(a, -3, 4);
        if (inner) { /* (a+2) t^3 - (a+3) t^2 + 1 */
            fmpq_set_si(c3, 2, 1);
            fmpq_add(c3, c3, a);
            fmpq_set_si(c2, 3, 1);
            fmpq_add(c2, c2, a);
            fmpq_neg(c2, c2);
            fmpq_one(c0);
        } else { /* a t^3 - 5a t^2 + 8a t - 4a */
            fmpq_set(c3, a);
            fmpq_set_si(c2, 15, 4);
            fmpq_set_si(c1, -6, 1);
            fmpq_set_si(c0, 3, 1);
        }
        fmpq_mul(w, c3, t);
        fmpq_add(w, w, c2);
        fmpq_mul(w, w, t);
        fmpq_add(w, w, c1);
        fmpq_mul(w, w, t);
        fmpq_add(w, w, c0);
        fmpq_clear(c0);
        fmpq_clear(c1);
        fmpq_clear(c2);
        fmpq_clear(c3);
    }
    fmpq_clear(one);
    fmpq_clear(a);
    fmpq_clear(t);
}

/* weight[k] of source entry floor(place) - 1 + k, k < 4, whose index is clamped into at[k]. */
static void taps(fmpq *weight, int64_t *at, const struct learned *s, int axis, int64_t t)
{
    fmpq_t place, u;
    fmpz_t low;
    fmpq_init(place);
    fmpq_init(u);
    fmpz_init(low);
    fmpq_set_si(place, (2 * t + 1) * s->source[axis] - s->target[axis],
                (ulong)(2 * s->target[axis]));
    if (!s->cubic && fmpq_sgn(place) < 0)
        fmpq_zero(place);
    fmpz_fdiv_q(low, fmpq_numref(place), fmpq_denref(place));
    for (int k = 0; k < 4; k++) {
        const int64_t index = fmpz_get_si(low) - 1 + k;
        at[k] = index < 0 ? 0 : index >= s->source[axis] ? s->source[axis] - 1 : index;
        fmpq_set_si(u, index, 1);
        fmpq_sub(u, place, u);
        kernel(weight + k, u, s->cubic);
    }
    fmpq_clear(place);
    fmpq_clear(u);
    fmpz_clear(low);
}

static void add_row(struct learned *s, int64_t row, const fmpq_t weight)
{
    fmpq_t w;
    fmpq_init(w);
    oracle_fmpq_set_double(w, s->weights->data[row * s->dim + s->channel]);
    fmpq_mul(w, w, weight);
    fmpq_add(s->value, s->value, w);
    fmpq_clear(w);
}

static void resample(struct learned *s, int64_t t)
{
    fmpq wy[4], wx[4];
    fmpq_t w;
    int64_t y[4], x[4] = {0};
    const bool two = s->n_axes == 2;
    fmpq_init(w);
    for (int k = 0; k < 4; k++) {
        fmpq_init(wy + k);
        fmpq_init(wx + k);
    }
    taps(wy, y, s, 0, two ? t / s->target[1] : t);
    if (two)
        taps(wx, x, s, 1, t % s->target[1]);
    else
        fmpq_one(wx);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < (two ? 4 : 1); j++) {
            fmpq_mul(w, wy + i, wx + j);
            add_row(s, s->prefix + y[i] * (two ? s->source[1] : 1) + x[j], w);
        }
    for (int k = 0; k < 4; k++) {
        fmpq_clear(wy + k);
        fmpq_clear(wx + k);
    }
    fmpq_clear(w);
}

/* s->value = the table's entry of position s->row and channel s->channel. */
static void entry(struct learned *s)
{
    fmpq_t one;
    fmpq_init(one);
    fmpq_one(one);
    fmpq_set_si(s->value, 0, 1); /* inlined, fmpq_zero makes gcc 12 take value for its numerator */
    const int64_t row = (int64_t)s->rows[s->row];
    if (s->n_axes && row >= s->prefix)
        resample(s, row - s->prefix);
    else
        add_row(s, row, one);
    oracle_fmpq_set_double(one, s->table_scale);
    fmpq_mul(s->value, s->value, one);
    fmpq_clear(one);
}

static bool unit(void *ctx, slong prec)
{
    struct learned *s = ctx;
    bool done = true;
    arb_t value, root;
    fmpq_t x;
    arb_init(value);
    arb_init(root);
    fmpq_init(x);
    oracle_arb_set_fmpq(value, s->value, prec);
    if (s->table)
        done = oracle_judge(s->tally, s->c, s->table, s->row * s->dim + s->channel, value, prec);
    for (int64_t h = 0; s->y && h < s->n_heads; h++) {
        const int64_t at = (s->row * s->n_heads + h) * s->dim + s->channel;
        oracle_fmpq_set_double(x, s->x->data[at]);
        if (s->root) {
            oracle_arb_set_fmpq(value, x, prec + 64);
            arb_sqrt_ui(root, (ulong)s->dim, prec + 64);
            arb_mul(value, value, root, prec + 64);
            oracle_arb_set_fmpq(root, s->value, prec + 64);
            arb_add(value, value, root, prec + 2200);
        } else {
            fmpq_add(x, x, s->value);
            oracle_arb_set_fmpq(value, x, prec);
        }
        done = oracle_judge(s->tally, s->c, s->y, at, value, prec) && done;
    }
    arb_clear(value);
    arb_clear(root);
    fmpq_clear(x);
    return done;
}

/* Copies keep their bits, -0 too; -0 + -0 is -0. */
static void judge_copy(struct learned *s)
{
    const int64_t row = (int64_t)s->rows[s->row];
    if (s->table_scale != 1 || (s->n_axes && row >= s->prefix))
        return;
    const double value = s->weights->data[row * s->dim + s->channel];
    if (s->table)
        oracle_judge_copy(s->tally, s->c, s->table, s->row * s->dim + s->channel, value);
    for (int64_t h = 0; s->y && h < s->n_heads && !s->root; h++) {
        const int64_t at = (s->row * s->n_heads + h) * s->dim + s->channel;
        if (value == 0 && s->x->data[at] == 0)
            oracle_judge_copy(s->tally, s->c, s->y, at, s->x->data[at] + value);
    }
}

static bool read_sizes(int64_t *out, struct oracle_case *c, const char *key, int *n)
{
    const char *at = oracle_text(c, key);
    char *end = NULL;
    for (*n = 0; at && *n < 2; at = *end == ',' ? end + 1 : NULL) {
        out[(*n)++] = strtoll(at, &end, 10);
        if (end == at || out[*n - 1] < 1)
            break;
    }
    return *n > 0 || oracle_fail(c, "%s: no sizes", key);
}

static bool read_grids(struct learned *s)
{
    struct oracle_case *c = s->c;
    int n = 0;
    s->prefix = oracle_int(c, "prefix_rows");
    if (!read_sizes(s->source, c, "source_grid", &n) ||
        !read_sizes(s->target, c, "target_grid", &s->n_axes))
        return false;
    s->cubic = oracle_is(c, "interpolation", "cubic");
    if (n != s->n_axes || (!s->cubic && !oracle_is(c, "interpolation", "linear")))
        return oracle_fail(c, "interpolation: the oracle has no formula for it");
    bool same = true;
    for (int axis = 0; axis < n; axis++)
        same = same && s->source[axis] == s->target[axis];
    s->n_axes = same ? 0 : n;
    return true;
}

/* Clamps s->rows[k] as the spec says; false: the table has no such row. */
static bool place_row(struct learned *s, int64_t k)
{
    const bool clamps = oracle_is(s->c, "beyond", "truncate");
    if (clamps && s->rows[k] < 0)
        s->rows[k] = 0;
    if (clamps && s->rows[k] > (double)(s->n_rows - 1))
        s->rows[k] = (double)(s->n_rows - 1);
    const int64_t grid = s->n_axes == 2 ? s->target[0] * s->target[1] : s->target[0];
    const int64_t end = s->n_axes ? s->prefix + grid : s->n_rows;
    return (s->rows[k] >= 0 && s->rows[k] < (double)end) ||
           oracle_fail(s->c, "a row beyond the table");
}

static bool count_rows(struct learned *s)
{
    struct oracle_case *c = s->c;
    const bool pads = oracle_has(c, "padding_idx");
    double next = pads ? oracle_real(c, "padding_idx") + 1 : s->offset;
    const double padding = next - 1;
    s->rows = flint_calloc((size_t)s->n + 1, sizeof *s->rows);
    for (int64_t k = 0; k < s->n; k++) {
        if (s->positions)
            s->rows[k] = s->positions->data[k] + s->offset;
        else
            s->rows[k] = s->mask->data[k] != 0 ? next++ : padding;
        if (!place_row(s, k))
            return false;
    }
    return true;
}

static bool read_case(struct learned *s)
{
    struct oracle_case *c = s->c;
    s->dim = oracle_int(c, "dim");
    s->offset = oracle_real(c, "offset");
    s->table_scale = oracle_real(c, "table_scale");
    s->root = oracle_is(c, "x_scale", "sqrt_dim");
    s->weights = oracle_input(c, "weights");
    s->positions = oracle_input(c, "positions");
    s->mask = oracle_input(c, "mask");
    s->x = oracle_input(c, "x");
    s->table = oracle_output(c, "table");
    s->y = oracle_output(c, "y");
    if (c->error[0])
        return false;
    if ((!s->root && !oracle_is(c, "x_scale", "one")) ||
        (!oracle_is(c, "beyond", "error") && !oracle_is(c, "beyond", "truncate") &&
         !oracle_is(c, "beyond", "interpolate")))
        return oracle_fail(c, "x_scale or beyond: the oracle has no formula for it");
    if (!s->weights || s->weights->rank != 2 || s->weights->shape[1] != s->dim ||
        !s->positions == !s->mask || (s->y && !s->x))
        return oracle_fail(c, "weights, x, or one of positions and mask, missing");
    s->n = s->positions ? s->positions->count : s->mask->count;
    s->n_rows = s->weights->shape[0];
    s->n_heads = s->x && s->x->rank == 3 ? s->x->shape[1] : 1;
    int64_t x2[2] = {s->n, s->dim}, x3[3] = {s->n, s->n_heads, s->dim};
    const int rank = s->x && s->x->rank == 3 ? 3 : 2;
    const int64_t *shape = rank == 3 ? x3 : x2;
    if ((s->table && !oracle_shaped(c, s->table, 2, x2)) ||
        (s->y && (!oracle_shaped(c, s->x, rank, shape) || !oracle_shaped(c, s->y, rank, shape))))
        return false;
    return (!oracle_is(c, "beyond", "interpolate") || read_grids(s)) && count_rows(s);
}

/* ---- scores: (q + p) . (k + r) in four terms, all rational before the scale ------------------ */

struct side {
    struct learned *s;
    fmpq *row[2]; /* [dim], of the queries' and the keys' position at hand */
    int64_t at[2];
};

/* The row of a position into side->row[which], once for each. */
static void set_row(struct side *side, int which, double position, int64_t at)
{
    struct learned *s = side->s;
    if (side->at[which] == at)
        return;
    side->at[which] = at;
    s->row = 0;
    s->rows[0] = position + s->offset;
    if (!place_row(s, 0))
        return;
    for (s->channel = 0; s->channel < s->dim; s->channel++) {
        entry(s);
        fmpq_set(side->row[which] + s->channel, s->value);
    }
}

static void term(arb_ptr out, struct oracle_attention *a, int64_t head, int64_t i, int64_t j,
                 slong prec)
{
    struct side *side = a->ctx;
    const double *q = oracle_q(a, head, i), *k = oracle_k(a, head, j);
    fmpq x[2], sum[4];
    fmpq_t part;
    set_row(side, 0, oracle_q_position(a, 0, i), i);
    set_row(side, 1, oracle_k_position(a, 0, j), j);
    fmpq_init(x);
    fmpq_init(x + 1);
    fmpq_init(part);
    for (int n = 0; n < 4; n++)
        fmpq_init(sum + n);
    for (int64_t c = 0; c < a->dim; c++) {
        oracle_fmpq_set_double(x, q[c]);
        oracle_fmpq_set_double(x + 1, k[c]);
        const fmpq *left[] = {x, x, x + 1, side->row[0] + c};
        const fmpq *right[] = {x + 1, side->row[1] + c, side->row[0] + c, side->row[1] + c};
        for (int n = 0; n < 4; n++) {
            fmpq_mul(part, left[n], right[n]);
            fmpq_add(sum + n, sum + n, part);
        }
    }
    for (int n = 0; n < 4; n++) {
        oracle_arb_set_fmpq(out + n, sum + n, prec + 64);
        fmpq_clear(sum + n);
    }
    fmpq_clear(x);
    fmpq_clear(x + 1);
    fmpq_clear(part);
}

static void judge_scores(struct learned *s)
{
    static const char *const names[] = {"content_content", "content_position", "position_content",
                                        "position_position", NULL};
    struct oracle_case *c = s->c;
    struct side side = {.s = s, .at = {-1, -1}};
    struct oracle_attention a = {.tally = s->tally, .c = c, .ctx = &side, .terms = names,
                                 .term = term};
    s->weights = oracle_input(c, "weights");
    if (!s->weights || s->weights->rank != 2 || s->weights->shape[1] != s->dim ||
        (oracle_is(c, "beyond", "interpolate") && !read_grids(s))) {
        oracle_fail(c, "weights or grids missing");
        return;
    }
    s->n_rows = s->weights->shape[0];
    s->rows = flint_calloc(1, sizeof *s->rows);
    side.row[0] = _fmpq_vec_init(s->dim);
    side.row[1] = _fmpq_vec_init(s->dim);
    oracle_attention_judge(&a);
    _fmpq_vec_clear(side.row[0], s->dim);
    _fmpq_vec_clear(side.row[1], s->dim);
}

static void judge(struct oracle_tally *t, struct oracle_case *c)
{
    struct learned s = {.tally = t, .c = c};
    fmpq_init(s.value);
    if (oracle_attention_wanted(c)) {
        s.dim = oracle_int(c, "dim");
        s.offset = oracle_real(c, "offset");
        s.table_scale = oracle_real(c, "table_scale");
        judge_scores(&s);
    } else if (read_case(&s)) {
        for (s.row = 0; s.row < s.n; s.row++)
            for (s.channel = 0; s.channel < s.dim; s.channel++) {
                judge_copy(&s);
                entry(&s);
                oracle_raise(unit, &s);
            }
    }
    fmpq_clear(s.value);
    flint_free(s.rows);
}

const struct oracle_scheme oracle_learned = {"learned", judge};
