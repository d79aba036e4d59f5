/* SPDX-License-Identifier: Apache-2.0 */
/* The database: generation (digest, threads, atomicity), filters, paging, stored JSON, and files
 * that are no database. */
#include "tests/unit/suite.h"
#include "vectors/case.h"
#include "vectors/db.h"
#include "vectors/embedded.h"

#include <check.h>
#include <dirent.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64], path[96];
static struct posref_db *db;
static struct posref_error err;

static void setup(void)
{
    snprintf(dir, sizeof dir, "/tmp/posref-test-db-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/a b%%c?#.db", dir); /* the URI must escape these */
    ck_assert_msg(posref_generate(path, "smoke", 2, NULL, NULL, &err) == POSREF_OK, "%s: %s",
                  err.key, err.text);
    ck_assert_msg(posref_db_open(&db, path, &err) == POSREF_OK, "%s: %s", err.key, err.text);
}

/* Removes the directory's files; returns how many there were. */
static int empty_directory(void)
{
    int n = 0;
    DIR *entries = opendir(dir);
    for (struct dirent *entry; (entry = readdir(entries));) {
        char name[512];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(name, sizeof name, "%s/%s", dir, entry->d_name);
        unlink(name);
        n++;
    }
    closedir(entries);
    return n;
}

static void teardown(void)
{
    posref_db_close(db);
    empty_directory();
    rmdir(dir);
}

struct ids {
    char id[256][POSREF_MAX_ID];
    int n, stop_after;
};

static bool keep_id(void *ctx, const char *id)
{
    struct ids *ids = ctx;
    snprintf(ids->id[ids->n++], POSREF_MAX_ID, "%s", id);
    return ids->n != ids->stop_after;
}

static bool keep_vector(void *ctx, const struct posref_vector *vector)
{
    return keep_id(ctx, vector->id);
}

static struct ids select_ids(const char *const *pairs, const char *after, int64_t limit)
{
    struct ids ids = {.stop_after = -1};
    struct posref_filter *filter = posref_filter_new();
    for (; *pairs; pairs += 2)
        ck_assert_msg(posref_filter_add(filter, pairs[0], pairs[1], &err) == POSREF_OK, "%s",
                      err.text);
    ck_assert(posref_db_ids(db, filter, NULL, after, limit, keep_id, &ids, &err) == POSREF_OK);
    struct ids again = {.stop_after = -1};
    ck_assert(posref_db_each(db, filter, NULL, after, limit, keep_vector, &again, &err) ==
              POSREF_OK);
    ck_assert_int_eq(ids.n, again.n);
    for (int i = 0; i < ids.n; i++)
        ck_assert_str_eq(ids.id[i], again.id[i]);
    posref_filter_free(filter);
    return ids;
}

#define ALL ((const char *[]){NULL})

START_TEST(pages_join_up)
{
    struct ids all = select_ids(ALL, NULL, -1), page = {.n = 0};
    const char *after = NULL;
    int n = 0;
    ck_assert_int_gt(all.n, 80);
    for (int i = 1; i < all.n; i++)
        ck_assert_int_lt(strcmp(all.id[i - 1], all.id[i]), 0);
    do {
        page = select_ids(ALL, after, 7);
        for (int i = 0; i < page.n; i++)
            ck_assert_str_eq(page.id[i], all.id[n++]);
        after = all.id[n - 1];
    } while (page.n == 7);
    ck_assert_int_eq(n, all.n);
    ck_assert_int_eq(select_ids(ALL, NULL, 0).n, 0);
    /* a page may begin behind an id that does not exist */
    struct ids tail = select_ids(ALL, "rope/", -1);
    ck_assert_str_eq(tail.id[0], "rope/axes/d12/freq");
}
END_TEST

