/* SPDX-License-Identifier: Apache-2.0 */
/* Bulk cosine and sine of integer positions: a quick phase in doubles good to 2^-66, decided by a
 * rounding test; what it leaves goes to the double-double phase. docs/numerics.md section 4. */
#include "turn_impl.h"

#include <math.h>

/* theta / 2pi * 2^scale as a fraction of 192 bits, cut off; unit = 2^(-64 - scale). scale > 0 for
 * frequencies so low that no position reaches 2^-11 turn: it only keeps their bits in view. */
struct quick {
    uint64_t limb[3];
    double unit;
};

static bool prepare(struct quick *out, const struct posref_turn *turn)
{
    int top = turn->exponent + 192; /* theta / 2pi is in [2^(top - 1), 2^top) */
    if (turn->is_zero || top > 0 || top < -300)
        return false;
    int scale = top < -42 ? -42 - top : 0;
    int down = -(top + scale); /* 0 .. 42 */
    for (int i = 0; i < 3; i++) {
        uint64_t high = i < 2 && down ? turn->limb[i + 1] << (64 - down) : 0;
        out->limb[i] = turn->limb[i] >> down | high;
    }
    out->unit = bits_double((uint64_t)(1023 - 64 - scale) << 52);
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

#define TWO_PI 0x1.921fb54442d18p+2
#define SQUARE (TWO_PI * TWO_PI)

/* (sin, cos) of the step moved by high + low turns, |high| <= 2^-11: true when the rounding test
 * decides both. The order of the operations keeps the path from `high` to the result short: it is
 * latency that this function costs. */
static inline bool move(lanes *out, const struct turn_parts *step, unsigned odd, double high,
                        double low)
{
    lanes head = load(step->head + odd);
    lanes tail = load(step->tail + odd);
    lanes slope_head = load(step->slope_head + odd);
    lanes slope_tail = load(step->slope_tail + odd);
    lanes value = head + tail;
    lanes slope = slope_head + slope_tail;
    /* high cut to 27 bits: its product with the 26 of slope_head is exact. */
    double first = bits_double(double_bits(high) & ~(uint64_t)0x3ffffff);
    double second = (high - first) + low;
    double square = high * high;
    /* (sin x - x) / x^3 and (cos x - 1) / x^2 in turns; the slope brings the missing 2 pi. */
    const lanes a1 = {-SQUARE / 6, -SQUARE / 2};
    const lanes a2 = {SQUARE * SQUARE / 120, SQUARE * SQUARE / 24};
    const lanes a3 = {-SQUARE * SQUARE * SQUARE / 5040, -SQUARE * SQUARE * SQUARE / 720};
    lanes series = (a1 + both(square) * a2) + both(square * square) * a3;
    lanes curve = (value * both(square)) * both(series[1]) +
                  (slope * both(high * square)) * both(series[0]);
    /* head + p is error-free: head is zero or the larger. */
    lanes p = slope_head * both(first);
    lanes sum = head + p;
    lanes rest = (p - (sum - head)) +
                 ((tail + slope_tail * both(first)) + slope * both(second));
    lanes err = sum * both(TURN_QUICK_ERROR);
    *out = sum + (curve + (rest + err));
    lane_bits equal = *out == sum + (curve + (rest - err));
    return (equal[0] & equal[1]) != 0;
}

/* One pair for the integer position m, negated when position_sign is the sign bit. false:
 * undecided. */
static inline bool quick_pair(double *cos_out, double *sin_out, const struct quick *q, uint64_t m,
                              uint64_t position_sign)
{
    turn_u128 low = (turn_u128)q->limb[1] * m + (uint64_t)((turn_u128)q->limb[0] * m >> 64);
    uint64_t t1 = q->limb[2] * m + (uint64_t)(low >> 64);
    /* The nearest 1/1024 turn, and what is left: near * 2^-64 + the low limb * 2^-128. */
    uint64_t rounded = t1 + ((uint64_t)1 << 53);
    unsigned place = (unsigned)(rounded >> 54);
    int64_t near = (int64_t)(rounded & (((uint64_t)1 << 54) - 1)) - ((int64_t)1 << 53);
    lanes v;
    bool decided = move(&v, &posref_turn_parts[place & 255], place >> 8 & 1,
                        (double)near * q->unit,
                        (double)(int64_t)((uint64_t)low >> 1) * (q->unit * 0x1p-63));
    /* The half turn negates both, a negative position the sine. */
    uint64_t half = (uint64_t)(place >> 9) << 63;
    *sin_out = bits_double(double_bits(v[0]) ^ half ^ position_sign);
    *cos_out = bits_double(double_bits(v[1]) ^ half);
    /* Below 2^-43 turn too few bits are in view, but position 0 is exact as it stands. */
    bool in_view = (uint64_t)near + (1 << 21) > 1 << 22;
    return decided & (in_view | (m == 0));
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

/* The quick phase, for the integer positions in its range. */
static inline bool quick_position(double *cos_out, double *sin_out, const struct quick *quick,
                                  double position)
{
    double size = fabs(position);
    /* Adding 2^52 leaves the integer in the low bits. */
    double shifted = size + 0x1p52;
    uint64_t m = double_bits(shifted) & 0xffffffffu;
    uint64_t sign = position < 0 ? (uint64_t)1 << 63 : 0; /* not of -0 */
    return size <= POSREF_MAX_POSITION && shifted - 0x1p52 == size &&
           quick_pair(cos_out, sin_out, quick, m, sign);
}

bool posref_turn_quick(double *cos_out, double *sin_out, const struct posref_turn *turn,
                       double position)
{
    struct quick quick;
    return prepare(&quick, turn) && quick_position(cos_out, sin_out, &quick, position);
}

size_t posref_turn_cos_sin(double *cos_out, double *sin_out, bool *undecided,
                           const struct posref_turn *turn, const double *positions, size_t n)
{
    struct quick quick;
    bool use_quick = prepare(&quick, turn);
    size_t n_undecided = 0;
    for (size_t k = 0; k < n; k++) {
        undecided[k] = !(use_quick && quick_position(&cos_out[k], &sin_out[k], &quick,
                                                     positions[k])) &&
                       !careful_pair(&cos_out[k], &sin_out[k], turn, positions[k]);
        n_undecided += undecided[k];
    }
    return n_undecided;
}
