/* SPDX-License-Identifier: Apache-2.0 */
/* The second front door of reference/: is an output right, and how accurate is it? The error model
 * and the grades; docs/tolerance.md derives every bound used here. Reentrant, no memory but the
 * arena's.
 *
 * u is half the spacing of a dtype at 1: bf16 2^-8, f16 2^-11, f32 2^-24, f64 2^-53. A rotation
 * moves a pair, so errors are measured against the norm of the expected pair; biases, slopes,
 * frequencies and weights against their own size. The allowance is derived for each pair from its
 * angle and its frequency, and errors are never pooled. */
#ifndef POSREF_JUDGE_H
#define POSREF_JUDGE_H

#include "reference.h"

/* How accurate: from best to worst, each one's limits contain those before it. */
enum posref_grade {
    POSREF_GRADE_EXACT,      /* as if angles are formed in double (f64 outputs only) */
    POSREF_GRADE_FLOAT32,    /* frequencies and angles formed in float32 */
    POSREF_GRADE_RECURRENCE, /* angles built by repeated float32 multiplication */
    POSREF_GRADE_FAST,       /* sine or range reduction approximate, as by hardware */
    POSREF_GRADE_LOW,        /* tables and products held in the 16-bit output dtype */
    POSREF_GRADE_FAIL,
    POSREF_N_GRADES
};
const char *posref_grade_name(enum posref_grade grade);
int posref_grade_find(const char *name); /* or -1 */

/* The gate a dtype has when none is asked for: exact for f64, recurrence for f32, low else. */
enum posref_grade posref_grade_default(enum posref_dtype dtype);

/* u of a floating dtype. */
double posref_unit(enum posref_dtype dtype);

/* What broke, first in this order. */
enum posref_breach { POSREF_BREACH_NONE, POSREF_BREACH_COPY, POSREF_BREACH_ELEMENT,
                     POSREF_BREACH_NORM, POSREF_BREACH_BIAS, POSREF_BREACH_NORM_BIAS,
                     POSREF_BREACH_ANGLE, POSREF_BREACH_INTEGER };
/* One sentence: "an element is further from the reference than the limit". */
const char *posref_breach_text(enum posref_breach breach);

struct posref_judgement {
    enum posref_grade grade;   /* the best grade whose limits all hold, or FAIL */
    bool pass;                 /* grade is at least the gate */
    enum posref_breach breach; /* at the gate, when it does not pass */
    /* The element with the largest error in units of its limit at the gate. */
    const char *tensor;        /* a name in golden */
    int64_t element;           /* flat index */
    int pair;                  /* pair, head or frequency number; -1: none */
    double position;           /* NaN: none */
    double got, want;
    double error_u;            /* |got - want| / norm of the pair, in u of the dtype */
    double error_limits;       /* the same error in units of the limit; > 1 breaks it */
    int64_t n_compared;        /* pairs (or elements where there are no pairs) */
    int64_t n_judged;          /* of these, the ones that move and whose limit is at most 1/8 */
    double bias_u, norm_bias_u; /* mean signed error, mean of |got| / |want| - 1, in u */
};

/* Judges `actual` (the dtype under test in every float tensor; same names and shapes as golden;
 * integers, I64 in golden, are I32 or I64 and must be equal)
 * against `golden` (F64) for a completed spec. `inputs` are eval's F64 inputs; one called cos says
 * that rotate had its tables handed in (posref_rotate_given): then no angle has an allowance;
 * norm_weight or post_norm_weight [dim] (what x is multiplied with, or that less 1) says that it
 * normed before or after (posref_rotate_normed). Fails
 * only with POSREF_NO_MEMORY, or POSREF_BAD_INPUT when a tensor is missing or has another shape. */
POSREF_MUST_USE enum posref_status
posref_judge(struct posref_judgement *out, const struct posref_spec *spec, enum posref_op op,
             const struct posref_tensors *inputs, const struct posref_tensors *golden,
             const struct posref_tensors *actual, enum posref_dtype dtype, enum posref_grade gate,
             const struct posref_arena *arena, struct posref_error *err);

/* Whether one element alone (its number in the first output; 0 where there are not so many) shows
 * that scores, with their terms, or attention (`op`; others are POSREF_BAD_INPUT) do not follow the
 * spec, under any grade: it alone is evaluated and compared. Much quicker than posref_eval and
 * posref_judge, which fail whatever it fails; what it does not fail is for them to decide. *fails
 * is set on success. */
POSREF_MUST_USE enum posref_status
posref_judge_glance(bool *fails, const struct posref_spec *spec, enum posref_op op,
                    int64_t element, const struct posref_tensors *inputs,
                    const struct posref_tensors *actual, enum posref_dtype dtype,
                    const struct posref_arena *arena, struct posref_error *err);

/* How far each element may be off under each grade, for those who compare outputs with each other:
 * out[grade] for the grades that the dtype has (exact to fast in f64; float32 to fast in f32;
 * float32 to low in 16 bits), F64 tensors of golden's names and shapes in the arena; the others are
 * empty. 0: a bit-identical copy or an integer; infinity: golden is infinite in the dtype. Fails
 * as posref_judge does. */
POSREF_MUST_USE enum posref_status
posref_judge_limits(struct posref_tensors out[POSREF_GRADE_FAIL], const struct posref_spec *spec,
                    enum posref_op op, const struct posref_tensors *inputs,
                    const struct posref_tensors *golden, enum posref_dtype dtype,
                    const struct posref_arena *arena, struct posref_error *err);

/* How far from want a value of an 8-bit dtype may be that was rounded once from one within
 * `arithmetic` of want: the farther of the two that the ends of that range round to; at least a
 * quarter of a spacing. Infinite where the range leaves the dtype's. */
double posref_float8_limit(double want, double arithmetic, enum posref_dtype dtype);

/* The best and the worst grade that a dtype has beside fail. */
enum posref_grade posref_grade_best(enum posref_dtype dtype);
enum posref_grade posref_grade_worst(enum posref_dtype dtype);

/* What an observer of a judgement is told of each pair: its position, the larger |got - want| of
 * its elements relative to its norm, and their mean signed error (positive away from zero, from the
 * value of the dtype nearest to want), relative too. Pairs of no length are left out. */
struct posref_judge_watch {
    void (*see)(void *ctx, double position, double error, double signed_error);
    void *ctx;
};

/* posref_judge, with an observer. */
POSREF_MUST_USE enum posref_status
posref_judge_watched(struct posref_judgement *out, const struct posref_judge_watch *watch,
                     const struct posref_spec *spec, enum posref_op op,
                     const struct posref_tensors *inputs, const struct posref_tensors *golden,
                     const struct posref_tensors *actual, enum posref_dtype dtype,
                     enum posref_grade gate, const struct posref_arena *arena,
                     struct posref_error *err);

#endif
