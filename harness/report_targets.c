/* SPDX-License-Identifier: Apache-2.0 */
/* Formats by name, and the files that reports go to. */
#include "report_targets.h"

#include <stdlib.h>
#include <string.h>

#define MAX_STREAM_BYTES ((size_t)1 << 30)

static const struct posref_report_format formats[] = {
    {"text", posref_report_text},         {"json", posref_report_json},
    {"jsonl", NULL},                      {"junit", posref_report_junit},
    {"tap", posref_report_tap},           {"github", posref_report_github},
    {"markdown", posref_report_markdown}, {"html", posref_report_html},
};
#define N_FORMATS (sizeof formats / sizeof *formats)

void posref_targets_init(struct posref_report_targets *targets, FILE *standard)
{
    *targets = (struct posref_report_targets){.standard = standard};
    posref_buffer_init(&targets->lines, MAX_STREAM_BYTES);
}

void posref_targets_clear(struct posref_report_targets *targets)
{
    for (int k = 0; k < targets->n; k++)
        if (targets->item[k].file && targets->item[k].file != targets->standard)
            fclose(targets->item[k].file);
    posref_buffer_clear(&targets->lines);
    targets->n = 0;
}

enum posref_status posref_targets_add(struct posref_report_targets *targets, const char *text,
                                      struct posref_error *err)
{
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text), known = 0;
    while (known < N_FORMATS && (strlen(formats[known].name) != length ||
                                 strncmp(formats[known].name, text, length) != 0))
        known++;
    if (known == N_FORMATS) {
        char names[120];
        size_t used = 0;
        for (size_t k = 0; k < N_FORMATS; k++)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", k ? ", " : "",
                                     formats[k].name);
        return posref_fail(err, POSREF_BAD_INPUT, "--report", "'%.*s' is none of %s",
                           (int)(length < 40 ? length : 40), text, names);
    }
    if (targets->n == POSREF_MAX_REPORTS)
        return posref_fail(err, POSREF_BAD_INPUT, "--report", "given too often");
    if (colon && colon[1] == '\0')
        return posref_fail(err, POSREF_BAD_INPUT, "--report", "names no file after the colon");
    targets->item[targets->n++] =
        (struct posref_report_target){.format = &formats[known], .path = colon ? colon + 1 : NULL};
    return POSREF_OK;
}

void posref_targets_open(struct posref_report_targets *targets)
{
    if (targets->n == 0)
        targets->item[targets->n++] = (struct posref_report_target){.format = &formats[0]};
    for (int k = 0; k < targets->n; k++) {
        struct posref_report_target *target = &targets->item[k];
        target->file = target->path ? fopen(target->path, "we") : targets->standard;
        target->failed = target->file == NULL;
    }
}

bool posref_targets_stream(const struct posref_report_targets *targets)
{
    for (int k = 0; k < targets->n; k++)
        if (!targets->item[k].format->draw && !targets->item[k].path)
            return true;
    return false;
}

bool posref_targets_keep(void *ctx, const char *lines, size_t size_bytes)
{
    struct posref_report_targets *targets = ctx;
    posref_buffer_add(&targets->lines, lines, size_bytes);
    posref_progress_take(&targets->progress, lines, size_bytes);
    for (int k = 0; k < targets->n; k++) {
        struct posref_report_target *target = &targets->item[k];
        if (!target->format->draw && !target->failed)
            target->failed = fwrite(lines, 1, size_bytes, target->file) != size_bytes ||
                             fflush(target->file) != 0;
    }
    return !targets->lines.failed;
}

static bool write_text(FILE *file, const struct posref_buffer *text)
{
    if (text->failed)
        return false;
    size_t written = text->length ? fwrite(text->data, 1, text->length, file) : 0;
    return written == text->length && fflush(file) == 0;
}

/* Draws the report; text is coloured where it goes to a terminal. */
static void draw(struct posref_buffer *out, const struct posref_report_target *target,
                 const struct posref_tally *tally)
{
    struct posref_buffer plain;
    if (target->format->draw != posref_report_text || !posref_terminal_has_colours(target->file)) {
        target->format->draw(out, tally);
        return;
    }
    posref_buffer_init(&plain, MAX_STREAM_BYTES);
    posref_report_text(&plain, tally);
    posref_buffer_add(&plain, "", 1);
    out->failed = plain.failed;
    if (!plain.failed)
        posref_terminal_colour(out, plain.data);
    posref_buffer_clear(&plain);
}

enum posref_status posref_targets_write(struct posref_report_targets *targets,
                                        struct posref_error *err)
{
    struct posref_tally tally;
    posref_progress_hide(&targets->progress);
    enum posref_status status =
        posref_tally_read(&tally, targets->lines.data, targets->lines.length, err);
    if (status != POSREF_OK)
        return POSREF_INTERNAL;
    for (int k = 0; k < targets->n; k++) {
        struct posref_report_target *target = &targets->item[k];
        struct posref_buffer text;
        posref_buffer_init(&text, MAX_STREAM_BYTES);
        if (target->format->draw && !target->failed)
            draw(&text, target, &tally);
        target->failed = target->failed || !write_text(target->file, &text);
        posref_buffer_clear(&text);
        if (target->failed && status == POSREF_OK)
            status = posref_fail(err, POSREF_IO, target->path ? target->path : "standard output",
                                 "the report cannot be written");
    }
    posref_tally_clear(&tally);
    return status;
}
