/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon and clients of it in one process: see client.h. */
#include "tests/unit/client.h"

#include "server/listen.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static int port; /* of the daemon that was started last */

void client_wait_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

struct posref_daemon *client_start(unsigned idle_s, unsigned request_s, unsigned max_connections,
                                   FILE *log)
{
    struct posref_error err;
    char name[POSREF_LISTEN_NAME];
    struct posref_daemon *daemon;
    struct posref_daemon_options options = {.n_threads = 1, .n_workers = 1,
                                            .max_connections = max_connections,
                                            .max_per_address = 1, .idle_s = idle_s,
                                            .request_s = request_s, .access_log = log};
    ck_assert_int_eq(posref_listen(&options.listen_fd, name, "127.0.0.1:0", &err), POSREF_OK);
    port = (int)strtol(strrchr(name, ':') + 1, NULL, 10);
    ck_assert_int_eq(posref_daemon_start(&daemon, &options, NULL, &err), POSREF_OK);
    return daemon;
}

int client_dial(void)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&in, sizeof in), 0);
    return fd;
}

void client_say(int fd, const char *text)
{
    ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

size_t client_hear(int fd, char *out, size_t size, int wait_for)
{
    size_t n = 0;
    struct pollfd waiting = {.fd = fd, .events = POLLIN};
    while (n < size - 1 && poll(&waiting, 1, wait_for) > 0) {
        ssize_t got = recv(fd, out + n, size - 1 - n, 0);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    out[n] = '\0';
    return n;
}

int client_hear_answer(int fd, char *out, size_t size)
{
    size_t n = 0, want = 0;
    struct pollfd waiting = {.fd = fd, .events = POLLIN};
    out[0] = '\0';
    while (n < size - 1 && (!want || n < want) && poll(&waiting, 1, 20000) > 0 &&
           recv(fd, out + n, 1, 0) == 1) {
        out[++n] = '\0';
        const char *length = strstr(out, "\r\nContent-Length: ");
        if (!want && length && n > 4 && strcmp(out + n - 4, "\r\n\r\n") == 0)
            want = n + strtoul(length + 18, NULL, 10);
    }
    return want && n == want ? (int)strtol(out + 9, NULL, 10) : 0;
}
