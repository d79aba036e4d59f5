/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the lines of a run back. */
#include "stream.h"

#include <string.h>

static enum posref_status bad_line(struct posref_error *err, size_t number, const char *text)
{
    return posref_fail(err, POSREF_BAD_INPUT, "report", "line %zu %s", number, text);
}

enum posref_status posref_stream_read(const char *lines, size_t size_bytes,
                                      void (*visit)(void *ctx, const char *type,
                                                    const json_t *line),
                                      void *ctx, struct posref_error *err)
{
    const char *end = lines + size_bytes;
    bool complete = false;
    for (size_t number = 1; lines < end; number++) {
        const char *stop = memchr(lines, '\n', (size_t)(end - lines));
        if (!stop)
            return bad_line(err, number, "has no end");
        json_t *line = json_loadb(lines, (size_t)(stop - lines), 0, NULL);
        const char *type = json_string_value(json_object_get(line, "type"));
        bool known = type && (strcmp(type, "vector") == 0 || strcmp(type, "header") == 0 ||
                              strcmp(type, "footer") == 0);
        if (!known || (strcmp(type, "header") == 0) != (number == 1) || complete) {
            json_decref(line);
            return bad_line(err, number, "is not one of a run of posref test");
        }
        complete = strcmp(type, "footer") == 0;
        visit(ctx, type, line);
        json_decref(line);
        lines = stop + 1;
    }
    if (!complete)
        return posref_fail(err, POSREF_BAD_INPUT, "report", "has no footer: the run is incomplete");
    return POSREF_OK;
}
