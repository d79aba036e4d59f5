/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the database as vectors: texts, spec, tensors. */
#include "vectors/db.h"

#include <stdlib.h>
#include <string.h>

static enum posref_status damaged(struct posref_db *db, const char *id, const char *what,
                                  struct posref_error *err)
{
    return posref_fail(err, POSREF_BAD_INPUT, db->tail, "vector %.120s: %s is damaged", id, what);
}

static const char *column_text(sqlite3_stmt *row, int column, const struct posref_arena *arena)
{
    const void *text = sqlite3_column_text(row, column);
    size_t size = (size_t)sqlite3_column_bytes(row, column) + 1;
    char *copy = text ? arena->alloc(arena->ctx, size) : NULL;
    return copy ? memcpy(copy, text, size) : NULL;
}

/* "4,2,128"; "" is a scalar. The product stays below the limit, so that it can be formed. */
static bool parse_shape(struct posref_tensor *tensor, const char *text)
{
    int64_t count = 1;
    while (*text) {
        char *end;
        long long size = strtoll(text, &end, 10);
        if (end == text || size < 1 || size > POSREF_MAX_OUTPUT_ELEMENTS / count ||
            tensor->rank == POSREF_MAX_RANK || (*end && *end != ','))
            return false;
        tensor->shape[tensor->rank++] = size;
        count *= size;
        text = end + (*end == ',');
    }
    return true;
}

static void copy_elements(void *out, const void *blob, size_t size_bytes, size_t width)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (size_t i = 0; i < size_bytes; i++)
        ((unsigned char *)out)[i] =
            ((const unsigned char *)blob)[i - i % width + width - 1 - i % width];
#else
    (void)width;
    memcpy(out, blob, size_bytes);
#endif
}

/* Columns: output, name, dtype, shape, data. */
static enum posref_status add_tensor(struct posref_db *db, struct posref_vector *vector,
                                     const struct posref_arena *arena, struct posref_error *err)
{
    sqlite3_stmt *row = db->tensors;
    struct posref_tensors *set = sqlite3_column_int(row, 0) ? &vector->outputs : &vector->inputs;
    const char *name = (const char *)sqlite3_column_text(row, 1);
    const char *dtype_name = (const char *)sqlite3_column_text(row, 2);
    const char *shape = (const char *)sqlite3_column_text(row, 3);
    const void *blob = sqlite3_column_blob(row, 4);
    size_t size_bytes = (size_t)sqlite3_column_bytes(row, 4);
    int dtype = dtype_name ? posref_dtype_find(dtype_name) : -1;
    struct posref_tensor tensor = {.dtype = POSREF_F64};
    if (!name || dtype < 0 || !shape || set->n == POSREF_MAX_TENSORS ||
        !parse_shape(&tensor, shape))
        return damaged(db, vector->id, "a tensor", err);
    tensor.dtype = (enum posref_dtype)dtype;
    size_t width = posref_dtype_size(tensor.dtype);
    if ((size_t)posref_tensor_count(&tensor) * width != size_bytes || !blob)
        return damaged(db, vector->id, "a tensor", err);
    snprintf(tensor.name, sizeof tensor.name, "%s", name);
    tensor.data = arena->alloc(arena->ctx, size_bytes);
    if (!tensor.data)
        return posref_fail(err, POSREF_NO_MEMORY, tensor.name, "no memory");
    copy_elements(tensor.data, blob, size_bytes, width);
    set->item[set->n++] = tensor;
    return POSREF_OK;
}

static enum posref_status read_tensors(struct posref_db *db, struct posref_vector *vector,
                                       sqlite3_int64 n, const struct posref_arena *arena,
                                       struct posref_error *err)
{
    enum posref_status status = posref_db_prepare(
        db, &db->tensors,
        "SELECT output, name, dtype, shape, data FROM tensor WHERE vector = ? "
        "ORDER BY output, place",
        err);
    if (status != POSREF_OK)
        return status;
    int code;
    sqlite3_bind_int64(db->tensors, 1, n);
    while (status == POSREF_OK && (code = sqlite3_step(db->tensors)) != SQLITE_DONE)
        status = code == SQLITE_ROW ? add_tensor(db, vector, arena, err) : posref_db_fail(db, err);
    sqlite3_reset(db->tensors);
    return status;
}

enum posref_status posref_db_row(struct posref_db *db, struct posref_vector *out,
                                 sqlite3_stmt *row, const struct posref_arena *arena,
                                 struct posref_error *err)
{
    struct posref_vector vector = {.id = column_text(row, 1, arena)};
    vector.suite_min = column_text(row, 2, arena);
    const char *op = column_text(row, 3, arena), *spec = column_text(row, 4, arena);
    vector.flags = column_text(row, 5, arena);
    vector.source = column_text(row, 6, arena);
    if (!vector.id || !vector.suite_min || !op || !spec || !vector.flags || !vector.source)
        return posref_fail(err, POSREF_NO_MEMORY, db->tail, "no memory");
    int op_found = posref_op_find(op);
    struct posref_error why;
    if (op_found < 0)
        return damaged(db, vector.id, "its op", err);
    vector.op = (enum posref_op)op_found;
    if (posref_spec_parse(&vector.spec, spec, &why) != POSREF_OK ||
        posref_spec_complete(&vector.spec, &why) != POSREF_OK)
        return damaged(db, vector.id, "its spec", err);
    enum posref_status status =
        read_tensors(db, &vector, sqlite3_column_int64(row, 0), arena, err);
    if (status == POSREF_OK)
        *out = vector;
    return status;
}
