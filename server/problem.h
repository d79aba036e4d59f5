/* SPDX-License-Identifier: Apache-2.0 */
/* Problem documents (RFC 9457): every answer that is no success. GET /problems/NAME explains a
 * kind, and is the document's "type". */
#ifndef POSREF_SERVER_PROBLEM_H
#define POSREF_SERVER_PROBLEM_H

#include "reply.h"

enum posref_problem_kind {
    POSREF_PROBLEM_MALFORMED_REQUEST,
    POSREF_PROBLEM_UNKNOWN_PARAMETER,
    POSREF_PROBLEM_BAD_PARAMETER,
    POSREF_PROBLEM_NOT_FOUND,
    POSREF_PROBLEM_RETIRED,
    POSREF_PROBLEM_METHOD_NOT_ALLOWED,
    POSREF_PROBLEM_NOT_ACCEPTABLE,
    POSREF_PROBLEM_TOO_LARGE,
    POSREF_PROBLEM_URI_TOO_LONG,
    POSREF_PROBLEM_UNSUPPORTED_MEDIA_TYPE,
    POSREF_PROBLEM_RANGE,
    POSREF_PROBLEM_HEADERS_TOO_LARGE,
    POSREF_PROBLEM_INTERNAL,
    POSREF_PROBLEM_UNAVAILABLE,
    POSREF_N_PROBLEMS
};

struct posref_problem_info {
    const char *name; /* the last part of the type */
    unsigned status;
    const char *title;
    const char *meaning; /* what happened and what to do, for GET /problems/NAME */
};
const struct posref_problem_info *posref_problem_info(enum posref_problem_kind kind);

/* Members beyond the kind's own; NULL pointers are left out of the document. */
struct posref_problem {
    enum posref_problem_kind kind;
    const char *param;   /* the parameter at fault */
    const char *value;   /* as given; cut when long */
    const char *nearest; /* the known name most like an unknown one */
    const char *allowed; /* what would have been accepted */
    const char *successor; /* address of what took the place of something retired */
    char detail[320];
};

/* Replaces whatever the reply held. */
void posref_reply_problem(struct posref_reply *reply, const struct posref_problem *problem);

/* The same with no further members than a parameter (NULL: none). */
void posref_reply_fail(struct posref_reply *reply, enum posref_problem_kind kind,
                       const char *param, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A failure of the rooms below: bad input is the client's (400), the rest is ours (500). */
void posref_reply_error(struct posref_reply *reply, enum posref_status status,
                        const struct posref_error *err);

#endif
