/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as users type them: decimals, C99 hex floats and the bits of a double. */
#include "vectors/vectors.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT 1100 /* the longest exact decimal of a double has 1077 characters */

static bool is_digit(char c, bool hex)
{
    return (c >= '0' && c <= '9') || (hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
}

/* A decimal scanned once: digits * 10^exponent when exact (at most 19 digits). */
struct scan {
    uint64_t digits;
    int n_digits, exponent;
    bool negative, hex;
};

static const char *scan_exponent(struct scan *scan, const char *at)
{
    bool negative = *at == '-';
    if (*at == '-' || *at == '+')
        at++;
    if (!is_digit(*at, false))
        return NULL;
    int value = 0;
    for (; is_digit(*at, false); at++)
        value = value < 100000 ? value * 10 + (*at - '0') : value;
    scan->exponent += negative ? -value : value;
    return at;
}

/* Whether the whole text is a number by C's grammar (sign, digits, point, exponent). */
static bool scan_number(struct scan *scan, const char *text)
{
    *scan = (struct scan){.negative = *text == '-'};
    const char *at = text + (*text == '-' || *text == '+');
    scan->hex = at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
    at += scan->hex ? 2 : 0;
    bool any = false, point = false;
    for (; is_digit(*at, scan->hex) || (*at == '.' && !point); at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        any = true;
        scan->exponent -= point;
        if (scan->n_digits || *at != '0')
            scan->n_digits++;
        if (scan->n_digits <= 19 && !scan->hex)
            scan->digits = scan->digits * 10 + (uint64_t)(*at - '0');
    }
    if (!any)
        return false;
    char mark = scan->hex ? 'p' : 'e';
    if (*at == mark || *at == toupper(mark))
        at = scan_exponent(scan, at + 1);
    return at && *at == '\0';
}

/* digits below 2^53 and a power of ten below 10^23 are exact doubles, so one operation rounds
 * once: correct, and the usual case. */
static bool convert_exact(double *out, const struct scan *scan)
{
    static const double power10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (scan->hex || scan->n_digits > 15 || scan->exponent < -22 || scan->exponent > 22)
        return false;
    double value = (double)scan->digits;
    value = scan->exponent < 0 ? value / power10[-scan->exponent] : value * power10[scan->exponent];
    *out = scan->negative ? -value : value;
    return true;
}

/* glibc's and musl's strtod round correctly; the "C" locale object keeps the user's decimal comma
 * out of it. */
static bool convert_any(double *out, const char *text)
{
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        return false;
    *out = strtod_l(text, NULL, c_locale);
    freelocale(c_locale);
    return true;
}

bool posref_number_bits(double *out, const char *text)
{
    uint64_t bits = 0;
    for (int i = 0; i < 16; i++) {
        if (!is_digit(text[i], true))
            return false;
        int digit = text[i] <= '9' ? text[i] - '0' : (text[i] | 0x20) - 'a' + 10;
        bits = bits << 4 | (uint64_t)digit;
    }
    memcpy(out, &bits, sizeof bits);
    return text[16] == '\0';
}

enum posref_status posref_number_parse(double *out, const char *text, const char *key,
                                       struct posref_error *err)
{
    struct scan scan;
    double value = 0;
    if (strlen(text) > MAX_TEXT)
        return posref_fail(err, POSREF_BAD_INPUT, key, "number longer than %d characters",
                           MAX_TEXT);
    if (strncmp(text, "bits:", 5) == 0) {
        if (!posref_number_bits(&value, text + 5))
            return posref_fail(err, POSREF_BAD_INPUT, key,
                               "'%.40s' is not bits: and 16 hex digits", text);
    } else if (scan_number(&scan, text)) {
        if (!convert_exact(&value, &scan) && !convert_any(&value, text))
            return posref_fail(err, POSREF_NO_MEMORY, key, "no memory to read a number");
    } else if (!posref_number_bits(&value, text)) {
        return posref_fail(err, POSREF_BAD_INPUT, key, "'%.40s' is not a number", text);
    }
    if (!isfinite(value))
        return posref_fail(err, POSREF_BAD_INPUT, key, "'%.40s' is not a finite double", text);
    *out = value;
    return POSREF_OK;
}
