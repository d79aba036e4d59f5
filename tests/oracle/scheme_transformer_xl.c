/* SPDX-License-Identifier: Apache-2.0 */
/* Transformer-XL (arXiv 1901.02860, section 3.3): A = q k + q (W_kR R_{i-j}) + u k + v (W_kR
 * R_{i-j}), scaled by 1/sqrt(d). R is the sinusoid [sin | cos] of kimiyoung/transformer-xl, or
 * [sin, cos, sin, cos, ...] of Conformer. Learned rows r_emb are in the order of falling distance,
 * the last one distance 0; further distances repeat the first row, or are zeros (Music
 * Transformer). */
#include "attention.h"

#include <math.h>

struct txl {
    struct oracle_tensor *w, *rows, *u, *v;
    int64_t width;
    double base, clamp;
    bool concat, zero_padded;
};

static const double *bias(const struct oracle_tensor *t, int64_t head, int64_t dim)
{
    return t->data + (t->rank == 1 ? 0 : head * dim);
}

static double distance(const struct oracle_attention *a, int64_t i, int64_t j)
{
    const struct txl *x = a->ctx;
    double d = oracle_q_position(a, 0, i) - oracle_k_position(a, 0, j);
    return d > x->clamp ? x->clamp : d < -x->clamp ? -x->clamp : d;
}

/* Component n of the sinusoid at distance d: d / base^(2i / width). */
static void sinusoid(arb_t out, const struct txl *x, int64_t n, double d, slong prec)
{
    const int64_t half = x->width / 2, i = x->concat ? n % half : n / 2;
    const bool cosine = x->concat ? n >= half : n % 2 == 1;
    struct oracle_power power;
    arb_t angle, times;
    arb_init(angle);
    arb_init(times);
    oracle_power_init(&power, x->base, 2 * i, x->width);
    oracle_power_arb(angle, &power, prec + 64);
    arb_set_d(times, d);
    arb_mul(angle, angle, times, prec + 96);
    if (cosine)
        arb_cos(out, angle, prec + 64);
    else
        arb_sin(out, angle, prec + 64);
    oracle_power_clear(&power);
    arb_clear(angle);
    arb_clear(times);
}

/* W R_d of one head, [dim]. */
static void relative(arb_ptr out, const struct oracle_attention *a, int64_t head, double d,
                     slong prec)
{
    const struct txl *x = a->ctx;
    if (x->rows) {
        const int64_t n = x->rows->shape[0];
        int64_t row = n - 1 - (int64_t)d;
        const bool none = d < 0 || (row < 0 && x->zero_padded);
        row = row < 0 ? 0 : row;
        for (int64_t c = 0; c < a->dim; c++)
            arb_set_d(out + c, none ? 0 : x->rows->data[row * a->dim + c]);
        return;
    }
    arb_ptr s = _arb_vec_init(x->width);
    arb_t w;
    arb_init(w);
    for (int64_t n = 0; n < x->width; n++)
        sinusoid(s + n, x, n, d, prec);
    for (int64_t c = 0; c < a->dim; c++) {
        arb_zero(out + c);
        for (int64_t n = 0; n < x->width; n++) {
            arb_set_d(w, x->w->data[(head * a->dim + c) * x->width + n]);
            arb_addmul(out + c, w, s + n, prec + 64);
        }
    }
    arb_clear(w);
    _arb_vec_clear(s, x->width);
}

static void dot(arb_t out, const double *x, arb_srcptr y, int64_t n, slong prec)
{
    arb_t a;
    arb_init(a);
    arb_zero(out);
    for (int64_t c = 0; c < n; c++) {
        arb_set_d(a, x[c]);
        arb_addmul(out, a, y + c, prec + 64);
    }
    arb_clear(a);
}

static void term(arb_ptr out, struct oracle_attention *a, int64_t head, int64_t i, int64_t j,
                 slong prec)
{
    const struct txl *x = a->ctx;
    const double *q = oracle_q(a, head, i), *k = oracle_k(a, head, j);
    arb_ptr r = _arb_vec_init(a->dim);
    relative(r, a, head, distance(a, i, j), prec);
    oracle_dot(out, q, k, a->dim, prec);
    dot(out + 1, q, r, a->dim, prec);
    if (a->n_terms == 4) {
        oracle_dot(out + 2, bias(x->u, head, a->dim), k, a->dim, prec);
        dot(out + 3, bias(x->v, head, a->dim), r, a->dim, prec);
    }
    _arb_vec_clear(r, a->dim);
}

static void judge(struct oracle_tally *t, struct oracle_case *c)
{
    static const char *const four[] = {"content_content", "content_position", "u_content",
                                       "v_position", NULL};
    static const char *const two[] = {"content_content", "content_position", NULL};
    const bool waves = oracle_is(c, "relative_keys", "sinusoid");
    struct txl x = {.u = oracle_input(c, "u"), .v = oracle_input(c, "v_bias"),
                    .zero_padded = oracle_is(c, "relative_keys", "zero_padded"),
                    .clamp = oracle_has(c, "clamp_len") ? oracle_real(c, "clamp_len") : HUGE_VAL};
    struct oracle_attention a = {.tally = t, .c = c, .ctx = &x, .term = term,
                                 .terms = x.zero_padded ? two : four};
    if (!oracle_attention_wanted(c))
        return;
    if (waves) {
        x.w = oracle_input(c, "key_weights");
        x.width = oracle_int(c, "model_dim");
        x.base = oracle_real(c, "base");
        x.concat = oracle_is(c, "order", "concat");
        if (!x.concat && !oracle_is(c, "order", "interleaved"))
            oracle_fail(c, "order: the oracle has no formula for it");
    } else {
        x.rows = oracle_input(c, "weights");
    }
    if ((waves ? !x.w : !x.rows) || (!x.zero_padded && (!x.u || !x.v)))
        oracle_fail(c, "relative keys, u or v_bias are missing");
    if (!c->error[0])
        oracle_attention_judge(&a);
}

const struct oracle_scheme oracle_transformer_xl = {"transformer_xl", judge};
