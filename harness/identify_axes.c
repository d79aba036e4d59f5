/* SPDX-License-Identifier: Apache-2.0 */
/* Rope over several axes: pairs from basis vectors with all axes alike, the axis and the frequency
 * of each pair from one axis at a time. Every way to lay such pairs out that a spec can say, on the
 * base and scaling that fit the frequencies, is then compared with what came back for values that
 * tell all of it. */
#include "identify.h"
#include "identify_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_STEPS POSREF_IDENTIFY_STEPS
#define N_WITNESS 3 /* positions of each axis, for the comparison */

struct turning {
    int axis;
    double freq, tol;
};

struct axes {
    struct posref_identity *id;
    struct posref_probe *probe;
    struct posref_pairs pairs;
    int n_axes;
    double unit_position;      /* what is position 1 where frequencies are whole turns */
    struct turning *pair;      /* [pairs.n], by channel */
    struct turning *sorted;    /* the same, falling */
    struct posref_tensors in;  /* of the comparison */
    const double *y;           /* what came back for them */
    double magnitude, u;       /* u: of the arithmetic that is allowed for */
    int width[POSREF_MAX_INTS]; /* pairs of each axis */
    bool found;
};

/* ---- questions ---- */

static enum posref_status ask(const double **y, struct axes *a, struct posref_tensors *in,
                              struct posref_error *err)
{
    struct posref_tensors got;
    enum posref_status status = posref_probe_ask(&got, a->probe, POSREF_OP_ROTATE, in, err);
    if (status == POSREF_OK && a->probe->verdict == POSREF_VERDICT_PASS)
        *y = got.item[0].data;
    return status;
}

/* n rows of zeros at position 0 on all axes; NULL: no memory. */
static double *rows(double **x, struct posref_tensors *in, const struct axes *a, int64_t n)
{
    in->n = 0;
    double *p = posref_probe_input(in, "positions", 2, (const int64_t[]){a->n_axes, n},
                                   a->probe->arena);
    *x = posref_probe_input(in, "x", 2, (const int64_t[]){n, a->pairs.dim}, a->probe->arena);
    return p && *x ? p : NULL;
}

static enum posref_status no_memory(struct posref_error *err)
{
    return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
}

/* Row [axis][step]: that axis alone at 2^step, every pair (1, 0). */
static enum posref_status ask_angles(double **angle, struct axes *a, struct posref_error *err)
{
    const int dim = a->pairs.dim, n = a->pairs.n, n_rows = a->n_axes * N_STEPS;
    struct posref_tensors in;
    const double *y = NULL;
    double *x, *p = rows(&x, &in, a, n_rows);
    *angle = a->probe->arena->alloc(a->probe->arena->ctx, (size_t)(n_rows * n) * sizeof **angle);
    if (!p || !*angle)
        return no_memory(err);
    for (int r = 0; r < n_rows; r++) {
        p[r / N_STEPS * n_rows + r] = exp2(r % N_STEPS) * a->unit_position;
        for (int i = 0; i < n; i++)
            x[r * dim + a->pairs.pair[i].in[0]] = 1;
    }
    enum posref_status status = ask(&y, a, &in, err);
    for (int e = 0; y && e < n_rows * n; e++) {
        const struct posref_pair *pair = &a->pairs.pair[e % n];
        (*angle)[e] = atan2(y[e / n * dim + pair->out[1]], y[e / n * dim + pair->out[0]]);
    }
    return status;
}

/* Values in all channels, one axis at a time and all together: what a spec must give. */
static enum posref_status ask_witness(struct axes *a, struct posref_error *err)
{
    static const double at[N_WITNESS] = {1, 3, 7};
    const int dim = a->pairs.dim, n_rows = (a->n_axes + 1) * N_WITNESS;
    double *x, *p = rows(&x, &a->in, a, n_rows);
    if (!p)
        return no_memory(err);
    for (int r = 0; r < n_rows; r++)
        for (int axis = 0; axis < a->n_axes; axis++)
            if (r / N_WITNESS == axis || r / N_WITNESS == a->n_axes)
                p[axis * n_rows + r] = (at[r % N_WITNESS] + (r / N_WITNESS == axis ? 0 : axis)) *
                                       a->unit_position;
    for (int e = 0; e < n_rows * dim; e++)
        x[e] = (double)(e * 37 % 61 + 1) / 64;
    return ask(&a->y, a, &a->in, err);
}

