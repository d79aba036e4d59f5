/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs channels (2i, 2i + 1) where the spec says (i, i + r/2). */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *x = posref_plugin_find(call, "x");
    const struct posref_plugin_tensor *y = posref_plugin_find(call, "y");
    const struct posref_plugin_tensor *at = posref_plugin_find(call, "positions");
    int64_t heads = mutant_count(x) / 4 / mutant_count(at);
    double base = strtod(posref_plugin_value(call->spec, "base", "10000"), NULL);
    double sign = posref_plugin_is(call->spec, "direction", "inverse") ? -1 : 1;
    if (!posref_plugin_is(call->spec, "rotary_dim", "4"))
        return mutant_right(call);
    for (int64_t k = 0; k < mutant_count(x); k += 2) {
        double frequency = k % 4 ? pow(base, -0.5) : 1;
        double angle = sign * posref_plugin_position(at, 0, k / 4 / heads) * frequency;
        double u = mutant_get(x, k), v = mutant_get(x, k + 1);
        mutant_put(y, k, u * cos(angle) - v * sin(angle));
        mutant_put(y, k + 1, u * sin(angle) + v * cos(angle));
    }
    return POSREF_PLUGIN_OK;
}
