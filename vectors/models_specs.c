/* SPDX-License-Identifier: Apache-2.0 */
/* The specs of all presets, one after another, for those who look for one that fits. */
#include "vectors/models.h"

#include <stdio.h>

enum posref_status posref_models_each(posref_model_fn *visit, void *ctx,
                                      const struct posref_arena *arena, struct posref_error *err)
{
    const char *at = posref_models_text();
    struct posref_model model;
    bool found = true;
    enum posref_status status;
    while ((status = posref_model_next(&model, &at, &found, arena, err)) == POSREF_OK && found)
        for (int k = 0; k < model.n_layers; k++) {
            struct posref_spec spec = model.layers[k].spec;
            char name[128];
            if (posref_spec_complete(&spec, NULL) != POSREF_OK)
                continue; /* it leaves out what a user has to give */
            snprintf(name, sizeof name, model.n_layers > 1 ? "%s/%s" : "%s", model.name,
                     model.layers[k].name);
            visit(ctx, name, &spec);
        }
    return status;
}
