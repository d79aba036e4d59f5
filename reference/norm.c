/* SPDX-License-Identifier: Apache-2.0 */
/* Rope fused with an RMS norm. Over a row of dim channels, T = sum(x^2) + dim eps, an element is
 *     (A cos a + B sin a) dim / sqrt(dim T),
 * with A and B products of gain and x: dim T is dyadic where the attention factor is, so that a
 * rational root is met exactly, and with it every result that can tie. Where the angle is no exact
 * part of a turn the element is transcendental. */
#include "plan.h"
#include "xpos.h"

#include <math.h>

#define FIRST_BITS 128U /* posref_ball_decide's */

/* Cosine and sine of a pair at a token's position, at the first precision: all heads have them. */
struct turned_pair {
    bool is_part; /* of a turn: posref_plan_element_ball decides */
    struct posref_ball cosine, sine;
};

struct normed_row {
    const struct posref_norm *norm;
    const struct posref_plan *plan;
    const struct turned_pair *turned; /* [n_pairs] */
    const double *x; /* [dim] */
    struct posref_ball root; /* at the first precision */
};

/* Adds x^2, times the squared magnitude where the channel turns and the norm comes after. */
static enum posref_status add_squares(struct posref_ball *sum, const struct normed_row *row,
                                      bool copied, unsigned prec_bits)
{
    const struct posref_plan *plan = row->plan;
    struct posref_ball part, square;
    posref_ball_set_int(&part, 0);
    for (int k = 0; k < plan->dim; k++) {
        if (plan->copied[k] != copied)
            continue;
        posref_ball_set_double(&square, row->x[k]);
        posref_ball_mul(&square, &square, &square, prec_bits);
        posref_ball_add(&part, &part, &square, prec_bits);
    }
    enum posref_status status = POSREF_OK;
    if (row->norm->after && !copied && plan->n_pairs > 0) {
        status = posref_frequencies_magnitude_ball(&square, &plan->of[0], prec_bits);
        posref_ball_mul(&square, &square, &square, prec_bits);
        posref_ball_mul(&part, &part, &square, prec_bits);
    }
    posref_ball_add(sum, sum, &part, prec_bits);
    return status;
}

/* sqrt(dim T). */
static enum posref_status root_ball(struct posref_ball *out, const struct normed_row *row,
                                    unsigned prec_bits)
{
    struct posref_ball dim;
    posref_ball_set_int(&dim, row->plan->dim);
    posref_ball_set_double(out, row->norm->eps);
    posref_ball_mul(out, out, &dim, prec_bits);
    enum posref_status status = add_squares(out, row, false, prec_bits);
    if (status == POSREF_OK)
        status = add_squares(out, row, true, prec_bits);
    posref_ball_mul(out, out, &dim, prec_bits);
    if (status == POSREF_OK && !posref_ball_sqrt(out, out, prec_bits))
        status = POSREF_INTERNAL; /* cannot be: T >= dim eps > 0 */
    return status;
}

/* An element before the norm: of the pair, or the product of a channel that does not turn. */
struct normed_element {
    const struct normed_row *row;
    const struct posref_plan_element *turned; /* NULL: product alone */
    const struct turned_pair *at;
    double product;
};

static void combine(struct posref_ball *out, const struct turned_pair *at, double with_cos,
                    double with_sin)
{
    struct posref_ball factor, other;
    posref_ball_set_double(&factor, with_cos);
    posref_ball_mul(out, &at->cosine, &factor, FIRST_BITS);
    posref_ball_set_double(&factor, with_sin);
    posref_ball_mul(&other, &at->sine, &factor, FIRST_BITS);
    posref_ball_add(out, out, &other, FIRST_BITS);
}

static enum posref_status element_ball(struct posref_ball *out, const void *ctx,
                                       unsigned prec_bits)
{
    const struct normed_element *e = ctx;
    struct posref_ball root, dim;
    enum posref_status status = POSREF_OK;
    if (e->turned && prec_bits == FIRST_BITS && !e->at->is_part)
        combine(out, e->at, e->turned->with_cos, e->turned->with_sin);
    else if (e->turned)
        status = posref_plan_element_ball(out, e->turned, prec_bits);
    else
        posref_ball_set_double(out, e->product);
    if (status == POSREF_OK && prec_bits != FIRST_BITS)
        status = root_ball(&root, e->row, prec_bits);
    posref_ball_set_int(&dim, e->row->plan->dim);
    posref_ball_mul(out, out, &dim, prec_bits);
    if (status == POSREF_OK &&
        !posref_ball_div(out, out, prec_bits == FIRST_BITS ? &e->row->root : &root, prec_bits))
        status = POSREF_INTERNAL; /* the root is positive */
    return status;
}

/* False: a b is no double. */
static bool multiply(double *out, double a, double b)
{
    *out = a * b;
    return isfinite(*out) && fma(a, b, -*out) == 0;
}

