/* SPDX-License-Identifier: Apache-2.0 */
/* One request while libmicrohttpd delivers it: the target as sent, the headers that matter, the
 * body so far, and what is wrong with its framing. */
#ifndef POSREF_SERVER_INCOMING_H
#define POSREF_SERVER_INCOMING_H

#include "route.h"

#include <microhttpd.h>
#include <stdatomic.h>

/* libmicrohttpd answers by itself, in HTML, when a connection's memory is full; these limits lie
 * below it, so that ours answer first. */
#define POSREF_MAX_HEADER_BYTES 8192
#define POSREF_MAX_HEADERS 64
#define POSREF_CONNECTION_BYTES 24576
#define POSREF_MAX_BODY_BYTES (2u << 20)
/* A body that is too large is read and dropped up to here, so that the answer arrives. */
#define POSREF_MAX_DROPPED_BYTES (16u << 20)
#define POSREF_MAX_KEPT_BYTES (256u << 20) /* of all bodies at once */

/* One lives as long as its connection and is used for request after request. */
struct posref_incoming {
    char *target; /* as sent; room for target_capacity bytes */
    size_t target_length, target_capacity;
    bool judged;       /* the headers have been looked at */
    bool body_too_large;
    size_t n_dropped, n_kept; /* bytes of the body */
    struct posref_buffer body;
    struct posref_http_request http;
    struct posref_problem refusal; /* what is wrong, when `refused` */
    bool refused;
    struct posref_later *later; /* its answer, where it is put off; the daemon's */
    size_t n_headers, n_header_bytes, n_host, n_length, n_encoding, n_accept;
    const char *length, *transfer_encoding;
};

/* Begins a request; *in is made when it is NULL. False: no memory. The target is copied. */
bool posref_incoming_begin(struct posref_incoming **in, const char *target);
/* Ends it: gives the body up and takes it off the count that posref_incoming_body keeps. NULL is
 * fine, here and below. */
void posref_incoming_end(struct posref_incoming *in, atomic_size_t *kept);
void posref_incoming_free(struct posref_incoming *in); /* after its end */

/* Looks at the headers. False: the framing is such that the end of the request cannot be known,
 * or the body is far too large: answer at once and close. Otherwise answer when the request is
 * complete. In either case in->refused tells whether there is a refusal to send. */
bool posref_incoming_judge(struct posref_incoming *in, struct MHD_Connection *connection,
                           const char *method, const char *url, const char *version);

/* A piece of the body. False: so much has been sent that the connection is to be cut. `kept` counts
 * the bytes that all requests hold; past POSREF_MAX_KEPT_BYTES further ones are refused. */
bool posref_incoming_body(struct posref_incoming *in, const char *data, size_t size_bytes,
                          atomic_size_t *kept);

#endif
