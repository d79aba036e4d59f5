/* SPDX-License-Identifier: Apache-2.0 */
/* Writing and reading the lines of a run. Private to harness/. */
#ifndef POSREF_STREAM_H
#define POSREF_STREAM_H

#include "explain.h"
#include "test_run.h"

#include <jansson.h>

#define POSREF_STREAM_FORMAT 1
#define POSREF_N_NAMED 64 /* failures of which a footer may say by what they are explained */
#define POSREF_MAX_SHARDS 65536

struct posref_stream_header {
    const struct posref_test_options *options;
    const struct posref_suite_info *suite;
    const char *plugin_name, *plugin_version, *plugin_sha256, *db_path;
    size_t n_vectors;
    size_t n_selected;             /* by the filter, over all shards */
    const char *selection_sha256;  /* of their ids */
};
void posref_stream_header(struct posref_buffer *out, const struct posref_stream_header *header);

/* One vector in one dtype. judgement is NULL unless it was judged. */
struct posref_stream_line {
    const struct posref_vector *vector;
    const struct posref_trial *trial;
    enum posref_dtype dtype;
    enum posref_verdict verdict;
    const struct posref_judgement *judgement;
    const char *property; /* its name, where the line is one's; else NULL */
    const uint64_t *nonce; /* that the inputs were drawn from, or NULL */
    bool known;    /* a failure of the baseline */
    bool fixed;    /* on the baseline, and passes */
    bool required; /* declined, and --require says that it must not be */
};
void posref_stream_line(struct posref_buffer *out, const struct posref_stream_line *line);

/* The members of a judged line, each after a comma: "grade", "breach" where one is, "worst", ... */
void posref_stream_judgement(struct posref_buffer *out, const struct posref_judgement *judgement,
                             const struct posref_tensors *golden);

struct posref_stream_counts {
    int64_t verdict[POSREF_N_VERDICTS];
    int64_t grade[POSREF_N_GRADES]; /* of what was judged */
    int64_t n_compared, n_judged;   /* pairs */
    uint64_t run_ns;
    int64_t n_known, n_fixed, n_required; /* see struct posref_stream_line */
};
/* Whether a run with these counts conforms; *n_judged: how many lines are not `unsupported`. */
bool posref_counts_conform(const struct posref_stream_counts *counts,
                           enum posref_verdict close_verdict, int64_t *n_judged);

struct posref_stream_footer {
    const struct posref_stream_counts *counts;
    const char *explanations; /* a JSON list */
    const char *description;  /* of what nothing explains: a JSON object, or null */
    const char *sentences;    /* a JSON list: {"id", "dtype", "summary"} of the first failures */
    const char *arithmetic;   /* a JSON list: see arithmetic.h */
    size_t n_unexplained;
    enum posref_verdict close_verdict;
    const char *printed; /* by the plugin */
    uint64_t printed_bytes;
    unsigned n_workers;
    const struct posref_left *left; /* or NULL */
    bool conforms;
};
void posref_stream_footer(struct posref_buffer *out, const struct posref_stream_footer *footer);

/* A double as JSON. Large whole numbers end in .0: parsers with 64-bit integers (jansson, Go)
 * refuse 15818166404615553000, and errors of wrong kernels are that large. */
void posref_stream_number(struct posref_buffer *out, double value);

/* Reads a whole stream and calls visit for every line in order, type "header", "vector" or
 * "footer". BAD_INPUT, with the number of the line, when it is no such stream or has no footer. */
POSREF_MUST_USE enum posref_status posref_stream_read(const char *lines, size_t size_bytes,
                                                      void (*visit)(void *ctx, const char *type,
                                                                    const json_t *line),
                                                      void *ctx, struct posref_error *err);

#endif
