/* SPDX-License-Identifier: Apache-2.0 */
/* Learned tables and timesteps with faults: see faulty.h. Positions inside the table, or counted
 * from a mask. */
#include "faulty.h"

/* Row of token t. */
static double row_of(const struct faulty_call *c, int64_t t)
{
    const struct posref_plugin_tensor *p = posref_plugin_find(c->call, "positions");
    const struct posref_plugin_tensor *mask = posref_plugin_find(c->call, "mask");
    const double pad = faulty_number(c, "padding_idx", -1);
    double offset = faulty_with(c, "offset_ignored") ? 0 : faulty_number(c, "offset", 0), seen = 0;
    if (!mask)
        return faulty_position(c, posref_plugin_position(p, 0, t) + offset, t, 0);
    for (int64_t k = 0; k <= t; k++) {
        const int one = faulty_with(c, "padding_counted") ||
                        (faulty_get(mask, k) != 0) != faulty_with(c, "mask_read_reversed");
        if (k == t)
            return faulty_position(c, one ? pad + 1 + seen + offset : pad + offset, t, 0);
        seen += one;
    }
    return 0;
}

/* ---- tables that are stretched ---- */

/* Two numbers of a list H,W, or one: the second is 1 then. */
static void grid_of(int64_t out[2], const struct faulty_call *c, const char *key)
{
    char *end;
    out[0] = strtol(faulty_text(c, key), &end, 10);
    out[1] = *end == ',' ? strtol(end + 1, NULL, 10) : 1;
}

/* The kernel at a distance in source rows. */
static double kernel(double u, int cubic)
{
    u = fabs(u);
    if (!cubic)
        return u < 1 ? 1 - u : 0;
    return u <= 1  ? (1.25 * u - 2.25) * u * u + 1
           : u < 2 ? ((-0.75 * u + 3.75) * u - 6) * u + 3 : 0;
}

/* Weights of the four source rows around the place of target row t; *low: the first of them. */
static void taps(double weight[4], int64_t *low, int64_t n, int64_t to, int64_t t, int cubic)
{
    double place = ((double)t + 0.5) * (double)n / (double)to - 0.5;
    if (!cubic)
        place = fmax(place, 0);
    *low = (int64_t)floor(place) - 1;
    for (int64_t k = 0; k < 4; k++)
        weight[k] = n == to ? (double)(*low + k == t) : kernel(place - (double)(*low + k), cubic);
}

static int64_t inside_of(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i < n ? i : n - 1;
}

static double stretched(const struct faulty_call *c, const struct posref_plugin_tensor *w,
                        int64_t row, int64_t dim, int64_t channel)
{
    const int64_t prefix = (int64_t)faulty_number(c, "prefix_rows", 0);
    const int cubic = faulty_is(c, "interpolation", "cubic") != faulty_with(c, "interpolation");
    int64_t from[2], to[2], y, x;
    double down[4], across[4], sum = 0;
    if (row < prefix)
        return faulty_get(w, row * dim + channel);
    grid_of(from, c, "source_grid");
    grid_of(to, c, "target_grid");
    taps(down, &y, from[0], to[0], (row - prefix) / to[1], cubic);
    taps(across, &x, from[1], to[1], (row - prefix) % to[1], cubic);
    for (int64_t k = 0; k < 16; k++) {
        const int64_t at = inside_of(y + k / 4, from[0]) * from[1] + inside_of(x + k % 4, from[1]);
        sum = faulty_step(c, sum + faulty_step(c, down[k / 4] * across[k % 4]) *
                                       faulty_get(w, (prefix + at) * dim + channel));
    }
    return sum;
}

static double entry_of(const struct faulty_call *c, int64_t row, int64_t dim, int64_t channel)
{
    const struct posref_plugin_tensor *w = posref_plugin_find(c->call, "weights");
    return faulty_is(c, "beyond", "interpolate") ? stretched(c, w, row, dim, channel)
                                                 : faulty_get(w, row * dim + channel);
}

static double timestep(const struct faulty_call *c, double t, int channel)
{
    const int dim = (int)faulty_number(c, "dim", 2), half = dim / 2;
    const int flipped = faulty_is(c, "flip_sin_to_cos", "true") != faulty_with(c, "flip");
    double shift = faulty_number(c, "downscale_freq_shift", 1);
    double scale = faulty_number(c, "scale", 1), period = faulty_number(c, "max_period", 10000);
    if (faulty_with(c, "freq_shift"))
        shift = shift == 0 ? 1 : 0;
    if (faulty_with(c, "timestep_scale_ignored"))
        scale = 1;
    if (faulty_with(c, "max_period_default"))
        period = 10000;
    if (channel >= 2 * half)
        return 0;
    const double i = channel % half, e = faulty_step(c, i / (half - shift));
    const double angle = faulty_step(c, faulty_step(c, t * scale) *
                                            faulty_step(c, pow(period, -e)));
    return faulty_step(c, (channel >= half) != flipped ? cos(angle) : sin(angle));
}

static int inside(const struct faulty_call *c, int64_t n, int64_t rows)
{
    for (int64_t t = 0; t < n; t++) {
        const double row = row_of(c, t);
        if (!(row >= 0) || row >= (double)rows || row != floor(row))
            return 0;
    }
    return 1;
}

static int32_t faulty_run(const struct faulty_call *c, char *why, size_t why_size)
{
    const struct posref_plugin_tensor *x = posref_plugin_find(c->call, "x");
    const struct posref_plugin_tensor *w = posref_plugin_find(c->call, "weights");
    const struct posref_plugin_tensor *out = posref_plugin_find(c->call, x ? "y" : "table");
    const struct posref_plugin_tensor *p = posref_plugin_find(c->call, "positions");
    const int steps = faulty_is(c, "scheme", "timestep");
    const int grown = faulty_is(c, "beyond", "interpolate");
    const int64_t dim = (int64_t)faulty_number(c, "dim", 1);
    p = p ? p : posref_plugin_find(c->call, "mask");
    snprintf(why, why_size, "only timesteps and learned tables");
    if (!out || !p || p->rank != 1 || (!steps && !(faulty_is(c, "scheme", "learned") && w)) ||
        (w && (grown ? !faulty_with(c, "interpolation") : !inside(c, p->shape[0],
                                                                  faulty_count(w) / dim))))
        return POSREF_PLUGIN_UNSUPPORTED;
    double root = faulty_is(c, "x_scale", "sqrt_dim");
    (void)faulty_has(c, "x_scale", 1, &root);
    const double x_scale = root != 0 ? sqrt((double)dim) : 1;
    const double scale = faulty_with(c, "table_scale_ignored") ? 1
                                                               : faulty_number(c, "table_scale", 1);
    const int64_t rows = faulty_count(out) / dim, heads = rows / p->shape[0];
    for (int64_t e = 0; e < faulty_count(out); e++) {
        const double row = row_of(c, e / dim / heads);
        double value = steps ? timestep(c, row, (int)(e % dim))
                             : faulty_step(c, scale * entry_of(c, (int64_t)row, dim, e % dim));
        if (faulty_with(c, "table_not_added") && x)
            value = 0;
        if (faulty_with(c, "embeddings_doubled") && x)
            value = x_scale * faulty_get(x, e);
        faulty_put(out, e, x ? faulty_step(c, faulty_step(c, x_scale * faulty_get(x, e)) + value)
                             : value);
    }
    return POSREF_PLUGIN_OK;
}
