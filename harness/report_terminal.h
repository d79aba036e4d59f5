/* SPDX-License-Identifier: Apache-2.0 */
/* Colours of the text report on a terminal, and the line that says how far a run is. Private to
 * harness/. */
#ifndef POSREF_REPORT_TERMINAL_H
#define POSREF_REPORT_TERMINAL_H

#include "report.h"

/* A terminal that can move its cursor: TERM is neither empty nor dumb. */
bool posref_terminal_is(FILE *file);
/* And colours are not unwanted: NO_COLOR is empty. */
bool posref_terminal_has_colours(FILE *file);

/* Appends the text of posref_report_text with escape sequences for colours, else unchanged. */
void posref_terminal_colour(struct posref_buffer *out, const char *text);

/* "posref: 123 of 4165 judged", rewritten ten times a second at most and cut where the terminal is
 * narrower. All zero to begin with, and where file is NULL nothing is shown. */
struct posref_progress {
    FILE *file;
    int64_t n_done, n_lines;
    double shown_at;
};
/* Takes whole lines of the stream as they come. */
void posref_progress_take(struct posref_progress *progress, const char *lines, size_t size_bytes);
/* Erases the line; nothing more is shown. */
void posref_progress_hide(struct posref_progress *progress);

#endif
