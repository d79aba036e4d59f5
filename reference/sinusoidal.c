/* SPDX-License-Identifier: Apache-2.0 */
/* Sinusoidal position embedding (Vaswani et al., arXiv 1706.03762).
 *
 * theta_i = base^(-2i/dim)            exponent=d, the paper's
 * theta_i = base^(-i/(dim/2 - 1))     exponent=half_minus_one (tensor2tensor, fairseq)
 * table[p] = sin p theta_0, cos p theta_0, sin p theta_1, ...     order=interleaved
 * table[p] = sin p theta_0, sin p theta_1, ..., cos p theta_0, ... order=concat */
#include "frequencies.h"
#include "layout.h"

#include <math.h>

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_DIM, POSREF_NEED_REQUIRED},  {POSREF_FIELD_BASE, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_ORDER, POSREF_NEED_DEFAULT}, {POSREF_FIELD_EXPONENT, POSREF_NEED_DEFAULT},
    {0, POSREF_NEED_NONE},
};

static const struct posref_input_use inputs[] = {{"positions", ""}, {"x", "n,[*],dim"},
                                                 {NULL, NULL}};

/* Implementations disagree on the last channel of an odd dim (a zero column, or one sine more), so
 * an odd dim waits for named variants. */
static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    if (spec->dim % 2)
        return posref_fail(err, POSREF_BAD_INPUT, "dim", "must be even, got %d", spec->dim);
    if (spec->exponent == POSREF_EXPONENT_HALF_MINUS_ONE && spec->dim < 4)
        return posref_fail(err, POSREF_BAD_INPUT, "exponent",
                           "half_minus_one divides by dim/2 - 1 and needs dim >= 4, got dim=%d",
                           spec->dim);
    return POSREF_OK;
}

static void ladder(struct posref_frequencies *out, const struct posref_spec *spec)
{
    const bool d = spec->exponent == POSREF_EXPONENT_D;
    *out = (struct posref_frequencies){
        .spec = spec,
        .ladder = {.base = spec->base, .num = d ? 2 : 1, .den = d ? spec->dim : spec->dim / 2 - 1,
                   .factor = 1, .factor_num = 0, .factor_den = 1},
        .scaling = &posref_scaling_none,
    };
}

static const struct posref_magnitude one = {.hi = 1, .lo = 0, .is_one = true, .is_exact = true};

struct embed {
    const struct posref_frequencies *of;
    const struct posref_turn *turn;
    double position;
    int i;
};

struct sum_ctx {
    const struct embed *at;
    double x;
    bool sine;
};

static enum posref_status sum_ball(struct posref_ball *out, const void *ctx, unsigned prec_bits)
{
    const struct sum_ctx *c = ctx;
    struct posref_ball cosine, sine, x;
    enum posref_status status = posref_frequencies_cos_sin_ball(&cosine, &sine, c->at->of,
                                                                c->at->i, c->at->position,
                                                                prec_bits);
    posref_ball_set_double(&x, c->x);
    posref_ball_add(out, &x, c->sine ? &sine : &cosine, prec_bits);
    return status;
}

/* x + value, rounded once. The sum of the high parts is exact as s + e (Knuth); adding e to the low
 * part errs by half an ulp of it, which doubling covers. */
static enum posref_status add_rounded(double *y, double x, const struct posref_dd *value,
                                      const struct sum_ctx *ctx)
{
    if (fabs(x) < 0x1p1000) {
        double s = x + value->hi, v = s - x;
        double e = (x - (s - v)) + (value->hi - v);
        double low = e + value->lo;
        bool exact = value->lo == 0 || e == 0;
        struct posref_dd sum = {s + low, 0, value->err + (exact ? 0 : 0x1p-52 * fabs(low))};
        sum.lo = (s - sum.hi) + low;
        if (posref_dd_round(y, &sum))
            return POSREF_OK;
    }
    return posref_ball_decide(y, sum_ball, ctx);
}

static enum posref_status embed_pair(double *y_sin, double *y_cos, double x_sin, double x_cos,
                                     const struct embed *at)
{
    struct posref_dd cosine, sine;
    posref_turn_cos_sin_dd(&cosine, &sine, at->turn, &one, at->position);
    struct sum_ctx ctx = {at, x_sin, true};
    enum posref_status status = add_rounded(y_sin, x_sin, &sine, &ctx);
    if (status != POSREF_OK)
        return status;
    ctx = (struct sum_ctx){at, x_cos, false};
    return add_rounded(y_cos, x_cos, &cosine, &ctx);
}

