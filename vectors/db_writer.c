/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a new database: one transaction, rows in the order of ids. */
#include "vectors/db.h"
#include "vectors/embedded.h"
#include "vectors/make.h"
#include "vectors/stored.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { INSERT_VECTOR, INSERT_ATTRIBUTE, INSERT_TENSOR, INSERT_DOCUMENT, INSERT_SUITE,
       INSERT_RETIRED, N_INSERTS };

static const char *const inserts[N_INSERTS] = {
    [INSERT_VECTOR] = "INSERT INTO vector VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [INSERT_ATTRIBUTE] = "INSERT INTO attribute VALUES (?, ?, ?)",
    [INSERT_TENSOR] = "INSERT INTO tensor VALUES (?, ?, ?, ?, ?, ?, ?)",
    [INSERT_DOCUMENT] = "INSERT INTO document VALUES (?, ?, ?, ?, ?)",
    [INSERT_SUITE] = "INSERT INTO suite VALUES (?, ?, ?, ?, ?)",
    [INSERT_RETIRED] = "INSERT INTO retired SELECT ?, v.id FROM vector v WHERE v.id = ?",
};

struct posref_writer {
    sqlite3 *db;
    sqlite3_stmt *insert[N_INSERTS];
    sqlite3_int64 n; /* vectors so far */
    char path[64];   /* its tail, for messages */
};

static enum posref_status fail(const struct posref_writer *writer, struct posref_error *err)
{
    return posref_fail(err, POSREF_IO, writer->path, "%s", sqlite3_errmsg(writer->db));
}

