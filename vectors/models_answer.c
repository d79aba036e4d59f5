/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/models and `posref models --format json`. */
#include "vectors/models.h"

static enum posref_status add_all(struct posref_buffer *out, const struct posref_arena *arena,
                                  struct posref_error *err)
{
    const char *at = posref_models_text(), *separator = "";
    for (;;) {
        struct posref_model model;
        bool found;
        enum posref_status status = posref_model_next(&model, &at, &found, arena, err);
        if (status != POSREF_OK || !found)
            return status;
        posref_buffer_text(out, separator);
        status = posref_model_json(out, &model, err);
        if (status != POSREF_OK)
            return status;
        separator = ", ";
    }
}

enum posref_status posref_models_answer(struct posref_buffer *out, const char *name,
                                        struct posref_error *err)
{
    struct posref_model model;
    int layers;
    struct posref_heap *heap = posref_heap_new(0);
    if (!heap)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    struct posref_arena arena = posref_heap_arena(heap);
    posref_buffer_text(out, "{\"models\": [");
    enum posref_status status = name ? posref_model_find(&model, &layers, name, &arena, err)
                                     : add_all(out, &arena, err);
    if (status == POSREF_OK && name)
        status = posref_model_json(out, &model, err);
    posref_buffer_text(out, "]}\n");
    posref_heap_free(heap);
    return status;
}
