/* SPDX-License-Identifier: Apache-2.0 */
/* The service without a network: a request in, a reply out. daemon.h puts it on a socket. */
#ifndef POSREF_SERVER_SERVICE_H
#define POSREF_SERVER_SERVICE_H

#include "route.h"

/* Answers one request. Never fails: what goes wrong is a reply too. `reply` is initialised by this
 * function and cleared by the caller. Thread-safe. */
void posref_service_answer(struct posref_store *store, const struct posref_http_request *http,
                           struct posref_reply *reply);

#endif
