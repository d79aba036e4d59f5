/* SPDX-License-Identifier: Apache-2.0 */
/* Angles of coordinates and frequencies, and their sines and cosines: turns and balls. */
#include "waves.h"

#include "exact_turn.h"

#include <math.h>

#define WALK_BITS 256 /* a step of the ladder loses 2 units: see POSREF_WALK_BITS */
#define CHUNK 128

struct posref_coordinate posref_coordinate_sum(double a, double b)
{
    double hi = a + b, v = hi - a;
    return (struct posref_coordinate){.hi = hi, .lo = (a - (hi - v)) + (b - v)}; /* Knuth */
}

static void exact_ball(struct posref_ball *out, const struct posref_coordinate *of)
{
    struct posref_ball lo;
    posref_ball_set_double(out, of->hi);
    if (of->lo != 0) {
        posref_ball_set_double(&lo, of->lo);
        posref_ball_add(out, out, &lo, 2200); /* exact: any two doubles fit */
    }
}

/* What theta_i / 2 pi is beside the ladder's value. */
static enum posref_status per_turn(struct posref_ball *out, const struct posref_waves *waves,
                                   unsigned prec_bits)
{
    struct posref_ball below;
    posref_ball_set_double(out, waves->times);
    if (waves->unit == POSREF_ANGLE_UNIT_RADIAN) {
        posref_ball_pi(&below, prec_bits);
        posref_ball_scale2(&below, &below, 1);
    } else {
        posref_ball_set_int(&below, waves->unit == POSREF_ANGLE_UNIT_TURN ? 1 : 4);
    }
    if (waves->divisor.hi != 1 || waves->divisor.lo != 0) {
        struct posref_ball divisor;
        exact_ball(&divisor, &waves->divisor);
        posref_ball_mul(&below, &below, &divisor, prec_bits);
    }
    return posref_ball_div(out, out, &below, prec_bits) ? POSREF_OK : POSREF_INTERNAL;
}

static enum posref_status turns_ball(struct posref_ball *out, const struct posref_waves *waves,
                                     int i, unsigned prec_bits)
{
    struct posref_ball factor;
    if (waves->turns_per) {
        posref_ball_set_double(out, waves->turns_per[i]);
        return POSREF_OK;
    }
    enum posref_status status = posref_ladder_at(out, &waves->ladder, i, prec_bits);
    if (status == POSREF_OK)
        status = per_turn(&factor, waves, prec_bits);
    if (status == POSREF_OK)
        posref_ball_mul(out, out, &factor, prec_bits);
    return status;
}

/* Fourier features: each turn is a double of either sign; the sign goes to the coordinate. */
static enum posref_status prepare_features(struct posref_waves *waves)
{
    for (int i = 0; i < waves->block.n_sines; i++) {
        struct posref_ball turns;
        posref_ball_set_double(&turns, fabs(waves->turns_per[i]));
        if (!posref_turn_from_ball(&waves->turn[i], &turns))
            return POSREF_INTERNAL;
    }
    return POSREF_OK;
}

enum posref_status posref_waves_prepare(struct posref_waves *waves)
{
    struct posref_ball ratio, step, factor, turns;
    const int n = waves->block.n_sines;
    if (waves->turns_per)
        return prepare_features(waves);
    enum posref_status status = per_turn(&factor, waves, WALK_BITS);
    if (status == POSREF_OK && n > 1)
        status = posref_ladder_at(&ratio, &waves->ladder, 1, WALK_BITS);
    for (int i = 0; i < n && status == POSREF_OK; i++) {
        if (!posref_ladder_exact(&step, &waves->ladder, i))
            posref_ball_mul(&step, &step, &ratio, WALK_BITS);
        posref_ball_mul(&turns, &step, &factor, WALK_BITS);
        status = posref_turn_from_ball(&waves->turn[i], &turns) ? POSREF_OK : POSREF_INTERNAL;
    }
    return status;
}

static enum posref_status coordinate_ball(struct posref_ball *out,
                                          const struct posref_waves *waves,
                                          const struct posref_coordinate *at, unsigned prec_bits)
{
    exact_ball(out, at);
    if (!waves->log)
        return POSREF_OK;
    if (at->hi == 1 && at->lo == 0) {
        posref_ball_set_int(out, 0);
        return POSREF_OK;
    }
    return posref_ball_log(out, out, prec_bits) ? POSREF_OK : POSREF_INTERNAL;
}

