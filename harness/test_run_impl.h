/* SPDX-License-Identifier: Apache-2.0 */
/* One run of posref test, as the test_*.c files share it. Private to them. */
#ifndef POSREF_TEST_RUN_IMPL_H
#define POSREF_TEST_RUN_IMPL_H

#include "arithmetic.h"
#include "choice.h"
#include "stream.h"

#define POSREF_CHUNK_VECTORS 128
#define POSREF_CHUNK_BYTES ((size_t)4 << 20) /* of doubles: dtypes of a chunk fit one hand-over */
#define POSREF_MAX_LINE_BYTES ((size_t)1 << 20)

/* The last of a chunk may be two: the stored vector, and the same on drawn inputs. */
#define POSREF_CHUNK_MOST (POSREF_CHUNK_VECTORS + 1)
#define POSREF_CHUNK_TRIALS (POSREF_CHUNK_MOST * POSREF_N_FLOATS)

struct posref_run {
    const struct posref_test_options *options;
    posref_stream_sink *sink;
    void *sink_ctx;
    struct posref_db *db;
    struct posref_suite_info suite;
    struct posref_runner *runner;
    struct posref_explainer *explainer;
    struct posref_arithmetic *arithmetic;
    struct posref_stream_counts counts;
    char named[POSREF_N_NAMED][POSREF_MAX_ID + 16]; /* the first failures to be explained */
    size_t n_named;
    struct posref_choice choice;
    struct posref_layout_choice layouts;
    char plugin_sha256[65];
    struct posref_heap *heap, *scratch;
    /* The present chunk. */
    struct posref_vector vector[POSREF_CHUNK_MOST];
    bool is_original[POSREF_CHUNK_MOST]; /* of the drawn one behind it: runs, has no line */
    const struct posref_layout_case *laid[POSREF_CHUNK_MOST]; /* the vector's layout; NULL: plain */
    struct posref_trial trial[POSREF_CHUNK_TRIALS];
    struct posref_layout_result *result[POSREF_CHUNK_TRIALS]; /* of laid ones */
    /* What its outputs are judged as: the vector, or one of its dtype's own (tables, 8 bits). */
    const struct posref_vector *judged[POSREF_CHUNK_TRIALS];
    bool is_withheld[POSREF_CHUNK_TRIALS]; /* not offered: declined without a call */
    enum posref_dtype dtype[POSREF_CHUNK_TRIALS];
    size_t of[POSREF_CHUNK_TRIALS]; /* the trial's vector */
    size_t n_vectors, n_trials;
    struct posref_trial *shuffled[POSREF_CHUNK_TRIALS]; /* in the order in which they run */
    char group[POSREF_N_SCHEMES][POSREF_N_OPS][POSREF_N_FLOATS][64];
};

/* Hands whole lines to the sink, and clears them in any case. */
POSREF_MUST_USE enum posref_status posref_run_emit(struct posref_run *run,
                                                   struct posref_buffer *lines,
                                                   struct posref_error *err);
/* What the baseline and --require say of the verdict. */
void posref_run_mark(struct posref_run *run, struct posref_stream_line *line);
/* The nonce of drawn inputs; NULL: they are the stored ones. */
const uint64_t *posref_run_nonce(const struct posref_run *run, const char *id);

/* A chunk: loads vectors from number *next on, up to the first property; runs them; judges them. */
POSREF_MUST_USE enum posref_status posref_run_load(struct posref_run *run, size_t *next,
                                                   struct posref_error *err);
POSREF_MUST_USE enum posref_status posref_run_trials(struct posref_run *run,
                                                     struct posref_error *err);
POSREF_MUST_USE enum posref_status posref_run_judge(struct posref_run *run,
                                                    struct posref_error *err);

/* One property in every dtype asked for. */
POSREF_MUST_USE enum posref_status posref_run_property(struct posref_run *run, const char *id,
                                                       struct posref_error *err);

#endif
