/* SPDX-License-Identifier: Apache-2.0 */
/* Opens one side: the checkpoint, what is known of its heads, and the parts. */
#include "harness/weights.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* PATH:TENSOR, unless a file has that whole name. *tensor points into path, or is NULL. */
static char *split_path(const char *path, const char **tensor)
{
    const char *colon = strrchr(path, ':');
    *tensor = NULL;
    if (!colon || colon == path || access(path, F_OK) == 0)
        return strdup(path);
    *tensor = colon + 1;
    return strndup(path, (size_t)(colon - path));
}

static enum posref_status read_geometry(struct posref_weights_side *side,
                                        const struct posref_weights_options *options,
                                        struct posref_error *err)
{
    struct posref_checkpoint *checkpoint = &side->checkpoint;
    if (options->config)
        return posref_weights_read_config(&side->geometry, options->config, err);
    if (checkpoint->format == POSREF_FORMAT_GGUF) {
        posref_weights_read_gguf(&side->geometry, &checkpoint->file[0].gguf);
        return POSREF_OK;
    }
    size_t room = strlen(checkpoint->directory) + sizeof "/config.json";
    char *path = malloc(room);
    if (!path)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    snprintf(path, room, "%s/config.json", checkpoint->directory);
    enum posref_status status = POSREF_OK;
    if (access(path, F_OK) == 0)
        status = posref_weights_read_config(&side->geometry, path, err);
    free(path);
    side->geometry.own = status == POSREF_OK && side->geometry.source[0] != '\0';
    return status;
}

static void apply_options(struct posref_weights_geometry *g,
                          const struct posref_weights_options *options)
{
    if (options->head_dim > 0)
        g->head_dim = options->head_dim;
    if (options->n_heads > 0) {
        g->n_heads = options->n_heads;
        if (g->source[0] == '\0' && options->n_kv_heads == 0)
            g->n_kv_heads = options->n_heads;
    }
    if (options->n_kv_heads > 0)
        g->n_kv_heads = options->n_kv_heads;
    if (options->rotary_dim > 0) {
        g->rotary_dim = options->rotary_dim;
        g->rotary_fraction = 0;
    }
    if (options->rotary_first > 0)
        g->rotary_first = options->rotary_first;
    if (options->layout != POSREF_LAYOUT_UNKNOWN)
        g->layout = options->layout;
    if (g->source[0] == '\0' && (options->head_dim > 0 || options->n_heads > 0))
        g->source = "options";
}

/* Leaves the one tensor that was asked for. */
static enum posref_status select_tensor(struct posref_checkpoint *checkpoint, const char *name,
                                        struct posref_error *err)
{
    const struct posref_stored *found = posref_checkpoint_find(checkpoint, name);
    if (!found)
        return posref_fail(err, POSREF_BAD_INPUT, posref_path_tail(checkpoint->file[0].path),
                           "has no tensor called %.100s", name);
    checkpoint->item[0] = *found;
    checkpoint->n = 1;
    return POSREF_OK;
}

enum posref_status posref_weights_open(struct posref_weights_side *out, const char *path,
                                       const struct posref_weights_options *options,
                                       struct posref_error *err)
{
    struct posref_weights_side side = {.geometry = {.source = ""}};
    const char *tensor;
    char *file = split_path(path, &tensor);
    if (!file)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    if (!tensor)
        tensor = options->tensor;
    enum posref_status status = posref_checkpoint_open(&side.checkpoint, file, err);
    free(file);
    if (status == POSREF_OK)
        status = read_geometry(&side, options, err);
    if (status == POSREF_OK && tensor)
        status = select_tensor(&side.checkpoint, tensor, err);
    apply_options(&side.geometry, options);
    side.only_one = side.checkpoint.n == 1;
    if (status == POSREF_OK)
        *out = side;
    else
        posref_weights_close(&side);
    return status;
}

/* Layout, family and pairing belong to a side's own format; heads and sizes are the model's. A
 * config may leave out what its family's code has as a default, and GGUF then says it. */
static void fill(struct posref_weights_geometry *to, const struct posref_weights_geometry *from)
{
    if (to->source[0] == '\0' && from->source[0] != '\0' && !from->gguf) {
        *to = *from;
        to->own = false;
        if (to->order != POSREF_ORDER_NONE) /* the other's order is what a port changes */
            to->order = POSREF_ORDER_UNKNOWN;
        return;
    }
    if (to->n_heads == 0)
        to->n_heads = from->n_heads;
    if (to->n_kv_heads == 0)
        to->n_kv_heads = from->n_kv_heads;
    if (to->head_dim == 0)
        to->head_dim = from->head_dim;
    to->heads_vary = to->heads_vary || from->heads_vary;
    to->gated_q = to->gated_q || from->gated_q;
    if (to->rotary_dim == 0 && to->rotary_fraction <= 0 && !to->latent) {
        to->rotary_dim = from->rotary_dim;
        to->rotary_fraction = from->rotary_fraction;
        to->rotary_first = from->rotary_first;
        to->nope_dim = from->nope_dim;
        to->kv_lora = from->kv_lora;
        to->latent = from->latent;
    }
    if (to->source[0] == '\0')
        to->source = from->source;
}

void posref_weights_share(struct posref_weights_side *a, struct posref_weights_side *b)
{
    fill(&a->geometry, &b->geometry);
    fill(&b->geometry, &a->geometry);
}

void posref_weights_close(struct posref_weights_side *side)
{
    free(side->part);
    free(side->other);
    posref_checkpoint_close(&side->checkpoint);
    *side = (struct posref_weights_side){0};
}
