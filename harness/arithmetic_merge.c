/* SPDX-License-Identifier: Apache-2.0 */
/* Joining the arithmetic of the shards of a run: see report_arithmetic.h. */
#include "report_arithmetic.h"

#include "report_fields.h"

#include <stdlib.h>

/* Adds up numbers of one name. */
static void add_up(json_t *into, const json_t *from, const char *key)
{
    const json_t *a = json_object_get(into, key), *b = json_object_get(from, key);
    if (json_is_integer(a) && json_is_integer(b))
        json_object_set_new(into, key, json_integer(json_integer_value(a) +
                                                    json_integer_value(b)));
    else
        json_object_set_new(into, key, json_real(number_of(into, key) + number_of(from, key)));
}

static void keep_larger(json_t *into, const json_t *from, const char *key)
{
    if (number_of(from, key) > number_of(into, key))
        json_object_set(into, key, json_object_get(from, key));
}

/* The element of a list whose member `key` has the same value; NULL: none. */
static json_t *find(const json_t *list, const json_t *like, const char *key)
{
    for (size_t k = 0; k < json_array_size(list); k++)
        if (json_equal(json_object_get(json_array_get(list, k), key), json_object_get(like, key)))
            return json_array_get(list, k);
    return NULL;
}

static void merge_recipes(json_t *into, const json_t *from)
{
    for (size_t k = json_array_size(into); k-- > 0;) {
        json_t *mine = json_array_get(into, k);
        const json_t *other = find(from, mine, "recipe");
        if (!other) {
            json_array_remove(into, k);
            continue;
        }
        add_up(mine, other, "agree");
        add_up(mine, other, "tell");
        keep_larger(mine, other, "largest_u");
    }
}

/* Sparse counts, [bucket, count], in the order of the buckets. */
static json_t *merge_buckets(const json_t *a, const json_t *b)
{
    json_t *out = json_array();
    size_t i = 0, j = 0;
    while (i < json_array_size(a) || j < json_array_size(b)) {
        const json_t *x = json_array_get(a, i), *y = json_array_get(b, j);
        const json_int_t at_x = x ? json_integer_value(json_array_get(x, 0)) : INT64_MAX;
        const json_int_t at_y = y ? json_integer_value(json_array_get(y, 0)) : INT64_MAX;
        json_int_t count = 0;
        if (at_x <= at_y) {
            count += json_integer_value(json_array_get(x, 1));
            i++;
        }
        if (at_y <= at_x) {
            count += json_integer_value(json_array_get(y, 1));
            j++;
        }
        json_t *pair = json_array();
        json_array_append_new(pair, json_integer(at_x < at_y ? at_x : at_y));
        json_array_append_new(pair, json_integer(count));
        json_array_append_new(out, pair);
    }
    return out;
}

static void merge_decades(json_t *into, const json_t *from)
{
    for (size_t k = 0; k < json_array_size(from); k++) {
        const json_t *other = json_array_get(from, k);
        json_t *mine = find(into, other, "bin");
        if (!mine) {
            size_t at = 0;
            while (integer_of(json_array_get(into, at), "bin") < integer_of(other, "bin") &&
                   at < json_array_size(into))
                at++;
            json_array_insert_new(into, at, json_deep_copy(other));
            continue;
        }
        json_object_set_new(mine, "buckets", merge_buckets(json_object_get(mine, "buckets"),
                                                           json_object_get(other, "buckets")));
        add_up(mine, other, "n");
        add_up(mine, other, "signed_sum");
        keep_larger(mine, other, "worst");
    }
}

/* Ascending lists of positions as one, each once. */
static json_t *merge_positions(const json_t *a, const json_t *b)
{
    json_t *out = json_array();
    size_t i = 0, j = 0;
    while (i < json_array_size(a) || j < json_array_size(b)) {
        json_t *x = json_array_get(a, i), *y = json_array_get(b, j);
        const double at_x = x ? json_number_value(x) : HUGE_VAL;
        const double at_y = y ? json_number_value(y) : HUGE_VAL;
        json_array_append(out, at_x <= at_y ? x : y);
        i += at_x <= at_y;
        j += at_y <= at_x;
    }
    return out;
}

