/* SPDX-License-Identifier: Apache-2.0 */
/* SwinV2's log-spaced continuous position bias (Liu et al., arXiv 2111.09883;
 * microsoft/Swin-Transformer: models/swin_transformer_v2.py). With dy, dx = query - key in a window
 * and W = pretrained_window_size, or window_size where it is not given:
 *     c = 8 d / (W - 1),  coordinate = sign(c) log2(1 + |c|) / log2(8)     for each axis
 *     bias = 16 sigmoid(w2 relu(w1 (coordinate y, coordinate x) + b1))
 * W = 1 has the coordinate 0 for d = 0 (Hugging Face's reading; the original divides 0 by 0).
 *
 * Coordinates are correctly rounded: log2(1 + |c|) is irrational unless 1 + |c| is a power of two.
 * The bias is a compound value: see posref_bias_output. */
#include "judge_impl.h"
#include "mlp.h"
#include "window.h"

#include <math.h>
#include <string.h>

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_NUM_HEADS, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_WINDOW_SIZE, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_PRETRAINED_WINDOW_SIZE, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_MLP_WIDTH, POSREF_NEED_OPTIONAL},
    {0, POSREF_NEED_NONE},
};

static const struct posref_input_use inputs[] = {
    {"positions", ""}, {"q_positions", ""}, {"k_positions", ""}, {"w1", "mlp_width,2"},
    {"b1", "mlp_width"}, {"w2", "num_heads,mlp_width"}, {NULL, NULL}};

/* W of an axis. */
static int size_of(const struct posref_spec *spec, int axis)
{
    return spec->given[POSREF_FIELD_PRETRAINED_WINDOW_SIZE]
               ? spec->pretrained_window_size.item[axis]
               : spec->window_size.item[axis];
}

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    const bool pretrained = spec->given[POSREF_FIELD_PRETRAINED_WINDOW_SIZE];
    enum posref_status status = posref_window_check(&spec->window_size, "window_size", err);
    if (status == POSREF_OK && pretrained)
        status = posref_window_check(&spec->pretrained_window_size, "pretrained_window_size", err);
    for (int axis = 0; axis < 2 && status == POSREF_OK; axis++)
        if (size_of(spec, axis) == 1 && spec->window_size.item[axis] > 1)
            return posref_fail(err, POSREF_BAD_INPUT, "pretrained_window_size",
                               "must be at least 2 where window_size is %d",
                               spec->window_size.item[axis]);
    if (!spec->given[POSREF_FIELD_MLP_WIDTH])
        spec->mlp_width = 512;
    spec->given[POSREF_FIELD_MLP_WIDTH] = true;
    return status;
}

/* The coordinate of offset d on an axis. */
static enum posref_status coordinate(struct posref_ball *out, const struct posref_spec *spec,
                                     int axis, int64_t d, unsigned prec_bits)
{
    const int64_t scale = size_of(spec, axis) - 1, top = scale + 8 * (d < 0 ? -d : d);
    struct posref_ball eight;
    if (d == 0) {
        posref_ball_set_int(out, 0);
        return POSREF_OK;
    }
    const int64_t ratio = top / scale;
    if (top % scale == 0 && (ratio & (ratio - 1)) == 0) { /* log2 is a whole number */
        posref_ball_ratio(out, __builtin_ctzll((unsigned long long)ratio), 3, prec_bits);
    } else {
        posref_ball_ratio(out, top, scale, prec_bits);
        posref_ball_set_int(&eight, 8);
        if (!posref_ball_log(out, out, prec_bits) || !posref_ball_log(&eight, &eight, prec_bits) ||
            !posref_ball_div(out, out, &eight, prec_bits))
            return POSREF_INTERNAL;
    }
    if (d < 0)
        posref_ball_neg(out, out);
    return POSREF_OK;
}

struct axis_ctx {
    const struct posref_spec *spec;
    int axis;
    int64_t d;
};

static enum posref_status coordinate_ball(struct posref_ball *out, const void *ctx,
                                          unsigned prec_bits)
{
    const struct axis_ctx *c = ctx;
    return coordinate(out, c->spec, c->axis, c->d, prec_bits);
}

struct swinv2 {
    struct posref_job *job;
    struct posref_grid grid;
    struct posref_mlp mlp;
    const int64_t *index; /* [n_q, n_k] */
    int64_t i, j;         /* of the hidden layer that mlp holds, and its precision */
    unsigned prec_bits;
};

static enum posref_status at(struct posref_ball *out, const struct posref_bias *bias, int h,
                             int64_t i, int64_t j, unsigned prec_bits)
{
    struct swinv2 *c = bias->ctx;
    struct posref_ball value[2];
    enum posref_status status = POSREF_OK;
    if (c->i != i || c->j != j || c->prec_bits != prec_bits) {
        int64_t d[2];
        status = posref_window_difference(d, c->job, &c->grid, i, j);
        for (int axis = 0; axis < 2 && status == POSREF_OK; axis++)
            status = coordinate(&value[axis], c->job->spec, axis, d[axis], prec_bits);
        if (status != POSREF_OK)
            return status;
        posref_mlp_hidden(&c->mlp, value, prec_bits);
        c->i = i;
        c->j = j;
        c->prec_bits = prec_bits;
    }
    posref_mlp_head(&value[0], &c->mlp, h, prec_bits);
    posref_ball_neg(&value[0], &value[0]);
    posref_ball_exp(&value[0], &value[0], prec_bits);
    posref_ball_set_int(&value[1], 1);
    posref_ball_add(&value[0], &value[0], &value[1], prec_bits);
    posref_ball_set_int(&value[1], 16);
    return posref_ball_div(out, &value[1], &value[0], prec_bits) ? POSREF_OK : POSREF_INTERNAL;
}

