/* SPDX-License-Identifier: Apache-2.0 */
/* Reads safetensors documents: the header, checked so that no later access can leave the file. */
#include "vectors/safetensors.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LENGTH_BYTES 8
#define MAX_HEADER_BYTES UINT64_C(100000000) /* the format's own limit */

/* What the steps of one parse share. */
struct reading {
    const char *label;
    struct posref_error *err;
    struct posref_safetensors st;
};

static enum posref_status bad(const struct reading *r, const char *tensor, const char *text)
{
    if (!tensor)
        return posref_fail(r->err, POSREF_BAD_INPUT, posref_path_tail(r->label), "%s", text);
    return posref_fail(r->err, POSREF_BAD_INPUT, posref_path_tail(r->label), "tensor %.120s: %s",
                       tensor, text);
}

static enum posref_status check_length(struct reading *r)
{
    const struct posref_mapping *file = &r->st.mapping;
    uint64_t length = 0;
    char text[128];
    if (file->size_bytes < LENGTH_BYTES)
        return bad(r, NULL, "ends before byte 8: no safetensors header");
    for (int i = 0; i < LENGTH_BYTES; i++)
        length |= (uint64_t)file->data[i] << (8 * i);
    if (length > MAX_HEADER_BYTES || length > file->size_bytes - LENGTH_BYTES || length < 2) {
        snprintf(text, sizeof text, "byte 0: a header of %llu bytes in a file of %llu",
                 (unsigned long long)length, (unsigned long long)file->size_bytes);
        return bad(r, NULL, text);
    }
    if (file->data[LENGTH_BYTES] != '{')
        return bad(r, NULL, "byte 8: the header does not begin with {");
    r->st.header_bytes = LENGTH_BYTES + length;
    return POSREF_OK;
}

static enum posref_status read_json(struct reading *r)
{
    json_error_t error;
    char text[256];
    r->st.json = json_loadb((const char *)r->st.mapping.data + LENGTH_BYTES,
                            (size_t)r->st.header_bytes - LENGTH_BYTES, JSON_REJECT_DUPLICATES,
                            &error);
    if (!r->st.json) {
        snprintf(text, sizeof text, "byte %lld: header: %.160s",
                 (long long)error.position + LENGTH_BYTES, error.text);
        return bad(r, NULL, text);
    }
    return POSREF_OK;
}

static bool read_type(struct posref_stored *out, const json_t *value)
{
    const char *name = json_string_value(value);
    for (int type = 0; name && type <= POSREF_STORED_F6_E3M2; type++) {
        const struct posref_stored_def *def = posref_stored_def((enum posref_stored_type)type);
        if (strcmp(def->name, name) == 0) {
            out->type = (enum posref_stored_type)type;
            out->type_name = def->name;
            out->block_elements = def->block_elements;
            out->block_bytes = def->block_bytes;
            return true;
        }
    }
    return false;
}

static bool read_shape(struct posref_stored *out, const json_t *value)
{
    if (!json_is_array(value) || json_array_size(value) > POSREF_MAX_RANK)
        return false;
    out->rank = (int)json_array_size(value);
    for (int axis = 0; axis < out->rank; axis++) {
        const json_t *extent = json_array_get(value, (size_t)axis);
        if (!json_is_integer(extent) || json_integer_value(extent) < 0)
            return false;
        out->shape[axis] = json_integer_value(extent);
    }
    return true;
}

/* data_offsets [begin, end], counted from the end of the header, inside the file. */
static enum posref_status read_offsets(struct reading *r, struct posref_stored *out,
                                       const json_t *value)
{
    uint64_t room = r->st.mapping.size_bytes - r->st.header_bytes;
    const json_t *first = json_array_get(value, 0), *last = json_array_get(value, 1);
    char text[160];
    if (json_array_size(value) != 2 || !json_is_integer(first) || !json_is_integer(last))
        return bad(r, out->name, "data_offsets is not two integers");
    json_int_t begin = json_integer_value(first), end = json_integer_value(last);
    if (begin < 0 || end < begin || (uint64_t)end > room) {
        snprintf(text, sizeof text,
                 "data_offsets %lld to %lld leave the %llu bytes of data (byte %llu to %llu)",
                 (long long)begin, (long long)end, (unsigned long long)room,
                 (unsigned long long)r->st.header_bytes,
                 (unsigned long long)r->st.mapping.size_bytes);
        return bad(r, out->name, text);
    }
    out->offset = r->st.header_bytes + (uint64_t)begin;
    out->size_bytes = (uint64_t)(end - begin);
    out->data = r->st.mapping.data + out->offset;
    return POSREF_OK;
}

