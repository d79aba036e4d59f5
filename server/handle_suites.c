/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/suites, /healthz and /metrics: what the database holds, whether it answers, and what has
 * been asked. */
#include "handle.h"

void posref_add_suites(struct posref_buffer *out, const struct posref_suite_info *suite, size_t n)
{
    posref_buffer_text(out, "\"suites\": [");
    for (size_t i = 0; i < n; i++)
        posref_buffer_printf(out,
                             "%s{\"name\": \"%s\", \"version\": \"%s\", \"digest\": \"%s\", "
                             "\"n_vectors\": %lld}",
                             i ? ", " : "", suite[i].name, suite[i].version, suite[i].digest,
                             (long long)suite[i].n_vectors);
    posref_buffer_text(out, "]}\n");
}

void posref_handle_suites(const struct posref_call *call, struct posref_reply *reply)
{
    posref_buffer_text(&reply->body, "{");
    posref_add_suites(&reply->body, call->lease->suites, call->lease->n_suites);
    reply->caching = POSREF_CACHE_SHORT;
}

void posref_handle_health(const struct posref_call *call, struct posref_reply *reply)
{
    struct posref_suite_info suites[POSREF_STORE_MAX_SUITES];
    size_t n = POSREF_STORE_MAX_SUITES;
    struct posref_error err = {{0}, {0}};
    if (posref_db_suites(call->lease->db, suites, &n, &err) != POSREF_OK) {
        posref_reply_fail(reply, POSREF_PROBLEM_UNAVAILABLE, NULL, "%s", err.text);
        return;
    }
    posref_buffer_text(&reply->body, "{\"status\": \"ok\", \"version\": \"" POSREF_VERSION "\", ");
    posref_add_suites(&reply->body, suites, n);
}

void posref_handle_metrics(const struct posref_call *call, struct posref_reply *reply)
{
    reply->content_type = "text/plain; version=0.0.4; charset=utf-8";
    posref_metrics_text(&reply->body, call->metrics, call->lease->suites, call->lease->n_suites);
}
