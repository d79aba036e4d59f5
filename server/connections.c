/* SPDX-License-Identifier: Apache-2.0 */
/* The open connections: see connections.h. Ending one is shutdown(): the thread that owns the
 * socket sees its end and closes it. */
#include "connections.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LINGER_MS 1000
#define LEFT_AFTER_MS 1000 /* idle for so long, but not much longer: looked at once or twice */

void posref_connections_init(struct posref_connections *all)
{
    *all = (struct posref_connections){.n = 0};
    pthread_mutex_init(&all->lock, NULL);
}

void posref_connections_clear(struct posref_connections *all)
{
    while (all->n_lingering)
        close(all->lingering[--all->n_lingering].fd);
    pthread_mutex_destroy(&all->lock);
}

int64_t posref_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

size_t posref_connections_from(struct posref_connections *all,
                               const struct posref_address *address)
{
    size_t n = 0;
    pthread_mutex_lock(&all->lock);
    for (const struct posref_connection *one = all->first; one; one = one->next)
        n += posref_address_same_host(&one->address, address);
    pthread_mutex_unlock(&all->lock);
    return n;
}

struct posref_connection *posref_connections_add(struct posref_connections *all, int fd,
                                                 const struct posref_address *address)
{
    struct posref_connection *one = calloc(1, sizeof *one);
    if (!one)
        return NULL;
    one->fd = fd;
    one->since_ms = posref_now_ms();
    one->address = *address;
    pthread_mutex_lock(&all->lock);
    one->next = all->first;
    one->link = &all->first;
    if (one->next)
        one->next->link = &one->next;
    all->first = one;
    all->n++;
    pthread_mutex_unlock(&all->lock);
    return one;
}

void posref_connections_remove(struct posref_connections *all, struct posref_connection *one)
{
    if (!one)
        return;
    pthread_mutex_lock(&all->lock);
    *one->link = one->next;
    if (one->next)
        one->next->link = one->link;
    all->n--;
    if (one->linger && all->n_lingering < POSREF_MAX_LINGERING) {
        int copy = fcntl(one->fd, F_DUPFD_CLOEXEC, 0);
        if (copy >= 0) {
            all->lingering[all->n_lingering].fd = copy;
            all->lingering[all->n_lingering++].since_ms = posref_now_ms();
        }
    }
    pthread_mutex_unlock(&all->lock);
    free(one);
}

void posref_connection_begin(struct posref_connection *one)
{
    if (one)
        atomic_store(&one->busy, true);
}

void posref_connection_end(struct posref_connection *one)
{
    if (!one)
        return;
    atomic_store(&one->since_ms, posref_now_ms());
    atomic_store(&one->busy, false);
}

void posref_connection_extend(struct posref_connection *one, int64_t ms)
{
    if (one)
        atomic_fetch_add(&one->since_ms, ms);
}

void posref_connection_linger(struct posref_connection *one)
{
    if (one)
        one->linger = true;
}

/* A client may have closed its side, with all that it sent read: libmicrohttpd 0.9.75 may miss an
 * end that arrives together with the last request, and then nothing wakes its thread any more. This
 * does. A request that was read a moment ago, and that nobody knows of yet, is still answered. */
static void wake_when_left(const struct posref_connection *one, int64_t idle_ms)
{
    char byte;
    if (idle_ms > LEFT_AFTER_MS && idle_ms <= 3 * LEFT_AFTER_MS && !atomic_load(&one->busy) &&
        recv(one->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
        shutdown(one->fd, SHUT_RD);
}

void posref_connections_expire(struct posref_connections *all, int64_t limit_ms)
{
    int64_t now = posref_now_ms();
    pthread_mutex_lock(&all->lock);
    for (struct posref_connection *one = all->first; one; one = one->next) {
        int64_t idle_ms = now - atomic_load(&one->since_ms);
        if (idle_ms > limit_ms)
            shutdown(one->fd, SHUT_RDWR);
        else
            wake_when_left(one, idle_ms);
    }
    for (size_t i = all->n_lingering; i-- > 0;)
        if (all->lingering[i].since_ms < now - LINGER_MS) {
            close(all->lingering[i].fd);
            all->lingering[i] = all->lingering[--all->n_lingering];
        }
    pthread_mutex_unlock(&all->lock);
}

size_t posref_connections_drain(struct posref_connections *all)
{
    pthread_mutex_lock(&all->lock);
    for (struct posref_connection *one = all->first; one; one = one->next)
        /* What has already arrived is still read after this, so it is answered. */
        if (!one->busy)
            shutdown(one->fd, SHUT_RD);
    size_t n = all->n;
    pthread_mutex_unlock(&all->lock);
    return n;
}
