/* SPDX-License-Identifier: Apache-2.0 */
/* The parent's side: batches, deadlines, deaths, replacements. */
#include "batch.h"
#include "plugin_text.h"
#include "process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define MAX_GROUPS 64
#define MAX_TIMEOUTS 3

/* Timeouts of a group of trials since the last call that came back. */
struct late {
    char group[64];
    int n;
};

struct posref_runner {
    struct posref_runner_options options;
    struct posref_process process;
    bool alive;               /* a worker is there, its plugin open */
    struct posref_trial lost; /* why none is, when loading or opening killed it */
    char name[64], version[32], layouts[512], dtypes[64];
    unsigned n_workers;
    uint64_t *seen; /* hashes of op and shapes that this worker has run already */
    size_t n_seen, seen_capacity;
    struct late late[MAX_GROUPS];
    size_t n_late;
    struct posref_batch batch;
    struct posref_left left; /* of all workers */
};

/* How the worker died, as a verdict. Faults next to a tensor are named by posref_batch_blame. */
static void read_death(struct posref_trial *trial, const struct posref_process *process,
                       enum posref_wait how)
{
    int status = process->wait_status;
    if (how == POSREF_WAIT_LATE) {
        trial->verdict = POSREF_VERDICT_TIMEOUT;
    } else if (how == POSREF_WAIT_FAT) {
        trial->verdict = POSREF_VERDICT_CRASH;
        trial->signal = SIGKILL;
        snprintf(trial->why, sizeof trial->why,
                 "ended by posref: its process held more than %llu MiB of memory",
                 (unsigned long long)(process->memory_limit_bytes >> 20));
    } else if (WIFSIGNALED(status)) {
        trial->verdict = POSREF_VERDICT_CRASH;
        trial->signal = WTERMSIG(status);
        snprintf(trial->why, sizeof trial->why, "SIG%s", sigabbrev_np(trial->signal)
                                                             ? sigabbrev_np(trial->signal) : "?");
    } else {
        trial->verdict = POSREF_VERDICT_EXITED;
        snprintf(trial->why, sizeof trial->why, "the plugin ended its process with status %d",
                 WEXITSTATUS(status));
    }
}

/* A fault at the edge of a tensor says more than the signal. */
static void read_fault(struct posref_trial *trial, struct posref_wire *wire)
{
    if (trial->verdict != POSREF_VERDICT_CRASH || !wire || atomic_load(&wire->fault_signal) == 0)
        return;
    int index = wire->fault_tensor;
    if (index < 0 || index >= trial->in.n + trial->out.n)
        return;
    const struct posref_tensor *tensor =
        index < trial->in.n ? &trial->in.item[index] : &trial->out.item[index - trial->in.n];
    trial->verdict = wire->fault_is_write ? POSREF_VERDICT_BAD_WRITE : POSREF_VERDICT_BAD_READ;
    trial->tensor = tensor->name;
    trial->element = posref_wire_element(wire->fault_offset_bytes, tensor->dtype);
    if (wire->fault_is_write && index < trial->in.n && trial->element >= 0 &&
        trial->element < posref_tensor_count(tensor)) {
        trial->verdict = POSREF_VERDICT_INPUT_MODIFIED;
        snprintf(trial->why, sizeof trial->why, "written, if only with what it held");
    }
    if (wire->fault_is_late)
        snprintf(trial->why, sizeof trial->why, "after the call returned");
}

/* The last line that the plugin printed, as for a program that could not begin; "" for none. */
static void last_printed(char *out, size_t size_bytes, const struct posref_process *p)
{
    size_t end = strlen(p->captured), begin;
    while (end > 0 && (p->captured[end - 1] == '\n' || p->captured[end - 1] == '\r'))
        end--;
    for (begin = end; begin > 0 && p->captured[begin - 1] != '\n'; begin--)
        continue;
    snprintf(out, size_bytes, "%s%.*s", end > begin ? "; it printed: " : "", (int)(end - begin),
             p->captured + begin);
    posref_plugin_text_clean(out, 1);
}

