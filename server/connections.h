/* SPDX-License-Identifier: Apache-2.0 */
/* The open connections and our clock on each: libmicrohttpd times out only connections on which
 * nothing moves at all, so a client that sends a byte now and then would stay for ever. */
#ifndef POSREF_SERVER_CONNECTIONS_H
#define POSREF_SERVER_CONNECTIONS_H

#include "address.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define POSREF_MAX_LINGERING 64

struct posref_connection {
    struct posref_connection *next, **link; /* link: what points here */
    int fd;
    atomic_bool busy; /* a request has begun and is not answered */
    bool linger;      /* answered before all of the request had come */
    _Atomic int64_t since_ms; /* opened, or answered the request before: the clock of the next */
    struct posref_incoming *incoming; /* its requests, one after the other; the daemon's, or NULL */
    struct posref_address address;
};

struct posref_connections {
    pthread_mutex_t lock;
    struct posref_connection *first;
    size_t n;
    /* Copies of closed sockets. A socket that is closed while input waits is reset, and the client
     * may lose the answer that was sent before; a copy keeps it open for a moment. */
    struct {
        int fd;
        int64_t since_ms;
    } lingering[POSREF_MAX_LINGERING];
    size_t n_lingering;
};

void posref_connections_init(struct posref_connections *all);
void posref_connections_clear(struct posref_connections *all); /* none may be open */

/* Milliseconds of a clock that only goes forward. */
int64_t posref_now_ms(void);

/* How many connections are open from this host. */
size_t posref_connections_from(struct posref_connections *all,
                               const struct posref_address *address);

/* NULL: no memory. */
struct posref_connection *posref_connections_add(struct posref_connections *all, int fd,
                                                 const struct posref_address *address);
/* Before the socket is closed, so that its number is not yet another's. NULL is fine. */
void posref_connections_remove(struct posref_connections *all, struct posref_connection *one);

/* A request has begun; it has been answered. These and the next two are called by the thread that
 * owns the connection, and take no lock. NULL is fine. */
void posref_connection_begin(struct posref_connection *one);
void posref_connection_end(struct posref_connection *one);

/* Gives the present request more time: its answer is long. */
void posref_connection_extend(struct posref_connection *one, int64_t ms);

/* To be called before an answer that comes before the end of the request. */
void posref_connection_linger(struct posref_connection *one);

/* Ends those whose clock has run for more than limit_ms, those idle for a second that their client
 * has left, and what has lingered for a second. */
void posref_connections_expire(struct posref_connections *all, int64_t limit_ms);

/* Lets those finish that are busy or have a request waiting, and ends the others. Returns how many
 * are still open. To be called until 0. */
size_t posref_connections_drain(struct posref_connections *all);

#endif
