/* SPDX-License-Identifier: Apache-2.0 */
/* Random requests of sinusoidal tables over several axes. */
#include "random_spec.h"

#include <math.h>
#include <stdio.h>

#define MAX_AXES 4
#define MAX_ROWS 3

/* Halves, thirds and sixths of lengths too: exact parts of a turn. */
static double pick_position(struct dice *d)
{
    static const double usual[] = {0, 1, -1, 2, 3, 5, 17, 0.5, 0.25, 1.0 / 3, 255, 2049, 16777217.0,
                                   2147483640.0, -2147483640.0};
    return dice_below(d, 4) ? PICK(d, usual) : dice_real(d, -100, 100);
}

static void add_list(struct request *r, const char *key, const double *value, int n)
{
    char text[256] = "";
    size_t used = 0;
    for (int k = 0; k < n; k++)
        used += (size_t)snprintf(text + used, sizeof text - used, k ? ",%.17g" : "%.17g", value[k]);
    request_add(r, "%s=%s", key, text);
}

static void add_fields(struct request *r, struct dice *d, int n_axes, bool turns)
{
    static const char *const orders[] = {"interleaved", "concat", "flipped"};
    static const double lengths[] = {1, 2, 4, 6, 12, 24, 7, 20, 1.875, 0.75, 1000},
                        eps[] = {0, 1e-6, 1e-6, 0.5, 1}, offsets[] = {1, -0.5, 0.5, 1e-6, 0.1};
    double length[8];
    request_add(r, "order=%s", PICK(d, orders));
    if (n_axes > 1 && dice_below(d, 2))
        request_add(r, "axes_channels=column_first");
    else if (dice_below(d, 3) == 0)
        request_add(r, "axes_channels=reversed");
    for (int k = 0; k < n_axes; k++)
        length[k] = PICK(d, lengths);
    if (dice_below(d, 3)) {
        add_list(r, "axes_lengths", length, n_axes);
        if (dice_below(d, 2))
            request_add(r, "length_eps=%.17g", PICK(d, eps));
    }
    if (turns)
        request_add(r, "angle_unit=%s", dice_below(d, 2) ? "turn" : "quarter_turn");
    else if (dice_below(d, 3) == 0)
        request_add(r, "min_timescale=%.17g", dice_real(d, 0.01, 1.2));
    if (!turns && dice_below(d, 3) == 0)
        request_add(r, "x_scale=sqrt_dim");
    if (dice_below(d, 3) == 0)
        request_add(r, "table_scale=%.17g", dice_below(d, 2) ? 0.125 : dice_real(d, 0.01, 3));
    if (dice_below(d, 2))
        request_add(r, "offset=%.17g", PICK(d, offsets));
}

static void add_inputs(struct request *r, struct oracle_case *c, struct dice *d, int n_axes,
                       int64_t dim)
{
    const int64_t n = 1 + dice_below(d, MAX_ROWS), x_shape[2] = {n, dim};
    double rows[MAX_AXES * MAX_ROWS], mask[MAX_ROWS], x[256];
    for (int64_t k = 0; k < n; k++)
        for (int axis = 0; axis < n_axes; axis++)
            rows[axis * n + k] = pick_position(d);
    request_positions(r, c, n_axes, n, rows);
    for (int64_t k = 0; k < n; k++)
        mask[k] = dice_below(d, 4) != 0;
    if (dice_below(d, 4) == 0)
        request_tensor(r, c, "mask", 1, &n, mask);
    for (int64_t k = 0; k < n * dim; k++) /* halves and ones cancel exact parts of a turn */
        x[k] = dice_below(d, 3) ? dice_real(d, -4, 4) : dice_below(d, 2) ? -0.5 : 1;
    if (dice_below(d, 2))
        request_tensor(r, c, "x", 2, x_shape, x);
}

void random_sincos(struct request *r, struct oracle_case *c, struct dice *d)
{
    static const double bases[] = {1e4, 1e4, 20, 2, 4, 9, 81, 1.5, 1e6, 1000};
    const int n_axes = 1 + (int)dice_below(d, 4);
    double dims[4];
    int64_t dim = 0;
    for (int k = 0; k < n_axes; k++)
        dim += (int64_t)(dims[k] = (double)(4 + 2 * dice_below(d, 5)));
    request_add(r, "scheme=sinusoidal");
    request_add(r, "dim=%lld", (long long)dim);
    request_add(r, "base=%.17g", PICK(d, bases));
    request_add(r, "exponent=%s", dice_below(d, 4) ? "d" : "half_minus_one");
    add_list(r, "axes_dims", dims, n_axes);
    add_fields(r, d, n_axes, dice_below(d, 2));
    add_inputs(r, c, d, n_axes, dim);
}
