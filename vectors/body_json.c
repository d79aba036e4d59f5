/* SPDX-License-Identifier: Apache-2.0 */
/* Requests from JSON bodies, strictly: unknown members, duplicate keys, NaN and infinity among the
 * inputs are errors that name the member. One of the few files that know jansson. */
#include "vectors/request.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

struct reader {
    const struct posref_arena *arena;
    struct posref_error *err;
    bool any_number; /* outputs may hold NaN and infinity */
};

static enum posref_status read_string_number(double *out, const char *text, const char *name,
                                             const struct reader *reader)
{
    if (reader->any_number) {
        double special = strcmp(text, "NaN") == 0         ? (double)NAN
                         : strcmp(text, "Infinity") == 0  ? HUGE_VAL
                         : strcmp(text, "-Infinity") == 0 ? -HUGE_VAL
                                                          : 0;
        if (special != 0) {
            *out = special;
            return POSREF_OK;
        }
    }
    /* A decimal would be a JSON number, so 16 digits in a string are bits. */
    double bits;
    if (posref_number_bits(&bits, text)) {
        if (!isfinite(bits) && !reader->any_number)
            return posref_fail(reader->err, POSREF_BAD_INPUT, name, "'%s' is not a finite double",
                               text);
        *out = bits;
        return POSREF_OK;
    }
    return posref_number_parse(out, text, name, reader->err);
}

static enum posref_status read_number(double *out, const json_t *value, const char *name,
                                      const struct reader *reader)
{
    if (json_is_number(value)) {
        *out = json_number_value(value);
        return POSREF_OK;
    }
    if (json_is_string(value))
        return read_string_number(out, json_string_value(value), name, reader);
    return posref_fail(reader->err, POSREF_BAD_INPUT, name, "must hold numbers only");
}

/* The next number of nested or flat arrays, in row-major order. */
static enum posref_status read_flat(double *out, const json_t *array, const char *name,
                                    const struct reader *reader)
{
    size_t i;
    json_t *value;
    json_array_foreach(array, i, value) {
        enum posref_status status = read_number(&out[i], value, name, reader);
        if (status != POSREF_OK)
            return status;
    }
    return POSREF_OK;
}

static enum posref_status read_shape(struct posref_tensor *tensor, const json_t *shape,
                                     size_t count, const struct reader *reader)
{
    size_t i, left = count;
    json_t *value;
    if (!json_is_array(shape) || json_array_size(shape) > POSREF_MAX_RANK)
        return posref_fail(reader->err, POSREF_BAD_INPUT, tensor->name,
                           "shape must be an array of at most %d sizes", POSREF_MAX_RANK);
    tensor->rank = (int)json_array_size(shape);
    bool fits = true;
    json_array_foreach(shape, i, value) {
        double size = json_is_number(value) ? json_number_value(value) : 0;
        if (!(size >= 1 && size <= 0x1p40 && size == floor(size)))
            return posref_fail(reader->err, POSREF_BAD_INPUT, tensor->name,
                               "sizes in a shape must be whole and positive");
        tensor->shape[i] = (int64_t)size;
        fits = fits && left % (size_t)size == 0;
        left /= (size_t)size;
    }
    if (!fits || left != 1)
        return posref_fail(reader->err, POSREF_BAD_INPUT, tensor->name,
                           "%zu values of data do not fill the shape", count);
    return POSREF_OK;
}

