/* SPDX-License-Identifier: Apache-2.0 */
/* What an implementation really computes, measured on its outputs and told as a spec. Nothing that
 * it is asked for is believed: rope's pairs, channels, direction and magnitude come from basis
 * vectors at a few positions, the curve of inverse frequencies from angles that are followed from
 * position to position, and base and scaling are fitted to the curve. Private to harness/. */
#ifndef POSREF_IDENTIFY_H
#define POSREF_IDENTIFY_H

#include "probe.h"
#include "reference/judge.h"

#define POSREF_IDENTIFY_MAX_DIM 1024 /* basis vectors are handed over as one matrix */
#define POSREF_IDENTIFY_FLOATS 4
#define POSREF_IDENTIFY_STEPS 16 /* positions 1, 2, 4, ... 2^15, along which angles are followed */

/* How a key of the spec was found. ASSUMED: as asked, and not contradicted. */
enum posref_how { POSREF_HOW_NONE, POSREF_HOW_MEASURED, POSREF_HOW_FITTED, POSREF_HOW_ASSUMED };

struct posref_interval {
    double lo, hi;
};

/* Keys whose values the measurement cannot tell apart, and the values that have the same effect. */
struct posref_family {
    char keys[120]; /* separated by spaces */
    char text[240];
    bool handed; /* no choice, but what the plugin is handed and does not compute */
};

/* Accuracy of the identified spec in one dtype. */
struct posref_class {
    bool supported;
    enum posref_verdict verdict;
    struct posref_judgement judgement; /* when the verdict is PASS; no pointers into it are kept */
    double valid_to; /* the largest position up to which all probed ones pass */
};

struct posref_identity {
    struct posref_spec asked, spec; /* completed */
    bool decided;                   /* the spec has the effect that was measured */
    enum posref_op op;              /* what was looked at */
    const struct posref_layout *form; /* of rotations; NULL: plain */
    enum posref_dtype dtype;
    enum posref_how how[POSREF_N_FIELDS];
    struct posref_interval range[POSREF_N_FIELDS]; /* of fitted numbers */
    double residual; /* of the curve: largest deviation in units of its error */
    struct posref_family family[16];
    int n_families;
    char finding[16][200]; /* what no spec says */
    int n_findings;
    /* Evidence. */
    int n_pairs;
    const double *inv_freq, *inv_freq_error; /* [n_pairs], error relative; NULL: no curve */
    const int (*channel)[2];                 /* [n_pairs]; NULL: not measured */
    double magnitude;
    struct posref_class class[POSREF_IDENTIFY_FLOATS];
    char models[400]; /* presets with this effect, separated by spaces */
    bool more_models; /* than there is room for */
    char also[120]; /* other schemes that are accepted, when none was asked for */
};

/* Adds a family or a finding; one too many is dropped. */
void posref_identity_family(struct posref_identity *id, const char *keys, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void posref_identity_finding(struct posref_identity *id, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Measures. `asked` is as the user gave it; fields left out take their defaults, and a dim or
 * num_heads left out a usual one. BAD_INPUT when the plugin cannot be used or declines all. */
POSREF_MUST_USE enum posref_status posref_identify(struct posref_identity *out,
                                                   const struct posref_spec *asked,
                                                   struct posref_runner *runner,
                                                   const struct posref_arena *arena,
                                                   struct posref_error *err);

/* One scheme each: out->asked is complete, probe->spec points to it. probe->verdict UNSUPPORTED:
 * nothing could be asked. */
POSREF_MUST_USE enum posref_status posref_identify_rope(struct posref_identity *out,
                                                        struct posref_probe *probe,
                                                        struct posref_error *err);
/* The same for a rope whose positions have several axes. */
POSREF_MUST_USE enum posref_status posref_identify_axes(struct posref_identity *out,
                                                        struct posref_probe *probe,
                                                        struct posref_error *err);
POSREF_MUST_USE enum posref_status posref_identify_buckets(struct posref_identity *out,
                                                           struct posref_probe *probe,
                                                           struct posref_error *err);
POSREF_MUST_USE enum posref_status posref_identify_sinusoidal(struct posref_identity *out,
                                                              struct posref_probe *probe,
                                                              struct posref_error *err);
POSREF_MUST_USE enum posref_status posref_identify_alibi(struct posref_identity *out,
                                                         struct posref_probe *probe,
                                                         struct posref_error *err);

/* Judges the identified spec in every dtype at positions that tell arithmetics apart. */
POSREF_MUST_USE enum posref_status posref_identify_class(struct posref_identity *out,
                                                         struct posref_probe *probe,
                                                         struct posref_error *err);

/* ---- the curve (identify_curve.c, identify_bands.c) ---------------------------------------- */

/* inv_freq [n] as measured, tol [n] their relative error, and the magnitude of cos and sin. */
struct posref_curve {
    int n;
    const double *inv_freq, *tol;
    double magnitude, magnitude_tol;
    const struct posref_arena *arena; /* scratch */
};

/* Follows one pair from position 1 on: each doubling makes the frequency more certain, as far as
 * the angles keep to it. angle[k * stride] is that at position 2^k, u the unit of the outputs.
 * Returns the position where they leave it, or 0. */
int posref_curve_follow(double *inv_freq, double *tol, const double *angle, int stride,
                        double offset, double u);
/* What arithmetic of unit u does to frequency theta of pair i, relatively (docs/tolerance.md). */
double posref_curve_formed(double theta, int i, double u);

/* Sets base, scaling and its parameters of id->spec, whose other fields stand, from the curve:
 * as asked where that fits, else the simplest that does. false: nothing fits. */
bool posref_curve_fit(struct posref_identity *id, const struct posref_curve *curve);
/* The largest deviation of a spec's frequencies and magnitude from the curve, in units of its
 * error; infinite for a spec that cannot be evaluated. */
double posref_curve_residual(const struct posref_curve *curve, const struct posref_spec *spec);
/* Fits whose frequencies fall in bands; they set *spec on success. */
bool posref_curve_fit_bands(struct posref_identity *id, const struct posref_curve *curve,
                            struct posref_spec *spec);

/* Where longrope was asked for: any frequencies, as the list of divisors that is in use. */
bool posref_curve_fit_list(struct posref_identity *id, const struct posref_curve *curve,
                           struct posref_spec *spec);

/* Says which other parameters of yarn or llama3 have the effect of id->spec's. */
void posref_curve_name_bands(struct posref_identity *id, const struct posref_curve *curve);

/* Fills id->models: presets in the layout of id->spec that have the curve's frequencies and
 * magnitude. */
POSREF_MUST_USE enum posref_status posref_curve_find_models(struct posref_identity *id,
                                                            const struct posref_curve *curve,
                                                            struct posref_error *err);

/* ---- numbers people write (identify_number.c) ------------------------------------------------ */

/* The number with the fewest decimal digits in the interval. */
double posref_simplest(struct posref_interval in);
/* The same for lengths: powers of two first, then multiples of 1024. */
double posref_simplest_length(struct posref_interval in);
static inline bool posref_within(struct posref_interval in, double x)
{
    return x >= in.lo && x <= in.hi;
}

/* ---- answers -------------------------------------------------------------------------------- */

void posref_identity_json(struct posref_buffer *out, const struct posref_identity *id);
void posref_identity_text(struct posref_buffer *out, const struct posref_identity *id);

#endif
