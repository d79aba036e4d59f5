/* SPDX-License-Identifier: Apache-2.0 */
/* Answers for people: GET / and the explanations of problems. */
#include "handle.h"

#include <string.h>

/* The client's own name for us when it is harmless in a command line, else ours. */
static const char *safe_host(const char *host)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "-._:[]";
    return host && *host && strlen(host) < 256 && !host[strspn(host, plain)] ? host
                                                                             : "localhost:8080";
}

void posref_handle_root(const struct posref_call *call, struct posref_reply *reply)
{
    const char *host = safe_host(call->http->host);
    reply->content_type = "text/plain; charset=utf-8";
    reply->caching = POSREF_CACHE_SHORT;
    posref_buffer_printf(
        &reply->body,
        "curl '%s/v1/eval?scheme=rope&dim=4&pairing=interleaved&positions=1&x=1,0.5,-0.5,1.5'\n"
        "curl '%s/v1/vectors?scheme=rope&scaling=yarn&limit=3'\n"
        "curl '%s/v1/schemes'\n",
        host, host, host);
}

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
