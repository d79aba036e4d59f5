/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of this room. */
#include "server/server.h"

const struct posref_command posref_server_commands[] = {
    {NULL, NULL, NULL},
};
