/* SPDX-License-Identifier: Apache-2.0 */
/* posref models [NAME]: the presets, one a line, or all that is known of one. */
#include "vectors/commands.h"
#include "vectors/models.h"

#include <string.h>

#define MAX_ANSWER_BYTES ((size_t)16 << 20)

static void print_help(void)
{
    puts("usage: posref models [NAME[/LAYERS]] [--format text|json|markdown]\n"
         "\n"
         "Lists the presets that model=NAME takes in posref eval and wherever else a spec is\n"
         "read: a name a line for each layer type, whether all of its parameters are verified,\n"
         "and the spec. With NAME, everything that is known of that model: specs, where each\n"
         "parameter is from (source: read in source code; config: seen in a config; unverified;\n"
         "default: posref's), the pairing of the original checkpoint and of the Hugging Face\n"
         "layout, sources and notes. A parameter that nobody verified is used only with\n"
         "allow_unverified=1.\n"
         "\n"
         "Example:\n"
         "  posref models llama-3.1-8b");
}

/* "gemma-3-4b/local<TAB>verified<TAB>scheme=rope dim=256 ...": one a layer type. */
static void list_model(struct posref_buffer *out, const struct posref_model *model)
{
    for (int i = 0; i < model->n_layers; i++) {
        const struct posref_model_layers *layers = &model->layers[i];
        bool verified = !memchr(layers->known, POSREF_KNOWN_UNVERIFIED, POSREF_N_FIELDS);
        posref_buffer_text(out, model->name);
        if (model->n_layers > 1)
            posref_buffer_printf(out, "/%s", layers->name);
        posref_buffer_text(out, verified ? "\tverified\t" : "\tunverified\t");
        posref_spec_text(out, &layers->spec);
        posref_buffer_text(out, "\n");
    }
}

static enum posref_status list_all(struct posref_buffer *out, bool markdown,
                                   const struct posref_arena *arena, struct posref_error *err)
{
    const char *at = posref_models_text();
    for (;;) {
        struct posref_model model;
        bool found;
        enum posref_status status = posref_model_next(&model, &at, &found, arena, err);
        if (status != POSREF_OK || !found)
            return status;
        if (markdown)
            posref_model_markdown(out, &model);
        else
            list_model(out, &model);
    }
}

static void show_layers(struct posref_buffer *out, const struct posref_model *model,
                        const struct posref_model_layers *layers)
{
    posref_buffer_printf(out, "\nmodel=%s%s%s\n", model->name, model->n_layers > 1 ? "/" : "",
                         model->n_layers > 1 ? layers->name : "");
    for (int f = 0; f < POSREF_N_FIELDS; f++) {
        if (!layers->spec.given[f])
            continue;
        posref_buffer_printf(out, "  %-33s ", posref_field_def((enum posref_field)f)->name);
        posref_field_text(out, &layers->spec, (enum posref_field)f);
        posref_buffer_printf(out, "  (%s)\n",
                             posref_known_name((enum posref_known)layers->known[f]));
    }
}

static void show_model(struct posref_buffer *out, const struct posref_model *model)
{
    posref_buffer_printf(out, "%s: %s (family %s)\n", model->name, model->title, model->family);
    if (*model->same)
        posref_buffer_printf(out, "the same: %s\n", model->same);
    if (*model->huggingface)
        posref_buffer_printf(out, "pairing: %s in the original checkpoint, %s in Hugging Face's\n",
                             model->original, model->huggingface);
    for (int i = 0; i < model->n_layers; i++)
        show_layers(out, model, &model->layers[i]);
    posref_buffer_text(out, "\n");
    for (int i = 0; i < model->n_sources; i++)
        posref_buffer_printf(out, "from %s\n", model->source[i]);
    for (int i = 0; i < model->n_notes; i++)
        posref_buffer_printf(out, "note: %s\n", model->note[i]);
}

static enum posref_status answer_text(struct posref_buffer *out, const char *name, bool markdown,
                                      struct posref_error *err)
{
    struct posref_model model;
    int layers;
    struct posref_heap *heap = posref_heap_new(0);
    if (!heap)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    struct posref_arena arena = posref_heap_arena(heap);
    enum posref_status status = name ? posref_model_find(&model, &layers, name, &arena, err)
                                     : list_all(out, markdown, &arena, err);
    if (status == POSREF_OK && name && markdown)
        posref_model_markdown(out, &model);
    else if (status == POSREF_OK && name)
        show_model(out, &model);
    posref_heap_free(heap);
    return status;
}

int posref_cmd_models(int argc, char **argv)
{
    const char *format = "text";
    bool json = false, markdown = false;
    const struct posref_option options[] = {{"--format", &format, NULL}, {NULL, NULL, NULL}};
    struct posref_error err = {{0}, {0}};
    struct posref_buffer out;
    if (posref_wants_help(argc, argv)) {
        print_help();
        return POSREF_EXIT_OK;
    }
    posref_buffer_init(&out, MAX_ANSWER_BYTES);
    enum posref_status status = posref_options_read(options, &argc, argv, &err);
    markdown = strcmp(format, "markdown") == 0;
    if (status == POSREF_OK && !markdown)
        status = posref_format_json(&json, format, &err);
    if (status == POSREF_OK && argc > 2)
        status = posref_fail(&err, POSREF_BAD_INPUT, argv[2], "one name at most");
    const char *name = argc > 1 ? argv[1] : NULL;
    if (status == POSREF_OK)
        status = json ? posref_models_answer(&out, name, &err)
                      : answer_text(&out, name, markdown, &err);
    int exit_code = status == POSREF_OK ? posref_write_out("models", &out)
                                        : posref_report_error("models", status, &err);
    posref_buffer_clear(&out);
    return exit_code;
}
