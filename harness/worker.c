/* SPDX-License-Identifier: Apache-2.0 */
/* The worker: the one process in which a plugin is loaded. It opens the plugin, then runs batches
 * of cases that the parent lays into shared memory, until it is told to close, or dies. */
#include "worker.h"

#include "guard.h"
#include "pattern.h"
#include "posref_plugin.h"
#include "wire.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct worker {
    struct posref_wire *wire;
    unsigned char *memory; /* the same address, for offsets */
    const struct posref_plugin *plugin;
    void *state;
    struct posref_guard_slot slots[POSREF_MAX_TENSORS];
};

static void set_phase(struct worker *w, uint32_t index, enum posref_phase phase)
{
    atomic_store(&w->wire->progress, posref_wire_progress(index, phase));
}

/* Nothing of the parent's may stay open, no core file, and death with the parent. */
static bool shed_inheritance(void)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return false;
    if (getppid() == 1)
        return false; /* the parent died before the line above */
    (void)setsid();
    struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    sigset_t empty;
    sigemptyset(&empty);
    (void)sigprocmask(SIG_SETMASK, &empty, NULL);
    signal(SIGPIPE, SIG_DFL);
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)POSREF_WORKER_FD_SIGNAL + 1, ~0u, 0u) == 0)
        return true;
#endif
    for (int fd = POSREF_WORKER_FD_SIGNAL + 1; fd < 65536; fd++)
        close(fd);
    return true;
}

/* Notes how loading ended; the text is cut to what fits. */
static void note_load(struct worker *w, enum posref_load load, const char *text)
{
    if (text)
        snprintf(w->wire->load_text, sizeof w->wire->load_text, "%s", text);
    atomic_store(&w->wire->load, (uint32_t)load);
}

static void load_plugin(struct worker *w, const char *path, const char *config)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        note_load(w, POSREF_LOAD_FAILED, dlerror());
        return;
    }
    const struct posref_plugin *(*entry)(uint32_t);
    *(void **)&entry = dlsym(library, "posref_plugin_entry"); /* POSIX's way to cast it */
    if (entry == NULL) {
        note_load(w, POSREF_LOAD_NO_ENTRY, NULL);
        return;
    }
    const struct posref_plugin *plugin = entry(POSREF_PLUGIN_ABI);
    w->wire->plugin_abi = plugin ? plugin->abi : 0;
    if (plugin == NULL || plugin->abi != POSREF_PLUGIN_ABI ||
        plugin->struct_size < sizeof *plugin || plugin->run == NULL) {
        note_load(w, POSREF_LOAD_BAD_ABI, NULL);
        return;
    }
    w->plugin = plugin;
    snprintf(w->wire->plugin_name, sizeof w->wire->plugin_name, "%s",
             plugin->name ? plugin->name : "");
    snprintf(w->wire->plugin_version, sizeof w->wire->plugin_version, "%s",
             plugin->version ? plugin->version : "");
    set_phase(w, 0, POSREF_PHASE_OPEN);
    char why[POSREF_WIRE_TEXT] = "";
    int32_t status = plugin->open ? plugin->open(&w->state, config, why, sizeof why) : 0;
    note_load(w, status == POSREF_PLUGIN_OK ? POSREF_LOAD_READY : POSREF_LOAD_OPEN_FAILED, why);
}

static const uint32_t plugin_dtype[POSREF_N_DTYPES] = {
    [POSREF_F64] = POSREF_PLUGIN_F64, [POSREF_F32] = POSREF_PLUGIN_F32,
    [POSREF_F16] = POSREF_PLUGIN_F16, [POSREF_BF16] = POSREF_PLUGIN_BF16,
    [POSREF_I32] = POSREF_PLUGIN_I32, [POSREF_I64] = POSREF_PLUGIN_I64,
};

static void describe_tensor(struct posref_plugin_tensor *out, const struct posref_wire_tensor *in,
                            const struct posref_guard_slot *slot)
{
    *out = (struct posref_plugin_tensor){
        .struct_size = sizeof *out,
        .dtype = plugin_dtype[in->dtype],
        .access = in->is_output ? POSREF_PLUGIN_OUT : POSREF_PLUGIN_IN,
        .rank = in->rank,
        .name = in->name,
        .data = slot->data,
    };
    int64_t stride = 1;
    for (int axis = (int)in->rank - 1; axis >= 0; axis--) {
        out->shape[axis] = in->shape[axis];
        out->strides[axis] = stride;
        stride *= in->shape[axis];
    }
}

static void lay_tensors(struct worker *w, const struct posref_wire_tensor *tensors, uint32_t n)
{
    for (uint32_t i = 0; i < POSREF_MAX_TENSORS; i++) {
        struct posref_guard_slot *slot = &w->slots[i];
        if (i >= n) {
            slot->data = slot->end;
            continue;
        }
        posref_guard_place(slot, tensors[i].size_bytes);
        if (tensors[i].is_output)
            posref_pattern_fill(slot->data, (enum posref_dtype)tensors[i].dtype,
                                tensors[i].size_bytes /
                                    posref_dtype_size((enum posref_dtype)tensors[i].dtype));
        else
            memcpy(slot->data, w->memory + tensors[i].offset, tensors[i].size_bytes);
    }
}