static enum posref_status table(struct posref_job *job, const struct posref_frequencies *of,
                                const struct posref_turn *turns,
                                const struct posref_positions *positions)
{
    const int64_t n = positions->n, dim = job->spec->dim;
    double *out;
    enum posref_status status = posref_job_output(&out, job, "table", 2, (const int64_t[]){n, dim});
    for (int64_t row = 0; row < n && status == POSREF_OK; row += POSREF_TABLE_ROWS) {
        const int64_t rows = n - row < POSREF_TABLE_ROWS ? n - row : POSREF_TABLE_ROWS;
        for (int i = 0; i < dim / 2 && status == POSREF_OK; i++) {
            int sine, cosine;
            posref_layout_sinusoidal(&sine, &cosine, job->spec, i);
            status = posref_frequencies_table(out + row * dim + cosine, out + row * dim + sine, dim,
                                              of, i, &turns[i], &one, positions->value + row, rows);
        }
    }
    return status;
}

static enum posref_status embed(struct posref_job *job, const struct posref_frequencies *of,
                                const struct posref_turn *turns,
                                const struct posref_positions *positions)
{
    const int64_t dim = job->spec->dim;
    const double *x;
    double *y;
    int64_t heads;
    enum posref_status status = posref_job_rows(&x, &heads, job, "x", positions->n, dim);
    if (status != POSREF_OK)
        return status;
    const struct posref_tensor *like = posref_tensors_find(job->in, "x");
    status = posref_job_output(&y, job, "y", like->rank, like->shape);
    for (int64_t k = 0; k < positions->n * heads && status == POSREF_OK; k++)
        for (int i = 0; i < dim / 2 && status == POSREF_OK; i++) {
            int sine, cosine;
            posref_layout_sinusoidal(&sine, &cosine, job->spec, i);
            const struct embed at = {of, &turns[i], positions->value[k / heads], i};
            status = embed_pair(&y[k * dim + sine], &y[k * dim + cosine], x[k * dim + sine],
                                x[k * dim + cosine], &at);
        }
    return status;
}

static enum posref_status eval(struct posref_job *job)
{
    struct posref_frequencies of;
    struct posref_positions positions;
    ladder(&of, job->spec);
    struct posref_turn *turns = posref_job_alloc(job, (size_t)job->spec->dim / 2, sizeof *turns);
    if (!turns)
        return POSREF_NO_MEMORY;
    enum posref_status status = posref_job_positions(&positions, job, "positions", 1);
    if (status == POSREF_OK)
        status = posref_frequencies_walk(turns, NULL, &of, job->spec->dim / 2);
    if (status == POSREF_OK && posref_job_wants(job, POSREF_OP_TABLE, true))
        status = table(job, &of, turns, &positions);
    if (status == POSREF_OK && posref_job_wants(job, POSREF_OP_EMBED, posref_job_has(job, "x")))
        status = embed(job, &of, turns, &positions);
    return status;
}

const struct posref_scheme_def posref_sinusoidal = {
    .info = {.name = "sinusoidal",
             .summary = "fixed sines and cosines of the position, added to the token embedding",
             .formula = "PE(p, 2i) = sin(p base^(-2i/dim)); PE(p, 2i+1) = cos(p base^(-2i/dim))",
             .source = "Vaswani et al., Attention Is All You Need, arXiv 1706.03762",
             .learned = "none",
             .injected = "added to the token embedding, once",
             .relative = "no: a shift of both positions is a linear map of the encoding, but "
                         "scores change with it",
             .beyond = "defined for every position, but models rarely work on unseen ones",
             .cost = "one addition a channel of the input, O(n d); a table of n d values",
             .users = "Transformer, Marian, M2M100, Whisper's encoder, MAE, DiT",
             .advice = "absolute positions without parameters: encoders, images, conditions",
             .differs = "the order of sines and cosines (order), the exponent of the last "
                        "frequencies (exponent)"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_TABLE | 1U << POSREF_OP_EMBED,
    .check = check,
    .eval = eval,
};