/* What the plugin says of itself, on one line; the worker may have written anything. */
static void take_text(char *to, const char *from, size_t size_bytes)
{
    memcpy(to, from, size_bytes);
    to[size_bytes - 1] = '\0';
    posref_plugin_text_clean(to, 1);
}

static enum posref_status check_load(struct posref_runner *r, struct posref_error *err)
{
    struct posref_wire *wire = r->process.wire;
    char text[POSREF_WIRE_TEXT], printed[160];
    snprintf(text, sizeof text, "%.*s", (int)sizeof wire->load_text - 1, wire->load_text);
    posref_plugin_text_clean(text, 1);
    const char *path = r->options.plugin_path;
    switch ((enum posref_load)atomic_load(&wire->load)) {
    case POSREF_LOAD_READY:
        take_text(r->name, wire->plugin_name, sizeof r->name);
        take_text(r->version, wire->plugin_version, sizeof r->version);
        take_text(r->layouts, wire->plugin_layouts, sizeof r->layouts);
        take_text(r->dtypes, wire->plugin_dtypes, sizeof r->dtypes);
        return POSREF_OK;
    case POSREF_LOAD_FAILED:
        return posref_fail(err, POSREF_BAD_INPUT, path, "cannot be loaded: %s", text);
    case POSREF_LOAD_NO_ENTRY:
        return posref_fail(err, POSREF_BAD_INPUT, path,
                           "is no plugin: it exports no posref_plugin_entry");
    case POSREF_LOAD_BAD_ABI:
        return posref_fail(err, POSREF_BAD_INPUT, path,
                           "has plugin ABI %u; this posref speaks ABI 1", wire->plugin_abi);
    case POSREF_LOAD_OPEN_FAILED:
        last_printed(printed, sizeof printed, &r->process);
        return posref_fail(err, POSREF_BAD_INPUT, path, "refused to open: %s%s", text, printed);
    default:
        return posref_fail(err, POSREF_INTERNAL, path, "the worker did not load it");
    }
}

/* Waits for loading, opening or closing; ignores the bytes that come while the worker is loaded as
 * far as `load`, which can only be the plugin's. */
static enum posref_wait wait_past_bytes(struct posref_runner *r, enum posref_load load)
{
    double end = posref_process_clock() + r->options.start_timeout_s, left;
    while ((left = end - posref_process_clock()) > 0) {
        enum posref_wait how = posref_process_wait(&r->process, left);
        if (how != POSREF_WAIT_DONE || atomic_load(&r->process.wire->load) != (uint32_t)load)
            return how;
    }
    return POSREF_WAIT_LATE;
}

/* A worker with the plugin open, or r->alive = false and r->lost saying what happened. */
static enum posref_status start(struct posref_runner *r, struct posref_error *err)
{
    enum posref_status status = posref_process_start(&r->process, r->options.program,
                                                     r->options.plugin_path, r->options.config,
                                                     err);
    if (status != POSREF_OK)
        return status;
    r->n_workers++;
    r->n_seen = 0;
    /* A byte that comes before the plugin is loaded is the plugin's, not the worker's. */
    enum posref_wait how = wait_past_bytes(r, POSREF_LOAD_NONE);
    if (how == POSREF_WAIT_DONE) {
        r->alive = true;
        return check_load(r, err);
    }
    r->alive = false;
    read_death(&r->lost, &r->process, how);
    size_t length = strlen(r->lost.why);
    snprintf(r->lost.why + length, sizeof r->lost.why - length, "%swhile it was loaded or opened",
             length ? " " : "");
    posref_process_end(&r->process);
    return POSREF_OK;
}

