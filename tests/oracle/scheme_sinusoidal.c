/* SPDX-License-Identifier: Apache-2.0 */
/* Sinusoidal embeddings (arXiv 1706.03762) and timestep embeddings: sines and cosines of c w_i.
 *
 * sinusoidal: c = position + offset, w_i = m (b/m)^(-2i/d) (exponent d) or m (b/m)^(-i/(d/2 - 1))
 *   (half_minus_one), m = min_timescale; channels sin, cos, sin, ... (interleaved), sines then
 *   cosines (concat), cosines then sines (flipped); times table_scale. An odd d: d - 1 in its place
 *   and a zero last (zero_column), or sines one more than cosines (extra_sine). y = x_scale x +
 *   table. padding_idx: token k of those whose mask is 1 has c = padding_idx + 1 + k, others zeros.
 *   Scores: (q + p) . (k + r) of content rows q, k and table rows p, r, in four products.
 * timestep: c = t, w_i = scale max_period^(-i/(floor(d/2) - shift)), sines then cosines or flipped,
 *   a zero last when d is odd.
 * fourier: angles 2 pi W_i z, z = ln x (log) or x; sines then cosines or flipped. */
#include "attention.h"
#include "sincos_axes.h"

struct waves {
    struct oracle_tally *tally;
    struct oracle_case *c;
    int64_t dim, n_sines, n_cosines, n, n_heads, row, i;
    bool interleaved, flipped;
    struct oracle_tensor *positions, *mask, *x, *table, *y;
    double base, smallest, scale, table_scale, offset, padding_idx;
    struct oracle_tensor *weights; /* fourier */
    bool log;
    bool root; /* x is multiplied by the root of dim */
    fmpq *exponent; /* -e_i */
    arb_ptr cached; /* w_i at ORACLE_FIRST_PREC */
    double *counted; /* c of each row when it comes from the mask */
    arb_t a, b, sum;
};

/* scale m (b/m)^-e */
static void frequency(arb_t out, struct waves *s, int64_t i, slong prec)
{
    arb_t part;
    arb_init(part);
    oracle_pow(out, s->base, s->exponent + i, prec);
    if (s->smallest != 1) {
        fmpq_t e;
        fmpq_init(e);
        fmpq_neg(e, s->exponent + i);
        oracle_pow(part, s->smallest, e, prec);
        arb_mul(out, out, part, prec);
        arb_set_d(part, s->smallest);
        arb_mul(out, out, part, prec);
        fmpq_clear(e);
    }
    arb_set_d(part, s->scale);
    arb_mul(out, out, part, prec);
    arb_clear(part);
}

static bool judge_channel(struct waves *s, int64_t channel, const arb_t value, slong prec)
{
    bool done = true;
    if (s->table)
        done &= oracle_judge(s->tally, s->c, s->table, s->row * s->dim + channel, value, prec);
    for (int64_t h = 0; s->y && h < s->n_heads; h++) {
        int64_t at = (s->row * s->n_heads + h) * s->dim + channel;
        arb_set_d(s->sum, s->x->data[at]);
        if (s->root) {
            arb_t root;
            arb_init(root);
            arb_sqrt_ui(root, (ulong)s->dim, prec + 64);
            arb_mul(s->sum, s->sum, root, prec + 64);
            arb_clear(root);
        }
        arb_add(s->sum, s->sum, value, prec + 2200); /* exact where both are */
        done &= oracle_judge(s->tally, s->c, s->y, at, s->sum, prec);
    }
    return done;
}

/* c of the row, exactly. */
static void coordinate(arb_t out, struct waves *s)
{
    arb_t offset;
    arb_set_d(out, s->counted ? s->counted[s->row] : s->positions->data[s->row]);
    arb_init(offset);
    arb_set_d(offset, s->offset);
    arb_add(out, out, offset, ARF_PREC_EXACT);
    arb_clear(offset);
}

