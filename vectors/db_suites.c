/* SPDX-License-Identifier: Apache-2.0 */
/* The suites of a database. */
#include "vectors/db.h"

#include <string.h>

enum posref_status posref_db_suites(struct posref_db *db, struct posref_suite_info *out, size_t *n,
                                    struct posref_error *err)
{
    sqlite3_stmt *rows = NULL;
    size_t count = 0;
    enum posref_status status = posref_db_prepare(
        db, &rows, "SELECT name, version, digest, n_vectors FROM suite ORDER BY rank", err);
    if (status != POSREF_OK)
        return status;
    int code;
    while ((code = sqlite3_step(rows)) == SQLITE_ROW && count < *n) {
        struct posref_suite_info *info = &out[count++];
        snprintf(info->name, sizeof info->name, "%s", (const char *)sqlite3_column_text(rows, 0));
        snprintf(info->version, sizeof info->version, "%s",
                 (const char *)sqlite3_column_text(rows, 1));
        snprintf(info->digest, sizeof info->digest, "%s",
                 (const char *)sqlite3_column_text(rows, 2));
        info->n_vectors = sqlite3_column_int64(rows, 3);
    }
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        status = posref_db_fail(db, err);
    sqlite3_finalize(rows);
    if (status == POSREF_OK)
        *n = count;
    return status;
}

enum posref_status posref_db_rank(struct posref_db *db, int *rank, const char *suite,
                                  struct posref_error *err)
{
    struct posref_suite_info info[8];
    size_t n = sizeof info / sizeof *info;
    enum posref_status status = posref_db_suites(db, info, &n, err);
    if (status != POSREF_OK)
        return status;
    size_t length = suite ? strcspn(suite, "@") : 0;
    char names[160] = "";
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (suite && strlen(info[i].name) == length && memcmp(info[i].name, suite, length) == 0) {
            if (suite[length] == '@' && strcmp(suite + length + 1, info[i].version) != 0)
                return posref_fail(err, POSREF_BAD_INPUT, "suite",
                                   "%s in this database has version %s", info[i].name,
                                   info[i].version);
            *rank = (int)i;
            return POSREF_OK;
        }
        int wrote = snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                             info[i].name);
        used = used + (size_t)wrote < sizeof names ? used + (size_t)wrote : sizeof names - 1;
    }
    if (suite)
        return posref_fail(err, POSREF_BAD_INPUT, "suite", "'%.40s' is not in this database (%s)",
                           suite, names);
    *rank = (int)n - 1;
    return POSREF_OK;
}
