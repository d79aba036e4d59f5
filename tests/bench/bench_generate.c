/* SPDX-License-Identifier: Apache-2.0 */
/* Generating core against what SQLite alone needs to insert the same rows: both write a new file in
 * one transaction, synchronous off, in turns; the best of several rounds each. The files lie in
 * memory where /dev/shm is there, so that the generator's last sync is as free as SQLite's are.
 * The ratio is what counts (at most 3).
 *
 *   bench_generate [ROUNDS] */
#include "vectors/embedded.h"
#include "vectors/vectors.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_ROWS 200000
#define MAX_COLUMNS 8

static const char *const tables[] = {"vector", "attribute", "tensor", "document", "suite"};
#define N_TABLES (sizeof tables / sizeof *tables)

struct row {
    size_t table;
    int n_columns;
    sqlite3_value *column[MAX_COLUMNS];
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "bench_generate: %s failed\n", what);
    exit(3);
}

/* Every row of the database, in the order in which the generator wrote them: vector by vector. */
static size_t read_rows(struct row *rows, const char *path)
{
    sqlite3 *db;
    size_t n = 0;
    must(sqlite3_open(path, &db) == SQLITE_OK, "open");
    for (size_t t = 0; t < N_TABLES; t++) {
        sqlite3_stmt *all;
        char sql[64];
        snprintf(sql, sizeof sql, "SELECT * FROM %s%s", tables[t],
                 t == 4 ? "" : t == 0 ? " ORDER BY n" : " ORDER BY vector");
        must(sqlite3_prepare_v2(db, sql, -1, &all, NULL) == SQLITE_OK, sql);
        for (; sqlite3_step(all) == SQLITE_ROW; n++) {
            must(n < MAX_ROWS, "room for the rows");
            rows[n].table = t;
            rows[n].n_columns = sqlite3_column_count(all);
            for (int c = 0; c < rows[n].n_columns; c++)
                rows[n].column[c] = sqlite3_value_dup(sqlite3_column_value(all, c));
        }
        sqlite3_finalize(all);
    }
    sqlite3_close(db);
    return n;
}

static double insert_rows(const struct row *rows, size_t n, const char *path)
{
    static const char *const sql[N_TABLES] = {
        "INSERT INTO vector VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        "INSERT INTO attribute VALUES (?, ?, ?)",
        "INSERT INTO tensor VALUES (?, ?, ?, ?, ?, ?, ?)",
        "INSERT INTO document VALUES (?, ?, ?, ?)",
        "INSERT INTO suite VALUES (?, ?, ?, ?, ?)"};
    sqlite3 *db;
    sqlite3_stmt *insert[N_TABLES];
    unlink(path);
    double begin = seconds();
    must(sqlite3_open(path, &db) == SQLITE_OK &&
         sqlite3_exec(db, "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF;"
                          "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
                          "PRAGMA cache_size = -65536; BEGIN", NULL, NULL, NULL) == SQLITE_OK &&
         sqlite3_exec(db, posref_embedded_find("vectors.sql"), NULL, NULL, NULL) == SQLITE_OK,
         "schema");
    for (size_t t = 0; t < N_TABLES; t++)
        must(sqlite3_prepare_v2(db, sql[t], -1, &insert[t], NULL) == SQLITE_OK, sql[t]);
    for (size_t i = 0; i < n; i++) {
        sqlite3_stmt *statement = insert[rows[i].table];
        for (int c = 0; c < rows[i].n_columns; c++)
            sqlite3_bind_value(statement, c + 1, rows[i].column[c]);
        must(sqlite3_step(statement) == SQLITE_DONE, "insert");
        sqlite3_reset(statement);
    }
    for (size_t t = 0; t < N_TABLES; t++)
        sqlite3_finalize(insert[t]);
    must(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK, "commit");
    sqlite3_close(db);
    return seconds() - begin;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5;
    bool memory = access("/dev/shm", W_OK) == 0;
    char made[64], plain[80];
    snprintf(made, sizeof made, "%s/posref-bench-XXXXXX", memory ? "/dev/shm" : "/tmp");
    struct row *rows = calloc(MAX_ROWS, sizeof *rows);
    double best_made = 1e9, best_plain = 1e9;
    size_t n = 0;
    struct posref_error err;
    must(rows != NULL && close(mkstemp(made)) == 0, "temporary file");
    snprintf(plain, sizeof plain, "%s.plain", made);
    for (int i = 0; i < rounds; i++) {
        double begin = seconds();
        must(posref_generate(made, "core", 0, NULL, NULL, &err) == POSREF_OK, "generate");
        double took = seconds() - begin;
        best_made = took < best_made ? took : best_made;
        n = n ? n : read_rows(rows, made);
        took = insert_rows(rows, n, plain);
        best_plain = took < best_plain ? took : best_plain;
    }
    printf("generate core: %.0f ms; SQLite inserts its %zu rows in %.0f ms; ratio %.2f (limit 3)\n",
           1e3 * best_made, n, 1e3 * best_plain, best_made / best_plain);
    unlink(made);
    unlink(plain);
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < rows[i].n_columns; c++)
            sqlite3_value_free(rows[i].column[c]);
    free(rows);
    return 0;
}
