/* SPDX-License-Identifier: Apache-2.0 */
/* Image models that add a bias of the two-dimensional distance: Swin, Swin V2 and BEiT. Their
 * sizes may be lists, one a stage. */
#include "vectors/resolve.h"

#include <string.h>

#define MAX_STAGES 6

/* A list of 1 to MAX_STAGES whole numbers in [low, high]; out keeps its values where the key is
 * missing, and a note says so. */
static enum posref_status read_stages(struct resolve *r, struct resolve_model *m, const char *key,
                                      int low, int high, int out[MAX_STAGES], int *n)
{
    const json_t *list = resolve_get(m->scope, key);
    size_t size = json_array_size(list);
    char path[128];
    snprintf(path, sizeof path, "%s%s", m->scope->path, key);
    if (!list) {
        resolve_say(r, NULL, "default", key, "missing; what Hugging Face's class takes is used");
        return POSREF_OK;
    }
    if (!json_is_array(list) || size == 0 || size > MAX_STAGES)
        return posref_fail(r->err, POSREF_BAD_INPUT, path, "must be a list of 1 to %d numbers",
                           MAX_STAGES);
    for (size_t i = 0; i < size; i++) {
        double value = json_number_value(json_array_get(list, i));
        if (!json_is_number(json_array_get(list, i)) || !(value >= low && value <= high) ||
            value != (double)(int)value) /* exact: whole numbers */
            return posref_fail(r->err, POSREF_BAD_INPUT, path, "must hold whole numbers in "
                               "[%d, %d]", low, high);
        out[i] = (int)value;
    }
    *n = (int)size;
    return POSREF_OK;
}

/* A learned table of the patches too, where the config asks for one. */
static enum posref_status add_absolute(struct resolve *r, struct resolve_model *m, const char *key,
                                       int width, int64_t rows, bool *added)
{
    bool given = false;
    *added = false;
    enum posref_status status = resolve_bool(r, m->scope, key, added, &given);
    if (status != POSREF_OK || !*added)
        return status;
    struct resolve_layer *layer = resolve_add(r, m, "embedding", 1);
    if (!layer)
        return POSREF_BAD_INPUT;
    resolve_say(r, layer, "info", key, "a learned table of %lld rows is added to the "
                "embeddings", (long long)rows);
    resolve_put(layer, "scheme", "learned");
    if (width)
        resolve_put_number(layer, "dim", width);
    resolve_finish(r, layer);
    return POSREF_OK;
}

struct swin {
    int window[2], grid[2], heads[MAX_STAGES], depths[MAX_STAGES], before[MAX_STAGES];
    int n_stages, n_depths, n_before;
};

static enum posref_status add_stage(struct resolve *r, struct resolve_model *m,
                                    const struct swin *swin, int i)
{
    bool second = strcmp(m->family->name, "swinv2") == 0;
    int window[2];
    char name[sizeof "stage-2147483648"];
    snprintf(name, sizeof name, "stage%d", i + 1);
    struct resolve_layer *layer = resolve_add(r, m, name,
                                              i < swin->n_depths ? swin->depths[i] : -1);
    if (!layer)
        return POSREF_BAD_INPUT;
    for (int axis = 0; axis < 2; axis++) { /* Swin V2's windows are no larger than the stage */
        int most = swin->grid[axis] >> i;
        window[axis] = second && most < swin->window[axis] ? most : swin->window[axis];
    }
    resolve_put(layer, "scheme", second ? "swinv2" : "swin");
    resolve_put_number(layer, "num_heads", swin->heads[i]);
    resolve_put_pair(layer, "window_size", window[0], window[1]);
    if (window[0] != swin->window[0] || window[1] != swin->window[1])
        resolve_say(r, layer, "info", "window_size", "%d,%d: the stage is smaller than the window",
                    window[0], window[1]);
    if (second && i < swin->n_before && swin->before[i] > 0)
        resolve_put_pair(layer, "pretrained_window_size", swin->before[i], swin->before[i]);
    resolve_finish(r, layer);
    return POSREF_OK;
}

enum posref_status resolve_swin(struct resolve *r, struct resolve_model *m)
{
    struct swin swin = {.window = {7, 7}, .heads = {3, 6, 12, 24}, .depths = {2, 2, 6, 2},
                        .n_stages = 4, .n_depths = 4};
    int width = 96;
    bool given = false, added = false;
    enum posref_status status = resolve_size(r, m->scope, "window_size", swin.window);
    if (status == POSREF_OK)
        status = resolve_grid(r, m->scope, 224, 4, swin.grid);
    if (status == POSREF_OK)
        status = resolve_whole(r, m->scope, "embed_dim", 1, POSREF_MAX_DIM, &width, &given);
    if (status == POSREF_OK)
        status = read_stages(r, m, "num_heads", 1, POSREF_MAX_HEADS, swin.heads, &swin.n_stages);
    if (status == POSREF_OK)
        status = read_stages(r, m, "depths", 1, 1024, swin.depths, &swin.n_depths);
    if (status == POSREF_OK && resolve_has(m->scope, "pretrained_window_sizes"))
        status = read_stages(r, m, "pretrained_window_sizes", 0, 1024, swin.before,
                             &swin.n_before);
    if (status == POSREF_OK)
        status = add_absolute(r, m, "use_absolute_embeddings", width,
                              (int64_t)swin.grid[0] * swin.grid[1], &added);
    for (int i = 0; i < swin.n_stages && status == POSREF_OK; i++)
        status = add_stage(r, m, &swin, i);
    return status;
}

enum posref_status resolve_beit(struct resolve *r, struct resolve_model *m)
{
    bool own = false, shared = false, added = false, given = false;
    int grid[2];
    enum posref_status status = resolve_grid(r, m->scope, 224, 16, grid);
    if (status == POSREF_OK)
        status = resolve_bool(r, m->scope, "use_relative_position_bias", &own, &given);
    if (status == POSREF_OK)
        status = resolve_bool(r, m->scope, "use_shared_relative_position_bias", &shared, &given);
    if (status == POSREF_OK)
        status = add_absolute(r, m, "use_absolute_position_embeddings", m->hidden_size,
                              (int64_t)grid[0] * grid[1] + 1, &added);
    if (status != POSREF_OK)
        return status;
    if (!own && !shared && !added)
        return resolve_none(r, m, "all", m->n_hidden_layers, "use_relative_position_bias",
                            "neither a bias nor a table");
    if (!own && !shared)
        return POSREF_OK;
    struct resolve_layer *layer = resolve_add(r, m, "all", m->n_hidden_layers);
    if (!layer)
        return POSREF_BAD_INPUT;
    resolve_say(r, layer, "info", own ? "use_relative_position_bias"
                : "use_shared_relative_position_bias", own
                ? "every layer has a table of its own" : "one table serves all layers");
    resolve_put(layer, "scheme", "beit");
    if (m->n_heads)
        resolve_put_number(layer, "num_heads", m->n_heads);
    resolve_put_pair(layer, "window_size", grid[0], grid[1]);
    resolve_finish(r, layer);
    return POSREF_OK;
}
