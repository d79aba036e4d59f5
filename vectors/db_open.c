/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the database, read-only and immutable, and the rule for where it lies. */
#include "vectors/db.h"
#include "vectors/embedded.h"
#include "vectors/sha256.h"
#include "vectors/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum posref_status posref_db_fail(struct posref_db *db, struct posref_error *err)
{
    int code = sqlite3_errcode(db->sqlite);
    /* Our SQL is fixed: an error in it means tables that are not ours. */
    bool damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR;
    return posref_fail(err, damaged ? POSREF_BAD_INPUT : POSREF_IO, db->tail, "%s",
                       sqlite3_errmsg(db->sqlite));
}

enum posref_status posref_db_prepare(struct posref_db *db, sqlite3_stmt **statement,
                                     const char *sql, struct posref_error *err)
{
    if (*statement) {
        sqlite3_reset(*statement);
        return POSREF_OK;
    }
    if (sqlite3_prepare_v3(db->sqlite, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL) !=
        SQLITE_OK)
        return posref_db_fail(db, err);
    return POSREF_OK;
}

/* file:PATH?mode=ro&immutable=1, with everything but plain characters of the path escaped. */
static void add_uri(struct posref_buffer *out, const char *path)
{
    posref_buffer_text(out, "file:");
    for (const char *at = path; *at; at++) {
        unsigned char byte = (unsigned char)*at;
        bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                     (byte >= '0' && byte <= '9') || strchr("/._-", byte);
        if (plain)
            posref_buffer_add(out, at, 1);
        else
            posref_buffer_printf(out, "%%%02X", byte);
    }
    posref_buffer_text(out, "?mode=ro&immutable=1");
}

/* The value of a PRAGMA, or -1. */
static sqlite3_int64 pragma(struct posref_db *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    sqlite3_int64 value = -1;
    if (sqlite3_prepare_v2(db->sqlite, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static enum posref_status check_kind(struct posref_db *db, struct posref_error *err)
{
    sqlite3_int64 application = pragma(db, "PRAGMA application_id");
    sqlite3_int64 schema = pragma(db, "PRAGMA user_version");
    if (application != POSREF_DB_APPLICATION)
        return posref_fail(err, POSREF_BAD_INPUT, db->tail, "is no database of golden vectors");
    if (schema != POSREF_DB_SCHEMA)
        return posref_fail(err, POSREF_BAD_INPUT, db->tail,
                           "has schema version %lld, this program reads %d; posref generate -o "
                           "makes a new one",
                           (long long)schema, POSREF_DB_SCHEMA);
    return POSREF_OK;
}

static enum posref_status open_path(struct posref_db **out, const char *path,
                                    struct posref_error *err)
{
    struct stat there;
    const char *tail = posref_path_tail(path);
    if (stat(path, &there) != 0)
        return posref_fail(err, POSREF_BAD_INPUT, tail, "%s", posref_errno_text(errno));
    if (!S_ISREG(there.st_mode))
        return posref_fail(err, POSREF_BAD_INPUT, tail, "is no regular file");
    struct posref_db *db = calloc(1, sizeof *db);
    if (!db)
        return posref_fail(err, POSREF_NO_MEMORY, tail, "no memory");
    snprintf(db->tail, sizeof db->tail, "%s", tail);
    struct posref_buffer uri;
    posref_buffer_init(&uri, 1 << 16);
    add_uri(&uri, path);
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
    enum posref_status status;
    if (uri.failed)
        status = posref_fail(err, POSREF_BAD_INPUT, tail, "the path is too long");
    else if (sqlite3_open_v2(uri.data, &db->sqlite, flags, NULL) != SQLITE_OK)
        status = posref_db_fail(db, err);
    else
        status = check_kind(db, err);
    posref_buffer_clear(&uri);
    if (status == POSREF_OK)
        *out = db;
    else
        posref_db_close(db);
    return status;
}

const char *posref_db_path(const struct posref_db *db)
{
    return sqlite3_db_filename(db->sqlite, "main");
}

void posref_db_close(struct posref_db *db)
{
    if (!db)
        return;
    sqlite3_finalize(db->tensors);
    sqlite3_finalize(db->document[0]);
    sqlite3_finalize(db->document[1]);
    sqlite3_finalize(db->one);
    sqlite3_finalize(db->retired);
    sqlite3_finalize(db->page);
    sqlite3_close(db->sqlite);
    free(db);
}

/* The cached database of this program's suites: its name changes with what is built in, so that a
 * newer program does not read an older one's vectors. */
static bool cache_path(struct posref_buffer *out)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct posref_sha256 sha;
    char digest[65];
    if (cache && cache[0] == '/') /* the XDG specification: a relative path is to be ignored */
        posref_buffer_printf(out, "%s/posref/", cache);
    else if (home && home[0] == '/')
        posref_buffer_printf(out, "%s/.cache/posref/", home);
    else
        return false;
    posref_sha256_init(&sha);
    const char *name, *text;
    for (size_t i = 0; posref_embedded_at(i, &name, &text); i++)
        posref_sha256_add(&sha, text, strlen(text));
    posref_sha256_finish(digest, &sha);
    posref_buffer_printf(out, "core-%.12s.db", digest);
    return !out->failed;
}

enum posref_status posref_db_open_progress(struct posref_db **out, const char *path,
                                           posref_progress *progress, void *ctx,
                                           struct posref_error *err)
{
    path = path ? path : getenv("POSREF_DB");
    if (path && path[0])
        return open_path(out, path, err);
    struct posref_buffer cached;
    posref_buffer_init(&cached, 1 << 16);
    enum posref_status status = POSREF_OK;
    if (!cache_path(&cached))
        status = posref_fail(err, POSREF_BAD_INPUT, "--db",
                             "no database named, and neither XDG_CACHE_HOME nor HOME is set");
    else if (access(cached.data, F_OK) != 0) {
        status = posref_directories_make(cached.data, err);
        if (status == POSREF_OK)
            status = posref_generate(cached.data, "core", 0, progress, ctx, err);
    }
    if (status == POSREF_OK)
        status = open_path(out, cached.data, err);
    posref_buffer_clear(&cached);
    return status;
}

enum posref_status posref_db_open(struct posref_db **out, const char *path,
                                  struct posref_error *err)
{
    return posref_db_open_progress(out, path, NULL, NULL, err);
}
