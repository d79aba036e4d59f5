/* SPDX-License-Identifier: Apache-2.0 */
/* Frequencies, angles, cosines and sines of a bent rope or sinusoidal spec. */
#include "axes.h"
#include "bend_impl.h"
#include "xpos.h"

#include <math.h>

#define TWO_PI 6.283185307179586

/* How much of pair i keeps its frequency under yarn or llama3, from the frequency itself. */
static double kept_share(double theta, double plain, double factor)
{
    double least = plain / factor;
    return plain == least ? 1 : (theta - least) / (plain - least);
}

/* The scaling's way with a frequency that should have been r->plain; `theta` is what it makes of
 * that. */
static double rescale(double plain, double theta, const struct bend_rung *r)
{
    const struct posref_spec *spec = r->spec;
    if (spec->scheme != POSREF_SCHEME_ROPE || spec->scaling != POSREF_SCALING_LLAMA3)
        return plain * (theta / r->plain); /* by the pair's number, or not at all */
    const double turns = spec->original_max_position_embeddings * plain / TWO_PI;
    const double low = spec->low_freq_factor, high = spec->high_freq_factor;
    if (turns >= high || turns <= low)
        return turns >= high ? plain : plain / spec->factor;
    const double kept = (turns - low) / (high - low);
    return (1 - kept) * plain / spec->factor + kept * plain;
}

/* Yarn with the ends of its range exchanged, each still rounded and clamped as its own place has
 * it. */
static double reversed(const struct bend_rung *r)
{
    const struct posref_spec *spec = r->spec;
    double low, high;
    posref_judge_yarn_range(&low, &high, spec, r->width, spec->beta_slow, spec->beta_fast);
    const double t = fmin(fmax((r->i - low) / (high - low), 0), 1);
    return r->plain * (t / spec->factor + (1 - t));
}

static double bend_theta(double theta, const struct bend_rung *r,
                         const struct posref_bend_step *step)
{
    const struct posref_spec *spec = r->spec;
    const double share = kept_share(theta, r->plain, spec->factor);
    const double width = r->width;
    switch (step->kind) {
    case POSREF_BEND_THETA_BF16: return posref_rounded(theta, POSREF_BF16);
    case POSREF_BEND_THETA_F16: return posref_rounded(theta, POSREF_F16);
    case POSREF_BEND_THETA_INVERSE: return 1 / theta;
    case POSREF_BEND_THETA_ONE: return rescale(1, theta, r);
    case POSREF_BEND_THETA_HALF_STEP:
        return rescale(r->plain * pow(r->base, -1 / width), theta, r);
    case POSREF_BEND_THETA_SHORT:
        return width <= 2 ? theta : rescale(pow(r->plain, width / (width - 2)), theta, r);
    case POSREF_BEND_THETA_OVER_HEAD:
        return rescale(pow(r->plain, width / spec->rotary_dim), theta, r);
    case POSREF_BEND_THETA_BASE:
        return theta * pow(r->base / step->value, 2.0 * r->i / width);
    case POSREF_BEND_THETA_SCALE: return theta * step->value;
    case POSREF_BEND_THETA_ROOT: return r->i == 0 ? 0 : pow(2 * r->i / width, 1 / r->base);
    case POSREF_BEND_THETA_SQUARED: return theta * theta;
    case POSREF_BEND_YARN_FLAT: return r->plain;
    case POSREF_BEND_YARN_REVERSED: return reversed(r);
    case POSREF_BEND_YARN_PERIODS:
        return r->plain / (share + (1 - share) * spec->factor);
    case POSREF_BEND_YARN_NTK:
        return theta + share * r->plain *
                           (pow(spec->factor, -2.0 * r->i / fmax(width - 2, 1)) - 1);
    case POSREF_BEND_LLAMA3_PERIODS:
        return share > 1e-9 && share < 1 - 1e-9 /* the ends but for their rounding */
                   ? r->plain / ((1 - share) + share * spec->factor) : theta;
    default: return theta;
    }
}

