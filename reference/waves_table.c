/* SPDX-License-Identifier: Apache-2.0 */
/* The outputs of sinusoidal encodings: whole tables, and sums with x. */
#include "waves_table.h"

#define ROWS 128 /* worked out together, so that they stay in a cache */

static bool is_masked(const struct posref_waves_set *set, int64_t row)
{
    return set->rows->masked && set->rows->masked[row];
}

static enum posref_status table_rows(double *out, const struct posref_waves_set *set, int64_t dim,
                                     int64_t first, int64_t n)
{
    enum posref_status status = POSREF_OK;
    for (int64_t k = 0; k < n * dim; k++)
        out[k] = 0;
    for (int b = 0; b < set->n_blocks; b++)
        for (int i = 0; i < set->waves[b].block.n_sines && status == POSREF_OK; i++) {
            int sine, cosine;
            posref_layout_wave(&sine, &cosine, &set->waves[b].block, i);
            status = posref_waves_table(cosine < 0 ? NULL : out + cosine, out + sine, dim,
                                        &set->waves[b], i, set->at[b] + first, n);
        }
    for (int64_t row = 0; row < n; row++)
        for (int64_t k = 0; k < dim && is_masked(set, first + row); k++)
            out[row * dim + k] = 0;
    return status;
}

enum posref_status posref_waves_table_output(struct posref_job *job,
                                             const struct posref_waves_set *set)
{
    const int64_t n = set->rows->n, dim = job->spec->dim;
    double *out;
    enum posref_status status = posref_job_output(&out, job, "table", 2, (const int64_t[]){n, dim});
    for (int64_t row = 0; row < n && status == POSREF_OK; row += ROWS)
        status = table_rows(out + row * dim, set, dim, row, n - row < ROWS ? n - row : ROWS);
    return status;
}

/* What channels without a wave hold: x alone. */
static enum posref_status scale_row(double *y, const double *x, const struct posref_waves_set *set,
                                    int64_t dim)
{
    const struct posref_coordinate origin = {.hi = 0};
    const struct posref_waves nothing = {.magnitude = {.hi = 1, .is_one = true}};
    const struct posref_dd zero = {0, 0, 0};
    enum posref_status status = POSREF_OK;
    for (int64_t k = 0; k < dim && status == POSREF_OK; k++)
        status = posref_waves_embed(&y[k], x[k], set->x_scale_squared, true, &nothing, 0, &origin,
                                    &zero);
    return status;
}

static enum posref_status embed_row(double *y, const double *x, const struct posref_waves_set *set,
                                    int64_t row, int64_t dim)
{
    int covered = 0;
    for (int b = 0; b < set->n_blocks; b++)
        covered += set->waves[b].block.n_sines + set->waves[b].block.n_cosines;
    enum posref_status status = POSREF_OK;
    if (covered < dim || is_masked(set, row))
        status = scale_row(y, x, set, dim);
    for (int b = 0; b < set->n_blocks && !is_masked(set, row); b++)
        for (int i = 0; i < set->waves[b].block.n_sines && status == POSREF_OK; i++) {
            const struct posref_waves *waves = &set->waves[b];
            const struct posref_coordinate *at = &set->at[b][row];
            struct posref_dd c, s;
            int sine, cosine;
            posref_layout_wave(&sine, &cosine, &waves->block, i);
            posref_waves_dd(&c, &s, waves, i, at);
            status = posref_waves_embed(&y[sine], x[sine], set->x_scale_squared, true, waves, i,
                                        at, &s);
            if (status == POSREF_OK && cosine >= 0)
                status = posref_waves_embed(&y[cosine], x[cosine], set->x_scale_squared, false,
                                            waves, i, at, &c);
        }
    return status;
}

enum posref_status posref_waves_embed_output(struct posref_job *job,
                                             const struct posref_waves_set *set)
{
    const int64_t dim = job->spec->dim, n = set->rows->n;
    const double *x;
    double *y;
    int64_t heads;
    enum posref_status status = posref_job_rows(&x, &heads, job, "x", n, dim);
    if (status != POSREF_OK)
        return status;
    const struct posref_tensor *like = posref_tensors_find(job->in, "x");
    status = posref_job_output(&y, job, "y", like->rank, like->shape);
    for (int64_t k = 0; k < n * heads && status == POSREF_OK; k++)
        status = embed_row(y + k * dim, x + k * dim, set, k / heads, dim);
    return status;
}
