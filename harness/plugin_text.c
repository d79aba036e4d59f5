/* SPDX-License-Identifier: Apache-2.0 */
/* What plugins and command lines say may be any bytes. */
#include "plugin_text.h"

#include <stddef.h>

/* Bytes of the UTF-8 character at text, or 0: none. */
static size_t character(const unsigned char *text)
{
    size_t n = text[0] < 0x80                       ? 1
               : text[0] >= 0xC2 && text[0] < 0xE0 ? 2
               : text[0] >= 0xE0 && text[0] < 0xF0 ? 3
               : text[0] >= 0xF0 && text[0] < 0xF5 ? 4
                                                   : 0;
    for (size_t k = 1; k < n; k++)
        if ((text[k] & 0xC0) != 0x80)
            return 0;
    if ((text[0] == 0xE0 && text[1] < 0xA0) || (text[0] == 0xED && text[1] > 0x9F) ||
        (text[0] == 0xF0 && text[1] < 0x90) || (text[0] == 0xF4 && text[1] > 0x8F))
        return 0; /* longer than needed, a surrogate, or beyond the last character */
    return n;
}

void posref_plugin_text_clean(char *text, int one_line)
{
    unsigned char *at = (unsigned char *)text;
    while (*at) {
        size_t n = character(at);
        if (n == 0)
            *at = '?';
        else if (*at == 127 || (*at < 32 && (one_line || *at != '\n')))
            *at = ' ';
        at += n ? n : 1;
    }
}
