/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: counting by address, our clock, lingering, draining; and the daemon with short
 * limits against slow clients. No database is needed for what is asked here. */
#include "server/connections.h"
#include "tests/unit/client.h"
#include "tests/unit/suite.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

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
    client_wait_ms(60);
    struct posref_connection *second =
        posref_connections_add(&all, fresh[0], &a);
    posref_connections_expire(&all, 50);
    ck_assert_int_eq(peek(old[1]), 0);
    ck_assert_int_eq(peek(fresh[1]), -1);
    /* An answered request starts the clock again. */
    client_wait_ms(60);
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
    client_wait_ms(1100);
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

START_TEST(a_trickling_client_is_ended)
{
    struct posref_daemon *daemon = client_start(30, 1, 100, NULL);
    int fd = client_dial();
    int64_t begun = posref_now_ms();
    client_say(fd, "GET / HTTP/1.1\r\nX: ");
    ssize_t sent = 1;
    while (sent == 1 && peek(fd) != 0 && posref_now_ms() - begun < 10000) {
        client_wait_ms(50);
        posref_daemon_tick(daemon);
        sent = send(fd, "x", 1, MSG_NOSIGNAL);
    }
    int64_t lasted = posref_now_ms() - begun;
    ck_assert_msg(lasted >= 900 && lasted < 9000, "ended after %lld ms", (long long)lasted);
    close(fd);
    posref_daemon_stop(daemon, 1000);
}
END_TEST

START_TEST(answers_and_keeps_alive)
{
    struct posref_daemon *daemon = client_start(30, 30, 100, NULL);
    char text[4096];
    int fd = client_dial();
    for (int i = 0; i < 3; i++) {
        client_say(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        ck_assert_uint_gt(client_hear(fd, text, sizeof text, 300), 0);
        ck_assert_int_eq(strncmp(text, "HTTP/1.1 200 OK\r\n", 17), 0);
    }
    int64_t begun = posref_now_ms();
    posref_daemon_stop(daemon, 10000);
    ck_assert_int_lt(posref_now_ms() - begun, 5000); /* an idle connection does not hold it up */
    ck_assert_uint_eq(client_hear(fd, text, sizeof text, 100), 0);
    close(fd);
}
END_TEST

START_TEST(a_running_request_is_waited_for_but_not_for_ever)
{
    struct posref_daemon *daemon = client_start(30, 30, 100, NULL);
    int fd = client_dial();
    client_say(fd, "POST /v1/eval HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{");
    client_wait_ms(100);
    int64_t begun = posref_now_ms();
    posref_daemon_stop(daemon, 300);
    int64_t lasted = posref_now_ms() - begun;
    ck_assert_msg(lasted >= 300 && lasted < 5000, "stopped after %lld ms", (long long)lasted);
    close(fd);
}
END_TEST

START_TEST(no_more_connections_than_allowed)
{
    struct posref_daemon *daemon = client_start(30, 30, 4, NULL);
    int fd[8];
    char text[4096];
    for (int i = 0; i < 8; i++)
        fd[i] = client_dial();
    int answered = 0;
    for (int i = 0; i < 8; i++)
        if (send(fd[i], "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27, MSG_NOSIGNAL) == 27)
            answered += client_hear(fd[i], text, sizeof text, 200) > 0;
    ck_assert_int_ge(answered, 2); /* loopback is not limited by address */
    ck_assert_int_le(answered, 4);
    for (int i = 0; i < 8; i++)
        close(fd[i]);
    posref_daemon_stop(daemon, 1000);
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
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
