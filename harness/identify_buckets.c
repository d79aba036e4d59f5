/* SPDX-License-Identifier: Apache-2.0 */
/* T5's buckets: how many, for one side or for both, and how far they reach, from the bucket of
 * every distance. Where only biases are to be had, a table of its own numbers shows the buckets. */
#include "identify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAR 2048 /* every distance up to here, on both sides */
#define FAR 8     /* and powers of four beyond */
#define SIDE (NEAR + FAR)
#define N (2 * SIDE + 1)

static double distance_at(int k)
{
    const int n = k - SIDE, size = abs(n);
    const double far = size <= NEAR ? size : (double)NEAR * exp2(2 * (size - NEAR));
    return n < 0 ? -far : far;
}

/* Distances that are looked at: their numbers, and the buckets that were seen. */
struct seen {
    int n, k[N];
    double bucket[N];
};

static bool fill(struct posref_tensors *in, const struct posref_spec *spec,
                 const struct seen *seen, bool weights, const struct posref_arena *arena)
{
    in->n = 0;
    const bool by_head = spec->weights_layout == POSREF_WEIGHTS_HEADS_ENTRIES;
    const int heads = spec->given[POSREF_FIELD_NUM_HEADS] ? spec->num_heads : 1;
    const int64_t n = seen->n, one = 1, shape[2] = {by_head ? heads : spec->num_buckets,
                                                    by_head ? spec->num_buckets : heads};
    double *q = posref_probe_input(in, "q_positions", 1, &one, arena);
    double *k = posref_probe_input(in, "k_positions", 1, &n, arena);
    double *w = q && k && weights ? posref_probe_input(in, "weights", 2, shape, arena) : NULL;
    for (int i = 0; k && i < n; i++)
        k[i] = distance_at(seen->k[i]);
    for (int e = 0; w && e < heads * spec->num_buckets; e++)
        w[e] = by_head ? e % spec->num_buckets : e / heads;
    return q && k && (w || !weights);
}

/* As integers, else in the first dtype that holds the numbers of the buckets. */
static enum posref_status ask(struct posref_tensors *out, struct posref_identity *id,
                              const struct seen *all, struct posref_probe *probe,
                              struct posref_error *err)
{
    struct posref_tensors in;
    if (!fill(&in, probe->spec, all, false, probe->arena))
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    id->op = POSREF_OP_INDEX;
    enum posref_status status = posref_probe_dtype(out, probe, id->op, &in, err);
    if (status != POSREF_OK || probe->verdict != POSREF_VERDICT_UNSUPPORTED ||
        probe->spec->num_buckets > 256)
        return status;
    if (!fill(&in, probe->spec, all, true, probe->arena))
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    id->op = POSREF_OP_BIAS;
    return posref_probe_dtype(out, probe, id->op, &in, err);
}

/* By how much the buckets of a spec differ from those seen, in all: 0, where they are the same.
 * Further buckets have larger numbers, so it falls as max_distance rises. */
static double excess(bool *same, const struct posref_spec *spec, const struct seen *seen,
                     const struct posref_arena *arena)
{
    struct posref_tensors in, out;
    struct posref_spec complete = *spec;
    double sum = 0;
    *same = fill(&in, spec, seen, false, arena) &&
            posref_spec_complete(&complete, NULL) == POSREF_OK &&
            posref_eval(&out, &complete, POSREF_OP_INDEX, &in, arena, NULL) == POSREF_OK;
    if (!*same)
        return (double)NAN;
    const int64_t *bucket = out.item[0].data;
    for (int k = 0; k < seen->n; k++) {
        sum += (double)bucket[k] - seen->bucket[k];
        *same = *same && (double)bucket[k] == seen->bucket[k];
    }
    return sum;
}

/* Both sides of every step: these alone tell how far the buckets reach. */
static void find_steps(struct seen *out, const struct seen *all)
{
    out->n = 0;
    for (int k = 0; k < all->n; k++)
        if ((k > 0 && all->bucket[k] != all->bucket[k - 1]) ||
            (k + 1 < all->n && all->bucket[k] != all->bucket[k + 1])) {
            out->k[out->n] = all->k[k];
            out->bucket[out->n++] = all->bucket[k];
        }
}

