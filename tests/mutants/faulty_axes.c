/* SPDX-License-Identifier: Apache-2.0 */
/* Rope over several axes with faults: see faulty.h. Ops rotate, table (cos and sin) and
 * frequencies. */
#include "faulty.h"

#define TAU 6.283185307179586
#define MAX_AXES 8
#define MAX_PAIRS 8192
#define MAX_GRID 64

struct axes {
    const struct faulty_call *c;
    int dim, pairs, n, width[MAX_AXES]; /* in pairs */
    int sections, shared, split, rising, taking_turns, whole_head, half, inverse, trailing;
    double base, unit, ntk[MAX_AXES], *at[MAX_AXES]; /* at[axis][token] */
    double freq[MAX_PAIRS];
    int axis[MAX_PAIRS];
};

static int numbers(double *out, const char *text)
{
    int n = 0;
    for (char *end; text && *text && *text != ' ' && n < MAX_AXES; text = *end ? end + 1 : end) {
        out[n++] = strtod(text, &end);
        if (*end == ' ')
            break;
    }
    return n;
}

/* ---- which axis has pair i ---- */

static int choice(const struct axes *a, const char *key, const char *fault,
                  const char *const *names)
{
    double value;
    if (faulty_has(a->c, fault, 0, &value))
        return (int)value;
    for (int k = 0; names[k]; k++)
        if (faulty_is(a->c, key, names[k]))
            return k;
    return 0;
}

/* Each pair to the axis that has the smallest part of its section so far, never one twice running
 * while another has some left; the first axis keeps one for the end. */
static void greedy(struct axes *a)
{
    int left[MAX_AXES], last = -1;
    double had[MAX_AXES] = {0};
    for (int k = 0; k < a->n; k++)
        left[k] = a->width[k] - (k == 0 && a->n > 2);
    double total[MAX_AXES];
    for (int k = 0; k < a->n; k++)
        total[k] = left[k];
    for (int i = 0; i < a->pairs; i++) {
        int best = -1;
        for (int k = 0; k < a->n; k++)
            if (left[k] > 0 && k != last &&
                (best < 0 || had[k] * total[best] < had[best] * total[k]))
                best = k;
        best = best < 0 ? last : best;
        if (i == a->pairs - 1 && a->n > 2)
            best = 0;
        a->axis[i] = last = best;
        left[best]--;
        had[best]++;
    }
}

static void deal_sections(struct axes *a)
{
    static const char *const orders[] = {"chunked", "interleaved", "imrope", "hw_t", "greedy",
                                         NULL};
    const int *s = a->width;
    /* The other families' rules are about three sections, hw_t's about two equal ones. */
    int order = choice(a, "mrope_order", a->n == 3 ? "mrope_order" : "", orders);
    if (order == 3 && s[0] != s[1])
        order = choice(a, "mrope_order", "", orders);
    if (order == 4)
        greedy(a);
    const int times = faulty_with(a->c, "mrope_sections_doubled") ? 2 : 1;
    for (int i = 0, axis = 0, from = 0; i < a->pairs && order < 4; i++) {
        while (axis < a->n - 1 && i - from >= times * s[axis])
            from += times * s[axis++];
        const int all = order == 1 && faulty_with(a->c, "mrope_unbounded");
        const int h = i % 3 == 1 && (all || i < 3 * s[1]), w = i % 3 == 2 && (all || i < 3 * s[2]);
        a->axis[i] = order == 0   ? axis
                     : order == 3 ? (i < 2 * s[0] ? 1 + i % 2 : 0)
                     : h          ? 1
                     : w          ? 2
                     : order == 1 ? 0 : (i % 3 == 0 && i < 3 * s[0] ? 0 : 3);
    }
}

static void deal_widths(struct axes *a)
{
    for (int i = 0, axis = 0, from = 0; i < a->pairs; i++) {
        while (i - from >= a->width[axis])
            from += a->width[axis++];
        a->axis[i] = a->taking_turns ? i % a->n : axis;
    }
}

/* ---- frequencies ---- */

