/* SPDX-License-Identifier: Apache-2.0 */
/* The front door of server/: `posref serve`. The only room that knows libmicrohttpd. */
#ifndef POSREF_SERVER_H
#define POSREF_SERVER_H

#include "harness/harness.h"

extern const struct posref_command posref_server_commands[];

#endif
