/* SPDX-License-Identifier: Apache-2.0 */
/* Rope with faults. */
#include "axes.h"
#include "bend_impl.h"
#include "layout.h"

#include <math.h>

/* Columns of tables and frequencies: with partial=proportional pairs that do not turn as well. */
static int columns_of(const struct bend_job *job, const struct bend_ladder *l)
{
    const struct posref_spec *spec = job->bend->spec;
    return spec->partial == POSREF_PARTIAL_PROPORTIONAL ? spec->dim / 2 : l->n;
}

static enum posref_status frequencies(struct bend_job *job, const struct bend_ladder *l)
{
    double *value, *limit, *scale;
    const int64_t n = columns_of(job, l);
    enum posref_status status = posref_bend_output(&value, &limit, &scale, job, "inv_freq", 1, &n);
    for (int i = 0; i < n && status == POSREF_OK; i++) {
        const bool turns = i < l->n;
        value[i] = turns ? l->theta[i] : 0;
        scale[i] = fabs(value[i]);
        limit[i] = turns ? scale[i] * l->k[i] * 0x1p-24 + posref_bend_rounding(job, value[i]) : 0;
    }
    if (status == POSREF_OK)
        status = posref_bend_output(&value, &limit, &scale, job, "attention_factor", 0, NULL);
    if (status == POSREF_OK) {
        *value = l->magnitude;
        *scale = fabs(*value);
        *limit = *scale * 4 * 0x1p-24 + posref_bend_rounding(job, *value);
    }
    return status;
}

/* The position of row n that turns pair i, as given. */
static double given_at(const struct posref_spec *spec, const double *p, int64_t n_rows, int64_t n,
                       int i)
{
    struct posref_axis_pair at = {.axis = 0};
    if (posref_axes_count(spec) > 1)
        posref_axes_pair(&at, spec, i);
    return p[at.axis * n_rows + n];
}

static enum posref_status table(struct bend_job *job, const struct bend_ladder *l,
                                const struct posref_tensor *positions)
{
    double *c = NULL, *s = NULL, *limit[2], *scale[2];
    const double *p = positions->data;
    const int64_t shape[] = {positions->shape[positions->rank - 1], columns_of(job, l)};
    enum posref_status status = posref_bend_output(&c, &limit[0], &scale[0], job, "cos", 2, shape);
    if (status == POSREF_OK)
        status = posref_bend_output(&s, &limit[1], &scale[1], job, "sin", 2, shape);
    if (status == POSREF_OK)
        status = posref_bend_pairs(job, shape[0] * l->n);
    for (int64_t k = 0; k < shape[0] * shape[1] && status == POSREF_OK; k++) {
        c[k] = scale[0][k] = scale[1][k] = 1;
        s[k] = 0;
        limit[0][k] = limit[1][k] = posref_bend_rounding(job, 1);
    }
    for (int64_t row = 0; row < shape[0] && status == POSREF_OK; row++)
        for (int i = 0; i < l->n; i++) {
            const int64_t k = row * shape[1] + i;
            const double given = given_at(job->bend->spec, p, shape[0], row, i);
            double error, at = posref_bend_position(job->bend, given, row, 0);
            posref_bend_turn(&c[k], &s[k], &error, job, l, i, at);
            posref_bend_note(job, &(struct posref_bent_pair){{0, 1}, {k, k}, i, l->theta[i], given,
                                                             at});
            const double magnitude = fabs(posref_bend_magnitude(job, l, i, at));
            scale[0][k] = scale[1][k] = magnitude;
            limit[0][k] = limit[1][k] = magnitude * error + posref_bend_rounding(job, magnitude);
        }
    return status;
}

/* The rows of a rotation, and what they are written to. */
struct rows {
    const struct posref_tensor *x;
    const double *p;
    double *y, *limit, *scale;
    int64_t n, heads;
    bool *copied; /* [dim] */
};

struct turn {
    double c, s, error, given, position;
};

static void put(struct bend_job *job, const struct rows *r, int64_t k, double value, double norm,
                double error)
{
    r->y[k] = value;
    r->scale[k] = norm;
    r->limit[k] = norm * error + posref_bend_rounding(job, norm);
}

