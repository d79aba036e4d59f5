/* SPDX-License-Identifier: Apache-2.0 */
/* Canonical numbers: the formatter against strtod and "%.17g", its table against plain big
 * integers, ECMAScript's form, and the parser. POSREF_SEED and POSREF_ROUNDS widen the search. */
#include "tests/unit/suite.h"
#include "vectors/number_powers.h"
#include "vectors/vectors.h"

#include <check.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The digits of a decimal text, without leading and trailing zeros, point and exponent. */
static void significant(char *out, const char *text)
{
    size_t n = 0;
    for (const char *at = text; *at && *at != 'e'; at++)
        if (*at >= '0' && *at <= '9' && (n || *at != '0'))
            out[n++] = *at;
    while (n && out[n - 1] == '0')
        n--;
    out[n] = '\0';
}

/* Fewest digits for which printf's correctly rounded text reads back; printf gives the closest of
 * that length, so when the lengths agree, the digits must too (unless several are as short and
 * none of them is printf's: only next to a power of two). */
static void check_shortest(double x)
{
    char got[POSREF_NUMBER_SIZE], want[40], got_digits[40], want_digits[40];
    size_t length = posref_number_format(got, x);
    ck_assert_uint_eq(length, strlen(got));
    const char *point = strchr(got, '.');
    ck_assert_msg(!point || point[strcspn(point, "e") - 1] != '0', "%a printed as %s", x, got);
    ck_assert_msg(bits_of(strtod(got, NULL)) == bits_of(x), "%a printed as %s", x, got);
    int precision = 0;
    do
        snprintf(want, sizeof want, "%.*e", precision, x);
    while (precision++ < 17 && strtod(want, NULL) != x);
    significant(got_digits, got);
    significant(want_digits, want);
    bool power_of_two = !(bits_of(x) << 12);
    if (power_of_two)
        ck_assert_msg(strlen(got_digits) <= strlen(want_digits), "%a: %s, %s", x, got, want);
    else
        ck_assert_msg(strcmp(got_digits, want_digits) == 0, "%a: %s, %s", x, got, want);
}

static void check_text(double x, const char *want)
{
    char got[POSREF_NUMBER_SIZE];
    posref_number_format(got, x);
    ck_assert_str_eq(got, want);
}

START_TEST(ecmascript_form)
{
    check_text(0.0, "0");
    check_text(-0.0, "-0.0");
    check_text(1, "1");
    check_text(-1.5, "-1.5");
    check_text(0.1, "0.1");
    check_text(1e-6, "0.000001");
    check_text(1.5e-6, "0.0000015");
    check_text(1e-7, "1e-7");
    check_text(1.25e-7, "1.25e-7");
    check_text(123456789012345680000.0, "123456789012345680000");
    check_text(1e20, "100000000000000000000");
    check_text(1e21, "1e+21");
    check_text(1.5e22, "1.5e+22");
    check_text(-1.7976931348623157e308, "-1.7976931348623157e+308");
    check_text(5e-324, "5e-324");
    check_text(2.2250738585072014e-308, "2.2250738585072014e-308");
    check_text(9007199254740993.0, "9007199254740992");
    check_text(2e-44, "2e-44");
    check_text(9.5, "9.5");
    check_text(HUGE_VAL, "\"Infinity\"");
    check_text(-HUGE_VAL, "\"-Infinity\"");
    check_text((double)NAN, "\"NaN\"");
    check_text(-(double)NAN, "\"NaN\"");
}
END_TEST

START_TEST(shortest_and_exact)
{
    for (int e = -1074; e <= 1023; e++) {
        double power = ldexp(1, e);
        check_shortest(power);
        check_shortest(nextafter(power, HUGE_VAL));
        if (power > 5e-324)
            check_shortest(nextafter(power, 0));
    }
    for (int e = -323; e <= 308; e++) {
        char text[16];
        snprintf(text, sizeof text, "1e%d", e);
        double power = strtod(text, NULL);
        check_shortest(power);
        check_shortest(nextafter(power, HUGE_VAL));
        check_shortest(nextafter(power, 0));
    }
    for (uint64_t bits = 1; bits < 2000; bits++) /* subnormals */
        check_shortest(from_bits(bits));
    for (int i = 1; i < 3000; i++) {
        check_shortest(1234567890.12345 + i * 1e-5); /* 15 digits */
        check_shortest(i / 64.0), check_shortest(i * 0.001), check_shortest(i);
    }
}
END_TEST

