/* SPDX-License-Identifier: Apache-2.0 */
/* Bulk cosine and sine of integer positions: a quick phase in doubles good to 2^-66, decided by a
 * rounding test; what it leaves goes to the double-double phase. docs/numerics.md section 4. */
#include "turn_impl.h"

#include <math.h>

/* theta / 2pi * 2^scale as a fraction of 192 bits, cut off. scale > 0 for frequencies so low that
 * no position reaches 2^-11 turn: it only keeps their bits in view. */
struct quick {
    uint64_t limb[3];
    int scale;
};

static bool prepare(struct quick *out, const struct posref_turn *turn)
{
    int top = turn->exponent + 192; /* theta / 2pi is in [2^(top - 1), 2^top) */
    if (turn->is_zero || top > 0 || top < -700)
        return false;
    out->scale = top < -42 ? -42 - top : 0;
    int down = -(top + out->scale); /* 0 .. 42 */
    for (int i = 0; i < 3; i++) {
        uint64_t high = i < 2 && down ? turn->limb[i + 1] << (64 - down) : 0;
        out->limb[i] = turn->limb[i] >> down | high;
    }
    return true;
}

/* Sine in lane 0, cosine in lane 1: two IEEE doubles, not a wider type, so that every target
 * computes the same bits. */
typedef double lanes __attribute__((vector_size(16)));
typedef int64_t lane_bits __attribute__((vector_size(16)));

static inline lanes load(const double *x)
{
    lanes v;
    memcpy(&v, x, sizeof v);
    return v;
}

static inline lanes both(double x)
{
    return (lanes){x, x};
}

/* (sin, cos) of the step, turned by d = d1 + d2 (27 bits and the rest): true when the rounding
 * test decides both. `odd` reads the step a quarter turn on, where the derivative of (cos, -sin)
 * is -(sin, cos): the caller then negates d. */
static inline bool turn_step(lanes *out, const struct turn_parts *step, unsigned odd, double d1,
                             double d2)
{
    lanes head = load(step->head[odd]);
    lanes tail = load(step->tail[odd]);
    lanes slope_head = load(step->head[odd ^ 1]);
    lanes slope_tail = load(step->tail[odd ^ 1]);
    double d = d1 + d2;
    double square = d * d;
    const lanes a1 = {-1.0 / 6, -0.5};
    const lanes a2 = {1.0 / 120, 1.0 / 24};
    const lanes a3 = {-1.0 / 5040, -1.0 / 720};
    lanes series = both(square) * (a1 + both(square) * (a2 + both(square) * a3));
    double cos_d = series[1]; /* cos d - 1 */
    double sin_d = d * series[0]; /* sin d - d */
    /* head + d1 slope_head is error-free: 27 by 26 bits, and head is 0 or the larger. */
    lanes p = slope_head * both(d1);
    lanes sum = head + p;
    lanes rest = p - (sum - head);
    rest += ((tail + slope_tail * both(d)) + slope_head * both(d2)) +
            ((head + tail) * both(cos_d) + (slope_head + slope_tail) * both(sin_d));
    lanes err = sum * both(TURN_QUICK_ERROR);
    *out = sum + (rest + err);
    lane_bits equal = *out == sum + (rest - err);
    return (equal[0] & equal[1]) != 0;
}

/* One pair for the integer position m > 0. false: undecided. */
static inline bool quick_pair(double *cos_out, double *sin_out, const struct quick *q, uint64_t m,
                              uint64_t position_sign)
{
    turn_u128 low = (turn_u128)q->limb[1] * m + (uint64_t)((turn_u128)q->limb[0] * m >> 64);
    uint64_t t0 = (uint64_t)low;
    uint64_t t1 = q->limb[2] * m + (uint64_t)(low >> 64);
    /* The nearest 1/1024 turn, and what is left: |rest| <= 2^-11 turn, by one's complement. */
    uint64_t rounded = t1 + ((uint64_t)1 << 53);
    unsigned place = (unsigned)(rounded >> 54);
    uint64_t rest = (rounded & (((uint64_t)1 << 54) - 1)) - ((uint64_t)1 << 53);
    uint64_t sign = 0 - (rest >> 63);
    rest ^= sign;
    t0 ^= sign;
    int zeros = __builtin_clzll(rest | 1); /* >= 10 */
    uint64_t high = rest << zeros | t0 >> (64 - zeros);
    t0 <<= zeros;
    /* times 2 pi: d 2^(-zeros - 125) radians, as 27 bits and 63 bits */
    turn_u128 d = (turn_u128)high * TURN_TWO_PI_HIGH +
                  (uint64_t)((turn_u128)high * TURN_TWO_PI_LOW >> 64) +
                  (uint64_t)((turn_u128)t0 * TURN_TWO_PI_HIGH >> 64);
    uint64_t dh = (uint64_t)(d >> 64);
    uint64_t dm = (dh & (((uint64_t)1 << 37) - 1)) << 26 | (uint64_t)d >> 38;
    unsigned odd = place >> 8 & 1;
    uint64_t d_sign = (sign ^ odd) << 63;
    double unit = bits_double((uint64_t)(1023 - 24 - zeros - q->scale) << 52 | d_sign);
    double d1 = (double)(int64_t)(dh >> 37) * unit;
    double d2 = (double)(int64_t)dm * (unit * 0x1p-63);
    lanes v;
    bool decided = turn_step(&v, &posref_turn_parts[place & 255], odd, d1, d2);
    /* The half turn negates both, a negative position the sine. */
    uint64_t half = (uint64_t)(place >> 9) << 63;
    *sin_out = bits_double(double_bits(v[0]) ^ half ^ position_sign);
    *cos_out = bits_double(double_bits(v[1]) ^ half);
    return decided && zeros <= 48;
}

static bool careful_pair(double *cos_out, double *sin_out, const struct posref_turn *turn,
                         double position)
{
    const struct posref_magnitude one = {1, 0, true, true};
    struct posref_dd c;
    struct posref_dd s;
    double cosine;
    double sine;
    posref_turn_cos_sin_dd(&c, &s, turn, &one, position);
    if (!posref_dd_round(&cosine, &c) || !posref_dd_round(&sine, &s))
        return false;
    *cos_out = cosine;
    *sin_out = sine;
    return true;
}

size_t posref_turn_cos_sin(double *cos_out, double *sin_out, bool *undecided,
                           const struct posref_turn *turn, const double *positions, size_t n)
{
    struct quick quick;
    bool have_quick = prepare(&quick, turn);
    size_t n_undecided = 0;
    for (size_t k = 0; k < n; k++) {
        double position = positions[k];
        double size = fabs(position);
        undecided[k] = false;
        if (size == 0) {
            cos_out[k] = 1;
            sin_out[k] = 0;
            continue;
        }
        if (have_quick && size >= 1 && size <= POSREF_MAX_POSITION) {
            int64_t m = (int64_t)size;
            uint64_t sign = double_bits(position) & (uint64_t)1 << 63;
            if ((double)m == size &&
                quick_pair(&cos_out[k], &sin_out[k], &quick, (uint64_t)m, sign))
                continue;
        }
        undecided[k] = !careful_pair(&cos_out[k], &sin_out[k], turn, position);
        n_undecided += undecided[k];
    }
    return n_undecided;
}
