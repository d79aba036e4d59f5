/* SPDX-License-Identifier: Apache-2.0 */
/* Reports, all drawn from the stream of a run. Private to harness/. */
#ifndef POSREF_REPORT_H
#define POSREF_REPORT_H

#include "stream.h"

#define POSREF_FIRST_FAILURES 20
#define POSREF_MAX_GROUPS 512

/* Vectors of one scheme, op and scaling in one dtype; or cases of one property of a scheme. */
struct posref_cell {
    int64_t n, verdict[POSREF_N_VERDICTS];
    enum posref_grade grade; /* the worst of those judged */
    int n_judged;
};
struct posref_group {
    char scheme[32], op[32], scaling[32]; /* scaling "" where there is none */
    char property[32];                    /* "" of vectors; else scaling is "" */
    struct posref_cell cell[POSREF_N_FLOATS];
};

/* A stream added up. */
struct posref_tally {
    const char *lines; /* the stream itself, borrowed */
    size_t size_bytes;
    json_t *header, *footer, *worst;           /* worst: the line with the largest error, or NULL */
    json_t *failure[POSREF_FIRST_FAILURES];    /* the first lines that failed */
    int64_t n_failures;
    int64_t n_lower; /* of these, the ones whose limits hold at a grade below the gate */
    enum posref_grade lower; /* the worst such grade */
    struct posref_group group[POSREF_MAX_GROUPS];
    int n_groups;
    bool failed; /* more groups than fit */
};

POSREF_MUST_USE enum posref_status posref_tally_read(struct posref_tally *out, const char *lines,
                                                     size_t size_bytes, struct posref_error *err);
void posref_tally_clear(struct posref_tally *tally);

/* The number of the line's group, or -1. */
int posref_tally_group(const struct posref_tally *tally, const json_t *line);

/* What a cell says: nothing was there, all was declined, all that was not passed, or not all. */
enum posref_cell_state { POSREF_CELL_EMPTY, POSREF_CELL_DECLINED, POSREF_CELL_PASSED,
                         POSREF_CELL_FAILED };
/* The state, and for the last two "566 float32" or "3 of 566"; else "". */
enum posref_cell_state posref_cell_look(char out[32], const struct posref_cell *cell);
/* How many columns of dtypes a table has: the usual ones, and those of 8 bits up to the last with
 * lines. */
int posref_tally_columns(const struct posref_tally *tally);
/* Whether a cell of the group is in that state. */
bool posref_group_has(const struct posref_group *group, enum posref_cell_state state);

/* Appends one explanation as a sentence of plain text; false: a runner-up, which is no claim. */
bool posref_claim_text(struct posref_buffer *out, const json_t *claim);

/* Appends text for a format, with what that does not allow escaped. */
typedef void posref_escape(struct posref_buffer *out, const char *text);
/* The command of a failure, and after `between` its curl line where it has one. */
void posref_line_repeat(struct posref_buffer *out, const struct posref_tally *tally,
                        const json_t *line, posref_escape *escape, const char *between);

/* Calls visit for every vector's line, in order. */
void posref_tally_each(const struct posref_tally *tally,
                       void (*visit)(void *ctx, const json_t *line), void *ctx);

/* Why a line fails, in one sentence: what the plugin said, the limit that broke, or "". */
const char *posref_line_why(const json_t *line);
/* Counts as a failure of the run: it failed and is not known, or had to be supported, or is listed
 * as failing and passes. */
bool posref_line_fails(const json_t *line);
/* What a group has beside scheme and op: the scaling, or "property NAME". */
const char *posref_group_label(char out[48], const struct posref_group *group);
/* "command id=ID --dtype DTYPE", with --nonce where the inputs were drawn and --require where the
 * op may not be declined, which repeats one line. */
void posref_line_command(struct posref_buffer *out, const struct posref_tally *tally,
                         const json_t *line);
/* The curl line that shows the vector of one line; false, and nothing: no database has it. */
bool posref_line_curl(struct posref_buffer *out, const json_t *line);

struct posref_report_format {
    const char *name;
    void (*draw)(struct posref_buffer *out, const struct posref_tally *tally); /* NULL: jsonl */
};

/* Appends JSON as read, but with the project's own decimals. */
void posref_report_json_value(struct posref_buffer *out, const json_t *value);

/* Appends `text` for XML and HTML, with what these do not allow as ?. */
void posref_report_xml(struct posref_buffer *out, const char *text);

/* Appends the report. */
void posref_report_junit(struct posref_buffer *out, const struct posref_tally *tally);
void posref_report_tap(struct posref_buffer *out, const struct posref_tally *tally);
void posref_report_github(struct posref_buffer *out, const struct posref_tally *tally);
void posref_report_markdown(struct posref_buffer *out, const struct posref_tally *tally);
void posref_report_html(struct posref_buffer *out, const struct posref_tally *tally);
void posref_report_text(struct posref_buffer *out, const struct posref_tally *tally);
void posref_report_json(struct posref_buffer *out, const struct posref_tally *tally);

/* Columns of the tables of posref_report_text: where the cells of a row begin, and of each. */
#define POSREF_TEXT_FIRST_CELL 33
#define POSREF_TEXT_CELL 16

#endif
