/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of rotations and of their tables, and frequencies, as judged units. */
#include "judge_impl.h"
#include "layout.h"
#include "scheme.h"
#include "xpos.h"

#include <math.h>
#include <string.h>

enum posref_status posref_judge_allocate(struct judge_case *c, int64_t n_units)
{
    c->n_units = 0;
    c->unit = c->arena->alloc(c->arena->ctx, (size_t)n_units * sizeof *c->unit);
    return c->unit ? POSREF_OK : posref_fail(c->err, POSREF_NO_MEMORY, "", "out of memory");
}

static void set_element(struct judge_case *c, struct judge_unit *unit, int which, int tensor,
                        int64_t element)
{
    unit->tensor[which] = tensor;
    unit->element[which] = element;
    unit->want[which] = posref_tensor_value(&c->golden->item[tensor], element);
    unit->got[which] = posref_tensor_value(&c->actual->item[tensor], element);
}

struct judge_unit *posref_judge_pair(struct judge_case *c, const struct judge_frequency *f, int i,
                                     double position, int t1, int64_t e1, int t2, int64_t e2)
{
    struct judge_unit *unit = &c->unit[c->n_units++];
    memset(unit, 0, sizeof *unit);
    unit->n = 2;
    set_element(c, unit, 0, t1, e1);
    set_element(c, unit, 1, t2, e2);
    unit->is_pair = true;
    unit->scale = hypot(unit->want[0], unit->want[1]);
    unit->out_scale[0] = unit->out_scale[1] = unit->scale;
    double angle = position * f->theta;
    unit->angle = fabs(angle);
    unit->k = f->k;
    unit->recurrence = f->recurrence;
    (void)posref_xpos_estimate(&unit->scale_error, c->spec, POSREF_XPOS_QUERY, i, position);
    unit->extra = (posref_judge_has_magnitude(c->spec) ? 3 : 1) + unit->scale_error;
    unit->exact_angle = f->first && (double)(float)f->theta == f->theta &&
                        (double)(float)position == position && (double)(float)angle == angle;
    unit->pair = i;
    unit->position = position;
    return unit;
}

struct judge_unit *posref_judge_one(struct judge_case *c, int tensor, int64_t element)
{
    struct judge_unit *unit = &c->unit[c->n_units++];
    memset(unit, 0, sizeof *unit);
    unit->n = 1;
    set_element(c, unit, 0, tensor, element);
    unit->scale = unit->out_scale[0] = fabs(unit->want[0]);
    unit->angle = 1;
    unit->pair = -1;
    unit->position = (double)NAN;
    return unit;
}

static int find_tensor(const struct judge_case *c, const char *name)
{
    for (int k = 0; k < c->golden->n; k++)
        if (strcmp(c->golden->item[k].name, name) == 0)
            return k;
    return -1;
}

enum posref_status posref_judge_frequencies(struct judge_frequency **out, struct judge_case *c,
                                            int n)
{
    struct judge_frequency *f = c->arena->alloc(c->arena->ctx, (size_t)n * sizeof *f);
    if (!f)
        return posref_fail(c->err, POSREF_NO_MEMORY, "", "out of memory");
    for (int i = 0; i < n; i++)
        posref_judge_frequency_fill(&f[i], c->spec, i);
    *out = f;
    return POSREF_OK;
}

/* The position of a row on the axis of a frequency. */
static double position_at(const struct judge_case *c, const struct judge_frequency *f, int64_t row)
{
    const struct posref_tensor *positions = posref_tensors_find(c->inputs, "positions");
    const int64_t n = positions->shape[positions->rank - 1];
    return ((const double *)positions->data)[f->axis * n + row];
}

