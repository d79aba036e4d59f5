/* SPDX-License-Identifier: Apache-2.0 */
/* The headers Accept and Accept-Encoding. */
#include "reply.h"

#include <string.h>
#include <strings.h>

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

/* The element's q parameter in thousandths; 1000 when it has none. */
static int quality(const char *element, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (element[i] != ';')
            continue;
        size_t k = i + 1;
        while (k < length && (element[k] == ' ' || element[k] == '\t'))
            k++;
        if (length - k < 3 || (element[k] | 0x20) != 'q' || element[k + 1] != '=')
            continue;
        if (element[k + 2] != '0')
            return 1000;
        int value = 0, place = 100;
        for (k += 4; k < length && element[k] >= '0' && element[k] <= '9'; k++, place /= 10)
            value += place * (element[k] - '0');
        return value;
    }
    return 1000;
}

/* The quality that an Accept header gives `type`: of the ranges that cover it, the most specific
 * decides. */
static int type_quality(const char *accept, const char *type)
{
    size_t type_length = strlen(type), major = strcspn(type, "/") + 1;
    int best = -1; /* 0: any type, 1: this major type, 2: exactly this type */
    int value = 0;
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
            value = quality(element, length);
        }
    }
    return value;
}

int posref_accept_choose(const char *accept, const char *const *types)
{
    if (!accept || !accept[strspn(accept, " \t,")])
        return 0;
    int chosen = -1, best = 0;
    for (int i = 0; types[i]; i++) {
        int value = type_quality(accept, types[i]);
        if (value > best) {
            best = value;
            chosen = i;
        }
    }
    return chosen;
}

bool posref_accepts_gzip(const char *accept_encoding)
{
    if (!accept_encoding)
        return false;
    bool admitted = false, named = false;
    size_t length;
    for (const char *element; (element = next_element(&accept_encoding, &length));) {
        size_t range = 0;
        while (range < length && !strchr("; \t", element[range]))
            range++;
        bool exact = (range == 4 && strncasecmp(element, "gzip", 4) == 0) ||
                     (range == 6 && strncasecmp(element, "x-gzip", 6) == 0);
        if (!exact && (named || range != 1 || *element != '*'))
            continue;
        admitted = quality(element, length) > 0;
        named = named || exact;
    }
    return admitted;
}