enum posref_status posref_runner_new(struct posref_runner **out,
                                     const struct posref_runner_options *options,
                                     struct posref_error *err)
{
    struct posref_runner *r = calloc(1, sizeof *r);
    if (!r)
        return posref_fail(err, POSREF_NO_MEMORY, "", "out of memory");
    r->options = *options;
    posref_process_init(&r->process);
    r->process.memory_limit_bytes = options->memory_limit_bytes;
    enum posref_status status = start(r, err);
    if (status != POSREF_OK) {
        posref_runner_free(r);
        return status;
    }
    *out = r;
    return POSREF_OK;
}

/* A thread used a tensor after its call had returned, and died of it. */
static bool used_late(struct posref_wire *wire)
{
    return wire && atomic_load(&wire->fault_signal) != 0 && wire->fault_is_late &&
           wire->fault_tensor >= 0;
}

void posref_runner_close(struct posref_runner *r, enum posref_verdict *verdict)
{
    struct posref_trial end = {.verdict = POSREF_VERDICT_PASS};
    if (r->alive) {
        enum posref_wait how = POSREF_WAIT_DIED;
        if (posref_process_tell(&r->process, POSREF_WIRE_QUIT))
            how = wait_past_bytes(r, POSREF_LOAD_READY);
        bool closed = how == POSREF_WAIT_DIED && r->process.wire && r->process.wait_status == 0 &&
                      (atomic_load(&r->process.wire->progress) & 0xff) == POSREF_PHASE_CLOSED;
        if (!closed)
            read_death(&end, &r->process, how);
        if (!closed && used_late(r->process.wire))
            end.verdict = r->process.wire->fault_is_write ? POSREF_VERDICT_BAD_WRITE
                                                          : POSREF_VERDICT_BAD_READ;
    }
    posref_process_end(&r->process);
    r->alive = false;
    *verdict = end.verdict;
}

void posref_runner_free(struct posref_runner *r)
{
    if (!r)
        return;
    posref_process_end(&r->process);
    posref_process_release(&r->process);
    free(r->seen);
    free(r);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * 0x100000001b3u;
}

/* Op and shapes: what kernels compile for. */
static uint64_t kind_of(const struct posref_trial *trial)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *c = trial->op; *c; c++)
        hash = mix(hash, (unsigned char)*c);
    const struct posref_tensors *sets[] = {&trial->in, &trial->out};
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < sets[s]->n; i++) {
            const struct posref_tensor *tensor = &sets[s]->item[i];
            hash = mix(hash, (uint64_t)tensor->dtype + 16);
            for (int axis = 0; axis < tensor->rank; axis++)
                hash = mix(hash, (uint64_t)tensor->shape[axis] + 32);
        }
    return hash;
}

static bool first_of_kind(const struct posref_runner *r, const struct posref_trial *trial)
{
    uint64_t kind = kind_of(trial);
    for (size_t k = 0; k < r->n_seen; k++)
        if (r->seen[k] == kind)
            return false;
    return true;
}

static void remember(struct posref_runner *r, const struct posref_trial *trial)
{
    if (!first_of_kind(r, trial))
        return;
    if (r->n_seen == r->seen_capacity) {
        size_t capacity = r->seen_capacity ? 2 * r->seen_capacity : 64;
        uint64_t *grown = realloc(r->seen, capacity * sizeof *grown);
        if (!grown)
            return; /* a longer deadline than needed */
        r->seen = grown;
        r->seen_capacity = capacity;
    }
    r->seen[r->n_seen++] = kind_of(trial);
}

static bool is_settled(const struct posref_runner *r, size_t k)
{
    struct posref_wire_case *record = posref_batch_record(&r->batch, r->process.wire, k);
    return atomic_load(&record->result) != POSREF_WIRE_NOT_RUN;
}

/* How far the batch is: the call that runs, or `past`, where that is not behind it. The plugin
 * can overwrite the word, so it counts only upwards, and only behind settled cases: it cannot buy
 * more time than calls take. */