/* After the call: canaries, inputs left alone, outputs brought back. */
static enum posref_wire_result collect_tensors(struct worker *w, struct posref_wire_case *c,
                                               const struct posref_wire_tensor *tensors, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct posref_guard_slot *slot = &w->slots[i];
        int64_t before = posref_guard_check(slot);
        if (before != 0) {
            c->bad_tensor = i;
            c->bad_offset_bytes = before;
            return POSREF_WIRE_BAD_WRITE;
        }
        unsigned char *shared = w->memory + tensors[i].offset;
        if (tensors[i].is_output) {
            memcpy(shared, slot->data, tensors[i].size_bytes);
        } else if (memcmp(shared, slot->data, tensors[i].size_bytes) != 0) {
            c->bad_tensor = i;
            c->bad_offset_bytes = 0;
            while (shared[c->bad_offset_bytes] == slot->data[c->bad_offset_bytes])
                c->bad_offset_bytes++;
            return POSREF_WIRE_INPUT_MODIFIED;
        }
    }
    return POSREF_WIRE_RETURNED;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void run_case(struct worker *w, uint32_t index, struct posref_wire_case *c)
{
    const struct posref_wire_tensor *wire_tensors =
        (const struct posref_wire_tensor *)(w->memory + c->tensors_offset);
    uint32_t n = c->n_tensors;
    /* Copied, so that a plugin that writes where it should not cannot mislead this side. */
    struct posref_wire_tensor tensors[POSREF_MAX_TENSORS];
    memcpy(tensors, wire_tensors, n * sizeof *tensors);
    struct posref_plugin_tensor described[POSREF_MAX_TENSORS];
    const struct posref_plugin_tensor *list[POSREF_MAX_TENSORS];
    lay_tensors(w, tensors, n);
    for (uint32_t i = 0; i < n; i++) {
        describe_tensor(&described[i], &tensors[i], &w->slots[i]);
        list[i] = &described[i];
    }
    struct posref_plugin_call call = {.struct_size = sizeof call,
                                      .n_tensors = n,
                                      .op = (const char *)w->memory + c->op_offset,
                                      .spec = (const char *)w->memory + c->spec_offset,
                                      .tensors = list};
    char why[POSREF_WIRE_TEXT] = "";
    int32_t status = POSREF_PLUGIN_OK;
    set_phase(w, index, POSREF_PHASE_SUPPORTS);
    if (w->plugin->supports)
        status = w->plugin->supports(w->state, &call, why, sizeof why);
    if (status == POSREF_PLUGIN_OK) {
        set_phase(w, index, POSREF_PHASE_RUN);
        uint64_t start = now_ns();
        status = w->plugin->run(w->state, &call, why, sizeof why);
        c->run_ns = now_ns() - start;
    }
    memcpy(c->why, why, sizeof c->why);
    enum posref_wire_result result = collect_tensors(w, c, tensors, n);
    if (result == POSREF_WIRE_RETURNED && status != POSREF_PLUGIN_OK) {
        result = status == POSREF_PLUGIN_UNSUPPORTED ? POSREF_WIRE_DECLINED
                 : status == POSREF_PLUGIN_ERROR     ? POSREF_WIRE_ERROR
                                                     : POSREF_WIRE_BAD_STATUS;
        c->bad_offset_bytes = status;
    }
    atomic_store(&c->result, (uint32_t)result);
}

static void run_batch(struct worker *w)
{
    struct posref_wire_case *cases =
        (struct posref_wire_case *)(w->memory + w->wire->cases_offset);
    uint32_t n = w->wire->n_cases;
    for (uint32_t i = 0; i < n; i++)
        run_case(w, i, &cases[i]);
    set_phase(w, n, POSREF_PHASE_IDLE);
}

static bool tell(char what)
{
    ssize_t sent;
    do
        sent = send(POSREF_WORKER_FD_SIGNAL, &what, 1, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == 1;
}

static char hear(void)
{
    char what = POSREF_WIRE_QUIT;
    ssize_t got;
    do
        got = recv(POSREF_WORKER_FD_SIGNAL, &what, 1, 0);
    while (got < 0 && errno == EINTR);
    return got == 1 ? what : POSREF_WIRE_QUIT;
}

int posref_worker_main(int argc, char **argv)
{
    struct worker w = {0};
    if (argc != 3 || !shed_inheritance())
        return POSREF_INTERNAL;
    void *memory = mmap(NULL, POSREF_WIRE_SIZE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                        POSREF_WORKER_FD_MEMORY, 0);
    if (memory == MAP_FAILED) {
        fputs("posref: --worker: started by posref test, not by hand\n",
              stderr); /* lint: allow stderr: there is nobody else to tell */
        return 2;
    }
    close(POSREF_WORKER_FD_MEMORY);
    w.wire = memory;
    w.memory = memory;
    if (!posref_guard_init(w.slots) || !posref_guard_watch(w.wire, w.slots))
        return 3;
    load_plugin(&w, argv[1], argv[2]);
    set_phase(&w, 0, POSREF_PHASE_IDLE);
    while (tell(POSREF_WIRE_DONE) && hear() == POSREF_WIRE_BATCH)
        run_batch(&w);
    set_phase(&w, 0, POSREF_PHASE_CLOSE);
    if (w.plugin && w.plugin->close)
        w.plugin->close(w.state);
    set_phase(&w, 0, POSREF_PHASE_CLOSED);
    fflush(NULL);
    _exit(0); /* what a plugin left for exit() is not posref's to run */
}
