/* SPDX-License-Identifier: Apache-2.0 */
/* Which vectors and properties a run judges: see choice.h. */
#include "choice.h"

#include "property.h"

#include <stdlib.h>
#include <string.h>

/* One vector in so many is judged on drawn inputs too, unless all are asked for. */
#define FRESH_ONE_IN 16

static enum posref_status no_memory(struct posref_error *err)
{
    return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
}

/* Three texts, one after another. */
static bool keep(struct posref_choice *choice, const char *prefix, const char *id,
                 const char *suffix)
{
    const struct posref_arena arena = posref_heap_arena(choice->heap);
    const size_t size = strlen(prefix) + strlen(id) + strlen(suffix) + 1;
    char *copy = arena.alloc(arena.ctx, size);
    if (choice->n == choice->room) {
        size_t room = choice->room ? 2 * choice->room : 1024;
        const char **grown = realloc(choice->id, room * sizeof *grown);
        choice->failed = choice->failed || !grown;
        if (!grown)
            return false;
        choice->id = grown;
        choice->room = room;
    }
    choice->failed = choice->failed || !copy;
    if (!copy)
        return false;
    snprintf(copy, size, "%s%s%s", prefix, id, suffix);
    choice->id[choice->n++] = copy;
    return true;
}

static bool keep_id(void *ctx, const char *id, const char *summary, size_t length)
{
    (void)summary, (void)length;
    return keep(ctx, "", id, "");
}

/* ---- vectors on drawn inputs ---- */

struct fresh {
    struct posref_choice *choice;
    bool all;
};

/* Whether the vector is one of those that are always judged twice: by its id alone, so that all
 * shards agree. */
static bool is_sampled(const char *id)
{
    struct posref_draw draw = posref_draw_begin(0, id);
    return posref_draw_below(&draw, FRESH_ONE_IN) == 0;
}

/* Frequencies have no input. */
static bool keep_fresh(void *ctx, const char *id, const char *summary, size_t length)
{
    const struct fresh *fresh = ctx;
    static const char none[] = "\"op\": \"frequencies\"";
    if ((!fresh->all && !is_sampled(id)) || memmem(summary, length, none, strlen(none)))
        return true;
    return keep(fresh->choice, POSREF_FRESH_PREFIX, id, "");
}

static enum posref_status choose_fresh(struct posref_choice *choice, struct posref_db *db,
                                       const struct posref_test_options *options,
                                       struct posref_error *err)
{
    struct fresh fresh = {choice, options->fresh == POSREF_FRESH_ALL ||
                                      options->id_kind == POSREF_ID_FRESH};
    return posref_db_summaries(db, options->filter, options->suite, NULL, -1, keep_fresh, &fresh,
                               err);
}

/* ---- vectors in layouts ---- */

struct laying {
    struct posref_choice *choice;
    const struct posref_layout_choice *layouts;
};

static bool keep_layouts(void *ctx, const struct posref_vector *vector)
{
    const struct laying *laying = ctx;
    bool kept = true;
    for (int k = 0; k < POSREF_N_LAYOUTS && kept; k++) {
        const struct posref_layout *layout = posref_layout_at(k);
        if (!laying->layouts->layout[k] || !posref_layout_applies(layout, vector))
            continue;
        char suffix[64];
        snprintf(suffix, sizeof suffix, "@%s", layout->name);
        kept = keep(laying->choice, "", vector->id, suffix);
    }
    return kept;
}

static bool wants_any(const struct posref_layout_choice *layouts)
{
    bool any = false;
    for (int k = 0; k < POSREF_N_LAYOUTS; k++)
        any = any || layouts->layout[k];
    return any;
}

static enum posref_status choose_layouts(struct posref_choice *choice, struct posref_db *db,
                                         const struct posref_test_options *options,
                                         const struct posref_layout_choice *layouts,
                                         struct posref_error *err)
{
    struct laying laying = {choice, layouts};
    if (!wants_any(layouts))
        return POSREF_OK;
    return posref_db_each(db, options->filter, options->suite, NULL, -1, keep_layouts, &laying,
                          err);
}

/* ---- properties ---- */

