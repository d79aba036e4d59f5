/* SPDX-License-Identifier: Apache-2.0 */
/* CoPE (arXiv 2405.18719): gates g_ik = sigmoid(q_i . k_k) (equation 3; the listing scales the
 * product first), positions p_ij = sum of g_ik for k = j ... i (equation 4), at most npos_max - 1;
 * e[p] = (p - floor p) e[ceil p] + (1 - p + floor p) e[floor p] (equation 5); the query's product
 * with e[p] is added to the scaled logit (listing), or scaled with it (RAM).
 *
 * The interpolation is written here as the sum of all rows m times max(0, 1 - |p - m|), which has
 * no floor and no branch. */
#include "attention.h"

struct cope {
    struct oracle_attention a;
    struct oracle_tensor *weights, *positions;
    int64_t npos;
    bool scaled_gates;
};

static void gate(arb_t out, struct oracle_attention *a, int64_t head, int64_t i, int64_t k,
                 slong prec)
{
    const struct cope *s = a->ctx;
    oracle_dot(out, oracle_q(a, head, i), oracle_k(a, head, k), a->dim, prec);
    if (s->scaled_gates)
        oracle_times_scale(out, a, i, prec);
    arb_neg(out, out); /* 1 / (1 + e^-z) */
    arb_exp(out, out, prec + 64);
    arb_add_ui(out, out, 1, prec + 64);
    arb_inv(out, out, prec + 64);
}

static void position(arb_t out, struct oracle_attention *a, int64_t head, int64_t i, int64_t j,
                     slong prec)
{
    const struct cope *s = a->ctx;
    arb_t part;
    arb_init(part);
    arb_zero(out);
    for (int64_t k = j; k < a->n_k; k++) {
        if (!oracle_sees(a, i, k))
            continue;
        gate(part, a, head, i, k, prec);
        arb_add(out, out, part, prec + 64);
    }
    arb_set_si(part, s->npos - 1);
    arb_min(out, out, part, prec + 64);
    arb_clear(part);
}

static void term(arb_ptr out, struct oracle_attention *a, int64_t head, int64_t i, int64_t j,
                 slong prec)
{
    const struct cope *s = a->ctx;
    const double *q = oracle_q(a, head, i);
    const int64_t first = s->weights->rank == 3 ? head * s->npos : 0;
    arb_t p, share, logit, zero;
    arb_init(p);
    arb_init(share);
    arb_init(logit);
    arb_init(zero);
    oracle_dot(out, q, oracle_k(a, head, j), a->dim, prec);
    position(p, a, head, i, j, prec);
    arb_zero(out + 1);
    for (int64_t m = 0; m < s->npos; m++) {
        arb_sub_si(share, p, m, prec + 64);
        arb_abs(share, share);
        arb_sub_ui(share, share, 1, prec + 64);
        arb_neg(share, share);
        arb_max(share, share, zero, prec + 64);
        oracle_dot(logit, q, s->weights->data + (first + m) * a->dim, a->dim, prec);
        arb_addmul(out + 1, share, logit, prec + 64);
    }
    arb_clear(p);
    arb_clear(share);
    arb_clear(logit);
    arb_clear(zero);
}

static bool position_unit(void *ctx, slong prec)
{
    struct cope *s = ctx;
    struct oracle_attention *a = &s->a;
    arb_t p;
    arb_init(p);
    position(p, a, a->head, a->i, a->j, prec);
    const bool done = oracle_judge_within(a->tally, a->c, s->positions,
                                          (a->head * a->n_q + a->i) * a->n_k + a->j, p,
                                          0x1p-60 * (double)(a->n_k + 1), prec);
    arb_clear(p);
    return done;
}

static void judge_positions(struct cope *s)
{
    struct oracle_attention *a = &s->a;
    if (!oracle_attention_read(a))
        return;
    const int64_t shape[] = {a->heads, a->n_q, a->n_k};
    const int flat = a->q->rank == 3 ? 0 : 1;
    if (!oracle_shaped(a->c, s->positions, 3 - flat, shape + flat))
        return;
    for (a->head = 0; a->head < a->heads; a->head++)
        for (a->i = 0; a->i < a->n_q; a->i++)
            for (a->j = 0; a->j < a->n_k; a->j++)
                oracle_raise(position_unit, s);
}

static void judge(struct oracle_tally *t, struct oracle_case *c)
{
    static const char *const names[] = {"content_content", "content_position", NULL};
    struct cope s = {.weights = oracle_input(c, "weights"), .npos = oracle_int(c, "npos_max"),
                     .positions = oracle_output(c, "contextual_positions"),
                     .scaled_gates = oracle_is(c, "gate_logits", "scaled")};
    s.a = (struct oracle_attention){.tally = t, .c = c, .ctx = &s, .terms = names, .term = term};
    if (oracle_is(c, "position_logits", "unscaled"))
        s.a.n_unscaled = 1;
    else if (!oracle_is(c, "position_logits", "scaled"))
        oracle_fail(c, "position_logits: the oracle has no formula for it");
    if (!s.scaled_gates && !oracle_is(c, "gate_logits", "unscaled"))
        oracle_fail(c, "gate_logits: the oracle has no formula for it");
    if (c->error[0])
        return;
    if (s.positions)
        judge_positions(&s);
    if (!oracle_attention_wanted(c))
        return;
    if (!s.weights || (s.weights->rank != 2 && s.weights->rank != 3) ||
        s.weights->shape[s.weights->rank - 2] != s.npos)
        oracle_fail(c, "weights: not npos_max rows");
    else
        oracle_attention_judge(&s.a);
}

const struct oracle_scheme oracle_cope = {"cope", judge};
