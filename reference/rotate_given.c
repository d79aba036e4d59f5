/* SPDX-License-Identifier: Apache-2.0 */
/* Rotating by tables that are handed in: sums of two products of doubles, each rounded once. Exact
 * at 4096 bits, where factors are 0 or of 2^-900 to 2^900 in size. */
#include "ball.h"
#include "layout.h"

struct sum {
    double a, b, c, d; /* a b + c d */
};

static enum posref_status sum_ball(struct posref_ball *out, const void *ctx, unsigned prec_bits)
{
    const struct sum *s = ctx;
    struct posref_ball first, second, factor;
    posref_ball_set_double(&first, s->a);
    posref_ball_set_double(&factor, s->b);
    posref_ball_mul(&first, &first, &factor, prec_bits);
    posref_ball_set_double(&second, s->c);
    posref_ball_set_double(&factor, s->d);
    posref_ball_mul(&second, &second, &factor, prec_bits);
    posref_ball_add(out, &first, &second, prec_bits);
    return POSREF_OK;
}

/* Zeros as posref_plan_rotate has them: -0 only of two terms that are -0. */
static enum posref_status put(double *y, double a, double b, double c, double d)
{
    const struct sum sum = {a, b, c, d};
    enum posref_status status = posref_ball_decide(y, sum_ball, &sum);
    if (status == POSREF_OK && *y == 0 && (a == 0 || b == 0) && (c == 0 || d == 0))
        *y = a * b + c * d;
    return status;
}

enum posref_status posref_rotate_given(double *y, const double *x, const double *cosine,
                                       const double *sine, int64_t n, int64_t heads,
                                       const struct posref_spec *spec, bool backward)
{
    const int pairs = posref_layout_pairs(spec), columns = spec->rotary_dim / 2;
    const double sign = (spec->direction == POSREF_DIRECTION_INVERSE) == backward ? 1 : -1;
    enum posref_status status = POSREF_OK;
    for (int64_t k = 0; k < n * heads * spec->dim; k++)
        y[k] = x[k];
    for (int64_t row = 0; row < n * heads; row++)
        for (int i = 0; i < pairs && status == POSREF_OK; i++) {
            struct posref_layout_pair at;
            posref_layout_rope(&at, spec, i);
            const int *from = backward ? at.out : at.in, *to = backward ? at.in : at.out;
            const double *const in = x + row * spec->dim;
            double *const out = y + row * spec->dim;
            const double c = cosine[row / heads * columns + at.frequency[0]];
            const double s = sign * sine[row / heads * columns + at.frequency[0]];
            status = put(&out[to[0]], in[from[0]], c, -in[from[1]], s);
            if (status == POSREF_OK)
                status = put(&out[to[1]], in[from[1]], c, in[from[0]], s);
        }
    return status;
}
