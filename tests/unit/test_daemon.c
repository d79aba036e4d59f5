/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: counting by address, our clock, lingering, draining; and the daemon with short
 * limits against slow clients. No database is needed for what is asked here. */
#include "server/connections.h"
#include "server/daemon.h"
#include "server/listen.h"
#include "tests/unit/suite.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

static void wait_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static struct posref_address address(const char *text)
{
    struct posref_address out;
    ck_assert(posref_address_parse(&out, text, strlen(text)));
    return out;
}

START_TEST(addresses)
{
    static const char *const loopback[] = {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"};
    static const char *const others[] = {"::2", "::ffff:128.0.0.1", "2001:db8::1", "128.0.0.1",
                                         "::127.0.0.1"};
    static const char *const none[] = {"", "127.0.0.1:80", "[::1]", "a", "1.2.3", "1.2.3.4 ",
                                       "2001:db8:0000:0000:0000:0000:0000:0000:0000:0000:0001"};
    for (size_t i = 0; i < sizeof loopback / sizeof *loopback; i++) {
        struct posref_address a = address(loopback[i]);
        ck_assert_msg(posref_address_is_loopback(&a), "%s", loopback[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct posref_address a = address(others[i]);
        ck_assert_msg(!posref_address_is_loopback(&a), "%s", others[i]);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct posref_address a;
        ck_assert_msg(!posref_address_parse(&a, none[i], strlen(none[i])), "%s", none[i]);
    }
}
END_TEST

/* What a socket says, mapped or not, is what the text says. */
START_TEST(addresses_of_sockets)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = 1};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = 2};
    struct posref_address a = address("10.1.2.3"), b;
    char text[64];
    inet_pton(AF_INET, "10.1.2.3", &in.sin_addr);
    posref_address_read(&b, (struct sockaddr *)&in);
    ck_assert(posref_address_equal(&a, &b));
    inet_pton(AF_INET6, "::ffff:10.1.2.3", &in6.sin6_addr);
    posref_address_read(&b, (struct sockaddr *)&in6);
    ck_assert(posref_address_equal(&a, &b));
    posref_address_text(text, sizeof text, &b);
    ck_assert_str_eq(text, "10.1.2.3");
    inet_pton(AF_INET6, "2001:db8::1:2", &in6.sin6_addr);
    posref_address_read(&b, (struct sockaddr *)&in6);
    posref_address_text(text, sizeof text, &b);
    ck_assert_str_eq(text, "2001:db8::1:2");
    a = address("2001:db8::1:3");
    ck_assert(posref_address_same_host(&a, &b) && !posref_address_equal(&a, &b));
}
END_TEST

START_TEST(counts_by_address)
{
    struct posref_connections all;
    posref_connections_init(&all);
    struct posref_address a = address("10.0.0.1"), b = address("::ffff:10.0.0.2"),
                          c = address("2001:db8:0:1::1"), d = address("2001:db8:0:1::2"),
                          e = address("2001:db8:0:2::1");
    const struct posref_address *each[] = {&a, &a, &b, &c, &d, &e};
    struct posref_connection *one[6];
    for (size_t i = 0; i < 6; i++)
        one[i] = posref_connections_add(&all, -1, each[i]);
    ck_assert_uint_eq(posref_connections_from(&all, &a), 2);
    ck_assert_uint_eq(posref_connections_from(&all, &b), 1); /* not all of IPv4 is one host */
    ck_assert_uint_eq(posref_connections_from(&all, &c), 2);
    ck_assert_uint_eq(posref_connections_from(&all, &e), 1);
    /* From the middle, the end and the front of the list. */
    static const size_t order[] = {3, 0, 5, 1, 4, 2};
    for (size_t i = 0; i < 6; i++) {
        posref_connections_remove(&all, one[order[i]]);
        ck_assert_uint_eq(all.n, 5 - i);
    }
    ck_assert_ptr_null(all.first);
    posref_connections_remove(&all, NULL);
    posref_connections_clear(&all);
}
END_TEST

/* What a read of the other end says without waiting: 0 closed, 1 a byte, -1 still open. */
static int peek(int fd)
{
    char byte;
    return (int)recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
}

