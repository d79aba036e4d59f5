/* SPDX-License-Identifier: Apache-2.0 */
/* The service on a socket, by libmicrohttpd. */
#ifndef POSREF_SERVER_DAEMON_H
#define POSREF_SERVER_DAEMON_H

#include "address.h"
#include "store.h"

#define POSREF_MAX_PROXIES 16

struct posref_daemon_options {
    int listen_fd;            /* bound and listening; the daemon closes it */
    unsigned n_threads;       /* each serves many connections by epoll; at least 1 */
    unsigned n_workers;       /* for requests that take long; at least 1 */
    unsigned max_connections; /* in all */
    unsigned max_per_address; /* from one host that is neither loopback nor a proxy */
    struct posref_address proxies[POSREF_MAX_PROXIES];
    size_t n_proxies;
    unsigned idle_s;          /* nothing moves on a connection */
    FILE *access_log;         /* NULL: none; a line of JSON a request */
    unsigned request_s;       /* from the last answer (or the opening) to the end of the next */
};

struct posref_daemon;

/* Threads inherit the caller's signal mask. The store is borrowed. */
POSREF_MUST_USE enum posref_status posref_daemon_start(struct posref_daemon **out,
                                                       const struct posref_daemon_options *options,
                                                       struct posref_store *store,
                                                       struct posref_error *err);

/* Ends connections whose time is up. To be called about once a second. */
void posref_daemon_tick(struct posref_daemon *daemon);

/* Takes no further connections, lets requests that have begun end within grace_ms, stops and
 * frees. A long evaluation that runs then is waited for, but not those in the queue. */
void posref_daemon_stop(struct posref_daemon *daemon, unsigned grace_ms);

#endif
