/* SPDX-License-Identifier: Apache-2.0 */
/* Gives what the call before computed, as a kernel does that nobody waits for. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    static double last[64];
    double now[64];
    const struct posref_plugin_tensor *y = posref_plugin_find(call, "y");
    const int64_t n = mutant_count(y);
    if (n > 64)
        return POSREF_PLUGIN_ERROR;
    int32_t status = mutant_right(call);
    for (int64_t k = 0; k < n; k++) {
        now[k] = mutant_get(y, k);
        mutant_put(y, k, last[k]);
        last[k] = now[k];
    }
    return status;
}
