/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of requests that the text and the JSON reader share. Private to vectors/. */
#ifndef POSREF_REQUEST_H
#define POSREF_REQUEST_H

#include "vectors/vectors.h"

/* A field of a spec, `model` or `allow_unverified`. */
bool posref_spec_key_known(const char *key);
/* Fails with the nearest known key of a request. */
POSREF_MUST_USE enum posref_status posref_unknown_key(const char *key, struct posref_error *err);
POSREF_MUST_USE enum posref_status posref_request_op(struct posref_request *request,
                                                     const char *value, struct posref_error *err);
/* Which layer type of the preset was taken, and what others it has: {"name", "applies_to",
 * "other_layers", "overridden"}. */
POSREF_MUST_USE enum posref_status posref_request_model_json(struct posref_buffer *out,
                                                             const struct posref_request *request,
                                                             struct posref_error *err);

/* Gives flat q, k, v and mask their shape, once the spec is complete. */
POSREF_MUST_USE enum posref_status
posref_request_shape_attention(struct posref_request *request, struct posref_error *err);

#endif
