/* SPDX-License-Identifier: Apache-2.0 */
/* Turns by angles that grow with the square of the position: no fault of the registry. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *x = posref_plugin_find(call, "x");
    const struct posref_plugin_tensor *y = posref_plugin_find(call, "y");
    const struct posref_plugin_tensor *at = posref_plugin_find(call, "positions");
    int64_t heads = mutant_count(x) / 4 / mutant_count(at);
    double base = strtod(posref_plugin_value(call->spec, "base", "10000"), NULL);
    for (int64_t row = 0; row < mutant_count(x) / 4; row++)
        for (int i = 0; i < 2; i++) {
            int64_t a = 4 * row + i, b = a + 2;
            double p = posref_plugin_position(at, 0, row / heads);
            double angle = p * (1 + p / 97) * (i ? pow(base, -0.5) : 1);
            mutant_put(y, a, mutant_get(x, a) * cos(angle) - mutant_get(x, b) * sin(angle));
            mutant_put(y, b, mutant_get(x, a) * sin(angle) + mutant_get(x, b) * cos(angle));
        }
    return POSREF_PLUGIN_OK;
}
