/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes by name, and outputs compared with them: see recipes.h. */
#include "recipes.h"

#include "probe.h"
#include "stream.h"

#include <math.h>
#include <string.h>

/* Below this position float32 recipes agree but for their last bits. */
#define NEAR 255
/* A vector larger than this costs more than it tells. */
#define MAX_ELEMENTS 16384
/* After so many elements that tell, a recipe that has less than its share of them is dropped. */
#define ENOUGH 2000
#define LEAST_SHARE 0.6

static const struct {
    enum posref_bend_kind kind;
    const char *name, *text;
} routes[] = {
    {POSREF_BEND_DOUBLE, "double", "angles formed in double"},
    {POSREF_BEND_FLOAT32_POWER, "float32_power",
     "float32 tables as Hugging Face makes them: frequencies 1 / base^(2i/d), angles, cosines and "
     "sines in float32"},
    {POSREF_BEND_FLOAT32_NEGATIVE, "float32_negative_power",
     "float32 tables of the frequencies base^(-2i/d)"},
    {POSREF_BEND_FLOAT32_EXP, "float32_exp",
     "float32 tables of the frequencies exp(-2i/d ln base)"},
    {POSREF_BEND_FLOAT32_ROUNDED, "float32_rounded",
     "frequencies formed in double and rounded to float32, angles in float32"},
    {POSREF_BEND_FLOAT32_RECURRENCE, "recurrence",
     "ggml's recurrence: each angle is the one before times base^(-2/d), in float32"},
}, sines[] = {
    {POSREF_BEND_NOTHING, "", ""},
    {POSREF_BEND_SINE_ONE_STEP, "+one_step_reduction",
     "; reduced by a - 2 pi round(a / 2 pi) in float32"},
    {POSREF_BEND_SINE_FUSED, "+fused_reduction",
     "; reduced by a float32 2 pi in one fused step"},
    {POSREF_BEND_SINE_HARDWARE, "+hardware_sine",
     "; fast trigonometry: turns in float32, sines right to 2^-20"},
}, roundings[] = {
    {POSREF_BEND_NOTHING, "", ""},
    {POSREF_BEND_NOTHING, "+narrow_tables", "; tables rounded to the output's dtype"},
    {POSREF_BEND_NOTHING, "+narrow_products",
     "; tables, products and sums rounded to the output's dtype"},
};
#define N_OF(array) ((int)(sizeof(array) / sizeof *(array)))

/* float32: every route with every sine, but what is formed in double is reduced there. 16 bits:
 * every route with every rounding; what sines do to float32 does not show. */
bool posref_recipe_at(struct posref_recipe *out, enum posref_dtype dtype, int k)
{
    const bool narrow = dtype == POSREF_F16 || dtype == POSREF_BF16;
    const int inner = narrow ? N_OF(roundings) : N_OF(sines);
    /* The double route comes last: float32 has it with one sine, and to float64 it is no recipe. */
    const int n = N_OF(routes) * inner - (narrow ? 0 : N_OF(sines) - (dtype == POSREF_F32));
    if (k < 0 || k >= n)
        return false;
    const int route = (1 + k / inner) % N_OF(routes);
    *out = (struct posref_recipe){.route = routes[route].kind, .sine = POSREF_BEND_NOTHING};
    if (!narrow)
        out->sine = sines[k % inner].kind;
    out->narrow_tables = narrow && k % inner >= 1;
    out->narrow_products = narrow && k % inner == 2;
    return true;
}

/* The three parts of a recipe's name, as indexes. */
static void parts_of(int part[3], const struct posref_recipe *recipe)
{
    part[0] = part[1] = 0;
    while (routes[part[0]].kind != recipe->route)
        part[0]++;
    while (sines[part[1]].kind != recipe->sine)
        part[1]++;
    part[2] = recipe->narrow_tables + recipe->narrow_products;
}

void posref_recipe_name(struct posref_buffer *out, const struct posref_recipe *recipe)
{
    int part[3];
    parts_of(part, recipe);
    posref_buffer_printf(out, "%s%s%s", routes[part[0]].name, sines[part[1]].name,
                         roundings[part[2]].name);
}