/* ---- what was measured ---- */

static int falling(const void *one, const void *other)
{
    const struct turning *a = one, *b = other;
    return a->freq < b->freq ? 1 : a->freq > b->freq ? -1 : a->axis - b->axis;
}

/* Axis and frequency of each pair; false: something that no spec says was found. */
static bool read_turning(struct axes *a, const double *angle)
{
    const int n = a->pairs.n;
    for (int i = 0; i < n; i++) {
        struct turning *t = &a->pair[i];
        double most = 0, other = 0;
        for (int axis = 0; axis < a->n_axes; axis++) {
            const double size = fabs(angle[axis * N_STEPS * n + i]);
            other = fmax(other, size > most ? most : size);
            t->axis = size > most ? axis : t->axis;
            most = fmax(most, size);
        }
        if (most == 0 || other > 1e-3 * most) {
            posref_identity_finding(a->id, "channels %d and %d are turned by %s",
                                    a->pairs.pair[i].in[0], a->pairs.pair[i].in[1],
                                    most == 0 ? "no axis" : "more than one axis");
            return false;
        }
        const double u = posref_unit(a->probe->dtype);
        const double *own = angle + t->axis * N_STEPS * n + i;
        t->freq = fabs(*own);
        t->tol = 4 * u;
        const int broken = posref_curve_follow(&t->freq, &t->tol, own, n, a->pairs.pair[i].offset,
                                               u);
        if (broken)
            posref_identity_finding(a->id, "angles of axis %d follow position times one frequency "
                                    "below position %d and not there", t->axis, broken);
        t->freq /= a->unit_position;
        a->width[t->axis]++;
    }
    memcpy(a->sorted, a->pair, (size_t)n * sizeof *a->pair);
    qsort(a->sorted, (size_t)n, sizeof *a->sorted, falling);
    return a->id->n_findings == 0;
}

/* "8 x axis 0, 12 x axis 2": the axes of the pairs by channel. */
static void tell_axes(struct axes *a)
{
    char text[160] = "";
    size_t length = 0;
    for (int i = 0, from = 0; i < a->pairs.n && length < sizeof text; i++)
        if (i + 1 == a->pairs.n || a->pair[i + 1].axis != a->pair[i].axis) {
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%d x axis %d",
                                       from ? ", " : "", i + 1 - from, a->pair[i].axis);
            from = i + 1;
        }
    posref_identity_finding(a->id, "axes of the pairs, by channel: %s", text);
}

/* ---- base and scaling of a ladder ---- */

/* Fits those frequencies as the whole ladder of a rope in one axis. */
static bool fit_ladder(struct posref_identity *one, const struct axes *a,
                       const struct turning *ladder, int n)
{
    const struct posref_arena *arena = a->probe->arena;
    double *freq = arena->alloc(arena->ctx, 2 * (size_t)n * sizeof *freq), *tol = freq + n;
    static const enum posref_field dropped[] = {
        POSREF_FIELD_AXES_DIMS, POSREF_FIELD_AXES_LADDER, POSREF_FIELD_AXES_ORDER,
        POSREF_FIELD_AXES_SPAN, POSREF_FIELD_AXES_NTK, POSREF_FIELD_ANGLE_UNIT,
        POSREF_FIELD_MROPE_SECTION, POSREF_FIELD_MROPE_INTERLEAVED, POSREF_FIELD_MROPE_ORDER};
    memset(one, 0, sizeof *one);
    one->asked = a->id->asked;
    for (size_t k = 0; k < sizeof dropped / sizeof *dropped; k++)
        one->asked.given[dropped[k]] = false;
    one->asked.dim = one->asked.rotary_dim = 2 * n;
    one->spec = one->asked;
    for (int i = 0; freq && i < n; i++) {
        freq[i] = ladder[i].freq;
        tol[i] = ladder[i].tol + posref_curve_formed(freq[i], i, a->u);
    }
    const struct posref_curve curve = {.n = n, .inv_freq = freq, .tol = tol,
                                       .magnitude = a->magnitude,
                                       .magnitude_tol = 4 * posref_unit(a->probe->dtype) + 8 * a->u,
                                       .arena = arena};
    return freq && posref_curve_fit(one, &curve);
}

