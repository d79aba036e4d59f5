/* SPDX-License-Identifier: Apache-2.0 */
/* Grids of positions, learned tables, and biases from their enclosures to outputs. */
#include "bias.h"

#include <math.h>
#include <string.h>

const char *posref_grid_name(const struct posref_job *job, bool query)
{
    const char *name = query ? "q_positions" : "k_positions";
    return posref_job_has(job, name) ? name : "positions";
}

bool posref_grid_given(const struct posref_job *job)
{
    return posref_job_has(job, "positions") || posref_job_has(job, "q_positions") ||
           posref_job_has(job, "k_positions");
}

enum posref_status posref_grid_read(struct posref_grid *out, struct posref_job *job,
                                    int64_t n_axes)
{
    enum posref_status status =
        posref_job_positions(&out->q, job, posref_grid_name(job, true), n_axes);
    if (status == POSREF_OK)
        status = posref_job_positions(&out->k, job, posref_grid_name(job, false), n_axes);
    return status;
}

enum posref_status posref_grid_whole(const struct posref_grid *grid, struct posref_job *job)
{
    for (int side = 0; side < 2; side++) {
        const struct posref_positions *p = side ? &grid->k : &grid->q;
        for (int64_t at = 0; at < p->n_axes * p->n; at++)
            if (p->value[at] != floor(p->value[at]))
                return posref_fail(job->err, POSREF_BAD_INPUT, posref_grid_name(job, side == 0),
                                   "element %lld is %.17g; scheme=%s takes whole positions",
                                   (long long)at, p->value[at],
                                   posref_scheme_def(job->spec->scheme)->info.name);
    }
    return POSREF_OK;
}

enum posref_status posref_bias_round(double *out, const struct posref_bias *bias, int h, int64_t i,
                                     int64_t j)
{
    struct posref_ball value;
    const unsigned last = bias->compound ? POSREF_COMPOUND_BITS : POSREF_BALL_MAX_BITS;
    for (unsigned bits = 128; bits <= last; bits *= 2) {
        enum posref_status status = bias->at(&value, bias, h, i, j, bits);
        if (status != POSREF_OK)
            return status;
        if (posref_ball_round(out, &value))
            return POSREF_OK;
    }
    if (!bias->compound)
        return POSREF_INTERNAL;
    value.rad_man = 0;
    return posref_ball_round(out, &value) ? POSREF_OK : POSREF_INTERNAL;
}

enum posref_status posref_bias_output(struct posref_job *job, const struct posref_bias *bias)
{
    const int64_t per_head = bias->n_q * bias->n_k;
    double *out;
    enum posref_status status =
        posref_job_output(&out, job, "bias", 3,
                          (const int64_t[]){bias->heads, bias->n_q, bias->n_k});
    /* Heads inside, so that what the heads of a pair of positions share can be kept. */
    for (int64_t at = 0; at < per_head && status == POSREF_OK; at++)
        for (int h = 0; h < bias->heads && status == POSREF_OK; h++)
            status = posref_bias_round(&out[h * per_head + at], bias, h, at / bias->n_k,
                                       at % bias->n_k);
    return status;
}

enum posref_status posref_table_read(struct posref_table *out, struct posref_job *job,
                                     int64_t entries)
{
    const struct posref_tensor *weights = posref_tensors_find(job->in, "weights");
    const struct posref_spec *spec = job->spec;
    const bool transposed = spec->weights_layout == POSREF_WEIGHTS_HEADS_ENTRIES;
    const int axis = transposed ? 1 : 0; /* of the entries */
    if (weights && (weights->rank != 2 || weights->shape[axis] != entries))
        return posref_fail(job->err, POSREF_BAD_INPUT, "weights",
                           transposed ? "must be [heads, %lld]" : "must be [%lld, heads]",
                           (long long)entries);
    const int64_t heads = weights ? weights->shape[1 - axis] : 0;
    if (weights && spec->given[POSREF_FIELD_NUM_HEADS] && heads != spec->num_heads)
        return posref_fail(job->err, POSREF_BAD_INPUT, "weights",
                           "has %lld heads, but num_heads is %d", (long long)heads,
                           spec->num_heads);
    if (heads > POSREF_MAX_HEADS)
        return posref_fail(job->err, POSREF_BAD_INPUT, "weights",
                           "has %lld heads; at most %d are allowed", (long long)heads,
                           POSREF_MAX_HEADS);
    *out = (struct posref_table){.entries = entries, .heads = heads,
                                 .entry_stride = transposed ? 1 : heads,
                                 .head_stride = transposed ? entries : 1};
    return posref_job_input(&out->value, job, "weights", 2,
                            transposed ? (const int64_t[]){heads, entries}
                                       : (const int64_t[]){entries, heads});
}

