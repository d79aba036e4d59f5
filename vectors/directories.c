/* SPDX-License-Identifier: Apache-2.0 */
/* Directories on the way to a file. */
#include "vectors/files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum posref_status posref_directories_make(char *path, struct posref_error *err)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int code = mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : errno;
        if (code)
            (void)posref_fail(err, POSREF_IO, posref_path_tail(path), "%s",
                              posref_errno_text(code));
        *slash = '/';
        if (code)
            return POSREF_IO;
    }
    return POSREF_OK;
}
