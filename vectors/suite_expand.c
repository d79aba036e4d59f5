/* SPDX-License-Identifier: Apache-2.0 */
/* Expands the declared sweeps into a sorted case list: for each group, every combination of one
 * alternative for each {name} of its id. */
#include "vectors/embedded.h"
#include "vectors/suite_draft.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CASES 65536

struct expansion {
    const struct posref_arena *arena;
    struct posref_error *err;
    const json_t *sets;
    struct posref_case *item;
    size_t n;
};

/* What {name} can be: a list of alternatives, an alternative, or names of sets and lists of
 * those, flattened. */
struct choices {
    const json_t *item[256];
    size_t n;
};

static enum posref_status flatten(struct choices *out, const json_t *value, int depth,
                                  const struct expansion *to)
{
    if (json_is_string(value)) {
        const json_t *set = json_object_get(to->sets, json_string_value(value));
        if (!set || depth > 8)
            return posref_fail(to->err, POSREF_BAD_INPUT, json_string_value(value), "no such set");
        return flatten(out, set, depth + 1, to);
    }
    if (json_is_array(value)) {
        size_t i;
        json_t *part;
        json_array_foreach(value, i, part) {
            enum posref_status status = flatten(out, part, depth + 1, to);
            if (status != POSREF_OK)
                return status;
        }
        return POSREF_OK;
    }
    if (!json_is_object(value) || out->n == sizeof out->item / sizeof *out->item)
        return posref_fail(to->err, POSREF_BAD_INPUT, "of",
                           "too many alternatives, or not objects");
    out->item[out->n++] = value;
    return POSREF_OK;
}

static bool good_id(const char *id)
{
    size_t length = strlen(id);
    const char *last = strrchr(id, '/');
    return length < POSREF_MAX_ID && last && strcmp(last, "/check") != 0 && last[1] &&
           id[0] != '/' && !strstr(id, "//") &&
           strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789.-/") == length;
}

static enum posref_status add_case(struct expansion *to, struct posref_draft *draft,
                                   const char *id)
{
    bool wanted;
    if (!good_id(id))
        return posref_fail(to->err, POSREF_BAD_INPUT, id, "an id may not look like this");
    const char *copy = posref_arena_text(to->arena, id, strlen(id));
    if (!copy || to->n == MAX_CASES)
        return posref_fail(to->err, POSREF_NO_MEMORY, id, "no memory, or too many cases");
    enum posref_status status =
        posref_draft_finish(&to->item[to->n], &wanted, draft, copy, to->arena, to->err);
    if (status != POSREF_OK && to->err) {
        char text[sizeof to->err->text];
        snprintf(text, sizeof text, "%.60s: %.180s", to->err->key, to->err->text);
        return posref_fail(to->err, status, id, "%s", text);
    }
    to->n += wanted;
    return status;
}

/* The rest of the id's template, with what has been chosen before. */
static enum posref_status expand(struct expansion *to, const struct posref_draft *draft,
                                 const json_t *group, const char *rest, const char *id_so_far)
{
    char id[2 * POSREF_MAX_ID], name[32];
    const char *open = strchr(rest, '{');
    size_t plain = open ? (size_t)(open - rest) : strlen(rest);
    int length = snprintf(id, sizeof id, "%s%.*s", id_so_far, (int)plain, rest);
    if (length < 0 || length >= POSREF_MAX_ID)
        return posref_fail(to->err, POSREF_BAD_INPUT, rest, "the id is too long");
    if (!open) {
        struct posref_draft last = *draft;
        return add_case(to, &last, id);
    }
    size_t size = strcspn(open + 1, "}");
    if (size >= sizeof name || open[1 + size] != '}')
        return posref_fail(to->err, POSREF_BAD_INPUT, rest, "a brace of the id is not closed");
    memcpy(name, open + 1, size);
    name[size] = '\0';
    struct choices choices = {.n = 0};
    const json_t *of = json_object_get(json_object_get(group, "of"), name);
    enum posref_status status = of ? flatten(&choices, of, 0, to)
                                   : posref_fail(to->err, POSREF_BAD_INPUT, name, "not under of");
    for (size_t i = 0; i < choices.n && status == POSREF_OK; i++) {
        struct posref_draft next = *draft;
        const char *slug = json_string_value(json_object_get(choices.item[i], "slug"));
        if (!slug)
            return posref_fail(to->err, POSREF_BAD_INPUT, name, "an alternative has no slug");
        snprintf(id + length, sizeof id - (size_t)length, "%s", slug);
        status = posref_draft_add(&next, choices.item[i], to->err);
        if (status == POSREF_OK)
            status = expand(to, &next, group, open + size + 2, id);
    }
    return status;
}

static enum posref_status expand_groups(struct expansion *to, const json_t *core)
{
    size_t i;
    json_t *group;
    to->sets = json_object_get(core, "sets");
    json_array_foreach(json_object_get(core, "groups"), i, group) {
        struct posref_draft draft = {.dim_min = 0, .dim_max = 1e9};
        const char *id = json_string_value(json_object_get(group, "id"));
        if (!id)
            return posref_fail(to->err, POSREF_BAD_INPUT, "groups", "group %zu has no id", i);
        posref_spec_init(&draft.spec);
        enum posref_status status = posref_draft_add(&draft, group, to->err);
        if (status == POSREF_OK)
            status = expand(to, &draft, group, id, "");
        if (status != POSREF_OK)
            return status;
    }
    return POSREF_OK;
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(((const struct posref_case *)a)->id, ((const struct posref_case *)b)->id);
}