static bool wave(void *ctx, slong prec)
{
    struct waves *s = ctx;
    arb_t c;
    arb_init(c);
    coordinate(c, s);
    if (s->weights) { /* sin and cos of pi (2 W z): exact at quarter turns */
        if (s->log)
            arb_log(c, c, prec + 64);
        arb_set_d(s->a, 2 * s->weights->data[s->i]);
        arb_mul(s->a, s->a, c, prec + 128);
        arb_sin_cos_pi(s->a, s->b, s->a, prec + 64);
    } else {
        if (prec == ORACLE_FIRST_PREC)
            arb_set(s->a, s->cached + s->i);
        else
            frequency(s->a, s, s->i, prec + 64);
        arb_mul(s->a, s->a, c, prec + 64);
        arb_sin_cos(s->a, s->b, s->a, prec + 64);
    }
    arb_set_d(c, s->table_scale);
    arb_mul(s->a, s->a, c, prec + 64);
    arb_mul(s->b, s->b, c, prec + 64);
    arb_clear(c);
    const int64_t i = s->i, sine = s->interleaved ? 2 * i : s->flipped ? s->n_cosines + i : i;
    const int64_t cosine = s->interleaved ? 2 * i + 1 : s->flipped ? i : s->n_sines + i;
    bool done = judge_channel(s, sine, s->a, prec);
    return (i >= s->n_cosines || judge_channel(s, cosine, s->b, prec)) && done;
}

static bool nothing(void *ctx, slong prec)
{
    struct waves *s = ctx;
    arb_zero(s->a);
    return judge_channel(s, s->i, s->a, prec);
}

static bool read_mask(struct waves *s, bool counts)
{
    s->mask = oracle_input(s->c, "mask");
    if (s->mask && (s->mask->rank != 1 || (!counts && s->mask->count != s->n)))
        return oracle_fail(s->c, "mask: another shape than [n]");
    if (!counts)
        return true;
    if (!s->mask || s->positions)
        return oracle_fail(s->c, "padding_idx needs a mask and no positions");
    s->n = s->mask->count;
    s->counted = flint_calloc((size_t)s->n, sizeof *s->counted);
    double next = s->padding_idx;
    for (int64_t k = 0; k < s->n; k++)
        if (s->mask->data[k] != 0)
            s->counted[k] = ++next;
    return true;
}

static bool check_shapes(struct waves *s)
{
    struct oracle_case *c = s->c;
    const bool counts = oracle_has(c, "padding_idx");
    s->positions = oracle_input(c, "positions");
    s->x = oracle_input(c, "x");
    s->table = oracle_output(c, "table");
    s->y = oracle_output(c, "y");
    const bool placed = s->positions && s->positions->rank == 1;
    if ((!counts && (s->table || s->y) && !placed) || (s->y && !s->x))
        return oracle_fail(c, "positions of rank 1, or x, missing");
    s->n = s->positions ? s->positions->count : 0;
    if (!s->table && !s->y && !counts) /* scores: the mask is theirs */
        return true;
    if (!read_mask(s, counts))
        return false;
    int rank = s->x && s->x->rank == 3 ? 3 : 2;
    s->n_heads = rank == 3 ? s->x->shape[1] : 1;
    int64_t x2[2] = {s->n, s->dim}, x3[3] = {s->n, s->n_heads, s->dim};
    const int64_t *shape = rank == 3 ? x3 : x2;
    return (!s->table || oracle_shaped(c, s->table, 2, x2)) &&
           (!s->y || (oracle_shaped(c, s->x, rank, shape) && oracle_shaped(c, s->y, rank, shape)));
}

/* Exponents i num / den. */
static void make_ladder(struct waves *s, int64_t num, int64_t den)
{
    s->exponent = flint_calloc((size_t)s->n_sines, sizeof *s->exponent);
    s->cached = _arb_vec_init(s->n_sines);
    for (int64_t i = 0; i < s->n_sines; i++) {
        fmpq_init(s->exponent + i);
        fmpq_set_si(s->exponent + i, -i * num, (ulong)den);
        frequency(s->cached + i, s, i, ORACLE_FIRST_PREC + 64);
    }
}

