/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the database: vectors that match, one vector, its stored JSON. */
#include "vectors/db.h"

#include <limits.h>
#include <string.h>

#define MAX_SQL_BYTES 16384

/* SELECT `columns` of the matching vectors in id order, bound and ready to step. */
static enum posref_status select_vectors(struct posref_db *db, sqlite3_stmt **out,
                                         const char *columns, const struct posref_filter *filter,
                                         const char *suite, const char *after, int64_t limit,
                                         struct posref_error *err)
{
    int rank = INT_MAX;
    enum posref_status status = suite ? posref_db_rank(db, &rank, suite, err) : POSREF_OK;
    if (status != POSREF_OK)
        return status;
    struct posref_buffer sql;
    posref_buffer_init(&sql, MAX_SQL_BYTES);
    posref_buffer_printf(&sql, "SELECT %s" POSREF_DB_FROM "WHERE v.suite <= ? AND v.id > ?",
                         columns);
    posref_filter_where(&sql, filter);
    posref_buffer_text(&sql, " ORDER BY v.id LIMIT ?");
    *out = NULL;
    status = sql.failed ? posref_fail(err, POSREF_NO_MEMORY, db->tail, "no memory")
                        : posref_db_prepare(db, out, sql.data, err);
    posref_buffer_clear(&sql);
    if (status != POSREF_OK)
        return status;
    sqlite3_bind_int(*out, 1, rank);
    sqlite3_bind_text(*out, 2, after ? after : "", -1, SQLITE_STATIC);
    posref_filter_bind(*out, 3, filter);
    sqlite3_bind_int64(*out, sqlite3_bind_parameter_count(*out), limit < 0 ? -1 : limit);
    return POSREF_OK;
}

enum posref_status posref_db_each(struct posref_db *db, const struct posref_filter *filter,
                                  const char *suite, const char *after, int64_t limit,
                                  bool (*visit)(void *ctx, const struct posref_vector *vector),
                                  void *ctx, struct posref_error *err)
{
    sqlite3_stmt *rows;
    enum posref_status status =
        select_vectors(db, &rows, POSREF_DB_COLUMNS, filter, suite, after, limit, err);
    if (status != POSREF_OK)
        return status;
    struct posref_heap *heap = posref_heap_new(0);
    if (!heap)
        status = posref_fail(err, POSREF_NO_MEMORY, db->tail, "no memory");
    int code;
    while (status == POSREF_OK && (code = sqlite3_step(rows)) != SQLITE_DONE) {
        struct posref_vector vector;
        if (code != SQLITE_ROW) {
            status = posref_db_fail(db, err);
            break;
        }
        posref_heap_reset(heap);
        struct posref_arena arena = posref_heap_arena(heap);
        status = posref_db_row(db, &vector, rows, &arena, err);
        if (status == POSREF_OK && !visit(ctx, &vector))
            break;
    }
    sqlite3_finalize(rows);
    posref_heap_free(heap);
    return status;
}

enum posref_status posref_db_ids(struct posref_db *db, const struct posref_filter *filter,
                                 const char *suite, const char *after, int64_t limit,
                                 bool (*visit)(void *ctx, const char *id), void *ctx,
                                 struct posref_error *err)
{
    sqlite3_stmt *rows;
    enum posref_status status = select_vectors(db, &rows, "v.id", filter, suite, after, limit, err);
    if (status != POSREF_OK)
        return status;
    int code;
    while ((code = sqlite3_step(rows)) == SQLITE_ROW)
        if (!visit(ctx, (const char *)sqlite3_column_text(rows, 0)))
            break;
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        status = posref_db_fail(db, err);
    sqlite3_finalize(rows);
    return status;
}

/* Ids and summaries of all vectors behind `after`; the statement stays the handle's. */
static enum posref_status select_all(struct posref_db *db, sqlite3_stmt **out, const char *after,
                                     int64_t limit, struct posref_error *err)
{
    enum posref_status status = posref_db_prepare(
        db, &db->page, "SELECT id, summary FROM vector WHERE id > ? ORDER BY id LIMIT ?", err);
    if (status != POSREF_OK)
        return status;
    *out = db->page;
    sqlite3_bind_text(*out, 1, after ? after : "", -1, SQLITE_TRANSIENT);
    sqlite3_bind_int64(*out, 2, limit < 0 ? -1 : limit);
    return POSREF_OK;
}