START_TEST(expires_and_lingers)
{
    struct posref_connections all;
    posref_connections_init(&all);
    int old[2], fresh[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, old), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fresh), 0);
    struct posref_address a = address("10.0.0.1");
    struct posref_connection *first = posref_connections_add(&all, old[0], &a);
    posref_connection_begin(first);
    wait_ms(60);
    struct posref_connection *second =
        posref_connections_add(&all, fresh[0], &a);
    posref_connections_expire(&all, 50);
    ck_assert_int_eq(peek(old[1]), 0);
    ck_assert_int_eq(peek(fresh[1]), -1);
    /* An answered request starts the clock again. */
    wait_ms(60);
    posref_connection_end(second);
    posref_connections_expire(&all, 50);
    ck_assert_int_eq(peek(fresh[1]), -1);
    posref_connection_linger(second);
    posref_connections_remove(&all, second);
    close(fresh[0]);
    ck_assert_int_eq(peek(fresh[1]), -1); /* the copy holds it open */
    posref_connections_remove(&all, first);
    close(old[0]);
    posref_connections_clear(&all);
    ck_assert_int_eq(peek(fresh[1]), 0);
    close(old[1]);
    close(fresh[1]);
}
END_TEST

START_TEST(drains)
{
    struct posref_connections all;
    posref_connections_init(&all);
    int busy[2], idle[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, busy), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, idle), 0);
    struct posref_address a = address("10.0.0.1");
    struct posref_connection *one = posref_connections_add(&all, busy[0], &a);
    struct posref_connection *two = posref_connections_add(&all, idle[0], &a);
    posref_connection_begin(one);
    ck_assert_int_eq(write(idle[1], "x", 1), 1);
    ck_assert_uint_eq(posref_connections_drain(&all), 2);
    ck_assert_int_eq(peek(busy[0]), -1);
    char byte;
    ck_assert_int_eq(read(idle[0], &byte, 1), 1); /* what had arrived is not lost */
    ck_assert_int_eq(peek(idle[0]), 0);
    posref_connections_remove(&all, one);
    posref_connections_remove(&all, two);
    posref_connections_clear(&all);
    close(busy[0]), close(busy[1]), close(idle[0]), close(idle[1]);
}
END_TEST

/* The thread of a client that has gone is woken after a second; of one that waits or has asked
 * again it is not. */
START_TEST(left_by_the_client)
{
    struct posref_connections all;
    posref_connections_init(&all);
    struct posref_address a = address("10.0.0.1");
    struct posref_connection *one[4];
    struct epoll_event event = {.events = EPOLLIN | EPOLLET}, got[8];
    int pair[4][2], poll_fd = epoll_create1(0);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair[i]), 0);
        one[i] = posref_connections_add(&all, pair[i][0], &a);
        event.data.fd = i;
        ck_assert_int_eq(epoll_ctl(poll_fd, EPOLL_CTL_ADD, pair[i][0], &event), 0);
    }
    shutdown(pair[0][1], SHUT_WR); /* gone */
    shutdown(pair[1][1], SHUT_WR); /* gone, but waits for an answer */
    posref_connection_begin(one[1]);
    ck_assert_int_eq(write(pair[2][1], "x", 1), 1); /* gone after something that is not read yet */
    shutdown(pair[2][1], SHUT_WR);
    ck_assert_int_eq(epoll_wait(poll_fd, got, 8, 100), 3);
    posref_connections_expire(&all, 60000);
    ck_assert_int_eq(epoll_wait(poll_fd, got, 8, 0), 0);
    wait_ms(1100);
    posref_connections_expire(&all, 60000);
    ck_assert_int_eq(epoll_wait(poll_fd, got, 8, 100), 1);
    ck_assert_int_eq(got[0].data.fd, 0);
    close(poll_fd);
    for (int i = 0; i < 4; i++) {
        posref_connections_remove(&all, one[i]);
        close(pair[i][0]), close(pair[i][1]);
    }
    posref_connections_clear(&all);
}
END_TEST

/* ---- the daemon ---- */

static struct posref_daemon *daemon_;
static int port;

static void start_logged(unsigned idle_s, unsigned request_s, unsigned max_connections, FILE *log)
{
    struct posref_error err;
    char name[POSREF_LISTEN_NAME];
    struct posref_daemon_options options = {.n_threads = 1, .n_workers = 1,
                                            .max_connections = max_connections,
                                            .max_per_address = 1, .idle_s = idle_s,
                                            .request_s = request_s, .access_log = log};
    ck_assert_int_eq(posref_listen(&options.listen_fd, name, "127.0.0.1:0", &err), POSREF_OK);
    port = (int)strtol(strrchr(name, ':') + 1, NULL, 10);
    ck_assert_int_eq(posref_daemon_start(&daemon_, &options, NULL, &err), POSREF_OK);
}

static void start(unsigned idle_s, unsigned request_s, unsigned max_connections)
{
    start_logged(idle_s, request_s, max_connections, NULL);
}

