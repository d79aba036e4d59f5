/* SPDX-License-Identifier: Apache-2.0 */
/* What /metrics tells: see metrics.h. */
#include "metrics.h"

#include "route.h"

#include <inttypes.h>

/* Those that the service answers with; the last place counts any other. */
static const unsigned statuses[] = {200, 204, 206, 304, 400, 404, 405, 406, 410, 413, 414, 415, 416,
                                    431, 500, 503};
#define N_STATUSES (sizeof statuses / sizeof *statuses)
_Static_assert(N_STATUSES < POSREF_METRICS_STATUSES, "a place for every status and one more");

static const struct {
    const char *seconds;
    uint64_t nanoseconds;
} bounds[POSREF_METRICS_BUCKETS - 1] = {
    {"0.00001", 10000},     {"0.00003", 30000},     {"0.0001", 100000},   {"0.0003", 300000},
    {"0.001", 1000000},     {"0.003", 3000000},     {"0.01", 10000000},   {"0.03", 30000000},
    {"0.1", 100000000},     {"0.3", 300000000},     {"1", 1000000000},
};

void posref_metrics_count(struct posref_metrics *metrics, int route, unsigned status,
                          size_t body_bytes, uint64_t nanoseconds)
{
    size_t row = route < 0 ? POSREF_METRICS_ROUTES - 1 : (size_t)route, s = 0, b = 0;
    while (s < N_STATUSES && statuses[s] != status)
        s++;
    while (b < POSREF_METRICS_BUCKETS - 1 && nanoseconds > bounds[b].nanoseconds)
        b++;
    atomic_fetch_add(&metrics->requests[row][s], 1);
    atomic_fetch_add(&metrics->bucket[row][b], 1);
    atomic_fetch_add(&metrics->nanoseconds[row], nanoseconds);
    atomic_fetch_add(&metrics->body_bytes, body_bytes);
}

static void add_labels(struct posref_buffer *out, size_t row, size_t n_routes)
{
    const struct posref_route *route = &posref_routes[row];
    bool known = row < n_routes;
    posref_buffer_printf(out, "route=\"%s%s%s\",method=\"%s\"", known ? route->path : "none",
                         known && route->prefix ? "..." : "",
                         known && route->suffix ? route->suffix : "",
                         !known                                ? "any"
                         : route->method == POSREF_METHOD_POST ? "POST"
                                                               : "GET");
}

static void add_head(struct posref_buffer *out, const char *name, const char *type,
                     const char *help)
{
    posref_buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_requests(struct posref_buffer *out, struct posref_metrics *metrics, size_t n_routes)
{
    add_head(out, "posref_http_requests_total", "counter", "Requests by route and status.");
    for (size_t row = 0; row < POSREF_METRICS_ROUTES; row++)
        for (size_t s = 0; s <= N_STATUSES; s++) {
            uint64_t n = atomic_load(&metrics->requests[row][s]);
            if (!n)
                continue;
            posref_buffer_text(out, "posref_http_requests_total{");
            add_labels(out, row, n_routes);
            posref_buffer_printf(out, ",code=\"%u\"} %" PRIu64 "\n",
                                 s < N_STATUSES ? statuses[s] : 0, n);
        }
}

static void add_durations(struct posref_buffer *out, struct posref_metrics *metrics,
                          size_t n_routes)
{
    static const char name[] = "posref_http_request_duration_seconds";
    add_head(out, name, "histogram", "Time from the complete request to its answer.");
    for (size_t row = 0; row < POSREF_METRICS_ROUTES; row++) {
        uint64_t n = 0, each[POSREF_METRICS_BUCKETS];
        for (size_t b = 0; b < POSREF_METRICS_BUCKETS; b++)
            n += each[b] = atomic_load(&metrics->bucket[row][b]);
        if (!n)
            continue;
        uint64_t below = 0;
        for (size_t b = 0; b < POSREF_METRICS_BUCKETS; b++) {
            posref_buffer_printf(out, "%s_bucket{", name);
            add_labels(out, row, n_routes);
            posref_buffer_printf(out, ",le=\"%s\"} %" PRIu64 "\n",
                                 b < POSREF_METRICS_BUCKETS - 1 ? bounds[b].seconds : "+Inf",
                                 below += each[b]);
        }
        posref_buffer_printf(out, "%s_sum{", name);
        add_labels(out, row, n_routes);
        uint64_t sum = atomic_load(&metrics->nanoseconds[row]);
        posref_buffer_printf(out, "} %" PRIu64 ".%09" PRIu64 "\n%s_count{", sum / 1000000000,
                             sum % 1000000000, name);
        add_labels(out, row, n_routes);
        posref_buffer_printf(out, "} %" PRIu64 "\n", n);
    }
}

static void add_value(struct posref_buffer *out, const char *name, const char *type,
                      const char *help, uint64_t value)
{
    add_head(out, name, type, help);
    posref_buffer_printf(out, "%s %" PRIu64 "\n", name, value);
}

void posref_metrics_text(struct posref_buffer *out, struct posref_metrics *metrics,
                         const struct posref_suite_info *suites, size_t n_suites)
{
    size_t n_routes = 0;
    while (posref_routes[n_routes].path)
        n_routes++;
    add_requests(out, metrics, n_routes);
    add_durations(out, metrics, n_routes);
    add_value(out, "posref_http_response_body_bytes_total", "counter",
              "Bytes of answers; HEAD counts as GET.", atomic_load(&metrics->body_bytes));
    add_value(out, "posref_evaluations_total", "counter", "Evaluations answered.",
              atomic_load(&metrics->evaluations));
    add_value(out, "posref_turned_away_total", "counter",
              "Long requests refused because too many waited.", atomic_load(&metrics->turned_away));
    add_value(out, "posref_connections_opened_total", "counter", "Connections ever opened.",
              atomic_load(&metrics->connections_opened));
    add_value(out, "posref_connections", "gauge", "Connections open now.",
              (uint64_t)atomic_load(&metrics->connections));
    add_head(out, "posref_build_info", "gauge", "The program's version.");
    posref_buffer_text(out, "posref_build_info{version=\"" POSREF_VERSION "\"} 1\n");
    add_head(out, "posref_suite_info", "gauge", "Suites of the database.");
    for (size_t i = 0; i < n_suites; i++)
        posref_buffer_printf(out,
                             "posref_suite_info{suite=\"%s\",version=\"%s\",digest=\"%s\"} 1\n",
                             suites[i].name, suites[i].version, suites[i].digest);
}
