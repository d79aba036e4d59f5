/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of faults from an output: by how much pairs are turned and stretched. */
#include "explain_impl.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    const double *first = a, *second = b;
    return *first < *second ? -1 : *first > *second;
}

static bool median(double *out, struct explain_sample *s)
{
    if (s->n == 0)
        return false;
    qsort(s->value, (size_t)s->n, sizeof *s->value, by_value);
    *out = s->value[s->n / 2];
    return isfinite(*out);
}

static double element(const struct posref_tensors *set, const struct posref_bent_pair *p, int k)
{
    return ((const double *)set->item[p->tensor[k]].data)[p->element[k]];
}

/* How much further a pair is turned than expected; false: it has no length. */
static bool turned(double *angle, double *stretch, const struct explain_sample *s,
                   const struct posref_bent_pair *p)
{
    const double w0 = element(&s->bent.outputs, p, 0), w1 = element(&s->bent.outputs, p, 1);
    const double g0 = element(&s->actual, p, 0), g1 = element(&s->actual, p, 1);
    const double norm = hypot(w0, w1);
    *angle = atan2(w0 * g1 - w1 * g0, w0 * g0 + w1 * g1) * (s->reversed ? -1 : 1);
    *stretch = hypot(g0, g1) / norm;
    return norm > 0 && isfinite(*stretch) && *stretch > 0;
}

/* Biases and slopes have no pairs: every element may have been multiplied. */
static bool ratios(double *out, struct explain_sample *s)
{
    const double *w = s->bent.outputs.item[0].data, *g = s->actual.item[0].data;
    const int64_t n = posref_tensor_count(&s->bent.outputs.item[0]);
    for (int64_t k = 0; k < n && s->n < 4096; k++)
        if (w[k] != 0)
            s->value[s->n++] = g[k] / w[k];
    return median(out, s);
}

static bool stretch_of(double *out, struct explain_sample *s)
{
    if (s->bent.n_pairs == 0)
        return ratios(out, s);
    for (int64_t k = 0; k < s->bent.n_pairs; k++) {
        double angle, stretch;
        if (turned(&angle, &stretch, s, &s->bent.pair[k]))
            s->value[s->n++] = stretch;
    }
    return median(out, s);
}

/* From the slowest pair: it turns least, and so tells the largest offsets apart. */
static bool offset_of(double *out, struct explain_sample *s)
{
    for (int64_t k = 0; k < s->bent.n_pairs; k++) {
        const struct posref_bent_pair *p = &s->bent.pair[k];
        double angle, stretch;
        if (p->number == s->n_frequencies - 1 && fabs(p->position) < 5000 && p->theta != 0 &&
            turned(&angle, &stretch, s, p))
            s->value[s->n++] = angle / p->theta;
    }
    if (!median(out, s))
        return false;
    *out = round(2 * *out) / 2; /* halves: the centres of cells */
    return *out != 0 && fabs(*out) <= 65536;
}

/* By how much frequencies are multiplied, from how far a pair is turned at two positions: an offset
 * of the positions makes no difference to that. */
static bool slope_of(double *out, struct explain_sample *s)
{
    const struct posref_bent_pair *from = NULL;
    double start = 0, angle, stretch;
    for (int64_t k = 0; k < s->bent.n_pairs; k++) {
        const struct posref_bent_pair *p = &s->bent.pair[k];
        if (p->number != s->n_frequencies - 1 || p->theta == 0 || fabs(p->position) > 5000 ||
            !turned(&angle, &stretch, s, p))
            continue;
        if (from && fabs(p->position - from->position) >= 1)
            s->value[s->n++] = 1 + (angle - start) / (p->theta * (p->position - from->position));
        from = p;
        start = angle;
    }
    return median(out, s) && *out > 0;
}

/* The same where they turn a little. */
static bool scale_of(double *out, struct explain_sample *s)
{
    for (int64_t k = 0; k < s->bent.n_pairs; k++) {
        const struct posref_bent_pair *p = &s->bent.pair[k];
        const double expected = p->position * p->theta;
        double angle, stretch;
        if (fabs(expected) > 1e-3 && fabs(expected) < 0.2 && turned(&angle, &stretch, s, p))
            s->value[s->n++] = 1 + angle / expected;
    }
    return median(out, s) && *out > 0;
}

/* What the change of log theta_i says about the base; i > 0. */
static void add_base(struct explain_sample *s, const struct posref_spec *spec, double change,
                     int i, int n)
{
    if (isfinite(change) && s->n < 4096)
        s->value[s->n++] = spec->base * exp(-change * n / i);
}

/* Bands keep the ladder of the first few pairs only. */
static int last_of_ladder(const struct posref_spec *spec, int n)
{
    const bool banded = spec->scheme == POSREF_SCHEME_ROPE &&
                        spec->scaling != POSREF_SCALING_NONE &&
                        spec->scaling != POSREF_SCALING_LINEAR &&
                        spec->scaling != POSREF_SCALING_NTK;
    return banded ? 2 : n;
}

