/* SPDX-License-Identifier: Apache-2.0 */
/* posref serve: the HTTP service, until SIGTERM. */
#include "daemon.h"
#include "listen.h"
#include "server.h"

#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MAX_CONNECTIONS 16384
#define MAX_THREADS 16
#define GRACE_MS 10000 /* for requests that run when SIGTERM comes */

struct arguments {
    const char *listen, *db, *max_connections, *proxy;
    bool access_log;
};

static void print_help(void)
{
    printf("usage: posref serve [--listen ADDR:PORT] [--db FILE] [--max-connections N]\n"
           "                    [--proxy ADDR,...] [--access-log]\n\n"
           "Serves evaluations and golden vectors over HTTP until SIGTERM or SIGINT, then lets\n"
           "what runs end and exits 0. The address is printed on stderr. A database that is\n"
           "renamed into place is picked up within a second, or at once on SIGHUP, without\n"
           "dropping a request. Never writes, and reads no file that a client names.\n\n"
           "  --listen ADDR:PORT   default 127.0.0.1:8080; port 0 is any free one\n"
           "  --db FILE            default $POSREF_DB, else the cache directory\n"
           "  --max-connections N  in all; default 16384, or what the limit of open files allows\n"
           "  --proxy ADDR,...     addresses that may have more than 256 of these each, as\n"
           "                       loopback may: proxies with limits of their own\n"
           "  --access-log         a line of JSON on stderr for each request\n\n"
           "Example:\n"
           "  posref serve --listen 127.0.0.1:8080 &\n"
           "  curl 127.0.0.1:8080/\n");
}

static enum posref_status parse(struct arguments *out, int argc, char **argv,
                                struct posref_error *err)
{
    *out = (struct arguments){.listen = "127.0.0.1:8080"};
    const struct posref_option options[] = {{"--listen", &out->listen, NULL},
                                            {"--db", &out->db, NULL},
                                            {"--max-connections", &out->max_connections, NULL},
                                            {"--proxy", &out->proxy, NULL},
                                            {"--access-log", NULL, &out->access_log},
                                            {NULL, NULL, NULL}};
    enum posref_status status = posref_options_read(options, &argc, argv, err);
    if (status == POSREF_OK && argc > 1)
        return posref_fail(err, POSREF_BAD_INPUT, argv[1], "no such option");
    return status;
}

/* One for each CPU that we may use: two that take turns on one make short answers wait for
 * milliseconds. */
static unsigned count_threads(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (unsigned)n;
}

/* Takes as many descriptors as the system allows us and returns how many connections these are
 * for: a limit of our own is kept in order, that of the system is hit while accepting. */
static unsigned raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 64;
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            getrlimit(RLIMIT_NOFILE, &limit);
    }
    rlim_t own = 256; /* databases, listening and lingering sockets, files on their way */
    return limit.rlim_cur > MAX_CONNECTIONS + own ? MAX_CONNECTIONS
           : limit.rlim_cur > 2 * own             ? (unsigned)(limit.rlim_cur - own)
                                                  : (unsigned)(limit.rlim_cur / 2);
}

static enum posref_status read_max(unsigned *max, const char *text, struct posref_error *err)
{
    char *end;
    if (!text)
        return POSREF_OK;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value < 1 || value > *max)
        return posref_fail(err, POSREF_BAD_INPUT, "--max-connections",
                           "%.40s: must be from 1 to %u here (ulimit -n)", text, *max);
    *max = (unsigned)value;
    return POSREF_OK;
}

static enum posref_status read_proxies(struct posref_daemon_options *options, const char *text,
                                       struct posref_error *err)
{
    while (text) {
        size_t length = strcspn(text, ",");
        if (options->n_proxies == POSREF_MAX_PROXIES)
            return posref_fail(err, POSREF_BAD_INPUT, "--proxy", "more than %d addresses",
                               POSREF_MAX_PROXIES);
        if (!posref_address_parse(&options->proxies[options->n_proxies++], text, length))
            return posref_fail(err, POSREF_BAD_INPUT, "--proxy", "%.60s: no IP address", text);
        text = text[length] ? text + length + 1 : NULL;
    }
    return POSREF_OK;
}

/* Answers of many kilobytes come and go: giving their pages back to the kernel between two requests
 * costs more than making the answers. What is kept is bounded, for each thread. */
static void keep_memory(void)
{
#ifdef M_TRIM_THRESHOLD
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

static void reload(struct posref_store *store)
{
    struct posref_error err = {{0}, {0}};
    enum posref_status status = posref_store_reload(store, &err);
    if (status == POSREF_OK)
        fprintf(stderr, "posref serve: reopened the database\n");
    else
        posref_report_error("serve", status, &err); /* the old one stays in use */
}

/* Until a signal ends it. The signals are blocked, here and in every thread. */
static void wait_for_end(struct posref_daemon *daemon, struct posref_store *store,
                         const sigset_t *signals)
{
    bool refused = false; /* what lies there now could not be opened: not again every second */
    for (;;) {
        int got = sigtimedwait(signals, NULL, &(struct timespec){.tv_sec = 1});
        if (got == SIGTERM || got == SIGINT)
            return;
        posref_daemon_tick(daemon);
        bool stale = posref_store_stale(store);
        if (got == SIGHUP || (stale && !refused)) {
            reload(store);
            refused = posref_store_stale(store);
        } else if (!stale) {
            refused = false;
        }
    }
}

static enum posref_status serve(const struct arguments *arguments, struct posref_error *err)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN); /* a log that nobody reads any more must not end the service */
    keep_memory();
    struct posref_daemon_options options = {.n_threads = count_threads(),
                                            .max_connections = raise_descriptor_limit(),
                                            .max_per_address = 256, .idle_s = 15, .request_s = 60};
    /* Two at least: what takes a moment need not wait for the one that takes a second. */
    options.n_workers = options.n_threads < 2 ? 2 : options.n_threads;
    options.access_log = arguments->access_log ? stderr : NULL;
    char name[POSREF_LISTEN_NAME];
    enum posref_status status =
        read_max(&options.max_connections, arguments->max_connections, err);
    if (status == POSREF_OK)
        status = read_proxies(&options, arguments->proxy, err);
    if (status == POSREF_OK)
        status = posref_listen(&options.listen_fd, name, arguments->listen, err);
    if (status != POSREF_OK)
        return status;
    struct posref_store *store;
    struct posref_daemon *daemon;
    status = posref_store_new(&store, arguments->db, options.n_threads + options.n_workers,
                              err);
    if (status != POSREF_OK) {
        close(options.listen_fd);
        return status;
    }
    status = posref_daemon_start(&daemon, &options, store, err);
    if (status == POSREF_OK) {
        fprintf(stderr, "posref serve: listening on http://%s\n", name);
        wait_for_end(daemon, store, &signals);
        posref_daemon_stop(daemon, GRACE_MS);
    } else {
        close(options.listen_fd);
    }
    posref_store_free(store);
    return status;
}

static int run_serve(int argc, char **argv)
{
    struct arguments arguments;
    struct posref_error err = {{0}, {0}};
    if (posref_wants_help(argc, argv)) {
        print_help();
        return POSREF_EXIT_OK;
    }
    enum posref_status status = parse(&arguments, argc, argv, &err);
    if (status == POSREF_OK)
        status = serve(&arguments, &err);
    return status == POSREF_OK ? POSREF_EXIT_OK : posref_report_error("serve", status, &err);
}

const struct posref_command posref_server_commands[] = {
    {"serve", "answer over HTTP: evaluations, vectors, schemes", run_serve},
    {NULL, NULL, NULL},
};
