/* SPDX-License-Identifier: Apache-2.0 */
/* Rotations, and their gradients, with faults. */
#include "bend_impl.h"
#include "layout.h"

#include <math.h>

/* The cosine and sine of a column of the tables, for the row at hand. */
struct turn {
    double c, s, error, given, position;
    int64_t of; /* the row's `turns` that it is for; -1: none yet */
};

/* A rotation: its rows, and what they are written to. */
struct rotation {
    struct bend_job *job;
    struct bend_ladder *ladder;
    const struct posref_tensor *x;
    const double *p;
    double *y, *limit, *scale;
    int64_t n, heads;
    struct turn *turn; /* [ladder->n] */
    bool *copied;      /* [dim] */
    bool by_head;      /* heads have positions of their own */
    /* The row at hand: its token and head, elements where it begins in x and y, and what rows that
     * turn alike have in common. */
    int64_t token, head, from, to, turns;
};

static void put(const struct rotation *r, int64_t k, double value, double norm, double error)
{
    r->y[k] = value;
    r->scale[k] = norm;
    r->limit[k] = norm * error + posref_bend_rounding(r->job, norm);
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

static const struct turn *turn_of(struct rotation *r, int column)
{
    const struct bend_job *job = r->job;
    struct turn *turn = &r->turn[column];
    if (turn->of == r->turns)
        return turn;
    turn->of = r->turns;
    turn->given = posref_bend_given(job->bend->spec, r->p, r->n, r->token, column);
    turn->position = posref_bend_position(job->bend, turn->given, r->token, r->head);
    posref_bend_turn(&turn->c, &turn->s, &turn->error, job, r->ladder, column, turn->position);
    return turn;
}

static void write_pair(struct rotation *r, const struct posref_layout_pair *at, int i)
{
    struct bend_job *job = r->job;
    const struct posref_bend *bend = job->bend;
    const struct bend_ladder *l = r->ladder;
    const double *x = (const double *)r->x->data + r->from;
    const double sign = sense(job);
    const double u = x[at->in[0]], v = x[at->in[1]];
    const int64_t to_a = r->to + at->out[0], to_b = r->to + at->out[1];
    const bool last = i == l->n - 1;
    if (last && posref_bend_has(bend, POSREF_BEND_LAST_PAIR)) {
        put(r, to_a, u, 0, 0);
        put(r, to_b, v, 0, 0);
        return;
    }
    const bool spread = posref_bend_has(bend, POSREF_BEND_TABLE_SPREAD);
    const int column[] = {spread ? other_column(bend->spec, at->in[0], l->n) : at->frequency[0],
                          spread ? other_column(bend->spec, at->in[1], l->n) : at->frequency[1]};
    const struct turn *ta = turn_of(r, column[0]), *tb = turn_of(r, column[1]);
    const double norm = hypot(u, v) *
                        fabs(posref_bend_magnitude(job, l, column[0], ta->position));
    if (l->recipe != POSREF_BEND_NOTHING) {
        put(r, to_a, posref_bend_recipe_rotate(job, u, ta->c, sign * v, ta->s), norm, ta->error);
        put(r, to_b, posref_bend_recipe_rotate(job, v, tb->c, -sign * u, tb->s), norm, tb->error);
        return;
    }
    const double minus = posref_bend_has(bend, POSREF_BEND_SINE_LATE) ? -1 : 1;
    put(r, to_a, u * ta->c - minus * sign * v * ta->s, norm, ta->error);
    put(r, to_b, v * tb->c + sign * u * tb->s, norm, tb->error);
    if (last && posref_bend_has(bend, POSREF_BEND_LAST_CHANNEL))
        put(r, to_b, v, 0, 0);
}

static void note(struct rotation *r, const struct posref_layout_pair *at, int i)
{
    const struct turn *turn = turn_of(r, i);
    const int column = at->frequency[0];
    const double theta = sense(r->job) * posref_bend_theta(r->ladder, r->job, column);
    posref_bend_note(r->job, &(struct posref_bent_pair){
                                 {0, 0}, {r->to + at->out[0], r->to + at->out[1]}, column, theta,
                                 turn->given, turn->position});
}

/* False: the rest is not wanted. */
static bool rotate_pair(struct rotation *r, int i)
{
    struct posref_layout_pair at;
    layout(&at, r->job, i);
    if (r->job->out->pair)
        note(r, &at, i);
    write_pair(r, &at, i);
    return posref_bend_done(r->job, 0, r->to + at.out[0]) &&
           posref_bend_done(r->job, 0, r->to + at.out[1]);
}

/* Channels that no pair writes. */
static bool copy_tail(struct rotation *r)
{
    const struct posref_bend *bend = r->job->bend;
    const double *x = (const double *)r->x->data + r->from, magnitude = r->ladder->magnitude;
    for (int k = 0; k < bend->spec->dim; k++) {
        const int64_t to = r->to + k;
        if (!r->copied[k])
            continue;
        if (posref_bend_has(bend, POSREF_BEND_TAIL_ZERO)) {
            put(r, to, 0, 0, 0);
        } else if (posref_bend_has(bend, POSREF_BEND_TAIL_SCALED)) {
            put(r, to, x[k] * magnitude, fabs(x[k] * magnitude), 4 * 0x1p-24);
        } else {
            r->y[to] = x[k];
            r->scale[to] = fabs(x[k]);
            r->limit[to] = 0;
        }
        if (!posref_bend_done(r->job, 0, to))
            return false;
    }
    return true;
}

/* The pair that writes a channel; -1: none does. */
static int writer_of(const struct rotation *r, int channel)
{
    struct posref_layout_pair at;
    for (int i = 0; i < r->ladder->n && !r->copied[channel]; i++) {
        layout(&at, r->job, i);
        if (at.out[0] == channel || at.out[1] == channel)
            return i;
    }
    return -1;
}

/* All rows and all pairs, from those that write the first element on. */
static void turn_rows(struct rotation *r)
{
    const int64_t dim = r->job->bend->spec->dim, n_rows = r->n * r->heads;
    const int64_t element = posref_bend_first(r->job, n_rows * dim);
    const int writer = writer_of(r, (int)(element % dim)), first = writer < 0 ? 0 : writer;
    const int64_t first_row = posref_bend_row(r->job, element / dim, r->n, r->heads);
    bool wanted = true;
    for (int64_t k = 0; k < n_rows && wanted; k++) {
        const int64_t row = (first_row + k) % n_rows;
        r->token = row / r->heads;
        r->head = row % r->heads;
        r->turns = r->by_head ? row : r->token;
        r->from = row * dim;
        r->to = posref_bend_row(r->job, row, r->n, r->heads) * dim;
        wanted = writer >= 0 || copy_tail(r);
        for (int i = 0; i < r->ladder->n && wanted; i++) {
            const int pair = first + i;
            wanted = rotate_pair(r, pair < r->ladder->n ? pair : pair - r->ladder->n);
        }
        wanted = wanted && (writer < 0 || copy_tail(r));
    }
}

enum posref_status posref_bend_rotate(struct bend_job *job, struct bend_ladder *l,
                                      const struct posref_tensor *positions)
{
    const struct posref_spec *spec = job->bend->spec;
    const struct posref_arena *arena = job->arena;
    const char *name = is_backward(job) ? "dy" : "x";
    struct rotation r = {.job = job, .ladder = l, .x = posref_tensors_find(job->in, name),
                         .p = positions->data, .n = positions->shape[positions->rank - 1],
                         .by_head = posref_bend_has(job->bend, POSREF_BEND_POSITION_HEAD)};
    if (!r.x || spec->dim == 0 || posref_tensor_count(r.x) % (r.n * spec->dim) != 0)
        return posref_fail(job->err, POSREF_BAD_INPUT, name, "has no bent form in this shape");
    r.heads = posref_tensor_count(r.x) / r.n / spec->dim;
    r.turn = arena->alloc(arena->ctx, (size_t)l->n * sizeof *r.turn + 1);
    r.copied = arena->alloc(arena->ctx, (size_t)spec->dim * sizeof *r.copied);
    if (!r.turn || !r.copied)
        return posref_fail(job->err, POSREF_NO_MEMORY, "", "out of memory");
    for (int i = 0; i < l->n; i++)
        r.turn[i].of = -1;
    posref_layout_copied(r.copied, spec);
    enum posref_status status = posref_bend_output(&r.y, &r.limit, &r.scale, job,
                                                   is_backward(job) ? "dx" : "y", r.x->rank,
                                                   r.x->shape);
    if (status == POSREF_OK)
        status = posref_bend_pairs(job, r.n * r.heads * l->n);
    if (status == POSREF_OK && r.heads > 0)
        turn_rows(&r);
    return status;
}
