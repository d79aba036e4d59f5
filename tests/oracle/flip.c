/* SPDX-License-Identifier: Apache-2.0 */
/* Damages a database for the test of certify: flips the lowest bit of one stored output value.
 *
 *   flip DATABASE ID TENSOR INDEX */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static sqlite3_int64 find(sqlite3 *db, const char *id, const char *name, int *place)
{
    sqlite3_int64 n = -1;
    sqlite3_stmt *row = NULL;
    if (sqlite3_prepare_v2(db, "SELECT vector, place FROM tensor JOIN vector ON n = vector WHERE "
                               "id = ?1 AND name = ?2 AND output = 1", -1, &row, NULL) != SQLITE_OK)
        return -1;
    if (sqlite3_bind_text(row, 1, id, -1, NULL) == SQLITE_OK &&
        sqlite3_bind_text(row, 2, name, -1, NULL) == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW) {
        n = sqlite3_column_int64(row, 0);
        *place = sqlite3_column_int(row, 1);
    }
    sqlite3_finalize(row);
    return n;
}

/* The table has no rowid, so the blob is read, changed and written back whole. */
static int flip(sqlite3 *db, sqlite3_int64 n, int place, long index)
{
    sqlite3_stmt *get = NULL, *set = NULL;
    int done = SQLITE_ERROR;
    if (sqlite3_prepare_v2(db, "SELECT data FROM tensor WHERE vector = ?1 AND output = 1 AND "
                               "place = ?2", -1, &get, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "UPDATE tensor SET data = ?3 WHERE vector = ?1 AND output = 1 AND "
                               "place = ?2", -1, &set, NULL) == SQLITE_OK &&
        sqlite3_bind_int64(get, 1, n) == SQLITE_OK &&
        sqlite3_bind_int(get, 2, place) == SQLITE_OK &&
        sqlite3_step(get) == SQLITE_ROW && index >= 0 &&
        8 * index < sqlite3_column_bytes(get, 0)) {
        int size = sqlite3_column_bytes(get, 0);
        unsigned char *copy = malloc((size_t)size);
        for (int i = 0; copy && i < size; i++)
            copy[i] = ((const unsigned char *)sqlite3_column_blob(get, 0))[i] ^ (i == 8 * index);
        sqlite3_reset(get);
        if (copy && sqlite3_bind_int64(set, 1, n) == SQLITE_OK &&
            sqlite3_bind_int(set, 2, place) == SQLITE_OK &&
            sqlite3_bind_blob(set, 3, copy, size, SQLITE_TRANSIENT) == SQLITE_OK)
            done = sqlite3_step(set);
        free(copy);
    }
    sqlite3_finalize(get);
    sqlite3_finalize(set);
    return done == SQLITE_DONE ? 0 : 3;
}

int main(int argc, char **argv)
{
    sqlite3 *db = NULL;
    int place = 0, status = 3;
    if (argc != 5) {
        fputs("usage: flip DATABASE ID TENSOR INDEX\n", stderr);
        return 2;
    }
    if (sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
        sqlite3_int64 n = find(db, argv[2], argv[3], &place);
        if (n >= 0)
            status = flip(db, n, place, strtol(argv[4], NULL, 10));
    }
    sqlite3_close(db);
    if (status)
        fprintf(stderr, "flip: %s %s[%s]: no such value\n", argv[2], argv[3], argv[4]);
    return status;
}
