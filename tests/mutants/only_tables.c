/* SPDX-License-Identifier: Apache-2.0 */
/* Gives tables of cosines and sines in float32, of base 10000 whatever the spec says, and declines
 * to rotate. */
#include "harness/posref_plugin.h"

#include <math.h>

static int32_t run(void *state, const struct posref_plugin_call *call, char *why, size_t why_size)
{
    (void)state, (void)why, (void)why_size;
    if (!posref_plugin_word_is(call->op, "table") ||
        !posref_plugin_is(call->spec, "scheme", "rope"))
        return POSREF_PLUGIN_UNSUPPORTED;
    const struct posref_plugin_tensor *c = posref_plugin_find(call, "cos");
    const struct posref_plugin_tensor *s = posref_plugin_find(call, "sin");
    const struct posref_plugin_tensor *p = posref_plugin_find(call, "positions");
    if (c->dtype != POSREF_PLUGIN_F32)
        return POSREF_PLUGIN_UNSUPPORTED;
    for (int64_t n = 0; n < c->shape[0]; n++)
        for (int64_t i = 0; i < c->shape[1]; i++) {
            float theta = powf(10000, -(float)i / (float)c->shape[1]);
            float angle = (float)posref_plugin_position(p, 0, n) * theta;
            *(float *)posref_plugin_at(c, n, i, 0) = cosf(angle);
            *(float *)posref_plugin_at(s, n, i, 0) = sinf(angle);
        }
    return POSREF_PLUGIN_OK;
}

const struct posref_plugin *posref_plugin_entry(uint32_t host_abi)
{
    static const struct posref_plugin plugin = {POSREF_PLUGIN_ABI, sizeof plugin, "mutant", "1",
                                                NULL, NULL, run, NULL, 0, NULL, NULL};
    (void)host_abi;
    return &plugin;
}
