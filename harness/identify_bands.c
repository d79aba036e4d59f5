/* SPDX-License-Identifier: Apache-2.0 */
/* Scalings that keep the high frequencies, divide the low ones and go over between: yarn's ramp is
 * straight over the number of the pair, llama3's over the frequency. */
#include "identify.h"

#include <math.h>

#define TWO_PI 6.283185307179586

/* The curve against a ladder of some base: share[i] = how much of pair i is divided by factor. */
struct bands {
    const struct posref_curve *curve;
    double base, factor;
    int n_kept;     /* leading pairs that keep their frequency */
    int first_low;  /* the first pair from which on all are divided; n: none */
    double share[POSREF_IDENTIFY_MAX_DIM / 2];
};

static double plain(const struct bands *b, int i)
{
    return pow(b->base, -(double)i / b->curve->n);
}

static bool measure(struct bands *b)
{
    const struct posref_curve *curve = b->curve;
    const double least = 1 / b->factor;
    if (!(b->base > 1) || !(b->factor > 0) || fabs(least - 1) < 1e-6)
        return false;
    b->n_kept = 0;
    b->first_low = curve->n;
    for (int i = 0; i < curve->n; i++) {
        double ratio = curve->inv_freq[i] / plain(b, i), tol = 4 * curve->tol[i];
        b->share[i] = (1 - ratio) / (1 - least);
        if (i == b->n_kept && fabs(ratio - 1) <= tol)
            b->n_kept++;
        if (fabs(ratio / least - 1) > tol)
            b->first_low = i + 1;
    }
    return b->n_kept < curve->n;
}

static void set(struct posref_identity *id, struct posref_spec *spec, enum posref_field field,
                double *member, double value)
{
    *member = value;
    spec->given[field] = true;
    id->how[field] = POSREF_HOW_FITTED;
}

static void start(struct posref_identity *id, struct posref_spec *spec, const struct bands *b,
                  int scaling)
{
    for (int f = POSREF_FIELD_SCALING + 1; f < POSREF_N_FIELDS; f++)
        spec->given[f] = false;
    spec->scaling = scaling;
    spec->given[POSREF_FIELD_SCALING] = true;
    set(id, spec, POSREF_FIELD_BASE, &spec->base, b->base);
    set(id, spec, POSREF_FIELD_FACTOR, &spec->factor, b->factor);
}

/* ---- yarn ---- */

/* Original length of which pair `at` of r turns `beta` times. */
static double length_at(const struct bands *b, double at, double beta)
{
    return TWO_PI * beta * pow(b->base, at / b->curve->n);
}

/* Ends of the ramp; false: fewer pairs on it than tell them. */
static bool ramp(const struct bands *b, double *low, double *high)
{
    int first = b->n_kept, last = b->first_low - 1;
    *low = b->n_kept - 1;
    *high = b->first_low;
    if (last < first || b->n_kept == 0)
        return b->n_kept > 0;
    if (last == first) {
        *high = *low + 1 / b->share[first];
        return true;
    }
    double width = (last - first) / (b->share[last] - b->share[first]);
    *low = first - b->share[first] * width;
    *high = *low + width;
    return width > 0;
}

/* Lengths for which the ends, rounded outwards, are these, with the usual betas. */
static struct posref_interval lengths(const struct bands *b, double low, double high,
                                      double beta_fast, double beta_slow)
{
    const int r = 2 * b->curve->n;
    struct posref_interval in = {low <= 0 ? 1 : length_at(b, low, beta_fast),
                                 length_at(b, low + 1, beta_fast) * (1 - 1e-12)};
    in.lo = fmax(in.lo, length_at(b, high - 1, beta_slow) * (1 + 1e-12));
    if (high < r - 1)
        in.hi = fmin(in.hi, length_at(b, high, beta_slow));
    return in;
}

