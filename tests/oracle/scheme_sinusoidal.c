/* SPDX-License-Identifier: Apache-2.0 */
/* Sinusoidal embeddings (arXiv 1706.03762): sin(p w_i) and cos(p w_i), i < d/2, with
 * w_i = b^(-2i/d) (exponent d) or b^(-i/(d/2 - 1)) (half_minus_one); channels 2i and 2i + 1
 * (interleaved) or i and d/2 + i (concat). y = x + table, the sum exact before it is rounded. */
#include "oracle.h"

struct sinusoidal {
    struct oracle_tally *tally;
    struct oracle_case *c;
    int64_t dim, half, n_positions, n_heads;
    bool interleaved;
    struct oracle_tensor *positions, *x, *table, *y;
    struct oracle_power *power;
    arb_ptr cached; /* frequencies at ORACLE_FIRST_PREC */
    int64_t position, pair;
    arb_t sine, cosine, sum;
};

static void frequency(arb_t out, const struct sinusoidal *s, slong prec)
{
    if (prec == ORACLE_FIRST_PREC)
        arb_set(out, s->cached + s->pair);
    else
        oracle_power_arb(out, &s->power[s->pair], prec + 64);
}

static bool judge_channel(struct sinusoidal *s, int64_t channel, const arb_t value, slong prec)
{
    bool done = true;
    if (s->table)
        done &= oracle_judge(s->tally, s->c, s->table, s->position * s->dim + channel, value, prec);
    for (int64_t h = 0; s->y && h < s->n_heads; h++) {
        int64_t at = (s->position * s->n_heads + h) * s->dim + channel;
        arb_set_d(s->sum, s->x->data[at]);
        arb_add(s->sum, s->sum, value, prec);
        done &= oracle_judge(s->tally, s->c, s->y, at, s->sum, prec);
    }
    return done;
}

static bool unit(void *ctx, slong prec)
{
    struct sinusoidal *s = ctx;
    frequency(s->sine, s, prec);
    arb_set_d(s->cosine, s->positions->data[s->position]);
    arb_mul(s->sum, s->sine, s->cosine, prec + 64);
    arb_sin_cos(s->sine, s->cosine, s->sum, prec);
    int64_t i = s->pair;
    bool done = judge_channel(s, s->interleaved ? 2 * i : i, s->sine, prec);
    done &= judge_channel(s, s->interleaved ? 2 * i + 1 : s->half + i, s->cosine, prec);
    return done;
}

static bool check_shapes(struct sinusoidal *s)
{
    struct oracle_case *c = s->c;
    s->positions = oracle_input(c, "positions");
    s->x = oracle_input(c, "x");
    s->table = oracle_output(c, "table");
    s->y = oracle_output(c, "y");
    if (!s->positions || s->positions->rank != 1 || (s->y && !s->x))
        return oracle_fail(c, "positions of rank 1, or x, missing");
    s->n_positions = s->positions->count;
    int rank = s->x && s->x->rank == 3 ? 3 : 2;
    s->n_heads = rank == 3 ? s->x->shape[1] : 1;
    int64_t x2[2] = {s->n_positions, s->dim}, x3[3] = {s->n_positions, s->n_heads, s->dim};
    const int64_t *shape = rank == 3 ? x3 : x2;
    return (!s->table || oracle_shaped(c, s->table, 2, x2)) &&
           (!s->y || (oracle_shaped(c, s->x, rank, shape) && oracle_shaped(c, s->y, rank, shape)));
}

static bool read_case(struct sinusoidal *s)
{
    struct oracle_case *c = s->c;
    s->dim = oracle_int(c, "dim");
    s->half = s->dim / 2;
    double base = oracle_real(c, "base");
    s->interleaved = oracle_is(c, "order", "interleaved");
    bool over_d = oracle_is(c, "exponent", "d");
    if (c->error[0])
        return false;
    if (!s->interleaved && !oracle_is(c, "order", "concat"))
        return oracle_fail(c, "order: the oracle has no formula for it");
    if (!over_d && !oracle_is(c, "exponent", "half_minus_one"))
        return oracle_fail(c, "exponent: the oracle has no formula for it");
    if (s->dim < 2 || s->dim % 2 || (!over_d && s->dim == 2) || !(base > 1))
        return oracle_fail(c, "dim or base out of range");
    s->power = flint_malloc((size_t)s->half * sizeof *s->power);
    s->cached = _arb_vec_init(s->half);
    for (int64_t i = 0; i < s->half; i++) {
        oracle_power_init(&s->power[i], base, over_d ? 2 * i : i, over_d ? s->dim : s->half - 1);
        oracle_power_arb(s->cached + i, &s->power[i], ORACLE_FIRST_PREC + 64);
    }
    return check_shapes(s);
}

static void judge(struct oracle_tally *t, struct oracle_case *c)
{
    struct sinusoidal s = {.tally = t, .c = c};
    arb_init(s.sine);
    arb_init(s.cosine);
    arb_init(s.sum);
    if (read_case(&s))
        for (s.position = 0; s.position < s.n_positions; s.position++)
            for (s.pair = 0; s.pair < s.half; s.pair++)
                oracle_raise(unit, &s);
    for (int64_t i = 0; s.power && i < s.half; i++)
        oracle_power_clear(&s.power[i]);
    flint_free(s.power);
    if (s.cached)
        _arb_vec_clear(s.cached, s.half);
    arb_clear(s.sine);
    arb_clear(s.cosine);
    arb_clear(s.sum);
}

const struct oracle_scheme oracle_sinusoidal = {"sinusoidal", judge};
