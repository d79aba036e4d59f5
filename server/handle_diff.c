/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/diff?a=SPEC&b=SPEC: where two specs part, as `posref diff` prints it. */
#include "handle.h"

#include <string.h>

#define MAX_WIDTH 1024 /* dim or heads: a comparison looks at thousands of positions */
#define MAX_ARENA_BYTES ((size_t)64 << 20)

/* dim=128&base=10000 (or with spaces), or a JSON object. Errors name the parameter; the field goes
 * into the text. */
static enum posref_status read_spec(struct posref_spec *out, const char *param, const char *text,
                                    struct posref_error *err)
{
    struct posref_error why = {{0}, {0}};
    enum posref_status status;
    posref_spec_init(out);
    if (!text)
        return posref_fail(err, POSREF_BAD_INPUT, param,
                           "needs a spec: %s=dim%%3D128%%26base%%3D1e6", param);
    if (*text == '{') {
        status = posref_spec_json_read(out, text, strlen(text), &why);
    } else {
        char words[POSREF_URI_MAX_BYTES + 1];
        snprintf(words, sizeof words, "%s", text);
        status = posref_spec_typed(out, words, "& ", &why);
    }
    if (status == POSREF_OK)
        status = posref_spec_complete(out, &why);
    bool dim = out->given[POSREF_FIELD_DIM] && out->dim > MAX_WIDTH;
    bool heads = out->given[POSREF_FIELD_NUM_HEADS] && out->num_heads > MAX_WIDTH;
    if (status == POSREF_OK && (dim || heads))
        status = posref_fail(&why, POSREF_BAD_INPUT, dim ? "dim" : "num_heads",
                             "may be %d at most here; `posref diff` on your own machine takes more",
                             MAX_WIDTH);
    if (status == POSREF_OK)
        return POSREF_OK;
    return posref_fail(err, status, param, "%.60s%s%.180s", why.key, why.key[0] ? ": " : "",
                       why.text);
}

void posref_handle_diff(const struct posref_call *call, struct posref_reply *reply)
{
    struct posref_heap *heap = posref_heap_new(MAX_ARENA_BYTES);
    struct posref_error err = {{0}, {0}};
    struct posref_spec a, b;
    enum posref_status status = POSREF_OK;
    if (!heap)
        status = posref_fail(&err, POSREF_NO_MEMORY, "", "out of memory");
    if (status == POSREF_OK)
        status = read_spec(&a, "a", posref_uri_value(call->uri, "a"), &err);
    if (status == POSREF_OK)
        status = read_spec(&b, "b", posref_uri_value(call->uri, "b"), &err);
    if (status == POSREF_OK) {
        struct posref_arena arena = posref_heap_arena(heap);
        status = posref_diff_answer(&reply->body, &a, &b, &arena, &err);
        reply->caching = POSREF_CACHE_SHORT;
    }
    if (status != POSREF_OK && !reply->body.failed)
        posref_refuse_field(call, reply, status, &err);
    posref_heap_free(heap);
}