static void name_lengths(struct posref_identity *id, double low, double high,
                         struct posref_interval in)
{
    if (ceil(in.lo) < floor(in.hi))
        posref_identity_family(id, "original_max_position_embeddings beta_fast beta_slow",
                               "the range of pairs is %.9g to %.9g: with these betas any length "
                               "from %.0f to %.0f", low, high, ceil(in.lo), floor(in.hi));
    else
        posref_identity_family(id, "original_max_position_embeddings beta_fast beta_slow",
                               "all three times any one number; the range of pairs is %.9g to "
                               "%.9g", low, high);
}

static void set_magnitude(struct posref_identity *id, struct posref_spec *spec,
                          const struct posref_curve *curve)
{
    const double usual = spec->factor > 1 ? 1 + 0.1 * log(spec->factor) : 1;
    const double at = curve->magnitude, tol = curve->magnitude_tol;
    if (fabs(at / usual - 1) <= tol)
        return;
    const struct posref_interval in = {at * (1 - tol), at * (1 + tol)};
    posref_identity_family(id, "attention_factor mscale mscale_all_dim",
                           "mscale and mscale_all_dim with this ratio have the effect of "
                           "attention_factor=%.9g", at);
    /* The pairs that released models have; their ratio is exact where a decimal is not. */
    static const double known[][2] = {{1, 0.707}, {0.707, 1}};
    for (size_t k = 0; k < 2; k++) {
        const double ratio = (1 + known[k][0] * (usual - 1)) / (1 + known[k][1] * (usual - 1));
        if (!posref_within(in, ratio))
            continue;
        set(id, spec, POSREF_FIELD_MSCALE, &spec->mscale, known[k][0]);
        set(id, spec, POSREF_FIELD_MSCALE_ALL_DIM, &spec->mscale_all_dim, known[k][1]);
        return;
    }
    set(id, spec, POSREF_FIELD_ATTENTION_FACTOR, &spec->attention_factor, posref_simplest(in));
    id->range[POSREF_FIELD_ATTENTION_FACTOR] = in;
}

/* any_betas: with other betas than the asked or the usual ones, where these do not fit. */
static bool fit_yarn(struct posref_identity *id, const struct bands *b, struct posref_spec *spec,
                     bool any_betas)
{
    double low, high;
    if (!ramp(b, &low, &high))
        return false;
    start(id, spec, b, POSREF_SCALING_YARN);
    set_magnitude(id, spec, b->curve);
    const bool whole = fabs(low - round(low)) < 1e-3 && fabs(high - round(high)) < 1e-3;
    const struct posref_spec *asked = &id->asked;
    const bool told = asked->given[POSREF_FIELD_BETA_FAST];
    double fast = told ? asked->beta_fast : 32, slow = told ? asked->beta_slow : 1;
    spec->truncate = whole;
    spec->given[POSREF_FIELD_TRUNCATE] = true;
    struct posref_interval in;
    if (whole) {
        low = round(low);
        high = round(high);
        in = lengths(b, low, high, fast, slow);
    } else {
        double one = length_at(b, low, fast), other = length_at(b, high, slow);
        in = (struct posref_interval){fmin(one, other) * (1 - 1e-4), fmax(one, other) * (1 + 1e-4)};
        if (in.hi > in.lo * 1.001)
            in.hi = in.lo = 0; /* other betas */
    }
    double length = asked->original_max_position_embeddings;
    if (!(in.lo <= in.hi) || in.hi <= 0) {
        if (!any_betas)
            return false;
        /* Any length goes, and the betas follow. */
        length = asked->given[POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS] ? length : 4096;
        const double inside = whole ? 0.5 : 0;
        fast = length / (TWO_PI * pow(b->base, (low + inside) / b->curve->n));
        slow = length / (TWO_PI * pow(b->base, (high - inside) / b->curve->n));
        posref_identity_family(id, "original_max_position_embeddings beta_fast beta_slow",
                               "lengths and betas whose range of pairs is %.9g to %.9g", low, high);
    } else {
        if (!asked->given[POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS] ||
            !posref_within(in, length))
            length = posref_simplest_length(in);
        id->range[POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS] = in;
        name_lengths(id, low, high, in);
    }
    set(id, spec, POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS,
        &spec->original_max_position_embeddings, length);
    set(id, spec, POSREF_FIELD_BETA_FAST, &spec->beta_fast, fast);
    set(id, spec, POSREF_FIELD_BETA_SLOW, &spec->beta_slow, slow);
    return posref_curve_residual(b->curve, spec) <= 1;
}

