/* SPDX-License-Identifier: Apache-2.0 */
/* Narrowing and widening on every 8- and 16-bit pattern, on the midpoints between neighbours and
 * one ulp of a double to either side, and on float32 against the compiler's own conversion. */
#include "reference/reference.h"
#include "tests/unit/suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double step(double x, int64_t by)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits += by;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x rounded to a multiple of `unit` by the definition, without narrow.c: ties go to the even
 * multiple. unit is a power of two, |x / unit| < 2^52. */
static double round_to_unit(double x, double unit)
{
    double n = x / unit;
    double low = floor(n);
    double rest = n - low; /* exact */
    bool up = rest > 0.5 || (rest == 0.5 && fmod(low, 2) != 0);
    return (low + up) * unit;
}

static double by_definition(double x, int man_bits, int min_exponent, double largest)
{
    int e;
    (void)frexp(x, &e);
    e = e - 1 < min_exponent ? min_exponent : e - 1;
    double y = round_to_unit(x, ldexp(1, e - man_bits));
    return y > largest ? (double)INFINITY : y < -largest ? -(double)INFINITY : y;
}

struct kind {
    enum posref_dtype dtype;
    int man_bits, min_exponent;
    double largest;
};

static const struct kind kinds[] = {
    {POSREF_F16, 10, -14, 65504.0},
    {POSREF_BF16, 7, -126, 0x1.fep127},
    {POSREF_F32, 23, -126, 0x1.fffffep127},
};

static void same(double got, double want)
{
    ck_assert_msg(memcmp(&got, &want, sizeof got) == 0, "got %a want %a", got, want);
}

static void check_value(const struct kind *k, double x)
{
    double want = by_definition(x, k->man_bits, k->min_exponent, k->largest);
    if (want == 0)
        want = copysign(0, x);
    same(posref_widen(posref_narrow(x, k->dtype), k->dtype), want);
}

START_TEST(every_16_bit_pattern)
{
    const struct kind *k = &kinds[_i];
    for (uint32_t bits = 0; bits < 65536; bits++) {
        double x = posref_widen(bits, k->dtype);
        if (isnan(x)) {
            uint32_t back = posref_narrow(x, k->dtype);
            ck_assert(isnan(posref_widen(back, k->dtype)));
            ck_assert_uint_eq(back >> (k->man_bits - 1) & 1, 1); /* quiet */
            ck_assert_uint_eq(back >> 15, bits >> 15);
            continue;
        }
        ck_assert_uint_eq(posref_narrow(x, k->dtype), bits);
        if (isinf(x))
            continue;
        double next = posref_widen(bits + 1, k->dtype); /* away from zero */
        if (isinf(next))
            next = copysign(ldexp(1, k->dtype == POSREF_F16 ? 16 : 128), x);
        double middle = x / 2 + next / 2;
        uint32_t even = bits & 1 ? bits + 1 : bits;
        ck_assert_uint_eq(posref_narrow(middle, k->dtype), even);
        ck_assert_uint_eq(posref_narrow(step(middle, 1), k->dtype), bits + 1);
        ck_assert_uint_eq(posref_narrow(step(middle, -1), k->dtype), bits);
        check_value(k, x);
        check_value(k, middle);
        check_value(k, step(middle, 1));
        check_value(k, step(middle, -1));
    }
}
END_TEST

START_TEST(widening_is_the_formula)
{
    const struct kind *k = &kinds[_i];
    for (uint32_t bits = 0; bits < 65536; bits++) {
        uint32_t field = (bits & 0x7fff) >> k->man_bits;
        uint32_t man = bits & ((1u << k->man_bits) - 1);
        if (field == 0x7fffu >> k->man_bits)
            continue;
        double want = field ? ldexp(1 + ldexp(man, -k->man_bits), (int)field + k->min_exponent - 1)
                            : ldexp(man, k->min_exponent - k->man_bits);
        same(posref_widen(bits, k->dtype), bits >> 15 ? -want : want);
    }
}
END_TEST

START_TEST(random_doubles)
{
    const struct kind *k = &kinds[_i];
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < 200000; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        uint64_t bits = state;
        if (i % 4) /* near the dtype's range; many low bits zero */
            bits = (bits & 0x800fffffffffffffu) | (uint64_t)(1023 - 160 + (i * 7) % 300) << 52;
        if (i % 3 == 0)
            bits &= ~(uint64_t)0 << (52 - k->man_bits - 1);
        double x;
        memcpy(&x, &bits, sizeof x);
        if (isnan(x) || isinf(x))
            continue;
        check_value(k, x);
        if (k->dtype == POSREF_F32) {
            volatile float narrow = (float)x;
            same(posref_widen(posref_narrow(x, POSREF_F32), POSREF_F32), (double)narrow);
        }
    }
}
END_TEST

