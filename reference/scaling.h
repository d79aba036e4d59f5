/* SPDX-License-Identifier: Apache-2.0 */
/* What a frequency scaling is to rope: one const table of functions. A new scaling is one file (or
 * a part of one), one line in scalings.c, and its fields in fields.c. Private to reference/. */
#ifndef POSREF_SCALING_H
#define POSREF_SCALING_H

#include "ball.h"
#include "scheme.h"

/* theta_i = base^(-num i / den) * factor^(-factor_num i / factor_den): a geometric sequence with
 * rational exponents, exact values of the doubles base and factor. factor_num = 0: base alone. */
struct posref_ladder {
    double base, factor;
    int num, den, factor_num, factor_den;
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
    /* Changes rope's ladder (base^(-2i/r)) as a whole. NULL: keeps it. */
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

extern const struct posref_scaling_def posref_scaling_none;
extern const struct posref_scaling_def posref_scaling_linear;
extern const struct posref_scaling_def posref_scaling_ntk;
extern const struct posref_scaling_def posref_scaling_yarn;
extern const struct posref_scaling_def posref_scaling_llama3;

const struct posref_scaling_def *posref_scaling_def(int scaling);

#endif
