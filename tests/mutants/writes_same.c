/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to an element of x what it holds. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *x = posref_plugin_find(call, "x");
    volatile unsigned char *byte = (unsigned char *)x->data + 5;
    *byte = *byte;
    return mutant_right(call);
}