START_TEST(random_bits)
{
    const char *seed_text = getenv("POSREF_SEED"), *rounds_text = getenv("POSREF_ROUNDS");
    uint64_t seed = seed_text ? strtoull(seed_text, NULL, 0) : 20261129;
    long rounds = rounds_text ? strtol(rounds_text, NULL, 0) : 20000;
    printf("random_bits: POSREF_SEED=%llu POSREF_ROUNDS=%ld\n", (unsigned long long)seed, rounds);
    for (long i = 0; i < rounds; i++) {
        double x = from_bits(next_random(&seed));
        if (isfinite(x) && bits_of(x) << 1)
            check_shortest(x);
        uint64_t subnormal = next_random(&seed) >> 12 >> next_random(&seed) % 50;
        if (subnormal)
            check_shortest(from_bits(subnormal));
        check_shortest((double)(next_random(&seed) >> 11 | 1) * 0x1p-53); /* as cosines are */
    }
}
END_TEST

/* 10^k * 2^s by schoolbook arithmetic: multiply by ten or divide by ten in 32-bit limbs. */
#define LIMBS 80

static void limbs_to_entry(uint64_t out[2], const uint32_t *limb, bool cut)
{
    int top = LIMBS * 32 - 1;
    while (!(limb[top / 32] >> top % 32 & 1))
        top--;
    memset(out, 0, 16);
    for (int bit = 0; bit <= top; bit++) {
        bool set = limb[bit / 32] >> bit % 32 & 1;
        int to = bit - (top - 127);
        if (to < 0)
            cut |= set;
        else if (set)
            out[to < 64] |= (uint64_t)1 << to % 64;
    }
    if (cut && ++out[1] == 0)
        out[0]++;
}