static bool read_sinusoidal(struct waves *s)
{
    struct oracle_case *c = s->c;
    const bool over_d = oracle_is(c, "exponent", "d");
    const bool extra = s->dim % 2 && oracle_is(c, "odd_dim", "extra_sine");
    s->base = oracle_real(c, "base");
    s->smallest = oracle_real(c, "min_timescale");
    s->table_scale = oracle_real(c, "table_scale");
    s->offset = oracle_real(c, "offset");
    s->root = oracle_is(c, "x_scale", "sqrt_dim");
    s->interleaved = oracle_is(c, "order", "interleaved");
    s->flipped = oracle_is(c, "order", "flipped");
    if (oracle_has(c, "padding_idx"))
        s->padding_idx = oracle_real(c, "padding_idx");
    if (c->error[0])
        return false;
    if (!s->interleaved && !s->flipped && !oracle_is(c, "order", "concat"))
        return oracle_fail(c, "order: the oracle has no formula for it");
    if (!over_d && !oracle_is(c, "exponent", "half_minus_one"))
        return oracle_fail(c, "exponent: the oracle has no formula for it");
    if (!s->root && !oracle_is(c, "x_scale", "one"))
        return oracle_fail(c, "x_scale: the oracle has no formula for it");
    if (s->dim % 2 && !extra && !oracle_is(c, "odd_dim", "zero_column"))
        return oracle_fail(c, "odd_dim: the oracle has no formula for it");
    s->n_sines += extra;
    const int64_t even = extra ? s->dim : s->dim - s->dim % 2;
    if (s->dim < 2 || (!over_d && (s->dim < 4 || extra)) || !(s->base > s->smallest))
        return oracle_fail(c, "dim or base out of range");
    make_ladder(s, over_d ? 2 : 1, over_d ? even : s->dim / 2 - 1);
    return check_shapes(s);
}

static bool read_timestep(struct waves *s)
{
    struct oracle_case *c = s->c;
    const int64_t shift = oracle_int(c, "downscale_freq_shift"), h = s->dim / 2;
    s->base = oracle_real(c, "max_period");
    s->scale = oracle_real(c, "scale");
    s->flipped = oracle_is(c, "flip_sin_to_cos", "true");
    if (c->error[0])
        return false;
    if (!s->flipped && !oracle_is(c, "flip_sin_to_cos", "false"))
        return oracle_fail(c, "flip_sin_to_cos: the oracle has no formula for it");
    if (s->dim < 2 || shift >= h || !(s->base > 1))
        return oracle_fail(c, "dim, shift or max_period out of range");
    make_ladder(s, 1, h - shift);
    return check_shapes(s);
}

static bool read_fourier(struct waves *s)
{
    struct oracle_case *c = s->c;
    const int64_t shape[1] = {s->dim / 2};
    s->weights = oracle_input(c, "weights");
    s->flipped = oracle_is(c, "flip_sin_to_cos", "true");
    s->log = oracle_is(c, "log", "true");
    if (s->dim < 2 || s->dim % 2 || !s->weights)
        return oracle_fail(c, "dim is odd, or no weights");
    if ((!s->flipped && !oracle_is(c, "flip_sin_to_cos", "false")) ||
        (!s->log && !oracle_is(c, "log", "false")))
        return oracle_fail(c, "flip_sin_to_cos or log: the oracle has no formula for it");
    return oracle_shaped(c, s->weights, 1, shape) && check_shapes(s);
}

static void judge_rows(struct waves *s)
{
    for (s->row = 0; s->row < s->n; s->row++) {
        const bool masked = s->mask && s->mask->data[s->row] == 0;
        for (s->i = 0; !masked && s->i < s->n_sines; s->i++)
            oracle_raise(wave, s);
        for (s->i = masked ? 0 : s->n_sines + s->n_cosines; s->i < s->dim; s->i++)
            oracle_raise(nothing, s);
    }
}