static enum posref_status read_tensor(struct posref_tensor *out, const char *name,
                                      const json_t *value, const struct reader *reader)
{
    struct posref_tensor tensor = {.dtype = POSREF_F64, .rank = 1};
    const char *member;
    json_t *part, *data = json_is_array(value) ? (json_t *)value : NULL, *shape = NULL;
    snprintf(tensor.name, sizeof tensor.name, "%s", name);
    if (json_is_object(value)) {
        json_object_foreach((json_t *)value, member, part) {
            if (strcmp(member, "shape") == 0)
                shape = part;
            else if (strcmp(member, "data") == 0)
                data = part;
            else
                return posref_fail(reader->err, POSREF_BAD_INPUT, name, "unknown member '%.40s'",
                                   member);
        }
    }
    if (!json_is_array(data) || json_array_size(data) == 0)
        return posref_fail(reader->err, POSREF_BAD_INPUT, name,
                           "must be {\"shape\": [...], \"data\": [...]} with values");
    size_t count = json_array_size(data);
    tensor.shape[0] = (int64_t)count;
    tensor.data = reader->arena->alloc(reader->arena->ctx, count * sizeof(double));
    if (!tensor.data)
        return posref_fail(reader->err, POSREF_NO_MEMORY, name, "no memory");
    enum posref_status status = read_flat(tensor.data, data, name, reader);
    if (status == POSREF_OK && shape)
        status = read_shape(&tensor, shape, count, reader);
    if (status == POSREF_OK)
        *out = tensor;
    return status;
}

/* A field's value as typed: lists with commas. Strings of 16 hex digits are bits. */
static enum posref_status value_text(struct posref_buffer *out, const char *key,
                                     const json_t *value, const struct reader *reader)
{
    double bits;
    size_t i;
    json_t *item;
    const char *text = json_string_value(value);
    if (text && posref_number_bits(&bits, text) && isfinite(bits))
        posref_buffer_number(out, bits);
    else if (text)
        posref_buffer_text(out, text);
    else if (json_is_boolean(value))
        posref_buffer_text(out, json_is_true(value) ? "true" : "false");
    else if (json_is_number(value))
        posref_buffer_number(out, json_number_value(value));
    else if (!json_is_array(value))
        return posref_fail(reader->err, POSREF_BAD_INPUT, key,
                           "must be a string, a number, a boolean or a flat list");
    json_array_foreach(value, i, item) {
        enum posref_status status = POSREF_OK;
        if (i)
            posref_buffer_text(out, ",");
        if (json_is_array(item))
            return posref_fail(reader->err, POSREF_BAD_INPUT, key, "must be a flat list");
        status = value_text(out, key, item, reader);
        if (status != POSREF_OK)
            return status;
    }
    if (out->failed)
        return posref_fail(reader->err, POSREF_BAD_INPUT, key, "too long a value, or no memory");
    return POSREF_OK;
}

static enum posref_status set_field(struct posref_request *request, const char *key,
                                    const json_t *value, const struct reader *reader)
{
    struct posref_buffer text;
    int field = posref_field_find(key);
    const bool op = strcmp(key, "op") == 0;
    if (!op && !posref_spec_key_known(key))
        return posref_unknown_key(key, reader->err);
    if (json_is_array(value) &&
        (field < 0 || !posref_field_is_list(posref_field_def((enum posref_field)field))))
        return posref_fail(reader->err, POSREF_BAD_INPUT, key, "is no list");
    posref_buffer_init(&text, POSREF_MAX_FIELD_TEXT);
    enum posref_status status = value_text(&text, key, value, reader);
    const char *typed = text.data ? text.data : "";
    if (status == POSREF_OK)
        status = op ? posref_request_op(request, typed, reader->err)
                    : posref_request_set_field(request, key, typed, reader->err);
    posref_buffer_clear(&text);
    return status;
}

static enum posref_status read_spec(struct posref_request *request, json_t *spec,
                                    const struct reader *reader)
{
    const char *key;
    json_t *value;
    if (!json_is_object(spec))
        return posref_fail(reader->err, POSREF_BAD_INPUT, "spec", "must be an object");
    json_object_foreach(spec, key, value) {
        enum posref_status status = set_field(request, key, value, reader);
        if (status != POSREF_OK)
            return status;
    }
    return POSREF_OK;
}

/* Positions may be typed as on the command line: "positions": "0..15". */
static enum posref_status read_input(struct posref_request *request, const char *name,
                                     const json_t *value, const struct reader *reader)
{
    struct posref_tensor tensor;
    if (posref_input_find(name) < 0)
        return posref_unknown_key(name, reader->err);
    if (json_is_string(value))
        return posref_request_set(request, name, json_string_value(value), reader->arena,
                                  reader->err);
    enum posref_status status = read_tensor(&tensor, name, value, reader);
    return status == POSREF_OK ? posref_request_add(request, &tensor, reader->err) : status;
}