static int only_axis(struct turning *out, const struct axes *a, int axis)
{
    int n = 0;
    for (int i = 0; i < a->pairs.n; i++)
        if (a->sorted[i].axis == axis)
            out[n++] = a->sorted[i];
    return n;
}

/* The widest axis tells the base of ladders of their own. */
static bool fit_own(struct posref_identity *one, const struct axes *a)
{
    struct turning *own = a->probe->arena->alloc(a->probe->arena->ctx,
                                                 (size_t)a->pairs.n * sizeof *own);
    int widest = 0;
    for (int axis = 1; axis < a->n_axes; axis++)
        widest = a->width[axis] > a->width[widest] ? axis : widest;
    return own && fit_ladder(one, a, own, only_axis(own, a, widest));
}

/* ---- the comparison ---- */

/* How far a spec is from what came back, in units of what the arithmetic may do; infinite for one
 * that is none. */
static double distance(const struct axes *a, struct posref_spec *spec)
{
    struct posref_tensors out;
    if (posref_spec_complete(spec, NULL) != POSREF_OK ||
        posref_eval(&out, spec, POSREF_OP_ROTATE, &a->in, a->probe->arena, NULL) != POSREF_OK)
        return HUGE_VAL;
    const double *want = out.item[0].data, u = fmax(a->u, posref_unit(a->probe->dtype));
    double worst = 0;
    for (int64_t e = 0; e < posref_tensor_count(&out.item[0]); e++)
        worst = fmax(worst, fabs(want[e] - a->y[e]) / (u * 512));
    return isnan(worst) ? HUGE_VAL : worst;
}

