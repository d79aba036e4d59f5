/* SPDX-License-Identifier: Apache-2.0 */
/* Learned absolute embeddings (Gehring et al., arXiv 1705.03122; Devlin et al., arXiv 1810.04805).
 *
 * table[p] = table_scale weights[row], row = position + offset; y = x_scale x + table
 * With a mask instead of positions, token k of those not masked has row
 *     padding_idx + 1 + k, padding padding_idx      padding_idx given (fairseq, RoBERTa)
 *     offset + k, padding offset - 1                otherwise (OPT, offset 2)
 * Beyond the table (beyond=): error; truncate: rows below 0 and behind the end are the first and
 * the last; interpolate: the rows behind prefix_rows, a grid of source_grid, are resampled to
 * target_grid, linearly or by cubic convolution (Keys 1981, a = -3/4), half-pixel centres, the same
 * size untouched. Weights of taps are rational, so a value is a fraction of sums of doubles: exact
 * balls and one division, whose quotient is exact where it is a dyadic number. */
#include "learned.h"
#include "attention.h"
#include "judge_impl.h"
#include "rows.h"

#include <math.h>

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_DIM, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_OFFSET, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_PADDING_IDX, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_TABLE_SCALE, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_X_SCALE, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_BEYOND, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_INTERPOLATION, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_PREFIX_ROWS, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_SOURCE_GRID, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_TARGET_GRID, POSREF_NEED_OPTIONAL},
    {0, POSREF_NEED_NONE},
};

static const struct posref_input_use inputs[] = {
    {"positions", ""}, {"mask", "*"}, {"x", "n,[*],dim"}, {"weights", "*,dim"}, {NULL, NULL}};

static enum posref_status check_grids(struct posref_spec *spec, struct posref_error *err)
{
    const int n = spec->target_grid.n;
    if (!spec->given[POSREF_FIELD_SOURCE_GRID] || !spec->given[POSREF_FIELD_TARGET_GRID])
        return posref_fail(err, POSREF_BAD_INPUT,
                           spec->given[POSREF_FIELD_SOURCE_GRID] ? "target_grid" : "source_grid",
                           "is required by beyond=interpolate");
    if (n > 2 || n != spec->source_grid.n)
        return posref_fail(err, POSREF_BAD_INPUT, "target_grid",
                           "must have one or two sizes, as many as source_grid");
    if (!spec->given[POSREF_FIELD_INTERPOLATION])
        spec->interpolation = n == 2 ? POSREF_INTERPOLATION_CUBIC : POSREF_INTERPOLATION_LINEAR;
    spec->given[POSREF_FIELD_INTERPOLATION] = true;
    spec->given[POSREF_FIELD_PREFIX_ROWS] = true; /* 0 unless said */
    return POSREF_OK;
}

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    static const enum posref_field grids[] = {POSREF_FIELD_INTERPOLATION, POSREF_FIELD_PREFIX_ROWS,
                                              POSREF_FIELD_SOURCE_GRID, POSREF_FIELD_TARGET_GRID};
    if (spec->offset != floor(spec->offset))
        return posref_fail(err, POSREF_BAD_INPUT, "offset", "must be a whole number of rows");
    if (spec->given[POSREF_FIELD_PADDING_IDX] && spec->offset != 0)
        return posref_fail(err, POSREF_BAD_INPUT, "offset",
                           "must be 0 when padding_idx counts the positions");
    if (spec->beyond == POSREF_BEYOND_INTERPOLATE)
        return check_grids(spec, err);
    for (size_t k = 0; k < sizeof grids / sizeof *grids; k++)
        if (spec->given[grids[k]])
            return posref_fail(err, POSREF_BAD_INPUT, posref_field_def(grids[k])->name,
                               "needs beyond=interpolate");
    return POSREF_OK;
}

static int64_t product(const struct posref_ints *sizes)
{
    return sizes->n == 2 ? (int64_t)sizes->item[0] * sizes->item[1] : sizes->item[0];
}

int64_t posref_learned_rows(const struct posref_spec *spec)
{
    return spec->beyond == POSREF_BEYOND_INTERPOLATE
               ? spec->prefix_rows + product(&spec->source_grid) : 0;
}

static void one_row(struct posref_learned_entry *out, int64_t row)
{
    const struct posref_taps one = {.n = 1, .numerator = {1}, .denominator = 1};
    *out = (struct posref_learned_entry){.y = one, .x = one, .first = row, .width = 1};
}

