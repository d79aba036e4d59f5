/* SPDX-License-Identifier: Apache-2.0 */
/* A reply as libmicrohttpd sends it. */
#ifndef POSREF_SERVER_SEND_H
#define POSREF_SERVER_SEND_H

#include "reply.h"

#include <microhttpd.h>

/* Queues the reply with its headers; the body is taken over, not copied. `close` asks the client
 * to open a new connection for its next request. */
enum MHD_Result posref_send(struct MHD_Connection *connection, struct posref_reply *reply,
                            bool close);

/* The same as an answer that can be queued many times, of a reply without a file; the body is
 * copied, for a 304 left out. The caller destroys it. NULL: no memory. */
struct MHD_Response *posref_response_copy(const struct posref_reply *reply);

#endif