enum posref_status posref_table_gather(struct posref_job *job, const struct posref_table *table,
                                       const int64_t *index, int64_t n_q, int64_t n_k)
{
    double *out;
    enum posref_status status = posref_job_output(&out, job, "bias", 3,
                                                  (const int64_t[]){table->heads, n_q, n_k});
    if (status != POSREF_OK)
        return status;
    for (int64_t h = 0; h < table->heads; h++)
        for (int64_t at = 0; at < n_q * n_k; at++)
            *out++ = table->value[index[at] * table->entry_stride + h * table->head_stride];
    return POSREF_OK;
}

enum posref_status posref_index_fill(int64_t **out, struct posref_job *job,
                                     const struct posref_grid *grid, int64_t n_special,
                                     posref_index_fn *fill)
{
    const int64_t n_q = grid->q.n + n_special, n_k = grid->k.n + n_special;
    if (n_q * n_k > POSREF_MAX_OUTPUT_ELEMENTS)
        return posref_fail(job->err, POSREF_BAD_INPUT, posref_grid_name(job, true),
                           "%lld queries and %lld keys are more than %d pairs", (long long)n_q,
                           (long long)n_k, POSREF_MAX_OUTPUT_ELEMENTS);
    int64_t *value = posref_job_alloc(job, (size_t)(n_q * n_k), sizeof *value);
    if (!value)
        return POSREF_NO_MEMORY;
    enum posref_status status = fill(value, job, grid);
    if (status == POSREF_OK)
        *out = value;
    return status;
}

enum posref_status posref_index_output(struct posref_job *job, const char *name,
                                       const int64_t *value, int64_t n_q, int64_t n_k)
{
    int64_t *out;
    enum posref_status status =
        posref_job_output_int(&out, job, name, 2, (const int64_t[]){n_q, n_k});
    if (status == POSREF_OK)
        memcpy(out, value, (size_t)(n_q * n_k) * sizeof *out);
    return status;
}

enum posref_status posref_index_read(struct posref_index *out, struct posref_job *job,
                                     int64_t n_axes, int64_t n_special, posref_index_fn *fill)
{
    const bool given = posref_grid_given(job);
    struct posref_grid grid;
    *out = (struct posref_index){
        .wants_index = posref_job_wants(job, POSREF_OP_INDEX, given),
        .wants_bias =
            posref_job_wants(job, POSREF_OP_BIAS, given && posref_job_has(job, "weights")),
    };
    if (!out->wants_index && !out->wants_bias)
        return POSREF_OK;
    enum posref_status status = posref_grid_read(&grid, job, n_axes);
    if (status == POSREF_OK)
        status = posref_grid_whole(&grid, job);
    if (status != POSREF_OK)
        return status;
    out->n_q = grid.q.n + n_special;
    out->n_k = grid.k.n + n_special;
    return posref_index_fill(&out->value, job, &grid, n_special, fill);
}

enum posref_status posref_eval_table(struct posref_job *job, int64_t n_axes, int64_t n_special,
                                     int64_t entries, const char *name, posref_index_fn *fill)
{
    struct posref_index index;
    enum posref_status status = posref_index_read(&index, job, n_axes, n_special, fill);
    if (status != POSREF_OK || !index.value)
        return status;
    if (index.wants_index)
        status = posref_index_output(job, name, index.value, index.n_q, index.n_k);
    struct posref_table table;
    if (status == POSREF_OK && index.wants_bias) {
        status = posref_table_read(&table, job, entries);
        if (status == POSREF_OK)
            status = posref_table_gather(job, &table, index.value, index.n_q, index.n_k);
    }
    return status;
}