static bool base_of_frequencies(double *out, struct explain_sample *s,
                                const struct posref_spec *spec)
{
    const struct posref_tensor *want = &s->bent.outputs.item[0];
    const double *w = want->data, *g = s->actual.item[0].data;
    const int n = (int)posref_tensor_count(want), last = last_of_ladder(spec, n);
    for (int i = 1; i < n && i <= last; i++)
        if (g[i] > 0)
            add_base(s, spec, log(g[i] / w[i]), i, n);
    return median(out, s) && *out > 1 && *out < 1e12;
}

static bool base_of(double *out, struct explain_sample *s, const struct posref_spec *spec)
{
    const int last = last_of_ladder(spec, s->n_frequencies);
    if (s->bent.n_pairs == 0)
        return spec->scheme == POSREF_SCHEME_ROPE && base_of_frequencies(out, s, spec);
    for (int64_t k = 0; k < s->bent.n_pairs; k++) {
        const struct posref_bent_pair *p = &s->bent.pair[k];
        const double expected = p->position * p->theta;
        double angle, stretch;
        if (p->number == 0 || p->number > last || fabs(expected) < 1e-4 || fabs(expected) > 1.5 ||
            !turned(&angle, &stretch, s, p) || angle / expected <= -1)
            continue;
        add_base(s, spec, log1p(angle / expected), p->number, s->n_frequencies);
    }
    return median(out, s) && *out > 1 && *out < 1e12;
}

/* The angle left over at a position is that of the whole way there: beyond a turn as well, as long
 * as a base this near leaves less than half a radian. */
bool posref_explain_refine_base(double *value, struct explain_sample *s, double near)
{
    const double farthest = 0.5 / near;
    const int last = last_of_ladder(s->bend.spec, s->n_frequencies);
    double refined;
    s->n = 0;
    for (int64_t k = 0; k < s->bent.n_pairs; k++) {
        const struct posref_bent_pair *p = &s->bent.pair[k];
        const double expected = fabs(p->position * p->theta);
        double angle, stretch;
        if (p->number > 0 && p->number <= last && expected > farthest / 8 &&
            expected < farthest && turned(&angle, &stretch, s, p))
            add_base(s, s->bend.spec, log1p(angle / (p->position * p->theta)), p->number,
                     s->n_frequencies);
    }
    if (!median(&refined, s) || !(fabs(refined / *value - 1) < near))
        return false;
    *value = refined;
    return true;
}

bool posref_explain_sample(struct explain_sample *out, const struct posref_claim *base,
                           const struct explain_failure *f, const struct posref_arena *scratch)
{
    struct posref_tensors in = *f->inputs;
    out->bend = (struct posref_bend){.spec = f->spec};
    if (base->fault[0] && !posref_claim_bend(&out->bend, &out->changed, base, f->spec, f->op))
        return false;
    out->bend.wants_pairs = true;
    out->actual = f->actual;
    posref_claim_twist(&in, base, &out->bend, f->op, scratch);
    posref_claim_untwist(&out->actual, base, &out->bend, f->op, scratch);
    if (posref_bend_eval(&out->bent, &out->bend, f->op, &in, f->dtype, scratch, NULL) != POSREF_OK)
        return false;
    out->reversed = false;
    /* In 8 bits a factor next to 1 cannot be told from roundings that lean to one side. */
    out->least_stretch = posref_dtype_is_float8(f->dtype) ? 1.5 * posref_unit(f->dtype) : 1e-5;
    out->n_frequencies = 0;
    for (int k = 0; k < out->bend.n_steps; k++)
        out->reversed = out->reversed || out->bend.step[k].kind == POSREF_BEND_SINE_COSINE;
    for (int64_t k = 0; k < out->bent.n_pairs; k++)
        if (out->bent.pair[k].number >= out->n_frequencies)
            out->n_frequencies = out->bent.pair[k].number + 1;
    const size_t room = (size_t)(out->bent.n_pairs > 4096 ? out->bent.n_pairs : 4096);
    out->value = scratch->alloc(scratch->ctx, room * sizeof *out->value);
    return out->value && out->bent.outputs.n == f->actual.n &&
           posref_tensor_count(&out->bent.outputs.item[0]) ==
               posref_tensor_count(&f->actual.item[0]);
}

bool posref_explain_estimate(double *value, struct explain_sample *s,
                             const struct posref_fault *fault, bool sloping)
{
    s->n = 0;
    if (fault->field == POSREF_FIELD_BASE)
        return base_of(value, s, s->bend.spec);
    switch (fault->bend[0]) {
    case POSREF_BEND_MAGNITUDE: return stretch_of(value, s) && fabs(*value - 1) > s->least_stretch;
    case POSREF_BEND_POSITION_OFFSET: return offset_of(value, s);
    case POSREF_BEND_THETA_SCALE:
        return (sloping ? slope_of(value, s) : scale_of(value, s)) && fabs(*value - 1) > 1e-6;
    default: return false;
    }
}