static enum posref_status choose_properties(struct posref_choice *choice,
                                            const struct posref_test_options *options,
                                            struct posref_error *err)
{
    struct posref_property_case at;
    struct posref_vector vector;
    for (int k = 0; posref_property_case_at(&at, k); k++) {
        enum posref_status status = posref_property_vector(&vector, &at, err);
        if (status != POSREF_OK)
            return posref_fail(err, POSREF_INTERNAL, at.id, "is no property of a good spec");
        if (posref_filter_matches(options->filter, &vector))
            (void)keep(choice, "", at.id, "");
    }
    return POSREF_OK;
}

/* ---- all ---- */

static int compare_ids(const void *a, const void *b)
{
    return posref_id_compare(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts the chosen ids, and takes their SHA-256. */
static enum posref_status digest(struct posref_choice *choice, struct posref_error *err)
{
    struct posref_buffer ids;
    qsort(choice->id, choice->n, sizeof *choice->id, compare_ids);
    posref_buffer_init(&ids, (size_t)1 << 28);
    for (size_t k = 0; k < choice->n; k++) {
        posref_buffer_text(&ids, choice->id[k]);
        posref_buffer_text(&ids, "\n");
    }
    const bool failed = ids.failed;
    if (!failed)
        posref_sha256_hex(choice->selection, ids.data, ids.length);
    posref_buffer_clear(&ids);
    return failed ? no_memory(err) : POSREF_OK;
}

/* Only every shard_of-th of them. */
static enum posref_status keep_shard(struct posref_choice *choice,
                                     const struct posref_test_options *options,
                                     struct posref_error *err)
{
    choice->n_selected = choice->n;
    if (options->shard_of == 0)
        return POSREF_OK;
    if ((size_t)options->shard_of > choice->n)
        return posref_fail(err, POSREF_BAD_INPUT, "--shard", "%d shards, but only %zu vectors",
                           options->shard_of, choice->n);
    size_t kept = 0;
    for (size_t k = (size_t)options->shard - 1; k < choice->n; k += (size_t)options->shard_of)
        choice->id[kept++] = choice->id[k];
    choice->n = kept;
    return POSREF_OK;
}

/* id= is a prefix; where something has just this name, it is meant alone. */
static void keep_exact(struct posref_choice *choice, const struct posref_test_options *options)
{
    for (size_t k = 0; k < choice->n && options->id; k++)
        if (strcmp(choice->id[k], options->id) == 0) {
            choice->id[0] = choice->id[k];
            choice->n = 1;
        }
}

enum posref_status posref_choose(struct posref_choice *out, struct posref_db *db,
                                 const struct posref_test_options *options,
                                 const struct posref_layout_choice *layouts,
                                 struct posref_error *err)
{
    const enum posref_id_kind kind = options->id_kind;
    /* Answers are those to a database's questions alone. */
    const bool plugin = !options->answers && layouts->plain;
    enum posref_status status = POSREF_OK;
    *out = (struct posref_choice){.heap = posref_heap_new(0)};
    if (!out->heap)
        return no_memory(err);
    if (layouts->plain && (kind == POSREF_ID_ANY || kind == POSREF_ID_GOLDEN))
        status = posref_db_summaries(db, options->filter, options->suite, NULL, -1, keep_id, out,
                                     err);
    if (status == POSREF_OK && plugin && (kind == POSREF_ID_FRESH ||
        (kind == POSREF_ID_ANY && options->fresh != POSREF_FRESH_NONE)))
        status = choose_fresh(out, db, options, err);
    if (status == POSREF_OK && (kind == POSREF_ID_ANY || kind == POSREF_ID_LAYOUT ||
                                (kind == POSREF_ID_GOLDEN && layouts->given)))
        status = choose_layouts(out, db, options, layouts, err);
    if (status == POSREF_OK && plugin && (kind == POSREF_ID_PROPERTY ||
        (kind == POSREF_ID_ANY && !options->no_properties)))
        status = choose_properties(out, options, err);
    if (status == POSREF_OK && out->failed)
        status = no_memory(err);
    if (status != POSREF_OK)
        return status;
    keep_exact(out, options);
    if (out->n == 0)
        return posref_fail(err, POSREF_BAD_INPUT, "", "no vector matches");
    status = digest(out, err);
    return status == POSREF_OK ? keep_shard(out, options, err) : status;
}

void posref_choice_clear(struct posref_choice *choice)
{
    posref_heap_free(choice->heap);
    free(choice->id);
    *choice = (struct posref_choice){.heap = NULL};
}
