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

static inline bool test(double *out, double head, double tail)
{
    double err = head * TURN_QUICK_ERROR;
    *out = head + (tail + err);
    return *out == head + (tail - err);
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
    double unit = bits_double((uint64_t)(1023 - 24 - zeros - q->scale) << 52 |
                              (sign & (uint64_t)1 << 63));
    double d1 = (double)(int64_t)(dh >> 37) * unit;
    double d2 = (double)(int64_t)dm * (unit * 0x1p-63);

    const struct turn_parts *s = &posref_turn_parts[place & 255];
    const struct turn_parts *c = &posref_turn_parts[TURN_STEPS - (place & 255)];
    double d_all = d1 + d2;
    double square = d_all * d_all;
    double sin_d = d_all * (square * (-1.0 / 6 + square * (1.0 / 120 - square * (1.0 / 5040))));
    double cos_d = square * (-0.5 + square * (1.0 / 24 - square * (1.0 / 720)));
    double sine = s->head + s->tail;
    double cosine = c->head + c->tail;
    /* head + d1 head is error-free: 26 by 27 bits, and the first is 0 or the larger. */
    double p = c->head * d1;
    double sum = s->head + p;
    double tail = p - (sum - s->head);
    tail += ((s->tail + c->tail * d_all) + c->head * d2) + (sine * cos_d + cosine * sin_d);
    double s_out;
    bool decided = test(&s_out, sum, tail);
    p = -s->head * d1;
    sum = c->head + p;
    tail = p - (sum - c->head);
    tail += ((c->tail - s->tail * d_all) - s->head * d2) + (cosine * cos_d - sine * sin_d);
    double c_out;
    decided &= test(&c_out, sum, tail);
    decided &= zeros <= 48;
    /* Quarter turns: (c, s) -> (-s, c) -> (-c, -s) -> (s, -c). */
    uint64_t cb = double_bits(c_out);
    uint64_t sb = double_bits(s_out);
    uint64_t swap = (cb ^ sb) & (0 - (uint64_t)(place >> 8 & 1));
    cb ^= swap;
    sb ^= swap;
    cb ^= (uint64_t)((place + 256) >> 9 & 1) << 63;
    sb ^= (uint64_t)(place >> 9 & 1) << 63 ^ position_sign;
    *cos_out = bits_double(cb);
    *sin_out = bits_double(sb);
    return decided;
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
