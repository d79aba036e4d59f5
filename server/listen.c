/* SPDX-License-Identifier: Apache-2.0 */
/* The listening socket: see listen.h. We bind ourselves, so that what goes wrong has a name. */
#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEY "--listen"

/* Splits "ADDR:PORT" or "[ADDR]:PORT". */
static bool split(char host[256], char port[8], const char *where)
{
    const char *colon = strrchr(where, ':');
    if (!colon)
        return false;
    size_t length = (size_t)(colon - where), digits = strspn(colon + 1, "0123456789");
    const char *start = where;
    if (length > 2 && where[0] == '[' && colon[-1] == ']') {
        start++;
        length -= 2;
    } else if (memchr(where, ':', length)) {
        return false; /* an IPv6 address without its brackets */
    }
    if (length == 0 || length > 255 || digits == 0 || digits > 5 || colon[1 + digits])
        return false;
    snprintf(host, 256, "%.*s", (int)length, start);
    snprintf(port, 8, "%s", colon + 1);
    unsigned value = 0;
    for (const char *s = port; *s; s++)
        value = value * 10 + (unsigned)(*s - '0');
    return value <= 65535;
}

static void name_socket(char name[POSREF_LISTEN_NAME], int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    char text[INET6_ADDRSTRLEN] = "?";
    getsockname(fd, (struct sockaddr *)&address, &size);
    if (address.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)&address;
        inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof text);
        snprintf(name, POSREF_LISTEN_NAME, "[%s]:%d", text, ntohs(in6->sin6_port));
    } else {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)&address;
        inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
        snprintf(name, POSREF_LISTEN_NAME, "%s:%d", text, ntohs(in->sin_port));
    }
}

enum posref_status posref_listen(int *fd, char name[POSREF_LISTEN_NAME], const char *where,
                                 struct posref_error *err)
{
    char host[256], port[8];
    if (!split(host, port, where))
        return posref_fail(err, POSREF_BAD_INPUT, KEY,
                           "%.80s: not ADDR:PORT, such as 127.0.0.1:8080 or [::1]:8080", where);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int wrong = getaddrinfo(host, port, &hints, &found);
    if (wrong)
        return posref_fail(err, POSREF_BAD_INPUT, KEY, "%.80s: %s", where, gai_strerror(wrong));
    int on = 1;
    int s = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    enum posref_status status = POSREF_OK;
    if (s < 0 || setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(s, found->ai_addr, found->ai_addrlen) != 0 || listen(s, 1024) != 0)
        status = posref_fail(err, POSREF_BAD_INPUT, KEY, "%.80s: %s", where,
                             strerrordesc_np(errno));
    freeaddrinfo(found);
    if (status == POSREF_OK) {
        *fd = s;
        name_socket(name, s);
    } else if (s >= 0) {
        close(s);
    }
    return status;
}