START_TEST(table_of_powers)
{
    uint32_t limb[LIMBS] = {1};
    uint64_t want[2];
    for (int k = 0; k <= POSREF_POWER_MAX; k++) {
        limbs_to_entry(want, limb, false);
        const uint64_t *got = posref_power10[k - POSREF_POWER_MIN];
        ck_assert_msg(got[0] == want[0] && got[1] == want[1], "10^%d", k);
        uint64_t carry = 0;
        for (int i = 0; i < LIMBS; i++) {
            carry += (uint64_t)limb[i] * 10;
            limb[i] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    /* Downwards: 10^k = (2^2550 / 10^-k) * 2^-2550, remainders only make it smaller. */
    memset(limb, 0, sizeof limb);
    limb[2550 / 32] = 1u << 2550 % 32;
    for (int k = -1; k >= POSREF_POWER_MIN; k--) {
        uint64_t rest = 0;
        for (int i = LIMBS - 1; i >= 0; i--) {
            rest = rest << 32 | limb[i];
            limb[i] = (uint32_t)(rest / 10);
            rest %= 10;
        }
        limbs_to_entry(want, limb, true);
        const uint64_t *got = posref_power10[k - POSREF_POWER_MIN];
        ck_assert_msg(got[0] == want[0] && got[1] == want[1], "10^%d", k);
    }
}
END_TEST

static void check_read(const char *text, double want)
{
    struct posref_error err = {{0}, {0}};
    double got = 42;
    ck_assert_msg(posref_number_parse(&got, text, "key", &err) == POSREF_OK, "%s: %s", text,
                  err.text);
    ck_assert_msg(bits_of(got) == bits_of(want), "%s read as %a, not %a", text, got, want);
}

static void check_refused(const char *text)
{
    struct posref_error err = {{0}, {0}};
    double got = 42;
    ck_assert_msg(posref_number_parse(&got, text, "key", &err) == POSREF_BAD_INPUT, "%s", text);
    ck_assert_str_eq(err.key, "key");
    ck_assert(got == 42);
}

START_TEST(reads)
{
    check_read("0", 0);
    check_read("-0", -0.0);
    check_read("-0.0", -0.0);
    check_read("+1.5", 1.5);
    check_read(".5", 0.5);
    check_read("5.", 5);
    check_read("1e4", 1e4);
    check_read("1E+4", 1e4);
    check_read("0.1", 0.1);
    check_read("0.30000000000000004", 0.30000000000000004);
    check_read("123456789012345678901234567890", 123456789012345678901234567890.0);
    check_read("9007199254740993", 9007199254740992.0);
    check_read("9007199254740993.0000000000000000000001", 9007199254740994.0);
    check_read("2.2250738585072011e-308", 2.2250738585072011e-308);
    check_read("4.9406564584124654e-324", 5e-324);
    check_read("1e-400", 0);
    check_read("0x1.8p1", 3);
    check_read("-0X1P-3", -0.125);
    check_read("0x.8", 0.5);
    check_read("3ff0000000000000", 1);
    check_read("BFF8000000000000", -1.5);
    check_read("4000000000000000", 4e15); /* a decimal: see vectors.h */
    check_read("bits:4000000000000000", 2);
    check_read("1234567890123456", 1234567890123456.0);
    check_read("1e00000000000001", 10);
}
END_TEST

START_TEST(refuses)
{
    static const char *const bad[] = {"", " 1", "1 ", "1,5", "abc", "1e", "1e+", "0x", "0xp1",
                                      "0x1p", "--1", "1.2.3", "nan", "inf", "Infinity", "NaN",
                                      "1e999", "-1e999", "0x1p1024", "7ff0000000000000",
                                      "7ff8000000000000", "3ff00000000000000", "bits:3ff", "1_0",
                                      "bits:", "1f", "\xc2\xbd", "+-1", "e5", ".", "-", "+"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_refused(bad[i]);
    char *long_text = malloc(5000);
    memset(long_text, '1', 4999);
    long_text[4999] = '\0';
    check_refused(long_text);
    free(long_text);
}
END_TEST

START_TEST(reads_what_it_prints)
{
    uint64_t seed = 7;
    for (int i = 0; i < 30000; i++) {
        double x = i % 2 ? from_bits(next_random(&seed))
                         : (double)(int64_t)next_random(&seed) * 0x1p-60;
        if (!isfinite(x))
            continue;
        char text[POSREF_NUMBER_SIZE];
        posref_number_format(text, x);
        check_read(text, x);
    }
}
END_TEST

/* Each form is a JSON string that reads back to the same bits; hex floats are printf's. */
START_TEST(other_forms)
{
    static const double plain[] = {0, -0.0, 1, -1.5, 0.1, 0x1p-1074, 0x1.8p-1070, 0x1p-1022,
                                   0x1.fffffffffffffp+1023, 65536, 1e22};
    uint64_t state = 7;
    for (int i = 0; i < 5000; i++) {
        size_t n = sizeof plain / sizeof *plain;
        double x = (size_t)i < n ? plain[i] : from_bits(next_random(&state)), back;
        if (!isfinite(x))
            continue;
        for (int form = POSREF_NUMBERS_HEX; form < POSREF_N_NUMBER_FORMS; form++) {
            char got[POSREF_NUMBER_SIZE], want[40];
            size_t length = posref_number_write(got, x, (enum posref_number_form)form);
            ck_assert_uint_eq(length, strlen(got));
            ck_assert(got[0] == '"' && got[length - 1] == '"');
            if (form == POSREF_NUMBERS_HEX && isnormal(x)) {
                snprintf(want, sizeof want, "\"%a\"", x);
                ck_assert_str_eq(got, want);
            }
            got[length - 1] = '\0';
            if (form == POSREF_NUMBERS_BITS)
                ck_assert(posref_number_bits(&back, got + 1));
            else
                back = strtod(got + 1, NULL);
            ck_assert_msg(bits_of(back) == bits_of(x), "%a written as %s", x, got);
        }
    }
    char text[POSREF_NUMBER_SIZE];
    posref_number_write(text, (double)INFINITY, POSREF_NUMBERS_HEX);
    ck_assert_str_eq(text, "\"Infinity\"");
    posref_number_write(text, -(double)INFINITY, POSREF_NUMBERS_BITS);
    ck_assert_str_eq(text, "\"fff0000000000000\"");
    for (int form = 0; form < POSREF_N_NUMBER_FORMS; form++)
        ck_assert_int_eq(posref_number_form_find(
                             posref_number_form_name((enum posref_number_form)form)), form);
    ck_assert_int_eq(posref_number_form_find("octal"), -1);
}
END_TEST

START_TEST(ignores_the_locale)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "cs_CZ.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (setlocale(LC_ALL, names[i]))
            break;
    check_read("0.30000000000000004", 0.30000000000000004);
    check_read("1234567.12345678901234", 1234567.12345678901234);
    check_text(0.5, "0.5");
    check_refused("0,5");
    setlocale(LC_ALL, "C");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("number");
    TCase *tests = tcase_create("number");
    tcase_set_timeout(tests, 0);
    tcase_add_test(tests, ecmascript_form);
    tcase_add_test(tests, shortest_and_exact);
    tcase_add_test(tests, random_bits);
    tcase_add_test(tests, table_of_powers);
    tcase_add_test(tests, reads);
    tcase_add_test(tests, refuses);
    tcase_add_test(tests, reads_what_it_prints);
    tcase_add_test(tests, other_forms);
    tcase_add_test(tests, ignores_the_locale);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
