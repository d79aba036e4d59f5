/* SPDX-License-Identifier: Apache-2.0 */
/* A file that appears whole or not at all: written beside its place, synced, renamed. */
#include "vectors/atomic_file.h"
#include "vectors/files.h"

#include "vectors/stored.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANDOM_PART "XXXXXX"

static enum posref_status fail(const char *path, struct posref_error *err)
{
    /* A wrong path is the user's, a full disk is not. */
    bool users = errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == EISDIR ||
                 errno == EROFS || errno == EPERM || errno == ENAMETOOLONG;
    return posref_fail(err, users ? POSREF_BAD_INPUT : POSREF_IO, posref_path_tail(path), "%s",
                       posref_errno_text(errno));
}

/* Length of the directory part, with its slash; 0 when there is none. */
static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

static int open_directory(const char *path)
{
    size_t length = directory_length(path);
    char *name = length ? strndup(path, length) : strdup(".");
    int fd = name ? open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(name);
    return fd;
}

/* Removes a temporary whose writer holds no lock any more. */
static void remove_if_dead(int directory, const char *name)
{
    int fd = openat(directory, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(directory, name, 0);
    close(fd);
}

static void remove_leftovers(const char *path)
{
    const char *base = path + directory_length(path);
    size_t length = strlen(base);
    int fd = open_directory(path);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    if (!directory) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory));) {
        const char *name = entry->d_name;
        if (name[0] == '.' && strncmp(name + 1, base, length) == 0 && name[1 + length] == '.' &&
            strlen(name) == length + 2 + strlen(RANDOM_PART))
            remove_if_dead(dirfd(directory), name);
    }
    closedir(directory);
}

enum posref_status posref_atomic_begin(struct posref_atomic_file *out, const char *path,
                                       struct posref_error *err)
{
    struct posref_atomic_file file = {.path = path, .fd = -1};
    size_t length = directory_length(path);
    struct stat there;
    if (path[length] == '\0' || (stat(path, &there) == 0 && !S_ISREG(there.st_mode)))
        return posref_fail(err, POSREF_BAD_INPUT, posref_path_tail(path), "is no regular file");
    if (asprintf(&file.temporary, "%.*s.%s." RANDOM_PART, (int)length, path, path + length) < 0)
        return posref_fail(err, POSREF_NO_MEMORY, posref_path_tail(path), "no memory");
    remove_leftovers(path);
    file.fd = mkostemp(file.temporary, O_CLOEXEC);
    if (file.fd < 0) {
        enum posref_status status = fail(path, err);
        free(file.temporary);
        return status;
    }
    mode_t mask = umask(0);
    umask(mask);
    (void)flock(file.fd, LOCK_EX | LOCK_NB); /* a file system without locks only keeps leftovers */
    (void)fchmod(file.fd, 0666 & ~mask);
    *out = file;
    return POSREF_OK;
}

void posref_atomic_abandon(struct posref_atomic_file *file)
{
    unlink(file->temporary);
    close(file->fd);
    free(file->temporary);
}

enum posref_status posref_atomic_commit(struct posref_atomic_file *file, struct posref_error *err)
{
    int directory = open_directory(file->path);
    if (fsync(file->fd) != 0 || rename(file->temporary, file->path) != 0) {
        enum posref_status status = fail(file->path, err);
        posref_atomic_abandon(file);
        if (directory >= 0)
            close(directory);
        return status;
    }
    if (directory >= 0) {
        (void)fsync(directory); /* some file systems refuse; the rename has happened */
        close(directory);
    }
    close(file->fd);
    free(file->temporary);
    return POSREF_OK;
}

enum posref_status posref_file_replace(const char *path, const void *data, size_t size_bytes,
                                       struct posref_error *err)
{
    struct posref_atomic_file file;
    enum posref_status status = posref_atomic_begin(&file, path, err);
    if (status != POSREF_OK)
        return status;
    FILE *to = fopen(file.temporary, "wbe");
    bool good = to && fwrite(data, 1, size_bytes, to) == size_bytes;
    good = to && fclose(to) == 0 && good;
    if (good)
        return posref_atomic_commit(&file, err);
    posref_atomic_abandon(&file);
    return posref_fail(err, POSREF_IO, path, "cannot be written");
}