/* The column that the other pairing's table has for a channel of the rotated part. */
static int other_column(const struct posref_spec *spec, int channel, int n)
{
    return spec->pairing == POSREF_PAIRING_HALF ? channel / 2 : channel % n;
}

static bool is_backward(const struct bend_job *job)
{
    return job->op == POSREF_OP_ROTATE_BACKWARD;
}

/* The gradient reads what the rotation writes and turns the other way; that of mismatched tables as
 * a kernel has it that runs its forward code with sines negated. */
static void layout(struct posref_layout_pair *at, const struct bend_job *job, int i)
{
    posref_layout_rope(at, job->bend->spec, i);
    for (int which = 0; which < 2 && is_backward(job); which++) {
        const int read = at->in[which];
        at->in[which] = at->out[which];
        at->out[which] = read;
    }
}

static double sense(const struct bend_job *job)
{
    return (job->bend->spec->direction == POSREF_DIRECTION_INVERSE) == is_backward(job) ? 1 : -1;
}

static void rotate_pair(struct bend_job *job, const struct rows *r, const struct bend_ladder *l,
                        const struct turn *turn, int64_t base, int i)
{
    const struct posref_bend *bend = job->bend;
    const struct posref_spec *spec = bend->spec;
    const double *x = r->x->data;
    struct posref_layout_pair at;
    layout(&at, job, i);
    const double sign = sense(job);
    const double u = x[base + at.in[0]], v = x[base + at.in[1]];
    const bool spread = posref_bend_has(bend, POSREF_BEND_TABLE_SPREAD);
    const struct turn *ta = &turn[spread ? other_column(spec, at.in[0], l->n) : at.frequency[0]];
    const double norm = hypot(u, v) *
                        fabs(posref_bend_magnitude(job, l, (int)(ta - turn), ta->position));
    const struct turn *tb = &turn[spread ? other_column(spec, at.in[1], l->n) : at.frequency[1]];
    const double minus = posref_bend_has(bend, POSREF_BEND_SINE_LATE) ? -1 : 1;
    const int64_t to_a = base + at.out[0], to_b = base + at.out[1];
    const bool last = i == l->n - 1;
    posref_bend_note(job, &(struct posref_bent_pair){{0, 0}, {to_a, to_b}, at.frequency[0],
                                                     sign * l->theta[at.frequency[0]],
                                                     turn[i].given, turn[i].position});
    if (last && posref_bend_has(bend, POSREF_BEND_LAST_PAIR)) {
        put(job, r, to_a, u, 0, 0);
        put(job, r, to_b, v, 0, 0);
        return;
    }
    if (l->recipe != POSREF_BEND_NOTHING) {
        put(job, r, to_a, posref_bend_recipe_rotate(job, u, ta->c, sign * v, ta->s), norm,
            ta->error);
        put(job, r, to_b, posref_bend_recipe_rotate(job, v, tb->c, -sign * u, tb->s), norm,
            tb->error);
        return;
    }
    put(job, r, to_a, u * ta->c - minus * sign * v * ta->s, norm, ta->error);
    put(job, r, to_b, v * tb->c + sign * u * tb->s, norm, tb->error);
    if (last && posref_bend_has(bend, POSREF_BEND_LAST_CHANNEL))
        put(job, r, to_b, v, 0, 0);
}

/* Channels that no pair writes. */
static void copy_tail(struct bend_job *job, const struct rows *r, const struct bend_ladder *l,
                      int64_t base)
{
    const double *x = r->x->data;
    for (int k = 0; k < job->bend->spec->dim; k++) {
        double value = x[base + k];
        if (!r->copied[k])
            continue;
        if (posref_bend_has(job->bend, POSREF_BEND_TAIL_ZERO)) {
            put(job, r, base + k, 0, 0, 0);
        } else if (posref_bend_has(job->bend, POSREF_BEND_TAIL_SCALED)) {
            put(job, r, base + k, value * l->magnitude, fabs(value * l->magnitude), 4 * 0x1p-24);
        } else {
            r->y[base + k] = value;
            r->scale[base + k] = fabs(value);
            r->limit[base + k] = 0;
        }
    }
}

