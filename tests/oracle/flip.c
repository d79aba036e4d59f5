/* SPDX-License-Identifier: Apache-2.0 */
/* Damages a database for the test of certify: flips the lowest bit of one stored output value, the
 * largest finite one, and prints its index. (A small one may be a sum that cancels, whose bound a
 * bit does not leave.)
 *
 *   flip DATABASE ID TENSOR */
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>

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

/* The index of the largest; -1: none is finite, or they cannot be read. */
static int largest(sqlite3_blob *blob)
{
    const int n = sqlite3_blob_bytes(blob) / 8;
    double best = -1, value;
    int index = -1;
    for (int k = 0; k < n; k++)
        if (sqlite3_blob_read(blob, &value, 8, 8 * k) == SQLITE_OK && isfinite(value) &&
            fabs(value) > best) {
            best = fabs(value);
            index = k;
        }
    return index;
}

static int flip(sqlite3 *db, sqlite3_int64 row_id)
{
    sqlite3_blob *blob = NULL;
    unsigned char byte;
    if (sqlite3_blob_open(db, "main", "tensor", "data", row_id, 1, &blob) != SQLITE_OK)
        return 3;
    const int index = largest(blob);
    int failed = index < 0 || sqlite3_blob_read(blob, &byte, 1, 8 * index);
    if (!failed) {
        byte ^= 1;
        failed = sqlite3_blob_write(blob, &byte, 1, 8 * index);
    }
    failed = sqlite3_blob_close(blob) || failed;
    if (!failed)
        printf("%d\n", index);
    return failed ? 3 : 0;
}

int main(int argc, char **argv)
{
    sqlite3 *db = NULL;
    int status = 3;
    if (argc != 4) {
        fputs("usage: flip DATABASE ID TENSOR\n", stderr);
        return 2;
    }
    if (sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
        sqlite3_int64 row_id = find(db, argv[2], argv[3]);
        if (row_id >= 0)
            status = flip(db, row_id);
    }
    sqlite3_close(db);
    if (status)
        fprintf(stderr, "flip: %s %s: no such values\n", argv[2], argv[3]);
    return status;
}
