/* SPDX-License-Identifier: Apache-2.0 */
/* The access log. */
#ifndef POSREF_SERVER_ACCESS_LOG_H
#define POSREF_SERVER_ACCESS_LOG_H

#include "connections.h"
#include "incoming.h"

/* Writes one line of JSON about an answered request. */
void posref_access_log(FILE *log, const struct posref_connection *one,
                       const struct posref_incoming *in, unsigned status, size_t body_bytes);

#endif