/* The last position below another; -1: none. */
static double last_below(const json_t *positions, double position)
{
    size_t low = 0, high = json_array_size(positions);
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (json_number_value(json_array_get(positions, middle)) < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? json_number_value(json_array_get(positions, low - 1)) : -1;
}

/* Steps of both where the error grows still, each after the last position before it. */
static json_t *merge_steps(const json_t *a, const json_t *b, const json_t *positions)
{
    json_t *out = json_array();
    size_t i = 0, j = 0;
    double worst = 0;
    while (i < json_array_size(a) || j < json_array_size(b)) {
        const json_t *x = json_array_get(a, i), *y = json_array_get(b, j);
        const double at_x = x ? posref_step_part(x, 1) : HUGE_VAL;
        const double at_y = y ? posref_step_part(y, 1) : HUGE_VAL;
        const bool first = at_x < at_y || (at_x == at_y && posref_step_part(x, 2) >=
                                                               posref_step_part(y, 2));
        const json_t *step = first ? x : y;
        const double at = first ? at_x : at_y, error = posref_step_part(step, 2);
        i += first;
        j += !first;
        if (!(error > worst))
            continue;
        worst = error;
        json_t *copy = json_deep_copy(step);
        json_array_set_new(copy, 0, json_real(last_below(positions, at)));
        json_array_append_new(out, copy);
    }
    return out;
}

static void merge_entry(json_t *into, const json_t *from)
{
    add_up(into, from, "failed");
    add_up(into, from, "elements");
    merge_recipes(json_object_get(into, "tried"), json_object_get(from, "tried"));
    merge_decades(json_object_get(into, "decades"), json_object_get(from, "decades"));
    json_object_set_new(into, "positions", merge_positions(json_object_get(into, "positions"),
                                                           json_object_get(from, "positions")));
    json_object_set_new(into, "steps", merge_steps(json_object_get(into, "steps"),
                                                   json_object_get(from, "steps"),
                                                   json_object_get(into, "positions")));
    keep_larger(into, from, "farthest");
}

void posref_arithmetic_merge(json_t *into, const json_t *list)
{
    for (size_t k = 0; k < json_array_size(list); k++) {
        const json_t *other = json_array_get(list, k);
        bool found = false;
        for (size_t j = 0; j < json_array_size(into) && !found; j++) {
            json_t *mine = json_array_get(into, j);
            found = strcmp(text_of(mine, "scheme"), text_of(other, "scheme")) == 0 &&
                    strcmp(text_of(mine, "dtype"), text_of(other, "dtype")) == 0;
            if (found)
                merge_entry(mine, other);
        }
        if (!found)
            json_array_append_new(into, json_deep_copy(other));
    }
}

/* The place of an entry in a run: by scheme, then by dtype. */
static int place_of(const json_t *entry)
{
    int scheme = 0;
    while (scheme < POSREF_N_SCHEMES &&
           strcmp(posref_scheme_info((enum posref_scheme)scheme)->name,
                  text_of(entry, "scheme")) != 0)
        scheme++;
    return scheme * POSREF_N_DTYPES + posref_dtype_find(text_of(entry, "dtype"));
}

void posref_arithmetic_merge_end(json_t *list)
{
    for (size_t k = 0; k < json_array_size(list); k++) {
        json_t *entry = json_array_get(list, k);
        size_t at = k;
        json_object_del(entry, "positions");
        while (at > 0 && place_of(json_array_get(list, at - 1)) > place_of(entry))
            at--;
        json_incref(entry);
        json_array_remove(list, k);
        json_array_insert_new(list, at, entry);
    }
}
