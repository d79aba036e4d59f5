/* SPDX-License-Identifier: Apache-2.0 */
/* The attributes of a vector, which filters search: made for the writer, compared for verify. */
#include "vectors/db.h"

#include <string.h>

bool posref_attributes_each(const char *op, const char *spec, const char *flags,
                            posref_attribute_visit *visit, void *ctx)
{
    char key[64];
    bool good = visit(ctx, "op", op, strlen(op));
    for (const char *at = spec; *at && good;) {
        size_t word = strcspn(at, " "), name = strcspn(at, "=");
        good = name < word && name < sizeof key;
        if (!good)
            break;
        memcpy(key, at, name);
        key[name] = '\0';
        good = visit(ctx, key, at + name + 1, word - name - 1);
        at += word + (at[word] == ' ');
    }
    for (const char *at = flags; *at && good;) {
        size_t word = strcspn(at, " ");
        good = visit(ctx, "flag", at, word);
        at += word + (at[word] == ' ');
    }
    return good;
}

static bool column_is(sqlite3_stmt *row, int column, const char *text)
{
    const char *stored = (const char *)sqlite3_column_text(row, column);
    return stored && strcmp(stored, text) == 0;
}

/* The vector's row: its number, and whether spec, summary and SHA-256 are these. */
static enum posref_status check_row(struct posref_db_check *check, bool *good,
                                    const struct posref_vector *vector, const char *spec,
                                    const char *summary, const char *sha256,
                                    struct posref_error *err)
{
    enum posref_status status = posref_db_prepare(
        check->db, &check->row, "SELECT n, spec, sha256, summary FROM vector WHERE id = ?", err);
    if (status != POSREF_OK)
        return status;
    sqlite3_bind_text(check->row, 1, vector->id, -1, SQLITE_TRANSIENT);
    int code = sqlite3_step(check->row);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return posref_db_fail(check->db, err);
    *good = code == SQLITE_ROW && column_is(check->row, 1, spec) &&
            column_is(check->row, 2, sha256) && column_is(check->row, 3, summary);
    check->n = code == SQLITE_ROW ? sqlite3_column_int64(check->row, 0) : 0;
    return POSREF_OK;
}

/* Whether the attribute of the vector is there; counts those that should be. */
static bool is_there(void *ctx, const char *key, const char *value, size_t length)
{
    struct posref_db_check *check = ctx;
    check->n_attributes++;
    sqlite3_reset(check->attribute);
    sqlite3_bind_text(check->attribute, 1, key, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(check->attribute, 2, value, (int)length, SQLITE_TRANSIENT);
    sqlite3_bind_int64(check->attribute, 3, check->n);
    return sqlite3_step(check->attribute) == SQLITE_ROW;
}

enum posref_status posref_db_check_vector(struct posref_db_check *check, bool *good,
                                          const struct posref_vector *vector, const char *sha256,
                                          struct posref_error *err)
{
    struct posref_buffer spec, summary;
    bool same = false;
    enum posref_status status = posref_db_prepare(
        check->db, &check->attribute,
        "SELECT 1 FROM attribute WHERE key = ? AND value = ? AND vector = ?", err);
    posref_buffer_init(&spec, 1 << 16);
    posref_spec_text(&spec, &vector->spec);
    posref_buffer_init(&summary, 1 << 16);
    posref_vector_summary_json(&summary, vector);
    if (status == POSREF_OK && (spec.failed || summary.failed))
        status = posref_fail(err, POSREF_NO_MEMORY, check->db->tail, "no memory");
    if (status == POSREF_OK)
        status = check_row(check, &same, vector, spec.data, summary.data, sha256, err);
    if (status == POSREF_OK)
        *good = posref_attributes_each(posref_op_name(vector->op), spec.data, vector->flags,
                                       is_there, check) && same;
    posref_buffer_clear(&spec);
    posref_buffer_clear(&summary);
    return status;
}

/* Steps `sql` to its first row; *found: there is one, with the text of its first column. */
static enum posref_status first_row(struct posref_db *db, char *text, size_t size, bool *found,
                                    const char *sql, struct posref_error *err)
{
    sqlite3_stmt *rows = NULL;
    enum posref_status status = posref_db_prepare(db, &rows, sql, err);
    if (status != POSREF_OK)
        return status;
    int code = sqlite3_step(rows);
    *found = code == SQLITE_ROW;
    if (*found)
        snprintf(text, size, "%s", (const char *)sqlite3_column_text(rows, 0));
    else if (code != SQLITE_DONE)
        status = posref_db_fail(db, err);
    sqlite3_finalize(rows);
    return status;
}

enum posref_status posref_db_check_whole(struct posref_db_check *check, char *what, size_t size,
                                         struct posref_error *err)
{
    char text[200];
    bool found = false;
    what[0] = '\0';
    enum posref_status status =
        first_row(check->db, text, sizeof text, &found, "PRAGMA integrity_check(1)", err);
    if (status == POSREF_OK && found && strcmp(text, "ok") != 0) {
        snprintf(what, size, "%.*s", (int)strcspn(text, "\n"), text);
        return POSREF_OK;
    }
    if (status == POSREF_OK)
        status = first_row(check->db, text, sizeof text, &found, "PRAGMA foreign_key_check", err);
    if (status == POSREF_OK && found) {
        snprintf(what, size, "a row of table %s belongs to nothing", text);
        return POSREF_OK;
    }
    if (status == POSREF_OK)
        status = first_row(check->db, text, sizeof text, &found, "SELECT count(*) FROM attribute",
                           err);
    char expected[32];
    snprintf(expected, sizeof expected, "%lld", (long long)check->n_attributes);
    if (status == POSREF_OK && strcmp(text, expected) != 0)
        snprintf(what, size, "%s attributes; the vectors make %s", text, expected);
    return status;
}

void posref_db_check_clear(struct posref_db_check *check)
{
    sqlite3_finalize(check->row);
    sqlite3_finalize(check->attribute);
}
