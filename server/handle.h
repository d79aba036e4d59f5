/* SPDX-License-Identifier: Apache-2.0 */
/* What handlers share. */
#ifndef POSREF_SERVER_HANDLE_H
#define POSREF_SERVER_HANDLE_H

#include "route.h"

/* A failure of the rooms below, told with the parameter's value and, for a spec field, what is
 * allowed. */
void posref_refuse_field(const struct posref_call *call, struct posref_reply *reply,
                         enum posref_status status, const struct posref_error *err);

/* Sets the reply's caching by the parameter `digest`: absent, short; a suite's digest, immutable;
 * anything else is an error: false, with the reply made. */
bool posref_check_digest(const struct posref_call *call, struct posref_reply *reply);

/* Whether the largest tensor of a request's evaluation stays within the limit; false, with the
 * reply made: no. */
bool posref_check_size(const struct posref_request *request, struct posref_reply *reply);

/* Puts the call off when it takes long and was to be brief: true, nothing is to be done. */
bool posref_put_off(const struct posref_call *call, struct posref_reply *reply, bool is_long);

/* "suites": [...]} and a newline: the end of an object. */
void posref_add_suites(struct posref_buffer *out, const struct posref_suite_info *suite, size_t n);

/* No vector has the id that is the call's argument. */
void posref_refuse_id(const struct posref_call *call, struct posref_reply *reply);

/* Reads the parameter `numbers`; false, with the reply made: none of the forms. */
bool posref_read_numbers(const struct posref_call *call, struct posref_reply *reply,
                         enum posref_number_form *numbers);

/* schema/openapi.json; server.mk builds it in. */
extern const char posref_openapi[];

#endif
