/* SPDX-License-Identifier: Apache-2.0 */
/* Damages a database for the test of certify: flips the lowest bit of one stored output value.
 *
 *   flip DATABASE ID TENSOR INDEX */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

/* The tensor's row; -1: there is none. */
static sqlite3_int64 find(sqlite3 *db, const char *id, const char *name)
{
    sqlite3_int64 row_id = -1;
    sqlite3_stmt *row = NULL;
    const char *sql = "SELECT tensor.rowid FROM tensor JOIN vector ON n = vector "
                      "WHERE id = ?1 AND name = ?2 AND output = 1";
    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK &&
        sqlite3_bind_text(row, 1, id, -1, NULL) == SQLITE_OK &&
        sqlite3_bind_text(row, 2, name, -1, NULL) == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW)
        row_id = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return row_id;
}

static int flip(sqlite3 *db, sqlite3_int64 row_id, int index)
{
    sqlite3_blob *blob = NULL;
    unsigned char byte;
    if (index < 0 || sqlite3_blob_open(db, "main", "tensor", "data", row_id, 1, &blob) != SQLITE_OK)
        return 3;
    int failed = sqlite3_blob_read(blob, &byte, 1, 8 * index);
    byte ^= 1;
    failed = failed || sqlite3_blob_write(blob, &byte, 1, 8 * index);
    failed = sqlite3_blob_close(blob) || failed;
    return failed ? 3 : 0;
}

int main(int argc, char **argv)
{
    sqlite3 *db = NULL;
    int status = 3;
    if (argc != 5) {
        fputs("usage: flip DATABASE ID TENSOR INDEX\n", stderr);
        return 2;
    }
    if (sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
        sqlite3_int64 row_id = find(db, argv[2], argv[3]);
        if (row_id >= 0)
            status = flip(db, row_id, (int)strtol(argv[4], NULL, 10));
    }
    sqlite3_close(db);
    if (status)
        fprintf(stderr, "flip: %s %s[%s]: no such value\n", argv[2], argv[3], argv[4]);
    return status;
}