static bool execute(struct posref_writer *writer, const char *sql)
{
    return sqlite3_exec(writer->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

enum posref_status posref_writer_create(struct posref_writer **out, const char *path,
                                        struct posref_error *err)
{
    struct posref_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return posref_fail(err, POSREF_NO_MEMORY, posref_path_tail(path), "no memory");
    snprintf(writer->path, sizeof writer->path, "%s", posref_path_tail(path));
    /* The file is new and is thrown away on failure: no journal. The caller syncs it at the end. */
    bool good = sqlite3_open(path, &writer->db) == SQLITE_OK &&
                execute(writer, "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF;"
                                "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
                                "PRAGMA cache_size = -65536; BEGIN") &&
                execute(writer, posref_embedded_find("vectors.sql"));
    for (int i = 0; good && i < N_INSERTS; i++)
        good = sqlite3_prepare_v2(writer->db, inserts[i], -1, &writer->insert[i], NULL) ==
               SQLITE_OK;
    if (!good) {
        enum posref_status status = fail(writer, err);
        posref_writer_abandon(writer);
        return status;
    }
    *out = writer;
    return POSREF_OK;
}

/* Runs a bound insert. Bindings are static: they live until the step is done. */
static bool run(sqlite3_stmt *insert)
{
    int code = sqlite3_step(insert);
    return sqlite3_reset(insert) == SQLITE_OK && code == SQLITE_DONE;
}

static void bind_text(sqlite3_stmt *insert, int place, const char *text)
{
    sqlite3_bind_text(insert, place, text, -1, SQLITE_STATIC);
}

static bool add_attribute(void *ctx, const char *key, const char *value, size_t length)
{
    struct posref_writer *writer = ctx;
    sqlite3_stmt *insert = writer->insert[INSERT_ATTRIBUTE];
    bind_text(insert, 1, key);
    sqlite3_bind_text(insert, 2, value, (int)length, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 3, writer->n);
    return run(insert);
}

/* The blob is little-endian. On a big-endian machine the elements are turned round. */
static const void *little_endian(const struct posref_tensor *tensor, size_t size_bytes, void **copy)
{
    *copy = NULL;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    size_t width = posref_dtype_size(tensor->dtype);
    unsigned char *turned = *copy = malloc(size_bytes ? size_bytes : 1);
    for (size_t i = 0; turned && i < size_bytes; i++)
        turned[i] = ((const unsigned char *)tensor->data)[i - i % width + width - 1 - i % width];
    return turned;
#else
    (void)size_bytes;
    return tensor->data;
#endif
}

static bool add_tensor(struct posref_writer *writer, int output, int place,
                       const struct posref_tensor *tensor)
{
    char shape[128] = "";
    size_t length = 0;
    for (int axis = 0; axis < tensor->rank && length < sizeof shape; axis++)
        length += (size_t)snprintf(shape + length, sizeof shape - length, "%s%lld",
                                   axis ? "," : "", (long long)tensor->shape[axis]);
    size_t size_bytes =
        (size_t)posref_tensor_count(tensor) * posref_dtype_size(tensor->dtype);
    void *copy;
    const void *data = little_endian(tensor, size_bytes, &copy);
    sqlite3_stmt *insert = writer->insert[INSERT_TENSOR];
    sqlite3_bind_int64(insert, 1, writer->n);
    sqlite3_bind_int(insert, 2, output);
    sqlite3_bind_int(insert, 3, place);
    bind_text(insert, 4, tensor->name);
    bind_text(insert, 5, posref_dtype_name(tensor->dtype));
    bind_text(insert, 6, shape);
    sqlite3_bind_blob64(insert, 7, data, size_bytes, SQLITE_STATIC);
    bool good = run(insert);
    free(copy);
    return good;
}

static bool add_document(struct posref_writer *writer, const struct posref_made *made)
{
    sqlite3_stmt *insert = writer->insert[INSERT_DOCUMENT];
    sqlite3_bind_int64(insert, 1, writer->n);
    bind_text(insert, 2, made->document_sha256);
    bind_text(insert, 3, made->prompt_sha256);
    sqlite3_bind_int64(insert, 4, (sqlite3_int64)made->prompt_bytes);
    sqlite3_bind_blob64(insert, 5, made->document.data, made->document.length, SQLITE_STATIC);
    return run(insert);
}

enum posref_status posref_writer_add(struct posref_writer *writer, const struct posref_made *made,
                                     struct posref_error *err)
{
    const struct posref_case *item = made->item;
    sqlite3_stmt *insert = writer->insert[INSERT_VECTOR];
    const char *const text[] = {item->op, item->spec, item->flags, item->source, made->sha256};
    sqlite3_bind_int64(insert, 1, ++writer->n);
    bind_text(insert, 2, item->id);
    sqlite3_bind_int(insert, 3, item->suite);
    for (int i = 0; i < 5; i++)
        bind_text(insert, 4 + i, text[i]);
    sqlite3_bind_text(insert, 9, made->summary.data, (int)made->summary.length, SQLITE_STATIC);
    bool good = run(insert) && posref_attributes_each(item->op, item->spec, item->flags,
                                                      add_attribute, writer);
    const struct posref_tensors *sets[] = {&made->vector.inputs, &made->vector.outputs};
    for (int output = 0; output < 2; output++)
        for (int i = 0; good && i < sets[output]->n; i++)
            good = add_tensor(writer, output, i, &sets[output]->item[i]);
    good = good && add_document(writer, made);
    return good ? POSREF_OK : fail(writer, err);
}

enum posref_status posref_writer_suite(struct posref_writer *writer, int rank,
                                       const struct posref_suite_info *info,
                                       struct posref_error *err)
{
    sqlite3_stmt *insert = writer->insert[INSERT_SUITE];
    sqlite3_bind_int(insert, 1, rank);
    bind_text(insert, 2, info->name);
    bind_text(insert, 3, info->version);
    bind_text(insert, 4, info->digest);
    sqlite3_bind_int64(insert, 5, info->n_vectors);
    return run(insert) ? POSREF_OK : fail(writer, err);
}

enum posref_status posref_writer_retired(struct posref_writer *writer, const char *id,
                                         const char *successor, struct posref_error *err)
{
    sqlite3_stmt *insert = writer->insert[INSERT_RETIRED];
    bind_text(insert, 1, id);
    bind_text(insert, 2, successor);
    return run(insert) ? POSREF_OK : fail(writer, err);
}

void posref_writer_abandon(struct posref_writer *writer)
{
    if (!writer)
        return;
    for (int i = 0; i < N_INSERTS; i++)
        sqlite3_finalize(writer->insert[i]);
    sqlite3_close(writer->db);
    free(writer);
}

enum posref_status posref_writer_finish(struct posref_writer *writer, struct posref_error *err)
{
    enum posref_status status = execute(writer, "COMMIT") ? POSREF_OK : fail(writer, err);
    posref_writer_abandon(writer);
    return status;
}
