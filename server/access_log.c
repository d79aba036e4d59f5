/* SPDX-License-Identifier: Apache-2.0 */
/* The access log: see access_log.h. */
#include "access_log.h"

#include <string.h>
#include <time.h>

/* A string from the client, which may hold anything, as a JSON string. */
static void add_untrusted(struct posref_buffer *out, const char *text)
{
    if (posref_utf8_valid(text, strlen(text)))
        posref_buffer_json_string(out, text);
    else
        posref_buffer_text(out, "\"(not UTF-8)\"");
}

/* One line of JSON about an answered request. */
void posref_access_log(FILE *log, const struct posref_connection *one,
                       const struct posref_incoming *in, unsigned status, size_t body_bytes)
{
    struct posref_buffer line;
    char text[80] = "";
    struct timespec now;
    struct tm utc;
    posref_buffer_init(&line, 8 * POSREF_CONNECTION_BYTES);
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    posref_buffer_printf(&line, "{\"time\": \"%s.%03ldZ\", \"address\": ", text,
                         now.tv_nsec / 1000000);
    text[0] = '\0';
    if (one)
        posref_address_text(text, sizeof text, &one->address);
    posref_buffer_json_string(&line, text);
    posref_buffer_text(&line, ", \"method\": ");
    add_untrusted(&line, in->http.method);
    posref_buffer_text(&line, ", \"target\": ");
    add_untrusted(&line, in->target);
    posref_buffer_printf(&line, ", \"status\": %u, \"bytes\": %zu}\n", status, body_bytes);
    if (!line.failed)
        fwrite(line.data, 1, line.length, log);
    posref_buffer_clear(&line);
}
