/* SPDX-License-Identifier: Apache-2.0 */
/* Sinusoidal tables: position 0 tells sines from cosines, position 1 gives the frequencies. */
#include "identify.h"

#include <math.h>
#include <stdlib.h>

struct ladder {
    int n;
    int sine[POSREF_IDENTIFY_MAX_DIM / 2], cosine[POSREF_IDENTIFY_MAX_DIM / 2];
    double exponent[POSREF_IDENTIFY_MAX_DIM / 2]; /* -log theta_i / log base */
};

static enum posref_status ask(struct posref_tensors *out, struct posref_identity *id,
                              struct posref_probe *probe, struct posref_error *err)
{
    struct posref_tensors in = {.n = 0};
    double *p = posref_probe_input(&in, "positions", 1, (const int64_t[]){2}, probe->arena);
    if (!p)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    p[1] = 1;
    id->op = POSREF_OP_TABLE;
    enum posref_status status = posref_probe_dtype(out, probe, id->op, &in, err);
    if (status != POSREF_OK || probe->verdict != POSREF_VERDICT_UNSUPPORTED)
        return status;
    const int64_t shape[] = {2, probe->spec->dim};
    if (!posref_probe_input(&in, "x", 2, shape, probe->arena)) /* of zeros: the table is left */
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    id->op = POSREF_OP_EMBED;
    return posref_probe_dtype(out, probe, id->op, &in, err);
}

struct item {
    double key;
    int channel;
};

static int by_key(const void *a, const void *b)
{
    const struct item *first = a, *second = b;
    return first->key < second->key ? 1 : first->key > second->key ? -1 : 0;
}

/* Where the reference puts what, for a spec's layout and exponent. */
static bool read_reference(struct ladder *out, const struct posref_spec *spec,
                           const struct posref_arena *arena)
{
    struct item sine[POSREF_IDENTIFY_MAX_DIM], cosine[POSREF_IDENTIFY_MAX_DIM];
    struct posref_tensors in = {.n = 0}, got;
    int n[2] = {0, 0};
    double *p = posref_probe_input(&in, "positions", 1, (const int64_t[]){2}, arena);
    if (!p)
        return false;
    p[1] = 1;
    if (posref_eval(&got, spec, POSREF_OP_TABLE, &in, arena, NULL) != POSREF_OK)
        return false;
    const double *at_0 = got.item[0].data, *at_1 = at_0 + spec->dim;
    for (int c = 0; c < spec->dim; c++)
        if (at_0[c] == 1)
            cosine[n[1]++] = (struct item){-at_1[c], c};
        else
            sine[n[0]++] = (struct item){at_1[c], c};
    qsort(sine, (size_t)n[0], sizeof *sine, by_key);
    qsort(cosine, (size_t)n[1], sizeof *cosine, by_key);
    out->n = n[0];
    for (int i = 0; i < n[0] && n[0] == n[1]; i++) {
        out->sine[i] = sine[i].channel;
        out->cosine[i] = cosine[i].channel;
        out->exponent[i] = -log(asin(sine[i].key)) / log(spec->base);
    }
    return n[0] == n[1] && n[0] > 0;
}

/* The plugin's channels are sines and cosines of one falling ladder in these places. */
static bool agrees(double *theta, const double *at_0, int dim, const struct ladder *l, double u)
{
    const double *at_1 = at_0 + dim;
    for (int i = 0; i < l->n; i++) {
        const double s = at_1[l->sine[i]], c = at_1[l->cosine[i]];
        theta[i] = asin(s);
        if (fabs(at_0[l->sine[i]]) > u || fabs(at_0[l->cosine[i]] - 1) > 4 * u || !(s > 0) ||
            fabs(s * s + c * c - 1) > 16 * u)
            return false;
    }
    return true;
}

static struct posref_interval base_of(const double *theta, const struct ladder *l, double u)
{
    struct posref_interval log_base = {-HUGE_VAL, HUGE_VAL};
    if (fabs(theta[0] - 1) > 16 * u)
        return (struct posref_interval){1, 0};
    for (int i = 1; i < l->n; i++) {
        const double at = -log(theta[i]), tol = u * (12 + 4 * at);
        log_base.lo = fmax(log_base.lo, (at - tol) / l->exponent[i]);
        log_base.hi = fmin(log_base.hi, (at + tol) / l->exponent[i]);
    }
    return (struct posref_interval){exp(log_base.lo), exp(log_base.hi)};
}

