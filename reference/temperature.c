/* SPDX-License-Identifier: Apache-2.0 */
/* Temperatures that multiply a query by its position p, beside or instead of an encoding:
 *
 *     llama4     1 + s ln(1 + floor((p + 1) / L))     Llama 4, layers without rope
 *     ministral  1 + s ln(1 + floor(p / L))           Ministral 3
 *     llama_cpp  1 + s ln(1 + floor((p + o) / L))     llama.cpp
 *     logn       max(1, ln(p + 1) / ln L)             Qwen 1: log of the 1-based position over the
 *                                                     trained length's
 *
 * s = temperature_scale, L = temperature_length, o = temperature_offset. */
#include "attention.h"

#include <math.h>

enum posref_status posref_temperature_check(struct posref_spec *spec, struct posref_error *err)
{
    static const enum posref_field own[] = {POSREF_FIELD_TEMPERATURE_SCALE,
                                            POSREF_FIELD_TEMPERATURE_LENGTH,
                                            POSREF_FIELD_TEMPERATURE_OFFSET};
    const bool none = !spec->given[POSREF_FIELD_TEMPERATURE] ||
                      spec->temperature == POSREF_TEMPERATURE_NONE;
    const bool logn = !none && spec->temperature == POSREF_TEMPERATURE_LOGN;
    const bool offset = !none && spec->temperature == POSREF_TEMPERATURE_LLAMA_CPP;
    for (size_t n = 0; n < sizeof own / sizeof *own; n++) {
        const bool taken = !none && (own[n] == POSREF_FIELD_TEMPERATURE_LENGTH ||
                                     (own[n] == POSREF_FIELD_TEMPERATURE_SCALE && !logn) ||
                                     (own[n] == POSREF_FIELD_TEMPERATURE_OFFSET && offset));
        if (spec->given[own[n]] && !taken)
            return posref_fail(err, POSREF_BAD_INPUT, posref_field_def(own[n])->name,
                               "this temperature takes none");
        if (spec->given[own[n]] || !taken)
            continue;
        if (own[n] == POSREF_FIELD_TEMPERATURE_LENGTH)
            return posref_fail(err, POSREF_BAD_INPUT, "temperature_length",
                               "is required by temperature");
        if (own[n] == POSREF_FIELD_TEMPERATURE_SCALE)
            spec->temperature_scale = 0.1;
        else
            spec->temperature_offset = 0;
        spec->given[own[n]] = true;
    }
    if (logn && !(spec->temperature_length > 1))
        return posref_fail(err, POSREF_BAD_INPUT, "temperature_length",
                           "logn divides by its logarithm: it must be above 1");
    return POSREF_OK;
}

/* floor((p + o) / L) >= 0, decided on exact products. */
static int64_t steps(double position, double offset, double length)
{
    const unsigned exact_bits = 2200;
    struct posref_ball at, part, edge;
    posref_ball_set_double(&at, position);
    posref_ball_set_double(&part, offset);
    posref_ball_add(&at, &at, &part, exact_bits);
    posref_ball_set_double(&part, length);
    int64_t n = (int64_t)floor((position + offset) / length);
    for (;;) { /* the quotient of doubles is off by one at most */
        posref_ball_set_int(&edge, n);
        posref_ball_mul(&edge, &edge, &part, exact_bits);
        if (posref_ball_compare(&edge, &at) == 1) {
            n--;
            continue;
        }
        posref_ball_set_int(&edge, n + 1);
        posref_ball_mul(&edge, &edge, &part, exact_bits);
        if (posref_ball_compare(&edge, &at) == 1)
            return n;
        n++;
    }
}

static enum posref_status by_steps(struct posref_ball *out, const struct posref_spec *spec,
                                   double position, unsigned prec_bits)
{
    double offset = spec->temperature == POSREF_TEMPERATURE_LLAMA4      ? 1
                    : spec->temperature == POSREF_TEMPERATURE_LLAMA_CPP ? spec->temperature_offset
                                                                        : 0;
    int64_t n = steps(position, offset, spec->temperature_length);
    struct posref_ball part;
    posref_ball_set_int(out, n + 1);
    if (!posref_ball_log(out, out, prec_bits))
        return POSREF_INTERNAL;
    if (n == 0)
        posref_ball_set_int(out, 0); /* ln 1, exactly */
    posref_ball_set_double(&part, spec->temperature_scale);
    posref_ball_mul(out, out, &part, prec_bits);
    posref_ball_set_int(&part, 1);
    posref_ball_add(out, out, &part, prec_bits);
    return POSREF_OK;
}

/* ln n / ln L; both powers of two: the quotient of their exponents. (Other rational quotients, 3^4
 * over 3^2, stay enclosures: a score that is a tie by them alone is rounded to either side.) */
static enum posref_status logn(struct posref_ball *out, const struct posref_spec *spec,
                               double position, unsigned prec_bits)
{
    struct posref_ball one, length;
    int of_n, of_length;
    posref_ball_set_int(&one, 1);
    posref_ball_set_double(out, position);
    posref_ball_add(out, out, &one, 2200);
    posref_ball_set_double(&length, spec->temperature_length);
    if (posref_ball_compare(out, &length) != 1) {
        posref_ball_set_int(out, 1);
        return POSREF_OK;
    }
    if (frexp(position + 1, &of_n) == 0.5 && (position + 1) - 1 == position &&
        frexp(spec->temperature_length, &of_length) == 0.5) {
        posref_ball_ratio(out, of_n - 1, of_length - 1, prec_bits);
        return POSREF_OK;
    }
    if (!posref_ball_log(out, out, prec_bits) || !posref_ball_log(&length, &length, prec_bits) ||
        !posref_ball_div(out, out, &length, prec_bits))
        return POSREF_INTERNAL;
    return POSREF_OK;
}

enum posref_status posref_temperature_ball(struct posref_ball *out, const struct posref_spec *spec,
                                           double position, unsigned prec_bits)
{
    return spec->temperature == POSREF_TEMPERATURE_LOGN ? logn(out, spec, position, prec_bits)
                                                        : by_steps(out, spec, position, prec_bits);
}
