/* SPDX-License-Identifier: Apache-2.0 */
/* The service on a socket: see daemon.h. libmicrohttpd's threads wait by epoll and call what is
 * here. An answer is queued when the request is complete, never in the first call of the handler:
 * version 0.9.75 closes the connection after an answer that early. */
#include "daemon.h"

#include "answer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct posref_daemon {
    struct MHD_Daemon *mhd;
    struct posref_answers answers;
    struct posref_daemon_options options;
    struct posref_connections connections;
    atomic_size_t kept; /* bytes of all bodies that are held */
};

static struct posref_connection *connection_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static enum MHD_Result on_accept(void *ctx, const struct sockaddr *address, socklen_t size)
{
    struct posref_daemon *daemon = ctx;
    struct posref_address from;
    (void)size;
    posref_address_read(&from, address);
    if (posref_address_is_loopback(&from))
        return MHD_YES; /* a proxy on this machine, which has limits of its own */
    for (size_t i = 0; i < daemon->options.n_proxies; i++)
        if (posref_address_equal(&from, &daemon->options.proxies[i]))
            return MHD_YES;
    size_t n = posref_connections_from(&daemon->connections, &from);
    return n < daemon->options.max_per_address ? MHD_YES : MHD_NO;
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct posref_daemon *daemon = ctx;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        struct posref_connection *one = *context;
        atomic_fetch_sub(&daemon->answers.service.metrics.connections, 1);
        if (one)
            posref_incoming_free(one->incoming);
        posref_connections_remove(&daemon->connections, one);
        *context = NULL;
        return;
    }
    int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    const struct sockaddr *address =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    atomic_fetch_add(&daemon->answers.service.metrics.connections, 1);
    atomic_fetch_add(&daemon->answers.service.metrics.connections_opened, 1);
    struct posref_address from;
    posref_address_read(&from, address);
    *context = posref_connections_add(&daemon->connections, fd, &from);
}

/* The request line has arrived. The library would next split the query into a record a parameter,
 * and answer by itself when there are too many; what follows "?" is ours alone, so it is cut. */
static void *on_target(void *ctx, const char *target, struct MHD_Connection *connection)
{
    struct posref_connection *one = connection_of(connection);
    (void)ctx;
    if (!one || !posref_incoming_begin(&one->incoming, target))
        return NULL;
    posref_connection_begin(one);
    char *query = strchr((char *)(uintptr_t)target, '?');
    if (query && query[1])
        query[1] = '\0';
    return one->incoming;
}

/* Leaves the path as it came: it is judged undecoded, from the copy made above. */
static size_t keep_path(void *ctx, struct MHD_Connection *connection, char *text)
{
    (void)ctx;
    (void)connection;
    return strlen(text);
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode how)
{
    struct posref_daemon *daemon = ctx;
    struct posref_incoming *in = *context;
    (void)how;
    if (in) {
        posref_later_free(in->later);
        in->later = NULL;
    }
    posref_incoming_end(in, &daemon->kept);
    *context = NULL;
    posref_connection_end(connection_of(connection));
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size_bytes, void **context)
{
    struct posref_daemon *daemon = ctx;
    struct posref_incoming *in = *context;
    if (!in)
        return MHD_NO; /* there was no memory for it */
    struct posref_connection *one = connection_of(connection);
    if (!in->judged) {
        if (posref_incoming_judge(in, connection, method, url, version))
            return MHD_YES;
        posref_connection_linger(one);
        return posref_answer(&daemon->answers, connection, one, in);
    }
    if (*size_bytes) {
        bool go_on = posref_incoming_body(in, data, *size_bytes, &daemon->kept);
        *size_bytes = 0;
        return go_on ? MHD_YES : MHD_NO;
    }
    return posref_answer(&daemon->answers, connection, one, in);
}

static void clear(struct posref_daemon *daemon)
{
    posref_answers_clear(&daemon->answers);
    posref_connections_clear(&daemon->connections);
    free(daemon);
}

enum posref_status posref_daemon_start(struct posref_daemon **out,
                                       const struct posref_daemon_options *options,
                                       struct posref_store *store, struct posref_error *err)
{
    struct posref_daemon *daemon = calloc(1, sizeof *daemon);
    if (!daemon)
        return posref_fail(err, POSREF_NO_MEMORY, "", "out of memory");
    enum posref_status status = posref_answers_start(&daemon->answers, store, options->access_log,
                                                     options->n_workers, err);
    if (status != POSREF_OK) {
        free(daemon);
        return status;
    }
    daemon->options = *options;
    atomic_init(&daemon->kept, 0);
    posref_connections_init(&daemon->connections);
    daemon->mhd = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0,
        on_accept, daemon, on_request, daemon,
        MHD_OPTION_LISTEN_SOCKET, options->listen_fd,
        MHD_OPTION_THREAD_POOL_SIZE, options->n_threads,
        MHD_OPTION_CONNECTION_LIMIT, options->max_connections,
        MHD_OPTION_CONNECTION_TIMEOUT, options->idle_s,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POSREF_CONNECTION_BYTES,
        MHD_OPTION_URI_LOG_CALLBACK, on_target, daemon,
        MHD_OPTION_UNESCAPE_CALLBACK, keep_path, daemon,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, daemon,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, daemon,
        MHD_OPTION_END);
    if (!daemon->mhd) {
        posref_answers_stop(&daemon->answers);
        clear(daemon);
        return posref_fail(err, POSREF_IO, "", "the HTTP library did not start");
    }
    *out = daemon;
    return POSREF_OK;
}

void posref_daemon_tick(struct posref_daemon *daemon)
{
    posref_connections_expire(&daemon->connections, (int64_t)daemon->options.request_s * 1000);
}

void posref_daemon_stop(struct posref_daemon *daemon, unsigned grace_ms)
{
    atomic_store(&daemon->answers.draining, true);
    MHD_socket listening = MHD_quiesce_daemon(daemon->mhd);
    if (listening != MHD_INVALID_SOCKET)
        close(listening);
    int64_t end = posref_now_ms() + grace_ms;
    while (posref_connections_drain(&daemon->connections) && posref_now_ms() < end)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    posref_answers_stop(&daemon->answers); /* no connection may be suspended now */
    MHD_stop_daemon(daemon->mhd);
    clear(daemon);
}
