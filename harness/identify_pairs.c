/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs, copies and places, from matrices of basis vectors. */
#include "identify_pairs.h"

#include <math.h>
#include <string.h>

/* An exact zero stays one through products with zero; this is below any angle's sine. */
#define NOTHING 1e-25

struct reading {
    const struct posref_basis *basis;
    int *group; /* of channel c, as input and, at dim + c, as output */
};

static int root(int *group, int c)
{
    while (group[c] != c)
        c = group[c] = group[group[c]];
    return c;
}

static bool reaches(const struct posref_basis *b, int in, int out)
{
    const size_t k = (size_t)in * (size_t)b->dim + (size_t)out;
    return fabs(b->at_0[k]) > NOTHING || fabs(b->at_1[k]) > NOTHING || fabs(b->at_5[k]) > NOTHING;
}

static double at(const double *matrix, const struct posref_basis *b, int in, int out)
{
    return matrix[(size_t)in * (size_t)b->dim + (size_t)out];
}

/* Where channel `in` comes out at position 0: the largest element. */
static int place(const struct posref_basis *b, int in)
{
    int best = in;
    for (int out = 0; out < b->dim; out++)
        if (fabs(at(b->at_0, b, in, out)) > fabs(at(b->at_0, b, in, best)))
            best = out;
    return best;
}

static void read_pair(struct posref_pair *p, const struct posref_basis *b, int first, int second,
                      const int outs[2])
{
    p->in[0] = first;
    p->in[1] = second;
    bool same = (outs[0] == first && outs[1] == second) || (outs[0] == second && outs[1] == first);
    p->out[0] = same ? first : place(b, first);
    p->out[1] = same ? second : p->out[0] == outs[0] ? outs[1] : outs[0];
    const double c1 = at(b->at_1, b, first, p->out[0]), s1 = at(b->at_1, b, first, p->out[1]);
    const double c2 = at(b->at_1, b, second, p->out[1]), s2 = at(b->at_1, b, second, p->out[0]);
    p->angle = atan2(s1, c1);
    p->magnitude = hypot(s1, c1);
    p->offset = atan2(at(b->at_0, b, first, p->out[1]), at(b->at_0, b, first, p->out[0]));
    /* A rotation has equal cosines and opposite sines. */
    p->crooked = hypot(c1 - c2, s1 + s2) / (p->magnitude > 0 ? p->magnitude : 1);
}

static void read_single(struct posref_pairs *out, const struct posref_basis *b, int in, int to)
{
    const double first = at(b->at_0, b, in, to);
    const bool still = first == 1 && at(b->at_1, b, in, to) == 1 && at(b->at_5, b, in, to) == 1;
    if (!still)
        out->n_scaled++;
    else if (in == to)
        out->n_copied++;
    else
        out->n_moved++;
    if (still && in == to && out->first_copied < 0)
        out->first_copied = in;
}

static void read_groups(struct posref_pairs *out, struct reading *r)
{
    const int dim = r->basis->dim;
    for (int c = 0; c < dim; c++) {
        int ins[3], outs[3], n_in = 0, n_out = 0, mine = root(r->group, c);
        for (int k = 0; k < dim; k++) {
            if (root(r->group, k) == mine && n_in < 3)
                ins[n_in++] = k;
            if (root(r->group, dim + k) == mine && n_out < 3)
                outs[n_out++] = k;
        }
        if (n_in == 1 && n_out == 1)
            read_single(out, r->basis, c, outs[0]);
        else if (n_in == 2 && n_out == 2 && ins[0] == c)
            read_pair(&out->pair[out->n++], r->basis, ins[0], ins[1], outs);
        else if (!(n_in == 2 && n_out == 2))
            out->n_mixed++;
    }
}

enum posref_status posref_pairs_read(struct posref_pairs *out, const struct posref_basis *basis,
                                     const struct posref_arena *arena, struct posref_error *err)
{
    const int dim = basis->dim;
    struct reading r = {.basis = basis};
    *out = (struct posref_pairs){.dim = dim, .first_copied = -1};
    r.group = arena->alloc(arena->ctx, 2 * (size_t)dim * sizeof *r.group);
    out->pair = arena->alloc(arena->ctx, (size_t)dim * sizeof *out->pair);
    if (!r.group || !out->pair)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    for (int k = 0; k < 2 * dim; k++)
        r.group[k] = k;
    for (int in = 0; in < dim; in++)
        for (int to = 0; to < dim; to++)
            if (reaches(basis, in, to))
                r.group[root(r.group, in)] = root(r.group, dim + to);
    read_groups(out, &r);
    return POSREF_OK;
}

bool posref_pairs_alike(const struct posref_pairs *a, const struct posref_pairs *b)
{
    bool alike = a->n == b->n && a->n_copied == b->n_copied && a->n_moved == b->n_moved &&
                 a->n_scaled == b->n_scaled && a->n_mixed == b->n_mixed;
    for (int k = 0; k < a->n && alike; k++)
        alike = memcmp(a->pair[k].in, b->pair[k].in, sizeof a->pair[k].in) == 0 &&
                memcmp(a->pair[k].out, b->pair[k].out, sizeof a->pair[k].out) == 0 &&
                (a->pair[k].angle > 0) == (b->pair[k].angle > 0);
    return alike;
}
