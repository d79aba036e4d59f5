/* SPDX-License-Identifier: Apache-2.0 */
/* The spec of a call: a spec's text whose scaling names what older plugins cannot know. */
#include "call_spec.h"

#include <string.h>

static void add_scaling(struct posref_buffer *out, const struct posref_spec *spec)
{
    const struct {
        bool differs;
        enum posref_field field;
    } newer[] = {
        {spec->given[POSREF_FIELD_XPOS_SCALE_BASE], POSREF_FIELD_XPOS_SCALE_BASE},
        {spec->given[POSREF_FIELD_RANGE_RULE] && spec->range_rule != POSREF_RANGE_CLAMPED,
         POSREF_FIELD_RANGE_RULE},
        {spec->given[POSREF_FIELD_MSCALE_RULE] && spec->mscale_rule != POSREF_MSCALE_BOTH,
         POSREF_FIELD_MSCALE_RULE},
        {spec->given[POSREF_FIELD_ATTENTION_FACTOR_RULE] &&
             spec->attention_factor_rule != POSREF_ATTENTION_FACTOR_REPLACES,
         POSREF_FIELD_ATTENTION_FACTOR_RULE},
    };
    for (size_t k = 0; k < sizeof newer / sizeof *newer; k++)
        if (newer[k].differs)
            posref_buffer_printf(out, "+%s", posref_field_def(newer[k].field)->name);
}

const char *posref_call_spec(const struct posref_spec *spec, const struct posref_arena *arena)
{
    struct posref_buffer text, out;
    char *copy = NULL;
    posref_buffer_init(&text, 1 << 20);
    posref_buffer_init(&out, 1 << 20);
    posref_spec_text(&text, spec);
    posref_buffer_add(&text, "", 1);
    if (!text.failed) {
        const char *scaling = strstr(text.data, " scaling=");
        const size_t length =
            scaling ? (size_t)(scaling - text.data) + 1 + strcspn(scaling + 1, " ") : 0;
        posref_buffer_add(&out, text.data, length);
        if (scaling)
            add_scaling(&out, spec);
        posref_buffer_add(&out, text.data + length, text.length - length);
        copy = out.failed ? NULL : arena->alloc(arena->ctx, out.length);
    }
    if (copy)
        memcpy(copy, out.data, out.length);
    posref_buffer_clear(&text);
    posref_buffer_clear(&out);
    return copy;
}