static void ladder(struct axes *a)
{
    int seen[MAX_AXES] = {0};
    const struct faulty_call *c = a->c;
    for (int i = 0; i < a->pairs; i++) {
        const int axis = a->axis[i], j = seen[axis]++, width = a->width[axis];
        double base = a->base, e = (double)i / a->pairs;
        if (!a->sections && !a->shared)
            e = a->split ? (double)(a->n * j + axis) / a->pairs
                : a->rising ? -(double)j / (width - 1) : (double)j / width;
        if (faulty_with(c, "axes_exponent_over_head") && !a->sections && !a->shared && !a->split &&
            !a->rising)
            e = (double)j / a->pairs;
        if (a->ntk[axis] != 1)
            base *= pow(a->ntk[axis], 2.0 * width / (2.0 * width - 2));
        double f = 1 / faulty_step(c, pow(base, faulty_step(c, e)));
        a->freq[i] = faulty_step(c, a->unit * f);
    }
}

/* ---- positions ---- */

/* Values of one axis in their order, each once. */
static int distinct(double *out, const double *at, int64_t n)
{
    int count = 0;
    for (int64_t t = 0; t < n; t++) {
        int k = 0;
        while (k < count && out[k] < at[t])
            k++;
        if (k < count && out[k] == at[t])
            continue;
        if (count == MAX_GRID)
            return 0;
        memmove(out + k + 1, out + k, (size_t)(count++ - k) * sizeof *out);
        out[k] = at[t];
    }
    return count;
}

/* Tokens of a frame of h by w walked otherwise than they come: down the columns, in blocks, by rows
 * where they come in blocks. */
static void rewalk(struct axes *a, int64_t n)
{
    double merge = 0, y[MAX_GRID], x[MAX_GRID], *aty = a->at[a->n - 2], *atx = a->at[a->n - 1];
    const int columns = faulty_with(a->c, "grid_columns"), rows = faulty_with(a->c, "grid_rows");
    const int blocks = faulty_has(a->c, "grid_blocks", 2, &merge), m = (int)merge;
    const int h = distinct(y, aty, n), w = distinct(x, atx, n);
    int by_rows = 1, once = 1;
    if (!(columns || rows || blocks) || h < 2 || w < 2 || n % (h * w) != 0)
        return;
    for (int64_t t = 0; t < n; t++)
        by_rows = by_rows && aty[t] == y[t / w % h] && atx[t] == x[t % w];
    for (int64_t t = 0; t < n; t++)
        for (int64_t u = t + 1; u < n && u / (h * w) == t / (h * w); u++)
            once = once && (aty[t] != aty[u] || atx[t] != atx[u]);
    if (rows ? by_rows || !once : !by_rows || (blocks && (h % m || w % m)))
        return;
    for (int64_t t = 0; t < n; t++) {
        const int l = (int)(t % (h * w));
        const int b = blocks ? l / (m * m) : 0, r = blocks ? l % (m * m) : 0;
        aty[t] = y[columns ? l % h : blocks ? b / (w / m) * m + r / m : l / w];
        atx[t] = x[columns ? l / h : blocks ? b % (w / m) * m + r % m : l % w];
    }
}

static void read_positions(struct axes *a, const struct posref_plugin_tensor *p)
{
    const struct faulty_call *c = a->c;
    const int last = a->n - 1, exchange = faulty_with(c, "axes_exchanged");
    const int reverse = faulty_with(c, "axes_order_reversed");
    const int packs = faulty_with(c, "positions_packed");
    double mirrored = -1, scale = 1;
    (void)faulty_has(c, "axis_mirrored", 1, &mirrored);
    (void)faulty_has(c, "axis_scaled", 2, &scale);
    for (int k = 0; k < a->n; k++) {
        const int from = faulty_with(c, "axes_collapsed")       ? 0
                         : reverse                              ? last - k
                         : exchange && k >= last - 1 && last > 0 ? 2 * last - 1 - k : k;
        double lo = HUGE_VAL, hi = -HUGE_VAL;
        for (int64_t t = 0; t < p->shape[1]; t++) {
            const int64_t packed = t * a->n + from;
            const int64_t axis = packs ? packed / p->shape[1] : from;
            const double read = posref_plugin_position(p, (uint32_t)axis,
                                                       packs ? packed % p->shape[1] : t);
            a->at[k][t] = faulty_position(c, k == 0 ? scale * read : read, t, 0);
            lo = fmin(lo, a->at[k][t]);
            hi = fmax(hi, a->at[k][t]);
        }
        for (int64_t t = 0; t < p->shape[1]; t++) {
            double *at = &a->at[k][t];
            *at = (int)mirrored == k ? lo + hi - *at : *at;
            *at = faulty_with(c, "axes_centred") ? *at - (lo + hi) / 2 : *at;
        }
    }
    rewalk(a, p->shape[1]);
}

