/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a report on a terminal, in colours, and the line that says how far a run is. */
#include "report_terminal.h"

#include "process.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BOLD "\033[1m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define PLAIN "\033[0m"
#define ERASE "\r\033[K"

bool posref_terminal_is(FILE *file)
{
    const char *kind = getenv("TERM");
    return isatty(fileno(file)) && kind && *kind && strcmp(kind, "dumb") != 0;
}

bool posref_terminal_has_colours(FILE *file)
{
    const char *without = getenv("NO_COLOR");
    return posref_terminal_is(file) && !(without && *without);
}

static bool begins(const char *line, size_t n, const char *with)
{
    return n >= strlen(with) && memcmp(line, with, strlen(with)) == 0;
}

static void add(struct posref_buffer *out, const char *colour, const char *text, size_t n)
{
    posref_buffer_text(out, colour);
    posref_buffer_add(out, text, n);
    posref_buffer_text(out, *colour ? PLAIN : "");
}

/* "566 float32" passed, "3 of 566" did not. */
static void add_cells(struct posref_buffer *out, const char *line, size_t n)
{
    posref_buffer_add(out, line, n < POSREF_TEXT_FIRST_CELL ? n : POSREF_TEXT_FIRST_CELL);
    for (size_t at = POSREF_TEXT_FIRST_CELL; at < n; at += POSREF_TEXT_CELL) {
        const size_t length = n - at < POSREF_TEXT_CELL ? n - at : POSREF_TEXT_CELL;
        const char *blank = memchr(line + at, ' ', length);
        const bool failed = blank && begins(blank, (size_t)(line + at + length - blank), " of ");
        const bool counts = line[at] >= '0' && line[at] <= '9';
        add(out, failed ? RED : counts ? GREEN : "", line + at, length);
    }
}

/* "  1. ID DTYPE: VERDICT at y[3]: why": the verdict. */
static bool add_failure(struct posref_buffer *out, const char *line, size_t n)
{
    const size_t blanks = strspn(line, " ");
    const char *dot = memchr(line, '.', n), *colon = memchr(line, ':', n);
    if (!dot || !colon || colon + 2 > line + n || dot <= line + blanks ||
        strspn(line + blanks, "0123456789") != (size_t)(dot - line) - blanks)
        return false;
    const char *verdict = colon + 2;
    const size_t length = strcspn(verdict, " :\n");
    posref_buffer_add(out, line, (size_t)(verdict - line));
    add(out, RED, verdict, length);
    posref_buffer_add(out, verdict + length, (size_t)(line + n - verdict) - length);
    return true;
}

static void add_line(struct posref_buffer *out, const char *line, size_t n, bool *in_table)
{
    const bool heads = begins(line, n, "passed, worst") || begins(line, n, "properties  ");
    if (heads || n == 0)
        *in_table = heads;
    if (begins(line, n, "PASS:") || begins(line, n, "FAIL:")) {
        add(out, *line == 'P' ? BOLD GREEN : BOLD RED, line, 4);
        posref_buffer_add(out, line + 4, n - 4);
    } else if (begins(line, n, "note ")) {
        add(out, YELLOW, line, 4);
        posref_buffer_add(out, line + 4, n - 4);
    } else if (heads || begins(line, n, "Why:") || begins(line, n, "Failures, each ") ||
               begins(line, n, "The first ")) {
        add(out, BOLD, line, n);
    } else if (*in_table) {
        add_cells(out, line, n);
    } else if (!begins(line, n, " ") || !add_failure(out, line, n)) {
        posref_buffer_add(out, line, n);
    }
}

void posref_terminal_colour(struct posref_buffer *out, const char *text)
{
    bool in_table = false;
    while (*text) {
        const size_t n = strcspn(text, "\n");
        add_line(out, text, n, &in_table);
        text += n;
        if (*text == '\n') {
            posref_buffer_text(out, "\n");
            text++;
        }
    }
}

/* ---- how far a run is ---- */

/* Lines that there will be: a vector in each dtype. */
static int64_t lines_to_come(const char *line, size_t n)
{
    json_t *header = json_loadb(line, n, 0, NULL);
    const int64_t vectors = json_integer_value(json_object_get(header, "vectors"));
    const size_t n_dtypes = json_object_size(json_object_get(header, "gates"));
    json_decref(header);
    return vectors * (int64_t)n_dtypes;
}

static void take_line(struct posref_progress *progress, const char *line, size_t n)
{
    if (begins(line, n, "{\"type\": \"header\""))
        progress->n_lines = lines_to_come(line, n);
    else if (begins(line, n, "{\"type\": \"vector\""))
        progress->n_done++;
}

/* What a terminal shows of a line without going on to the next, which ERASE would leave there. */
static int columns_of(FILE *file)
{
    struct winsize size = {0};
    const bool knows = ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return knows ? size.ws_col - 1 : INT_MAX;
}

static void show(const struct posref_progress *progress)
{
    char line[80];
    snprintf(line, sizeof line, "posref: %" PRId64 " of %" PRId64 " judged", progress->n_done,
             progress->n_lines);
    fprintf(progress->file, ERASE "%.*s", columns_of(progress->file), line);
    fflush(progress->file);
}

void posref_progress_take(struct posref_progress *progress, const char *lines, size_t size_bytes)
{
    const char *end;
    if (!progress->file)
        return;
    for (; (end = memchr(lines, '\n', size_bytes)) != NULL; lines = end + 1) {
        take_line(progress, lines, (size_t)(end - lines));
        size_bytes -= (size_t)(end + 1 - lines);
    }
    const double now = posref_process_clock();
    if (now < progress->shown_at + 0.1)
        return;
    progress->shown_at = now;
    show(progress);
}

void posref_progress_hide(struct posref_progress *progress)
{
    if (!progress->file || progress->shown_at == 0)
        return;
    fputs(ERASE, progress->file);
    fflush(progress->file);
    progress->file = NULL;
}