static enum posref_status sort_cases(struct expansion *to)
{
    qsort(to->item, to->n, sizeof *to->item, compare_ids);
    for (size_t i = 1; i < to->n; i++)
        if (strcmp(to->item[i - 1].id, to->item[i].id) == 0)
            return posref_fail(to->err, POSREF_BAD_INPUT, to->item[i].id, "declared twice");
    return POSREF_OK;
}

/* Marks the cases whose ids match a pattern of the smaller suite; each pattern must match. */
static enum posref_status select_cases(struct expansion *to, const json_t *smoke)
{
    size_t i;
    json_t *pattern;
    json_array_foreach(json_object_get(smoke, "select"), i, pattern) {
        const char *text = json_is_string(pattern) ? json_string_value(pattern) : "";
        bool any = false;
        for (size_t c = 0; c < to->n; c++) {
            if (fnmatch(text, to->item[c].id, 0) != 0)
                continue;
            to->item[c].suite = 0;
            any = true;
        }
        if (!any)
            return posref_fail(to->err, POSREF_BAD_INPUT, text, "selects no case");
    }
    return POSREF_OK;
}

static enum posref_status name_suite(struct posref_case_list *list, const json_t *suite,
                                     struct posref_error *err)
{
    const char *name = json_string_value(json_object_get(suite, "suite"));
    const char *version = json_string_value(json_object_get(suite, "version"));
    int n = list->n_suites++;
    if (!name || !version || strlen(name) >= sizeof list->suite[n].name ||
        strlen(version) >= sizeof list->suite[n].version)
        return posref_fail(err, POSREF_BAD_INPUT, "suite", "no name or no version, or too long");
    memcpy(list->suite[n].name, name, strlen(name) + 1);
    memcpy(list->suite[n].version, version, strlen(version) + 1);
    return POSREF_OK;
}

static enum posref_status expand_suites(struct posref_case_list *out, const json_t *core,
                                        const json_t *smoke, const struct posref_arena *arena,
                                        struct posref_error *err)
{
    struct posref_case_list list = {.n = 0};
    struct expansion to = {.arena = arena, .err = err};
    to.item = arena->alloc(arena->ctx, MAX_CASES * sizeof *to.item);
    if (!to.item)
        return posref_fail(err, POSREF_NO_MEMORY, "suites", "no memory");
    enum posref_status status = name_suite(&list, smoke, err);
    if (status == POSREF_OK)
        status = name_suite(&list, core, err);
    if (status == POSREF_OK)
        status = expand_groups(&to, core);
    if (status == POSREF_OK)
        status = sort_cases(&to);
    for (size_t i = 0; i < to.n; i++)
        to.item[i].suite = 1;
    if (status == POSREF_OK)
        status = select_cases(&to, smoke);
    if (status != POSREF_OK)
        return status;
    list.item = to.item;
    list.n = to.n;
    *out = list;
    return POSREF_OK;
}

/* The parsed JSON, whose strings the cases may borrow until they are copied. */
static json_t *load(const char *text, const char *name, struct posref_error *err)
{
    json_error_t json_err;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &json_err);
    if (!root)
        (void)posref_fail(err, POSREF_BAD_INPUT, name, "line %d: %s", json_err.line,
                          json_err.text);
    return root;
}

/* Ops and sources are the only texts still borrowed from the JSON. */
static enum posref_status own_texts(struct posref_case_list *list,
                                    const struct posref_arena *arena, struct posref_error *err)
{
    for (size_t i = 0; i < list->n; i++) {
        struct posref_case *item = &list->item[i];
        item->op = posref_arena_text(arena, item->op, strlen(item->op));
        item->source = posref_arena_text(arena, item->source, strlen(item->source));
        if (!item->op || !item->source)
            return posref_fail(err, POSREF_NO_MEMORY, item->id, "no memory");
    }
    return POSREF_OK;
}

enum posref_status posref_suites_expand(struct posref_case_list *out, const char *core_json,
                                        const char *smoke_json, const struct posref_arena *arena,
                                        struct posref_error *err)
{
    struct posref_case_list list;
    json_t *smoke = load(smoke_json, "smoke.json", err);
    json_t *core = smoke ? load(core_json, "core.json", err) : NULL;
    enum posref_status status =
        core ? expand_suites(&list, core, smoke, arena, err) : POSREF_BAD_INPUT;
    if (status == POSREF_OK)
        status = own_texts(&list, arena, err);
    json_decref(core);
    json_decref(smoke);
    if (status == POSREF_OK)
        *out = list;
    return status;
}

enum posref_status posref_suites_load(struct posref_case_list *out,
                                      const struct posref_arena *arena, struct posref_error *err)
{
    const char *core = posref_embedded_find("core.json");
    const char *smoke = posref_embedded_find("smoke.json");
    if (!core || !smoke)
        return posref_fail(err, POSREF_INTERNAL, "suites", "not built into the program");
    return posref_suites_expand(out, core, smoke, arena, err);
}