START_TEST(filters)
{
    struct ids ids = select_ids((const char *[]){"base", "0x1.388p13", "pairing", "half", "op",
                                                 "rotate", "flag", "partial", NULL}, NULL, -1);
    ck_assert_int_ge(ids.n, 2);
    for (int i = 0; i < ids.n; i++)
        ck_assert(strstr(ids.id[i], "rope/half/") && strstr(ids.id[i], "-r"));
    ids = select_ids((const char *[]){"id", "alibi/row", NULL}, NULL, -1);
    ck_assert_int_eq(ids.n, 4);
    ids = select_ids((const char *[]){"truncate", "0", NULL}, NULL, -1);
    ck_assert_int_eq(ids.n, 4);
    ck_assert_int_eq(select_ids((const char *[]){"dim", "11", NULL}, NULL, -1).n, 0);
    struct ids stopped = {.stop_after = 3};
    ck_assert(posref_db_ids(db, NULL, "smoke@2", NULL, -1, keep_id, &stopped, &err) == POSREF_OK);
    ck_assert_int_eq(stopped.n, 3);
}
END_TEST

START_TEST(filters_refused)
{
    struct posref_filter *filter = posref_filter_new();
    ck_assert(posref_filter_add(filter, "pairng", "half", &err) == POSREF_BAD_INPUT);
    ck_assert_str_eq(err.text, "unknown key; did you mean pairing?");
    ck_assert(posref_filter_add(filter, "pairing", "halff", &err) == POSREF_BAD_INPUT);
    ck_assert(posref_filter_add(filter, "dim", "x", &err) == POSREF_BAD_INPUT);
    ck_assert(posref_filter_add(filter, "op", "turn", &err) == POSREF_BAD_INPUT);
    ck_assert(posref_filter_add(filter, "x", "1", &err) == POSREF_BAD_INPUT);
    posref_filter_free(filter);
    struct ids ids = {.stop_after = -1};
    ck_assert(posref_db_ids(db, NULL, "full", NULL, -1, keep_id, &ids, &err) == POSREF_BAD_INPUT);
    ck_assert_str_eq(err.key, "suite");
    ck_assert(posref_db_ids(db, NULL, "smoke@9", NULL, -1, keep_id, &ids, &err) ==
              POSREF_BAD_INPUT);
}
END_TEST

/* The vector in the database is what evaluating its case gives, bit for bit; its JSON says so. */
START_TEST(one_vector)
{
    const char *id = "rope/half/yarn/d128-b1e6-f4-o32768/long";
    struct posref_heap *heap = posref_heap_new(0);
    struct posref_arena arena = posref_heap_arena(heap);
    struct posref_vector vector;
    struct posref_tensors outputs;
    bool found = false;
    ck_assert(posref_db_get(db, id, &vector, &found, &arena, &err) == POSREF_OK && found);
    ck_assert_str_eq(vector.id, id);
    ck_assert_str_eq(vector.suite_min, "smoke");
    ck_assert(vector.op == POSREF_OP_ROTATE && vector.spec.factor == 4);
    ck_assert(posref_eval(&outputs, &vector.spec, vector.op, &vector.inputs, &arena, &err) ==
              POSREF_OK);
    ck_assert_int_eq(outputs.n, vector.outputs.n);
    for (int i = 0; i < outputs.n; i++) {
        ck_assert_str_eq(outputs.item[i].name, vector.outputs.item[i].name);
        size_t size = (size_t)posref_tensor_count(&outputs.item[i]) * 8;
        ck_assert(memcmp(outputs.item[i].data, vector.outputs.item[i].data, size) == 0);
    }
    for (int answers = 0; answers < 2; answers++) {
        const char *json;
        size_t length;
        char sha256[65], want[65];
        ck_assert(posref_db_json(db, id, answers, &json, &length, sha256, &found, &err) ==
                  POSREF_OK && found);
        posref_sha256_hex(want, json, length);
        ck_assert_str_eq(sha256, want);
        json_t *root = json_loadb(json, length, JSON_REJECT_DUPLICATES, NULL);
        ck_assert_ptr_nonnull(root);
        ck_assert_str_eq(json_string_value(json_object_get(root, "id")), id);
        json_t *y = json_object_get(json_object_get(json_object_get(root, "outputs"), "y"), "data");
        ck_assert(answers ? json_array_size(y) == 256 : y == NULL);
        const double *golden = posref_tensors_find(&vector.outputs, "y")->data;
        for (size_t i = 0; i < json_array_size(y); i++)
            ck_assert(json_number_value(json_array_get(y, i)) == golden[i]);
        json_decref(root);
    }
    ck_assert(posref_db_get(db, "rope/none", &vector, &found, &arena, &err) == POSREF_OK && !found);
    posref_heap_free(heap);
}
END_TEST