bool posref_learned_entry(struct posref_learned_entry *out, const struct posref_spec *spec,
                          int64_t n_rows, double row)
{
    const bool resampled = spec->beyond == POSREF_BEYOND_INTERPOLATE;
    if (spec->beyond == POSREF_BEYOND_TRUNCATE)
        row = row < 0 ? 0 : row > (double)(n_rows - 1) ? (double)(n_rows - 1) : row;
    const int64_t end = resampled ? spec->prefix_rows + product(&spec->target_grid) : n_rows;
    if (!(row >= 0 && row < (double)end))
        return false;
    int64_t t = (int64_t)row;
    one_row(out, t);
    if (!resampled || t < spec->prefix_rows)
        return true;
    const bool cubic = spec->interpolation == POSREF_INTERPOLATION_CUBIC;
    const int *source = spec->source_grid.item, *target = spec->target_grid.item;
    t -= spec->prefix_rows;
    out->first = spec->prefix_rows;
    if (spec->target_grid.n == 1) {
        posref_resample(&out->y, source[0], target[0], t, cubic);
        return true;
    }
    posref_resample(&out->y, source[0], target[0], t / target[1], cubic);
    posref_resample(&out->x, source[1], target[1], t % target[1], cubic);
    out->width = source[1];
    return true;
}

struct cell {
    const struct posref_learned_entry *entry;
    const double *weights; /* the channel's column */
    int64_t dim;
    double table_scale, x;
    int x_scale_squared; /* 0: x is left out */
};

void posref_learned_taps(struct posref_ball *out, const struct posref_learned_entry *e,
                         const double *weights, int64_t dim)
{
    struct posref_ball tap, weight;
    posref_ball_set_int(out, 0);
    for (int i = 0; i < e->y.n; i++)
        for (int j = 0; j < e->x.n; j++) {
            const int64_t row = e->first + e->y.index[i] * e->width + e->x.index[j];
            posref_ball_set_int(&tap, e->y.numerator[i]);
            posref_ball_set_int(&weight, e->x.numerator[j]);
            posref_ball_mul(&tap, &tap, &weight, POSREF_BALL_MAX_BITS);
            posref_ball_set_double(&weight, weights[row * dim]);
            posref_ball_mul(&tap, &tap, &weight, POSREF_BALL_MAX_BITS);
            posref_ball_add(out, out, &tap, POSREF_BALL_MAX_BITS);
        }
}

static enum posref_status cell_ball(struct posref_ball *out, const void *ctx, unsigned prec_bits)
{
    const struct cell *c = ctx;
    struct posref_ball denominator, part, root;
    posref_learned_taps(out, c->entry, c->weights, c->dim);
    posref_ball_set_double(&part, c->table_scale);
    posref_ball_mul(out, out, &part, POSREF_BALL_MAX_BITS);
    posref_ball_set_int(&denominator, c->entry->y.denominator);
    posref_ball_set_int(&part, c->entry->x.denominator);
    posref_ball_mul(&denominator, &denominator, &part, POSREF_BALL_MAX_BITS);
    if (c->x_scale_squared && c->x != 0) {
        /* (taps + x root denominator) / denominator, so that rational sums stay exact */
        posref_ball_set_int(&root, c->x_scale_squared);
        if (c->x_scale_squared != 1 && !posref_ball_sqrt(&root, &root, prec_bits))
            return POSREF_INTERNAL;
        posref_ball_set_double(&part, c->x);
        posref_ball_mul(&part, &part, &denominator, POSREF_BALL_MAX_BITS);
        posref_ball_mul(&part, &part, &root, root.rad_man ? prec_bits : POSREF_BALL_MAX_BITS);
        posref_ball_add(out, out, &part, POSREF_BALL_MAX_BITS);
    }
    if (out->sign == 0 && out->rad_man == 0)
        return POSREF_OK;
    return posref_ball_div(out, out, &denominator, prec_bits) ? POSREF_OK : POSREF_INTERNAL;
}

static bool is_copy(const struct cell *c)
{
    return c->entry->y.n * c->entry->x.n == 1 && c->table_scale == 1;
}

/* The table's value, or x_scale x + it. */
static enum posref_status cell(double *out, const struct cell *c)
{
    const double weight = c->weights[(c->entry->first + c->entry->y.index[0] * c->entry->width +
                                      c->entry->x.index[0]) * c->dim];
    if (is_copy(c) && c->x_scale_squared < 2) {
        *out = c->x_scale_squared ? c->x + weight : weight;
        return POSREF_OK;
    }
    return posref_ball_decide(out, cell_ball, c);
}

struct lookup {
    const double *weights, *x;
    int64_t n_rows, heads;
    struct posref_rows rows;
    struct posref_learned_entry *entry; /* [rows.n] */
};

static enum posref_status find_entries(struct lookup *of, struct posref_job *job)
{
    const struct posref_spec *spec = job->spec;
    const bool counted = of->rows.masked != NULL;
    of->entry = posref_job_alloc(job, (size_t)of->rows.n, sizeof *of->entry);
    if (!of->entry)
        return POSREF_NO_MEMORY;
    for (int64_t k = 0; k < of->rows.n; k++) {
        const double position = of->rows.position[k];
        const double row = counted ? position : position + spec->offset;
        if (position != floor(position))
            return posref_fail(job->err, POSREF_BAD_INPUT, "positions",
                               "element %lld is %.17g; rows of a table are whole", (long long)k,
                               position);
        if (!posref_learned_entry(&of->entry[k], spec, of->n_rows, row))
            return posref_fail(job->err, POSREF_BAD_INPUT, counted ? "mask" : "positions",
                               "element %lld asks for row %.0f, which the table%s does not have",
                               (long long)k, row,
                               spec->beyond == POSREF_BEYOND_INTERPOLATE ? ", resampled," : "");
    }
    return POSREF_OK;
}

