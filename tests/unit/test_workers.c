/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that the daemon leaves to its workers: nobody else waits for them, and whatever may
 * happen to a connection may happen while it rests. */
#include "tests/unit/client.h"
#include "tests/unit/suite.h"

#include "server/connections.h"

#include <check.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SHORT "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
/* A tenth of a second, or some. */
#define LONG                                                                                       \
    "GET /v1/diff?a=dim%3D1024&b=dim%3D1024%20base%3D10001 HTTP/1.1\r\nHost: a\r\n\r\n"

static bool is_waiting(int fd)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    return poll(&one, 1, 0) == 0;
}

static int status_of(int fd)
{
    char text[8192];
    return client_hear_answer(fd, text, sizeof text);
}

/* One thread and one worker. Of the long ones the last has ended its sending half. */
START_TEST(nobody_waits_for_anothers_long_request)
{
    struct posref_daemon *daemon = client_start(30, 30, 100, NULL);
    int fd[3], other = client_dial();
    char text[8192];
    for (int i = 0; i < 3; i++) {
        fd[i] = client_dial();
        client_say(fd[i], LONG);
    }
    shutdown(fd[2], SHUT_WR);
    client_wait_ms(20);
    for (int i = 0; i < 5; i++) {
        client_say(other, SHORT);
        ck_assert_int_eq(status_of(other), 200);
        ck_assert_msg(is_waiting(fd[2]), "short ones are answered before long ones");
    }
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(status_of(fd[i]), 200);
    /* In order, on a connection that has rested before. */
    client_say(fd[0], SHORT LONG "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    ck_assert_int_eq(status_of(fd[0]), 200);
    ck_assert_int_eq(client_hear_answer(fd[0], text, sizeof text), 200);
    ck_assert_ptr_nonnull(strstr(text, "differing"));
    ck_assert_int_eq(status_of(fd[0]), 404);
    posref_daemon_stop(daemon, 10000);
    for (int i = 0; i < 3; i++)
        close(fd[i]);
    close(other);
}
END_TEST

/* A drain answers what waits, and asks the clients to go. */
START_TEST(a_queue_is_drained)
{
    struct posref_daemon *daemon = client_start(30, 30, 100, NULL);
    int fd[3];
    char text[4096];
    for (int i = 0; i < 3; i++) {
        fd[i] = client_dial();
        client_say(fd[i], LONG);
    }
    client_wait_ms(50);
    posref_daemon_stop(daemon, 20000);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_gt(client_hear(fd[i], text, sizeof text, 100), 0);
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
    struct posref_daemon *daemon = client_start(30, 30, 100, NULL);
    int fd[N], busy = 0;
    for (int i = 0; i < N; i++) {
        fd[i] = client_dial();
        client_say(fd[i], LONG);
    }
    int64_t begun = posref_now_ms();
    for (int i = N - 1; i > ROOM + 1; i--) {
        char text[4096];
        if (client_hear(fd[i], text, sizeof text, 20) == 0)
            continue;
        busy++;
        ck_assert_int_eq(strncmp(text, "HTTP/1.1 503 ", 13), 0);
        ck_assert_ptr_nonnull(strstr(text, "\r\nRetry-After: 1\r\n"));
        ck_assert_ptr_nonnull(strstr(text, "too many long requests"));
    }
    /* One runs, 64 wait; time passes while these are dialled. */
    ck_assert_int_ge(busy, 5);
    posref_daemon_stop(daemon, 100);
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
    struct posref_daemon *daemon = client_start(30, 30, 100, log);
    int fd[3];
    for (int i = 0; i < 3; i++) {
        fd[i] = client_dial();
        client_say(fd[i], LONG);
        client_wait_ms(20);
    }
    struct linger reset = {.l_onoff = 1};
    setsockopt(fd[1], SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(fd[1]);
    ck_assert(status_of(fd[2]) == 200);
    ck_assert(status_of(fd[0]) == 200);
    ck_assert_int_eq(count_long(log), 2);
    posref_daemon_stop(daemon, 10000);
    daemon = client_start(30, 0, 100, log);
    int second = client_dial(), third = client_dial();
    client_say(second, LONG);
    client_wait_ms(20);
    client_say(third, LONG);
    client_wait_ms(20);
    posref_daemon_tick(daemon);
    ck_assert(status_of(third) == 0);
    ck_assert(status_of(second) == 0);
    posref_daemon_stop(daemon, 10000);
    ck_assert_int_le(count_long(log), 3); /* the second was being made */
    fclose(log);
    close(fd[0]), close(fd[2]), close(second), close(third);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("workers");
    TCase *tests = tcase_create("workers");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, nobody_waits_for_anothers_long_request);
    tcase_add_test(tests, a_queue_is_drained);
    tcase_add_test(tests, a_full_queue_turns_away);
    tcase_add_test(tests, who_has_left_the_queue_costs_nothing);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