START_TEST(same_for_any_number_of_threads)
{
    char other[96];
    struct posref_suite_info one[4], many[4];
    size_t n = 4, m = 4;
    struct posref_db *second;
    snprintf(other, sizeof other, "%s/other.db", dir);
    ck_assert(posref_generate(other, "smoke", 5, NULL, NULL, &err) == POSREF_OK);
    ck_assert(posref_db_open(&second, other, &err) == POSREF_OK);
    ck_assert(posref_db_suites(db, one, &n, &err) == POSREF_OK);
    ck_assert(posref_db_suites(second, many, &m, &err) == POSREF_OK);
    ck_assert(n == 1 && m == 1);
    ck_assert_str_eq(one[0].digest, many[0].digest);
    ck_assert_int_eq(one[0].n_vectors, many[0].n_vectors);
    posref_db_close(second);
}
END_TEST

/* A generator killed at any moment leaves the old file as it was, or none, and the next one clears
 * away what it left. */
START_TEST(killed_generator)
{
    char target[96];
    struct stat before, after;
    snprintf(target, sizeof target, "%s/k.db", dir);
    for (int round = 0; round < 8; round++) {
        bool old = round % 2;
        unlink(target);
        if (old)
            ck_assert(posref_generate(target, "smoke", 1, NULL, NULL, &err) == POSREF_OK);
        if (old)
            ck_assert(stat(target, &before) == 0);
        pid_t pid = fork();
        if (pid == 0)
            _exit(posref_generate(target, "core", 2, NULL, NULL, NULL) != POSREF_OK);
        usleep(20000u * (unsigned)(round + 1));
        kill(pid, SIGKILL);
        int how;
        waitpid(pid, &how, 0);
        if (!WIFSIGNALED(how)) /* it was quicker: then the new file is whole */
            continue;
        if (old)
            ck_assert(stat(target, &after) == 0 && after.st_ino == before.st_ino &&
                      after.st_size == before.st_size);
        else
            ck_assert(stat(target, &after) != 0);
    }
    ck_assert(posref_generate(target, "smoke", 1, NULL, NULL, &err) == POSREF_OK);
    unlink(target);
    posref_db_close(db);
    db = NULL;
    ck_assert_int_eq(empty_directory(), 1); /* setup's database alone: no leftovers */
}
END_TEST

static void check_unopened(const char *file, const char *text)
{
    struct posref_db *none = NULL;
    ck_assert_msg(posref_db_open(&none, file, &err) == POSREF_BAD_INPUT, "%s", file);
    ck_assert_msg(strstr(err.text, text), "%s: %s", file, err.text);
    ck_assert_str_eq(err.key, file);
    ck_assert_ptr_null(none);
}