/* The magnitude of cos and sin. The usual ones without the walk to a rounded double. */
static double magnitude_of(const struct posref_spec *spec)
{
    const double step = spec->factor > 1 ? 0.1 * log(spec->factor) : 0;
    if (spec->scheme != POSREF_SCHEME_ROPE)
        return spec->scheme == POSREF_SCHEME_SINUSOIDAL ? spec->table_scale : 1;
    if (!posref_judge_has_magnitude(spec))
        return 1;
    if (spec->scaling != POSREF_SCALING_YARN || spec->given[POSREF_FIELD_MSCALE_RULE] ||
        spec->given[POSREF_FIELD_ATTENTION_FACTOR_RULE])
        return posref_judge_magnitude(spec);
    if (spec->given[POSREF_FIELD_ATTENTION_FACTOR])
        return spec->attention_factor;
    const bool both = spec->given[POSREF_FIELD_MSCALE] && spec->mscale != 0 &&
                      spec->given[POSREF_FIELD_MSCALE_ALL_DIM] && spec->mscale_all_dim != 0;
    return both ? (1 + spec->mscale * step) / (1 + spec->mscale_all_dim * step) : 1 + step;
}

/* d of the exponent 2i/d. */
static double width_of(const struct posref_spec *spec, int n)
{
    if (spec->scheme == POSREF_SCHEME_ROPE)
        return spec->partial == POSREF_PARTIAL_PROPORTIONAL ? spec->dim : spec->rotary_dim;
    if (spec->scheme == POSREF_SCHEME_TIMESTEP)
        return fmax(2.0 * (spec->dim / 2) - 2 * spec->downscale_freq_shift, 1);
    return spec->exponent == POSREF_EXPONENT_D ? spec->dim - spec->dim % 2 : 2.0 * n - 2;
}

static double steps_of_magnitude(double magnitude, const struct posref_bend *bend)
{
    for (int k = 0; k < bend->n_steps; k++) {
        if (bend->step[k].kind == POSREF_BEND_MAGNITUDE)
            magnitude *= bend->step[k].value;
        if (bend->step[k].kind == POSREF_BEND_MAGNITUDE_TWICE)
            magnitude *= magnitude;
    }
    return magnitude;
}

enum posref_status posref_bend_ladder(struct bend_ladder *out, const struct bend_job *job, int n)
{
    const struct posref_spec *spec = job->bend->spec;
    const size_t size = (size_t)(out->n = n);
    double *memory = job->arena->alloc(job->arena->ctx, 3 * size * sizeof *memory + 1);
    out->chain = job->arena->alloc(job->arena->ctx, size * sizeof *out->chain + 1);
    out->ready = job->arena->alloc(job->arena->ctx, size * sizeof *out->ready + 1);
    if (!memory || !out->chain || !out->ready)
        return posref_fail(job->err, POSREF_NO_MEMORY, "", "out of memory");
    for (int i = 0; i < n; i++)
        out->ready[i] = false;
    out->recipe = posref_bend_recipe(job->bend);
    out->theta = memory;
    out->cosine_theta = memory + size;
    out->k = memory + 2 * size;
    out->base = spec->scheme == POSREF_SCHEME_TIMESTEP ? spec->max_period : spec->base;
    out->magnitude = steps_of_magnitude(magnitude_of(spec), job->bend);
    return POSREF_OK;
}

static void make_rung(struct bend_rung *rung, const struct bend_ladder *l,
                      const struct posref_spec *spec, int i)
{
    *rung = (struct bend_rung){.spec = spec, .i = i, .width = width_of(spec, l->n),
                               .base = l->base};
    if (spec->scheme == POSREF_SCHEME_ROPE && posref_axes_count(spec) > 1) {
        struct posref_axis_pair at;
        posref_axes_pair(&at, spec, i);
        rung->i = at.index;
        rung->width = posref_axes_width(spec, at.ladder);
    }
    if (spec->scheme == POSREF_SCHEME_ROPE && spec->scaling == POSREF_SCALING_NTK)
        rung->base *= pow(spec->factor, rung->width / fmax(rung->width - 2, 1));
    rung->plain = pow(rung->base, -2.0 * rung->i / rung->width);
}

