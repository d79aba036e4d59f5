/* SPDX-License-Identifier: Apache-2.0 */
/* Answers before they are sent: see reply.h. */
#include "reply.h"

#include <string.h>
#include <strings.h>

void posref_reply_init(struct posref_reply *reply)
{
    memset(reply, 0, sizeof *reply);
    reply->status = 200;
    reply->content_type = "application/json";
    posref_buffer_init(&reply->body, POSREF_REPLY_MAX_BYTES);
}

void posref_reply_clear(struct posref_reply *reply)
{
    posref_buffer_clear(&reply->body);
}

bool posref_etag_matches(const char *if_none_match, const char *sha256)
{
    size_t length = strlen(sha256);
    for (const char *s = if_none_match; *s;) {
        s += strspn(s, " \t,");
        if (*s == '*')
            return true;
        if (s[0] == 'W' && s[1] == '/')
            s += 2;
        if (*s != '"')
            return false; /* no list of entity tags */
        const char *end = strchr(++s, '"');
        if (!end)
            return false;
        if ((size_t)(end - s) == length && memcmp(s, sha256, length) == 0)
            return true;
        s = end + 1;
    }
    return false;
}

void posref_reply_validate(struct posref_reply *reply, const char *if_none_match)
{
    if (reply->status != 200 || reply->caching == POSREF_CACHE_NONE)
        return;
    if (!reply->sha256[0])
        posref_sha256_hex(reply->sha256, reply->body.data, reply->body.length);
    if (if_none_match && posref_etag_matches(if_none_match, reply->sha256)) {
        reply->status = 304;
        posref_buffer_clear(&reply->body);
    }
}

/* The next element of a comma-separated list, without surrounding blanks; NULL at the end. */
static const char *next_element(const char **list, size_t *length)
{
    const char *s = *list + strspn(*list, " \t,");
    if (!*s)
        return NULL;
    size_t n = strcspn(s, ",");
    *list = s + n;
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
        n--;
    *length = n;
    return s;
}

/* Whether the element's q parameter is zero: q=0, q=0.0, ... */
static bool quality_zero(const char *element, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (element[i] != ';')
            continue;
        size_t k = i + 1;
        while (k < length && (element[k] == ' ' || element[k] == '\t'))
            k++;
        if (length - k < 3 || (element[k] | 0x20) != 'q' || element[k + 1] != '=')
            continue;
        size_t digits = k + 2;
        while (digits < length && (element[digits] == '0' || element[digits] == '.'))
            digits++;
        return digits == length || element[digits] < '0' || element[digits] > '9';
    }
    return false;
}

bool posref_accepts(const char *accept, const char *type)
{
    if (!accept || !accept[strspn(accept, " \t,")])
        return true;
    size_t type_length = strlen(type), major = strcspn(type, "/") + 1;
    int best = -1; /* 0: any type, 1: this major type, 2: exactly this type */
    bool admitted = false;
    size_t length;
    for (const char *element; (element = next_element(&accept, &length));) {
        size_t range = 0;
        while (range < length && !strchr("; \t", element[range]))
            range++;
        int specific = range == type_length && strncasecmp(element, type, range) == 0 ? 2
                       : range == major + 1 && strncasecmp(element, type, major) == 0 &&
                               element[major] == '*'
                           ? 1
                       : range == 3 && strncmp(element, "*/*", 3) == 0 ? 0
                                                                       : -1;
        if (specific > best) {
            best = specific;
            admitted = !quality_zero(element, length);
        }
    }
    return admitted;
}
