/* SPDX-License-Identifier: Apache-2.0 */
/* Rope's inverse frequencies and attention factor under every scaling, for scheme_rope.c. */
#ifndef ORACLE_ROPE_FREQUENCY_H
#define ORACLE_ROPE_FREQUENCY_H

#include "oracle.h"

enum rope_scaling { ROPE_NONE, ROPE_LINEAR, ROPE_NTK, ROPE_YARN, ROPE_LLAMA3, ROPE_DYNAMIC,
                    ROPE_LONGROPE, ROPE_NTK_BY_PARTS, ROPE_NTK_FIXED, ROPE_NTK_MIXED,
                    ROPE_DYNAMIC_CONSTANT, ROPE_DYNAMIC_ALPHA, ROPE_DYNAMIC_LINEAR };

/* One end of yarn's ramp: an integer (rounded or clamped), or the correction dimension of beta. */
struct rope_end {
    bool rational;
    fmpq_t value;
    double beta;
};

/* Yarn's attention factor: times (1 + over x) / (1 + under x), x = percent / 100 ln f. */
struct rope_mscale {
    double over, under, times;
    int percent;
};

/* What scaling does to pair i: its frequency is multiplied by `factor` when that is rational, else
 * by a number that is computed when wanted. */
struct rope_pair {
    struct oracle_power power;
    bool rational;
    fmpq_t factor;
};

struct rope_frequencies {
    enum rope_scaling scaling;
    int64_t r, n_pairs;
    int64_t n_turning;              /* the frequencies from here on are 0 */
    double base, factor, original_length;
    double low_freq, high_freq;     /* llama3 */
    struct rope_end low, high;      /* yarn; equal_ends: high counts as low + 1/1000 */
    bool equal_ends;
    fmpq_t ratio;                   /* rope_scalings.c: what the base or the ladder grows by */
    double mixed_b, *divisor;       /* longrope's list in use, [n_pairs] */
    bool magnitude_given;
    double magnitude;
    bool use_mscales;               /* longrope: magnitude=yarn */
    struct rope_mscale yarn;
    struct rope_pair *pair;
    arb_ptr cached;                 /* at ORACLE_FIRST_PREC */
};

/* Reads the spec; false with c->error. Clear in both cases. */
bool rope_frequencies_init(struct rope_frequencies *f, struct oracle_case *c);
void rope_frequencies_clear(struct rope_frequencies *f);
/* The scaled inverse frequency of pair i, radians per token. */
void rope_frequency(arb_t out, const struct rope_frequencies *f, int64_t i, slong prec);
/* The factor on cosine and sine. */
void rope_attention_factor(arb_t out, const struct rope_frequencies *f, slong prec);

/* rope_scalings.c: the scalings from ROPE_DYNAMIC on but ntk_by_parts. */
bool rope_scalings_init(struct rope_frequencies *f, struct oracle_case *c);
void rope_scalings_frequency(arb_t out, const struct rope_frequencies *f, int64_t i, slong prec);
bool rope_scalings_magnitude(arb_t out, const struct rope_frequencies *f, slong prec);

/* rope_yarn.c: the ends of the ramp, and where pair i stands on it (0 to 1; *rational: exact). */
bool rope_yarn_init(struct rope_frequencies *f, struct oracle_case *c);
bool rope_yarn_place(fmpq_t out, bool *rational, const struct rope_frequencies *f, int64_t i);
void rope_yarn_ramp(arb_t out, const struct rope_frequencies *f, int64_t i, slong prec);

/* rope_mscale.c: yarn's attention factor by mscale_rule and attention_factor_rule. */
bool rope_mscale_init(struct rope_frequencies *f, struct oracle_case *c);
void rope_mscale_factor(arb_t out, const struct rope_frequencies *f, slong prec);

#endif
