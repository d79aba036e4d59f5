/* SPDX-License-Identifier: Apache-2.0 */
/* Base and scaling from a curve of inverse frequencies. Each model gives an interval for each of
 * its numbers; the simplest numbers inside are taken, and the whole spec is then compared with the
 * curve once more by the reference itself. */
#include "identify.h"

#include <math.h>

#define TWO_PI 6.283185307179586

int posref_curve_follow(double *inv_freq, double *tol, const double *angle, int stride,
                        double offset, double u)
{
    double theta = fabs(angle[0] - offset), best = theta;
    const double sign = angle[0] - offset < 0 ? -1 : 1;
    double error = 2 * u * fmin(theta, 1); /* absolute: small sines are relatively exact */
    double relative = theta > 0 ? error / theta : 1;
    for (int k = 1; k < POSREF_IDENTIFY_STEPS; k++) {
        const double position = exp2(k), seen = sign * (angle[k * stride] - offset);
        double expected = best * position;
        double full = expected + remainder(seen - expected, TWO_PI);
        double slack = position * relative * best + 2 * u * fmin(expected, 1) +
                       0x1p-24 * expected * (8 + 4 * fabs(log(fmax(best, 1e-300))));
        if (slack > 1)
            break;
        if (fabs(full - expected) > 4 * slack)
            return 1 << k;
        double now = 2 * u * fmin(full, 1) / fmax(full, 1e-300);
        if (now < relative) {
            relative = now;
            best = full / position;
        }
    }
    *inv_freq = best;
    *tol = fmax(relative, 0x1p-53); /* a double holds no more */
    return 0;
}

double posref_curve_formed(double theta, int i, double u)
{
    return u * (8 + 4 * fabs(log(fmax(theta, 1e-300))) + 2.0 * i);
}

double posref_curve_residual(const struct posref_curve *curve, const struct posref_spec *spec)
{
    static const struct posref_tensors nothing = {.n = 0};
    struct posref_spec complete = *spec;
    struct posref_tensors out;
    if (posref_spec_complete(&complete, NULL) != POSREF_OK ||
        posref_eval(&out, &complete, POSREF_OP_FREQUENCIES, &nothing, curve->arena, NULL) !=
            POSREF_OK)
        return HUGE_VAL;
    const struct posref_tensor *inv_freq = posref_tensors_find(&out, "inv_freq");
    const struct posref_tensor *magnitude = posref_tensors_find(&out, "attention_factor");
    if (!inv_freq || posref_tensor_count(inv_freq) != curve->n)
        return HUGE_VAL;
    const double *want = inv_freq->data;
    /* An error of a ramp between frequencies that differ by factor counts factor times. */
    double spread = complete.given[POSREF_FIELD_FACTOR] ? fabs(log(complete.factor)) + 1 : 1;
    if (complete.scaling == POSREF_SCALING_YARN || complete.scaling == POSREF_SCALING_LLAMA3)
        spread += fmax(complete.factor, 1 / complete.factor);
    double worst = 0;
    for (int i = 0; i < curve->n; i++)
        worst = fmax(worst, fabs(curve->inv_freq[i] / want[i] - 1) / (curve->tol[i] * spread));
    if (magnitude)
        worst = fmax(worst, fabs(curve->magnitude / *(const double *)magnitude->data - 1) /
                                curve->magnitude_tol);
    return isnan(worst) ? HUGE_VAL : worst;
}

static void narrow(struct posref_interval *in, double lo, double hi)
{
    in->lo = fmax(in->lo, lo);
    in->hi = fmin(in->hi, hi);
}

/* base from frequencies 1.. given frequency 0: log theta_0 - log theta_i = log(base) i / n. */
static struct posref_interval base_of(const struct posref_curve *curve)
{
    struct posref_interval log_base = {-HUGE_VAL, HUGE_VAL};
    const double first = log(curve->inv_freq[0]), first_tol = first == 0 ? 0 : curve->tol[0];
    for (int i = 1; i < curve->n; i++) {
        double at = first - log(curve->inv_freq[i]), tol = curve->tol[i] + first_tol;
        narrow(&log_base, (at - tol) * curve->n / i, (at + tol) * curve->n / i);
    }
    return (struct posref_interval){exp(log_base.lo), exp(log_base.hi)};
}

/* As asked where that is inside, else the simplest. */
static double choose(const struct posref_identity *id, enum posref_field field, double asked,
                     struct posref_interval in)
{
    return id->asked.given[field] && posref_within(in, asked) ? asked : posref_simplest(in);
}

static void drop_scaling(struct posref_spec *spec)
{
    spec->scaling = POSREF_SCALING_NONE;
    for (int f = POSREF_FIELD_SCALING + 1; f < POSREF_N_FIELDS; f++)
        if (!posref_field_applies(spec, (enum posref_field)f))
            spec->given[f] = false;
}

