/* SPDX-License-Identifier: Apache-2.0 */
/* The report as TAP 14: a point for each vector and dtype, a YAML block under each that fails. */
#include "report.h"
#include "report_fields.h"

struct points {
    struct posref_buffer *out;
    const struct posref_tally *tally;
    int64_t n;
};

/* A description or a comment: # would begin a directive. */
static void add_plain(struct posref_buffer *out, const char *text)
{
    for (; *text; text++)
        posref_buffer_text(out, *text == '#'    ? "\\#"
                                : *text == '\\' ? "\\\\"
                                : *text == '\n' ? " "
                                                : (char[2]){*text, '\0'});
}

static void add_yaml(struct posref_buffer *out, const struct posref_tally *tally,
                     const json_t *line)
{
    struct posref_buffer text;
    posref_buffer_init(&text, 1 << 16);
    posref_buffer_printf(out, "  ---\n  verdict: %s\n  message: ", text_of(line, "verdict"));
    posref_buffer_json_string(out, posref_line_why(line));
    posref_line_command(&text, tally, line);
    posref_buffer_text(out, "\n  repeat: ");
    posref_buffer_json_string(out, text.failed ? "" : text.data);
    text.length = 0;
    if (posref_line_curl(&text, line)) {
        posref_buffer_text(out, "\n  vector: ");
        posref_buffer_json_string(out, text.failed ? "" : text.data);
    }
    posref_buffer_text(out, "\n  ...\n");
    posref_buffer_clear(&text);
}

static void add_point(void *ctx, const json_t *line)
{
    struct points *points = ctx;
    struct posref_buffer *out = points->out;
    const char *verdict = text_of(line, "verdict");
    const bool fails = posref_line_fails(line);
    const bool known = json_is_true(json_object_get(line, "known"));
    posref_buffer_printf(out, "%s %lld - ", fails || known ? "not ok" : "ok",
                         (long long)++points->n);
    add_plain(out, text_of(line, "id"));
    posref_buffer_printf(out, " %s", text_of(line, "dtype"));
    if (known) /* the directive for what is expected to fail */
        posref_buffer_printf(out, " # TO" "DO known failure: %s", verdict);
    else if (!fails && strcmp(verdict, "unsupported") == 0) {
        posref_buffer_text(out, " # SKIP ");
        add_plain(out, posref_line_why(line));
    }
    posref_buffer_text(out, "\n");
    if (fails)
        add_yaml(out, points->tally, line);
}

static void count(void *ctx, const json_t *line)
{
    (void)line;
    ++*(int64_t *)ctx;
}

void posref_report_tap(struct posref_buffer *out, const struct posref_tally *tally)
{
    struct points points = {.out = out, .tally = tally};
    int64_t n = 0;
    posref_tally_each(tally, count, &n);
    posref_buffer_printf(out, "TAP version 14\n1..%lld\n", (long long)n);
    posref_tally_each(tally, add_point, &points);
}
