/* SPDX-License-Identifier: Apache-2.0 */
/* Starts, awaits and ends a worker. */
#include "process.h"

#include "worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

double posref_process_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Numbers of /proc/PID/stat behind the state: "PARENT GROUP SESSION ..." are its fields 4, 5, 6. */
enum { STAT_PARENT = 0, STAT_SESSION = 2, STAT_RESIDENT_PAGES = 20, N_STAT = 21 };

/* false: there is no such process. */
static bool read_stat(long long field[N_STAT], pid_t pid)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    size_t got = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[got] = '\0';
    char *at = strrchr(line, ')'); /* the name may hold anything else */
    if (at == NULL || strlen(at) < 5)
        return false;
    at += 3; /* ") S ": a letter of state between blanks */
    for (int k = 0; k < N_STAT; k++)
        field[k] = strtoll(at, &at, 10); /* at the end: 0 */
    return true;
}

/* Present children of this process, at most max. */
static int list_children(pid_t *out, int max)
{
    long long field[N_STAT];
    int n = 0;
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return 0;
    const struct dirent *entry;
    while (n < max && (entry = readdir(proc)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && read_stat(field, pid) && field[STAT_PARENT] == getpid())
            out[n++] = pid;
    }
    closedir(proc);
    return n;
}

static bool is_spared(const struct posref_process *p, pid_t pid)
{
    for (int i = 0; i < p->n_spared; i++)
        if (p->spared[i] == pid)
            return true;
    return false;
}

void posref_process_init(struct posref_process *p)
{
    memset(p, 0, sizeof *p);
    p->memory_fd = p->signal_fd = p->capture_fd = p->pid_fd = -1;
    posref_interrupt_hold(&p->interrupt);
    p->n_spared = list_children(p->spared, sizeof p->spared / sizeof *p->spared);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    /* Golden values and verdicts are in this process: the plugin's, of the same user, cannot look
     * into one that leaves no core file. */
    (void)prctl(PR_SET_DUMPABLE, 0);
}

/* Ends what the worker left behind. A child of ours that is not spared can only be an orphan of
 * the plugin's. New ones may appear while we look, so look until there are none. */
