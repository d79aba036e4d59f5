/* SPDX-License-Identifier: Apache-2.0 */
/* Random requests of ropes over several axes. */
#include "random_spec.h"

#include <math.h>
#include <stdio.h>

#define MAX_AXES 5
#define MAX_ROWS 3

static double pick_base(struct dice *d)
{
    static const double usual[] = {1e4, 5e5, 1e6, 256, 100, 2000, 2, 4, 9, 81, 1000, 0x1p20, 1.5};
    return dice_below(d, 3) ? PICK(d, usual) : exp(dice_real(d, 1e-6, log(1e12)));
}

static double pick_factor(struct dice *d)
{
    static const double usual[] = {1, 2, 4, 8, 1.5, 0.5, 3};
    return dice_below(d, 2) ? PICK(d, usual) : exp(dice_real(d, -1, 3));
}

/* Parts of a turn too: they are exact where frequencies are counted in turns. */
static double pick_position(struct dice *d)
{
    static const double usual[] = {0, 1, -1, 2, 17, 0.5, 0.25, -0.125, 0.375, 0.75, 2.5, 1.25,
                                   1.0 / 3, -0.9, 255, 257, 131071, 2147483647.0, -2147483647.0};
    double limit = ldexp(1, 1 + (int)dice_below(d, 31)) - 1;
    return dice_below(d, 3) ? PICK(d, usual) : floor(dice_real(d, -limit, limit));
}

static void add_scaling(struct request *r, struct dice *d)
{
    static const char *const names[] = {"none", "linear", "ntk", "yarn", "llama3"};
    const char *name = PICK(d, names);
    request_add(r, "scaling=%s", name);
    if (name[0] == 'n' && name[1] == 'o')
        return;
    request_add(r, "factor=%.17g", pick_factor(d));
    if (name[0] == 'y' || name[1] == 'l')
        request_add(r, "original_max_position_embeddings=%d", dice_below(d, 2) ? 32768 : 500);
}

/* Equal members of a pair may cancel. */
static void draw_rows(double *x, struct dice *d, int64_t count)
{
    for (int64_t k = 0; k < count; k++)
        x[k] = dice_below(d, 3) ? dice_real(d, -4, 4) : dice_below(d, 2) ? 3 : -0.0;
}

static void add_inputs(struct request *r, struct oracle_case *c, struct dice *d, int n_axes,
                       int64_t dim, bool gradient)
{
    const int64_t n = 1 + dice_below(d, MAX_ROWS), x_shape[2] = {n, dim};
    double rows[MAX_AXES * MAX_ROWS], x[512];
    for (int64_t k = 0; k < n; k++)
        for (int axis = 0; axis < n_axes; axis++)
            rows[axis * n + k] = pick_position(d);
    request_positions(r, c, n_axes, n, rows);
    draw_rows(x, d, n * dim);
    if (dice_below(d, 4))
        request_tensor(r, c, "x", 2, x_shape, x);
    draw_rows(x, d, n * dim);
    if (gradient)
        request_tensor(r, c, "dy", 2, x_shape, x);
}

/* n numbers from 0 on (or 1, at least `least`) that add up to `sum`, as a list. */
static void add_parts(struct request *r, struct dice *d, const char *key, int n, int64_t sum,
                      int64_t least, int64_t times)
{
    char text[256] = "";
    size_t used = 0;
    int64_t left = sum - n * least;
    for (int k = 0; k < n; k++) {
        int64_t part = k == n - 1 ? left : dice_below(d, left + 1);
        left -= part;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", k ? "," : "",
                                 (long long)((part + least) * times));
    }
    request_add(r, "%s=%s", key, text);
}

/* Sections in some order; returns how many axes the positions have. */
static int add_sections(struct request *r, struct dice *d, int64_t pairs)
{
    static const char *const orders[] = {"chunked", "interleaved", "imrope", "greedy"};
    int order = (int)dice_below(d, 4);
    int n = order == 0 ? 1 + (int)dice_below(d, 5) : order == 2 ? 4 : 3;
    if (order == 3 && pairs >= 3 && dice_below(d, 2))
        n = 2;
    add_parts(r, d, "mrope_section", n, pairs, pairs >= n, 1);
    request_add(r, "mrope_order=%s", pairs >= n || order != 3 ? orders[order] : "interleaved");
    return n;
}

/* Equal dims, which every ladder and order allows; pairs = n * per_axis. */
static void add_equal_dims(struct request *r, struct dice *d, int n, int64_t per_axis)
{
    static const char *const ladders[] = {"independent", "shared", "split", "log_linspace"};
    char text[128] = "";
    size_t used = 0;
    for (int k = 0; k < n; k++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", k ? "," : "",
                                 (long long)(2 * per_axis));
    request_add(r, "axes_dims=%s", text);
    request_add(r, "axes_ladder=%s", PICK(d, ladders));
    if (dice_below(d, 3) == 0)
        request_add(r, "axes_order=frequency");
    else if (dice_below(d, 2))
        request_add(r, "axes_span=head");
    if (dice_below(d, 2))
        request_add(r, "angle_unit=%s", dice_below(d, 2) ? "turn" : "quarter_turn");
}

/* Unequal dims with ladders of their own, and what can change these. */
static void add_unequal_dims(struct request *r, struct dice *d, int n, int64_t pairs)
{
    add_parts(r, d, "axes_dims", n, pairs, 2, 2);
    if (dice_below(d, 3) == 0)
        request_add(r, "axes_span=head");
    switch (dice_below(d, 4)) {
    case 0:
        request_add(r, "scaling=%s", dice_below(d, 2) ? "linear" : "ntk");
        request_add(r, "factor=%.17g", pick_factor(d));
        break;
    case 1: {
        char text[256] = "";
        size_t used = 0;
        for (int k = 0; k < n; k++)
            used += (size_t)snprintf(text + used, sizeof text - used, k ? ",%.17g" : "%.17g",
                                     pick_factor(d));
        request_add(r, "axes_ntk=%s", text);
        break;
    }
    default:
        break;
    }
}

void random_axes(struct request *r, struct oracle_case *c, struct dice *d)
{
    static const char *const pairings[] = {"half", "interleaved", "interleaved_to_half",
                                           "mismatched"};
    int n_axes = 2 + (int)dice_below(d, 4);
    int64_t per_axis = 2 + dice_below(d, 6), pairs = n_axes * per_axis;
    int64_t dim = 2 * pairs + (dice_below(d, 3) ? 0 : 2 * (1 + dice_below(d, 3)));
    int kind = (int)dice_below(d, 3);
    request_add(r, "scheme=rope");
    request_add(r, "dim=%lld", (long long)dim);
    request_add(r, "rotary_dim=%lld", (long long)(2 * pairs));
    request_add(r, "base=%.17g", pick_base(d));
    const char *pairing = PICK(d, pairings);
    request_add(r, "pairing=%s", pairing);
    if (dice_below(d, 3) == 0)
        request_add(r, "direction=inverse");
    if (dice_below(d, 3) == 0)
        request_add(r, "partial=trailing");
    if (kind == 0) {
        n_axes = add_sections(r, d, pairs);
        add_scaling(r, d);
    } else if (kind == 1) {
        add_equal_dims(r, d, n_axes, per_axis);
    } else {
        add_unequal_dims(r, d, n_axes, pairs);
    }
    add_inputs(r, c, d, n_axes, dim, pairing[0] != 'm' && dice_below(d, 3) == 0);
}
