/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon and clients of it in one process, for tests of the service that need no database. What
 * goes wrong fails the test. */
#ifndef POSREF_TESTS_CLIENT_H
#define POSREF_TESTS_CLIENT_H

#include "server/daemon.h"

/* A daemon of one thread and one worker on a free port of 127.0.0.1. log: its access log, or
 * NULL. */
struct posref_daemon *client_start(unsigned idle_s, unsigned request_s, unsigned max_connections,
                                   FILE *log);

/* A connection to the daemon that was started last. */
int client_dial(void);

void client_say(int fd, const char *text);

/* What arrives until the other side closes or nothing comes for wait_for ms; its length. */
size_t client_hear(int fd, char *out, size_t size, int wait_for);

/* Reads one answer, all of it and nothing behind it; its status, or 0: none came. */
int client_hear_answer(int fd, char *out, size_t size);

void client_wait_ms(long ms);

#endif
