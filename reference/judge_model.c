/* SPDX-License-Identifier: Apache-2.0 */
/* How large the error of an honest float32 frequency may be: docs/tolerance.md, "Frequencies".
 * Everything here is an estimate to about 1e-14, used for limits only, never for golden values. */
#include "axes.h"
#include "frequencies.h"
#include "judge_impl.h"
#include "layout.h"

#include <math.h>

#define TWO_PI 6.283185307179586

/* theta = exp(-x): its float32 relative error is at most 4 u from power, reciprocal, product and
 * position, and 3 u x from the exponent, which is formed in up to three roundings. */
static void plain(struct judge_frequency *f, double x, int i)
{
    f->theta = exp(-x);
    f->k = 4 + 3 * fabs(x);
    f->recurrence = 2.0 * i;
}

void posref_judge_yarn_range(double *lo, double *hi, const struct posref_spec *spec, double width,
                             double first, double last)
{
    const double per = width / (2 * log(spec->base));
    const double length = spec->original_max_position_embeddings / TWO_PI;
    *lo = per * log(length / first);
    *hi = per * log(length / last);
    if (spec->truncate) {
        *lo = floor(*lo);
        *hi = ceil(*hi);
    }
    if (spec->range_rule != POSREF_RANGE_UNCLAMPED) {
        *lo = fmax(*lo, 0);
        *hi = fmin(*hi, (spec->range_rule == POSREF_RANGE_HALF ? width / 2 : width) - 1);
    }
    if (spec->range_rule == POSREF_RANGE_AT_LEAST)
        *hi = fmax(*hi, *lo + 0.001);
    else if (*lo == *hi)
        *hi += 0.001;
}

/* A relative change of theta' for a change of the weight t of the scaled frequency. */
static double blend_slope(double t, double factor)
{
    return fabs(1 / factor - 1) / (t / factor + (1 - t));
}

static void yarn(struct judge_frequency *f, const struct posref_spec *spec, int i)
{
    double lo, hi;
    posref_judge_yarn_range(&lo, &hi, spec, spec->rotary_dim, spec->beta_fast, spec->beta_slow);
    /* Range ends formed in float32 err by about 6 u of the larger one. */
    double end_error = spec->truncate ? 0 : 6 * fmax(fabs(lo), fabs(hi));
    double t = fmin(fmax((i - lo) / (hi - lo), 0), 1);
    f->theta *= t / spec->factor + (1 - t);
    f->k += 2 + blend_slope(t, spec->factor) *
                    (t > 0 && t < 1 ? 3 + 2 * end_error / fabs(hi - lo) : 0);
}

/* llama3's bands, and those of the paper's NTK-by-parts. */
static void rotations(struct judge_frequency *f, const struct posref_spec *spec, double low,
                      double high)
{
    double rotations = spec->original_max_position_embeddings * f->theta / TWO_PI;
    double rotations_error = (f->k + 3) * rotations; /* in u */
    /* Equal factors make a step: a frequency this close to it may fall on either side. */
    if (high == low && fabs(rotations - low) < rotations_error * 0x1p-22) {
        f->k = HUGE_VAL;
        return;
    }
    f->k += 2;
    if (rotations > high)
        return;
    double t = rotations < low ? 1 : (high - rotations) / (high - low);
    f->theta *= t / spec->factor + (1 - t);
    if (t < 1)
        f->k += blend_slope(t, spec->factor) * (3 + rotations_error / (high - low));
}

/* What is counted in turns takes 2 pi or pi / 2, rounded, and a product. */
static void unit(struct judge_frequency *f, const struct posref_spec *spec)
{
    if (spec->angle_unit == POSREF_ANGLE_UNIT_RADIAN)
        return;
    f->theta *= spec->angle_unit == POSREF_ANGLE_UNIT_TURN ? TWO_PI : TWO_PI / 4;
    f->k += 2;
}

/* The ladder of base stretch^(r/(r-2)), r its width, where ln(stretch) is off by error u. */
static void stretched(struct judge_frequency *f, const struct posref_spec *spec, int width, int i,
                      double log_stretch, double error)
{
    const double share = 2.0 * i / width;
    double log_base = log(spec->base) + width / (width - 2.0) * log_stretch;
    plain(f, share * log_base, i);
    f->k += share * (2 + error + 2 * fabs(log_stretch));
    if (!(f->theta <= 1e6)) /* factor < 1 */
        f->k += 3 * fabs(share * log_base);
}

/* factor S/L - (factor - 1): three roundings of terms that may cancel. */
static void dynamic(struct judge_frequency *f, const struct posref_spec *spec, int i)
{
    const double times = posref_scaling_length(spec) / spec->original_max_position_embeddings;
    const double stretch = spec->factor * (times - 1) + 1;
    const double terms = spec->factor * times + fabs(spec->factor - 1);
    stretched(f, spec, spec->rotary_dim, i, log(stretch), 3 * terms / stretch);
}

static void dynamic_alpha(struct judge_frequency *f, const struct posref_spec *spec, int i)
{
    double whole = 1;
    while (whole * spec->original_max_position_embeddings < posref_scaling_length(spec))
        whole *= 2;
    stretched(f, spec, spec->rotary_dim, i, log(2 * whole - 1), 0);
}

/* theta / factor^e, e = (2 (i + 1) / r)^b: the power's exponent passes on e ln(factor) times the
 * error of e, that of a power whose own exponent is rounded. */
