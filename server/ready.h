/* SPDX-License-Identifier: Apache-2.0 */
/* Answers made once and sent many times: stored vectors and other documents whose bytes depend on
 * nothing but the request's target, what it accepts, and the database. Evaluations are never among
 * them. Bounded, thread-safe, and filled by what is asked for more than once. */
#ifndef POSREF_SERVER_READY_H
#define POSREF_SERVER_READY_H

#include "route.h"

#include <microhttpd.h>

#define POSREF_READY_ANSWERS 4096            /* at most */
#define POSREF_READY_BYTES ((size_t)64 << 20) /* of all answers, at most */

struct posref_ready;

/* What was sent, for metrics and logs. */
struct posref_ready_sent {
    enum MHD_Result queued; /* MHD_NO: the connection is to be closed */
    int route;              /* row of posref_routes */
    unsigned status;        /* 200 or 304 */
    size_t body_bytes;
};

struct posref_ready *posref_ready_new(void); /* NULL: no memory */
void posref_ready_free(struct posref_ready *ready);

/* Queues the answer to a GET or HEAD, made of the same generation of the database, when it is
 * there; false: it is not. */
bool posref_ready_send(struct posref_ready *ready, struct posref_ready_sent *sent,
                       struct MHD_Connection *connection, const struct posref_http_request *http,
                       uint64_t generation);

/* Notes that the request was answered with stored bytes; true: not for the first time, so that its
 * answer is worth adding. */
bool posref_ready_note(struct posref_ready *ready, const struct posref_http_request *http);

/* Keeps a copy of a stored reply of status 200. Others give way, the longest unused first. Nothing
 * is kept of what is too large, or without memory. */
void posref_ready_add(struct posref_ready *ready, const struct posref_http_request *http,
                      uint64_t generation, const struct posref_reply *reply, int route);

#endif
