/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: any bytes as a config.json or a GGUF file. What resolves must be JSON, and each of its
 * specs must be one that posref reads and completes; what does not must say why in one line. */
#include "vectors/vectors.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_spec(const json_t *value)
{
    struct posref_spec spec;
    struct posref_error err;
    if (!json_is_object(value))
        return;
    char *text = json_dumps(value, JSON_REAL_PRECISION(17));
    if (!text || posref_spec_json_read(&spec, text, strlen(text), &err) != POSREF_OK ||
        posref_spec_complete(&spec, &err) != POSREF_OK)
        abort();
    free(text);
}

static void check_answer(const struct posref_buffer *out)
{
    json_error_t why;
    size_t i;
    json_t *layer, *root = json_loadb(out->data, out->length, JSON_REJECT_DUPLICATES, &why);
    if (!root)
        abort();
    json_array_foreach(json_object_get(root, "layers"), i, layer)
        check_spec(json_object_get(layer, "spec"));
    json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct posref_buffer out;
    struct posref_error err = {{0}, {0}};
    struct posref_heap *heap = posref_heap_new((size_t)64 << 20);
    if (!heap)
        return 0;
    struct posref_arena arena = posref_heap_arena(heap);
    posref_buffer_init(&out, (size_t)64 << 20);
    enum posref_status status = posref_resolve(&out, data, size, &arena, &err);
    if (status == POSREF_OK)
        check_answer(&out);
    else if (status == POSREF_INTERNAL || !err.text[0] || strchr(err.text, '\n'))
        abort();
    posref_buffer_clear(&out);
    posref_heap_free(heap);
    return 0;
}