/* The smallest max_distance whose excess is at most (below: less than) nothing. */
static int reach(struct posref_spec spec, const struct seen *steps, bool below,
                 const struct posref_arena *arena)
{
    int lo = spec.num_buckets / 2 + 1, hi = 1 << 30;
    while (lo < hi) {
        bool same;
        spec.max_distance = lo + (hi - lo) / 2;
        const double over = excess(&same, &spec, steps, arena);
        if (below ? over < 0 : over <= 0)
            hi = spec.max_distance;
        else
            lo = spec.max_distance + 1;
    }
    return lo;
}

static bool fit_distance(struct posref_identity *id, struct posref_spec *spec,
                         const struct seen *all, const struct posref_arena *arena)
{
    bool same;
    struct seen *steps = arena->alloc(arena->ctx, sizeof *steps);
    if (!steps)
        return false;
    find_steps(steps, all);
    const int first = reach(*spec, steps, false, arena), end = reach(*spec, steps, true, arena);
    const struct posref_interval in = {first, end - 1};
    spec->max_distance = posref_within(in, id->asked.max_distance)
                             ? id->asked.max_distance : (int)posref_simplest_length(in);
    (void)excess(&same, spec, all, arena);
    if (!same)
        return false;
    id->range[POSREF_FIELD_MAX_DISTANCE] = in;
    if (in.hi > in.lo)
        posref_identity_family(id, "max_distance", "any from %.0f to %.0f has these buckets", in.lo,
                               in.hi);
    return true;
}

/* Whether both sides have buckets, and how many, from the neighbours of distance 0. */
static bool read_sides(struct posref_spec *spec, const double *bucket)
{
    const double before = bucket[SIDE - 1], after = bucket[SIDE + 1];
    spec->bidirectional = after != bucket[SIDE];
    spec->num_buckets = (int)(2 * (after - before));
    if (spec->bidirectional)
        return before == 1 && spec->num_buckets >= 4;
    spec->num_buckets = (int)bucket[0] + 1;
    return before == 1 && spec->num_buckets >= 2;
}

static void conclude(struct posref_identity *id, const struct seen *all,
                     const struct posref_arena *arena)
{
    struct posref_spec spec = id->asked;
    const double *seen = all->bucket;
    if (seen[SIDE] == 0 && seen[SIDE + 1] == 1 && seen[SIDE - 1] != 1)
        posref_identity_finding(id, "keys after the query have the buckets of those before it: "
                                "the sign of the distance is the other one");
    else if (read_sides(&spec, seen) && fit_distance(id, &spec, all, arena))
        id->decided = posref_spec_complete(&spec, NULL) == POSREF_OK;
    if (!id->decided) {
        posref_identity_family(id, "num_buckets max_distance bidirectional",
                               "no buckets of T5 are these: distances -1, 0 and 1 have %.9g, %.9g "
                               "and %.9g", seen[SIDE - 1], seen[SIDE], seen[SIDE + 1]);
        return;
    }
    id->spec = spec;
    id->how[POSREF_FIELD_NUM_BUCKETS] = id->how[POSREF_FIELD_BIDIRECTIONAL] = POSREF_HOW_MEASURED;
    id->how[POSREF_FIELD_MAX_DISTANCE] = POSREF_HOW_FITTED;
}

enum posref_status posref_identify_buckets(struct posref_identity *id, struct posref_probe *probe,
                                           struct posref_error *err)
{
    struct posref_tensors got;
    struct seen *all = probe->arena->alloc(probe->arena->ctx, sizeof *all);
    if (!all)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    all->n = N;
    for (int k = 0; k < N; k++)
        all->k[k] = k;
    enum posref_status status = ask(&got, id, all, probe, err);
    if (status != POSREF_OK || probe->verdict != POSREF_VERDICT_PASS)
        return status;
    id->dtype = probe->dtype;
    memcpy(all->bucket, got.item[0].data, sizeof all->bucket);
    conclude(id, all, probe->arena);
    return POSREF_OK;
}
