/* SPDX-License-Identifier: Apache-2.0 */
/* GET /: three curl lines, or the explorer page for who asks for HTML; GET /web/NAME: its parts. */
#include "handle.h"
#include "web.h"

#include <string.h>

/* The client's own name for us when it is harmless in a command line, else ours. */
static const char *safe_host(const char *host)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "-._:[]";
    return host && *host && strlen(host) < 256 && !host[strspn(host, plain)] ? host
                                                                             : "localhost:8080";
}

static void add_file(struct posref_reply *reply, const struct posref_web_file *file)
{
    reply->content_type = file->content_type;
    reply->caching = POSREF_CACHE_SHORT;
    reply->page = true;
    posref_buffer_add(&reply->body, file->data, file->size_bytes);
}

void posref_handle_root(const struct posref_call *call, struct posref_reply *reply)
{
    if (call->form == 1) {
        add_file(reply, posref_web_find("index.html"));
        return;
    }
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

void posref_handle_web(const struct posref_call *call, struct posref_reply *reply)
{
    const struct posref_web_file *file = posref_web_find(call->argument);
    if (file && strcmp(file->name, "index.html") != 0) /* that one is at / */
        add_file(reply, file);
    else
        posref_reply_fail(reply, POSREF_PROBLEM_NOT_FOUND, NULL,
                          "the explorer page has no such part");
}
