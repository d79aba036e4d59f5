/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes and profiles as sentences and as JSON: see report_arithmetic.h. */
#include "report_arithmetic.h"

#include "profile.h"
#include "recipes.h"
#include "report_fields.h"

#define EQUALS 0.98
#define AS_GOOD 0.005
#define NEAR 0.75
#define FEWEST 32

static double share_of(const json_t *tried)
{
    const double tell = number_of(tried, "tell");
    return tell >= FEWEST ? number_of(tried, "agree") / tell : 0;
}

void posref_fits_find(struct posref_fits *out, const json_t *entry)
{
    const json_t *tried = json_object_get(entry, "tried"), *best = NULL;
    *out = (struct posref_fits){.n = 0};
    if (integer_of(entry, "failed") > 0)
        return;
    for (size_t k = 0; k < json_array_size(tried); k++)
        if (!best || share_of(json_array_get(tried, k)) > share_of(best))
            best = json_array_get(tried, k);
    out->asked = integer_of(entry, "elements") > 0 &&
                 (best ? share_of(best) > 0 : strcmp(text_of(entry, "dtype"), "f64") != 0);
    if (!best || share_of(best) < EQUALS) {
        out->nearest = best && share_of(best) >= NEAR ? best : NULL;
        return;
    }
    out->recipe[out->n++] = best;
    for (size_t k = 0; k < json_array_size(tried) && out->n < POSREF_MAX_FITS; k++) {
        const json_t *one = json_array_get(tried, k);
        if (one != best && share_of(one) >= EQUALS && share_of(one) >= share_of(best) - AS_GOOD)
            out->recipe[out->n++] = one;
    }
}

static void add_share(struct posref_buffer *out, const json_t *recipe)
{
    const double agree = number_of(recipe, "agree"), tell = number_of(recipe, "tell");
    if (agree == tell)
        posref_buffer_printf(out, ", in all %.0f elements that tell it from other recipes, within "
                             "%.2g u", tell, number_of(recipe, "largest_u"));
    else
        posref_buffer_printf(out, ", in %.4g %% of %.0f elements that tell it from other recipes "
                             "(the farthest is %.2g u off)",
                             floor(10000 * agree / tell) / 100, tell,
                             number_of(recipe, "largest_u"));
}

bool posref_fits_text(struct posref_buffer *out, const json_t *entry)
{
    struct posref_fits fits;
    posref_fits_find(&fits, entry);
    if (!fits.asked)
        return false;
    if (fits.n == 0) {
        posref_buffer_text(out, "no known recipe");
        if (fits.nearest) {
            posref_buffer_printf(out, "; the nearest is %s", text_of(fits.nearest, "recipe"));
            add_share(out, fits.nearest);
        }
        return true;
    }
    posref_buffer_printf(out, "equals %s (", text_of(fits.recipe[0], "recipe"));
    posref_recipe_text(out, text_of(fits.recipe[0], "recipe"));
    posref_buffer_text(out, ")");
    add_share(out, fits.recipe[0]);
    for (int k = 1; k < fits.n; k++)
        posref_buffer_printf(out, "%s%s", k == 1 ? "; not told from " : ", ",
                             text_of(fits.recipe[k], "recipe"));
    return true;
}

/* ---- over position ---- */

const json_t *posref_arithmetic_decade(const json_t *entry, int bin)
{
    const json_t *list = json_object_get(entry, "decades");
    for (size_t k = 0; k < json_array_size(list); k++)
        if (integer_of(json_array_get(list, k), "bin") == bin)
            return json_array_get(list, k);
    return NULL;
}

bool posref_arithmetic_has(const json_t *const entry[POSREF_N_FLOATS], int bin)
{
    for (int d = 0; d < POSREF_N_FLOATS; d++)
        if (posref_arithmetic_decade(entry[d], bin))
            return true;
    return false;
}

double posref_decade_bias(const json_t *decade)
{
    return number_of(decade, "signed_sum") / number_of(decade, "n");
}

double posref_decade_most(const json_t *decade)
{
    const json_t *buckets = json_object_get(decade, "buckets");
    const double n = number_of(decade, "n"), worst = number_of(decade, "worst");
    double above = 0;
    for (size_t k = json_array_size(buckets); k-- > 0;) {
        const json_t *pair = json_array_get(buckets, k);
        above += json_number_value(json_array_get(pair, 1));
        if (above > 0.001 * n)
            return fmin(worst, posref_profile_bucket_end(
                                   (int)json_integer_value(json_array_get(pair, 0))));
    }
    return worst;
}

double posref_step_part(const json_t *step, size_t part)
{
    const json_t *value = json_array_get(step, part);
    return json_is_string(value) ? HUGE_VAL : json_number_value(value);
}

/* The last position there was before the error first exceeds the bound; -1: there is none. */
static double valid_to(const json_t *entry, double bound)
{
    const json_t *steps = json_object_get(entry, "steps");
    for (size_t k = 0; k < json_array_size(steps); k++)
        if (posref_step_part(json_array_get(steps, k), 2) > bound)
            return posref_step_part(json_array_get(steps, k), 0);
    return number_of(entry, "farthest");
}

static const double bounds[] = {1e-12, 1e-9, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1};
#define N_BOUNDS ((int)(sizeof bounds / sizeof *bounds))

bool posref_valid_text(struct posref_buffer *out, const json_t *entry)
{
    const double farthest = number_of(entry, "farthest");
    double last = 0;
    bool any = false;
    for (int k = 0; k < N_BOUNDS; k++) {
        const double to = valid_to(entry, bounds[k]);
        if (to <= last)
            continue;
        posref_buffer_printf(out, "%s %.10g at %.0e%s", any ? ", to" : "valid to", to, bounds[k],
                             to == farthest ? " (the farthest there was)" : "");
        any = true;
        last = to;
    }
    if (!any)
        posref_buffer_text(out, "valid nowhere");
    return any;
}