static double bent_theta(struct bend_ladder *l, const struct posref_bend *bend, int i,
                         double theta)
{
    bool bends = l->recipe != POSREF_BEND_NOTHING;
    struct bend_rung rung;
    for (int k = 0; k < bend->n_steps; k++)
        bends = bends || posref_bend_is_theta(bend->step[k].kind);
    if (!bends)
        return l->cosine_theta[i] = theta;
    make_rung(&rung, l, bend->spec, i);
    if (l->recipe == POSREF_BEND_FLOAT32_RECURRENCE)
        posref_bend_recipe_chain(&l->chain[i], &rung);
    else if (l->recipe != POSREF_BEND_NOTHING)
        theta = posref_bend_recipe_theta(&rung, theta, l->recipe);
    for (int k = 0; k < bend->n_steps; k++)
        theta = bend_theta(theta, &rung, &bend->step[k]);
    l->cosine_theta[i] = theta;
    if (posref_bend_has(bend, POSREF_BEND_THETA_SQUARED))
        l->cosine_theta[i] *= pow(l->base, -2 / rung.width);
    if (posref_bend_has(bend, POSREF_BEND_COSINE_LATE))
        l->cosine_theta[i] *= pow(l->base / rung.spec->min_timescale, -1 / rung.width);
    return theta;
}

double posref_bend_theta(struct bend_ladder *l, const struct bend_job *job, int i)
{
    struct judge_frequency f;
    if (l->ready[i])
        return l->theta[i];
    posref_judge_frequency_fill(&f, job->bend->spec, i);
    l->theta[i] = bent_theta(l, job->bend, i, f.theta);
    l->k[i] = f.k + f.recurrence + 8;
    l->ready[i] = true;
    return l->theta[i];
}

static double rounded_angle(const struct posref_bend *bend, double angle)
{
    if (posref_bend_has(bend, POSREF_BEND_ANGLE_F16))
        angle = posref_rounded(angle, POSREF_F16);
    return posref_bend_has(bend, POSREF_BEND_ANGLE_BF16) ? posref_rounded(angle, POSREF_BF16)
                                                         : angle;
}

double posref_bend_magnitude(const struct bend_job *job, const struct bend_ladder *ladder, int i,
                             double position)
{
    const struct posref_spec *spec = job->bend->spec;
    double error;
    return ladder->magnitude * posref_xpos_estimate(&error, spec,
                                                    (enum posref_xpos_side)spec->xpos_side, i,
                                                    position);
}

void posref_bend_turn(double *cosine, double *sine, double *error, const struct bend_job *job,
                      struct bend_ladder *ladder, int i, double position)
{
    const struct posref_bend *bend = job->bend;
    const double theta = posref_bend_theta(ladder, job, i);
    if (ladder->recipe != POSREF_BEND_NOTHING) {
        posref_bend_recipe_turn(cosine, sine, error, job, ladder, i, position);
        return;
    }
    const double angle = rounded_angle(bend, position * theta);
    const double other = ladder->cosine_theta[i] == theta
                             ? angle : rounded_angle(bend, position * ladder->cosine_theta[i]);
    double c = cos(other), s = sin(angle);
    if (posref_bend_has(bend, POSREF_BEND_SINE_COSINE)) {
        const double kept = c;
        c = s;
        s = kept;
    }
    double scale_error;
    const double magnitude = posref_bend_magnitude(job, ladder, i, position);
    (void)posref_xpos_estimate(&scale_error, bend->spec, POSREF_XPOS_QUERY, i, position);
    c *= magnitude;
    s *= magnitude;
    const double least = ladder->k[i] * 0x1p-24 * fmax(fabs(angle), fabs(other)) +
                         (5 + scale_error) * 0x1p-24;
    /* Where a table or an angle is rounded, float32 may go over to the next value. */
    double jump = 0;
    const double exact = position * theta;
    if (angle != exact) {
        const double slack = fabs(exact) * ladder->k[i] * 0x1p-24;
        jump = fabs(rounded_angle(bend, exact + slack) - rounded_angle(bend, exact - slack));
    }
    for (int d = POSREF_F16; d <= POSREF_BF16; d++) {
        const enum posref_dtype dtype = (enum posref_dtype)d;
        const bool f16 = dtype == POSREF_F16;
        if (posref_bend_has(bend, f16 ? POSREF_BEND_TABLE_F16 : POSREF_BEND_TABLE_BF16)) {
            const double slack = least * fabs(magnitude);
            const double c_jump = posref_rounded(c + slack, dtype) -
                                  posref_rounded(c - slack, dtype);
            const double s_jump = posref_rounded(s + slack, dtype) -
                                  posref_rounded(s - slack, dtype);
            jump = fmax(jump, (c_jump + s_jump) / fabs(magnitude));
            c = posref_rounded(c, dtype);
            s = posref_rounded(s, dtype);
        }
    }
    *error = least + jump;
    *cosine = c;
    *sine = s;
}
