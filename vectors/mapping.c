/* SPDX-License-Identifier: Apache-2.0 */
/* Files mapped for reading. */
#include "vectors/stored.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

const char *posref_path_tail(const char *path)
{
    size_t length = strlen(path);
    size_t room = sizeof ((struct posref_error *)NULL)->key - 1;
    const char *tail = length > room ? path + (length - room) : path;
    while (((unsigned char)*tail & 0xC0) == 0x80)
        tail++;
    return tail;
}

const char *posref_errno_text(int number)
{
    const char *text = strerrordesc_np(number);
    return text ? text : "unknown error";
}

static enum posref_status map_fd(struct posref_mapping *out, int fd, const char *path,
                                 struct posref_error *err)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return posref_fail(err, POSREF_IO, posref_path_tail(path), "%s", posref_errno_text(errno));
    if (!S_ISREG(info.st_mode))
        return posref_fail(err, POSREF_BAD_INPUT, posref_path_tail(path), "not a regular file");
    struct posref_mapping result = {.data = (const unsigned char *)"",
                                    .size_bytes = (uint64_t)info.st_size};
    if (info.st_size > 0) {
        void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (data == MAP_FAILED)
            return posref_fail(err, POSREF_IO, posref_path_tail(path), "mmap: %s",
                               posref_errno_text(errno));
        result.data = data;
        result.mapped = true;
    }
    *out = result;
    return POSREF_OK;
}

enum posref_status posref_mapping_open(struct posref_mapping *out, const char *path,
                                       struct posref_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return posref_fail(err, POSREF_BAD_INPUT, posref_path_tail(path), "%s",
                           posref_errno_text(errno));
    enum posref_status status = map_fd(out, fd, path, err);
    close(fd);
    return status;
}

void posref_mapping_close(struct posref_mapping *mapping)
{
    if (mapping->mapped)
        munmap((void *)(uintptr_t)mapping->data, (size_t)mapping->size_bytes);
    *mapping = (struct posref_mapping){0};
}