/* theta_i = base^(-i/n), all divided by one factor or none. */
static bool fit_ladder(struct posref_identity *id, const struct posref_curve *curve,
                       struct posref_spec *spec)
{
    const bool scaled = fabs(curve->inv_freq[0] - 1) > curve->tol[0];
    struct posref_interval base = base_of(curve);
    drop_scaling(spec);
    if (curve->n > 1 && !(base.lo <= base.hi && base.lo > 1))
        return false;
    if (curve->n > 1) {
        spec->base = choose(id, POSREF_FIELD_BASE, id->asked.base, base);
        id->range[POSREF_FIELD_BASE] = base;
        id->how[POSREF_FIELD_BASE] = POSREF_HOW_FITTED;
    } else {
        spec->base = id->asked.base;
    }
    spec->given[POSREF_FIELD_BASE] = true;
    if (scaled) {
        const double at = 1 / curve->inv_freq[0];
        const struct posref_interval factor = {at * (1 - curve->tol[0]), at * (1 + curve->tol[0])};
        spec->scaling = POSREF_SCALING_LINEAR;
        spec->factor = choose(id, POSREF_FIELD_FACTOR, id->asked.factor, factor);
        spec->given[POSREF_FIELD_FACTOR] = true;
        id->range[POSREF_FIELD_FACTOR] = factor;
        id->how[POSREF_FIELD_FACTOR] = POSREF_HOW_FITTED;
    }
    return posref_curve_residual(curve, spec) <= 1;
}

/* The asked base and scaling on the measured width. */
static bool fit_asked(const struct posref_identity *id, const struct posref_curve *curve,
                      struct posref_spec *spec)
{
    const struct posref_spec *asked = &id->asked;
    struct posref_spec wanted = *asked;
    wanted.rotary_dim = spec->rotary_dim;
    wanted.partial = spec->partial;
    wanted.pairing = spec->pairing;
    wanted.direction = spec->direction;
    *spec = wanted;
    return posref_curve_residual(curve, spec) <= 1;
}

static int digits_of(double x)
{
    char text[POSREF_NUMBER_SIZE];
    return (int)posref_number_format(text, x);
}

/* A usual base and a round factor that ntk makes this base of. */
static void name_round_ntk(struct posref_identity *id, const struct posref_curve *curve)
{
    static const double bases[] = {10000, 500000, 1000000};
    const struct posref_interval in = id->range[POSREF_FIELD_BASE];
    const double r = 2 * curve->n, power = (r - 2) / r;
    if (id->spec.scaling != POSREF_SCALING_NONE || r <= 2 || digits_of(id->spec.base) <= 8)
        return;
    for (size_t k = 0; k < sizeof bases / sizeof *bases; k++) {
        const struct posref_interval factor = {pow(in.lo / bases[k], power),
                                               pow(in.hi / bases[k], power)};
        const double round = posref_simplest(factor);
        if (round > 1 && digits_of(round) <= 3)
            posref_identity_family(id, "scaling base factor",
                                   "scaling=ntk base=%.9g factor=%.9g has the same effect",
                                   bases[k], round);
    }
}

/* The base without scaling that has the same effect, or none. */
static void name_ntk(struct posref_identity *id, const struct posref_curve *curve)
{
    struct posref_spec plain = id->spec;
    const double r = 2 * curve->n;
    name_round_ntk(id, curve);
    if (id->spec.scaling != POSREF_SCALING_NTK)
        return;
    drop_scaling(&plain);
    plain.base = id->spec.base * pow(id->spec.factor, r / (r - 2));
    if (posref_curve_residual(curve, &plain) <= 1)
        posref_identity_family(id, "scaling base factor",
                               "scaling=ntk base=%.9g factor=%.9g has the effect of scaling=none "
                               "base=%.9g", id->spec.base, id->spec.factor, plain.base);
}

static void mark(struct posref_identity *id, enum posref_how how)
{
    for (int f = POSREF_FIELD_SCALING; f < POSREF_N_FIELDS; f++)
        if (id->how[f] == POSREF_HOW_NONE &&
            posref_field_applies(&id->spec, (enum posref_field)f))
            id->how[f] = how;
    if (id->how[POSREF_FIELD_BASE] == POSREF_HOW_NONE)
        id->how[POSREF_FIELD_BASE] = how;
}

bool posref_curve_fit(struct posref_identity *id, const struct posref_curve *curve)
{
    struct posref_spec spec = id->spec;
    const struct posref_interval unknown = {0, 0};
    bool fits = fit_asked(id, curve, &spec);
    const bool as_asked = fits;
    if (!fits) {
        spec = id->spec;
        fits = fit_ladder(id, curve, &spec);
    }
    if (!fits) {
        for (int f = 0; f < POSREF_N_FIELDS; f++)
            if (id->how[f] == POSREF_HOW_FITTED) {
                id->how[f] = POSREF_HOW_NONE;
                id->range[f] = unknown;
            }
        spec = id->spec;
        fits = posref_curve_fit_list(id, curve, &spec);
        if (!fits) {
            spec = id->spec;
            fits = posref_curve_fit_bands(id, curve, &spec);
        }
    }
    if (!fits)
        return false;
    id->residual = posref_curve_residual(curve, &spec);
    id->spec = spec;
    if (posref_spec_complete(&id->spec, NULL) != POSREF_OK)
        return false;
    mark(id, POSREF_HOW_FITTED);
    if (curve->n == 1)
        posref_identity_family(id, "base", "one pair turns by theta_0 whatever the base");
    name_ntk(id, curve);
    if (as_asked)
        posref_curve_name_bands(id, curve);
    return true;
}
