/* SPDX-License-Identifier: Apache-2.0 */
/* Filters: KEY=VALUE conditions on vectors, turned into SQL over the attribute table. */
#include "vectors/db.h"

#include <stdlib.h>
#include <string.h>

#define MAX_CONDITIONS 64
#define MAX_VALUE POSREF_MAX_FIELD_TEXT

struct condition {
    char key[48];
    char value[MAX_VALUE];
    bool from_model; /* a later condition on the same key replaces it */
};

struct posref_filter {
    struct condition item[MAX_CONDITIONS];
    int n;
    struct posref_request request; /* model and allow_unverified (which must come first) */
};

struct posref_filter *posref_filter_new(void)
{
    struct posref_filter *filter = malloc(sizeof *filter);
    if (filter)
        filter->n = 0; /* the conditions are large, and written when they come */
    return filter;
}

void posref_filter_free(struct posref_filter *filter)
{
    free(filter);
}

static enum posref_status unknown_key(const char *key, struct posref_error *err)
{
    const char *names[POSREF_N_FIELDS + 6] = {"op", "id", "flag", "model", "allow_unverified"};
    for (int f = 0; f < POSREF_N_FIELDS; f++)
        names[5 + f] = posref_field_def((enum posref_field)f)->name;
    const char *near = posref_nearest(key, names);
    if (near)
        return posref_fail(err, POSREF_BAD_INPUT, key, "unknown key; did you mean %s?", near);
    return posref_fail(err, POSREF_BAD_INPUT, key, "unknown key");
}

/* The value as it is stored: base=1e4 finds base=10000. */
static enum posref_status canonical_value(char out[MAX_VALUE], const char *key, const char *value,
                                          struct posref_error *err)
{
    struct posref_spec spec;
    struct posref_buffer text;
    int field = posref_field_find(key);
    posref_spec_init(&spec);
    enum posref_status status = posref_spec_set(&spec, key, value, err);
    if (status != POSREF_OK)
        return status;
    posref_buffer_init(&text, MAX_VALUE);
    posref_field_text(&text, &spec, (enum posref_field)field);
    snprintf(out, MAX_VALUE, "%s", text.data ? text.data : "");
    posref_buffer_clear(&text);
    return POSREF_OK;
}

static bool has_condition(const struct posref_filter *filter, const char *key)
{
    for (int i = 0; i < filter->n; i++)
        if (strcmp(filter->item[i].key, key) == 0)
            return true;
    return false;
}

/* model=NAME: every field of that preset's completed spec, but for those that are given. */
static enum posref_status add_model(struct posref_filter *filter, struct posref_error *err)
{
    struct posref_spec spec;
    enum posref_status status = posref_request_settle(&filter->request, err);
    if (status != POSREF_OK)
        return status;
    spec = filter->request.spec;
    status = posref_spec_complete(&spec, err);
    for (int f = 0; status == POSREF_OK && f < POSREF_N_FIELDS; f++) {
        const struct posref_field_def *def = posref_field_def((enum posref_field)f);
        struct posref_buffer text;
        if (!spec.given[f] || has_condition(filter, def->name))
            continue;
        posref_buffer_init(&text, MAX_VALUE);
        posref_field_text(&text, &spec, (enum posref_field)f);
        posref_buffer_add(&text, "", 1);
        status = text.failed ? posref_fail(err, POSREF_BAD_INPUT, "model", "%s is too long",
                                           def->name)
                             : posref_filter_add(filter, def->name, text.data, err);
        if (status == POSREF_OK)
            filter->item[filter->n - 1].from_model = true;
        posref_buffer_clear(&text);
    }
    return status;
}

/* Drops what a model said of the key. */
static void replace_model(struct posref_filter *filter, const char *key)
{
    for (int i = 0; i < filter->n; i++)
        if (filter->item[i].from_model && strcmp(filter->item[i].key, key) == 0)
            filter->item[i--] = filter->item[--filter->n];
}

