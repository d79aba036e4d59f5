/* SPDX-License-Identifier: Apache-2.0 */
/* An example of a plugin whose rotation is fused with an RMS norm of each head, before it (Qwen 3;
 * Gemma 3, which stores the weight less 1) or after it (HunYuan): rope without scaling, with half
 * pairing, one axis of positions, in float64 and float32.
 *
 * --config fault=NAME goes wrong as kernels do, to see each failure reported. */
#include "../posref_plugin.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIM 1024

struct job {
    const char *fault;
    int64_t heads, dim, pairs;
    double base, sign, eps;
    double gain[MAX_DIM];
    bool after;
};

static bool is_faulty(const struct job *job, const char *fault)
{
    return strcmp(job->fault, fault) == 0;
}

/* ---- dtypes ---- */

static double get(const struct posref_plugin_tensor *t, int64_t at)
{
    return t->dtype == POSREF_PLUGIN_F64 ? ((const double *)t->data)[at]
                                         : (double)((const float *)t->data)[at];
}

static void put(const struct posref_plugin_tensor *t, int64_t at, double value)
{
    if (t->dtype == POSREF_PLUGIN_F64)
        ((double *)t->data)[at] = value;
    else
        ((float *)t->data)[at] = (float)value;
}

/* ---- the kernel ---- */

/* The mean of squares over the n values at x, as it goes into the root. */
static double factor_of(const struct job *job, const double *x, int64_t n)
{
    double sum = 0, mean = 0;
    for (int64_t k = 0; k < n; k++)
        mean += is_faulty(job, "mean_subtracted") ? x[k] / (double)n : 0;
    for (int64_t k = 0; k < n; k++)
        sum += (x[k] - mean) * (x[k] - mean);
    if (is_faulty(job, "eps_outside"))
        return 1 / (sqrt(sum / (double)n) + job->eps);
    if (is_faulty(job, "eps_missing"))
        return 1 / sqrt(sum / (double)n);
    if (is_faulty(job, "sum_for_mean"))
        return 1 / sqrt(sum + job->eps);
    return 1 / sqrt(sum / (double)n + job->eps);
}

/* All heads of a token at once: x [heads, dim]. */
static void norm(const struct job *job, double *x)
{
    const bool all = is_faulty(job, "all_heads");
    double factor = factor_of(job, x, all ? job->heads * job->dim : job->dim);
    for (int64_t h = 0; h < job->heads; h++) {
        double *row = x + h * job->dim, mean = 0;
        if (!all)
            factor = factor_of(job, row, job->dim);
        for (int64_t k = 0; k < job->dim; k++)
            mean += is_faulty(job, "mean_subtracted") ? row[k] / (double)job->dim : 0;
        for (int64_t k = 0; k < job->dim; k++)
            row[k] = (row[k] - mean) * factor * job->gain[k];
    }
}

static void rotate(const struct job *job, double *x, double position)
{
    for (int64_t h = 0; h < job->heads; h++, x += job->dim)
        for (int64_t i = 0; i < job->pairs; i++) {
            const double angle = position * pow(job->base, -(double)i / (double)job->pairs);
            const double c = cos(angle), s = job->sign * sin(angle);
            const double u = x[i], v = x[i + job->pairs];
            x[i] = u * c - v * s;
            x[i + job->pairs] = u * s + v * c;
        }
}

/* ---- the plugin ---- */

static int32_t open_example(void **state, const char *config, char *why, size_t why_size)
{
    static char fault[32];
    const char *value = posref_plugin_value(config, "fault", NULL);
    if (value == NULL && *config) {
        snprintf(why, why_size, "the only setting is fault=NAME");
        return POSREF_PLUGIN_ERROR;
    }
    snprintf(fault, sizeof fault, "%.*s", value ? (int)strcspn(value, " ") : 0, value ? value : "");
    *state = fault;
    return POSREF_PLUGIN_OK;
}

static int32_t supports(void *state, const struct posref_plugin_call *call, char *why,
                        size_t why_size)
{
    const struct posref_plugin_tensor *x = posref_plugin_find(call, "x");
    (void)state;
    if (posref_plugin_word_is(call->op, "rotate") && posref_plugin_find(call, "eps") &&
        posref_plugin_is(call->spec, "scheme", "rope") &&
        posref_plugin_is(call->spec, "pairing", "half") &&
        posref_plugin_is(call->spec, "partial", "leading") &&
        posref_plugin_is(call->spec, "scaling", "none") && x->shape[2] <= MAX_DIM &&
        (x->dtype == POSREF_PLUGIN_F64 || x->dtype == POSREF_PLUGIN_F32))
        return POSREF_PLUGIN_OK;
    snprintf(why, why_size, "a norm and half pairing in float64 and float32 is all there is");
    return POSREF_PLUGIN_UNSUPPORTED;
}

static void read_norm(struct job *job, const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *before = posref_plugin_find(call, "norm_weight");
    const struct posref_plugin_tensor *weight = before ? before
                                                       : posref_plugin_find(call,
                                                                            "post_norm_weight");
    bool plus_one = posref_plugin_word_is(posref_plugin_layout(call), "norm-plus-one");
    plus_one = plus_one != is_faulty(job, "one_added_or_not");
    job->after = !before != is_faulty(job, "other_order");
    for (int64_t k = 0; k < job->dim; k++)
        job->gain[k] = is_faulty(job, "no_weight") ? 1 : get(weight, k) + (plus_one ? 1 : 0);
    job->eps = get(posref_plugin_find(call, "eps"), 0);
}

static int32_t run(void *state, const struct posref_plugin_call *call, char *why, size_t why_size)
{
    const struct posref_plugin_tensor *x = posref_plugin_find(call, "x");
    const struct posref_plugin_tensor *y = posref_plugin_find(call, "y");
    const struct posref_plugin_tensor *positions = posref_plugin_find(call, "positions");
    struct job job = {
        .fault = state,
        .heads = x->shape[1],
        .dim = x->shape[2],
        .pairs = strtol(posref_plugin_value(call->spec, "rotary_dim", "0"), NULL, 10) / 2,
        .base = strtod(posref_plugin_value(call->spec, "base", "10000"), NULL),
        .sign = posref_plugin_is(call->spec, "direction", "inverse") ? -1 : 1};
    const int64_t width = job.heads * job.dim;
    double *row = malloc((size_t)width * sizeof *row);
    if (row == NULL) {
        snprintf(why, why_size, "no memory");
        return POSREF_PLUGIN_ERROR;
    }
    read_norm(&job, call);
    for (int64_t token = 0; token < x->shape[0]; token++) {
        for (int64_t k = 0; k < width; k++)
            row[k] = get(x, token * width + k);
        if (!job.after)
            norm(&job, row);
        rotate(&job, row, posref_plugin_position(positions, 0, token));
        if (job.after)
            norm(&job, row);
        for (int64_t k = 0; k < width; k++)
            put(y, token * width + k, row[k]);
    }
    free(row);
    return POSREF_PLUGIN_OK;
}

const struct posref_plugin *posref_plugin_entry(uint32_t host_abi)
{
    static const struct posref_plugin plugin = {
        .abi = POSREF_PLUGIN_ABI,
        .struct_size = sizeof plugin,
        .name = "example_norm",
        .version = "1",
        .open = open_example,
        .supports = supports,
        .run = run,
        .layouts = "norm norm-plus-one norm-after",
    };
    (void)host_abi;
    return &plugin;
}
