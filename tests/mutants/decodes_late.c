/* SPDX-License-Identifier: Apache-2.0 */
/* A single row is turned by the position behind its own, as from a decoder that has
 * counted on already. */
#define MUTANT_WHERE(call) 1
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *at = posref_plugin_find(call, "positions");
    struct posref_plugin_tensor next = *at;
    struct posref_plugin_call late = *call;
    const struct posref_plugin_tensor *list[8];
    double position = posref_plugin_position(at, 0, 0) + 1;
    if (mutant_count(at) != 1 || call->n_tensors > 8)
        return mutant_right(call);
    next.dtype = POSREF_PLUGIN_F64;
    next.data = &position;
    for (uint32_t i = 0; i < call->n_tensors; i++)
        list[i] = call->tensors[i] == at ? &next : call->tensors[i];
    late.tensors = list;
    return mutant_right(&late);
}