enum posref_status posref_filter_add(struct posref_filter *filter, const char *key,
                                     const char *value, struct posref_error *err)
{
    struct condition condition = {{0}, {0}, false};
    if (strcmp(key, "model") == 0 || strcmp(key, "allow_unverified") == 0) {
        enum posref_status status = posref_request_set_field(&filter->request, key, value, err);
        return status == POSREF_OK && *key == 'm' ? add_model(filter, err) : status;
    }
    replace_model(filter, key);
    if (filter->n == MAX_CONDITIONS)
        return posref_fail(err, POSREF_BAD_INPUT, key, "more than %d conditions", MAX_CONDITIONS);
    if (strlen(value) >= MAX_VALUE)
        return posref_fail(err, POSREF_BAD_INPUT, key, "value longer than %d bytes", MAX_VALUE - 1);
    bool plain = strcmp(key, "id") == 0 || strcmp(key, "flag") == 0;
    if (strcmp(key, "op") == 0) {
        if (posref_op_find(value) < 0)
            return posref_fail(err, POSREF_BAD_INPUT, key, "'%.40s' is no op", value);
        plain = true;
    }
    if (!plain && posref_field_find(key) < 0)
        return unknown_key(key, err);
    snprintf(condition.key, sizeof condition.key, "%s", key);
    enum posref_status status = POSREF_OK;
    if (plain)
        snprintf(condition.value, sizeof condition.value, "%s", value);
    else
        status = canonical_value(condition.value, key, value, err);
    if (status == POSREF_OK)
        filter->item[filter->n++] = condition;
    return status;
}

/* A condition that looks for itself among a vector's attributes. */
struct search {
    const struct condition *condition;
    bool found;
};

static bool look(void *ctx, const char *key, const char *value, size_t length)
{
    struct search *search = ctx;
    const struct condition *wanted = search->condition;
    search->found = search->found || (strcmp(key, wanted->key) == 0 &&
                                      strlen(wanted->value) == length &&
                                      memcmp(value, wanted->value, length) == 0);
    return true;
}

bool posref_filter_matches(const struct posref_filter *filter, const struct posref_vector *vector)
{
    struct posref_buffer spec;
    bool matches = true;
    posref_buffer_init(&spec, 1 << 16);
    posref_spec_text(&spec, &vector->spec);
    for (int i = 0; filter && i < filter->n && matches; i++) {
        struct search search = {&filter->item[i], false};
        if (strcmp(filter->item[i].key, "id") == 0)
            search.found = strncmp(vector->id, filter->item[i].value,
                                   strlen(filter->item[i].value)) == 0;
        else if (!spec.failed)
            (void)posref_attributes_each(posref_op_name(vector->op), spec.data, vector->flags, look,
                                         &search);
        matches = search.found;
    }
    posref_buffer_clear(&spec);
    return matches;
}

void posref_filter_where(struct posref_buffer *sql, const struct posref_filter *filter)
{
    for (int i = 0; filter && i < filter->n; i++) {
        if (strcmp(filter->item[i].key, "id") == 0)
            posref_buffer_text(sql, " AND substr(v.id, 1, length(?)) = ?");
        else
            posref_buffer_text(sql, " AND EXISTS (SELECT 1 FROM attribute a WHERE a.key = ? AND "
                                    "a.value = ? AND a.vector = v.n)");
    }
}

void posref_filter_bind(sqlite3_stmt *statement, int first, const struct posref_filter *filter)
{
    for (int i = 0; filter && i < filter->n; i++) {
        const struct condition *condition = &filter->item[i];
        bool id = strcmp(condition->key, "id") == 0;
        sqlite3_bind_text(statement, first++, id ? condition->value : condition->key, -1,
                          SQLITE_STATIC);
        sqlite3_bind_text(statement, first++, condition->value, -1, SQLITE_STATIC);
    }
}
