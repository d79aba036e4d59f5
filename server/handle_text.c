/* SPDX-License-Identifier: Apache-2.0 */
/* GET /problems/NAME: what a kind of problem means, for people. */
#include "handle.h"

#include <string.h>

void posref_handle_problem(const struct posref_call *call, struct posref_reply *reply)
{
    for (int kind = 0; kind < POSREF_N_PROBLEMS; kind++) {
        const struct posref_problem_info *info =
            posref_problem_info((enum posref_problem_kind)kind);
        if (strcmp(call->argument, info->name) != 0)
            continue;
        reply->content_type = "text/plain; charset=utf-8";
        reply->caching = POSREF_CACHE_SHORT;
        posref_buffer_printf(&reply->body, "%s (status %u)\n\n%s\n", info->title, info->status,
                             info->meaning);
        return;
    }
    posref_reply_fail(reply, POSREF_PROBLEM_NOT_FOUND, NULL, "there is no problem of this name");
}
