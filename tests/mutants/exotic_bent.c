/* SPDX-License-Identifier: Apache-2.0 */
/* The right rotation, then every element bent a little by its own cube: norms are not kept. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *y = posref_plugin_find(call, "y");
    int32_t status = mutant_right(call);
    for (int64_t k = 0; k < mutant_count(y); k++) {
        double value = mutant_get(y, k);
        mutant_put(y, k, value + 0.03 * value * value * value);
    }
    return status;
}
