/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/vectors: summaries of the vectors that match, in pages that each begin behind the last
 * id of the one before (so that pages stay cheap, and none repeats or skips a vector). */
#include "handle.h"

#include <string.h>

#define DEFAULT_LIMIT 100
#define MAX_LIMIT 1000
#define BRIEF_LIMIT 200 /* without conditions; these may have every vector looked at */
#define USUAL_SUMMARY_BYTES 640

struct page {
    struct posref_buffer *out;
    long limit, n;
    bool more;
    char last_id[POSREF_MAX_ID + 1];
};

/* False, with the reply made: not a number in range. */
static bool read_limit(const struct posref_call *call, struct posref_reply *reply, long *limit)
{
    const char *text = posref_uri_value(call->uri, "limit");
    *limit = DEFAULT_LIMIT;
    if (!text)
        return true;
    size_t digits = strspn(text, "0123456789");
    *limit = 0;
    for (size_t i = 0; i < digits && digits <= 4; i++)
        *limit = *limit * 10 + (text[i] - '0');
    if (!text[digits] && *limit >= 1 && *limit <= MAX_LIMIT)
        return true;
    struct posref_problem problem = {.kind = POSREF_PROBLEM_BAD_PARAMETER, .param = "limit",
                                     .value = text, .allowed = "integers from 1 to 1000",
                                     .detail = "limit: not an integer from 1 to 1000"};
    posref_reply_problem(reply, &problem);
    return false;
}

/* Keys that say which page of what, as against conditions on vectors. */
static bool is_page_key(const char *key)
{
    static const char *const keys[] = {"limit", "after", "digest", "suite"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static enum posref_status read_filter(struct posref_filter *filter, const struct posref_uri *uri,
                                      struct posref_error *err)
{
    for (size_t i = 0; i < uri->n_params; i++) {
        const struct posref_param *param = &uri->param[i];
        if (is_page_key(param->key))
            continue;
        enum posref_status status = posref_filter_add(filter, param->key, param->value, err);
        if (status != POSREF_OK)
            return status;
    }
    return POSREF_OK;
}

static bool add_summary(void *ctx, const char *id, const char *json, size_t length)
{
    struct page *page = ctx;
    struct posref_buffer *out = page->out;
    if (page->n == page->limit) {
        page->more = true;
        return false;
    }
    posref_buffer_text(out, page->n++ ? ",\n  " : "\n  ");
    posref_buffer_add(out, json, length);
    snprintf(page->last_id, sizeof page->last_id, "%s", id);
    return true;
}

/* Appends text percent-encoded for the value of a parameter. */
static void add_encoded(struct posref_buffer *out, const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "-._~/,:";
    for (const char *s = text; *s; s++)
        if (strchr(plain, *s))
            posref_buffer_add(out, s, 1);
        else
            posref_buffer_printf(out, "%%%02X", (unsigned)(unsigned char)*s);
}

/* The URL of the next page: the same parameters, behind the last id. */
static void add_next(struct posref_buffer *out, const struct posref_uri *uri, const char *last_id)
{
    struct posref_buffer url;
    posref_buffer_init(&url, 4 * POSREF_URI_MAX_BYTES);
    posref_buffer_text(&url, "/v1/vectors?");
    for (size_t i = 0; i < uri->n_params; i++) {
        if (strcmp(uri->param[i].key, "after") == 0)
            continue;
        posref_buffer_printf(&url, "%s=", uri->param[i].key);
        add_encoded(&url, uri->param[i].value);
        posref_buffer_text(&url, "&");
    }
    posref_buffer_text(&url, "after=");
    add_encoded(&url, last_id);
    if (url.failed)
        out->failed = true;
    else
        posref_buffer_json_string(out, url.data);
    posref_buffer_clear(&url);
}

static bool has_conditions(const struct posref_uri *uri)
{
    bool any = false;
    for (size_t i = 0; i < uri->n_params; i++)
        any = any || !is_page_key(uri->param[i].key);
    return any;
}

static enum posref_status fill(const struct posref_call *call, struct page *page,
                               struct posref_error *err)
{
    bool any = has_conditions(call->uri);
    struct posref_filter *filter = any ? posref_filter_new() : NULL;
    if (any && !filter)
        return posref_fail(err, POSREF_NO_MEMORY, "", "out of memory");
    enum posref_status status = any ? read_filter(filter, call->uri, err) : POSREF_OK;
    if (status == POSREF_OK)
        status = posref_db_summaries(call->lease->db, filter, posref_uri_value(call->uri, "suite"),
                                     posref_uri_value(call->uri, "after"), page->limit + 1,
                                     add_summary, page, err);
    posref_filter_free(filter);
    return status;
}

void posref_handle_vectors(const struct posref_call *call, struct posref_reply *reply)
{
    struct page page = {.out = &reply->body};
    if (!read_limit(call, reply, &page.limit) || !posref_check_digest(call, reply) ||
        posref_put_off(call, reply, page.limit > BRIEF_LIMIT || has_conditions(call->uri)))
        return;
    posref_buffer_reserve(&reply->body, (size_t)page.limit * USUAL_SUMMARY_BYTES);
    posref_buffer_text(&reply->body, "{\"vectors\": [");
    struct posref_error err = {{0}, {0}};
    enum posref_status status = fill(call, &page, &err);
    if (status == POSREF_BAD_INPUT && !posref_uri_value(call->uri, err.key))
        status = POSREF_INTERNAL; /* the database is at fault, not the request */
    if (status != POSREF_OK) {
        posref_refuse_field(call, reply, status, &err);
        return;
    }
    posref_buffer_text(&reply->body, page.n ? "],\n \"next\": " : "], \"next\": ");
    if (page.more)
        add_next(&reply->body, call->uri, page.last_id);
    else
        posref_buffer_text(&reply->body, "null");
    posref_buffer_text(&reply->body, "}\n");
}