static uint64_t progress_of(const struct posref_runner *r, uint64_t past)
{
    uint64_t progress = atomic_load(&r->process.wire->progress);
    size_t index = (size_t)(progress >> 8);
    if (progress <= past || index >= r->batch.n || (progress & 0xff) > POSREF_PHASE_REPEAT ||
        (index > 0 && !is_settled(r, index - 1)))
        return past;
    return progress;
}

/* Waits for the batch's end. A call's clock starts when the parent first sees it begin, so that a
 * call gets at least its deadline and at most twice that. The worker's byte is a hint only: the
 * plugin can send one too. */
static enum posref_wait await(struct posref_runner *r, struct posref_trial *const *trials)
{
    uint64_t progress = progress_of(r, 0);
    size_t known = 0; /* settled cases seen so far: what they ran is compiled by now */
    double began = posref_process_clock();
    for (;;) {
        const struct posref_trial *now = trials[progress >> 8];
        double deadline = first_of_kind(r, now) ? r->options.start_timeout_s : r->options.timeout_s;
        double left = began + deadline - posref_process_clock();
        enum posref_wait how = posref_process_wait(&r->process, left > 0 ? left : 0);
        size_t before = known;
        while (known < r->batch.n && is_settled(r, known))
            known++;
        if (how == POSREF_WAIT_DIED || how == POSREF_WAIT_FAT || known == r->batch.n)
            return how;
        for (size_t k = before; k < known; k++)
            remember(r, trials[k]);
        if (left > 0 && how == POSREF_WAIT_DONE)
            continue;
        uint64_t later = progress_of(r, progress);
        if (later == progress)
            return POSREF_WAIT_LATE;
        progress = later;
        began = posref_process_clock();
    }
}

/* Reads the results that are there; returns how many cases are settled. */
static size_t settle(struct posref_runner *r, struct posref_trial *const *trials,
                     enum posref_wait how)
{
    struct posref_wire *wire = r->process.wire;
    bool disturbed = false; /* the last settled case ended the worker itself */
    size_t k = 0;
    for (; k < r->batch.n; k++) {
        uint32_t result = atomic_load(&posref_batch_record(&r->batch, wire, k)->result);
        if (result == POSREF_WIRE_NOT_RUN)
            break;
        disturbed = result == POSREF_WIRE_DISTURBED;
        posref_batch_read(trials[k], &r->batch, wire, k);
        remember(r, trials[k]);
    }
    if (how == POSREF_WAIT_DONE && k == r->batch.n)
        return k;
    if (k < r->batch.n && !disturbed) {
        trials[k]->why[0] = '\0';
        if (how == POSREF_WAIT_DONE) { /* not true: the plugin wrote to our socket */
            trials[k]->verdict = POSREF_VERDICT_ERROR;
            snprintf(trials[k]->why, sizeof trials[k]->why, "the call disturbed the worker");
        } else {
            read_death(trials[k], &r->process, how);
            read_fault(trials[k], wire);
        }
        k++;
    }
    posref_process_end(&r->process);
    r->alive = false;
    return k;
}

/* Adds up what the worker says is left behind; the plugin could have written it too. */
static void keep_left(struct posref_runner *r)
{
    const struct posref_left *now = &r->process.wire->left;
    if (now->n_threads > r->left.n_threads)
        r->left.n_threads = now->n_threads;
    r->left.handlers |= now->handlers;
    r->left.varies |= now->varies;
    r->left.rounding |= now->rounding;
    r->left.flush |= now->flush;
    r->left.locale |= now->locale;
}

/* The group's run of timeouts, or NULL when there are too many groups to count. */
static struct late *late_of(struct posref_runner *r, const char *group)
{
    for (size_t k = 0; k < r->n_late; k++)
        if (strcmp(r->late[k].group, group) == 0)
            return &r->late[k];
    if (r->n_late == MAX_GROUPS)
        return NULL;
    struct late *late = &r->late[r->n_late++];
    snprintf(late->group, sizeof late->group, "%s", group);
    return late;
}