static enum posref_status turn(double *y, const struct normed_row *row,
                               int pair_index, int which, double position)
{
    const struct posref_plan *plan = row->plan;
    const struct posref_plan_pair *pair = &plan->pair[pair_index];
    const struct posref_axis_pair *column = &plan->column[pair->column[which]];
    const double *gain = row->norm->gain;
    const int i = pair->in[which], j = pair->in[1 - which], out = pair->out[which];
    double own, other;
    if (!multiply(&own, row->x[i], gain[row->norm->after ? out : i]) ||
        !multiply(&other, row->x[j], gain[row->norm->after ? out : j]))
        return POSREF_BAD_INPUT;
    const struct posref_plan_element turned = {
        .of = &plan->of[column->ladder], .index = column->index, .position = position,
        .with_cos = own, .with_sin = which ? pair->sign * other : -(pair->sign * other)};
    const struct normed_element element = {.row = row, .turned = &turned,
                                           .at = &row->turned[pair_index]};
    return posref_ball_decide(&y[out], element_ball, &element);
}

static enum posref_status norm_row(double *y, struct normed_row *row,
                                   const struct posref_positions *positions, int64_t at)
{
    const struct posref_plan *plan = row->plan;
    enum posref_status status = root_ball(&row->root, row, FIRST_BITS);
    for (int k = 0; k < plan->dim && status == POSREF_OK; k++) {
        struct normed_element element = {.row = row};
        if (!plan->copied[k])
            continue;
        status = multiply(&element.product, row->x[k], row->norm->gain[k])
                     ? posref_ball_decide(&y[k], element_ball, &element) : POSREF_BAD_INPUT;
    }
    for (int i = 0; i < plan->n_pairs && status == POSREF_OK; i++)
        for (int which = 0; which < 2 && status == POSREF_OK; which++) {
            const int axis = plan->column[plan->pair[i].column[which]].axis;
            status = turn(y, row, i, which, positions->value[axis * positions->n + at]);
        }
    return status;
}

static enum posref_status turn_pairs(struct turned_pair *out, const struct posref_plan *plan,
                                     const struct posref_positions *positions, int64_t at)
{
    enum posref_status status = POSREF_OK;
    for (int i = 0; i < plan->n_pairs && status == POSREF_OK; i++) {
        const struct posref_axis_pair *column = &plan->column[plan->pair[i].column[0]];
        const struct posref_frequencies *of = &plan->of[column->ladder];
        const double position = positions->value[column->axis * positions->n + at];
        out[i].is_part = posref_frequencies_exact_turn(of, column->index, position) >= 0;
        status = posref_frequencies_cos_sin_ball(&out[i].cosine, &out[i].sine, of, column->index,
                                                 position, FIRST_BITS);
    }
    return status;
}

enum posref_status posref_rotate_normed(double *y, const struct posref_norm *norm,
                                        const struct posref_spec *spec,
                                        const struct posref_tensors *in,
                                        const struct posref_arena *arena,
                                        struct posref_error *err)
{
    struct posref_job job = {.spec = spec, .op = POSREF_OP_ROTATE, .in = in, .arena = arena,
                             .err = err};
    const struct posref_plan *plan = NULL;
    struct posref_positions positions = {.n = 0};
    const double *x = NULL;
    int64_t heads = 1;
    if (!(norm->eps > 0) || isinf(norm->eps))
        return posref_fail(err, POSREF_BAD_INPUT, "eps", "must be positive and finite");
    if (posref_xpos_on(spec) || spec->pairing == POSREF_PAIRING_MISMATCHED)
        return posref_fail(err, POSREF_BAD_INPUT, "pairing", "is no rotation of pairs alone");
    enum posref_status status = posref_rope_plan(&plan, &job);
    if (status == POSREF_OK)
        status = posref_job_positions(&positions, &job, "positions", plan->n_axes);
    if (status == POSREF_OK)
        status = posref_job_rows(&x, &heads, &job, "x", positions.n, plan->dim);
    if (status != POSREF_OK)
        return status;
    struct turned_pair *turned = posref_job_alloc(&job, (size_t)plan->n_pairs + 1, sizeof *turned);
    if (!turned)
        return POSREF_NO_MEMORY;
    for (int64_t k = 0; k < positions.n * heads && status == POSREF_OK; k++) {
        struct normed_row row = {.norm = norm, .plan = plan, .turned = turned,
                                 .x = x + k * plan->dim};
        if (k % heads == 0)
            status = turn_pairs(turned, plan, &positions, k / heads);
        if (status == POSREF_OK)
            status = norm_row(y + k * plan->dim, &row, &positions, k / heads);
    }
    if (status == POSREF_BAD_INPUT)
        return posref_fail(err, status, "gain", "times x is no double");
    return status == POSREF_OK ? status
                               : posref_fail(err, status, "x", "an element is not decided");
}
