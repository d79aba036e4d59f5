/* SPDX-License-Identifier: Apache-2.0 */
/* What a run judges: golden vectors by their ids, vectors again on inputs drawn anew (fresh/ID),
 * vectors in layouts (ID@LAYOUT), and properties (property/...), in this order. Private to
 * harness/. */
#ifndef POSREF_CHOICE_H
#define POSREF_CHOICE_H

#include "test_run.h"

#include <string.h>

#define POSREF_FRESH_PREFIX "fresh/"
#define POSREF_PROPERTY_PREFIX "property/"

/* Where "@LAYOUT" begins in an id; NULL: it names none. */
static inline const char *posref_id_layout(const char *id)
{
    return strrchr(id, '@');
}

struct posref_choice {
    struct posref_heap *heap;
    const char **id;
    size_t n, room;
    bool failed;        /* for want of memory */
    size_t n_selected;  /* of all shards */
    char selection[65]; /* SHA-256 of their ids, a line each */
};

static inline bool posref_id_is_fresh(const char *id)
{
    return strncmp(id, POSREF_FRESH_PREFIX, strlen(POSREF_FRESH_PREFIX)) == 0;
}

static inline bool posref_id_is_property(const char *id)
{
    return strncmp(id, POSREF_PROPERTY_PREFIX, strlen(POSREF_PROPERTY_PREFIX)) == 0;
}

/* The order of a run, and of the SHA-256 of what it selects: golden, drawn, layouts, properties;
 * then by their bytes. */
static inline int posref_id_rank(const char *id)
{
    return posref_id_is_property(id) ? 3
           : posref_id_layout(id)    ? 2
                                     : posref_id_is_fresh(id);
}

static inline int posref_id_compare(const char *a, const char *b)
{
    const int rank = posref_id_rank(a) - posref_id_rank(b);
    return rank ? rank : strcmp(a, b);
}

/* Chooses by the options' filter, suite, shard, fresh and properties, in these layouts. BAD_INPUT
 * when nothing matches. To be cleared in any case. */
POSREF_MUST_USE enum posref_status posref_choose(struct posref_choice *out, struct posref_db *db,
                                                 const struct posref_test_options *options,
                                                 const struct posref_layout_choice *layouts,
                                                 struct posref_error *err);
void posref_choice_clear(struct posref_choice *choice);

#endif
