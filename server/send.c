/* SPDX-License-Identifier: Apache-2.0 */
/* A reply as libmicrohttpd sends it: see send.h. */
#include "send.h"

#include <stdlib.h>
#include <string.h>

static const char *const cache_control[] = {
    [POSREF_CACHE_NONE] = "no-store",
    [POSREF_CACHE_SHORT] = "public, max-age=60",
    [POSREF_CACHE_IMMUTABLE] = "public, max-age=31536000, immutable",
};

static unsigned hex_value(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* Repr-Digest (RFC 9530) from 64 hex digits: sha-256=:BASE64: */
static void digest_text(char out[64], const char sha256[65])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char prefix[] = "sha-256=:";
    unsigned char bytes[33] = {0};
    for (size_t i = 0; i < 32; i++)
        bytes[i] = (unsigned char)(hex_value(sha256[2 * i]) << 4 | hex_value(sha256[2 * i + 1]));
    memcpy(out, prefix, sizeof prefix - 1);
    char *to = out + sizeof prefix - 1;
    for (size_t i = 0; i < 33; i += 3) {
        unsigned group = (unsigned)bytes[i] << 16 | (unsigned)bytes[i + 1] << 8 | bytes[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6)
            *to++ = digits[group >> shift & 63];
    }
    memcpy(to - 1, "=:", sizeof "=:"); /* 32 bytes are 43 digits and a pad */
}

static void add_headers(struct MHD_Response *response, const struct posref_reply *reply, bool close)
{
    MHD_add_response_header(response, "Access-Control-Allow-Origin", "*");
    MHD_add_response_header(response, "Cache-Control", cache_control[reply->caching]);
    if (reply->status != 204 && reply->status != 304) {
        MHD_add_response_header(response, "Content-Type", reply->content_type);
        MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    }
    if (reply->sha256[0]) {
        char text[POSREF_ETAG_SIZE];
        posref_etag(text, reply->sha256, reply->encoding != NULL);
        MHD_add_response_header(response, "ETag", text);
        digest_text(text, reply->sha256);
        bool whole = !reply->encoding; /* else it would be that of the encoded bytes */
        if (whole && (reply->status == 200 || reply->status == 206))
            MHD_add_response_header(response, "Repr-Digest", text);
        MHD_add_response_header(response, "Access-Control-Expose-Headers", "ETag, Repr-Digest");
        MHD_add_response_header(response, "Vary", "Accept, Accept-Encoding");
    }
    if (reply->whole) {
        char text[80];
        MHD_add_response_header(response, "Accept-Ranges", "bytes");
        if (reply->status == 206)
            snprintf(text, sizeof text, "bytes %llu-%llu/%llu", (unsigned long long)reply->offset,
                     (unsigned long long)(reply->offset + reply->length - 1),
                     (unsigned long long)reply->whole);
        else
            snprintf(text, sizeof text, "bytes */%llu", (unsigned long long)reply->whole);
        if (reply->status == 206 || reply->status == 416)
            MHD_add_response_header(response, "Content-Range", text);
    }
    if (reply->encoding && reply->status != 304)
        MHD_add_response_header(response, "Content-Encoding", reply->encoding);
    if (reply->page) {
        MHD_add_response_header(response, "Content-Security-Policy",
                                "default-src 'none'; script-src 'self'; style-src 'self'; "
                                "img-src 'self'; connect-src 'self'; base-uri 'none'; "
                                "form-action 'none'; frame-ancestors 'none'");
        MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    }
    if (reply->allow[0]) {
        MHD_add_response_header(response, "Allow", reply->allow);
        MHD_add_response_header(response, "Access-Control-Allow-Methods", reply->allow);
        MHD_add_response_header(response, "Access-Control-Allow-Headers",
                                "Content-Type, If-None-Match");
    }
    if (reply->status == 503)
        MHD_add_response_header(response, "Retry-After", "1");
    if (close)
        MHD_add_response_header(response, "Connection", "close");
}

struct MHD_Response *posref_response_copy(const struct posref_reply *reply)
{
    bool empty = reply->status == 304;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        empty ? 0 : reply->body.length, empty ? "" : reply->body.data, MHD_RESPMEM_MUST_COPY);
    if (response)
        add_headers(response, reply, false);
    return response;
}

enum MHD_Result posref_send(struct MHD_Connection *connection, struct posref_reply *reply,
                            bool close)
{
    static char nothing[1];
    struct posref_buffer *body = &reply->body;
    struct MHD_Response *response =
        reply->fd >= 0
            ? MHD_create_response_from_fd_at_offset64(reply->length, reply->fd, reply->offset)
        : body->length
            ? MHD_create_response_from_buffer_with_free_callback(body->length, body->data, free)
            : MHD_create_response_from_buffer(0, nothing, MHD_RESPMEM_PERSISTENT);
    if (!response)
        return MHD_NO;
    reply->fd = -1; /* the response owns the descriptor and the bytes now */
    if (body->length)
        posref_buffer_init(body, body->max_bytes);
    add_headers(response, reply, close);
    enum MHD_Result result = MHD_queue_response(connection, reply->status, response);
    MHD_destroy_response(response);
    return result;
}
