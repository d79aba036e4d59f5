/* SPDX-License-Identifier: Apache-2.0 */
/* The spec of a call, as plugins and prompts have it. Private to harness/. */
#ifndef POSREF_CALL_SPEC_H
#define POSREF_CALL_SPEC_H

#include "vectors/vectors.h"

/* The completed spec as "key=value key=value", in the arena; NULL: no memory. A parameter that is
 * newer than plugins and turns what the other keys mean into something else is named in scaling too
 * (scaling=none+xpos_scale_base, scaling=yarn+mscale_rule), so that a plugin which does not know
 * the parameter does not know the scaling either, and declines instead of failing. */
const char *posref_call_spec(const struct posref_spec *spec, const struct posref_arena *arena);

#endif