static enum posref_status read_tensor(struct reading *r, struct posref_stored *out,
                                      const char *name, json_t *value)
{
    uint64_t n_elements, size_bytes;
    char text[160];
    out->name = name;
    if (!json_is_object(value) || json_object_size(value) != 3)
        return bad(r, name, "is not an object of dtype, shape and data_offsets");
    const json_t *dtype = json_object_get(value, "dtype");
    if (!read_type(out, dtype)) {
        snprintf(text, sizeof text, "unknown dtype %.40s",
                 json_is_string(dtype) ? json_string_value(dtype) : "(no text)");
        return bad(r, name, text);
    }
    if (!read_shape(out, json_object_get(value, "shape")))
        return bad(r, name, "shape is not a list of at most 8 sizes");
    enum posref_status status = read_offsets(r, out, json_object_get(value, "data_offsets"));
    if (status != POSREF_OK)
        return status;
    if (!posref_stored_size(&n_elements, &size_bytes, out->shape, out->rank, out->block_elements,
                            out->block_bytes))
        return bad(r, name, "the size of its shape overflows or is no whole number of bytes");
    if (size_bytes != out->size_bytes) {
        snprintf(text, sizeof text, "byte %llu: its shape needs %llu bytes, data_offsets give %llu",
                 (unsigned long long)out->offset, (unsigned long long)size_bytes,
                 (unsigned long long)out->size_bytes);
        return bad(r, name, text);
    }
    return POSREF_OK;
}

static enum posref_status check_metadata(const struct reading *r, json_t *value)
{
    const char *key;
    json_t *entry;
    if (!json_is_object(value))
        return bad(r, NULL, "__metadata__ is not an object");
    json_object_foreach(value, key, entry)
        if (!json_is_string(entry))
            return bad(r, NULL, "__metadata__ has a value that is no text");
    return POSREF_OK;
}

static int by_offset(const void *left, const void *right)
{
    const struct posref_stored *a = left, *b = right;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes < b->size_bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Sorted, the tensors must cover the data without an overlap or a hole. */
static enum posref_status check_cover(const struct reading *r)
{
    uint64_t expected = r->st.header_bytes;
    char text[128];
    for (size_t i = 0; i < r->st.n; i++) {
        const struct posref_stored *t = &r->st.item[i];
        if (t->offset != expected) {
            snprintf(text, sizeof text, "%s: begins at byte %llu, the one before ends at %llu",
                     t->offset < expected ? "overlap" : "hole", (unsigned long long)t->offset,
                     (unsigned long long)expected);
            return bad(r, t->name, text);
        }
        expected = t->offset + t->size_bytes;
    }
    if (expected != r->st.mapping.size_bytes) {
        snprintf(text, sizeof text, "byte %llu: %llu bytes after the last tensor",
                 (unsigned long long)expected,
                 (unsigned long long)(r->st.mapping.size_bytes - expected));
        return bad(r, NULL, text);
    }
    return POSREF_OK;
}

static enum posref_status read_tensors(struct reading *r)
{
    const char *name;
    json_t *value;
    enum posref_status status = POSREF_OK;
    r->st.item = calloc(json_object_size(r->st.json) + 1, sizeof *r->st.item);
    if (!r->st.item)
        return posref_fail(r->err, POSREF_NO_MEMORY, posref_path_tail(r->label), "no memory");
    json_object_foreach((json_t *)r->st.json, name, value) {
        if (strcmp(name, "__metadata__") == 0)
            status = check_metadata(r, value);
        else
            status = read_tensor(r, &r->st.item[r->st.n++], name, value);
        if (status != POSREF_OK)
            return status;
    }
    qsort(r->st.item, r->st.n, sizeof *r->st.item, by_offset);
    return check_cover(r);
}

static enum posref_status parse(struct posref_safetensors *out, struct posref_mapping mapping,
                                const char *label, struct posref_error *err)
{
    struct reading r = {.label = label, .err = err, .st = {.mapping = mapping}};
    enum posref_status status = check_length(&r);
    if (status == POSREF_OK)
        status = read_json(&r);
    if (status == POSREF_OK)
        status = read_tensors(&r);
    if (status != POSREF_OK) {
        posref_safetensors_close(&r.st);
        return status;
    }
    *out = r.st;
    return POSREF_OK;
}

enum posref_status posref_safetensors_open(struct posref_safetensors *out, const char *path,
                                           struct posref_error *err)
{
    struct posref_mapping mapping;
    enum posref_status status = posref_mapping_open(&mapping, path, err);
    return status == POSREF_OK ? parse(out, mapping, path, err) : status;
}

enum posref_status posref_safetensors_parse(struct posref_safetensors *out, const void *data,
                                            uint64_t size_bytes, const char *label,
                                            struct posref_error *err)
{
    struct posref_mapping memory = {.data = data, .size_bytes = size_bytes};
    return parse(out, memory, label, err);
}

void posref_safetensors_close(struct posref_safetensors *st)
{
    free(st->item);
    json_decref(st->json);
    posref_mapping_close(&st->mapping);
    *st = (struct posref_safetensors){0};
}

const struct posref_stored *posref_safetensors_find(const struct posref_safetensors *st,
                                                    const char *name)
{
    for (size_t i = 0; i < st->n; i++)
        if (strcmp(st->item[i].name, name) == 0)
            return &st->item[i];
    return NULL;
}

const char *posref_safetensors_metadata(const struct posref_safetensors *st, const char *key)
{
    return json_string_value(json_object_get(json_object_get(st->json, "__metadata__"), key));
}