void posref_arithmetic_text(struct posref_buffer *out, const json_t *entry, const char *between)
{
    if (posref_fits_text(out, entry))
        posref_buffer_text(out, between);
    (void)posref_valid_text(out, entry);
}

void posref_arithmetic_escaped(struct posref_buffer *out, const json_t *entry,
                               posref_escape *escape)
{
    struct posref_buffer text;
    posref_buffer_init(&text, 1 << 16);
    posref_arithmetic_text(&text, entry, "; ");
    escape(out, text.failed ? "" : text.data);
    posref_buffer_clear(&text);
}

void posref_arithmetic_each(const struct posref_tally *tally,
                            void (*draw)(void *ctx, const char *scheme,
                                         const json_t *const entry[POSREF_N_FLOATS]),
                            void *ctx)
{
    const json_t *list = json_object_get(tally->footer, "arithmetic");
    for (size_t k = 0; k < json_array_size(list); k++) {
        const json_t *entry[POSREF_N_FLOATS] = {NULL};
        const char *scheme = text_of(json_array_get(list, k), "scheme");
        bool first = true, any = false;
        for (size_t j = 0; j < json_array_size(list); j++) {
            const json_t *one = json_array_get(list, j);
            const int dtype = posref_dtype_find(text_of(one, "dtype"));
            if (strcmp(text_of(one, "scheme"), scheme) != 0)
                continue;
            first = first && j >= k;
            any = any || valid_to(one, bounds[N_BOUNDS - 1]) > 0;
            if (dtype >= 0 && dtype < POSREF_N_FLOATS)
                entry[dtype] = one;
        }
        if (first && any)
            draw(ctx, scheme, entry);
    }
}

/* ---- JSON ---- */

static void add_number(struct posref_buffer *out, const char *key, double value)
{
    posref_buffer_printf(out, ", \"%s\": ", key);
    posref_stream_number(out, value);
}

static void add_recipe(struct posref_buffer *out, const json_t *recipe)
{
    struct posref_buffer text;
    posref_buffer_init(&text, 4096);
    posref_recipe_text(&text, text_of(recipe, "recipe"));
    posref_buffer_add(&text, "", 1);
    posref_buffer_printf(out, "{\"recipe\": \"%s\", \"summary\": ", text_of(recipe, "recipe"));
    posref_buffer_json_string(out, text.failed ? "" : text.data);
    posref_buffer_clear(&text);
    add_number(out, "agree", number_of(recipe, "agree"));
    add_number(out, "tell", number_of(recipe, "tell"));
    add_number(out, "largest_u", number_of(recipe, "largest_u"));
    posref_buffer_text(out, "}");
}

static void add_fits(struct posref_buffer *out, const json_t *entry)
{
    struct posref_fits fits;
    posref_fits_find(&fits, entry);
    posref_buffer_text(out, ", \"recipes\": [");
    for (int k = 0; k < fits.n; k++) {
        posref_buffer_text(out, k ? ", " : "");
        add_recipe(out, fits.recipe[k]);
    }
    posref_buffer_text(out, "], \"nearest\": ");
    if (fits.nearest)
        add_recipe(out, fits.nearest);
    else
        posref_buffer_text(out, "null");
}

static void add_decades(struct posref_buffer *out, const json_t *entry)
{
    const char *separator = "";
    posref_buffer_text(out, ", \"decades\": [");
    for (int bin = 0; bin < POSREF_PROFILE_BINS; bin++) {
        const json_t *decade = posref_arithmetic_decade(entry, bin);
        char label[64];
        if (!decade)
            continue;
        posref_profile_label(label, bin);
        posref_buffer_printf(out, "%s{\"positions\": \"%s\", \"pairs\": %lld", separator, label,
                             (long long)integer_of(decade, "n"));
        add_number(out, "worst", number_of(decade, "worst"));
        add_number(out, "percentile_99_9", posref_decade_most(decade));
        add_number(out, "bias", posref_decade_bias(decade));
        posref_buffer_text(out, "}");
        separator = ",\n      ";
    }
    posref_buffer_text(out, "], \"valid\": [");
    separator = "";
    for (int k = 0; k < N_BOUNDS; k++) {
        const double to = valid_to(entry, bounds[k]);
        if (to < 0)
            continue;
        posref_buffer_printf(out, "%s{\"error\": ", separator);
        posref_stream_number(out, bounds[k]);
        add_number(out, "to", to);
        posref_buffer_text(out, "}");
        separator = ", ";
    }
    posref_buffer_text(out, "]");
    add_number(out, "farthest", number_of(entry, "farthest"));
}

void posref_arithmetic_report(struct posref_buffer *out, const struct posref_tally *tally)
{
    const json_t *list = json_object_get(tally->footer, "arithmetic");
    posref_buffer_text(out, ", \"arithmetic\": [");
    for (size_t k = 0; k < json_array_size(list); k++) {
        const json_t *entry = json_array_get(list, k);
        posref_buffer_printf(out, "%s{\"scheme\": \"%s\", \"dtype\": \"%s\"", k ? ",\n  " : "\n  ",
                             text_of(entry, "scheme"), text_of(entry, "dtype"));
        add_fits(out, entry);
        add_decades(out, entry);
        posref_buffer_text(out, "}");
    }
    posref_buffer_text(out, "]");
}
