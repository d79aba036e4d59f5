/* SPDX-License-Identifier: Apache-2.0 */
/* The report as GitHub Actions reads it: an annotation for each of the first failures, and the
 * Markdown appended to the step's summary where there is one. */
#include "report.h"
#include "report_fields.h"

#include <stdlib.h>

/* Properties end at , and :, messages at the line's end; all are percent-encoded. */
static void add_encoded(struct posref_buffer *out, const char *text, bool property)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '%' || c < 0x20 || (property && (c == ',' || c == ':')))
            posref_buffer_printf(out, "%%%02X", c);
        else
            posref_buffer_add(out, text, 1);
    }
}

static void annotate(struct posref_buffer *out, const struct posref_tally *tally,
                     const json_t *line)
{
    struct posref_buffer text;
    posref_buffer_init(&text, 1 << 16);
    posref_buffer_text(out, "::error title=");
    add_encoded(out, text_of(line, "id"), true);
    posref_buffer_printf(out, " %s::", text_of(line, "dtype"));
    posref_buffer_printf(&text, "%s: %s\n", text_of(line, "verdict"), posref_line_why(line));
    posref_line_repeat(&text, tally, line, posref_buffer_text, "\n");
    add_encoded(out, text.failed ? "" : text.data, false);
    posref_buffer_text(out, "\n");
    posref_buffer_clear(&text);
}

/* The summary is a courtesy: one that cannot be written fails no run. */
static void append_summary(const struct posref_tally *tally)
{
    const char *path = getenv("GITHUB_STEP_SUMMARY");
    struct posref_buffer text;
    FILE *file = path && *path ? fopen(path, "ae") : NULL;
    if (!file)
        return;
    posref_buffer_init(&text, (size_t)1 << 20);
    posref_report_markdown(&text, tally);
    if (!text.failed)
        fwrite(text.data, 1, text.length, file);
    posref_buffer_clear(&text);
    fclose(file);
}

void posref_report_github(struct posref_buffer *out, const struct posref_tally *tally)
{
    const json_t *footer = tally->footer;
    const bool pass = strcmp(text_of(footer, "verdict"), "pass") == 0;
    for (int k = 0; k < POSREF_FIRST_FAILURES && tally->failure[k]; k++)
        annotate(out, tally, tally->failure[k]);
    posref_buffer_printf(out, "::%s title=posref::%s, grade %s; %lld failures\n",
                         pass ? "notice" : "error", pass ? "pass" : "fail",
                         text_of(footer, "grade"), (long long)tally->n_failures);
    append_summary(tally);
}