static void end_orphans(const struct posref_process *p)
{
    for (int round = 0; round < 100; round++) {
        pid_t children[256];
        int n = list_children(children, sizeof children / sizeof *children), killed = 0;
        for (int i = 0; i < n; i++) {
            if (is_spared(p, children[i]))
                continue;
            kill(children[i], SIGKILL);
            waitpid(children[i], NULL, 0);
            killed++;
        }
        if (killed == 0)
            return;
    }
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Moves a descriptor out of the way of the numbers 0..4 that the worker gets. */
static int lift(int fd)
{
    if (fd < 0 || fd > 9)
        return fd;
    int lifted = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    close(fd);
    return lifted;
}

/* The path of this very executable; /proc/self/exe itself where it has been replaced meanwhile. */
static void own_program(char out[4096])
{
    ssize_t n = readlink("/proc/self/exe", out, 4095);
    out[n > 0 ? n : 0] = '\0';
    if (n <= 0 || access(out, X_OK) != 0)
        memcpy(out, "/proc/self/exe", sizeof "/proc/self/exe");
}

static int spawn(pid_t *pid, const char *program, char *const argv[], int memory_fd, int signal_fd,
                 int capture_fd)
{
    posix_spawn_file_actions_t actions;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    failed = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, capture_fd, 1);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, capture_fd, 2);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, memory_fd, POSREF_WORKER_FD_MEMORY);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, signal_fd, POSREF_WORKER_FD_SIGNAL);
    if (!failed)
        failed = posix_spawn(pid, program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* Memory, socket and pipe of a new worker; the worker's ends in theirs[2]. */
static bool open_channels(struct posref_process *p, int theirs[2])
{
    int sockets[2] = {-1, -1}, pipes[2] = {-1, -1};
    p->memory_fd = lift(memfd_create("posref-batch", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    /* Sealed: were the plugin to cut it off, the parent would die of SIGBUS. */
    bool good = p->memory_fd >= 0 && ftruncate(p->memory_fd, POSREF_WIRE_SIZE_BYTES) == 0 &&
                fcntl(p->memory_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 &&
                socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0 &&
                pipe2(pipes, O_CLOEXEC) == 0;
    p->signal_fd = lift(sockets[0]);
    p->capture_fd = lift(pipes[0]);
    theirs[0] = lift(sockets[1]);
    theirs[1] = lift(pipes[1]);
    if (!good || p->signal_fd < 0 || p->capture_fd < 0 || theirs[0] < 0 || theirs[1] < 0)
        return false;
    if (fcntl(p->capture_fd, F_SETFL, O_NONBLOCK) != 0)
        return false;
    void *memory = mmap(NULL, POSREF_WIRE_SIZE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                        p->memory_fd, 0);
    if (memory == MAP_FAILED)
        return false;
    p->wire = memory;
    return true;
}

enum posref_status posref_process_start(struct posref_process *p, const char *program,
                                        const char *plugin, const char *config,
                                        struct posref_error *err)
{
    char self[4096];
    own_program(self);
    if (program == NULL)
        program = self;
    int theirs[2] = {-1, -1};
    int failed = open_channels(p, theirs) ? 0 : errno ? errno : EIO;
    char *argv[] = {(char *)"posref", (char *)POSREF_WORKER_ARGUMENT, strdup(plugin),
                    strdup(config), NULL};
    if (!failed && (argv[2] == NULL || argv[3] == NULL))
        failed = ENOMEM;
    if (!failed)
        failed = spawn(&p->pid, program, argv, p->memory_fd, theirs[0], theirs[1]);
    free(argv[2]);
    free(argv[3]);
    close_fd(&theirs[0]);
    close_fd(&theirs[1]);
    if (failed) {
        p->pid = 0;
        posref_process_end(p);
        return posref_fail(err, POSREF_IO, program, "cannot start a worker: %s",
                           strerrordesc_np(failed));
    }
#ifdef SYS_pidfd_open
    p->pid_fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
#endif
    return POSREF_OK;
}

bool posref_process_tell(struct posref_process *p, char what)
{
    return send(p->signal_fd, &what, 1, MSG_NOSIGNAL) == 1;
}

static void drain_capture(struct posref_process *p)
{
    char scratch[4096];
    ssize_t got;
    /* Bounded, so that a plugin that prints without end cannot hold the parent here. */
    for (int i = 0; i < 64 && (got = read(p->capture_fd, scratch, sizeof scratch)) > 0; i++) {
        uint64_t room = sizeof p->captured - 1;
        if (p->captured_bytes < room) {
            size_t n = (size_t)got < room - p->captured_bytes ? (size_t)got
                                                              : (size_t)(room - p->captured_bytes);
            memcpy(p->captured + p->captured_bytes, scratch, n);
            p->captured[p->captured_bytes + n] = '\0';
        }
        p->captured_bytes += (uint64_t)got;
    }
}

static bool has_died(struct posref_process *p)
{
    if (p->pid == 0)
        return true;
    if (waitpid(p->pid, &p->wait_status, WNOHANG) != p->pid)
        return false;
    kill(-p->pid, SIGKILL); /* its group, which may outlive it */
    p->pid = 0;
    return true;
}

/* The resident pages of the processes of the worker's session beside itself. */
static unsigned long long descendants_pages(pid_t worker)
{
    long long field[N_STAT];
    unsigned long long pages = 0;
    const struct dirent *entry;
    DIR *proc = opendir("/proc");
    while (proc && (entry = readdir(proc)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && pid != worker && read_stat(field, pid) && field[STAT_SESSION] == worker &&
            field[STAT_RESIDENT_PAGES] > 0)
            pages += (unsigned long long)field[STAT_RESIDENT_PAGES];
    }
    if (proc)
        closedir(proc);
    return pages;
}

/* Whether the worker and what it started hold too much, from /proc; looks every 20 ms at most. */
static bool is_fat(struct posref_process *p)
{
    char path[64], line[128];
    double now = posref_process_clock();
    if (p->memory_limit_bytes == 0 || p->pid == 0 || now < p->looked_at + 0.02)
        return false;
    p->looked_at = now;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)p->pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    size_t got = fread(line, 1, sizeof line - 1, file); /* "SIZE RESIDENT ...", in pages */
    fclose(file);
    line[got] = '\0';
    const char *resident = strchr(line, ' ');
    unsigned long long pages = resident ? strtoull(resident, NULL, 10) : 0;
    const unsigned long long most = p->memory_limit_bytes / (uint64_t)sysconf(_SC_PAGESIZE);
    if (pages > most || now < p->looked_wide_at + 0.25)
        return pages > most;
    p->looked_wide_at = now;
    return pages + descendants_pages(p->pid) > most;
}

enum posref_wait posref_process_wait(struct posref_process *p, double seconds)
{
    double end = posref_process_clock() + seconds;
    for (;;) {
        double left = end - posref_process_clock();
        /* Memory shows only by asking, a death too where there is no pidfd. */
        double tick = left < 0.02 ? left : 0.02;
        struct pollfd fds[4] = {{.fd = p->signal_fd, .events = POLLIN},
                                {.fd = p->capture_fd, .events = POLLIN},
                                {.fd = p->pid_fd, .events = POLLIN},
                                {.fd = p->interrupt.fd, .events = POLLIN}};
        int ready = poll(fds, 4, tick > 0 ? (int)(tick * 1000.0) + 1 : 0);
        if (ready < 0 && errno != EINTR)
            return POSREF_WAIT_LATE;
        if (ready > 0 && (fds[3].revents & POLLIN)) {
            posref_process_end(p);
            posref_process_release(p); /* ends this process, unless somebody handles the signal */
            return POSREF_WAIT_LATE;
        }
        if (fds[1].revents & POLLIN)
            drain_capture(p);
        char byte;
        if (ready > 0 && (fds[0].revents & POLLIN) &&
            recv(p->signal_fd, &byte, 1, MSG_DONTWAIT) == 1)
            return POSREF_WAIT_DONE;
        if (has_died(p)) {
            drain_capture(p);
            return POSREF_WAIT_DIED;
        }
        if (posref_process_clock() >= end)
            return POSREF_WAIT_LATE;
        if (is_fat(p))
            return POSREF_WAIT_FAT;
        if (fds[0].revents & (POLLHUP | POLLERR) || fds[1].revents == POLLHUP)
            usleep(1000); /* the plugin closed our descriptors: poll no longer sleeps */
    }
}

void posref_process_end(struct posref_process *p)
{
    if (p->pid != 0) {
        kill(-p->pid, SIGKILL);
        kill(p->pid, SIGKILL);
        while (waitpid(p->pid, &p->wait_status, 0) < 0 && errno == EINTR)
            continue;
        p->pid = 0;
    }
    end_orphans(p);
    if (p->capture_fd >= 0)
        drain_capture(p);
    if (p->wire)
        munmap(p->wire, POSREF_WIRE_SIZE_BYTES);
    p->wire = NULL;
    close_fd(&p->memory_fd);
    close_fd(&p->signal_fd);
    close_fd(&p->capture_fd);
    close_fd(&p->pid_fd);
}

void posref_process_release(struct posref_process *p)
{
    posref_interrupt_release(&p->interrupt);
}
