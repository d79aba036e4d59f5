/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic recipes: what rope and sinusoidal tables come to when nothing is wrong but the
 * rounding, step by step as widely used float32 code has it. Functions of libm are taken as right:
 * the double result, rounded. */
#include "bend_impl.h"

#include <math.h>

#define TWO_PI 6.283185307179586

/* Two libraries' float32 sines differ in the last bit, and so do a fused and a plain product:
 * sqrt(2) 2 u from the sines, 3 u from products and sum. */
#define LAST_BITS (6 * 0x1p-24)

static float power(float base, float exponent)
{
    return (float)pow((double)base, (double)exponent);
}

bool posref_bend_has_recipes(const struct posref_spec *spec)
{
    if (spec->scheme == POSREF_SCHEME_TIMESTEP)
        return spec->scale == 1;
    if (spec->scheme == POSREF_SCHEME_SINUSOIDAL)
        return spec->min_timescale == 1 && spec->angle_unit == POSREF_ANGLE_UNIT_RADIAN &&
               !spec->given[POSREF_FIELD_AXES_LENGTHS];
    return spec->scheme == POSREF_SCHEME_ROPE && spec->scaling <= POSREF_SCALING_LLAMA3 &&
           spec->pairing != POSREF_PAIRING_MISMATCHED &&
           spec->axes_ladder != POSREF_AXES_LADDER_LOG_LINSPACE &&
           spec->angle_unit == POSREF_ANGLE_UNIT_RADIAN && !spec->given[POSREF_FIELD_AXES_NTK] &&
           !spec->given[POSREF_FIELD_TABLE_LAYOUT] && !spec->given[POSREF_FIELD_RANGE_RULE] &&
           !spec->given[POSREF_FIELD_XPOS_SCALE_BASE];
}

/* ---- frequencies ---- */

/* Ends of yarn's range, as everybody forms them: in double. */
static void yarn_range(double *low, double *high, const struct bend_rung *r)
{
    posref_judge_yarn_range(low, high, r->spec, r->width, r->spec->beta_fast, r->spec->beta_slow);
}

