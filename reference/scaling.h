/* SPDX-License-Identifier: Apache-2.0 */
/* What a frequency scaling is to rope: one const table of functions. A new scaling is one file (or
 * a part of one), one line in scalings.c, and its fields in fields.c. Private to reference/. */
#ifndef POSREF_SCALING_H
#define POSREF_SCALING_H

#include "ball.h"
#include "scheme.h"

/* theta_i = base^(-num i / den) (stretch / over)^(-(stretch_num i + stretch_first) / stretch_den):
 * a geometric sequence with rational exponents. stretch is exact (radius 0) and positive.
 * stretch_den = 0: base alone. */
struct posref_ladder {
    double base, over;
    int num, den, stretch_num, stretch_first, stretch_den;
    struct posref_ball stretch;
};

/* theta_i. Powers of two are exact (radius 0), and no other theta_i lies on a rounding boundary;
 * see ladder.c. */
POSREF_MUST_USE enum posref_status posref_ladder_at(struct posref_ball *out,
                                                    const struct posref_ladder *ladder, int i,
                                                    unsigned prec_bits);
/* True and *out = theta_i exactly, when it is recognised as a power of two. */
bool posref_ladder_exact(struct posref_ball *out, const struct posref_ladder *ladder, int i);

/* What a scaling works out once for a spec and a precision. */
struct posref_scaling_state {
    const struct posref_spec *spec;
    unsigned prec_bits;
    struct posref_ball a, b; /* the scaling's own */
};

struct posref_scaling_def {
    const struct posref_field_use *fields; /* beside rope's own; ends with NEED_NONE */
    enum posref_status (*check)(struct posref_spec *spec, struct posref_error *err); /* or NULL */
    /* Changes rope's ladder (base^(-2i/r)) as a whole; over = 1 on entry. NULL: keeps it. */
    void (*ladder)(struct posref_ladder *ladder, const struct posref_spec *spec);
    /* prepare() once, then apply() turns each ladder value theta_i into the scaled frequency, in
     * place. POSREF_INTERNAL: the precision does not decide a comparison; ask for more. NULL:
     * nothing to do. */
    enum posref_status (*prepare)(struct posref_scaling_state *state);
    enum posref_status (*apply)(struct posref_ball *theta,
                                const struct posref_scaling_state *state, int i);
    /* The factor on cos and sin. NULL: 1. */
    enum posref_status (*magnitude)(struct posref_ball *out, const struct posref_spec *spec,
                                    unsigned prec_bits);
};

/* theta * (t / factor + (1 - t)): yarn's and llama3's blend of scaled and unscaled. */
POSREF_MUST_USE enum posref_status posref_scaling_blend(struct posref_ball *theta,
                                                        const struct posref_ball *t,
                                                        double factor, unsigned prec_bits);

/* Three bands by rotations L theta / (2 pi) in the original context, L = original_max_...: above
 * `high` theta stays, below `low` it is divided by factor, between them the two are blended,
 * linearly in the rotations. low = high: no band between. state->a = L / (2 pi), which
 * posref_scaling_rotations_prepare sets. */
POSREF_MUST_USE enum posref_status
posref_scaling_rotations_prepare(struct posref_scaling_state *state);
POSREF_MUST_USE enum posref_status
posref_scaling_rotations_apply(struct posref_ball *theta, const struct posref_scaling_state *state,
                               double low, double high);

/* The length that a scaling by length goes by: seq_len, after seq_len_history by Hugging Face's
 * rule, and never below original_max_position_embeddings. */
double posref_scaling_length(const struct posref_spec *spec);

/* yarn's m(s) = 1 + s (percent / 100) ln(factor), for factor > 1. */
POSREF_MUST_USE enum posref_status posref_scaling_log_magnitude(struct posref_ball *out,
                                                                double factor, double s,
                                                                int percent, unsigned prec_bits);

/* yarn's attention factor, and the check of the fields that it takes. */
POSREF_MUST_USE enum posref_status
posref_scaling_yarn_magnitude(struct posref_ball *out, const struct posref_spec *spec,
                              unsigned prec_bits);
POSREF_MUST_USE enum posref_status posref_scaling_yarn_check(const struct posref_spec *spec,
                                                             struct posref_error *err);

/* ntk's check: rotary_dim = 2 has no exponent r / (r - 2). */
POSREF_MUST_USE enum posref_status posref_scaling_check_ntk(const struct posref_spec *spec,
                                                            struct posref_error *err);

extern const struct posref_scaling_def posref_scaling_none;
extern const struct posref_scaling_def posref_scaling_linear;
extern const struct posref_scaling_def posref_scaling_ntk;
extern const struct posref_scaling_def posref_scaling_yarn;
extern const struct posref_scaling_def posref_scaling_llama3;
extern const struct posref_scaling_def posref_scaling_dynamic;
extern const struct posref_scaling_def posref_scaling_longrope;
extern const struct posref_scaling_def posref_scaling_proportional;
extern const struct posref_scaling_def posref_scaling_ntk_by_parts;
extern const struct posref_scaling_def posref_scaling_ntk_fixed;
extern const struct posref_scaling_def posref_scaling_ntk_mixed;
extern const struct posref_scaling_def posref_scaling_dynamic_constant;
extern const struct posref_scaling_def posref_scaling_dynamic_alpha;
extern const struct posref_scaling_def posref_scaling_dynamic_linear;

const struct posref_scaling_def *posref_scaling_def(int scaling);

#endif