static enum posref_status read_inputs(struct posref_request *request, json_t *inputs,
                                      const struct reader *reader)
{
    const char *name;
    json_t *value;
    if (!json_is_object(inputs))
        return posref_fail(reader->err, POSREF_BAD_INPUT, "inputs", "must be an object");
    json_object_foreach(inputs, name, value) {
        enum posref_status status = read_input(request, name, value, reader);
        if (status != POSREF_OK)
            return status;
    }
    return POSREF_OK;
}

static enum posref_status read_outputs(struct posref_tensors *out, json_t *outputs,
                                       const struct reader *reader)
{
    const char *name;
    json_t *value;
    struct reader any = *reader;
    any.any_number = true;
    if (!json_is_object(outputs))
        return posref_fail(reader->err, POSREF_BAD_INPUT, "outputs", "must be an object");
    json_object_foreach(outputs, name, value) {
        struct posref_tensor tensor;
        if (out->n == POSREF_MAX_TENSORS || strlen(name) >= sizeof tensor.name)
            return posref_fail(reader->err, POSREF_BAD_INPUT, name,
                               "too many outputs, or too long a name");
        enum posref_status status = read_tensor(&tensor, name, value, &any);
        if (status != POSREF_OK)
            return status;
        out->item[out->n++] = tensor;
    }
    return POSREF_OK;
}

static enum posref_status read_body(struct posref_request *request, struct posref_tensors *outputs,
                                    json_t *root, const struct reader *reader)
{
    const char *member;
    json_t *value;
    if (!json_is_object(root))
        return posref_fail(reader->err, POSREF_BAD_INPUT, "body", "must be a JSON object");
    json_object_foreach(root, member, value) {
        enum posref_status status;
        if (request && strcmp(member, "spec") == 0)
            status = read_spec(request, value, reader);
        else if (request && strcmp(member, "inputs") == 0)
            status = read_inputs(request, value, reader);
        else if (request && strcmp(member, "op") == 0 && json_is_string(value))
            status = posref_request_op(request, json_string_value(value), reader->err);
        else if (outputs && strcmp(member, "outputs") == 0)
            status = read_outputs(outputs, value, reader);
        else
            status = posref_fail(reader->err, POSREF_BAD_INPUT, member, "unknown member");
        if (status != POSREF_OK)
            return status;
    }
    return POSREF_OK;
}

enum posref_status posref_body_json(struct posref_request *request, struct posref_tensors *outputs,
                                    const char *json, size_t length,
                                    const struct posref_arena *arena, struct posref_error *err)
{
    json_error_t json_err;
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL;
    struct reader reader = {arena, err, false};
    if (outputs)
        outputs->n = 0;
    json_t *root = json_loadb(json, length, flags, &json_err);
    if (!root)
        return posref_fail(err, POSREF_BAD_INPUT, "body", "line %d: %s", json_err.line,
                           json_err.text);
    enum posref_status status = read_body(request, outputs, root, &reader);
    json_decref(root);
    return status;
}

enum posref_status posref_request_json(struct posref_request *request, const char *json,
                                       size_t length, const struct posref_arena *arena,
                                       struct posref_error *err)
{
    return posref_body_json(request, NULL, json, length, arena, err);
}

enum posref_status posref_spec_json_read(struct posref_spec *out, const char *json, size_t length,
                                         struct posref_error *err)
{
    json_error_t json_err;
    struct posref_request request;
    struct reader reader = {NULL, err, false};
    posref_request_init(&request);
    json_t *root =
        json_loadb(json, length, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &json_err);
    if (!root)
        return posref_fail(err, POSREF_BAD_INPUT, "", "line %d: %s", json_err.line, json_err.text);
    json_t *inner = json_object_get(root, "spec");
    enum posref_status status = read_spec(&request, inner ? inner : root, &reader);
    json_decref(root);
    if (status == POSREF_OK)
        status = posref_request_settle(&request, err);
    if (status == POSREF_OK)
        *out = request.spec;
    return status;
}
