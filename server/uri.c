/* SPDX-License-Identifier: Apache-2.0 */
/* Request targets: see uri.h. One pass copies and decodes into the struct's own storage. */
#include "uri.h"

#include <stdint.h>
#include <string.h>

bool posref_utf8_valid(const char *text, size_t length)
{
    const unsigned char *s = (const unsigned char *)text;
    for (size_t i = 0; i < length;) {
        unsigned char lead = s[i++];
        if (lead < 0x80)
            continue;
        int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
        if (lead < 0xc2 || lead > 0xf4 || length - i < (size_t)more)
            return false;
        uint32_t code = lead & (0x3fu >> more);
        for (int k = 0; k < more; k++, i++) {
            if ((s[i] & 0xc0) != 0x80)
                return false;
            code = code << 6 | (s[i] & 0x3fu);
        }
        static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
        if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
            return false;
    }
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes `length` bytes of `from` to *to, adds a NUL and moves *to behind it. Returns NULL, or
 * what is wrong. */
static const char *decode(char **to, const char *from, size_t length)
{
    char *start = *to, *out = start;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)from[i];
        if (c == '%') {
            int high = length - i > 2 ? hex_digit(from[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(from[i + 2]) : -1;
            if (low < 0)
                return "malformed percent-encoding: % must be followed by two hex digits";
            c = (unsigned char)(high << 4 | low);
            i += 2;
            if (c < 0x20 || c == 0x7f)
                return "holds an encoded control character";
        } else if (c <= 0x20 || c >= 0x7f || c == '#') {
            return "holds a character that must be percent-encoded";
        }
        *out++ = (char)c;
    }
    *out = '\0';
    *to = out + 1;
    return posref_utf8_valid(start, (size_t)(out - start)) ? NULL : "is not valid UTF-8";
}

/* One KEY=VALUE of `length` bytes. */
static enum posref_status add_param(struct posref_uri *out, char **to, const char *text,
                                    size_t length, struct posref_error *err)
{
    const char *equals = memchr(text, '=', length);
    size_t key_length = equals ? (size_t)(equals - text) : length;
    const char *key = *to;
    const char *wrong = decode(to, text, key_length);
    if (wrong)
        return posref_fail(err, POSREF_BAD_INPUT, "", "a parameter's name %s", wrong);
    if (!*key)
        return posref_fail(err, POSREF_BAD_INPUT, "", "a parameter has no name");
    if (!equals)
        return posref_fail(err, POSREF_BAD_INPUT, key, "has no value: write %.40s=VALUE", key);
    if (posref_uri_value(out, key))
        return posref_fail(err, POSREF_BAD_INPUT, key, "given twice");
    if (out->n_params == POSREF_URI_MAX_PARAMS)
        return posref_fail(err, POSREF_BAD_INPUT, key, "more than %d parameters",
                           POSREF_URI_MAX_PARAMS);
    const char *value = *to;
    wrong = decode(to, equals + 1, length - key_length - 1);
    if (wrong)
        return posref_fail(err, POSREF_BAD_INPUT, key, "%s", wrong);
    out->param[out->n_params++] = (struct posref_param){key, value};
    return POSREF_OK;
}

static const char *skip_authority(const char *target)
{
    size_t scheme = strncmp(target, "http://", 7) == 0    ? 7
                    : strncmp(target, "https://", 8) == 0 ? 8
                                                          : 0;
    return scheme ? target + scheme + strcspn(target + scheme, "/?") : target;
}

enum posref_status posref_uri_parse(struct posref_uri *out, const char *target,
                                    struct posref_error *err)
{
    out->n_params = 0;
    if (strlen(target) > POSREF_URI_MAX_BYTES)
        return posref_fail(err, POSREF_BAD_INPUT, "", "the request target is longer than %d bytes",
                           POSREF_URI_MAX_BYTES);
    const char *path = skip_authority(target);
    /* Each piece loses its delimiter and gains a NUL; only the last has no delimiter to lose. */
    char *to = out->storage;
    size_t path_length = strcspn(path, "?");
    out->path = to;
    const char *wrong = *path == '/' || path != target ? decode(&to, path, path_length)
                                                       : "does not begin with /";
    if (wrong)
        return posref_fail(err, POSREF_BAD_INPUT, "", "the path %s", wrong);
    if (!*out->path)
        out->path = "/"; /* the absolute form of the root may end with the authority */
    for (const char *text = path + path_length; *text;) {
        size_t length = strcspn(++text, "&");
        if (length) {
            enum posref_status status = add_param(out, &to, text, length, err);
            if (status != POSREF_OK)
                return status;
        }
        text += length;
    }
    return POSREF_OK;
}

const char *posref_uri_value(const struct posref_uri *uri, const char *key)
{
    for (size_t i = 0; i < uri->n_params; i++)
        if (strcmp(uri->param[i].key, key) == 0)
            return uri->param[i].value;
    return NULL;
}
