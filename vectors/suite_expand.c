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
    json_t *const *files;
    size_t n_files;
    const json_t *sets; /* of the file at hand */
    struct posref_case *item;
    size_t n;
};

/* The set called `name` in the file at hand, else in the first file that has one. */
static const json_t *find_set(const struct expansion *to, const char *name)
{
    const json_t *set = json_object_get(to->sets, name);
    for (size_t i = 0; i < to->n_files && !set; i++)
        set = json_object_get(json_object_get(to->files[i], "sets"), name);
    return set;
}

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
        const json_t *set = find_set(to, json_string_value(value));
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

static enum posref_status expand_groups(struct expansion *to, const json_t *file, int suite)
{
    size_t i, first = to->n;
    json_t *group;
    to->sets = json_object_get(file, "sets");
    json_array_foreach(json_object_get(file, "groups"), i, group) {
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
    for (; first < to->n; first++)
        to->item[first].suite = suite;
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

/* Moves the cases whose ids match a pattern of a smaller suite into it; each pattern must match. */
static enum posref_status select_cases(struct expansion *to, const json_t *file, int suite)
{
    size_t i;
    json_t *pattern;
    json_array_foreach(json_object_get(file, "select"), i, pattern) {
        const char *text = json_is_string(pattern) ? json_string_value(pattern) : "";
        bool any = false;
        for (size_t c = 0; c < to->n; c++) {
            if (fnmatch(text, to->item[c].id, 0) != 0)
                continue;
            if (to->item[c].suite > suite + 1) /* is not there when only the next suite is made */
                return posref_fail(to->err, POSREF_BAD_INPUT, to->item[c].id,
                                   "is selected, but the next suite does not hold it");
            if (to->item[c].suite > suite)
                to->item[c].suite = suite;
            any = true;
        }
        if (!any)
            return posref_fail(to->err, POSREF_BAD_INPUT, text, "selects no case");
    }
    return POSREF_OK;
}

/* The rank of the suite that the file belongs to: a new one when it has a version. */
static enum posref_status name_suite(struct posref_case_list *list, int *suite, const json_t *file,
                                     const char *file_name, struct posref_error *err)
{
    const char *name = json_string_value(json_object_get(file, "suite"));
    const char *version = json_string_value(json_object_get(file, "version"));
    int n = list->n_suites;
    if (!name || strlen(name) >= sizeof list->suite[n].name)
        return posref_fail(err, POSREF_BAD_INPUT, file_name, "names no suite");
    for (*suite = 0; *suite < n; ++*suite)
        if (strcmp(list->suite[*suite].name, name) == 0)
            break;
    if ((*suite < n) == (version != NULL) || n == POSREF_MAX_SUITES ||
        (version && strlen(version) >= sizeof list->suite[n].version))
        return posref_fail(err, POSREF_BAD_INPUT, file_name,
                           "the first file of a suite, and no other, has its version");
    if (!version)
        return POSREF_OK;
    memcpy(list->suite[n].name, name, strlen(name) + 1);
    memcpy(list->suite[n].version, version, strlen(version) + 1);
    list->n_suites++;
    return POSREF_OK;
}

static enum posref_status expand_files(struct posref_case_list *out, json_t *const *file,
                                       const struct posref_suite_text *texts, size_t n_texts,
                                       const struct posref_arena *arena, struct posref_error *err)
{
    struct posref_case_list list = {.n = 0};
    struct expansion to = {.arena = arena, .err = err, .files = file, .n_files = n_texts};
    int suite[POSREF_MAX_SUITE_TEXTS];
    enum posref_status status = POSREF_OK;
    to.item = arena->alloc(arena->ctx, MAX_CASES * sizeof *to.item);
    if (!to.item)
        return posref_fail(err, POSREF_NO_MEMORY, "suites", "no memory");
    for (size_t i = 0; i < n_texts && status == POSREF_OK; i++) {
        status = name_suite(&list, &suite[i], file[i], texts[i].name, err);
        if (status == POSREF_OK)
            status = expand_groups(&to, file[i], suite[i]);
    }
    if (status == POSREF_OK)
        status = sort_cases(&to);
    for (size_t i = n_texts; i-- > 0 && status == POSREF_OK;) /* larger suites first */
        status = select_cases(&to, file[i], suite[i]);
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

enum posref_status posref_suites_expand(struct posref_case_list *out,
                                        const struct posref_suite_text *texts, size_t n_texts,
                                        const struct posref_arena *arena,
                                        struct posref_error *err)
{
    struct posref_case_list list;
    json_t *file[POSREF_MAX_SUITE_TEXTS] = {NULL};
    enum posref_status status = POSREF_OK;
    if (n_texts > POSREF_MAX_SUITE_TEXTS)
        return posref_fail(err, POSREF_INTERNAL, "suites", "more than %d files",
                           POSREF_MAX_SUITE_TEXTS);
    for (size_t i = 0; i < n_texts && status == POSREF_OK; i++) {
        file[i] = load(texts[i].json, texts[i].name, err);
        status = file[i] ? POSREF_OK : POSREF_BAD_INPUT;
    }
    if (status == POSREF_OK)
        status = expand_files(&list, file, texts, n_texts, arena, err);
    if (status == POSREF_OK)
        status = own_texts(&list, arena, err);
    for (size_t i = 0; i < n_texts; i++)
        json_decref(file[i]);
    if (status == POSREF_OK)
        *out = list;
    return status;
}

/* Whether the file called `name` declares a part of `suite`: SUITE.json or SUITE-PART.json. */
static bool is_part(const char *name, const char *suite, char after)
{
    size_t length = strlen(suite);
    return strncmp(name, suite, length) == 0 && name[length] == after &&
           (after == '-' || strcmp(name + length, ".json") == 0);
}

enum posref_status posref_suites_load(struct posref_case_list *out, const char *largest,
                                      const struct posref_arena *arena, struct posref_error *err)
{
    static const char *const suites[] = {"smoke", "core", "full"};
    struct posref_suite_text texts[POSREF_MAX_SUITE_TEXTS];
    size_t n = 0;
    bool done = false;
    /* smoke selects from core, so that it is never loaded without it */
    const size_t least = 2;
    for (size_t s = 0; s < sizeof suites / sizeof *suites && !(done && s >= least); s++) {
        for (const char *after = ".-"; *after; after++) {
            struct posref_suite_text text;
            for (size_t i = 0; posref_embedded_at(i, &text.name, &text.json); i++) {
                if (!is_part(text.name, suites[s], *after))
                    continue;
                if (n == POSREF_MAX_SUITE_TEXTS)
                    return posref_fail(err, POSREF_INTERNAL, "suites", "too many files");
                texts[n++] = text;
            }
        }
        done = done || (largest && strcmp(largest, suites[s]) == 0);
    }
    if (largest && !done)
        return posref_fail(err, POSREF_BAD_INPUT, "suite", "there is no suite '%.40s'", largest);
    return posref_suites_expand(out, texts, n, arena, err);
}
