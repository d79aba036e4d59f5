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

void posref_etag(char out[POSREF_ETAG_SIZE], const char *sha256, bool gzip)
{
    snprintf(out, POSREF_ETAG_SIZE, "\"%s%s\"", sha256, gzip ? "-gzip" : "");
}

bool posref_etag_matches(const char *if_none_match, const char *etag)
{
    size_t length = strlen(etag);
    for (const char *s = if_none_match; *s;) {
        s += strspn(s, " \t,");
        if (*s == '*')
            return true;
        if (s[0] == 'W' && s[1] == '/')
            s += 2;
        if (*s != '"')
            return false; /* no list of entity tags */
        const char *end = strchr(s + 1, '"');
        if (!end)
            return false;
        if ((size_t)(++end - s) == length && memcmp(s, etag, length) == 0)
            return true;
        s = end;
    }
    return false;
}

void posref_reply_validate(struct posref_reply *reply, const char *if_none_match, bool gzip)
{
    if (reply->status != 200 || reply->caching == POSREF_CACHE_NONE)
        return;
    if (!reply->sha256[0])
        posref_sha256_hex(reply->sha256, reply->body.data, reply->body.length);
    if (!if_none_match)
        return;
    char etag[POSREF_ETAG_SIZE];
    gzip = gzip && posref_reply_is_compressible(reply);
    posref_etag(etag, reply->sha256, gzip);
    if (posref_etag_matches(if_none_match, etag)) {
        posref_reply_clear(reply);
        reply->status = 304;
        reply->encoding = gzip ? "gzip" : NULL;
    }
}
