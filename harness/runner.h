/* SPDX-License-Identifier: Apache-2.0 */
/* Runs cases on a plugin in a worker process and survives whatever the plugin does. The parent's
 * side of the worker: it starts one, hands it batches, keeps the clock, ends it with everything it
 * started, and replaces it. Private to harness/. */
#ifndef POSREF_RUNNER_H
#define POSREF_RUNNER_H

#include "place.h"
#include "verdict.h"

struct posref_runner_options {
    const char *plugin_path;
    const char *config;       /* "key=value key=value", "" for none */
    double start_timeout_s;   /* loading, open, close, and the first call of each op and shape */
    double timeout_s;         /* every other call */
    uint64_t memory_limit_bytes; /* resident memory of the worker; 0: none */
    const char *program;      /* the executable that has the worker in it; NULL: this one */
};

/* One case: in by the caller, out by posref_runner_run. */
struct posref_trial {
    const char *op;
    const char *spec;             /* canonical text */
    const char *group;            /* trials that hang alike, e.g. by op and scheme; NULL: alone */
    struct posref_tensors in;     /* as handed to the plugin, narrowed already */
    struct posref_tensors out;    /* name, dtype, shape; data is the caller's and gets filled */
    bool look_later; /* elements unwritten or NaN are the caller's to look for (batch.h) */
    const char *layout;           /* its name; NULL: plain */
    const struct posref_placement *placement; /* of in and out; NULL: contiguous, each its own */
    /* PASS means here: it returned, and every output is there and no NaN. What came back is then
     * in out (also for NAN and UNWRITTEN). */
    enum posref_verdict verdict;
    int signal;                   /* that ended the worker, or 0 */
    char why[200];                /* one line, "" when there is nothing to say */
    const char *tensor;           /* the tensor concerned, a name in in or out, or NULL */
    int64_t element;              /* of that tensor, flat; -1: none. May lie outside it. */
    uint64_t run_ns;              /* spent in the plugin's run */
};

struct posref_runner;

/* Starts a worker and loads the plugin. BAD_INPUT with err->key = the path when the file cannot be
 * loaded, has no entry point, has another ABI or refuses its configuration. A plugin that crashes
 * or hangs while it is loaded or opened is no error here: every trial gets that verdict. */
POSREF_MUST_USE enum posref_status posref_runner_new(struct posref_runner **out,
                                                     const struct posref_runner_options *options,
                                                     struct posref_error *err);

/* Closes the plugin and ends the worker; nothing can be run afterwards. *verdict: PASS when close
 * returned, or there was no worker to close, else CRASH, TIMEOUT or EXITED; BAD_WRITE or BAD_READ
 * where a thread that a call had left behind used a tensor of the last batch. */
void posref_runner_close(struct posref_runner *runner, enum posref_verdict *verdict);
/* Ends the worker, unless it is closed already. NULL is fine. */
void posref_runner_free(struct posref_runner *runner);

/* Runs the n trials, in order, in as few hand-overs as fit; a trial that kills the worker gets its
 * verdict and the rest go on in a fresh one. After three timeouts in a row in one group, the rest
 * of the group is given that verdict without being run. Fails only when the harness itself cannot
 * go on. */
POSREF_MUST_USE enum posref_status posref_runner_run(struct posref_runner *runner,
                                                     struct posref_trial *const *trials, size_t n,
                                                     struct posref_error *err);

const char *posref_runner_plugin_name(const struct posref_runner *runner);
const char *posref_runner_plugin_version(const struct posref_runner *runner);
/* What it says that it takes (posref_plugin.h), "" for nothing. */
const char *posref_runner_plugin_layouts(const struct posref_runner *runner);
const char *posref_runner_plugin_dtypes(const struct posref_runner *runner);

/* The first bytes that the plugin wrote to stdout or stderr, as text ("" for none), and how many
 * it wrote in all. */
const char *posref_runner_captured(const struct posref_runner *runner, uint64_t *total_bytes);

/* What the plugin left behind in its processes after calls. */
struct posref_left;
const struct posref_left *posref_runner_left(const struct posref_runner *runner);

/* Workers started so far. */
unsigned posref_runner_n_workers(const struct posref_runner *runner);

#endif