static int digits_of(double x)
{
    char text[POSREF_NUMBER_SIZE];
    return (int)posref_number_format(text, x);
}

/* Better than what was found: the asked one, else the one with the shorter base. */
static bool prefers(const struct posref_identity *id, const struct posref_spec *spec)
{
    const bool as_asked = spec->order == id->asked.order && spec->exponent == id->asked.exponent &&
                          spec->base == id->asked.base;
    return !id->decided || as_asked || digits_of(spec->base) < digits_of(id->spec.base);
}

static void consider(struct posref_identity *id, const struct posref_spec *spec,
                     struct posref_interval base)
{
    if (id->decided) {
        const struct posref_spec *other = prefers(id, spec) ? &id->spec : spec;
        posref_identity_family(id, "exponent base",
                               "exponent=%s with base=%.9g has the same effect",
                               posref_field_def(POSREF_FIELD_EXPONENT)->choices[other->exponent],
                               other->base);
    }
    if (!prefers(id, spec))
        return;
    id->spec = *spec;
    id->range[POSREF_FIELD_BASE] = base;
    id->decided = true;
}

static enum posref_status fit(struct posref_identity *id, const double *table,
                              struct posref_probe *probe, struct posref_error *err)
{
    const int dim = id->asked.dim;
    struct ladder *l = probe->arena->alloc(probe->arena->ctx, sizeof *l);
    double *theta = probe->arena->alloc(probe->arena->ctx, (size_t)dim * sizeof *theta);
    double *kept = probe->arena->alloc(probe->arena->ctx, (size_t)dim * sizeof *theta);
    double *tol = probe->arena->alloc(probe->arena->ctx, (size_t)dim * sizeof *tol);
    if (!l || !theta || !kept || !tol)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    bool placed = false;
    for (int t = probe->dtype == POSREF_F64 ? 0 : 1; t < 2 && !id->decided; t++)
        for (int order = 0; posref_field_def(POSREF_FIELD_ORDER)->choices[order]; order++)
            for (int e = 0; posref_field_def(POSREF_FIELD_EXPONENT)->choices[e]; e++) {
                struct posref_spec spec = id->asked;
                const double u = fmax(t ? 0x1p-24 : 0x1p-52, posref_unit(probe->dtype));
                spec.order = order;
                spec.exponent = e;
                spec.base = 10000;
                if (posref_spec_complete(&spec, NULL) != POSREF_OK ||
                    !read_reference(l, &spec, probe->arena) || !agrees(theta, table, dim, l, u))
                    continue;
                placed = true;
                for (int i = 0; i < l->n; i++) {
                    kept[i] = theta[i];
                    tol[i] = u * (12 + 4 * fabs(log(theta[i])));
                }
                id->n_pairs = l->n;
                struct posref_interval base = base_of(theta, l, u);
                if (!(base.lo <= base.hi && base.lo > 1))
                    continue;
                spec.base = posref_within(base, id->asked.base) ? id->asked.base
                                                                : posref_simplest(base);
                consider(id, &spec, base);
            }
    if (placed) {
        id->inv_freq = kept;
        id->inv_freq_error = tol;
    } else {
        posref_identity_family(id, "order", "no order that posref knows has these channels at "
                               "positions 0 and 1");
    }
    if (placed && !id->decided)
        posref_identity_family(id, "base exponent", "no base gives these frequencies");
    return POSREF_OK;
}

enum posref_status posref_identify_sinusoidal(struct posref_identity *id,
                                              struct posref_probe *probe, struct posref_error *err)
{
    struct posref_tensors got;
    enum posref_status status = ask(&got, id, probe, err);
    if (status != POSREF_OK || probe->verdict != POSREF_VERDICT_PASS)
        return status;
    id->dtype = probe->dtype;
    status = fit(id, got.item[0].data, probe, err);
    id->how[POSREF_FIELD_DIM] = id->how[POSREF_FIELD_ORDER] = POSREF_HOW_MEASURED;
    id->how[POSREF_FIELD_BASE] = id->how[POSREF_FIELD_EXPONENT] = POSREF_HOW_FITTED;
    return status;
}
