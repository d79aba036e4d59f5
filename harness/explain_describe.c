/* SPDX-License-Identifier: Apache-2.0 */
/* When nothing fits: where the error is, how it grows, and what it leaves alone. */
#include "explain_impl.h"
#include "stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PAIRS 8192
#define MAX_POINTS 4096

/* One pair at one position, as far as it is wrong. */
struct point {
    double position, angle, theta; /* angle: turned too far, radians */
    int number;
};

struct sight {
    int64_t n_pairs, n_wrong;          /* pairs, and those beyond their limit */
    int64_t n_single, n_single_wrong;  /* elements without a pair */
    bool wrong_pair[MAX_PAIRS];
    bool seen_pair[MAX_PAIRS];
    int top_pair;
    double first_wrong, last_right;    /* |position|; infinite, -1: none */
    double norm;                       /* largest |got| / |want| - 1 */
    bool copies_changed;
    struct point point[MAX_POINTS];
    int n_points;
    double value[MAX_POINTS]; /* scratch */
    int n_failures;
    bool no_form; /* of some: only the judge could look at them */
};

static double element(const struct posref_tensors *set, const struct posref_bent_pair *p, int k)
{
    return ((const double *)set->item[p->tensor[k]].data)[p->element[k]];
}

static void look_at_pair(struct sight *s, const struct posref_bent *bent,
                         const struct posref_tensors *actual, const struct posref_bent_pair *p)
{
    const double w0 = element(&bent->outputs, p, 0), w1 = element(&bent->outputs, p, 1);
    const double g0 = element(actual, p, 0), g1 = element(actual, p, 1), norm = hypot(w0, w1);
    const double limit = fmax(bent->limit[p->tensor[0]][p->element[0]],
                              bent->limit[p->tensor[1]][p->element[1]]);
    if (p->number >= MAX_PAIRS || !(norm > 0) || limit > 0.125 * norm)
        return;
    const bool wrong = !(fabs(g0 - w0) <= limit && fabs(g1 - w1) <= limit);
    s->n_pairs++;
    s->n_wrong += wrong;
    s->seen_pair[p->number] = true;
    s->top_pair = p->number > s->top_pair ? p->number : s->top_pair;
    if (!wrong) {
        s->last_right = fmax(s->last_right, fabs(p->given));
        return;
    }
    s->wrong_pair[p->number] = true;
    s->first_wrong = fmin(s->first_wrong, fabs(p->given));
    s->norm = fmax(s->norm, fabs(hypot(g0, g1) / norm - 1));
    if (s->n_points < MAX_POINTS)
        s->point[s->n_points++] =
            (struct point){p->given, atan2(w0 * g1 - w1 * g0, w0 * g0 + w1 * g1), p->theta,
                           p->number};
}

static void look_at_singles(struct sight *s, const struct posref_bent *bent,
                            const struct posref_tensors *actual)
{
    for (int i = 0; i < actual->n && i < bent->outputs.n; i++) {
        const double *w = bent->outputs.item[i].data, *g = actual->item[i].data;
        for (int64_t k = 0; k < posref_tensor_count(&bent->outputs.item[i]); k++) {
            const bool wrong = !(fabs(g[k] - w[k]) <= bent->limit[i][k]);
            if (bent->limit[i][k] == 0 && wrong && bent->n_pairs > 0)
                s->copies_changed = true;
            s->n_single++;
            s->n_single_wrong += wrong;
        }
    }
}

static void look(struct sight *s, const struct posref_explainer *e, const struct explain_failure *f)
{
    const struct posref_bend right = {.spec = f->spec, .wants_pairs = true};
    struct posref_bent bent;
    posref_heap_reset(e->scratch);
    const struct posref_arena arena = posref_heap_arena(e->scratch);
    s->n_failures++;
    if (posref_bend_eval(&bent, &right, f->op, f->inputs, f->dtype, &arena, NULL) != POSREF_OK ||
        bent.outputs.n != f->actual.n) {
        s->no_form = true;
        return;
    }
    for (int i = 0; i < bent.outputs.n; i++) {
        const double *want = bent.outputs.item[i].data;
        for (int64_t k = 0; k < posref_tensor_count(&bent.outputs.item[i]); k++)
            bent.limit[i][k] = posref_explain_limit(f, want[k], bent.limit[i][k], 0);
    }
    for (int64_t k = 0; k < bent.n_pairs; k++)
        look_at_pair(s, &bent, &f->actual, &bent.pair[k]);
    look_at_singles(s, &bent, &f->actual);
}

/* ---- growth ---- */

static int by_size(const void *a, const void *b)
{
    const double *first = a, *second = b;
    return *first < *second ? -1 : *first > *second;
}

/* Spread of what should be constant: (90 % - 10 %) / median size; small: it is. */
static double spread(double *value, int n)
{
    qsort(value, (size_t)n, sizeof *value, by_size);
    const double middle = fabs(value[n / 2]);
    return middle > 0 ? (value[n - 1 - n / 10] - value[n / 10]) / middle : HUGE_VAL;
}

