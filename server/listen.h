/* SPDX-License-Identifier: Apache-2.0 */
/* The listening socket, from --listen ADDR:PORT. */
#ifndef POSREF_SERVER_LISTEN_H
#define POSREF_SERVER_LISTEN_H

#include "vectors/vectors.h"

#define POSREF_LISTEN_NAME 80

/* Binds and listens on `where`: 127.0.0.1:8080, [::1]:0, localhost:8080; port 0 is any free one.
 * The socket does not block. err->key is --listen. `name` gets the address that was chosen, as it
 * stands in a URL. */
POSREF_MUST_USE enum posref_status posref_listen(int *fd, char name[POSREF_LISTEN_NAME],
                                                 const char *where, struct posref_error *err);

#endif