/* ---- llama3 ---- */

static bool try_llama3(const struct bands *b, struct posref_spec *spec, double length, double low,
                       double high)
{
    spec->original_max_position_embeddings = length;
    spec->low_freq_factor = low;
    spec->high_freq_factor = high;
    return posref_curve_residual(b->curve, spec) <= 1;
}

static bool fit_llama3(struct posref_identity *id, const struct bands *b, struct posref_spec *spec)
{
    const struct posref_spec *asked = &id->asked;
    start(id, spec, b, POSREF_SCALING_LLAMA3);
    set(id, spec, POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS,
        &spec->original_max_position_embeddings, 8192);
    set(id, spec, POSREF_FIELD_LOW_FREQ_FACTOR, &spec->low_freq_factor, 1);
    set(id, spec, POSREF_FIELD_HIGH_FREQ_FACTOR, &spec->high_freq_factor, 4);
    const char *keys = "original_max_position_embeddings low_freq_factor high_freq_factor";
    const int first = b->n_kept, last = b->first_low - 1;
    const bool enough = last > first;
    if (asked->given[POSREF_FIELD_LOW_FREQ_FACTOR] &&
        try_llama3(b, spec, asked->original_max_position_embeddings, asked->low_freq_factor,
                   asked->high_freq_factor)) {
        posref_identity_family(id, keys, "all three times any one number; %d pairs in between",
                               last - first + 1);
        return true;
    }
    if (!enough && try_llama3(b, spec, 8192, 1, 4)) {
        posref_identity_family(id, keys, "only %d pairs lie between the bands, too few to tell the "
                               "factors from the length: the usual ones fit", last - first + 1);
        return true;
    }
    if (!enough || first == 0)
        return false;
    /* The kept share w = (L theta / 2 pi - low) / (high - low) is straight over theta. */
    double w1 = 1 - b->share[first], w2 = 1 - b->share[last];
    double t1 = plain(b, first), t2 = plain(b, last), slope = (w1 - w2) / (t1 - t2);
    double at_zero = w1 - slope * t1, ratio = 1 - 1 / at_zero; /* high / low */
    if (!(at_zero < 0) || !(slope > 0))
        return false;
    const struct posref_interval high = {ratio * (1 - 1e-4), ratio * (1 + 1e-4)};
    double exact = slope * TWO_PI * (ratio - 1), snapped = posref_simplest(high);
    const struct posref_interval length = {exact * (1 - 1e-4), exact * (1 + 1e-4)};
    posref_identity_family(id, keys, "all three times any one number; low_freq_factor is taken as "
                           "1");
    return try_llama3(b, spec, posref_simplest_length(length), 1, snapped) ||
           try_llama3(b, spec, exact, 1, ratio);
}

/* ---- candidates of base and factor ---- */

static struct posref_interval around(double x, double relative)
{
    return (struct posref_interval){x * (1 - relative), x * (1 + relative)};
}

/* From pairs i and i + 1 of one band. */
static double base_between(const struct posref_curve *curve, int i)
{
    const double tol = (curve->tol[i] + curve->tol[i + 1]) * curve->n;
    double base = pow(curve->inv_freq[i] / curve->inv_freq[i + 1], curve->n);
    return base > 1 && base < 1e15 ? posref_simplest(around(base, tol)) : 0;
}