static enum posref_status frequency_units(struct judge_case *c)
{
    const int tensor = find_tensor(c, "inv_freq"), n = c->spec->rotary_dim / 2;
    struct judge_frequency *f;
    enum posref_status status = posref_judge_frequencies(&f, c, n);
    if (status == POSREF_OK)
        status = posref_judge_allocate(c, n + 1);
    if (status != POSREF_OK)
        return status;
    for (int i = 0; i <= n; i++) {
        struct judge_unit *unit = &c->unit[c->n_units++];
        memset(unit, 0, sizeof *unit);
        unit->n = 1;
        set_element(c, unit, 0, i < n ? tensor : find_tensor(c, "attention_factor"), i < n ? i : 0);
        unit->scale = unit->out_scale[0] = fabs(unit->want[0]);
        unit->angle = 1;
        unit->k = i < n ? f[i].k : 4;
        unit->recurrence = i < n ? f[i].recurrence : 0;
        unit->moves = true;
        unit->pair = i < n ? i : -1;
        unit->position = (double)NAN;
    }
    return POSREF_OK;
}

/* Angles are judged like frequencies, relative to themselves. */
static void add_angle(struct judge_case *c, const struct judge_frequency *f, int i, int64_t k,
                      double position)
{
    struct judge_unit *unit = posref_judge_one(c, find_tensor(c, "angles"), k);
    unit->k = f->k;
    unit->recurrence = f->recurrence;
    unit->extra = 1;
    unit->moves = position != 0 && f->theta != 0;
    unit->pair = i;
    unit->position = position;
}

static enum posref_status table_units(struct judge_case *c)
{
    const struct posref_tensor *positions = posref_tensors_find(c->inputs, "positions");
    const int pairs = c->spec->rotary_dim / 2;
    const int64_t n = positions->shape[positions->rank - 1];
    struct posref_table_form form;
    posref_layout_table(&form, c->spec);
    const int cosine = find_tensor(c, form.joined ? "table" : "cos");
    const int sine = form.joined ? cosine : find_tensor(c, "sin");
    struct judge_frequency *f;
    enum posref_status status = posref_judge_frequencies(&f, c, pairs);
    if (status == POSREF_OK)
        status = posref_judge_allocate(c, n * pairs * form.copies);
    for (int64_t k = 0; k < n * pairs && status == POSREF_OK; k++) {
        const int64_t row = k / pairs;
        const int i = (int)(k % pairs);
        const double position = position_at(c, &f[i], row);
        if (form.layout == POSREF_TABLE_ANGLES)
            add_angle(c, &f[i], i, k, position);
        else
            for (int copy = 0; copy < form.copies; copy++) {
                int at[2];
                bool negated; /* golden and actual alike */
                posref_layout_table_at(&at[0], &at[1], &negated, &form, i, copy);
                struct judge_unit *unit =
                    posref_judge_pair(c, &f[i], i, position, cosine, row * form.width + at[0], sine,
                                      row * form.width + at[1]);
                unit->moves = position != 0 && f[i].theta != 0;
            }
    }
    return status;
}

static enum posref_status check_copies(struct judge_case *c, const struct posref_tensor *x, int y,
                                       int64_t n_rows)
{
    const struct posref_tensor *got = &c->actual->item[y];
    const int dim = c->spec->dim;
    const double *in = x->data;
    bool *copied = c->arena->alloc(c->arena->ctx, (size_t)dim * sizeof *copied);
    if (!copied)
        return posref_fail(c->err, POSREF_NO_MEMORY, "", "out of memory");
    posref_layout_copied(copied, c->spec);
    for (int64_t k = 0; k < n_rows * dim && c->copies_hold; k++) {
        double value = posref_tensor_value(got, k);
        /* Bit identity, so that -0 and +0 differ; x is exact in the dtype. */
        if (!copied[k % dim] || memcmp(&value, &in[k], sizeof value) == 0)
            continue;
        c->copies_hold = false;
        set_element(c, &c->broken_copy, 0, y, k);
        c->broken_copy.pair = -1;
        c->broken_copy.position = (double)NAN;
        c->broken_copy.scale = fabs(in[k]);
    }
    return POSREF_OK;
}

/* The two outputs of a pair of mismatched tables turn by different angles, so each is a unit of its
 * own, and its error is measured against the norm of what went in. */
