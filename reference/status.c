/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as values: fills the caller's error and returns the status in one expression. */
#include "reference.h"

#include <stdarg.h>
#include <stdio.h>

enum posref_status posref_fail(struct posref_error *err, enum posref_status status,
                               const char *key, const char *format, ...)
{
    if (err) {
        snprintf(err->key, sizeof err->key, "%s", key);
        va_list args;
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return status;
}
