/* SPDX-License-Identifier: Apache-2.0 */
/* Recurses without end. */
#include "mutant.h"

/* The array is used on both sides of the call, so that no compiler makes a loop of it. */
static int recurse(const struct posref_plugin_call *call, int depth)
{
    volatile char room[4096];
    room[depth % 4096] = (char)call->n_tensors;
    int below = depth < 1 << 30 ? recurse(call, depth + 1) : 0;
    return below + room[depth % 4096];
}

static int32_t misbehave(const struct posref_plugin_call *call)
{
    return recurse(call, 0) > 0 ? mutant_right(call) : POSREF_PLUGIN_ERROR;
}
