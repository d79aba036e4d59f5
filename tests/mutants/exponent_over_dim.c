/* SPDX-License-Identifier: Apache-2.0 */
/* Rotates the first rotary_dim channels with exponents over dim, in bf16: at small positions that
 * is within the limits of rotating all channels, but the others come back as copies. */
#include "harness/posref_plugin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float get(const uint16_t *at)
{
    uint32_t bits = (uint32_t)*at << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void put(uint16_t *at, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    *at = (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static int32_t run(void *state, const struct posref_plugin_call *call, char *why, size_t why_size)
{
    const struct posref_plugin_tensor *x = posref_plugin_find(call, "x");
    const struct posref_plugin_tensor *y = posref_plugin_find(call, "y");
    const struct posref_plugin_tensor *at = posref_plugin_find(call, "positions");
    (void)state, (void)why, (void)why_size;
    if (!posref_plugin_word_is(call->op, "rotate") || x->dtype != POSREF_PLUGIN_BF16 ||
        x->rank != 2)
        return POSREF_PLUGIN_UNSUPPORTED;
    int64_t dim = x->shape[1];
    int r = (int)strtol(posref_plugin_value(call->spec, "rotary_dim", "0"), NULL, 10);
    double base = strtod(posref_plugin_value(call->spec, "base", "10000"), NULL);
    memcpy(y->data, x->data, (size_t)(x->shape[0] * dim) * 2);
    for (int64_t row = 0; row < x->shape[0]; row++)
        for (int i = 0; i < r / 2; i++) {
            double a = posref_plugin_position(at, 0, row) * pow(base, -2.0 * i / (double)dim);
            uint16_t *to = (uint16_t *)y->data + row * dim + 2 * i;
            float u = get(to), v = get(to + 1), c = (float)cos(a), s = (float)sin(a);
            put(to, u * c - v * s);
            put(to + 1, u * s + v * c);
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
