/* SPDX-License-Identifier: Apache-2.0 */
/* The presets as Markdown: `posref models --format markdown`, which docs/models.md is made with. */
#include "vectors/models.h"

#include <string.h>

/* The fields as typed, those that nobody verified with a question mark. */
static void add_fields(struct posref_buffer *out, const struct posref_model_layers *layers)
{
    const char *separator = "";
    for (int f = 0; f < POSREF_N_FIELDS; f++) {
        if (!layers->spec.given[f])
            continue;
        posref_buffer_printf(out, "%s%s=", separator,
                             posref_field_def((enum posref_field)f)->name);
        posref_field_text(out, &layers->spec, (enum posref_field)f);
        posref_buffer_text(out, layers->known[f] == POSREF_KNOWN_UNVERIFIED ? " (?)" : "");
        separator = " ";
    }
}

/* "half", or "interleaved; HF half" where the layouts differ. */
static void add_pairing(struct posref_buffer *out, const struct posref_model *model)
{
    posref_buffer_text(out, model->original);
    if (strcmp(model->original, model->huggingface) != 0)
        posref_buffer_printf(out, "; HF: %s", model->huggingface);
}

void posref_model_markdown(struct posref_buffer *out, const struct posref_model *model)
{
    for (int i = 0; i < model->n_layers; i++) {
        const struct posref_model_layers *layers = &model->layers[i];
        posref_buffer_printf(out, "| %s%s%s | %s | `", model->name, model->n_layers > 1 ? "/" : "",
                             model->n_layers > 1 ? layers->name : "", model->title);
        add_fields(out, layers);
        posref_buffer_text(out, "` | ");
        add_pairing(out, model);
        posref_buffer_text(out, " |\n");
    }
}