static void turn(const struct axes *a, double *cosine, double *sine, int i, int64_t t)
{
    const struct faulty_call *c = a->c;
    double at = a->at[a->axis[i]][t];
    /* A fault of no registry: what is said of it must not be a name. */
    if (faulty_with(c, "exotic_coupled"))
        at += at * a->at[(a->axis[i] + 1) % a->n][t] / 64;
    const double angle = faulty_step(c, faulty_step(c, at) * a->freq[i]);
    *cosine = faulty_step(c, cos(angle));
    *sine = faulty_step(c, sin(angle));
}

/* ---- outputs ---- */

/* Channels of pair i. */
static void channels(const struct axes *a, int *first, int *second, int i)
{
    int from = 0, width = a->pairs, at = i;
    if (!a->sections && !a->whole_head) {
        int seen = 0;
        for (int k = 0; k < a->axis[i]; k++)
            from += 2 * a->width[k];
        for (int j = 0; j < i; j++)
            seen += a->axis[j] == a->axis[i];
        at = seen;
        width = a->width[a->axis[i]];
    }
    from += a->trailing;
    *first = from + (a->half ? at : 2 * at);
    *second = from + (a->half ? at + width : 2 * at + 1);
}

static void rotate(const struct axes *a)
{
    const struct posref_plugin_tensor *x = posref_plugin_find(a->c->call, "x");
    const struct posref_plugin_tensor *y = posref_plugin_find(a->c->call, "y");
    const int64_t rows = faulty_count(x) / a->dim;
    const int64_t heads = rows / posref_plugin_find(a->c->call, "positions")->shape[1];
    memcpy(y->data, x->data, (size_t)faulty_count(x) * posref_plugin_dtype_size(x->dtype));
    for (int i = 0; i < a->pairs; i++) {
        int first, second;
        channels(a, &first, &second, i);
        for (int64_t row = 0; row < rows; row++) {
            const double u = faulty_get(x, row * a->dim + first);
            const double v = faulty_get(x, row * a->dim + second);
            double cosine, sine;
            turn(a, &cosine, &sine, i, row / heads);
            sine = a->inverse ? -sine : sine;
            faulty_put(y, row * a->dim + first, u * cosine - v * sine);
            faulty_put(y, row * a->dim + second, u * sine + v * cosine);
        }
    }
}

static void give(const struct axes *a)
{
    const struct posref_plugin_tensor *f = posref_plugin_find(a->c->call, "inv_freq");
    const struct posref_plugin_tensor *c = posref_plugin_find(a->c->call, "cos");
    const struct posref_plugin_tensor *s = posref_plugin_find(a->c->call, "sin");
    for (int i = 0; i < a->pairs; i++) {
        if (f)
            faulty_put(f, i, a->freq[i]);
        for (int64_t t = 0; c && t < c->shape[0]; t++) {
            double cosine, sine;
            turn(a, &cosine, &sine, i, t);
            faulty_put(c, t * a->pairs + i, cosine);
            faulty_put(s, t * a->pairs + i, sine);
        }
    }
    if (f)
        faulty_put(posref_plugin_find(a->c->call, "attention_factor"), 0, 1);
}

/* ---- the spec ---- */

static void split_axes(struct axes *a, double *list)
{
    const int unit = a->sections ? 1 : 2;
    double sum = 0;
    for (int k = 0; k < a->n; k++)
        sum += list[k];
    const int each = (int)sum / a->n / unit * unit, paired = faulty_is(a->c, "mrope_order", "hw_t");
    for (int k = 0; k < a->n; k++) {
        const double value = paired ? list[k]
                             : faulty_with(a->c, "axes_split_reversed") ? list[a->n - 1 - k]
                             : !faulty_with(a->c, "axes_split_equal") ? list[k]
                             : k ? each : sum - each * (a->n - 1);
        a->width[k] = (int)value / unit;
    }
    a->pairs = (int)sum / unit;
}

