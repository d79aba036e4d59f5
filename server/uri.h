/* SPDX-License-Identifier: Apache-2.0 */
/* A request target taken apart: path and parameters, percent-decoded and checked. Works on the
 * bytes that the client sent, because libmicrohttpd's own parsing cuts a path at %00. */
#ifndef POSREF_SERVER_URI_H
#define POSREF_SERVER_URI_H

#include "reference/reference.h"

#define POSREF_URI_MAX_BYTES 8192 /* of a request target; longer ones are answered with 414 */
#define POSREF_URI_MAX_PARAMS 64

struct posref_param {
    const char *key, *value;
};

/* All pointers are into `storage`: the struct must not be copied or moved. */
struct posref_uri {
    const char *path;
    struct posref_param param[POSREF_URI_MAX_PARAMS];
    size_t n_params;
    char storage[POSREF_URI_MAX_BYTES + 2];
};

/* Takes `target` (origin form, or the absolute form that proxies send) apart. %XX is decoded in
 * path, keys and values, so that %2F and / are the same; "+" stays a plus sign (1e+06 is a number).
 * POSREF_BAD_INPUT, with the parameter's name as err->key where there is one, on: a target that is
 * no path, malformed %XX, %00 and other control characters, invalid UTF-8, characters that must be
 * encoded, a parameter without "=", without a name or given twice, too many parameters, and more
 * than POSREF_URI_MAX_BYTES bytes. */
POSREF_MUST_USE enum posref_status posref_uri_parse(struct posref_uri *out, const char *target,
                                                    struct posref_error *err);

/* The parameter's value, or NULL. */
const char *posref_uri_value(const struct posref_uri *uri, const char *key);

/* Whether text is UTF-8 as RFC 3629 has it: no overlong forms, surrogates or values past 10FFFF. */
bool posref_utf8_valid(const char *text, size_t length);

#endif
