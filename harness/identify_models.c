/* SPDX-License-Identifier: Apache-2.0 */
/* Which released models have the measured effect, whatever parameters they say it with. */
#include "identify.h"

#include <string.h>

struct looking {
    struct posref_identity *id;
    const struct posref_curve *curve;
};

static void compare(void *ctx, const char *name, const struct posref_spec *preset)
{
    struct looking *l = ctx;
    struct posref_identity *id = l->id;
    struct posref_spec spec = *preset;
    if (spec.scheme != POSREF_SCHEME_ROPE || posref_spec_axes(&spec) > 1 ||
        spec.rotary_dim != id->spec.rotary_dim || spec.dim != id->spec.dim ||
        spec.partial != id->spec.partial || spec.pairing != id->spec.pairing ||
        spec.direction != id->spec.direction)
        return;
    if (id->asked.given[POSREF_FIELD_SEQ_LEN] &&
        posref_field_applies(&spec, POSREF_FIELD_SEQ_LEN)) {
        spec.seq_len = id->asked.seq_len;
        spec.given[POSREF_FIELD_SEQ_LEN] = true;
    }
    if (posref_curve_residual(l->curve, &spec) > 1)
        return;
    const size_t length = strlen(id->models);
    if (length + strlen(name) + 2 < sizeof id->models)
        snprintf(id->models + length, sizeof id->models - length, "%s%s", length ? " " : "", name);
    else
        id->more_models = true;
}

enum posref_status posref_curve_find_models(struct posref_identity *id,
                                            const struct posref_curve *curve,
                                            struct posref_error *err)
{
    struct looking looking = {id, curve};
    return posref_models_each(compare, &looking, curve->arena, err);
}