START_TEST(edges)
{
    ck_assert_uint_eq(posref_narrow(0.0, POSREF_BF16), 0);
    ck_assert_uint_eq(posref_narrow(-0.0, POSREF_BF16), 0x8000);
    ck_assert_uint_eq(posref_narrow(-0.0, POSREF_F32), 0x80000000u);
    ck_assert_uint_eq(posref_narrow(65519.999, POSREF_F16), 0x7bff);
    ck_assert_uint_eq(posref_narrow(65520, POSREF_F16), 0x7c00);
    ck_assert_uint_eq(posref_narrow(-1e300, POSREF_BF16), 0xff80);
    ck_assert_uint_eq(posref_narrow(HUGE_VAL, POSREF_F32), 0x7f800000u);
    ck_assert_uint_eq(posref_narrow(-(double)NAN, POSREF_F32) & 0x7fc00000u, 0x7fc00000u);
    ck_assert_uint_eq(posref_narrow(0x1p-1074, POSREF_F32), 0);
    ck_assert_uint_eq(posref_narrow(-0x1p-150, POSREF_F32), 0x80000000u);
    ck_assert_uint_eq(posref_narrow(0x1.0000000000001p-150, POSREF_F32), 1);
    /* Through float32 the first would be a tie and give 0x3f80. */
    ck_assert_uint_eq(posref_narrow(0x1.01000000001p0, POSREF_BF16), 0x3f81);
    ck_assert_uint_eq(posref_narrow(0x1.00ffffffffp0, POSREF_BF16), 0x3f80);
}
END_TEST

/* The value of an 8-bit code by the OCP's tables; both of its formats, NaN and infinity apart. */
static double value_of_code(uint32_t code, int man_bits, int bias)
{
    const int field = (int)(code & 127) >> man_bits;
    const double man = ldexp(code & ((1u << man_bits) - 1), -man_bits);
    const double size = field ? ldexp(1 + man, field - bias) : ldexp(man, 1 - bias);
    return code & 128 ? -size : size;
}

static const struct {
    enum posref_dtype dtype;
    int man_bits, bias;
    uint32_t last; /* the largest number's code */
    double largest, next; /* what would come next, were there one more */
} bytes[] = {{POSREF_F8E4M3, 3, 7, 0x7e, 448, 480}, {POSREF_F8E5M2, 2, 15, 0x7b, 57344, 65536}};

START_TEST(every_8_bit_code)
{
    const enum posref_dtype dtype = bytes[_i].dtype;
    const uint32_t last = bytes[_i].last;
    ck_assert_uint_eq(posref_dtype_size(dtype), 1);
    same(posref_widen(last, dtype), bytes[_i].largest);
    for (uint32_t sign = 0; sign < 256; sign += 128)
        for (uint32_t code = sign; code <= sign + last; code++) {
            const double x = value_of_code(code, bytes[_i].man_bits, bytes[_i].bias);
            const double next = code < sign + last
                                    ? value_of_code(code + 1, bytes[_i].man_bits, bytes[_i].bias)
                                    : copysign(bytes[_i].next, x);
            const double middle = x / 2 + next / 2;
            same(posref_widen(code, dtype), x);
            ck_assert_uint_eq(posref_narrow(x, dtype), code);
            ck_assert_uint_eq(posref_narrow(middle, dtype), code & 1 ? code + 1 : code);
            ck_assert_uint_eq(posref_narrow(step(middle, 1), dtype), code + 1);
            ck_assert_uint_eq(posref_narrow(step(middle, -1), dtype), code);
            ck_assert_uint_eq(posref_narrow(x * 0.75 + next * 0.25, dtype), code);
            ck_assert_uint_eq(posref_narrow(x * 0.25 + next * 0.75, dtype), code + 1);
        }
}
END_TEST

START_TEST(ends_of_8_bits)
{
    for (uint32_t code = 0; code < 256; code++) {
        ck_assert_int_eq(isnan(posref_widen(code, POSREF_F8E4M3)) != 0, (code & 127) == 127);
        ck_assert_int_eq(isnan(posref_widen(code, POSREF_F8E5M2)) != 0, (code & 127) > 124);
        ck_assert_int_eq(isinf(posref_widen(code, POSREF_F8E5M2)) != 0, (code & 127) == 124);
    }
    static const double large[] = {465, 512, 1e5, 1e300, HUGE_VAL};
    for (size_t k = 0; k < sizeof large / sizeof *large; k++) {
        ck_assert_uint_eq(posref_narrow(large[k], POSREF_F8E4M3), 0x7f);
        ck_assert_uint_eq(posref_narrow(-large[k], POSREF_F8E4M3), 0xff);
        if (large[k] > 61440)
            ck_assert_uint_eq(posref_narrow(-large[k], POSREF_F8E5M2), 0xfc);
    }
    ck_assert_uint_eq(posref_narrow(-0.0, POSREF_F8E4M3), 0x80);
    ck_assert_uint_eq(posref_narrow(0x1p-10, POSREF_F8E4M3), 0);
    ck_assert_uint_eq(posref_narrow(-0x1.8p-10, POSREF_F8E4M3), 0x81);
    ck_assert(isnan(posref_rounded((double)NAN, POSREF_F8E4M3)));
    ck_assert(isnan(posref_rounded(-(double)NAN, POSREF_F8E5M2)));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("narrow");
    TCase *tcase = tcase_create("narrow");
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, every_16_bit_pattern, 0, 2);
    tcase_add_loop_test(tcase, widening_is_the_formula, 0, 2);
    tcase_add_loop_test(tcase, random_doubles, 0, 3);
    tcase_add_test(tcase, edges);
    tcase_add_loop_test(tcase, every_8_bit_code, 0, 2);
    tcase_add_test(tcase, ends_of_8_bits);
    return run_suite(suite);
}