START_TEST(no_database)
{
    char file[96];
    sqlite3 *other;
    snprintf(file, sizeof file, "%s/x", dir);
    check_unopened(file, "No such file");
    check_unopened(dir, "regular file");
    FILE *out = fopen(file, "w");
    fclose(out);
    check_unopened(file, "no database of golden vectors");
    out = fopen(file, "w");
    for (int i = 0; i < 1000; i++)
        fputs("no database at all ", out);
    fclose(out);
    check_unopened(file, "no database");
    unlink(file);
    ck_assert(sqlite3_open(file, &other) == SQLITE_OK);
    ck_assert(sqlite3_exec(other, "CREATE TABLE t (x)", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(other);
    check_unopened(file, "no database of golden vectors");
    ck_assert(sqlite3_open(file, &other) == SQLITE_OK);
    ck_assert(sqlite3_exec(other, "PRAGMA application_id = 1886352230; PRAGMA user_version = 99",
                           NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(other);
    check_unopened(file, "schema version 99");
}
END_TEST

START_TEST(generation_refused)
{
    struct posref_error why = {{0}, {0}};
    ck_assert(posref_generate("/nonexistent/x.db", "smoke", 1, NULL, NULL, &why) ==
              POSREF_BAD_INPUT);
    ck_assert_str_eq(why.key, "/nonexistent/x.db");
    ck_assert(posref_generate(dir, "smoke", 1, NULL, NULL, &why) == POSREF_BAD_INPUT);
    ck_assert(posref_generate("/dev/null", "smoke", 1, NULL, NULL, &why) == POSREF_BAD_INPUT);
    ck_assert(posref_generate(path, "huge", 1, NULL, NULL, &why) == POSREF_BAD_INPUT);
    ck_assert_str_eq(why.key, "suite");
}
END_TEST

/* Damaged rows are said to be damaged, never read as something else. */
START_TEST(damaged_rows)
{
    static const char *const damage[] = {
        "UPDATE tensor SET data = substr(data, 1, 8) WHERE vector = 1 AND output = 1",
        "UPDATE tensor SET shape = '0,3' WHERE vector = 1", "UPDATE tensor SET dtype = 'f128'",
        "UPDATE vector SET spec = 'scheme=rope dim=7' WHERE n = 1",
        "UPDATE vector SET op = 'turn' WHERE n = 1"};
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        char file[96];
        sqlite3 *writer;
        struct posref_db *broken;
        struct ids ids = {.stop_after = 1};
        snprintf(file, sizeof file, "%s/d.db", dir);
        ck_assert(posref_generate(file, "smoke", 1, NULL, NULL, &err) == POSREF_OK);
        ck_assert(sqlite3_open(file, &writer) == SQLITE_OK);
        ck_assert(sqlite3_exec(writer, damage[i], NULL, NULL, NULL) == SQLITE_OK);
        sqlite3_close(writer);
        ck_assert(posref_db_open(&broken, file, &err) == POSREF_OK);
        ck_assert_msg(posref_db_each(broken, NULL, NULL, NULL, 1, keep_vector, &ids, &err) ==
                      POSREF_BAD_INPUT, "%s", damage[i]);
        ck_assert_msg(strstr(err.text, "damaged"), "%s", err.text);
        posref_db_close(broken);
    }
}
END_TEST

START_TEST(schema_says_what_the_code_checks)
{
    sqlite3 *memory;
    sqlite3_stmt *row;
    ck_assert(sqlite3_open(":memory:", &memory) == SQLITE_OK);
    ck_assert(sqlite3_exec(memory, posref_embedded_find("vectors.sql"), NULL, NULL, NULL) ==
              SQLITE_OK);
    ck_assert(sqlite3_prepare_v2(memory, "PRAGMA application_id", -1, &row, NULL) == SQLITE_OK &&
              sqlite3_step(row) == SQLITE_ROW);
    ck_assert_int_eq(sqlite3_column_int(row, 0), POSREF_DB_APPLICATION);
    sqlite3_finalize(row);
    ck_assert(sqlite3_prepare_v2(memory, "PRAGMA user_version", -1, &row, NULL) == SQLITE_OK &&
              sqlite3_step(row) == SQLITE_ROW);
    ck_assert_int_eq(sqlite3_column_int(row, 0), POSREF_DB_SCHEMA);
    sqlite3_finalize(row);
    sqlite3_close(memory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("db");
    TCase *tests = tcase_create("db");
    tcase_set_timeout(tests, 0);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, pages_join_up);
    tcase_add_test(tests, filters);
    tcase_add_test(tests, filters_refused);
    tcase_add_test(tests, one_vector);
    tcase_add_test(tests, same_for_any_number_of_threads);
    tcase_add_test(tests, killed_generator);
    tcase_add_test(tests, no_database);
    tcase_add_test(tests, generation_refused);
    tcase_add_test(tests, damaged_rows);
    tcase_add_test(tests, schema_says_what_the_code_checks);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