/* The table's row at a position. */
static void table_row(arb_ptr out, struct waves *s, double position, slong prec)
{
    arb_t c, offset;
    arb_init(c);
    arb_init(offset);
    arb_set_d(c, position);
    arb_set_d(offset, s->offset);
    arb_add(c, c, offset, ARF_PREC_EXACT);
    arb_set_d(offset, s->table_scale);
    for (int64_t i = 0; i < s->n_sines; i++) {
        arb_ptr sine = out + (s->interleaved ? 2 * i : s->flipped ? s->n_cosines + i : i);
        arb_ptr cosine = out + (s->interleaved ? 2 * i + 1 : s->flipped ? i : s->n_sines + i);
        frequency(s->a, s, i, prec + 64);
        arb_mul(s->a, s->a, c, prec + 64);
        arb_sin_cos(sine, cosine, s->a, prec + 64);
        arb_mul(sine, sine, offset, prec + 64);
        arb_mul(cosine, cosine, offset, prec + 64);
    }
    arb_clear(c);
    arb_clear(offset);
}

static void score_terms(arb_ptr out, struct oracle_attention *a, int64_t head, int64_t i,
                        int64_t j, slong prec)
{
    struct waves *s = a->ctx;
    const double *q = oracle_q(a, head, i), *k = oracle_k(a, head, j);
    arb_ptr p = _arb_vec_init(s->dim), r = _arb_vec_init(s->dim);
    table_row(p, s, oracle_q_position(a, 0, i), prec);
    table_row(r, s, oracle_k_position(a, 0, j), prec);
    oracle_dot(out, q, k, s->dim, prec);
    for (int n = 1; n < 4; n++)
        arb_zero(out + n);
    for (int64_t c = 0; c < s->dim; c++) {
        arb_set_d(s->a, q[c]);
        arb_addmul(out + 1, s->a, r + c, prec + 64);
        arb_set_d(s->a, k[c]);
        arb_addmul(out + 2, s->a, p + c, prec + 64);
        arb_addmul(out + 3, p + c, r + c, prec + 64);
    }
    _arb_vec_clear(p, s->dim);
    _arb_vec_clear(r, s->dim);
}

static void judge_scores(struct waves *s)
{
    static const char *const terms[] = {"content_content", "content_position", "position_content",
                                        "position_position", NULL};
    struct oracle_attention a = {.tally = s->tally, .c = s->c, .ctx = s, .terms = terms,
                                 .term = score_terms};
    if (!oracle_attention_wanted(s->c))
        return;
    if (s->n_sines != s->n_cosines || s->root || oracle_has(s->c, "padding_idx"))
        oracle_fail(s->c, "scores: the oracle has no formula for it");
    else
        oracle_attention_judge(&a);
}

static void judge(struct oracle_tally *t, struct oracle_case *c, bool (*read)(struct waves *s))
{
    struct waves s = {.tally = t, .c = c, .smallest = 1, .scale = 1, .table_scale = 1};
    s.dim = oracle_int(c, "dim");
    s.n_sines = s.n_cosines = s.dim / 2;
    arb_init(s.a);
    arb_init(s.b);
    arb_init(s.sum);
    if (!c->error[0] && read(&s)) {
        judge_rows(&s);
        judge_scores(&s);
    }
    for (int64_t i = 0; s.exponent && i < s.n_sines; i++)
        fmpq_clear(s.exponent + i);
    flint_free(s.exponent);
    flint_free(s.counted);
    if (s.cached)
        _arb_vec_clear(s.cached, s.n_sines);
    arb_clear(s.a);
    arb_clear(s.b);
    arb_clear(s.sum);
}

static void judge_sinusoidal(struct oracle_tally *t, struct oracle_case *c)
{
    if (oracle_has(c, "axes_dims"))
        sincos_axes_judge(t, c);
    else
        judge(t, c, read_sinusoidal);
}

static void judge_timestep(struct oracle_tally *t, struct oracle_case *c)
{
    judge(t, c, read_timestep);
}

static void judge_fourier(struct oracle_tally *t, struct oracle_case *c)
{
    judge(t, c, read_fourier);
}

const struct oracle_scheme oracle_sinusoidal = {"sinusoidal", judge_sinusoidal};
const struct oracle_scheme oracle_timestep = {"timestep", judge_timestep};
const struct oracle_scheme oracle_fourier = {"fourier", judge_fourier};
