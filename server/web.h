/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the explorer page, server/web/ and the chart library, built into the program by
 * server/web.sh. */
#ifndef POSREF_SERVER_WEB_H
#define POSREF_SERVER_WEB_H

#include <stddef.h>

struct posref_web_file {
    const char *name, *content_type;
    const unsigned char *data;
    size_t size_bytes;
};

const struct posref_web_file *posref_web_find(const char *name); /* or NULL */

#endif
