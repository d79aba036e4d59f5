/* SPDX-License-Identifier: Apache-2.0 */
/* The --report FORMAT[:FILE] of a command: opened before the run, so that a name that cannot be
 * written shows, drawn from its stream after it. Private to harness/. */
#ifndef POSREF_REPORT_TARGETS_H
#define POSREF_REPORT_TARGETS_H

#include "report_terminal.h"

#define POSREF_MAX_REPORTS 16

struct posref_report_target {
    const struct posref_report_format *format;
    const char *path; /* NULL: the standard one */
    FILE *file;
    bool failed;
};

struct posref_report_targets {
    struct posref_report_target item[POSREF_MAX_REPORTS];
    int n;
    FILE *standard;
    struct posref_buffer lines; /* the stream so far */
    struct posref_progress progress; /* its file: the caller's to set, once they are open */
};

/* standard: where reports without a file go. */
void posref_targets_init(struct posref_report_targets *targets, FILE *standard);
void posref_targets_clear(struct posref_report_targets *targets); /* closes the files */
/* Takes "FORMAT" or "FORMAT:FILE". */
POSREF_MUST_USE enum posref_status posref_targets_add(struct posref_report_targets *targets,
                                                      const char *text, struct posref_error *err);
/* Opens them; one that cannot be opened is an error of posref_targets_write. None: text. */
void posref_targets_open(struct posref_report_targets *targets);
/* Whether lines go to the standard one as they come. */
bool posref_targets_stream(const struct posref_report_targets *targets);
/* A sink of a run (ctx is the targets): keeps the lines, and passes them on to jsonl. */
bool posref_targets_keep(void *ctx, const char *lines, size_t size_bytes);
/* Draws every report; the first that cannot be written is the error, after the others. */
POSREF_MUST_USE enum posref_status posref_targets_write(struct posref_report_targets *targets,
                                                        struct posref_error *err);

#endif
