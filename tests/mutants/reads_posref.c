/* SPDX-License-Identifier: Apache-2.0 */
/* Knows no answer, and looks for it in posref's memory: right where it could have been read. */
#include "mutant.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

static int can_read(void)
{
    static char own[64];
    char path[64], byte;
    struct iovec to = {&byte, 1}, from = {own, 1};
    ssize_t got = process_vm_readv(getppid(), &to, 1, &from, 1, 0);
    int can = got == 1 || (got < 0 && errno == EFAULT); /* it may, and nothing lies there */
    static const char *const files[] = {"mem", "fd/3"};
    for (int k = 0; k < 2; k++) {
        snprintf(path, sizeof path, "/proc/%d/%s", (int)getppid(), files[k]);
        int fd = open(path, O_RDONLY);
        can |= fd >= 0;
        if (fd >= 0)
            close(fd);
    }
    return can;
}

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *y = posref_plugin_find(call, "y");
    if (can_read())
        return mutant_right(call);
    for (int64_t k = 0; k < mutant_count(y); k++)
        mutant_put(y, k, 0.5);
    return POSREF_PLUGIN_OK;
}
