/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of learned tables as what scores and attention add: t5_bias and relative_bias. */
#include "bias_attention.h"

#include <math.h>

struct looked_up {
    struct posref_table table;
    int64_t *index; /* [n_q, n_k] */
};

enum posref_status posref_bias_attention_begin(struct posref_attention *a, int64_t entries,
                                               posref_index_fn *fill)
{
    struct posref_job *job = a->job;
    struct looked_up *state = posref_job_alloc(job, 1, sizeof *state);
    if (!state)
        return POSREF_NO_MEMORY;
    a->state = state;
    enum posref_status status =
        posref_attention_read_positions(a, POSREF_POSITIONS_REQUIRED, 1);
    if (status != POSREF_OK)
        return status;
    const struct posref_grid grid = {.q = a->q_positions, .k = a->k_positions};
    status = posref_grid_whole(&grid, job);
    if (status == POSREF_OK)
        status = posref_table_read(&state->table, job, entries);
    if (status != POSREF_OK)
        return status;
    if (state->table.heads != a->heads)
        return posref_fail(job->err, POSREF_BAD_INPUT, "weights", "has %lld heads, but q has %lld",
                           (long long)state->table.heads, (long long)a->heads);
    return posref_index_fill(&state->index, job, &grid, 0, fill);
}

static double entry_of(const struct posref_attention *a, int64_t head, int64_t i, int64_t j)
{
    const struct looked_up *state = a->state;
    return state->table.value[state->index[i * a->n_k + j] * state->table.entry_stride +
                              head * state->table.head_stride];
}

enum posref_status posref_bias_attention_bias(struct posref_ball *out,
                                              const struct posref_attention *a, int64_t head,
                                              int64_t i, int64_t j, unsigned prec_bits)
{
    (void)prec_bits; /* exact */
    posref_ball_set_double(out, entry_of(a, head, i, j));
    return POSREF_OK;
}

void posref_bias_attention_estimate(struct posref_attention_estimate *out,
                                    const struct posref_attention *a, int64_t head, int64_t i,
                                    int64_t j)
{
    out->bias = fabs(entry_of(a, head, i, j)); /* a copy: bias_k = 0 */
}
