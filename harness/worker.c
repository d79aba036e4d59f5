/* SPDX-License-Identifier: Apache-2.0 */
/* The worker: the one process in which a plugin is loaded. It opens the plugin, then runs batches
 * of cases that the parent lays into shared memory, until it is told to close, or dies. */
#include "worker.h"

#include "exec_plugin.h"
#include "worker_case.h"
#include "worker_filter.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
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

/* Should memory run out, this process and its children are the ones to go. */
static void volunteer(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, "1000", 4) != 4)
        errno = 0; /* nothing depends on it */
    if (fd >= 0)
        close(fd);
}

/* Nothing of the parent's may stay open, no core file, and death with the parent. */
static bool shed_inheritance(void)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return false;
    if (getppid() == 1)
        return false; /* the parent died before the line above */
    (void)setsid();
    volunteer();
    posref_worker_disarm();
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
static void note_load(struct posref_worker *w, enum posref_load load, const char *text)
{
    if (text)
        snprintf(w->wire->load_text, sizeof w->wire->load_text, "%s", text);
    atomic_store(&w->wire->load, (uint32_t)load);
}

/* The structure of a plugin that was built before there was the member ends without it. */
#define HAS(plugin, member)                                                                        \
    ((plugin)->struct_size >= offsetof(struct posref_plugin, member) + sizeof (plugin)->member)

static void note_names(struct posref_worker *w)
{
    const struct posref_plugin *plugin = w->plugin;
    snprintf(w->wire->plugin_name, sizeof w->wire->plugin_name, "%s",
             plugin->name ? plugin->name : "");
    snprintf(w->wire->plugin_version, sizeof w->wire->plugin_version, "%s",
             plugin->version ? plugin->version : "");
    snprintf(w->wire->plugin_layouts, sizeof w->wire->plugin_layouts, "%s",
             HAS(plugin, layouts) && plugin->layouts ? plugin->layouts : "");
    snprintf(w->wire->plugin_dtypes, sizeof w->wire->plugin_dtypes, "%s",
             HAS(plugin, dtypes) && plugin->dtypes ? plugin->dtypes : "");
}

static void open_plugin(struct posref_worker *w, const char *config)
{
    const struct posref_plugin *plugin = w->plugin;
    note_names(w);
    posref_worker_phase(w, 0, POSREF_PHASE_OPEN);
    char why[POSREF_WIRE_TEXT] = "";
    int32_t status = plugin->open ? plugin->open(&w->state, config, why, sizeof why) : 0;
    note_names(w); /* an adapter learns its library's version here */
    note_load(w, status == POSREF_PLUGIN_OK ? POSREF_LOAD_READY : POSREF_LOAD_OPEN_FAILED, why);
}

static bool is_command(const char *path)
{
    return strncmp(path, POSREF_EXEC_PREFIX, strlen(POSREF_EXEC_PREFIX)) == 0;
}

/* What keeps a plugin of the right ABI from being called, or NULL. */
static const char *plugin_lacks(const struct posref_plugin *plugin)
{
    if (plugin == NULL)
        return "its posref_plugin_entry returned NULL";
    if (plugin->struct_size < offsetof(struct posref_plugin, flags))
        return "struct_size of its struct posref_plugin is less than that of the first version";
    return plugin->run ? NULL : "its run is NULL";
}

static void load_plugin(struct posref_worker *w, const char *path, const char *config)
{
    char here[4096];
    if (is_command(path)) {
        w->plugin = posref_exec_plugin(&w->state, path + strlen(POSREF_EXEC_PREFIX));
        if (w->plugin)
            open_plugin(w, config);
        else
            note_load(w, POSREF_LOAD_FAILED, "no memory");
        return;
    }
    if (strchr(path, '/') == NULL) { /* a file, no name to look for among the system's libraries */
        snprintf(here, sizeof here, "./%s", path);
        path = here;
    }
    /* A program of exec: may have children that it signals; a library has none. */
    (void)posref_worker_filter();
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
    w->wire->plugin_abi = plugin ? plugin->abi : POSREF_PLUGIN_ABI;
    if (w->wire->plugin_abi != POSREF_PLUGIN_ABI) {
        note_load(w, POSREF_LOAD_BAD_ABI, NULL);
        return;
    }
    const char *lacking = plugin_lacks(plugin);
    if (lacking) {
        note_load(w, POSREF_LOAD_FAILED, lacking);
        return;
    }
    w->plugin = plugin;
    open_plugin(w, config);
}

/* How long threads that are left may show, before the plugin is closed, that they still write. */
#define LAST_WAIT_US 150000

static bool has_threads(const struct posref_worker *w)
{
    return posref_left_threads(&w->before) > w->before.n_threads;
}

/* Between batches no call runs: what then uses a tensor is a thread of one that returned. */
static void close_tensors(struct posref_worker *w, bool close)
{
    if (w->are_closed == close || (close && !has_threads(w)))
        return;
    if (!posref_guard_close(w->slots, close))
        _exit(3);
    w->are_closed = close;
}

static void run_batch(struct posref_worker *w)
{
    close_tensors(w, false);
    struct posref_wire_case *cases =
        (struct posref_wire_case *)(w->memory + w->wire->cases_offset);
    uint32_t n = w->wire->n_cases;
    for (uint32_t i = 0; i < n; i++)
        posref_worker_run(w, i, &cases[i]);
    posref_left_look(w->wire, &w->before);
    close_tensors(w, true);
    posref_worker_phase(w, n, POSREF_PHASE_IDLE);
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
    struct posref_worker w = {0};
    if (argc != 3 || !shed_inheritance())
        return 3;
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
    if (is_command(argv[1])) /* one that has ended shows as EPIPE, not as a signal */
        signal(SIGPIPE, SIG_IGN);
    posref_left_begin(&w.before);
    load_plugin(&w, argv[1], argv[2]);
    w.varies = w.plugin && w.plugin->struct_size > offsetof(struct posref_plugin, flags) &&
               (w.plugin->flags & POSREF_PLUGIN_VARIES);
    w.wire->left.varies = w.varies;
    w.n_threads = posref_left_threads(&w.before);
    posref_worker_phase(&w, 0, POSREF_PHASE_IDLE);
    while (tell(POSREF_WIRE_DONE) && hear() == POSREF_WIRE_BATCH)
        run_batch(&w);
    if (w.are_closed && has_threads(&w))
        usleep(LAST_WAIT_US);
    posref_worker_phase(&w, 0, POSREF_PHASE_CLOSE);
    if (w.plugin && w.plugin->close)
        w.plugin->close(w.state);
    posref_worker_phase(&w, 0, POSREF_PHASE_CLOSED);
    fflush(NULL);
    _exit(0); /* what a plugin left for exit() is not posref's to run */
}
