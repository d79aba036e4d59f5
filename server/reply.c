/* SPDX-License-Identifier: Apache-2.0 */
/* Answers before they are sent: see reply.h. */
#include "reply.h"

#include <string.h>
#include <unistd.h>

void posref_reply_init(struct posref_reply *reply)
{
    memset(reply, 0, sizeof *reply);
    reply->status = 200;
    reply->content_type = "application/json";
    reply->fd = -1;
    posref_buffer_init(&reply->body, POSREF_REPLY_MAX_BYTES);
}

void posref_reply_clear(struct posref_reply *reply)
{
    posref_buffer_clear(&reply->body);
    if (reply->fd >= 0)
        close(reply->fd);
    reply->fd = -1;
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
        size_t n = (size_t)(end - s);
        if (n >= length && memcmp(s, sha256, length) == 0 &&
            (n == length || (n == length + 5 && memcmp(s + length, "-gzip", 5) == 0)))
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
        posref_reply_clear(reply);
    }
}