int posref_waves_exact_turn(const struct posref_waves *waves, int i,
                            const struct posref_coordinate *at)
{
    int64_t odd, exponent;
    bool inverse;
    if (waves->unit == POSREF_ANGLE_UNIT_RADIAN || waves->turns_per)
        return -1;
    if (at->hi == 0)
        return 0;
    if (!posref_exact_turn_rational(&odd, &inverse, &exponent, &waves->ladder, i))
        return -1;
    exponent -= waves->unit == POSREF_ANGLE_UNIT_QUARTER_TURN ? 2 : 0;
    /* 24 t is below 2^46, so the double misses it by less than 2^-4. */
    const double theta = ldexp(inverse ? 1 / (double)odd : (double)odd, (int)exponent);
    const double near = 24 * at->hi * theta / waves->divisor.hi, whole = nearbyint(near);
    if (fabs(near - whole) > 0.25)
        return -1;
    struct posref_ball top, below, factor; /* 24 t = top / below; exact at this precision */
    exact_ball(&top, at);
    exact_ball(&below, &waves->divisor);
    posref_ball_set_int(&factor, odd);
    if (inverse)
        posref_ball_mul(&below, &below, &factor, POSREF_BALL_MAX_BITS);
    else
        posref_ball_mul(&top, &top, &factor, POSREF_BALL_MAX_BITS);
    posref_ball_set_int(&factor, 24);
    posref_ball_mul(&top, &top, &factor, POSREF_BALL_MAX_BITS);
    posref_ball_scale2(&top, &top, exponent);
    posref_ball_set_double(&factor, whole);
    posref_ball_mul(&below, &below, &factor, POSREF_BALL_MAX_BITS);
    if (posref_ball_compare(&top, &below) != 0)
        return -1;
    const int parts = (int)fmod(whole, POSREF_TURN_PARTS);
    return parts < 0 ? parts + POSREF_TURN_PARTS : parts;
}

enum posref_status posref_waves_ball(struct posref_ball *cos_out, struct posref_ball *sin_out,
                                     const struct posref_waves *waves, int i,
                                     const struct posref_coordinate *at, unsigned prec_bits)
{
    struct posref_ball turns, magnitude;
    const int parts = posref_waves_exact_turn(waves, i, at);
    const double times = waves->magnitude.is_one ? 1 : waves->magnitude.hi;
    if (parts >= 0 && posref_exact_turn_combine(cos_out, parts, times, 0, prec_bits) &&
        posref_exact_turn_combine(sin_out, parts, 0, times, prec_bits))
        return POSREF_OK;
    enum posref_status status = coordinate_ball(&turns, waves, at, prec_bits);
    if (status == POSREF_OK && turns.sign != 0) {
        struct posref_ball frequency;
        status = turns_ball(&frequency, waves, i, prec_bits);
        posref_ball_mul(&turns, &turns, &frequency, prec_bits);
    }
    if (status != POSREF_OK)
        return status;
    posref_ball_cos_sin_turns(cos_out, sin_out, &turns, prec_bits);
    if (waves->magnitude.is_one)
        return POSREF_OK;
    posref_ball_set_double(&magnitude, waves->magnitude.hi);
    posref_ball_mul(cos_out, cos_out, &magnitude, prec_bits);
    posref_ball_mul(sin_out, sin_out, &magnitude, prec_bits);
    return POSREF_OK;
}

enum posref_status posref_waves_logarithms(struct posref_turn *out, struct posref_coordinate *at,
                                           int64_t n)
{
    const struct posref_waves waves = {.log = true};
    for (int64_t k = 0; k < n; k++) {
        struct posref_ball size;
        enum posref_status status = coordinate_ball(&size, &waves, &at[k], WALK_BITS);
        if (size.sign < 0)
            posref_ball_neg(&size, &size);
        if (status != POSREF_OK || !posref_turn_from_ball(&out[k], &size))
            return POSREF_INTERNAL;
        at[k].log = &out[k];
    }
    return POSREF_OK;
}

/* The fast path: turns at a fixed precision times one double. The coordinate is the double, and the
 * turn its frequency's; under a logarithm, which may have any digits, the other way round. Exact
 * parts of a turn, and Fourier features whose angle may be a whole number of 1024ths of one, are
 * left to the balls, which are exact there. NULL: not here. */
static const struct posref_turn *fast_turn(double *factor, const struct posref_waves *waves, int i,
                                           const struct posref_coordinate *at)
{
    *factor = at->hi;
    if (at->lo != 0 || (waves->log && !at->log))
        return NULL;
    if (waves->log) {
        *factor = at->hi < 1 ? -waves->turns_per[i] : waves->turns_per[i];
        return at->log;
    }
    if (!waves->turns_per)
        return posref_waves_exact_turn(waves, i, at) < 0 ? &waves->turn[i] : NULL;
    const double turns = waves->turns_per[i] * at->hi;
    if (waves->turns_per[i] < 0)
        *factor = -at->hi;
    const bool clear = fabs(turns) < 0x1p40 && fabs(turns) > 0x1p-900 &&
                       (turns * 0x1p12 != floor(turns * 0x1p12) ||
                        fma(waves->turns_per[i], at->hi, -turns) != 0);
    return clear ? &waves->turn[i] : NULL;
}

void posref_waves_dd(struct posref_dd *cos_out, struct posref_dd *sin_out,
                     const struct posref_waves *waves, int i, const struct posref_coordinate *at)
{
    double factor;
    const struct posref_turn *turn = fast_turn(&factor, waves, i, at);
    if (turn)
        posref_turn_cos_sin_dd(cos_out, sin_out, turn, &waves->magnitude, factor);
    else
        *cos_out = *sin_out = (struct posref_dd){0, 0, HUGE_VAL};
}