static double base_at(const struct posref_curve *curve, int i)
{
    double base = pow(curve->inv_freq[i], -(double)curve->n / i);
    return base > 1 && base < 1e15
               ? posref_simplest(around(base, curve->tol[i] * curve->n / i)) : 0;
}

enum model { YARN, LLAMA3, YARN_ANY_BETAS, N_MODELS };

static bool try_model(struct posref_identity *id, const struct bands *b, struct posref_spec *spec,
                      enum model model)
{
    return model == LLAMA3 ? fit_llama3(id, b, spec)
                           : fit_yarn(id, b, spec, model == YARN_ANY_BETAS);
}

static bool try_bands(struct posref_identity *id, struct bands *b, struct posref_spec *spec)
{
    const struct posref_spec before = *spec;
    const struct posref_identity kept = *id;
    if (!measure(b))
        return false;
    for (int model = 0; model < N_MODELS; model++) {
        if (try_model(id, b, spec, (enum model)model)) {
            if (model == LLAMA3 && b->first_low - b->n_kept < 2)
                posref_identity_family(id, "scaling",
                                       "so few pairs lie between the bands that yarn with some "
                                       "betas has the same effect");
            return true;
        }
        *spec = before;
        *id = kept;
    }
    return false;
}

bool posref_curve_fit_bands(struct posref_identity *id, const struct posref_curve *curve,
                            struct posref_spec *spec)
{
    const int n = curve->n;
    struct bands *b = curve->arena->alloc(curve->arena->ctx, sizeof *b);
    if (n < 3 || !b)
        return false;
    b->curve = curve;
    /* The base shows in the kept pairs or in the divided ones; the more pairs, the better. */
    double bases[6] = {id->asked.base, 0, 0, 0, 10000, 500000};
    bases[1] = base_at(curve, 1);
    for (int i = 2; i < n && fabs(log(base_at(curve, i) / bases[1])) <
                                 2 * (curve->tol[1] + curve->tol[i]) * n; i++)
        bases[1] = base_at(curve, i);
    bases[2] = base_between(curve, n - 2);
    bases[3] = base_between(curve, 0);
    for (size_t k = 0; k < sizeof bases / sizeof *bases; k++) {
        if (!(bases[k] > 1))
            continue;
        const double last = pow(bases[k], -(n - 1.0) / n) / curve->inv_freq[n - 1];
        const double factors[] = {posref_simplest(around(last, 2 * curve->tol[n - 1])),
                                  exp(10 * (curve->magnitude - 1)), id->asked.factor};
        for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
            b->base = bases[k];
            b->factor = f == 1 ? posref_simplest(around(factors[f], 1e-4)) : factors[f];
            if (b->factor > 0 && b->factor < 1e6 && try_bands(id, b, spec))
                return true;
        }
    }
    return false;
}

void posref_curve_name_bands(struct posref_identity *id, const struct posref_curve *curve)
{
    const struct posref_spec *spec = &id->spec;
    const bool yarn = spec->scaling == POSREF_SCALING_YARN;
    struct bands *b = curve->arena->alloc(curve->arena->ctx, sizeof *b);
    double low, high;
    if (!b || (!yarn && spec->scaling != POSREF_SCALING_LLAMA3))
        return;
    b->curve = curve;
    b->base = spec->base;
    b->factor = spec->factor;
    if (!measure(b))
        return;
    if (!yarn) {
        posref_identity_family(id, "original_max_position_embeddings low_freq_factor "
                               "high_freq_factor", "all three times any one number; %d pairs lie "
                               "in between", b->first_low - b->n_kept);
        return;
    }
    if (!ramp(b, &low, &high))
        return;
    struct posref_interval in = {1, 1};
    if (spec->truncate) {
        low = round(low);
        high = round(high);
        in = lengths(b, low, high, spec->beta_fast, spec->beta_slow);
    }
    name_lengths(id, low, high, in);
}