static bool same_ints(const struct posref_ints *a, const struct posref_ints *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* The same axes, in the same words. */
static bool same_words(const struct posref_spec *a, const struct posref_spec *b)
{
    const bool dims = a->given[POSREF_FIELD_AXES_DIMS];
    if (dims != b->given[POSREF_FIELD_AXES_DIMS] || a->pairing != b->pairing ||
        a->direction != b->direction || a->partial != b->partial)
        return false;
    return dims ? same_ints(&a->axes_dims, &b->axes_dims) && a->axes_ladder == b->axes_ladder &&
                      a->axes_order == b->axes_order && a->axes_span == b->axes_span
                : same_ints(&a->mrope_section, &b->mrope_section) &&
                      a->mrope_order == b->mrope_order;
}

static void accept(struct axes *a, const struct posref_spec *spec,
                   const struct posref_identity *one)
{
    struct posref_identity *id = a->id;
    char text[200];
    if (a->found && same_words(spec, &id->spec))
        return;
    if (a->found) {
        const bool dims = spec->given[POSREF_FIELD_AXES_DIMS];
        const struct posref_field_def *order = posref_field_def(
            dims ? POSREF_FIELD_AXES_LADDER : POSREF_FIELD_MROPE_ORDER);
        const struct posref_ints *list = dims ? &spec->axes_dims : &spec->mrope_section;
        char numbers[64] = "";
        for (int axis = 0; axis < list->n && strlen(numbers) < sizeof numbers - 8; axis++)
            snprintf(numbers + strlen(numbers), 8, "%s%d", axis ? "," : "", list->item[axis]);
        snprintf(text, sizeof text, "pairing=%s %s=%s %s=%s%s has the same effect",
                 posref_field_def(POSREF_FIELD_PAIRING)->choices[spec->pairing],
                 dims ? "axes_dims" : "mrope_section", numbers, order->name,
                 order->choices[dims ? spec->axes_ladder : spec->mrope_order],
                 dims && spec->axes_span == POSREF_AXES_SPAN_HEAD ? " axes_span=head" : "");
        for (int k = 0; k < id->n_families; k++)
            if (strcmp(id->family[k].text, text) == 0)
                return;
        posref_identity_family(id, dims ? "axes_dims axes_ladder" : "mrope_section mrope_order",
                               "%s", text);
        return;
    }
    a->found = id->decided = true;
    id->spec = *spec;
    for (int f = 0; f < POSREF_N_FIELDS; f++) {
        id->how[f] = spec->given[f] ? POSREF_HOW_MEASURED : POSREF_HOW_NONE;
        if (one && one->how[f] == POSREF_HOW_FITTED && spec->given[f]) {
            id->how[f] = one->how[f];
            id->range[f] = one->range[f];
        }
    }
    for (int k = 0; one && k < one->n_families; k++)
        posref_identity_family(id, one->family[k].keys, "%s", one->family[k].text);
    id->residual = one ? one->residual : 0;
}

/* Every pairing, sense and place of a spec that has all else. */
static void try_places(struct axes *a, const struct posref_spec *spec,
                       const struct posref_identity *one)
{
    for (int pairing = 0; posref_field_def(POSREF_FIELD_PAIRING)->choices[pairing]; pairing++)
        for (int k = 0; k < 4; k++) {
            struct posref_spec tried = *spec;
            tried.pairing = pairing;
            tried.direction = k % 2;
            tried.partial = k / 2 ? POSREF_PARTIAL_TRAILING : POSREF_PARTIAL_LEADING;
            tried.given[POSREF_FIELD_PAIRING] = tried.given[POSREF_FIELD_DIRECTION] = true;
            tried.given[POSREF_FIELD_PARTIAL] = true;
            if (k / 2 && tried.rotary_dim == tried.dim)
                break;
            if (distance(a, &tried) <= 1)
                accept(a, &tried, one);
        }
}

/* A spec of the measured widths and the fitted base and scaling; its axes are not said yet. */
static struct posref_spec start(const struct axes *a, const struct posref_identity *one)
{
    struct posref_spec spec = one->spec;
    spec.dim = a->pairs.dim;
    spec.rotary_dim = 2 * a->pairs.n;
    spec.given[POSREF_FIELD_DIM] = spec.given[POSREF_FIELD_ROTARY_DIM] = true;
    return spec;
}

/* The asked sections first: the bounds of an order that deals pairs out may never be reached. */
static void try_sections(struct axes *a, const struct posref_identity *one)
{
    const struct posref_spec *asked = &a->id->asked;
    for (int measured = !asked->given[POSREF_FIELD_MROPE_SECTION]; measured < 2; measured++)
        for (int order = 0; posref_field_def(POSREF_FIELD_MROPE_ORDER)->choices[order]; order++) {
            struct posref_spec spec = start(a, one);
            const bool hw_t = order == POSREF_MROPE_HW_T && a->n_axes == 3;
            spec.mrope_section = asked->mrope_section;
            spec.mrope_section.n = a->n_axes;
            for (int axis = 0; axis < a->n_axes && measured; axis++)
                spec.mrope_section.item[axis] = a->width[hw_t ? (axis + 1) % 3 : axis];
            spec.mrope_order = order;
            spec.given[POSREF_FIELD_MROPE_SECTION] = spec.given[POSREF_FIELD_MROPE_ORDER] = true;
            try_places(a, &spec, one);
        }
}

static void try_dims(struct axes *a, const struct posref_identity *one, int ladder)
{
    for (int k = 0; k < 3; k++) {
        struct posref_spec spec = start(a, one);
        spec.axes_dims.n = a->n_axes;
        for (int axis = 0; axis < a->n_axes; axis++)
            spec.axes_dims.item[axis] = 2 * a->width[axis];
        spec.axes_ladder = ladder;
        spec.axes_order = k == 2 ? POSREF_AXES_ORDER_FREQUENCY : POSREF_AXES_ORDER_AXIS;
        spec.axes_span = k ? POSREF_AXES_SPAN_HEAD : POSREF_AXES_SPAN_AXIS;
        spec.given[POSREF_FIELD_AXES_DIMS] = spec.given[POSREF_FIELD_AXES_LADDER] = true;
        spec.given[POSREF_FIELD_AXES_ORDER] = spec.given[POSREF_FIELD_AXES_SPAN] = true;
        try_places(a, &spec, one);
    }
}

static enum posref_status search(struct axes *a, struct posref_error *err)
{
    static const double units[] = {0x1p-52, 0x1p-24};
    const bool dims = a->id->asked.given[POSREF_FIELD_AXES_DIMS];
    struct posref_identity *whole = a->probe->arena->alloc(a->probe->arena->ctx, 2 * sizeof *whole);
    if (!whole)
        return no_memory(err);
    struct posref_identity *own = whole + 1;
    for (size_t t = a->probe->dtype == POSREF_F64 ? 0 : 1; t < 2 && !a->found; t++) {
        struct posref_spec asked = a->id->asked;
        a->u = units[t];
        if (distance(a, &asked) <= 1)
            accept(a, &asked, NULL);
        const bool fits_whole = fit_ladder(whole, a, a->sorted, a->pairs.n);
        if (fits_whole && !dims) /* the asked family first */
            try_sections(a, whole);
        if (fit_own(own, a))
            try_dims(a, own, POSREF_AXES_LADDER_INDEPENDENT);
        if (fits_whole) {
            try_dims(a, whole, POSREF_AXES_LADDER_SHARED);
            try_dims(a, whole, POSREF_AXES_LADDER_SPLIT);
        }
        if (fits_whole && dims)
            try_sections(a, whole);
    }
    return POSREF_OK;
}

/* ---- all of it ---- */

static enum posref_status keep(struct axes *a, struct posref_error *err)
{
    const struct posref_arena *arena = a->probe->arena;
    const size_t n = (size_t)a->pairs.n;
    double *freq = arena->alloc(arena->ctx, 2 * n * sizeof *freq + 1);
    int (*channel)[2] = arena->alloc(arena->ctx, n * sizeof *channel + 1);
    if (!freq || !channel)
        return no_memory(err);
    for (size_t i = 0; i < n; i++) {
        freq[i] = a->pair[i].freq;
        freq[n + i] = a->pair[i].tol;
        memcpy(channel[i], a->pairs.pair[i].in, sizeof channel[i]);
    }
    a->id->inv_freq = freq;
    a->id->inv_freq_error = freq + n;
    a->id->channel = (const int (*)[2])channel;
    a->id->n_pairs = a->pairs.n;
    a->id->magnitude = a->magnitude;
    return POSREF_OK;
}

static enum posref_status measure(struct axes *a, struct posref_error *err)
{
    const struct posref_arena *arena = a->probe->arena;
    double *angle;
    a->pair = arena->alloc(arena->ctx, 2 * (size_t)a->pairs.n * sizeof *a->pair + 1);
    if (!a->pair)
        return no_memory(err);
    memset(a->pair, 0, 2 * (size_t)a->pairs.n * sizeof *a->pair);
    a->sorted = a->pair + a->pairs.n;
    for (int i = 0; i < a->pairs.n; i++)
        a->magnitude = fmax(a->magnitude, a->pairs.pair[i].magnitude);
    enum posref_status status = ask_angles(&angle, a, err);
    if (status == POSREF_OK && a->probe->verdict == POSREF_VERDICT_PASS && read_turning(a, angle))
        status = ask_witness(a, err);
    if (status == POSREF_OK && a->y)
        status = search(a, err);
    return status == POSREF_OK ? keep(a, err) : status;
}

enum posref_status posref_identify_axes(struct posref_identity *id, struct posref_probe *probe,
                                        struct posref_error *err)
{
    struct axes a = {.id = id, .probe = probe, .n_axes = posref_spec_axes(&id->asked),
                     .unit_position = 1};
    struct posref_basis basis;
    if (id->asked.given[POSREF_FIELD_ANGLE_UNIT] &&
        id->asked.angle_unit != POSREF_ANGLE_UNIT_RADIAN)
        a.unit_position = 0x1p-6;
    enum posref_status status = posref_basis_ask(&basis, probe, a.unit_position, err);
    if (status != POSREF_OK || probe->verdict != POSREF_VERDICT_PASS)
        return status;
    id->dtype = probe->dtype;
    status = posref_pairs_read(&a.pairs, &basis, probe->arena, err);
    if (status != POSREF_OK)
        return status;
    if (a.pairs.n == 0 || a.pairs.n_mixed > 0) {
        posref_identity_finding(id, "%d pairs of channels turn, %d channels mix otherwise",
                                a.pairs.n, a.pairs.n_mixed);
        posref_identity_family(id, "pairing axes_dims mrope_section",
                               "no layout that posref knows has these pairs");
        return POSREF_OK;
    }
    status = measure(&a, err);
    if (status == POSREF_OK && !a.found && probe->verdict == POSREF_VERDICT_PASS) {
        tell_axes(&a);
        posref_identity_family(id, "axes_dims mrope_section base",
                               "no axes, base and scaling that posref knows give these pairs");
    }
    return status;
}
