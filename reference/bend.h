/* SPDX-License-Identifier: Apache-2.0 */
/* The third front door of reference/: the reference, bent. What an implementation with a certain
 * fault would return, in double arithmetic, with the error that an honest float32 kernel of that
 * fault may have in each element. A fault is a list of steps on top of a (changed) spec; steps act
 * in the order of the pipeline: positions, frequencies, arithmetic, layout. Never used for golden
 * values. Reentrant, no memory but the arena's. */
#ifndef POSREF_BEND_H
#define POSREF_BEND_H

#include "reference.h"

/* `value` is the step's parameter, where it says so. */
enum posref_bend_kind {
    POSREF_BEND_NOTHING,
    /* Positions p. */
    POSREF_BEND_POSITION_OFFSET, /* p + value */
    POSREF_BEND_POSITION_SCALE,  /* p value */
    POSREF_BEND_POSITION_BF16,   /* p rounded to bf16 */
    POSREF_BEND_POSITION_F16,    /* p rounded to fp16 */
    POSREF_BEND_POSITION_CLAMP,  /* min(p, value) */
    POSREF_BEND_POSITION_WRAP,   /* p mod value, of the sign of p */
    POSREF_BEND_POSITION_INT16,  /* the low 16 bits, with sign */
    POSREF_BEND_POSITION_ABS,    /* |p| */
    POSREF_BEND_POSITION_ZERO,   /* 0 */
    POSREF_BEND_POSITION_ROW,    /* the number of the row */
    POSREF_BEND_POSITION_HEAD,   /* the number of the head */
    POSREF_BEND_POSITION_WHOLE,  /* p cut to a whole number */
    /* Arithmetic recipes: nothing is wrong but the rounding. How theta_i is formed in float32;
     * angles, cosines, sines and rotations are then formed in float32 too, in the obvious order. */
    POSREF_BEND_DOUBLE,             /* angles in double, cosines and sines rounded to float32 */
    POSREF_BEND_FLOAT32_POWER,      /* 1 / base^(2i/d), as Hugging Face has it */
    POSREF_BEND_FLOAT32_NEGATIVE,   /* base^(-2i/d) */
    POSREF_BEND_FLOAT32_EXP,        /* exp(-2i/d ln base) */
    POSREF_BEND_FLOAT32_ROUNDED,    /* formed in double, rounded once */
    POSREF_BEND_FLOAT32_RECURRENCE, /* angles p base^(-2/d) base^(-2/d) ..., as ggml has them */
    /* Frequencies theta_i, i < n (rope, sinusoidal). */
    POSREF_BEND_YARN_FLAT,       /* yarn: nothing is divided */
    POSREF_BEND_YARN_REVERSED,   /* yarn: beta_fast and beta_slow exchanged */
    POSREF_BEND_YARN_PERIODS,    /* yarn: wavelengths blended, not frequencies */
    POSREF_BEND_YARN_NTK,        /* yarn: the kept side has the base of ntk */
    POSREF_BEND_LLAMA3_PERIODS,  /* llama3: wavelengths blended, with the weights exchanged */
    POSREF_BEND_THETA_INVERSE,   /* 1 / theta_i */
    POSREF_BEND_THETA_ONE,       /* 1 for all */
    POSREF_BEND_THETA_HALF_STEP, /* exponent (2i + 1)/d */
    POSREF_BEND_THETA_SHORT,     /* exponent 2i/(d - 2) */
    POSREF_BEND_THETA_OVER_HEAD, /* axes with ladders of their own: exponent 2j/rotary_dim */
    POSREF_BEND_THETA_BASE,      /* base: value (before any scaling) */
    POSREF_BEND_THETA_SCALE,     /* theta_i value */
    POSREF_BEND_THETA_ROOT,      /* (2i/d)^(1/base) */
    POSREF_BEND_COSINE_LATE,     /* cosines of theta_i base^(-1/d) */
    POSREF_BEND_THETA_SQUARED,   /* sines of theta_i^2, cosines of theta_i^2 base^(-2/d) */
    POSREF_BEND_THETA_BF16,      /* frequencies are rounded last */
    POSREF_BEND_THETA_F16,
    /* Arithmetic. */
    POSREF_BEND_ANGLE_F16,       /* angles rounded */
    POSREF_BEND_ANGLE_BF16,
    POSREF_BEND_SINE_ONE_STEP,   /* of recipes: a - 2 pi round(a / 2 pi), all in float32 */
    POSREF_BEND_SINE_FUSED,      /* of recipes: the same, product and difference rounded once */
    POSREF_BEND_SINE_HARDWARE,   /* of recipes: turns in float32, then right to 2^-20 */
    POSREF_BEND_TABLE_F16,       /* cosines and sines rounded */
    POSREF_BEND_TABLE_BF16,
    POSREF_BEND_SINE_COSINE,     /* sine for cosine and cosine for sine */
    POSREF_BEND_MAGNITUDE,       /* results times value */
    POSREF_BEND_MAGNITUDE_TWICE, /* the magnitude squared */
    POSREF_BEND_TABLE_SPREAD,    /* channel j takes its column of the other pairing's table */
    POSREF_BEND_SINE_LATE,       /* the sine term is not subtracted: x1 cos + x2 sin in both */
    POSREF_BEND_SLOPE_GEOMETRIC, /* alibi: 2^(-B (h + 1)/n) for every n */
    POSREF_BEND_SLOPE_FIRST,     /* alibi: that of head 0 for every head */
    POSREF_BEND_SLOPE_EARLY,     /* alibi: exponents begin at 0 */
    POSREF_BEND_SLOPE_BF16,
    POSREF_BEND_BIAS_SIGN,
    POSREF_BEND_BIAS_BF16,
    POSREF_BEND_PRODUCTS_NARROW, /* of recipes: products and sums rounded to the output's dtype */
    /* Layout and output. */
    POSREF_BEND_LAST_PAIR,       /* the last pair is copied */
    POSREF_BEND_LAST_CHANNEL,    /* the last rotated channel is copied */
    POSREF_BEND_LAST_ROWS,       /* the last two rows exchanged */
    POSREF_BEND_TAIL_ZERO,       /* channels that should be copied are 0 */
    POSREF_BEND_TAIL_SCALED,     /* they are multiplied by the magnitude */
    POSREF_BEND_TRUNCATED,       /* rounded towards zero to the dtype */
    POSREF_N_BENDS
};

