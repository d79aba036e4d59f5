/* SPDX-License-Identifier: Apache-2.0 */
/* Ball arithmetic of any precision, the wide and always-right path of every value: a real number
 * is enclosed as midpoint +- radius; a computation is repeated with more bits until the enclosure
 * decides the rounding. Private to reference/. No allocation: a ball is a fixed-size struct.
 *
 * Every function encloses: if the operands contain x and y, the result contains x op y. A radius
 * of zero means the value is exact, and exactness is kept wherever the result fits in prec_bits:
 * so zeros, ties and rational results decide themselves. */
#ifndef POSREF_BALL_H
#define POSREF_BALL_H

#include "reference.h"

#define POSREF_BALL_MAX_BITS 4096
#define POSREF_BALL_LIMBS (POSREF_BALL_MAX_BITS / 64 + 2)

/* midpoint = sign * 0.limb[n-1]...limb[0] (base 2^64, top bit of limb[n-1] set) * 2^exponent;
 * radius = rad_man * 2^rad_exponent (rad_man = 0: exact). */
struct posref_ball {
    int sign; /* -1, 0, 1 */
    int n_limbs;
    int64_t exponent;
    uint64_t rad_man;
    int64_t rad_exponent;
    uint64_t limb[POSREF_BALL_LIMBS];
};

void posref_ball_set_double(struct posref_ball *out, double x); /* exact; x finite */
void posref_ball_set_int(struct posref_ball *out, int64_t x);   /* exact */
/* hi + lo +- err, all finite, err >= 0. */
void posref_ball_set_dd(struct posref_ball *out, double hi, double lo, double err);
void posref_ball_ratio(struct posref_ball *out, int64_t num, int64_t den, unsigned prec_bits);
void posref_ball_pi(struct posref_ball *out, unsigned prec_bits);

/* out may alias an operand everywhere. */
void posref_ball_set(struct posref_ball *out, const struct posref_ball *a); /* a copy, only the
                                                                              * limbs in use */
void posref_ball_neg(struct posref_ball *out, const struct posref_ball *a);
void posref_ball_scale2(struct posref_ball *out, const struct posref_ball *a, int64_t exponent);
void posref_ball_add(struct posref_ball *out, const struct posref_ball *a,
                     const struct posref_ball *b, unsigned prec_bits);
void posref_ball_sub(struct posref_ball *out, const struct posref_ball *a,
                     const struct posref_ball *b, unsigned prec_bits);
void posref_ball_mul(struct posref_ball *out, const struct posref_ball *a,
                     const struct posref_ball *b, unsigned prec_bits);
/* The following fail (false, *out unspecified) when the operand's ball leaves the domain: division
 * by a ball that contains zero, log or sqrt of one that contains a number <= 0 (sqrt: the exact 0
 * is in the domain). A ball that reaches within 2^-30 of zero, relatively, counts as containing
 * it. */
bool posref_ball_div(struct posref_ball *out, const struct posref_ball *a,
                     const struct posref_ball *b, unsigned prec_bits);
bool posref_ball_log(struct posref_ball *out, const struct posref_ball *a, unsigned prec_bits);
bool posref_ball_sqrt(struct posref_ball *out, const struct posref_ball *a, unsigned prec_bits);
void posref_ball_exp(struct posref_ball *out, const struct posref_ball *a, unsigned prec_bits);
/* cos and sin of 2*pi*turns. Exact turns that are multiples of 1/4 give exact results. */
void posref_ball_cos_sin_turns(struct posref_ball *cos_out, struct posref_ball *sin_out,
                               const struct posref_ball *turns, unsigned prec_bits);
/* x^(num/den) for x > 0, from the rational exponent (never a rounded num/den). */
bool posref_ball_pow_ratio(struct posref_ball *out, const struct posref_ball *x, int64_t num,
                           int64_t den, unsigned prec_bits);

/* -1, 0, 1 when decided for every pair of members (0 only when both are exact and equal);
 * 2 when undecided. */
int posref_ball_compare(const struct posref_ball *a, const struct posref_ball *b);
/* Largest integer <= every member, when all members agree. */
bool posref_ball_floor(int64_t *out, const struct posref_ball *a);
/* The double nearest (ties to even) to every member, when all members agree. A zero is +0. */
bool posref_ball_round(double *out, const struct posref_ball *a);

/* Encloses one real number at about prec_bits. */
typedef enum posref_status posref_ball_fn(struct posref_ball *out, const void *ctx,
                                          unsigned prec_bits);
/* Ziv's loop: doubles the precision from 128 bits until the rounding is decided. POSREF_INTERNAL
 * past POSREF_BALL_MAX_BITS, which an exact case that was not decided first would cause. */
POSREF_MUST_USE enum posref_status posref_ball_decide(double *out, posref_ball_fn *fn,
                                                      const void *ctx);

#endif