static void mixed(struct judge_frequency *f, const struct posref_spec *spec, int i, double b)
{
    const double m = (i + 1) / (spec->rotary_dim / 2.0), power = pow(m, b) * log(spec->factor);
    f->theta *= exp(-power);
    f->k += 3 + fabs(power) * (6 + 2 * b * (fabs(log(m)) + log(spec->rotary_dim / 2.0)));
}

static void longrope(struct judge_frequency *f, const struct posref_spec *spec, int i)
{
    const bool above = spec->seq_len > spec->original_max_position_embeddings;
    f->theta /= (above ? &spec->long_factor : &spec->short_factor)->item[i];
    f->k += 3; /* the divisor's rounding, the product with the power, one more for the reciprocal */
}

/* Frequency i of a ladder. */
static void rope(struct judge_frequency *out, const struct posref_spec *spec, int ladder, int i)
{
    const int width = posref_axes_width(spec, ladder);
    if (i >= posref_layout_pairs(spec)) {
        *out = (struct judge_frequency){.theta = 0};
        return;
    }
    if (spec->axes_ladder == POSREF_AXES_LADDER_LOG_LINSPACE)
        plain(out, i == 0 ? 0 : -i / (width / 2 - 1.0) * log(spec->base), i);
    else
        plain(out, 2.0 * i / width * log(spec->base), i);
    unit(out, spec);
    if (spec->given[POSREF_FIELD_AXES_NTK])
        stretched(out, spec, width, i, log(spec->axes_ntk.item[ladder]), 0);
    switch (spec->scaling) {
    case POSREF_SCALING_LINEAR:
        out->theta /= spec->factor;
        out->k += 1;
        break;
    case POSREF_SCALING_NTK: stretched(out, spec, width, i, log(spec->factor), 0); break;
    case POSREF_SCALING_YARN: yarn(out, spec, i); break;
    case POSREF_SCALING_LLAMA3:
        rotations(out, spec, spec->low_freq_factor, spec->high_freq_factor);
        break;
    case POSREF_SCALING_NTK_BY_PARTS:
        rotations(out, spec, spec->beta_slow, spec->beta_fast);
        break;
    case POSREF_SCALING_DYNAMIC: dynamic(out, spec, i); break;
    case POSREF_SCALING_DYNAMIC_ALPHA: dynamic_alpha(out, spec, i); break;
    case POSREF_SCALING_DYNAMIC_CONSTANT:
        stretched(out, spec, width, i, log(spec->factor * (spec->factor - 1) + 1), 8);
        break;
    case POSREF_SCALING_DYNAMIC_LINEAR:
        out->theta /= fmax(posref_scaling_length(spec) / spec->original_max_position_embeddings,
                           spec->factor);
        out->k += 2;
        break;
    case POSREF_SCALING_NTK_FIXED: mixed(out, spec, i, 1); break;
    case POSREF_SCALING_NTK_MIXED: mixed(out, spec, i, spec->mixed_b); break;
    case POSREF_SCALING_LONGROPE: longrope(out, spec, i); break;
    default: break;
    }
}

static void sinusoidal(struct judge_frequency *out, const struct posref_spec *spec, int i)
{
    const bool extra = spec->given[POSREF_FIELD_ODD_DIM] &&
                       spec->odd_dim == POSREF_ODD_DIM_EXTRA_SINE;
    const int dim = extra ? spec->dim : spec->dim - spec->dim % 2;
    const double e = spec->exponent == POSREF_EXPONENT_D ? 2.0 * i / dim : i / (dim / 2 - 1.0);
    plain(out, log(spec->base / spec->min_timescale) * e, i);
    if (spec->min_timescale != 1) { /* in the logarithm, and once more as a factor */
        out->theta *= spec->min_timescale;
        out->k += 2 + 2 * e;
    }
    unit(out, spec);
    if (spec->given[POSREF_FIELD_AXES_LENGTHS]) { /* a sum, a quotient, a product */
        out->theta /= spec->axes_lengths.item[0] + spec->length_eps;
        out->k += 3;
    }
}

static void timestep(struct judge_frequency *out, const struct posref_spec *spec, int i)
{
    plain(out, log(spec->max_period) * i / (spec->dim / 2 - spec->downscale_freq_shift), i);
    if (spec->scale != 1) {
        out->theta *= spec->scale;
        out->k += 1;
    }
}

void posref_judge_frequency_fill(struct judge_frequency *out, const struct posref_spec *spec, int i)
{
    out->axis = 0;
    out->first = i == 0;
    if (spec->scheme == POSREF_SCHEME_ROPE) {
        struct posref_axis_pair at;
        posref_axes_pair(&at, spec, i);
        rope(out, spec, at.ladder, at.index);
        out->axis = at.axis;
        out->first = at.index == 0;
        return;
    }
    if (spec->scheme == POSREF_SCHEME_TIMESTEP)
        timestep(out, spec, i);
    else if (spec->scheme == POSREF_SCHEME_SINUSOIDAL)
        sinusoidal(out, spec, i);
}

double posref_judge_magnitude(const struct posref_spec *spec)
{
    struct posref_frequencies of;
    struct posref_magnitude magnitude;
    double rounded = 1;
    if (!posref_judge_has_magnitude(spec))
        return 1;
    posref_frequencies_rope(&of, spec);
    return posref_frequencies_magnitude(&magnitude, &rounded, &of) == POSREF_OK ? rounded : 1;
}

bool posref_judge_has_magnitude(const struct posref_spec *spec)
{
    return (spec->scheme == POSREF_SCHEME_ROPE && posref_scaling_def(spec->scaling)->magnitude) ||
           (spec->scheme == POSREF_SCHEME_SINUSOIDAL && spec->table_scale != 1);
}