struct posref_bend_step {
    enum posref_bend_kind kind;
    double value;
};

#define POSREF_BEND_STEPS 6

/* Who looks on while a bent form is made, and may have seen enough. */
struct posref_bent;
struct posref_bend_watch {
    /* An element of out->outputs.item[tensor] is known, and its limit and scale; false: the others
     * are not wanted, and stay unset. */
    bool (*see)(void *ctx, const struct posref_bent *out, int tensor, int64_t element);
    void *ctx;
    int64_t first; /* the element that is made first, where the outputs have it */
};

struct posref_bend {
    const struct posref_spec *spec; /* completed; outlives the bend */
    bool wants_pairs;        /* posref_bent.pair is to be filled */
    const struct posref_bend_watch *watch; /* or NULL; outlives the bend */
    struct posref_bend_step step[POSREF_BEND_STEPS];
    int n_steps;
};

/* Sorts a step in; false: there are too many. */
bool posref_bend_add(struct posref_bend *bend, enum posref_bend_kind kind, double value);

/* Whether the step can change the op of that spec at all. */
bool posref_bend_applies(enum posref_bend_kind kind, const struct posref_spec *spec,
                         enum posref_op op);

bool posref_bend_is_position(enum posref_bend_kind kind);

/* DOUBLE ... FLOAT32_RECURRENCE of the steps; NOTHING: the bend is no recipe. */
enum posref_bend_kind posref_bend_recipe(const struct posref_bend *bend);
/* A position of row number `row` after the steps that concern positions. */
double posref_bend_at(const struct posref_bend *bend, double position, int64_t row);

/* Two elements that one angle turns, the cosine's (or first channel's) first. */
struct posref_bent_pair {
    int tensor[2];
    int64_t element[2];
    int number;      /* of the frequency */
    double theta;
    double given;    /* the position as given */
    double position; /* after the steps */
};

/* Outputs in golden's order, and for each element what an honest float32 implementation of the same
 * fault may be off by in the dtype; 0 where it must be exact, more than an eighth of its norm where
 * nothing can be told. Of a recipe, `limit` is what two implementations of it may differ by before
 * the output is rounded to the dtype: last bits of float32 sines, and a fused product or not. */
struct posref_bent {
    struct posref_bent_pair *pair; /* [n_pairs], when wanted and the op has pairs */
    int64_t n_pairs;
    struct posref_tensors outputs;
    double *limit[POSREF_MAX_TENSORS];
    double *scale[POSREF_MAX_TENSORS]; /* the norm of the element's pair, or its own size */
};

/* BAD_INPUT: this spec, op or step has no bent form (posref_eval and the judge are to be used). */
POSREF_MUST_USE enum posref_status posref_bend_eval(struct posref_bent *out,
                                                    const struct posref_bend *bend,
                                                    enum posref_op op,
                                                    const struct posref_tensors *in,
                                                    enum posref_dtype dtype,
                                                    const struct posref_arena *arena,
                                                    struct posref_error *err);

#endif
