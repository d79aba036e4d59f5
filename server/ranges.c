/* SPDX-License-Identifier: Apache-2.0 */
/* Files as answers, whole or a range of bytes: see reply.h. */
#include "reply.h"

#include <fcntl.h>
#include <string.h>

bool posref_reply_file(struct posref_reply *reply, int fd, uint64_t size_bytes)
{
    reply->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    reply->offset = 0;
    reply->length = reply->whole = size_bytes;
    return reply->fd >= 0;
}

size_t posref_reply_length(const struct posref_reply *reply)
{
    return reply->fd >= 0 ? (size_t)reply->length : reply->body.length;
}

/* A number of at most 18 digits; false: none, or a longer one. */
static bool read_number(const char **at, uint64_t *out)
{
    size_t digits = strspn(*at, "0123456789");
    *out = 0;
    for (size_t i = 0; i < digits && digits <= 18; i++)
        *out = *out * 10 + (uint64_t)((*at)[i] - '0');
    *at += digits;
    return digits > 0 && digits <= 18;
}

/* "bytes=FIRST-LAST", "bytes=FIRST-", "bytes=-COUNT"; false: anything else. last is UINT64_MAX
 * where it is left out; *suffix: the third form, with the count in *last. */
static bool parse(const char *range, uint64_t *first, uint64_t *last, bool *suffix)
{
    static const char unit[] = "bytes=";
    if (strncmp(range, unit, sizeof unit - 1) != 0)
        return false;
    const char *at = range + sizeof unit - 1;
    at += strspn(at, " ");
    *suffix = *at == '-';
    *first = 0;
    *last = UINT64_MAX;
    if (!*suffix && !read_number(&at, first))
        return false;
    if (*at++ != '-')
        return false;
    bool number = read_number(&at, last);
    if (!number)
        *last = UINT64_MAX;
    at += strspn(at, " ");
    return !*at && (number || !*suffix) && *first <= *last;
}

bool posref_reply_range(struct posref_reply *reply, const char *range, const char *if_range)
{
    uint64_t first, last;
    bool suffix;
    if (reply->status != 200 || reply->fd < 0 || !range)
        return true;
    char tag[sizeof reply->sha256 + 2];
    snprintf(tag, sizeof tag, "\"%s\"", reply->sha256);
    if ((if_range && strcmp(if_range, tag) != 0) || !parse(range, &first, &last, &suffix))
        return true;
    if (suffix) { /* the last bytes */
        if (last == 0 || reply->whole == 0)
            return false;
        first = last < reply->whole ? reply->whole - last : 0;
        last = UINT64_MAX;
    }
    if (first >= reply->whole)
        return false;
    last = last < reply->whole ? last : reply->whole - 1;
    reply->status = 206;
    reply->offset = first;
    reply->length = last - first + 1;
    return true;
}
