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
            json_array_append_new(into, json_deep_copy(other));
            continue;
        }
        json_object_set_new(mine, "buckets", merge_buckets(json_object_get(mine, "buckets"),
                                                           json_object_get(other, "buckets")));
        add_up(mine, other, "n");
        add_up(mine, other, "signed_sum");
        keep_larger(mine, other, "worst");
    }
}

/* The last position that a list of steps knows of below another. */
static double last_below(const json_t *steps, double farthest, double position)
{
    double last = farthest < position ? farthest : -1;
    for (size_t k = 0; k < json_array_size(steps); k++)
        for (size_t part = 0; part < 2; part++) {
            const double at = posref_step_part(json_array_get(steps, k), part);
            last = at < position && at > last ? at : last;
        }
    return last;
}

/* Steps of both where the error grows still. The position before one is the last that is known of:
 * there may have been a later one, which is then not claimed. */
static json_t *merge_steps(const json_t *a, double a_farthest, const json_t *b, double b_farthest)
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
        const double from_a = last_below(a, a_farthest, at);
        const double from_b = last_below(b, b_farthest, at);
        json_t *copy = json_deep_copy(step);
        json_array_set_new(copy, 0, json_real(fmax(from_a, from_b)));
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
    json_object_set_new(into, "steps",
                        merge_steps(json_object_get(into, "steps"), number_of(into, "farthest"),
                                    json_object_get(from, "steps"), number_of(from, "farthest")));
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
