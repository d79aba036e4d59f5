/* SPDX-License-Identifier: Apache-2.0 */
/* The open connections: see connections.h. Ending one is shutdown(): the thread that owns the
 * socket sees its end and closes it. */
#include "connections.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINGER_MS 1000

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

static bool same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)(const void *)b)->sin_addr.s_addr;
    /* One host usually owns a whole /64. */
    return a->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr, 8) == 0;
}

bool posref_address_is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address;
        return ntohl(in->sin_addr.s_addr) >> 24 == 127;
    }
    if (address->sa_family != AF_INET6)
        return address->sa_family == AF_UNIX;
    const struct in6_addr *in6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(in6) || (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr[12] == 127);
}

void posref_address_text(char *out, size_t size_bytes, const struct posref_connection *one)
{
    out[0] = '\0';
    const void *address = one ? &one->address : NULL;
    if (one && one->address.ss_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, out,
                  (socklen_t)size_bytes);
    else if (one && one->address.ss_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, out,
                  (socklen_t)size_bytes);
}

size_t posref_connections_from(struct posref_connections *all, const struct sockaddr *address)
{
    size_t n = 0;
    pthread_mutex_lock(&all->lock);
    for (const struct posref_connection *one = all->first; one; one = one->next)
        n += same_address((const struct sockaddr *)&one->address, address);
    pthread_mutex_unlock(&all->lock);
    return n;
}

struct posref_connection *posref_connections_add(struct posref_connections *all, int fd,
                                                 const struct sockaddr *address)
{
    struct posref_connection *one = calloc(1, sizeof *one);
    if (!one)
        return NULL;
    one->fd = fd;
    one->since_ms = posref_now_ms();
    if (address->sa_family == AF_INET)
        memcpy(&one->address, address, sizeof(struct sockaddr_in));
    else if (address->sa_family == AF_INET6)
        memcpy(&one->address, address, sizeof(struct sockaddr_in6));
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

void posref_connections_expire(struct posref_connections *all, int64_t limit_ms)
{
    int64_t now = posref_now_ms();
    pthread_mutex_lock(&all->lock);
    for (struct posref_connection *one = all->first; one; one = one->next)
        if (one->since_ms < now - limit_ms)
            shutdown(one->fd, SHUT_RDWR);
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
