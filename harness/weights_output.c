/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a permuted checkpoint atomically: one file, or a directory of shards with their index and
 * config. */
#include "harness/weights_output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRITE_BYTES (UINT64_C(8) << 20)

static enum posref_status refuse(const char *path, int number, enum posref_status status,
                                 struct posref_error *err)
{
    return posref_fail(err, status, posref_path_tail(path), "%s", posref_errno_text(number));
}

/* The signals that ask a program to end: while a file is written they wait (no handler, no global),
 * the writing stops at the next chunk, what was written is removed, and then they arrive. */
static void ending_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

static bool interrupted(void)
{
    sigset_t pending;
    return sigpending(&pending) == 0 && (sigismember(&pending, SIGINT) == 1 ||
                                         sigismember(&pending, SIGTERM) == 1 ||
                                         sigismember(&pending, SIGHUP) == 1);
}

enum posref_status posref_weights_file_write(struct posref_weights_file *file, const void *data,
                                             uint64_t size_bytes, struct posref_error *err)
{
    const unsigned char *at = data;
    while (size_bytes > 0) {
        if (interrupted())
            return refuse(file->path, EINTR, POSREF_IO, err);
        size_t n = size_bytes < WRITE_BYTES ? (size_t)size_bytes : (size_t)WRITE_BYTES;
        ssize_t written = write(file->fd, at, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return refuse(file->path, errno, POSREF_IO, err);
        at += written;
        size_bytes -= (uint64_t)written;
    }
    return POSREF_OK;
}

/* Creates `path` and writes one file of the checkpoint into it; on failure it is removed. */
static enum posref_status create(const char *path, const struct posref_weights_side *side,
                                 size_t number, bool to_half, struct posref_error *err)
{
    struct posref_weights_file file = {
        .fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), .path = path};
    if (file.fd < 0)
        return refuse(path, errno, POSREF_BAD_INPUT, err);
    enum posref_status status = posref_weights_write_file(&file, side, number, to_half, err);
    if (status == POSREF_OK && fsync(file.fd) != 0 && errno != EINVAL)
        status = refuse(path, errno, POSREF_IO, err);
    if (close(file.fd) != 0 && status == POSREF_OK)
        status = refuse(path, errno, POSREF_IO, err);
    if (status != POSREF_OK)
        unlink(path);
    return status;
}

static char *join(const char *directory, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t room = strlen(directory) + strlen(name) + 2;
    char *joined = malloc(room);
    if (joined)
        snprintf(joined, room, "%s/%s", directory, name);
    return joined;
}

/* Copies a small file that belongs to the checkpoint; one that is not there is left out. */
static enum posref_status copy_beside(const char *directory, const char *path,
                                      struct posref_error *err)
{
    struct posref_mapping bytes;
    if (access(path, F_OK) != 0)
        return POSREF_OK;
    enum posref_status status = posref_mapping_open(&bytes, path, err);
    if (status != POSREF_OK)
        return status;
    char *target = join(directory, path);
    struct posref_weights_file file = {.fd = -1, .path = target ? target : path};
    if (target)
        file.fd = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.fd < 0)
        status = refuse(file.path, target ? errno : ENOMEM, POSREF_IO, err);
    else
        status = posref_weights_file_write(&file, bytes.data, bytes.size_bytes, err);
    if (file.fd >= 0 && close(file.fd) != 0 && status == POSREF_OK)
        status = refuse(file.path, errno, POSREF_IO, err);
    free(target);
    posref_mapping_close(&bytes);
    return status;
}

static void remove_entry(const char *directory, const char *path)
{
    char *target = join(directory, path);
    if (target)
        unlink(target);
    free(target);
}