void posref_recipe_text(struct posref_buffer *out, const char *name)
{
    char joined[96];
    for (int r = 0; r < N_OF(routes); r++)
        for (int s = 0; s < N_OF(sines); s++)
            for (int n = 0; n < N_OF(roundings); n++) {
                snprintf(joined, sizeof joined, "%s%s%s", routes[r].name, sines[s].name,
                         roundings[n].name);
                if (strcmp(joined, name) == 0)
                    posref_buffer_printf(out, "%s%s%s", routes[r].text, sines[s].text,
                                         roundings[n].text);
            }
}

/* ---- comparing ---- */

/* What a recipe gives for an element: the range of it, rounded to the dtype. */
static void range_at(double *low, double *high, const struct posref_bent *bent, int tensor,
                     int64_t k, enum posref_dtype dtype)
{
    const double value = ((const double *)bent->outputs.item[tensor].data)[k];
    const double limit = bent->limit[tensor][k];
    *low = posref_rounded(value - limit, dtype);
    *high = posref_rounded(value + limit, dtype);
}

static bool make_bend(struct posref_bend *out, const struct posref_recipe *recipe,
                      const struct posref_vector *vector, enum posref_dtype dtype)
{
    *out = (struct posref_bend){.spec = &vector->spec};
    bool fits = posref_bend_applies(recipe->route, &vector->spec, vector->op) &&
                posref_bend_add(out, recipe->route, 0) && posref_bend_add(out, recipe->sine, 0);
    if (fits && recipe->narrow_tables)
        fits = posref_bend_add(out, dtype == POSREF_F16 ? POSREF_BEND_TABLE_F16
                                                        : POSREF_BEND_TABLE_BF16, 0);
    if (fits && recipe->narrow_products)
        fits = posref_bend_add(out, POSREF_BEND_PRODUCTS_NARROW, 0);
    return fits;
}

static bool same_shape(const struct posref_tensors *a, const struct posref_tensors *b)
{
    bool same = a->n == b->n;
    for (int i = 0; i < a->n && same; i++)
        same = strcmp(a->item[i].name, b->item[i].name) == 0 &&
               posref_tensor_count(&a->item[i]) == posref_tensor_count(&b->item[i]);
    return same;
}

/* Whether the vector can tell, and how many pairs it holds. */
static bool is_telling(int64_t *n_pairs, const struct posref_vector *vector)
{
    const struct posref_tensor *positions = posref_tensors_find(&vector->inputs, "positions");
    int64_t n = 0;
    bool far = false;
    if (!positions || (vector->op != POSREF_OP_TABLE && vector->op != POSREF_OP_ROTATE &&
                       vector->op != POSREF_OP_EMBED))
        return false;
    if (vector->inputs.n > 2) /* tables or a norm's weights: no recipe has them */
        return false;
    for (int64_t k = 0; k < posref_tensor_count(positions); k++)
        far = far || fabs(((const double *)positions->data)[k]) >= NEAR;
    for (int i = 0; i < vector->outputs.n; i++)
        n += posref_tensor_count(&vector->outputs.item[i]);
    *n_pairs = n / 2;
    return far && n <= MAX_ELEMENTS;
}

struct comparison {
    struct posref_recipe_counts *counts;
    struct posref_bent bent[POSREF_MAX_RECIPES];
    bool is_there[POSREF_MAX_RECIPES];
};

/* One element against every recipe. An element tells a recipe from the others when one of them
 * expects something else there. */
