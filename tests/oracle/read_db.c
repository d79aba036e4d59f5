/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a posref database with SQLite alone (schema/vectors.sql): the tensors are the truth, and
 * the JSON that is served for them must say the same. */
#include "oracle.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct oracle_db {
    sqlite3 *handle;
    sqlite3_stmt *vector, *tensors, *answer, *prompt;
    int64_t *n, count; /* the vectors' keys, in the order of ids */
};

static sqlite3_stmt *prepare(struct oracle_db *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    return sqlite3_prepare_v2(db->handle, sql, -1, &statement, NULL) == SQLITE_OK ? statement
                                                                                  : NULL;
}

static bool bind(sqlite3_stmt *statement, int at, const char *text)
{
    return !text || sqlite3_bind_text(statement, at, text, -1, NULL) == SQLITE_OK;
}

/* The keys of the suite's vectors, or of the one with that id. False: none. */
static bool list_vectors(struct oracle_db *db, const char *suite, const char *id)
{
    sqlite3_stmt *row = prepare(db, "SELECT n FROM vector WHERE suite <= (SELECT max(rank) FROM "
                                    "suite WHERE name = ?1 OR ?1 IS NULL) AND (id = ?2 OR ?2 IS "
                                    "NULL) ORDER BY n");
    sqlite3_stmt *number = prepare(db, "SELECT count(*) FROM vector");
    int64_t capacity = number && sqlite3_step(number) == SQLITE_ROW
                           ? sqlite3_column_int64(number, 0) : 0;
    sqlite3_finalize(number);
    db->n = malloc(((size_t)capacity + 1) * sizeof *db->n);
    int step = SQLITE_ERROR;
    if (row && db->n && bind(row, 1, suite) && bind(row, 2, id))
        while ((step = sqlite3_step(row)) == SQLITE_ROW && db->count < capacity)
            db->n[db->count++] = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return step == SQLITE_DONE && db->count > 0;
}

