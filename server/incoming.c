/* SPDX-License-Identifier: Apache-2.0 */
/* One request while it arrives: see incoming.h. */
#include "incoming.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define KEPT_TARGET_BYTES 256 /* what an idle connection keeps for the next target, about */

bool posref_incoming_begin(struct posref_incoming **slot, const char *target)
{
    struct posref_incoming *in = *slot ? *slot : calloc(1, sizeof *in);
    if (!in)
        return false;
    *slot = in;
    char *room = in->target;
    size_t length = strlen(target), capacity = in->target_capacity;
    if (capacity <= length) {
        capacity = length + KEPT_TARGET_BYTES;
        room = realloc(in->target, capacity);
        if (!room)
            return false;
    }
    *in = (struct posref_incoming){.target = room, .target_length = length,
                                   .target_capacity = capacity};
    memcpy(room, target, length + 1);
    posref_buffer_init(&in->body, POSREF_MAX_BODY_BYTES);
    return true;
}

void posref_incoming_end(struct posref_incoming *in, atomic_size_t *kept)
{
    if (!in)
        return;
    if (in->n_kept)
        atomic_fetch_sub(kept, in->n_kept);
    in->n_kept = 0;
    posref_buffer_clear(&in->body);
    if (in->target_capacity > 2 * KEPT_TARGET_BYTES) {
        free(in->target);
        in->target = NULL;
        in->target_capacity = 0;
    }
}

void posref_incoming_free(struct posref_incoming *in)
{
    if (in)
        free(in->target);
    free(in);
}

/* The first refusal stands. */
static void refuse(struct posref_incoming *in, enum posref_problem_kind kind, const char *detail)
{
    if (in->refused)
        return;
    in->refused = true;
    in->refusal = (struct posref_problem){.kind = kind};
    snprintf(in->refusal.detail, sizeof in->refusal.detail, "%s", detail);
}

static enum MHD_Result see_header(void *ctx, enum MHD_ValueKind kind, const char *key,
                                  const char *value)
{
    struct posref_incoming *in = ctx;
    (void)kind;
    if (!value)
        value = "";
    in->n_headers++;
    in->n_header_bytes += strlen(key) + strlen(value) + 4;
    const struct {
        const char *name, **value;
        size_t *n;
    } wanted[] = {
        {"Accept", &in->http.accept, &in->n_accept},
        {"Accept-Encoding", &in->http.accept_encoding, NULL},
        {"Content-Encoding", &in->http.content_encoding, NULL},
        {"Content-Length", &in->length, &in->n_length},
        {"Content-Type", &in->http.content_type, NULL},
        {"Host", &in->http.host, &in->n_host},
        {"If-None-Match", &in->http.if_none_match, NULL},
        {"If-Range", &in->http.if_range, NULL},
        {"Range", &in->http.range, NULL},
        {"Transfer-Encoding", &in->transfer_encoding, &in->n_encoding},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (strcasecmp(key, wanted[i].name) == 0) {
            *wanted[i].value = value;
            if (wanted[i].n)
                ++*wanted[i].n;
        }
    return MHD_YES;
}

/* Whether the end of the body is certain; two answers to that question are how requests are
 * smuggled past a proxy. */
static bool framing_is_clear(struct posref_incoming *in)
{
    if (in->n_length > 1 || in->n_encoding > 1 || (in->n_length && in->n_encoding))
        refuse(in, POSREF_PROBLEM_MALFORMED_REQUEST,
               "more than one header says how long the body is");
    else if (in->n_encoding && strcasecmp(in->transfer_encoding, "chunked") != 0)
        refuse(in, POSREF_PROBLEM_MALFORMED_REQUEST,
               "Transfer-Encoding: chunked is the only one understood");
    else
        return true;
    return false;
}

static bool is_longer_than(const char *decimal, size_t limit)
{
    /* libmicrohttpd has refused anything that is no number of 64 bits. */
    return strtoull(decimal, NULL, 10) > limit;
}

bool posref_incoming_judge(struct posref_incoming *in, struct MHD_Connection *connection,
                           const char *method, const char *url, const char *version)
{
    in->judged = true;
    in->http.method = method;
    in->http.target = in->target;
    MHD_get_connection_values(connection, MHD_HEADER_KIND, see_header, in);
    if (in->n_accept > 1)
        in->http.accept = NULL; /* a list in pieces: not worth joining, so admit everything */
    if (!framing_is_clear(in))
        return false;
    if (in->length && is_longer_than(in->length, POSREF_MAX_DROPPED_BYTES)) {
        in->body_too_large = true;
        return false;
    }
    /* The version lies behind the target in the request line: a target that ends earlier was cut
     * at a NUL byte. */
    uintptr_t from = (uintptr_t)url, to = (uintptr_t)version;
    if (to < from || to - from - 1 != in->target_length)
        refuse(in, POSREF_PROBLEM_MALFORMED_REQUEST, "the address holds a NUL byte");
    if (in->n_headers > POSREF_MAX_HEADERS || in->n_header_bytes > POSREF_MAX_HEADER_BYTES)
        refuse(in, POSREF_PROBLEM_HEADERS_TOO_LARGE,
               "a request may have 64 headers, of 8192 bytes in all");
    bool needs_host = strcmp(version, "HTTP/1.0") != 0;
    if (in->n_host > 1 || (needs_host && in->n_host == 0))
        refuse(in, POSREF_PROBLEM_MALFORMED_REQUEST, "HTTP/1.1 takes exactly one header Host");
    return true;
}

/* Keeps a piece, unless there is no room for it. */
static void keep(struct posref_incoming *in, const char *data, size_t size_bytes,
                 atomic_size_t *kept)
{
    in->n_kept += size_bytes;
    if (atomic_fetch_add(kept, size_bytes) + size_bytes > POSREF_MAX_KEPT_BYTES) {
        refuse(in, POSREF_PROBLEM_UNAVAILABLE, "too many large bodies at once");
        return;
    }
    posref_buffer_add(&in->body, data, size_bytes);
    in->body_too_large = in->body.failed;
}

bool posref_incoming_body(struct posref_incoming *in, const char *data, size_t size_bytes,
                          atomic_size_t *kept)
{
    if (!in->body_too_large && !in->refused)
        keep(in, data, size_bytes, kept);
    if (in->body_too_large || in->refused) {
        posref_buffer_clear(&in->body);
        atomic_fetch_sub(kept, in->n_kept);
        in->n_kept = 0;
        in->n_dropped += size_bytes;
    }
    return in->n_dropped <= POSREF_MAX_DROPPED_BYTES;
}