static int read_spec(struct axes *a)
{
    static const char *const ladders[] = {"independent", "shared", "split", "log_linspace", NULL};
    static const char *const orders[] = {"axis", "frequency", NULL}, *const spans[] = {
        "axis", "head", NULL}, *const units[] = {"radian", "turn", "quarter_turn", NULL};
    static const double unit[] = {1, TAU, TAU / 4};
    const struct faulty_call *c = a->c;
    const char *dims = faulty_text(c, "axes_dims"), *section = faulty_text(c, "mrope_section");
    double list[MAX_AXES], factors[MAX_AXES];
    a->n = numbers(list, dims ? dims : section);
    a->sections = !dims;
    a->dim = (int)faulty_number(c, "dim", 0);
    if (a->n < 2 || !faulty_is(c, "scaling", "none") || faulty_is(c, "partial", "proportional") ||
        !(faulty_is(c, "pairing", "half") || faulty_is(c, "pairing", "interleaved")))
        return 0;
    split_axes(a, list);
    int rule = choice(a, "axes_ladder", "axes_ladder", ladders), even = 1, narrow = 0;
    for (int k = 0; k < a->n; k++) {
        even = even && a->width[k] == a->width[0];
        narrow = narrow || a->width[k] == 1;
    }
    if ((rule == 2 && !even) || (rule == 3 && narrow)) /* the ladder is not defined then */
        rule = choice(a, "axes_ladder", "", ladders);
    a->shared = rule == 1;
    a->split = rule == 2;
    a->rising = rule == 3;
    a->taking_turns = choice(a, "axes_order", even ? "axes_order" : "", orders);
    a->whole_head = a->taking_turns || choice(a, "axes_span", "axes_span", spans);
    const int scaled = rule == 0 ? numbers(factors, faulty_text(c, "axes_ntk")) : 0;
    a->unit = unit[choice(a, "angle_unit", dims && scaled == 0 ? "angle_unit" : "", units)];
    a->half = faulty_is(c, "pairing", "half") != faulty_with(c, "pairing");
    a->inverse = faulty_is(c, "direction", "inverse") != faulty_with(c, "direction");
    a->trailing = faulty_is(c, "partial", "trailing") ? a->dim - 2 * a->pairs : 0;
    a->base = faulty_with(c, "base_default") ? 10000 : faulty_number(c, "base", 10000);
    for (int k = 0; k < a->n; k++)
        a->ntk[k] = k < scaled && !faulty_with(c, "axes_ntk_ignored") ? factors[k] : 1;
    if (a->sections)
        deal_sections(a);
    else
        deal_widths(a);
    return a->pairs <= MAX_PAIRS;
}

static int32_t faulty_run(const struct faulty_call *c, char *why, size_t why_size)
{
    const struct posref_plugin_tensor *p = posref_plugin_find(c->call, "positions");
    const int rotates = posref_plugin_word_is(c->call->op, "rotate");
    struct axes *a = calloc(1, sizeof *a);
    int32_t status = POSREF_PLUGIN_UNSUPPORTED;
    snprintf(why, why_size, "only rope over several axes");
    if (a) {
        a->c = c;
        if (posref_plugin_is(c->call->spec, "scheme", "rope") && read_spec(a) &&
            !posref_plugin_value(c->call->spec, "table_layout", NULL) &&
            (rotates || posref_plugin_find(c->call, "cos") ||
             posref_plugin_find(c->call, "inv_freq")))
            status = POSREF_PLUGIN_OK;
    }
    if (status == POSREF_PLUGIN_OK) {
        double *room = p ? malloc((size_t)(a->n * p->shape[1]) * sizeof *room) : NULL;
        for (int k = 0; k < a->n && room; k++)
            a->at[k] = room + k * p->shape[1];
        ladder(a);
        if (room)
            read_positions(a, p);
        if (rotates)
            rotate(a);
        else
            give(a);
        free(room);
    }
    free(a);
    return status;
}
