/* SPDX-License-Identifier: Apache-2.0 */
/* Runs `posref eval` as a user does and reads what it prints. */
#include "oracle.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Everything up to end of file, malloc'ed; NULL: no memory or a read error. */
static char *read_all(int fd, size_t *length)
{
    size_t size = 1 << 16;
    char *text = malloc(size);
    *length = 0;
    for (ssize_t got = 1; text && got > 0; *length += got > 0 ? (size_t)got : 0) {
        if (size - *length < 1 << 15) {
            char *more = realloc(text, size *= 2);
            if (!more)
                free(text);
            text = more;
            if (!text)
                break;
        }
        got = read(fd, text + *length, size - *length - 1);
    }
    if (text)
        text[*length] = 0;
    return text;
}

int oracle_run_eval(struct oracle_case *c, char *const argv[])
{
    int ends[2], status = 0;
    pid_t child;
    posix_spawn_file_actions_t actions;
    if (pipe(ends) != 0) {
        oracle_fail(c, "pipe: no descriptor");
        return -1;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    int failed = posix_spawn(&child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed) {
        close(ends[0]);
        oracle_fail(c, "%s: cannot be run", argv[0]);
        return -1;
    }
    size_t length;
    char *text = read_all(ends[0], &length);
    close(ends[0]);
    bool ended = waitpid(child, &status, 0) == child && WIFEXITED(status);
    int code = ended ? WEXITSTATUS(status) : -1;
    if (!text || !ended)
        oracle_fail(c, "%s: died", argv[0]), code = -1;
    else if (code == 0 && !oracle_read_json(c, text, length))
        code = -1;
    free(text);
    return code;
}
