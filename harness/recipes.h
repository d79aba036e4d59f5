/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic recipes: which rounding, step by step, a kernel that is right has. Each recipe is the
 * reference bent by steps of reference/bend.h that change nothing but rounding; a kernel is
 * compared with all of them, element by element. Private to harness/. */
#ifndef POSREF_RECIPES_H
#define POSREF_RECIPES_H

#include "reference/bend.h"
#include "vectors/vectors.h"

/* How angles are formed, how they are reduced, and what is rounded to 16 bits. */
struct posref_recipe {
    enum posref_bend_kind route, sine; /* sine NOTHING: a right one */
    bool narrow_tables, narrow_products;
};

/* Recipe number k of a dtype; false: there are no more. */
bool posref_recipe_at(struct posref_recipe *out, enum posref_dtype dtype, int k);
/* "float32_power", "recurrence+hardware_sine", "double+narrow_tables", ... */
void posref_recipe_name(struct posref_buffer *out, const struct posref_recipe *recipe);
/* "float32 tables as Hugging Face makes them: 1 / base^(2i/d); ..." of a name; "" of another. */
void posref_recipe_text(struct posref_buffer *out, const char *name);

#define POSREF_MAX_RECIPES 32
#define POSREF_RECIPE_PAIRS 40000 /* of a scheme in a dtype: enough, and bounded in time */

struct posref_recipe_count {
    bool dropped; /* too far off to go on with */
    int64_t n_agree, n_tell; /* of the elements that tell it from another recipe */
    double largest_u;        /* of all elements, in u of the dtype */
};

/* One scheme in one dtype. */
struct posref_recipe_counts {
    enum posref_dtype dtype;
    int64_t n_pairs;   /* compared so far */
    int64_t n_elements;
    struct posref_recipe_count of[POSREF_MAX_RECIPES];
};

/* Compares one output that is right at some grade; does nothing where no recipe has a form, where
 * positions are too near for recipes to differ, or when enough was seen. */
void posref_recipes_compare(struct posref_recipe_counts *counts,
                            const struct posref_vector *vector,
                            const struct posref_tensors *actual,
                            const struct posref_arena *scratch);

/* The members of a stream's footer, without braces: "elements" and "tried", each recipe that was
 * not dropped with "agree", "tell", "largest_u". */
void posref_recipes_json(struct posref_buffer *out, const struct posref_recipe_counts *counts);

#endif