enum posref_status posref_db_summaries(struct posref_db *db, const struct posref_filter *filter,
                                       const char *suite, const char *after, int64_t limit,
                                       bool (*visit)(void *ctx, const char *id, const char *json,
                                                     size_t length),
                                       void *ctx, struct posref_error *err)
{
    sqlite3_stmt *rows;
    bool plain = !filter && !suite; /* asked so often that its statement is kept */
    enum posref_status status =
        plain ? select_all(db, &rows, after, limit, err)
              : select_vectors(db, &rows, "v.id, v.summary", filter, suite, after, limit, err);
    if (status != POSREF_OK)
        return status;
    int code;
    while ((code = sqlite3_step(rows)) == SQLITE_ROW) {
        const char *id = (const char *)sqlite3_column_text(rows, 0);
        const char *json = (const char *)sqlite3_column_text(rows, 1);
        if (!id || !json)
            status = posref_fail(err, POSREF_NO_MEMORY, db->tail, "no memory");
        if (status != POSREF_OK ||
            !visit(ctx, id, json, (size_t)sqlite3_column_bytes(rows, 1)))
            break;
    }
    if (status == POSREF_OK && code != SQLITE_ROW && code != SQLITE_DONE)
        status = posref_db_fail(db, err);
    if (plain)
        sqlite3_reset(rows);
    else
        sqlite3_finalize(rows);
    return status;
}

enum posref_status posref_db_get(struct posref_db *db, const char *id, struct posref_vector *out,
                                 bool *found, const struct posref_arena *arena,
                                 struct posref_error *err)
{
    enum posref_status status = posref_db_prepare(
        db, &db->one, "SELECT " POSREF_DB_COLUMNS POSREF_DB_FROM "WHERE v.id = ?", err);
    if (status != POSREF_OK)
        return status;
    sqlite3_bind_text(db->one, 1, id, -1, SQLITE_STATIC);
    int code = sqlite3_step(db->one);
    if (code == SQLITE_ROW)
        status = posref_db_row(db, out, db->one, arena, err);
    else if (code != SQLITE_DONE)
        status = posref_db_fail(db, err);
    sqlite3_reset(db->one);
    sqlite3_clear_bindings(db->one);
    if (status == POSREF_OK)
        *found = code == SQLITE_ROW;
    return status;
}

enum posref_status posref_db_successor(struct posref_db *db, const char *id,
                                       char successor[POSREF_MAX_ID + 1], bool *found,
                                       struct posref_error *err)
{
    enum posref_status status = posref_db_prepare(
        db, &db->retired, "SELECT successor FROM retired WHERE id = ?", err);
    if (status != POSREF_OK)
        return status;
    sqlite3_bind_text(db->retired, 1, id, -1, SQLITE_TRANSIENT);
    int code = sqlite3_step(db->retired);
    *found = code == SQLITE_ROW;
    if (*found)
        snprintf(successor, POSREF_MAX_ID + 1, "%s",
                 (const char *)sqlite3_column_text(db->retired, 0));
    sqlite3_reset(db->retired);
    return code == SQLITE_ROW || code == SQLITE_DONE ? POSREF_OK : posref_db_fail(db, err);
}

enum posref_status posref_db_json(struct posref_db *db, const char *id, bool answers,
                                  const char **json, size_t *length, char sha256[65], bool *found,
                                  struct posref_error *err)
{
    static const char *const sql[] = {
        "SELECT substr(d.json, 1, d.prompt_bytes) || '}' || char(10), d.prompt_sha256 "
        "FROM vector v JOIN document d ON d.vector = v.n WHERE v.id = ?",
        "SELECT d.json, d.sha256 FROM vector v JOIN document d ON d.vector = v.n WHERE v.id = ?"};
    sqlite3_stmt **document = &db->document[answers];
    enum posref_status status = posref_db_prepare(db, document, sql[answers], err);
    if (status != POSREF_OK)
        return status;
    /* The statement stays on its row: that is what lends the bytes. */
    sqlite3_bind_text(*document, 1, id, -1, SQLITE_TRANSIENT);
    int code = sqlite3_step(*document);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return posref_db_fail(db, err);
    *found = code == SQLITE_ROW;
    if (*found) {
        *json = sqlite3_column_blob(*document, 0);
        *length = (size_t)sqlite3_column_bytes(*document, 0);
        snprintf(sha256, 65, "%s", (const char *)sqlite3_column_text(*document, 1));
    }
    return POSREF_OK;
}