static int dial(void)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&in, sizeof in), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* What arrives until the other side closes or nothing comes for wait_for ms; its length. */
static size_t hear(int fd, char *out, size_t size, int wait_for)
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

START_TEST(a_trickling_client_is_ended)
{
    start(30, 1, 100);
    int fd = dial();
    int64_t begun = posref_now_ms();
    say(fd, "GET / HTTP/1.1\r\nX: ");
    ssize_t sent = 1;
    while (sent == 1 && peek(fd) != 0 && posref_now_ms() - begun < 10000) {
        wait_ms(50);
        posref_daemon_tick(daemon_);
        sent = send(fd, "x", 1, MSG_NOSIGNAL);
    }
    int64_t lasted = posref_now_ms() - begun;
    ck_assert_msg(lasted >= 900 && lasted < 9000, "ended after %lld ms", (long long)lasted);
    close(fd);
    posref_daemon_stop(daemon_, 1000);
}
END_TEST

START_TEST(answers_and_keeps_alive)
{
    start(30, 30, 100);
    char text[4096];
    int fd = dial();
    for (int i = 0; i < 3; i++) {
        say(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        ck_assert_uint_gt(hear(fd, text, sizeof text, 300), 0);
        ck_assert_int_eq(strncmp(text, "HTTP/1.1 200 OK\r\n", 17), 0);
    }
    int64_t begun = posref_now_ms();
    posref_daemon_stop(daemon_, 10000);
    ck_assert_int_lt(posref_now_ms() - begun, 5000); /* an idle connection does not hold it up */
    ck_assert_uint_eq(hear(fd, text, sizeof text, 100), 0);
    close(fd);
}
END_TEST

START_TEST(a_running_request_is_waited_for_but_not_for_ever)
{
    start(30, 30, 100);
    int fd = dial();
    say(fd, "POST /v1/eval HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{");
    wait_ms(100);
    int64_t begun = posref_now_ms();
    posref_daemon_stop(daemon_, 300);
    int64_t lasted = posref_now_ms() - begun;
    ck_assert_msg(lasted >= 300 && lasted < 5000, "stopped after %lld ms", (long long)lasted);
    close(fd);
}
END_TEST

START_TEST(no_more_connections_than_allowed)
{
    start(30, 30, 4);
    int fd[8];
    char text[4096];
    for (int i = 0; i < 8; i++)
        fd[i] = dial();
    int answered = 0;
    for (int i = 0; i < 8; i++)
        if (send(fd[i], "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27, MSG_NOSIGNAL) == 27)
            answered += hear(fd[i], text, sizeof text, 200) > 0;
    ck_assert_int_ge(answered, 2); /* loopback is not limited by address */
    ck_assert_int_le(answered, 4);
    for (int i = 0; i < 8; i++)
        close(fd[i]);
    posref_daemon_stop(daemon_, 1000);
}
END_TEST

/* ---- what workers do ---- */

#define SHORT "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
/* A tenth of a second, or some. */
#define LONG                                                                                       \
    "GET /v1/diff?a=dim%3D1024&b=dim%3D1024%20base%3D10001 HTTP/1.1\r\nHost: a\r\n\r\n"

static bool is_waiting(int fd)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    return poll(&one, 1, 0) == 0;
}

/* Reads one answer, all of it and nothing behind it; its status, or 0: none came. */
static int hear_answer(int fd, char *out, size_t size)
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

static int status_of(int fd)
{
    char text[8192];
    return hear_answer(fd, text, sizeof text);
}

/* One thread and one worker. Of the long ones the last has ended its sending half. */
START_TEST(nobody_waits_for_anothers_long_request)
{
    start(30, 30, 100);
    int fd[3], other = dial();
    char text[8192];
    for (int i = 0; i < 3; i++) {
        fd[i] = dial();
        say(fd[i], LONG);
    }
    shutdown(fd[2], SHUT_WR);
    wait_ms(20);
    for (int i = 0; i < 5; i++) {
        say(other, SHORT);
        ck_assert_int_eq(status_of(other), 200);
        ck_assert_msg(is_waiting(fd[2]), "short ones are answered before long ones");
    }
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(status_of(fd[i]), 200);
    say(fd[0], SHORT LONG "GET /x HTTP/1.1\r\nHost: a\r\n\r\n"); /* in order, on one that has rested */
    ck_assert_int_eq(status_of(fd[0]), 200);
    ck_assert_int_eq(hear_answer(fd[0], text, sizeof text), 200);
    ck_assert_ptr_nonnull(strstr(text, "differing"));
    ck_assert_int_eq(status_of(fd[0]), 404);
    posref_daemon_stop(daemon_, 10000);
    for (int i = 0; i < 3; i++)
        close(fd[i]);
    close(other);
}
END_TEST

/* A drain answers what waits, and asks the clients to go. */
START_TEST(a_queue_is_drained)
{
    start(30, 30, 100);
    int fd[3];
    char text[4096];
    for (int i = 0; i < 3; i++) {
        fd[i] = dial();
        say(fd[i], LONG);
    }
    wait_ms(50);
    posref_daemon_stop(daemon_, 20000);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_gt(hear(fd[i], text, sizeof text, 100), 0);
        ck_assert_int_eq(strncmp(text, "HTTP/1.1 200 OK\r\n", 17), 0);
        ck_assert_ptr_nonnull(strstr(text, "\r\nConnection: close\r\n"));
        close(fd[i]);
    }
}
END_TEST

/* The queue has a bound, and the end does not wait for it. */
START_TEST(a_full_queue_turns_away)
{
    enum { N = 80, ROOM = 64 };
    start(30, 30, 100);
    int fd[N], busy = 0;
    for (int i = 0; i < N; i++) {
        fd[i] = dial();
        say(fd[i], LONG);
    }
    int64_t begun = posref_now_ms();
    for (int i = N - 1; i > ROOM + 1; i--) {
        char text[4096];
        if (hear(fd[i], text, sizeof text, 20) == 0)
            continue;
        busy++;
        ck_assert_int_eq(strncmp(text, "HTTP/1.1 503 ", 13), 0);
        ck_assert_ptr_nonnull(strstr(text, "\r\nRetry-After: 1\r\n"));
        ck_assert_ptr_nonnull(strstr(text, "too many long requests"));
    }
    /* One runs, 64 wait; time passes while these are dialled. */
    ck_assert_int_ge(busy, 5);
    posref_daemon_stop(daemon_, 100);
    ck_assert_int_lt(posref_now_ms() - begun, 12000);
    for (int i = 0; i < N; i++)
        close(fd[i]);
}
END_TEST

/* How many lines of the log are about long requests. */
static int count_long(FILE *log)
{
    char line[4096];
    int n = 0;
    rewind(log);
    while (fgets(line, sizeof line, log))
        n += strstr(line, "/v1/diff") != NULL;
    return n;
}

/* Nothing is made for those who have left the queue, be it that their time was up. */
START_TEST(who_has_left_the_queue_costs_nothing)
{
    FILE *log = tmpfile();
    start_logged(30, 30, 100, log);
    int fd[3];
    for (int i = 0; i < 3; i++) {
        fd[i] = dial();
        say(fd[i], LONG);
        wait_ms(20);
    }
    struct linger reset = {.l_onoff = 1};
    setsockopt(fd[1], SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(fd[1]);
    ck_assert(status_of(fd[2]) == 200);
    ck_assert(status_of(fd[0]) == 200);
    ck_assert_int_eq(count_long(log), 2);
    posref_daemon_stop(daemon_, 10000);
    start_logged(30, 0, 100, log);
    int second = dial(), third = dial();
    say(second, LONG);
    wait_ms(20);
    say(third, LONG);
    wait_ms(20);
    posref_daemon_tick(daemon_);
    ck_assert(status_of(third) == 0);
    ck_assert(status_of(second) == 0);
    posref_daemon_stop(daemon_, 10000);
    ck_assert_int_le(count_long(log), 3); /* the second was being made */
    fclose(log);
    close(fd[0]), close(fd[2]), close(second), close(third);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("daemon");
    TCase *tests = tcase_create("daemon");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, addresses);
    tcase_add_test(tests, addresses_of_sockets);
    tcase_add_test(tests, counts_by_address);
    tcase_add_test(tests, expires_and_lingers);
    tcase_add_test(tests, drains);
    tcase_add_test(tests, left_by_the_client);
    tcase_add_test(tests, a_trickling_client_is_ended);
    tcase_add_test(tests, answers_and_keeps_alive);
    tcase_add_test(tests, a_running_request_is_waited_for_but_not_for_ever);
    tcase_add_test(tests, no_more_connections_than_allowed);
    tcase_add_test(tests, nobody_waits_for_anothers_long_request);
    tcase_add_test(tests, a_queue_is_drained);
    tcase_add_test(tests, a_full_queue_turns_away);
    tcase_add_test(tests, who_has_left_the_queue_costs_nothing);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
