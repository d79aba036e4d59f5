/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/database and /v1/database/SHA256: the whole file, for those who read it by ranges. Its
 * digest is in the address, so that parts of two files never mix. */
#include "handle.h"

#include <string.h>

void posref_handle_database(const struct posref_call *call, struct posref_reply *reply)
{
    const struct posref_store_file *file = call->lease->file;
    posref_buffer_printf(&reply->body,
                         "{\"url\": \"/v1/database/%s\", \"sha256\": \"%s\", "
                         "\"size_bytes\": %llu, ",
                         file->sha256, file->sha256, (unsigned long long)file->size_bytes);
    posref_add_suites(&reply->body, call->lease->suites, call->lease->n_suites);
    reply->caching = POSREF_CACHE_SHORT;
}

void posref_handle_database_file(const struct posref_call *call, struct posref_reply *reply)
{
    const struct posref_store_file *file = call->lease->file;
    if (strcmp(call->argument, file->sha256) != 0) {
        posref_reply_fail(reply, POSREF_PROBLEM_NOT_FOUND, NULL,
                          "the database is another now; /v1/database has its address");
        return;
    }
    if (!posref_reply_file(reply, file->fd, file->size_bytes)) {
        posref_reply_fail(reply, POSREF_PROBLEM_UNAVAILABLE, NULL, "no descriptor is free");
        return;
    }
    memcpy(reply->sha256, file->sha256, sizeof reply->sha256);
    reply->content_type = "application/vnd.sqlite3";
    reply->caching = POSREF_CACHE_IMMUTABLE;
}