static void add_mismatched(struct judge_case *c, const struct judge_frequency *f,
                           const struct posref_layout_pair *at, const double *in,
                           double magnitude, int64_t row, int y, int64_t base)
{
    for (int which = 0; which < 2; which++) {
        const int i = at->frequency[which];
        const int64_t element = base + at->out[which];
        struct judge_unit *unit = posref_judge_pair(c, &f[i], i, position_at(c, &f[i], row), y,
                                                    element, y, element);
        unit->n = 1;
        unit->is_pair = false;
        unit->scale = magnitude * hypot(in[base + at->in[0]], in[base + at->in[1]]);
        unit->out_scale[0] = unit->scale;
        unit->moves = unit->position != 0 && unit->scale != 0;
    }
}

/* y [n, dim] or [n, heads, dim] of x; or dx of dy, whose pairs are written where x was read. */
static enum posref_status rotate_units(struct judge_case *c, const char *output, const char *input)
{
    const struct posref_tensor *positions = posref_tensors_find(c->inputs, "positions");
    const struct posref_tensor *x = posref_tensors_find(c->inputs, input);
    const bool backward = c->op == POSREF_OP_ROTATE_BACKWARD;
    const bool mismatched = c->spec->pairing == POSREF_PAIRING_MISMATCHED;
    const bool has_tables = posref_tensors_find(c->inputs, "cos") != NULL;
    const bool normed = posref_judge_is_normed(c);
    const int pairs = posref_layout_pairs(c->spec), y = find_tensor(c, output);
    const int units = mismatched ? 2 * pairs : normed ? c->spec->dim : pairs;
    const int64_t n_rows = posref_tensor_count(x) / c->spec->dim;
    const int64_t heads = n_rows / positions->shape[positions->rank - 1];
    const double magnitude = mismatched ? posref_judge_magnitude(c->spec) : 1;
    struct judge_frequency *f;
    enum posref_status status = posref_judge_frequencies(&f, c, pairs);
    if (status == POSREF_OK)
        status = posref_judge_allocate(c, n_rows * units);
    for (int64_t k = 0; k < n_rows * pairs && status == POSREF_OK; k++) {
        const int64_t row = k / pairs, base = row * c->spec->dim;
        const int i = (int)(k % pairs);
        struct posref_layout_pair at;
        posref_layout_rope(&at, c->spec, i);
        if (mismatched) {
            add_mismatched(c, f, &at, x->data, magnitude, row / heads, y, base);
            continue;
        }
        const int *to = backward ? at.in : at.out;
        struct judge_unit *unit = posref_judge_pair(c, &f[i], i, position_at(c, &f[i], row / heads),
                                                    y, base + to[0], y, base + to[1]);
        unit->moves = unit->position != 0 && unit->scale != 0;
        if (has_tables) { /* handed in: no angle is formed */
            unit->angle = 0;
            unit->extra = 1;
        }
        if (normed)
            posref_judge_normed(c, unit, &at);
    }
    if (status == POSREF_OK && normed)
        return posref_judge_normed_rest(c, y, n_rows);
    return status == POSREF_OK ? check_copies(c, x, y, n_rows) : status;
}

enum posref_status posref_judge_units(struct judge_case *c)
{
    if (c->op == POSREF_OP_SCORES || c->op == POSREF_OP_ATTENTION)
        return posref_judge_units_attention(c);
    const struct posref_scheme_def *scheme = posref_scheme_def(c->spec->scheme);
    if (scheme->judge)
        return scheme->judge(c);
    switch (c->op) {
    case POSREF_OP_FREQUENCIES: return frequency_units(c);
    case POSREF_OP_TABLE: return table_units(c);
    case POSREF_OP_ROTATE: return rotate_units(c, "y", "x");
    case POSREF_OP_ROTATE_BACKWARD: return rotate_units(c, "dx", "dy");
    default:
        return posref_fail(c->err, POSREF_BAD_INPUT, "op", "%s is not judged",
                           posref_op_name(c->op));
    }
}