/* What the angle's error is proportional to. */
static const char *growth(struct sight *s)
{
    double *value = s->value;
    static const char *const names[] = {
        "constant", "linear in position",
        /* of an offset */ "proportional to the frequency and the same at every position",
        "proportional to position times frequency"};
    int best = -1, n = 0;
    double least = 0.2;
    for (int model = 0; model < 4; model++) {
        n = 0;
        for (int k = 0; k < s->n_points; k++) {
            const struct point *p = &s->point[k];
            const double by = model == 0 ? 1 : model == 1 ? p->position : model == 2 ? p->theta
                                                                        : p->position * p->theta;
            /* Beyond half a turn the error is not known, and near it not safe. */
            if (fabs(p->angle) < 1 && by != 0)
                value[n++] = p->angle / by;
        }
        const double wide = n >= 8 ? spread(value, n) : HUGE_VAL;
        if (wide < least) {
            least = wide;
            best = model;
        }
    }
    return best < 0 ? NULL : names[best];
}

static void add_ranges(struct posref_buffer *out, const struct sight *s, bool *all)
{
    int n_seen = 0, n_wrong = 0;
    for (int k = 0; k <= s->top_pair; k++) {
        n_seen += s->seen_pair[k];
        n_wrong += s->wrong_pair[k];
    }
    *all = n_seen == n_wrong;
    const char *separator = "";
    for (int k = 0; k <= s->top_pair && !*all; k++) {
        if (!s->wrong_pair[k])
            continue;
        int end = k;
        while (end < s->top_pair && (s->wrong_pair[end + 1] || !s->seen_pair[end + 1]))
            end++;
        posref_buffer_printf(out, end > k ? "%s%d-%d" : "%s%d", separator, k, end);
        separator = ", ";
        k = end;
    }
}

static void add_sentence(struct posref_buffer *out, struct sight *s)
{
    bool all = true;
    struct posref_buffer ranges;
    posref_buffer_init(&ranges, 1 << 16);
    add_ranges(&ranges, s, &all);
    posref_buffer_add(&ranges, "", 1);
    posref_buffer_text(out, "no known fault, and no pair of faults, gives these outputs");
    if (s->n_pairs > 0) {
        posref_buffer_printf(out, ": %lld of %lld pairs are wrong", (long long)s->n_wrong,
                             (long long)s->n_pairs);
        if (all)
            posref_buffer_text(out, ", of every number");
        else if (s->n_wrong > 0)
            posref_buffer_printf(out, ", those of number %.200s", ranges.failed ? "" : ranges.data);
        if (isfinite(s->first_wrong))
            posref_buffer_printf(out, ", from position %.9g on", s->first_wrong);
        posref_buffer_printf(out, "; norms are %s", s->norm < 1e-3 ? "kept" : "not kept");
        const char *how = s->norm < 1e-3 ? growth(s) : NULL;
        if (how)
            posref_buffer_printf(out, "; the angle's error is %s", how);
        if (s->copies_changed)
            posref_buffer_text(out, "; channels that should be copied are changed");
    } else if (s->n_single > 0) {
        posref_buffer_printf(out, ": %lld of %lld elements are wrong",
                             (long long)s->n_single_wrong, (long long)s->n_single);
    }
    posref_buffer_clear(&ranges);
}

static void add_members(struct posref_buffer *out, struct sight *s)
{
    bool all = true;
    struct posref_buffer text;
    const char *how = s->n_pairs > 0 && s->norm < 1e-3 ? growth(s) : NULL;
    if (s->n_pairs == 0)
        return;
    posref_buffer_init(&text, 1 << 16);
    add_ranges(&text, s, &all);
    posref_buffer_add(&text, "", 1);
    posref_buffer_text(out, ", \"pairs\": ");
    posref_buffer_json_string(out, all ? "all" : text.failed ? "" : text.data);
    posref_buffer_clear(&text);
    posref_buffer_text(out, ", \"first_wrong_position\": ");
    if (isfinite(s->first_wrong))
        posref_stream_number(out, s->first_wrong);
    else
        posref_buffer_text(out, "null");
    posref_buffer_printf(out, ", \"norm\": \"%s\", \"largest_norm_error\": ",
                         s->norm < 1e-3 ? "kept" : "not kept");
    posref_stream_number(out, s->norm);
    posref_buffer_text(out, ", \"growth\": ");
    if (how)
        posref_buffer_json_string(out, how);
    else
        posref_buffer_text(out, "null");
    posref_buffer_printf(out, ", \"copies_changed\": %s", s->copies_changed ? "true" : "false");
}

void posref_explainer_describe(struct posref_buffer *out, const struct posref_explainer *e)
{
    struct sight *s = calloc(1, sizeof *s);
    struct posref_buffer text;
    if (s) {
        s->first_wrong = HUGE_VAL;
        s->last_right = -1;
        for (size_t k = 0; k < e->n_failures; k++)
            if (e->class[e->failure[k].class].chosen < 0)
                look(s, e, &e->failure[k]);
    }
    if (!s || s->n_failures == 0) {
        posref_buffer_text(out, "null");
        free(s);
        return;
    }
    posref_buffer_init(&text, 1 << 16);
    add_sentence(&text, s);
    posref_buffer_add(&text, "", 1);
    posref_buffer_text(out, "{\"summary\": ");
    posref_buffer_json_string(out, text.failed ? "" : text.data);
    posref_buffer_clear(&text);
    posref_buffer_printf(out, ", \"vectors\": %d", s->n_failures);
    add_members(out, s);
    posref_buffer_text(out, "}");
    free(s);
}