/* Each offset once; the pairs of positions that share it get copies. */
static enum posref_status bias_output(struct swinv2 *c, int64_t n_q, int64_t n_k)
{
    struct posref_job *job = c->job;
    const int64_t heads = c->mlp.heads, count = n_q * n_k;
    const int64_t entries = posref_window_entries(job->spec->window_size.item);
    const struct posref_bias bias = {.heads = (int)heads, .n_q = n_q, .n_k = n_k,
                                     .compound = true, .at = at, .ctx = c};
    double *out;
    enum posref_status status =
        posref_job_output(&out, job, "bias", 3, (const int64_t[]){heads, n_q, n_k});
    if (status != POSREF_OK)
        return status;
    int64_t *first = posref_job_alloc(job, (size_t)entries, sizeof *first);
    if (!first)
        return POSREF_NO_MEMORY;
    for (int64_t entry = 0; entry < entries; entry++)
        first[entry] = -1;
    for (int64_t pair = 0; pair < count; pair++) {
        int64_t *seen = &first[c->index[pair]];
        for (int64_t h = 0; h < heads && status == POSREF_OK; h++) {
            double *value = &out[h * count + pair];
            if (*seen >= 0)
                *value = out[h * count + *seen];
            else
                status = posref_bias_round(value, &bias, (int)h, pair / n_k, pair % n_k);
        }
        if (status != POSREF_OK)
            return status;
        *seen = *seen < 0 ? pair : *seen;
    }
    return POSREF_OK;
}

static enum posref_status coordinates_output(struct swinv2 *c, int64_t n_q, int64_t n_k)
{
    double *out;
    enum posref_status status =
        posref_job_output(&out, c->job, "coordinates", 3, (const int64_t[]){n_q, n_k, 2});
    for (int64_t pair = 0; pair < n_q * n_k && status == POSREF_OK; pair++) {
        int64_t d[2];
        status = posref_window_difference(d, c->job, &c->grid, pair / n_k, pair % n_k);
        for (int axis = 0; axis < 2 && status == POSREF_OK; axis++)
            status = posref_ball_decide(&out[2 * pair + axis], coordinate_ball,
                                        &(const struct axis_ctx){c->job->spec, axis, d[axis]});
    }
    return status;
}

static enum posref_status eval(struct posref_job *job)
{
    struct swinv2 c = {.job = job, .i = -1};
    const bool given = posref_grid_given(job);
    const bool wants_index = posref_job_wants(job, POSREF_OP_INDEX, given);
    const bool wants_table = posref_job_wants(job, POSREF_OP_TABLE, given);
    const bool wants_bias = posref_job_wants(
        job, POSREF_OP_BIAS, given && posref_job_has(job, "w1") && posref_job_has(job, "b1") &&
                                 posref_job_has(job, "w2"));
    if (!wants_index && !wants_table && !wants_bias)
        return POSREF_OK;
    if (wants_bias && !job->spec->given[POSREF_FIELD_NUM_HEADS])
        return posref_fail(job->err, POSREF_BAD_INPUT, "num_heads", "is required for bias");
    enum posref_status status = posref_grid_read(&c.grid, job, 2);
    if (status == POSREF_OK)
        status = posref_grid_whole(&c.grid, job);
    if (status != POSREF_OK)
        return status;
    const int64_t n_q = c.grid.q.n, n_k = c.grid.k.n;
    int64_t *index = NULL;
    status = posref_index_fill(&index, job, &c.grid, 0, posref_window_fill);
    c.index = index;
    if (status == POSREF_OK && wants_index)
        status = posref_index_output(job, "index", index, n_q, n_k);
    if (status == POSREF_OK && wants_table)
        status = coordinates_output(&c, n_q, n_k);
    if (status == POSREF_OK && wants_bias)
        status = posref_mlp_read(&c.mlp, job, 2, false);
    if (status == POSREF_OK && wants_bias)
        status = bias_output(&c, n_q, n_k);
    return status;
}

const struct posref_scheme_def posref_swinv2 = {
    .info = {.name = "swinv2",
             .summary = "a network of log-spaced offsets within a window, added to the scores",
             .formula = "bias = 16 sigmoid(w2 relu(w1 (y, x) + b1)), y = sign(dy) log2(1 + 8 |dy| "
                        "/ (W - 1)) / 3, x likewise",
             .source = "Liu et al., Swin Transformer V2, arXiv 2111.09883",
             .learned = "w1 [512, 2], b1 [512], w2 [heads, 512]",
             .injected = "added to the scores of every layer",
             .relative = "exact within the window: the bias depends on the two offsets",
             .beyond = "made for it: coordinates are scaled by the window of the pre-training",
             .cost = "one addition a score; the network once an offset",
             .users = "Swin V2",
             .advice = "windows that grow between training stages",
             .differs = "a window one token wide: Hugging Face has the coordinate 0 there, as "
                        "here; the original divides 0 by 0. Hugging Face adds the mask of "
                        "shifted windows twice"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_INDEX | 1U << POSREF_OP_TABLE | 1U << POSREF_OP_BIAS,
    .check = check,
    .eval = eval,
    .judge = posref_judge_units_network,
};
