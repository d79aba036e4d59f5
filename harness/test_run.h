/* SPDX-License-Identifier: Apache-2.0 */
/* A run of `posref test`: vectors in, one stream of JSON lines out, from which every report is
 * drawn. The stream is a header, a line for each vector and dtype, and a footer with the counts,
 * without which the run is incomplete. docs/verdicts.md describes the lines. Private to
 * harness/. */
#ifndef POSREF_TEST_RUN_H
#define POSREF_TEST_RUN_H

#include "reference/judge.h"
#include "baseline.h"
#include "layouts.h"
#include "runner.h"
#include "vectors/vectors.h"

/* f64 f32 f16 bf16 f8e4m3 f8e5m2: the dtypes that are judged, in enum order; those of a run whose
 * user does not say which are the first. */
#define POSREF_N_FLOATS 6
#define POSREF_N_USUAL_FLOATS 4

/* Which vectors are judged once more on inputs drawn from the nonce. */
enum posref_fresh { POSREF_FRESH_SOME, POSREF_FRESH_ALL, POSREF_FRESH_NONE };

/* What the condition id= names, by how it begins. */
enum posref_id_kind { POSREF_ID_ANY /* there is none */, POSREF_ID_GOLDEN, POSREF_ID_FRESH,
                      POSREF_ID_PROPERTY, POSREF_ID_LAYOUT /* ID@LAYOUT */ };

/* In which layouts vectors are handed out. */
struct posref_layout_choice {
    bool given; /* else plain, and those that the plugin names */
    bool plain;
    bool layout[POSREF_N_LAYOUTS];
};

struct posref_test_options {
    const char *plugin, *config;
    const char *suite;                 /* NAME or NAME@VERSION */
    const char *db_path;               /* NULL: the default rule */
    const struct posref_filter *filter;
    const char *id;                    /* as typed, or NULL: a vector of just this name wins */
    enum posref_id_kind id_kind;       /* the filter has no "fresh/" in front of an id */
    enum posref_fresh fresh;
    bool no_properties;
    struct posref_layout_choice layouts;
    uint64_t nonce;                    /* of drawn inputs, and of the order of calls */
    const char *filter_text;           /* as typed */
    const char *command;               /* what reproduces a failure, but for id= and --dtype */
    bool dtype[POSREF_N_FLOATS];
    enum posref_grade gate[POSREF_N_FLOATS];
    double timeout_s, start_timeout_s;
    uint64_t memory_limit_bytes; /* resident memory of the worker; 0: none */
    const char *answers; /* a directory of answers that stands for the plugin, or NULL */
    bool strict;
    const struct posref_baseline *baseline; /* or NULL */
    bool require[POSREF_N_OPS];             /* ops that may not be declined */
    int shard, shard_of;                    /* the shard-th of shard_of, from 1; 0, 0: all */
};

/* Where the lines go as they come: each call is one or more whole lines. Returning false ends the
 * run with POSREF_IO. */
typedef bool posref_stream_sink(void *ctx, const char *lines, size_t size_bytes);

/* Judges every vector that matches, in every dtype asked for. *conforms: nothing failed; *n_judged:
 * lines that are not `unsupported`. BAD_INPUT when the plugin cannot be used or nothing matches. */
POSREF_MUST_USE enum posref_status posref_test_run(bool *conforms, int64_t *n_judged,
                                                   const struct posref_test_options *options,
                                                   posref_stream_sink *sink, void *sink_ctx,
                                                   struct posref_error *err);

#endif