static float clamped(float x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static float yarn(float theta, const struct bend_rung *r)
{
    double low, high;
    yarn_range(&low, &high, r);
    const float ramp = clamped(((float)r->i - (float)low) / (float)(high - low));
    const float kept = 1 - ramp, divided = 1 / ((float)r->spec->factor * (1 / theta));
    return divided * (1 - kept) + theta * kept;
}

static float llama3(float theta, const struct posref_spec *spec)
{
    const float wavelength = (float)TWO_PI / theta, factor = (float)spec->factor;
    const float length = (float)spec->original_max_position_embeddings;
    const float low = (float)spec->low_freq_factor, high = (float)spec->high_freq_factor;
    if (wavelength < length / high)
        return theta;
    if (wavelength > length / low)
        return theta / factor;
    const float smooth = (length / wavelength - low) / (high - low);
    return (1 - smooth) * theta / factor + smooth * theta;
}

static float plain_theta(const struct bend_rung *r, enum posref_bend_kind recipe)
{
    const float base = (float)r->base, width = (float)r->width;
    const float exponent = (float)(2 * r->i) / width;
    if (recipe == POSREF_BEND_FLOAT32_POWER)
        return 1 / power(base, exponent);
    if (recipe == POSREF_BEND_FLOAT32_NEGATIVE)
        return power(base, -exponent);
    if (recipe == POSREF_BEND_FLOAT32_ROUNDED)
        return (float)r->plain;
    if (r->spec->scheme == POSREF_SCHEME_TIMESTEP) /* (-ln(base) i) / (d/2) */
        return (float)exp((double)((float)-log(r->base) * (float)r->i / (width / 2)));
    if (r->spec->scheme == POSREF_SCHEME_SINUSOIDAL) /* i (-ln(base) / (d/2)) */
        return (float)exp((double)((float)r->i * (float)(-log(r->base) / (r->width / 2))));
    return (float)exp((double)(-exponent * (float)log((double)base)));
}

double posref_bend_recipe_theta(const struct bend_rung *r, double theta,
                                enum posref_bend_kind recipe)
{
    const struct posref_spec *spec = r->spec;
    if (recipe == POSREF_BEND_DOUBLE)
        return theta;
    if (recipe == POSREF_BEND_FLOAT32_ROUNDED)
        return (double)(float)theta; /* the scaling in double, too */
    const float plain = plain_theta(r, recipe);
    if (spec->scheme != POSREF_SCHEME_ROPE)
        return (double)plain;
    switch (spec->scaling) {
    case POSREF_SCALING_LINEAR: return (double)(plain / (float)spec->factor);
    case POSREF_SCALING_YARN: return (double)yarn(plain, r);
    case POSREF_SCALING_LLAMA3: return (double)llama3(plain, spec);
    default: return (double)plain;
    }
}

/* llama3's divisors come from a file: formed in double, and rounded. */
static float divisor(const struct bend_rung *r)
{
    const struct posref_spec *spec = r->spec;
    const double turns = spec->original_max_position_embeddings * r->plain / TWO_PI;
    const double low = spec->low_freq_factor, high = spec->high_freq_factor;
    if (turns > high || turns < low)
        return turns > high ? 1 : (float)spec->factor;
    const double smooth = (turns - low) / (high - low);
    return (float)(1 / ((1 - smooth) / spec->factor + smooth));
}

void posref_bend_recipe_chain(struct bend_chain *out, const struct bend_rung *r)
{
    const struct posref_spec *spec = r->spec;
    const bool rope = spec->scheme == POSREF_SCHEME_ROPE;
    *out = (struct bend_chain){.step = power((float)r->base, (float)(-2 / r->width)),
                               .scale = 1, .divisor = 1, .share = 0, .times = r->i};
    if (!rope || spec->scaling == POSREF_SCALING_NONE || spec->scaling == POSREF_SCALING_NTK)
        return;
    if (spec->scaling == POSREF_SCALING_LLAMA3) {
        out->divisor = divisor(r);
        return;
    }
    out->scale = (float)(1 / spec->factor);
    if (spec->scaling != POSREF_SCALING_YARN)
        return;
    double low, high;
    yarn_range(&low, &high, r);
    const float span = (float)high - (float)low;
    out->share = 1 - clamped(((float)r->i - (float)low) / (span > 0.001f ? span : 0.001f));
}

/* ---- angles, cosines and sines ---- */

static float chained(const struct bend_chain *chain, float position)
{
    float angle = position;
    for (int k = 0; k < chain->times; k++)
        angle *= chain->step;
    angle /= chain->divisor;
    const float scaled = chain->scale * angle;
    return chain->share == 0 ? scaled : scaled * (1 - chain->share) + angle * chain->share;
}

/* The angle as the step that reduces it leaves it. */
static float reduced(const struct posref_bend *bend, float angle)
{
    const float turn = (float)TWO_PI;
    const double turns = rint((double)(angle / turn));
    if (posref_bend_has(bend, POSREF_BEND_SINE_ONE_STEP))
        return angle - turn * (float)turns;
    if (posref_bend_has(bend, POSREF_BEND_SINE_FUSED)) /* 48 bits: exact in double */
        return (float)((double)angle - (double)turn * turns);
    if (!posref_bend_has(bend, POSREF_BEND_SINE_HARDWARE))
        return angle;
    const float in_turns = angle * (float)(1 / TWO_PI);
    return (in_turns - (float)rint((double)in_turns)) * turn;
}

void posref_bend_recipe_turn(double *cosine, double *sine, double *error,
                             const struct bend_job *job, const struct bend_ladder *ladder, int i,
                             double position)
{
    const struct posref_bend *bend = job->bend;
    const bool wide = ladder->recipe == POSREF_BEND_DOUBLE;
    double angle = position * ladder->theta[i];
    if (!wide) {
        const bool chain = ladder->recipe == POSREF_BEND_FLOAT32_RECURRENCE;
        angle = (double)reduced(bend, chain ? chained(&ladder->chain[i], (float)position)
                                            : (float)position * (float)ladder->theta[i]);
    }
    *cosine = (double)((float)cos(angle) * (float)ladder->magnitude);
    *sine = (double)((float)sin(angle) * (float)ladder->magnitude);
    *error = LAST_BITS + (wide ? fabs(angle) * 0x1p-49 : 0); /* powers in double differ, too */
    if (posref_bend_has(bend, POSREF_BEND_SINE_HARDWARE))
        *error += 0x1p-20;
    /* The last bits of float32 rarely reach a rounding to 16 bits: the share of equal elements
     * has room for these. */
    for (int d = POSREF_F16; d <= POSREF_BF16; d++)
        if (posref_bend_has(bend, d == POSREF_F16 ? POSREF_BEND_TABLE_F16
                                                  : POSREF_BEND_TABLE_BF16)) {
            *cosine = posref_rounded(*cosine, (enum posref_dtype)d);
            *sine = posref_rounded(*sine, (enum posref_dtype)d);
        }
    if (posref_bend_has(bend, POSREF_BEND_PRODUCTS_NARROW))
        *error = 0;
}

double posref_bend_recipe_rotate(const struct bend_job *job, double u, double c, double v,
                                 double s)
{
    if (posref_bend_has(job->bend, POSREF_BEND_PRODUCTS_NARROW))
        return posref_rounded(posref_rounded(u * c, job->dtype) -
                              posref_rounded(v * s, job->dtype), job->dtype);
    if (job->dtype == POSREF_F64)
        return u * c - v * s;
    return (double)((float)(u * c) - (float)(v * s));
}
