/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as values: fills the caller's error and returns the status in one expression. */
#include "reference.h"

#include <stdarg.h>
#include <stdio.h>

/* How many bytes the UTF-8 character at the start of `text` has; 0 when there is none, or one that
 * would break the line or steer a terminal. */
static size_t printable_length(const unsigned char *text)
{
    if (text[0] < 0x80)
        return text[0] >= 0x20 && text[0] != 0x7f;
    size_t length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
    uint32_t code = text[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    static const uint32_t smallest[] = {0, 0, 0xa0, 0x800, 0x10000}; /* 0x80..0x9f are controls */
    bool character = text[0] >= 0xc2 && code >= smallest[length] && code <= 0x10ffff &&
                     (code < 0xd800 || code > 0xdfff) && (code < 0x2028 || code > 0x2029);
    return character ? length : 0;
}

/* Makes one line of UTF-8 of it: messages quote what users typed, and may cut it anywhere. */
static void make_line(char *text)
{
    for (size_t length; *text; text += length) {
        length = printable_length((const unsigned char *)text);
        if (length == 0) {
            *text = '?';
            length = 1;
        }
    }
}

enum posref_status posref_fail(struct posref_error *err, enum posref_status status,
                               const char *key, const char *format, ...)
{
    if (err) {
        snprintf(err->key, sizeof err->key, "%s", key);
        va_list args;
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        make_line(err->key);
        make_line(err->text);
    }
    return status;
}
