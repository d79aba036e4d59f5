/* SPDX-License-Identifier: Apache-2.0 */
/* Doubles as JSON in the form that was asked for: decimals, hex floats, bits. */
#include "vectors/vectors.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const names[POSREF_N_NUMBER_FORMS] = {"decimal", "hex", "bits"};

const char *posref_number_form_name(enum posref_number_form form)
{
    return names[form];
}

int posref_number_form_find(const char *name)
{
    for (int i = 0; i < POSREF_N_NUMBER_FORMS; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

/* 0x1.8p+1 and "-0x0p+0": no trailing zeros, subnormals with a leading 0; %a of any locale would
 * do the same but for the point. */
static size_t write_hex(char out[POSREF_NUMBER_SIZE], uint64_t bits)
{
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    int biased = (int)(bits >> 52 & 0x7ff), n_digits = 13;
    while (n_digits && !(fraction & 15)) {
        fraction >>= 4;
        n_digits--;
    }
    int exponent = biased ? biased - 1023 : fraction ? -1022 : 0;
    char digits[16] = "";
    if (n_digits)
        snprintf(digits, sizeof digits, ".%0*" PRIx64, n_digits, fraction);
    return (size_t)snprintf(out, POSREF_NUMBER_SIZE, "\"%s0x%d%sp%+d\"", bits >> 63 ? "-" : "",
                            biased != 0, digits, exponent);
}

size_t posref_number_write(char out[POSREF_NUMBER_SIZE], double x, enum posref_number_form form)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (form == POSREF_NUMBERS_BITS)
        return (size_t)snprintf(out, POSREF_NUMBER_SIZE, "\"%016" PRIx64 "\"", bits);
    return form == POSREF_NUMBERS_HEX && isfinite(x) ? write_hex(out, bits)
                                                     : posref_number_format(out, x);
}
