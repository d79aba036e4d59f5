/* SPDX-License-Identifier: Apache-2.0 */
/* The service without a network: a request in, a reply out. daemon.h puts it on a socket. */
#ifndef POSREF_SERVER_SERVICE_H
#define POSREF_SERVER_SERVICE_H

#include "metrics.h"
#include "route.h"

/* Zeroed, with the store set. Without a store (NULL), what needs one answers 503. */
struct posref_service {
    struct posref_store *store;
    struct posref_metrics metrics;
};

/* Answers one request. Never fails: what goes wrong is a reply too. `reply` is initialised by this
 * function and cleared by the caller. Thread-safe. */
void posref_service_answer(struct posref_service *service, const struct posref_http_request *http,
                           struct posref_reply *reply);

/* The same without counting it. Returns the row of the route, or -1: none. A brief request may be
 * put off, see the reply: then it is to be made again, not as a brief one. */
int posref_service_make(struct posref_service *service, const struct posref_http_request *http,
                        struct posref_reply *reply);

/* Counts an answer that was made; begun_ns: when the request was complete. */
void posref_service_count(struct posref_service *service, int route,
                          const struct posref_reply *reply, uint64_t begun_ns);

/* Nanoseconds of a clock that only goes forward. */
uint64_t posref_now_ns(void);

/* The same for a request that the transport has to refuse. */
void posref_service_refuse(struct posref_service *service, const struct posref_problem *problem,
                           struct posref_reply *reply);

#endif
