/* SPDX-License-Identifier: Apache-2.0 */
/* Starting, asking and ending the program of exec:COMMAND. */
#include "exec_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* More than any batch of the harness holds; a length above it is a broken frame. */
#define MAX_FRAME_BYTES ((uint64_t)64 << 20)

bool exec_program_runs(const struct exec_program *program)
{
    return program->pid > 0;
}

/* Its stdin and stdout are the pipes, its stderr is ours; signals are as at start. */
static int spawn(struct exec_program *program, int in, int out)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t every;
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)program->command,
                          NULL};
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    failed = posix_spawnattr_init(&attributes);
    if (failed) {
        posix_spawn_file_actions_destroy(&actions);
        return failed;
    }
    sigfillset(&every);
    failed = posix_spawnattr_setsigdefault(&attributes, &every);
    if (!failed)
        failed = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, in, 0);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, out, 1);
    if (!failed)
        failed = posix_spawn(&program->pid, "/bin/sh", &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

bool exec_program_start(struct exec_program *program, char *why, size_t why_size_bytes)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    program->pid = 0;
    int failed = pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 ? 0 : errno;
    if (!failed)
        failed = spawn(program, in[0], out[1]);
    if (in[0] >= 0)
        close(in[0]);
    if (out[1] >= 0)
        close(out[1]);
    program->to = in[1];
    program->from = out[0];
    if (!failed)
        return true;
    program->pid = 0;
    snprintf(why, why_size_bytes, "cannot be started: %s", strerrordesc_np(failed));
    return false;
}

static void close_pipes(struct exec_program *program)
{
    if (program->to >= 0)
        close(program->to);
    if (program->from >= 0)
        close(program->from);
    program->to = program->from = -1;
}

/* Waits for its end; the parent keeps the clock. */
static void reap(struct exec_program *program)
{
    while (program->pid > 0 && waitpid(program->pid, &program->wait_status, 0) < 0 &&
           errno == EINTR)
        continue;
    program->pid = 0;
    close_pipes(program);
}

void exec_program_stop(struct exec_program *program)
{
    if (program->to >= 0)
        close(program->to);
    program->to = -1;
    reap(program);
    free(program->reply);
    program->reply = NULL;
    program->reply_room = 0;
}

_Noreturn void exec_program_follow(const struct exec_program *program)
{
    int signal_number = WIFSIGNALED(program->wait_status) ? WTERMSIG(program->wait_status) : 0;
    /* A shell says 128 + n of a command that signal n ended. */
    if (!signal_number && WEXITSTATUS(program->wait_status) > 128 &&
        WEXITSTATUS(program->wait_status) <= 128 + 31)
        signal_number = WEXITSTATUS(program->wait_status) - 128;
    if (signal_number) {
        signal(signal_number, SIG_DFL);
        kill(getpid(), signal_number);
    }
    _exit(WIFEXITED(program->wait_status) ? WEXITSTATUS(program->wait_status) : 3);
}

static bool write_all(int fd, const void *data, size_t size_bytes)
{
    const char *at = data;
    while (size_bytes > 0) {
        ssize_t n = write(fd, at, size_bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size_bytes -= (size_t)n;
    }
    return true;
}

/* How many bytes came before the end. */
static size_t read_all(int fd, void *data, size_t size_bytes)
{
    size_t got = 0;
    while (got < size_bytes) {
        ssize_t n = read(fd, (char *)data + got, size_bytes - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    return got;
}

static enum exec_answer ended(struct exec_program *program, char *why, size_t why_size_bytes)
{
    reap(program);
    if (WIFSIGNALED(program->wait_status))
        snprintf(why, why_size_bytes, "the program was ended by signal %d",
                 WTERMSIG(program->wait_status));
    else
        snprintf(why, why_size_bytes, "the program ended with status %d before it answered",
                 WEXITSTATUS(program->wait_status));
    return EXEC_ENDED;
}

/* Nothing that comes after a broken frame can be understood. */
static enum exec_answer broken(struct exec_program *program)
{
    if (program->pid > 0)
        kill(program->pid, SIGKILL);
    reap(program);
    return EXEC_BROKEN;
}

enum exec_answer exec_program_read(struct exec_program *program, struct posref_safetensors *reply,
                                   char *why, size_t why_size_bytes)
{
    unsigned char length[8];
    uint64_t size = 0;
    size_t got = read_all(program->from, length, sizeof length);
    if (got == 0)
        return ended(program, why, why_size_bytes);
    for (int i = 0; i < 8; i++)
        size |= (uint64_t)length[i] << (8 * i);
    if (got < sizeof length || size < 8 || size > MAX_FRAME_BYTES) {
        snprintf(why, why_size_bytes, "the reply is no frame: %s",
                 got < sizeof length ? "its length is cut off"
                 : size < 8          ? "it is shorter than any document"
                                     : "its length is above 64 MiB (was something printed to "
                                       "stdout?)");
        return broken(program);
    }
    if (size > program->reply_room) {
        unsigned char *grown = realloc(program->reply, size);
        if (!grown) {
            snprintf(why, why_size_bytes, "no memory for a reply of %llu bytes",
                     (unsigned long long)size);
            return broken(program);
        }
        program->reply = grown;
        program->reply_room = size;
    }
    if (read_all(program->from, program->reply, size) < size) {
        snprintf(why, why_size_bytes, "the reply ends within its frame");
        return broken(program);
    }
    struct posref_error err = {{0}, {0}};
    if (posref_safetensors_parse(reply, program->reply, size, "reply", &err) != POSREF_OK) {
        snprintf(why, why_size_bytes, "the reply is no safetensors document: %.120s", err.text);
        return broken(program);
    }
    return EXEC_ANSWERED;
}

enum exec_answer exec_program_ask(struct exec_program *program, struct posref_safetensors *reply,
                                  const struct posref_tensors *tensors,
                                  const char *const *metadata, char *why, size_t why_size_bytes)
{
    struct posref_buffer document;
    unsigned char length[8];
    posref_buffer_init(&document, (size_t)MAX_FRAME_BYTES);
    posref_safetensors_add(&document, tensors, metadata);
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)document.length >> (8 * i));
    bool sent = !document.failed && write_all(program->to, length, sizeof length) &&
                write_all(program->to, document.data, document.length);
    bool failed = document.failed;
    posref_buffer_clear(&document);
    if (failed) {
        snprintf(why, why_size_bytes, "the call is too large for a document");
        return broken(program);
    }
    if (!sent)
        return ended(program, why, why_size_bytes);
    return exec_program_read(program, reply, why, why_size_bytes);
}
