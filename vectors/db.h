/* SPDX-License-Identifier: Apache-2.0 */
/* The open database, shared by the db_*.c files. Private to vectors/. */
#ifndef POSREF_DB_H
#define POSREF_DB_H

#include "vectors/vectors.h"

#include <sqlite3.h>

#define POSREF_DB_APPLICATION 1886352230 /* as in schema/vectors.sql; a test compares */
#define POSREF_DB_SCHEMA 3

struct posref_db {
    sqlite3 *sqlite;
    /* Prepared on first use; document[answers]. */
    sqlite3_stmt *tensors, *document[2], *one, *retired, *page;
    char tail[64];                          /* of its path, for messages */
};

/* SQLite's message: POSREF_BAD_INPUT when it is the file that is wrong, else POSREF_IO. */
POSREF_MUST_USE enum posref_status posref_db_fail(struct posref_db *db, struct posref_error *err);
/* Prepares into *statement unless it is there already; resets it. */
POSREF_MUST_USE enum posref_status posref_db_prepare(struct posref_db *db,
                                                     sqlite3_stmt **statement, const char *sql,
                                                     struct posref_error *err);
/* The rank of NAME[@VERSION]; NULL: the largest suite. */
POSREF_MUST_USE enum posref_status posref_db_rank(struct posref_db *db, int *rank,
                                                  const char *suite, struct posref_error *err);
/* Ends a SELECT on vector v with the filter's conditions and binds them from parameter `first`. */
void posref_filter_where(struct posref_buffer *sql, const struct posref_filter *filter);
void posref_filter_bind(sqlite3_stmt *statement, int first, const struct posref_filter *filter);

/* The columns that posref_db_row reads: SELECT these FROM vector v JOIN suite s. */
#define POSREF_DB_COLUMNS "v.n, v.id, s.name, v.op, v.spec, v.flags, v.source, v.sha256"
#define POSREF_DB_FROM " FROM vector v JOIN suite s ON s.rank = v.suite "
/* The row of a statement over POSREF_DB_COLUMNS as a vector with its tensors. */
POSREF_MUST_USE enum posref_status posref_db_row(struct posref_db *db, struct posref_vector *out,
                                                 sqlite3_stmt *row,
                                                 const struct posref_arena *arena,
                                                 struct posref_error *err);

/* Calls visit with each attribute of a vector: its op, the words of its spec (canonical text), its
 * flags. `length` bytes of value count. False as soon as visit says so, or a word is none. */
typedef bool posref_attribute_visit(void *ctx, const char *key, const char *value, size_t length);
bool posref_attributes_each(const char *op, const char *spec, const char *flags,
                            posref_attribute_visit *visit, void *ctx);

/* Compares what canonical texts and documents do not cover: all that lookups go through. Begins
 * with the database and zeros; cleared before the database is closed. */
struct posref_db_check {
    struct posref_db *db;
    sqlite3_stmt *row, *attribute;
    sqlite3_int64 n;      /* of the vector at hand */
    int64_t n_attributes; /* that the vectors checked so far should have */
};
/* *good: the vector's row and attributes say what the vector and the SHA-256 of its canonical text
 * say. */
POSREF_MUST_USE enum posref_status posref_db_check_vector(struct posref_db_check *check, bool *good,
                                                          const struct posref_vector *vector,
                                                          const char *sha256,
                                                          struct posref_error *err);
/* After every vector: the first thing wrong with the file as a whole (pages, indexes, rows without
 * a vector, attributes too many), "" when nothing is. */
POSREF_MUST_USE enum posref_status posref_db_check_whole(struct posref_db_check *check, char *what,
                                                         size_t size, struct posref_error *err);
void posref_db_check_clear(struct posref_db_check *check);

#endif