struct value_ctx {
    const struct posref_waves *waves;
    const struct posref_coordinate *at;
    int i;
    bool sine;
};

static enum posref_status value_ball(struct posref_ball *out, const void *ctx, unsigned prec_bits)
{
    const struct value_ctx *c = ctx;
    struct posref_ball other;
    return c->sine ? posref_waves_ball(&other, out, c->waves, c->i, c->at, prec_bits)
                   : posref_waves_ball(out, &other, c->waves, c->i, c->at, prec_bits);
}

static enum posref_status decide(double *out, const struct posref_waves *waves, int i,
                                 const struct posref_coordinate *at, bool sine)
{
    return posref_ball_decide(out, value_ball, &(const struct value_ctx){waves, at, i, sine});
}

/* Rounded values of n <= CHUNK coordinates by the fast path; *undecided where it fails. */
static void fast_table(double *cosines, double *sines, bool *undecided,
                       const struct posref_waves *waves, int i,
                       const struct posref_coordinate *at, int64_t n)
{
    double factor[CHUNK];
    bool usable[CHUNK];
    const bool together = waves->magnitude.is_one && !waves->log; /* by one turn */
    for (int64_t k = 0; k < n; k++) {
        usable[k] = fast_turn(&factor[k], waves, i, &at[k]) != NULL;
        if (!usable[k])
            factor[k] = 0;
    }
    if (together)
        (void)posref_turn_cos_sin(cosines, sines, undecided, &waves->turn[i], factor, (size_t)n);
    for (int64_t k = 0; k < n && !together; k++) {
        struct posref_dd c, s;
        posref_waves_dd(&c, &s, waves, i, &at[k]);
        undecided[k] = !posref_dd_round(&cosines[k], &c) || !posref_dd_round(&sines[k], &s);
    }
    for (int64_t k = 0; k < n; k++)
        undecided[k] = undecided[k] || !usable[k];
}

enum posref_status posref_waves_table(double *cos_out, double *sin_out, int64_t stride,
                                      const struct posref_waves *waves, int i,
                                      const struct posref_coordinate *at, int64_t n)
{
    enum posref_status status = POSREF_OK;
    for (int64_t first = 0; first < n && status == POSREF_OK; first += CHUNK) {
        double cosines[CHUNK], sines[CHUNK];
        bool undecided[CHUNK];
        const int64_t rows = n - first < CHUNK ? n - first : CHUNK;
        fast_table(cosines, sines, undecided, waves, i, at + first, rows);
        for (int64_t k = 0; k < rows && status == POSREF_OK; k++) {
            if (undecided[k])
                status = decide(&sines[k], waves, i, &at[first + k], true);
            if (undecided[k] && cos_out && status == POSREF_OK)
                status = decide(&cosines[k], waves, i, &at[first + k], false);
            sin_out[(first + k) * stride] = sines[k];
            if (cos_out)
                cos_out[(first + k) * stride] = cosines[k];
        }
    }
    return status;
}

struct sum_ctx {
    struct value_ctx value;
    double x;
    int x_scale_squared;
};

static enum posref_status sum_ball(struct posref_ball *out, const void *ctx, unsigned prec_bits)
{
    const struct sum_ctx *c = ctx;
    struct posref_ball x, scale;
    enum posref_status status = value_ball(out, &c->value, prec_bits);
    posref_ball_set_double(&x, c->x);
    if (c->x_scale_squared != 1 && c->x != 0) {
        posref_ball_set_int(&scale, c->x_scale_squared);
        if (!posref_ball_sqrt(&scale, &scale, prec_bits))
            return POSREF_INTERNAL;
        posref_ball_mul(&x, &x, &scale, prec_bits);
    }
    posref_ball_add(out, out, &x, prec_bits);
    return status;
}

/* The fast path's sum of high parts is exact as s + e (Knuth); adding e to the low part errs by
 * half an ulp of it, which doubling covers. */
enum posref_status posref_waves_embed(double *y, double x, int x_scale_squared, bool sine,
                                      const struct posref_waves *waves, int i,
                                      const struct posref_coordinate *at,
                                      const struct posref_dd *value)
{
    const struct sum_ctx ctx = {{waves, at, i, sine}, x, x_scale_squared};
    if (fabs(x) < 0x1p1000 && x_scale_squared == 1) {
        double s = x + value->hi, v = s - x;
        double e = (x - (s - v)) + (value->hi - v);
        double low = e + value->lo;
        bool exact = value->lo == 0 || e == 0;
        struct posref_dd sum = {s + low, 0, value->err + (exact ? 0 : 0x1p-52 * fabs(low))};
        sum.lo = (s - sum.hi) + low;
        if (posref_dd_round(y, &sum))
            return POSREF_OK;
    }
    return posref_ball_decide(y, sum_ball, &ctx);
}
