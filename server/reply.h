/* SPDX-License-Identifier: Apache-2.0 */
/* An answer before it is sent: status, body and caching, and the parts of HTTP that need no
 * connection: entity tags, Accept. */
#ifndef POSREF_SERVER_REPLY_H
#define POSREF_SERVER_REPLY_H

#include "vectors/vectors.h"

#define POSREF_REPLY_MAX_BYTES (32u << 20)

enum posref_caching {
    POSREF_CACHE_NONE,     /* errors, health */
    POSREF_CACHE_SHORT,    /* changes when the database does */
    POSREF_CACHE_IMMUTABLE /* the suite's digest is in the URL */
};

struct posref_reply {
    unsigned status; /* HTTP */
    const char *content_type;
    struct posref_buffer body;
    char sha256[65]; /* of the body, or "" where there is no entity tag */
    const char *encoding; /* NULL, or "gzip": the entity tag then ends in -gzip, in a 304 too */
    enum posref_caching caching;
    bool stored;    /* depends on nothing but target, Accept, Accept-Encoding and the database */
    bool put_off;   /* nothing has been made: it takes long, and the request was to be brief */
    bool page;      /* for a browser to show: scripts and styles from here only */
    char allow[32]; /* value of Allow, or "" */
    /* A part of a file instead of the body, and of how long a file. fd < 0: none. The reply owns
     * the descriptor. */
    int fd;
    uint64_t offset, length, whole;
};

/* 200, application/json, an empty body. */
void posref_reply_init(struct posref_reply *reply);
void posref_reply_clear(struct posref_reply *reply);

/* Gives a 200 its entity tag, unless it has one; turns it into an empty 304 when `if_none_match`
 * (the header's value, or NULL) names it. gzip: the client takes it, so that an answer for which it
 * pays has the tag of the compressed form; that form is made by posref_reply_compress. */
void posref_reply_validate(struct posref_reply *reply, const char *if_none_match, bool gzip);

/* Serves a file: `size_bytes` from the start of a copy of the descriptor. False: no copy could be
 * made. */
bool posref_reply_file(struct posref_reply *reply, int fd, uint64_t size_bytes);

/* Makes a 200 with a file a 206 with the part that a Range header (or NULL) names, when If-Range
 * (or NULL) is its entity tag. Headers that are malformed, name several ranges or another unit are
 * ignored, as RFC 9110 allows. False: no byte of it exists, and nothing is changed. */
POSREF_MUST_USE bool posref_reply_range(struct posref_reply *reply, const char *range,
                                        const char *if_range);

/* Bytes of the answer's content. */
size_t posref_reply_length(const struct posref_reply *reply);

/* Whether compression pays: a 200 with an entity tag that is long enough. */
bool posref_reply_is_compressible(const struct posref_reply *reply);

/* Compresses such a reply; sha256 stays that of the plain body. Leaves it as it is where that
 * fails. */
void posref_reply_compress(struct posref_reply *reply);

/* The entity tag: "sha256", or "sha256-gzip" of the compressed form, with the quotes. */
#define POSREF_ETAG_SIZE 80
void posref_etag(char out[POSREF_ETAG_SIZE], const char *sha256, bool gzip);

/* Whether `if_none_match` is * or lists the entity tag (weak comparison). */
bool posref_etag_matches(const char *if_none_match, const char *etag);

/* Which of the NULL-terminated `types` an Accept header (NULL: the first) prefers; the earlier one
 * of equals; -1 when it admits none. */
int posref_accept_choose(const char *accept, const char *const *types);

/* Whether an Accept-Encoding header (NULL: no) admits gzip. */
bool posref_accepts_gzip(const char *accept_encoding);

#endif
