/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/resolve: a config.json as the body; the bytes that `posref resolve` prints. */
#include "handle.h"

#define MAX_ARENA_BYTES ((size_t)64 << 20)

void posref_handle_resolve(const struct posref_call *call, struct posref_reply *reply)
{
    struct posref_error err = {{0}, {0}};
    struct posref_heap *heap = posref_heap_new(MAX_ARENA_BYTES);
    if (!heap) {
        posref_reply_fail(reply, POSREF_PROBLEM_INTERNAL, NULL, "out of memory");
        return;
    }
    struct posref_arena arena = posref_heap_arena(heap);
    const char *body = call->http->body ? call->http->body : "";
    enum posref_status status = posref_resolve(&reply->body, body, call->http->body_length, &arena,
                                               &err);
    if (status == POSREF_BAD_INPUT)
        posref_reply_fail(reply, err.key[0] ? POSREF_PROBLEM_BAD_PARAMETER
                                            : POSREF_PROBLEM_MALFORMED_REQUEST,
                          err.key[0] ? err.key : NULL, "%.60s%s%.250s", err.key,
                          err.key[0] ? ": " : "", err.text);
    else if (status != POSREF_OK)
        posref_reply_error(reply, status, &err);
    posref_heap_free(heap);
}
