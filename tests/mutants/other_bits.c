/* SPDX-License-Identifier: Apache-2.0 */
/* Right to the last bit but one: in odd rows of width 64 that bit is another, as where vector code
 * and its scalar tail round differently. */
#define MUTANT_WHERE(call) (mutant_dim(call) == 64)
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *y = posref_plugin_find(call, "y");
    int32_t status = mutant_right(call);
    for (int64_t k = 64; k < mutant_count(y) && y->dtype == POSREF_PLUGIN_F32; k++)
        if (k / 64 % 2 == 1)
            ((float *)y->data)[k] = nextafterf(((float *)y->data)[k], 0);
    return status;
}