static void compare_element(struct comparison *c, int tensor, int64_t k, double got)
{
    const enum posref_dtype dtype = c->counts->dtype;
    double low[POSREF_MAX_RECIPES], high[POSREF_MAX_RECIPES];
    double least_high = HUGE_VAL, most_low = -HUGE_VAL;
    for (int r = 0; r < POSREF_MAX_RECIPES; r++)
        if (c->is_there[r]) {
            range_at(&low[r], &high[r], &c->bent[r], tensor, k, dtype);
            least_high = fmin(least_high, high[r]);
            most_low = fmax(most_low, low[r]);
        }
    for (int r = 0; r < POSREF_MAX_RECIPES; r++) {
        if (!c->is_there[r])
            continue;
        struct posref_recipe_count *count = &c->counts->of[r];
        const double scale = c->bent[r].scale[tensor][k];
        const double value = ((const double *)c->bent[r].outputs.item[tensor].data)[k];
        if (scale > 0) {
            const double off =
                fabs(got - posref_rounded(value, dtype)) / scale / posref_unit(dtype);
            count->largest_u = off <= count->largest_u ? count->largest_u : off;
        }
        if (!(least_high < low[r] || most_low > high[r]))
            continue;
        count->n_tell++;
        count->n_agree += got >= low[r] && got <= high[r];
    }
}

static void drop_hopeless(struct posref_recipe_counts *counts)
{
    for (int r = 0; r < POSREF_MAX_RECIPES; r++) {
        struct posref_recipe_count *count = &counts->of[r];
        if (count->n_tell >= ENOUGH &&
            (double)count->n_agree < LEAST_SHARE * (double)count->n_tell)
            count->dropped = true;
    }
}

/* The two that are always there to be told from. */
static bool is_anchor(const struct posref_recipe *recipe)
{
    return recipe->sine == POSREF_BEND_NOTHING && !recipe->narrow_tables &&
           (recipe->route == POSREF_BEND_DOUBLE || recipe->route == POSREF_BEND_FLOAT32_POWER);
}

void posref_recipes_compare(struct posref_recipe_counts *counts,
                            const struct posref_vector *vector,
                            const struct posref_tensors *actual,
                            const struct posref_arena *scratch)
{
    struct posref_recipe recipe;
    struct posref_tensors got = {.n = 0};
    int64_t n_pairs;
    if (counts->n_pairs >= POSREF_RECIPE_PAIRS || !is_telling(&n_pairs, vector))
        return;
    struct comparison *c = scratch->alloc(scratch->ctx, sizeof *c);
    if (!c)
        return;
    memset(c, 0, sizeof *c);
    c->counts = counts;
    for (; got.n < actual->n; got.n++)
        if (posref_tensor_widen(&got.item[got.n], &actual->item[got.n], scratch, NULL) != POSREF_OK)
            return;
    for (int r = 0; posref_recipe_at(&recipe, counts->dtype, r); r++) {
        struct posref_bend bend;
        if (counts->of[r].dropped && !is_anchor(&recipe))
            continue;
        c->is_there[r] = make_bend(&bend, &recipe, vector, counts->dtype) &&
                         posref_bend_eval(&c->bent[r], &bend, vector->op, &vector->inputs,
                                          counts->dtype, scratch, NULL) == POSREF_OK &&
                         same_shape(&c->bent[r].outputs, &got);
        if (!c->is_there[r])
            return; /* all of them have a form, or none */
    }
    for (int i = 0; i < got.n; i++)
        for (int64_t k = 0; k < posref_tensor_count(&got.item[i]); k++)
            compare_element(c, i, k, ((const double *)got.item[i].data)[k]);
    counts->n_pairs += n_pairs;
    counts->n_elements += 2 * n_pairs;
    drop_hopeless(counts);
}

void posref_recipes_json(struct posref_buffer *out, const struct posref_recipe_counts *counts)
{
    struct posref_recipe recipe;
    const char *separator = "";
    posref_buffer_printf(out, "\"elements\": %lld, \"tried\": [", (long long)counts->n_elements);
    for (int r = 0; posref_recipe_at(&recipe, counts->dtype, r); r++) {
        const struct posref_recipe_count *count = &counts->of[r];
        if (count->dropped || count->n_tell == 0)
            continue;
        posref_buffer_printf(out, "%s{\"recipe\": \"", separator);
        posref_recipe_name(out, &recipe);
        posref_buffer_printf(out, "\", \"agree\": %lld, \"tell\": %lld, \"largest_u\": ",
                             (long long)count->n_agree, (long long)count->n_tell);
        posref_stream_number(out, count->largest_u);
        posref_buffer_text(out, "}");
        separator = ", ";
    }
    posref_buffer_text(out, "]");
}