static enum posref_status fill_directory(const char *directory,
                                         const struct posref_weights_side *side, bool to_half,
                                         struct posref_error *err)
{
    enum posref_status status = POSREF_OK;
    for (size_t i = 0; i < side->checkpoint.n_files && status == POSREF_OK; i++) {
        char *target = join(directory, side->checkpoint.file[i].path);
        status = target ? create(target, side, i, to_half, err)
                        : refuse(directory, ENOMEM, POSREF_NO_MEMORY, err);
        free(target);
    }
    if (status == POSREF_OK && side->checkpoint.index_path)
        status = copy_beside(directory, side->checkpoint.index_path, err);
    char *config = join(side->checkpoint.directory, "config.json");
    if (status == POSREF_OK)
        status = config ? copy_beside(directory, config, err)
                        : refuse(directory, ENOMEM, POSREF_NO_MEMORY, err);
    free(config);
    return status;
}

static void clear_directory(const char *directory, const struct posref_weights_side *side)
{
    for (size_t i = 0; i < side->checkpoint.n_files; i++)
        remove_entry(directory, side->checkpoint.file[i].path);
    if (side->checkpoint.index_path)
        remove_entry(directory, side->checkpoint.index_path);
    remove_entry(directory, "config.json");
    rmdir(directory);
}

static enum posref_status write_directory(const char *out, const char *temporary,
                                          const struct posref_weights_side *side, bool to_half,
                                          struct posref_error *err)
{
    if (access(out, F_OK) == 0)
        return posref_fail(err, POSREF_BAD_INPUT, posref_path_tail(out),
                           "exists; a checkpoint of several files goes to a new directory");
    if (mkdir(temporary, 0777) != 0)
        return refuse(out, errno, POSREF_BAD_INPUT, err);
    enum posref_status status = fill_directory(temporary, side, to_half, err);
    if (status == POSREF_OK && rename(temporary, out) != 0)
        status = refuse(out, errno, POSREF_IO, err);
    if (status != POSREF_OK)
        clear_directory(temporary, side);
    return status;
}

static enum posref_status write_single(const char *out, const char *temporary,
                                       const struct posref_weights_side *side, bool to_half,
                                       struct posref_error *err)
{
    struct stat in_info, out_info;
    const char *in = side->checkpoint.file[0].path;
    if (stat(out, &out_info) == 0) {
        if (!S_ISREG(out_info.st_mode))
            return posref_fail(err, POSREF_BAD_INPUT, posref_path_tail(out),
                               "exists and is no regular file");
        if (stat(in, &in_info) == 0 && in_info.st_dev == out_info.st_dev &&
            in_info.st_ino == out_info.st_ino)
            return posref_fail(err, POSREF_BAD_INPUT, posref_path_tail(out),
                               "is the input; permuting twice by mistake would ruin it");
    }
    enum posref_status status = create(temporary, side, 0, to_half, err);
    if (status == POSREF_OK && rename(temporary, out) != 0) {
        status = refuse(out, errno, POSREF_IO, err);
        unlink(temporary);
    }
    return status;
}

enum posref_status posref_weights_write(const struct posref_weights_side *side, const char *out,
                                        bool to_half, struct posref_error *err)
{
    size_t length = strlen(out), room = length + 32;
    if (length == 0)
        return posref_fail(err, POSREF_BAD_INPUT, "-o", "empty: where the result goes");
    char *temporary = malloc(room);
    if (!temporary)
        return refuse(out, ENOMEM, POSREF_NO_MEMORY, err);
    while (length > 1 && out[length - 1] == '/')
        length--;
    snprintf(temporary, room, "%.*s.tmp.%ld", (int)length, out, (long)getpid());
    bool slash = out[length] == '/';
    bool several = side->checkpoint.n_files > 1 || side->checkpoint.index_path;
    if (slash && !several) {
        free(temporary);
        return posref_fail(err, POSREF_BAD_INPUT, posref_path_tail(out),
                           "names a directory; a checkpoint of one file goes to a file");
    }
    sigset_t ending, before;
    ending_signals(&ending);
    pthread_sigmask(SIG_BLOCK, &ending, &before);
    enum posref_status status = several ? write_directory(out, temporary, side, to_half, err)
                                        : write_single(out, temporary, side, to_half, err);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    free(temporary);
    return status;
}