static void count_timeouts(struct posref_runner *r, struct posref_trial *const *trials, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        bool is_late = trials[k]->verdict == POSREF_VERDICT_TIMEOUT;
        if (!trials[k]->group || (!is_late && r->n_late == 0))
            continue;
        struct late *late = late_of(r, trials[k]->group);
        if (late)
            late->n = is_late ? late->n + 1 : 0;
    }
}

/* A plugin that hangs in one call of a kind will hang in the next: after some timeouts in a row
 * the rest of the group is not waited for. */
static bool is_hopeless(const struct posref_runner *r, const struct posref_trial *trial)
{
    for (size_t k = 0; k < r->n_late && trial->group; k++)
        if (r->late[k].n >= MAX_TIMEOUTS && strcmp(r->late[k].group, trial->group) == 0)
            return true;
    return false;
}

/* true: the trial is settled without being run. */
static bool give_up(const struct posref_runner *r, struct posref_trial *trial)
{
    if (!is_hopeless(r, trial))
        return false;
    trial->verdict = POSREF_VERDICT_TIMEOUT;
    snprintf(trial->why, sizeof trial->why, "not run: the %d calls of %s before it timed out",
             MAX_TIMEOUTS, trial->group);
    return true;
}

static void lose(struct posref_trial *const *trials, size_t n, const struct posref_trial *lost)
{
    for (size_t k = 0; k < n; k++) {
        trials[k]->verdict = lost->verdict;
        trials[k]->signal = lost->signal;
        memcpy(trials[k]->why, lost->why, sizeof trials[k]->why);
    }
}

enum posref_status posref_runner_run(struct posref_runner *r, struct posref_trial *const *trials,
                                     size_t n, struct posref_error *err)
{
    for (size_t k = 0; k < n; k++) {
        trials[k]->signal = 0;
        trials[k]->why[0] = '\0';
        trials[k]->tensor = NULL;
        trials[k]->element = -1;
        trials[k]->run_ns = 0;
    }
    for (size_t done = 0; done < n;) {
        if (give_up(r, trials[done])) {
            done++;
            continue;
        }
        if (!r->alive && r->lost.verdict == POSREF_VERDICT_PASS) {
            enum posref_status status = start(r, err);
            if (status != POSREF_OK)
                return status;
        }
        if (!r->alive) {
            lose(trials + done, n - done, &r->lost);
            return POSREF_OK;
        }
        size_t ready = done + 1;
        while (ready < n && !is_hopeless(r, trials[ready]))
            ready++;
        posref_batch_lay(&r->batch, r->process.wire, trials + done, ready - done);
        if (r->batch.n == 0)
            return posref_fail(err, POSREF_INTERNAL, trials[done]->op,
                               "a case is larger than the memory shared with the worker");
        enum posref_wait how = POSREF_WAIT_DIED;
        if (posref_process_tell(&r->process, POSREF_WIRE_BATCH))
            how = await(r, trials + done);
        else
            (void)posref_process_wait(&r->process, 1);
        keep_left(r);
        size_t settled = settle(r, trials + done, how);
        count_timeouts(r, trials + done, settled);
        done += settled;
    }
    return POSREF_OK;
}

const struct posref_left *posref_runner_left(const struct posref_runner *r)
{
    return &r->left;
}

const char *posref_runner_plugin_name(const struct posref_runner *r)
{
    return r->name;
}

const char *posref_runner_plugin_version(const struct posref_runner *r)
{
    return r->version;
}

const char *posref_runner_plugin_layouts(const struct posref_runner *r)
{
    return r->layouts;
}

const char *posref_runner_plugin_dtypes(const struct posref_runner *r)
{
    return r->dtypes;
}

const char *posref_runner_captured(const struct posref_runner *r, uint64_t *total_bytes)
{
    *total_bytes = r->process.captured_bytes;
    return r->process.captured;
}

unsigned posref_runner_n_workers(const struct posref_runner *r)
{
    return r->n_workers;
}
