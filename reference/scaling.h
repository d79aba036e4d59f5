/* SPDX-License-Identifier: Apache-2.0 */
/* What a frequency scaling is to rope: one const table of functions. A new scaling is one file (or
 * a part of one), one line in scalings.c, and its fields in fields.c. Private to reference/. */
#ifndef POSREF_SCALING_H
#define POSREF_SCALING_H

#include "ball.h"
#include "scheme.h"

/* What a scaling works out once for a spec and a precision. */
struct posref_scaling_state {
    const struct posref_spec *spec;
    unsigned prec_bits;
    struct posref_ball a, b; /* the scaling's own */
    bool a_wins;             /* likewise */
};

struct posref_scaling_def {
    const struct posref_field_use *fields; /* beside rope's own; ends with NEED_NONE */
    enum posref_status (*check)(struct posref_spec *spec, struct posref_error *err); /* or NULL */
    /* Ratio of neighbouring frequencies to the power i: a geometric ladder. NULL: base^(-2i/r). */
    enum posref_status (*ladder)(struct posref_ball *out, const struct posref_spec *spec, int i,
                                 unsigned prec_bits);
    /* prepare() once, then apply() turns each ladder value theta into the scaled frequency, in
     * place. POSREF_INTERNAL: the precision does not decide a comparison; ask for more. NULL:
     * nothing to do. */
    enum posref_status (*prepare)(struct posref_scaling_state *state);
    enum posref_status (*apply)(struct posref_ball *theta,
                                const struct posref_scaling_state *state, int i);
    /* The factor on cos and sin. NULL: 1. */
    enum posref_status (*magnitude)(struct posref_ball *out, const struct posref_spec *spec,
                                    unsigned prec_bits);
};

extern const struct posref_scaling_def posref_scaling_none;
extern const struct posref_scaling_def posref_scaling_linear;
extern const struct posref_scaling_def posref_scaling_ntk;
extern const struct posref_scaling_def posref_scaling_yarn;
extern const struct posref_scaling_def posref_scaling_llama3;

const struct posref_scaling_def *posref_scaling_def(int scaling);

#endif