static void swap_last_rows(const struct rows *r, int64_t width)
{
    double *const array[] = {r->y, r->limit, r->scale};
    for (int a = 0; a < 3 && r->n >= 2; a++)
        for (int64_t k = 0; k < width; k++) {
            double *last = array[a] + (r->n - 1) * width + k, *before = last - width;
            const double kept = *last;
            *last = *before;
            *before = kept;
        }
}

static enum posref_status rotate(struct bend_job *job, const struct bend_ladder *l,
                                 const struct posref_tensor *positions)
{
    const struct posref_spec *spec = job->bend->spec;
    struct rows r = {.x = posref_tensors_find(job->in, is_backward(job) ? "dy" : "x"),
                     .p = positions->data,
                     .n = positions->shape[positions->rank - 1]};
    if (!r.x || spec->dim == 0 || posref_tensor_count(r.x) % (r.n * spec->dim) != 0)
        return posref_fail(job->err, POSREF_BAD_INPUT, is_backward(job) ? "dy" : "x",
                           "has no bent form in this shape");
    r.heads = posref_tensor_count(r.x) / r.n / spec->dim;
    struct turn *turn = job->arena->alloc(job->arena->ctx, (size_t)l->n * sizeof *turn + 1);
    r.copied = job->arena->alloc(job->arena->ctx, (size_t)spec->dim * sizeof *r.copied);
    if (!turn || !r.copied)
        return posref_fail(job->err, POSREF_NO_MEMORY, "", "out of memory");
    enum posref_status status = posref_bend_output(&r.y, &r.limit, &r.scale, job,
                                                   is_backward(job) ? "dx" : "y", r.x->rank,
                                                   r.x->shape);
    if (status == POSREF_OK)
        status = posref_bend_pairs(job, r.n * r.heads * l->n);
    posref_layout_copied(r.copied, spec);
    const bool by_head = posref_bend_has(job->bend, POSREF_BEND_POSITION_HEAD);
    for (int64_t row = 0; row < r.n * r.heads && status == POSREF_OK; row++) {
        const int64_t n = row / r.heads, h = row % r.heads;
        for (int i = 0; i < l->n && (h == 0 || by_head); i++) {
            turn[i].given = given_at(spec, r.p, r.n, n, i);
            turn[i].position = posref_bend_position(job->bend, turn[i].given, n, h);
            posref_bend_turn(&turn[i].c, &turn[i].s, &turn[i].error, job, l, i, turn[i].position);
        }
        copy_tail(job, &r, l, row * spec->dim);
        for (int i = 0; i < l->n; i++)
            rotate_pair(job, &r, l, turn, row * spec->dim, i);
    }
    if (status == POSREF_OK && posref_bend_has(job->bend, POSREF_BEND_LAST_ROWS))
        swap_last_rows(&r, r.heads * spec->dim);
    return status;
}

enum posref_status posref_bend_rope(struct bend_job *job)
{
    struct bend_ladder ladder;
    const struct posref_tensor *positions = posref_tensors_find(job->in, "positions");
    enum posref_status status = posref_bend_ladder(&ladder, job,
                                                   posref_layout_pairs(job->bend->spec));
    if (status != POSREF_OK || job->op == POSREF_OP_FREQUENCIES)
        return status == POSREF_OK ? frequencies(job, &ladder) : status;
    const int axes = posref_axes_count(job->bend->spec);
    if (!positions || (axes > 1 ? positions->rank != 2 || positions->shape[0] != axes
                                : positions->rank != 1) ||
        positions->shape[positions->rank - 1] == 0)
        return posref_fail(job->err, POSREF_BAD_INPUT, "positions", "have no bent form");
    if (job->op == POSREF_OP_TABLE && !job->bend->spec->given[POSREF_FIELD_TABLE_LAYOUT])
        return table(job, &ladder, positions);
    if (job->op == POSREF_OP_ROTATE || is_backward(job))
        return rotate(job, &ladder, positions);
    return posref_fail(job->err, POSREF_BAD_INPUT, "op", "has no bent form");
}