static enum posref_status read_lookup(struct lookup *out, struct posref_job *job)
{
    const struct posref_spec *spec = job->spec;
    const struct posref_tensor *weights = posref_tensors_find(job->in, "weights");
    const bool pads = spec->given[POSREF_FIELD_PADDING_IDX];
    const bool counted = pads || posref_job_has(job, "mask");
    *out = (struct lookup){.heads = 1};
    out->n_rows = weights && weights->rank == 2 ? weights->shape[0] : 1;
    const int64_t want = posref_learned_rows(spec);
    enum posref_status status = posref_job_input(&out->weights, job, "weights", 2,
                                                 (const int64_t[]){out->n_rows, spec->dim});
    if (status == POSREF_OK && want && out->n_rows != want)
        return posref_fail(job->err, POSREF_BAD_INPUT, "weights",
                           "has %lld rows; prefix_rows and source_grid take %lld",
                           (long long)out->n_rows, (long long)want);
    if (status == POSREF_OK)
        status = posref_rows_read(&out->rows, job, 1, counted,
                                  pads ? spec->padding_idx + 1.0 : spec->offset);
    return status == POSREF_OK ? find_entries(out, job) : status;
}

/* x_scale_squared = 0: the table alone. */
static enum posref_status fill(double *out, const struct lookup *of, const struct posref_job *job,
                               int x_scale_squared)
{
    const int64_t dim = job->spec->dim;
    enum posref_status status = POSREF_OK;
    for (int64_t k = 0; k < of->rows.n * of->heads * dim && status == POSREF_OK; k++) {
        const struct cell c = {.entry = &of->entry[k / dim / of->heads],
                               .weights = of->weights + k % dim, .dim = dim,
                               .table_scale = job->spec->table_scale, .x = of->x ? of->x[k] : 0,
                               .x_scale_squared = x_scale_squared};
        status = cell(&out[k], &c);
    }
    return status;
}

static enum posref_status embed(struct posref_job *job, struct lookup *of)
{
    double *y;
    enum posref_status status = posref_job_rows(&of->x, &of->heads, job, "x", of->rows.n,
                                                job->spec->dim);
    if (status != POSREF_OK)
        return status;
    const struct posref_tensor *like = posref_tensors_find(job->in, "x");
    status = posref_job_output(&y, job, "y", like->rank, like->shape);
    const bool root = job->spec->x_scale == POSREF_X_SCALE_SQRT_DIM;
    return status == POSREF_OK ? fill(y, of, job, root ? job->spec->dim : 1) : status;
}

static enum posref_status eval(struct posref_job *job)
{
    struct lookup of;
    double *table;
    if (posref_attention_alone(job))
        return POSREF_OK;
    enum posref_status status = read_lookup(&of, job);
    if (status == POSREF_OK && posref_job_wants(job, POSREF_OP_TABLE, true)) {
        status = posref_job_output(&table, job, "table", 2,
                                   (const int64_t[]){of.rows.n, job->spec->dim});
        if (status == POSREF_OK)
            status = fill(table, &of, job, 0);
    }
    if (status == POSREF_OK && posref_job_wants(job, POSREF_OP_EMBED, posref_job_has(job, "x")))
        status = embed(job, &of);
    return status;
}

const struct posref_scheme_def posref_learned = {
    .info = {.name = "learned",
             .summary = "a learned vector for each position, added to the token embedding",
             .formula = "table[p] = weights[p + offset]; scores = (q_i + table_i) . (k_j + "
                        "table_j) / sqrt(dim), in four terms",
             .source = "Gehring et al., Convolutional Sequence to Sequence Learning, "
                       "arXiv 1705.03122",
             .learned = "d a position",
             .injected = "added to the token embedding, once",
             .relative = "no",
             .beyond = "undefined: an error, or the table is stretched (vision) and trained on",
             .cost = "one addition a channel of the input, O(n d); a table of L d values",
             .users = "BERT, GPT-2, RoBERTa, BART, OPT, CLIP, ViT, Whisper's decoder",
             .advice = "short fixed lengths; images of one size",
             .differs = "the first row (offset, padding_idx), what padding gets, positions beyond "
                        "the table (beyond), the kernel of stretching (interpolation) and the rows "
                        "it leaves alone (prefix_rows)"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_TABLE | 1U << POSREF_OP_EMBED,
    .check = check,
    .eval = eval,
    .judge = posref_judge_units_learned,
    .attention = &posref_attention_learned,
};