struct oracle_db *oracle_db_open(const char *path, const char *suite, const char *id,
                                 char error[256])
{
    struct oracle_db *db = calloc(1, sizeof *db);
    if (!db || sqlite3_open_v2(path, &db->handle, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
        snprintf(error, 256, "%s: cannot be opened", path);
        oracle_db_close(db);
        return NULL;
    }
    db->vector = prepare(db, "SELECT id, op, spec FROM vector WHERE n = ?1");
    db->tensors = prepare(db, "SELECT output, name, dtype, shape, data FROM tensor "
                              "WHERE vector = ?1 ORDER BY output, place");
    db->answer = prepare(db, "SELECT json FROM document WHERE vector = ?1");
    db->prompt = prepare(db, "SELECT substr(json, 1, prompt_bytes) || '}' || char(10) "
                             "FROM document WHERE vector = ?1");
    if (!db->vector || !db->tensors || !db->answer || !db->prompt || !list_vectors(db, suite, id)) {
        snprintf(error, 256, "%s: no posref database, or no such suite or vector", path);
        oracle_db_close(db);
        return NULL;
    }
    return db;
}

void oracle_db_close(struct oracle_db *db)
{
    if (!db)
        return;
    sqlite3_finalize(db->vector);
    sqlite3_finalize(db->tensors);
    sqlite3_finalize(db->answer);
    sqlite3_finalize(db->prompt);
    sqlite3_close(db->handle);
    free(db->n);
    free(db);
}

int64_t oracle_db_count(const struct oracle_db *db)
{
    return db->count;
}

static const char *column(sqlite3_stmt *statement, int at)
{
    const char *text = (const char *)sqlite3_column_text(statement, at);
    return text ? text : "";
}

/* "4,2,128"; "" is a scalar. Returns the rank, or -1. */
static int read_shape(int64_t shape[ORACLE_MAX_RANK], const char *text)
{
    int rank = 0;
    while (*text) {
        char *end;
        long long size = strtoll(text, &end, 10);
        if (end == text || size < 0 || size > 1 << 28 || rank == ORACLE_MAX_RANK)
            return -1;
        shape[rank++] = size;
        text = *end == ',' ? end + 1 : end;
        if (*end && *end != ',')
            return -1;
    }
    return rank;
}

/* A double, or a 64-bit integer of at most 53 bits, as a double. */
static double little_endian(const unsigned char bytes[8], bool integer)
{
    uint64_t bits = 0;
    double x;
    for (int i = 7; i >= 0; i--)
        bits = bits << 8 | bytes[i];
    if (integer)
        return (double)(int64_t)bits;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static bool read_tensor(struct oracle_case *c, sqlite3_stmt *row)
{
    const char *name = column(row, 1);
    int64_t shape[ORACLE_MAX_RANK], count = 1;
    int rank = read_shape(shape, column(row, 3));
    const unsigned char *data = sqlite3_column_blob(row, 4);
    int64_t size = sqlite3_column_bytes(row, 4);
    for (int i = 0; i < rank; i++)
        count *= shape[i];
    const bool integer = strcmp(column(row, 2), "i64") == 0;
    if (!integer && strcmp(column(row, 2), "f64") != 0)
        return oracle_fail(c, "tensor %s: the oracle reads f64 and i64, not %s", name,
                           column(row, 2));
    if (rank < 0 || size != 8 * count)
        return oracle_fail(c, "tensor %s: size and shape disagree", name);
    double *values = malloc((size_t)size + sizeof *values);
    for (int64_t k = 0; values && k < count; k++)
        values[k] = little_endian(data + 8 * k, integer);
    return oracle_case_add(c, sqlite3_column_int(row, 0) != 0, name, rank, shape, values);
}

static bool read_spec(struct oracle_case *c, const char *text)
{
    char *copy = strdup(text), *save = NULL;
    bool ok = copy != NULL;
    for (char *word = ok ? strtok_r(copy, " ", &save) : NULL; ok && word;
         word = strtok_r(NULL, " ", &save)) {
        char *equals = strchr(word, '=');
        if (equals)
            *equals = 0;
        ok = equals ? oracle_case_set(c, word, equals + 1)
                    : oracle_fail(c, "spec: %s has no value", word);
    }
    free(copy);
    return ok;
}

/* The tensor that each op is about: stored, or there is nothing to certify. */
static bool has_output(struct oracle_case *c, const char *op)
{
    static const char *const wanted[][2] = {
        {"frequencies", "inv_freq"}, {"frequencies", "slopes"}, {"table", "cos"},
        {"table", "table"}, {"rotate", "y"}, {"rotate_backward", "dx"}, {"embed", "y"},
        {"bias", "bias"},
        {"weights", "weights"},
        {"scores", "scores"},
        {"attention", "attention"},
        {"index", "index"},
        {"index", "buckets"},
        {"table", "coordinates"}, {"table", "angles"},
        {"table", "contextual_positions"}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (strcmp(op, wanted[i][0]) == 0 && oracle_output(c, wanted[i][1]))
            return true;
    return oracle_fail(c, "op %s: its output is not there, or the oracle does not know it", op);
}

static bool same_tensors(struct oracle_case *c, const struct oracle_tensor *a, int n_a,
                         const struct oracle_tensor *b, int n_b)
{
    for (int i = 0; i < n_a || i < n_b; i++) {
        const struct oracle_tensor *x = &a[i], *y = NULL;
        for (int j = 0; i < n_a && j < n_b; j++)
            if (strcmp(x->name, b[j].name) == 0)
                y = &b[j];
        if (!y || n_a != n_b || x->rank != y->rank ||
            memcmp(x->shape, y->shape, sizeof x->shape) != 0 ||
            memcmp(x->data, y->data, (size_t)x->count * sizeof *x->data) != 0)
            return oracle_fail(c, "tensor %s: the stored JSON says otherwise",
                               i < n_a ? x->name : "missing");
    }
    return true;
}

/* Equal texts, or numbers (or lists of them) that read to the same doubles. */
static bool same_value(const char *a, const char *b)
{
    for (const char *text_a = a, *text_b = b;;) {
        char *end_a, *end_b;
        double x = strtod(text_a, &end_a), y = strtod(text_b, &end_b);
        if (end_a == text_a || end_b == text_b || *end_a != *end_b || (*end_a && *end_a != ','))
            return strcmp(a, b) == 0;
        if (x != y || !*end_a)
            return x == y;
        text_a = end_a + 1;
        text_b = end_b + 1;
    }
}

static bool same_fields(struct oracle_case *c, const struct oracle_case *json)
{
    for (int i = 0; i < c->n_fields; i++) {
        const char *text = oracle_text(json, c->field[i].key);
        if (!text || !same_value(text, c->field[i].value))
            return oracle_fail(c, "spec %s: the stored JSON says otherwise", c->field[i].key);
    }
    return c->n_fields == json->n_fields || oracle_fail(c, "spec: the stored JSON has more fields");
}

/* One stored document against the tensors; a prompt has no outputs. */
static bool check_document(sqlite3_stmt *row, int64_t n, struct oracle_case *c, bool is_answer)
{
    struct oracle_case json;
    oracle_case_init(&json, "");
    sqlite3_reset(row);
    bool ok = sqlite3_bind_int64(row, 1, n) == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW;
    if (!ok)
        oracle_fail(c, "no stored JSON");
    else if (!oracle_read_json(&json, sqlite3_column_blob(row, 0),
                               (size_t)sqlite3_column_bytes(row, 0)))
        ok = oracle_fail(c, "stored %.200s", json.error);
    else if (strcmp(json.id, c->id) != 0)
        ok = oracle_fail(c, "stored JSON is of %s", json.id);
    else
        ok = same_fields(c, &json) &&
             same_tensors(c, c->input, c->n_inputs, json.input, json.n_inputs) &&
             same_tensors(c, c->output, is_answer ? c->n_outputs : 0, json.output, json.n_outputs);
    oracle_case_clear(&json);
    return ok;
}

bool oracle_db_json(struct oracle_db *db, int64_t at, struct oracle_case *c)
{
    return check_document(db->answer, db->n[at], c, true) &&
           check_document(db->prompt, db->n[at], c, false);
}

bool oracle_db_case(struct oracle_db *db, int64_t at, struct oracle_case *c)
{
    sqlite3_reset(db->vector);
    if (sqlite3_bind_int64(db->vector, 1, db->n[at]) != SQLITE_OK ||
        sqlite3_step(db->vector) != SQLITE_ROW)
        return oracle_fail(c, "vector %lld cannot be read", (long long)db->n[at]);
    snprintf(c->id, sizeof c->id, "%s", column(db->vector, 0));
    bool ok = read_spec(c, column(db->vector, 2));
    sqlite3_reset(db->tensors);
    int step = sqlite3_bind_int64(db->tensors, 1, db->n[at]);
    while (ok && (step = sqlite3_step(db->tensors)) == SQLITE_ROW)
        ok = read_tensor(c, db->tensors);
    if (ok && step != SQLITE_DONE)
        ok = oracle_fail(c, "its tensors cannot be read");
    return ok && has_output(c, column(db->vector, 1));
}
