/* SPDX-License-Identifier: Apache-2.0 */
/* Rope: pairs from basis vectors, frequencies from angles, base and scaling from frequencies. */
#include "identify.h"
#include "identify_pairs.h"
#include "probe_form.h"

#include <math.h>
#include <string.h>

#define N_STEPS POSREF_IDENTIFY_STEPS

struct measured {
    struct posref_pairs pairs;
    int *order;         /* [n] number i of the frequency -> pair */
    double *inv_freq;   /* [n] */
    double *tol;        /* [n] relative */
    double offset, magnitude, magnitude_spread, crooked;
    double unit;        /* of the arithmetic that the fit found, at least the dtype's */
    int broken_at;      /* position from which angles no longer follow one frequency; 0: none */
};

/* ---- which layout of the reference's ---- */

/* A plain spec of the measured width in one of the reference's layouts. */
static bool layout_spec(struct posref_spec *out, const struct posref_identity *id, int width,
                        int partial, int pairing, int direction)
{
    posref_spec_init(out);
    out->scheme = POSREF_SCHEME_ROPE;
    out->dim = id->asked.dim;
    out->rotary_dim = width;
    out->partial = partial;
    out->pairing = pairing;
    out->direction = direction;
    static const enum posref_field set[] = {POSREF_FIELD_SCHEME, POSREF_FIELD_DIM,
                                            POSREF_FIELD_ROTARY_DIM, POSREF_FIELD_PARTIAL,
                                            POSREF_FIELD_PAIRING, POSREF_FIELD_DIRECTION};
    for (size_t k = 0; k < sizeof set / sizeof *set; k++)
        out->given[set[k]] = true;
    return posref_spec_complete(out, NULL) == POSREF_OK;
}

/* The number of each frequency: the reference's angles at position 1 are its ladder, falling. */
static void order_pairs(int *order, const struct posref_pairs *like)
{
    for (int i = 0; i < like->n; i++)
        order[i] = i;
    for (int i = 1; i < like->n; i++) {
        int pair = order[i], k = i;
        for (; k > 0 && fabs(like->pair[order[k - 1]].angle) < fabs(like->pair[pair].angle); k--)
            order[k] = order[k - 1];
        order[k] = pair;
    }
}

static int n_choices(enum posref_field field)
{
    int n = 0;
    while (posref_field_def(field)->choices[n])
        n++;
    return n;
}

/* Whether the spec's first and last pair can be the plugin's: whole readings are dear. */
static bool may_be(const struct measured *m, const struct posref_spec *spec,
                   const struct posref_arena *arena)
{
    const int dim = m->pairs.dim;
    const struct posref_pair *probe[2] = {&m->pairs.pair[0], &m->pairs.pair[m->pairs.n - 1]};
    struct posref_tensors in = {.n = 0}, got;
    double *p = posref_probe_input(&in, "positions", 1, (const int64_t[]){1}, arena);
    double *x = posref_probe_input(&in, "x", 3, (const int64_t[]){1, 2, dim}, arena);
    if (!p || !x)
        return true; /* the whole reading fails, and says so */
    p[0] = 1;
    for (int k = 0; k < 2; k++)
        x[k * dim + probe[k]->in[0]] = 1;
    if (posref_eval(&got, spec, POSREF_OP_ROTATE, &in, arena, NULL) != POSREF_OK)
        return false;
    const double *y = got.item[0].data;
    bool reached = true;
    for (int k = 0; k < 4; k++)
        reached = reached && y[k / 2 * dim + probe[k / 2]->out[k % 2]] != 0;
    return reached;
}

/* Finds the layout whose reading is the plugin's; false: none. */
static enum posref_status find_layout(bool *found, struct posref_identity *id, struct measured *m,
                                      const struct posref_arena *arena, struct posref_error *err)
{
    const int n_partials = n_choices(POSREF_FIELD_PARTIAL);
    const int n_pairings = n_choices(POSREF_FIELD_PAIRING);
    *found = false;
    for (int k = 0; k < 2 * n_pairings * n_partials && !*found; k++) {
        struct posref_spec spec;
        struct posref_basis basis;
        struct posref_pairs like;
        if (!layout_spec(&spec, id, 2 * m->pairs.n, k / 2 / n_pairings, k / 2 % n_pairings,
                         k % 2) || !may_be(m, &spec, arena))
            continue;
        enum posref_status status = posref_basis_eval(&basis, &spec, arena, err);
        if (status == POSREF_BAD_INPUT)
            continue;
        if (status == POSREF_OK)
            status = posref_pairs_read(&like, &basis, arena, err);
        if (status != POSREF_OK)
            return status;
        if (!posref_pairs_alike(&m->pairs, &like))
            continue;
        *found = true;
        id->spec = spec;
        order_pairs(m->order, &like);
    }
    for (size_t k = 0; *found && k < 5; k++)
        id->how[(const enum posref_field[]){POSREF_FIELD_DIM, POSREF_FIELD_ROTARY_DIM,
                                            POSREF_FIELD_PARTIAL, POSREF_FIELD_PAIRING,
                                            POSREF_FIELD_DIRECTION}[k]] = POSREF_HOW_MEASURED;
    return POSREF_OK;
}

/* ---- angles over positions ---- */

/* One row a position; every pair gets (1, 0), so its output is its cosine and sine. */
static enum posref_status ask_angles(double **out, struct measured *m, struct posref_probe *probe,
                                     struct posref_error *err)
{
    const int dim = probe->spec->dim, n = m->pairs.n;
    struct posref_tensors in = {.n = 0}, got;
    double *p = posref_probe_input(&in, "positions", 1, (const int64_t[]){N_STEPS}, probe->arena);
    double *x = posref_probe_input(&in, "x", 2, (const int64_t[]){N_STEPS, dim}, probe->arena);
    *out = probe->arena->alloc(probe->arena->ctx, (size_t)(N_STEPS * n) * sizeof **out);
    if (!p || !x || !*out)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    for (int k = 0; k < N_STEPS; k++) {
        p[k] = exp2(k);
        for (int i = 0; i < n; i++)
            x[k * dim + m->pairs.pair[i].in[0]] = 1;
    }
    enum posref_status status = posref_probe_ask(&got, probe, POSREF_OP_ROTATE, &in, err);
    if (status != POSREF_OK || probe->verdict != POSREF_VERDICT_PASS)
        return status;
    const double *y = got.item[0].data;
    for (int k = 0; k < N_STEPS; k++)
        for (int i = 0; i < n; i++) {
            const struct posref_pair *pair = &m->pairs.pair[m->order[i]];
            (*out)[k * n + i] = atan2(y[k * dim + pair->out[1]], y[k * dim + pair->out[0]]);
        }
    return POSREF_OK;
}

/* Tables instead of a rotation: width and order are those that were asked for. */
static enum posref_status ask_table(double **out, struct measured *m, struct posref_probe *probe,
                                    struct posref_error *err)
{
    const int n = m->pairs.n;
    struct posref_tensors in = {.n = 0}, got;
    double *p = posref_probe_input(&in, "positions", 1, (const int64_t[]){N_STEPS + 1},
                                   probe->arena);
    *out = probe->arena->alloc(probe->arena->ctx, (size_t)(N_STEPS * n) * sizeof **out);
    if (!p || !*out)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    for (int k = 0; k < N_STEPS; k++)
        p[k + 1] = exp2(k);
    enum posref_status status = posref_probe_dtype(&got, probe, POSREF_OP_TABLE, &in, err);
    if (status != POSREF_OK || probe->verdict != POSREF_VERDICT_PASS)
        return status;
    const double *cosine = got.item[0].data, *sine = got.item[1].data;
    for (int i = 0; i < n; i++) {
        struct posref_pair *pair = &m->pairs.pair[i];
        *pair = (struct posref_pair){.in = {i, i}, .out = {i, i}};
        m->order[i] = i;
        pair->offset = atan2(sine[i], cosine[i]);
        pair->magnitude = hypot(sine[n + i], cosine[n + i]);
        for (int k = 0; k < N_STEPS; k++)
            (*out)[k * n + i] = atan2(sine[(k + 1) * n + i], cosine[(k + 1) * n + i]);
        pair->angle = (*out)[i];
    }
    return POSREF_OK;
}

static enum posref_status read_curve(struct measured *m, const double *angle,
                                     struct posref_probe *probe, struct posref_error *err)
{
    const int n = m->pairs.n;
    const double u = posref_unit(probe->dtype);
    double least = HUGE_VAL, most = 0; /* a mean of many would add roundings of its own */
    m->inv_freq = probe->arena->alloc(probe->arena->ctx, (size_t)n * sizeof *m->inv_freq);
    m->tol = probe->arena->alloc(probe->arena->ctx, (size_t)n * sizeof *m->tol);
    if (!m->inv_freq || !m->tol)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    for (int i = 0; i < n; i++) {
        const struct posref_pair *pair = &m->pairs.pair[m->order[i]];
        m->inv_freq[i] = fabs(angle[i] - pair->offset);
        m->tol[i] = 2 * u;
        int broken = posref_curve_follow(&m->inv_freq[i], &m->tol[i], angle + i, n, pair->offset,
                                         u);
        if (broken && (!m->broken_at || broken < m->broken_at))
            m->broken_at = broken;
        m->crooked = fmax(m->crooked, pair->crooked);
        least = fmin(least, pair->magnitude);
        most = fmax(most, pair->magnitude);
        if (i == 0 || fabs(pair->offset / m->inv_freq[i]) > fabs(m->offset))
            m->offset = pair->offset / m->inv_freq[i] * (pair->angle < 0 ? -1 : 1);
    }
    m->magnitude = least + (most - least) / 2;
    m->magnitude_spread = most / m->magnitude - 1;
    return POSREF_OK;
}

/* ---- the fit, from tight to loose ---- */

static enum posref_status fit(struct posref_identity *id, struct measured *m,
                              struct posref_probe *probe, struct posref_error *err)
{
    static const double units[] = {0x1p-52, 0x1p-24};
    const int n = m->pairs.n;
    double *tol = probe->arena->alloc(probe->arena->ctx, (size_t)n * sizeof *tol);
    if (!tol)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    for (size_t k = probe->dtype == POSREF_F64 ? 0 : 1; k < 2 && !id->decided; k++) {
        for (int i = 0; i < n; i++)
            tol[i] = m->tol[i] + posref_curve_formed(m->inv_freq[i], i, units[k]);
        const struct posref_curve curve = {
            .n = n, .inv_freq = m->inv_freq, .tol = tol, .magnitude = m->magnitude,
            .magnitude_tol = 4 * posref_unit(probe->dtype) + 8 * units[k], .arena = probe->arena};
        id->decided = posref_curve_fit(id, &curve);
        enum posref_status status = id->decided ? posref_curve_find_models(id, &curve, err)
                                                : POSREF_OK;
        if (status != POSREF_OK)
            return status;
        m->unit = fmax(units[k], posref_unit(probe->dtype));
    }
    id->inv_freq = m->inv_freq;
    id->inv_freq_error = m->tol;
    return POSREF_OK;
}

/* A magnitude that the spec has no word for. */
static bool foreign_magnitude(struct posref_identity *id, struct measured *m)
{
    if (id->decided || fabs(m->magnitude - 1) < 1e-6)
        return false;
    posref_identity_finding(id, "every pair is multiplied by %.9g", m->magnitude);
    m->magnitude = 1;
    return true;
}

/* What an exponent over the width of the head makes of a base that is asked for. */
static void name_exponent(struct posref_identity *id)
{
    const double share = (double)id->spec.rotary_dim / id->spec.dim;
    const struct posref_interval in = id->range[POSREF_FIELD_BASE];
    if (id->spec.scaling != POSREF_SCALING_NONE || share >= 1 ||
        id->spec.base == id->asked.base || !posref_within(in, pow(id->asked.base, share)))
        return;
    posref_identity_family(id, "base", "exponents over dim (%d) for rotary_dim (%d) make this of "
                           "base=%.9g", id->spec.dim, id->spec.rotary_dim, id->asked.base);
}

/* ---- what no spec says ---- */

static void describe(struct posref_identity *id, const struct measured *m, double u)
{
    u = fmax(u, m->unit);
    const struct posref_pairs *p = &m->pairs;
    if (p->n == 0 && p->n_mixed == 0)
        posref_identity_finding(id, "no two channels mix: nothing is rotated at positions 1 and 5");
    if (p->n_moved)
        posref_identity_finding(id, "%d channels come out unchanged at other places", p->n_moved);
    if (p->n_scaled)
        posref_identity_finding(id, "%d channels change without a partner", p->n_scaled);
    if (p->n_mixed)
        posref_identity_finding(id, "%d channels mix in groups that are no pairs", p->n_mixed);
    if (m->crooked > 64 * u)
        posref_identity_finding(id, "pairs are not rotated: sines and cosines of the two channels "
                                "differ by up to %.3g", m->crooked);
    if (m->magnitude_spread > 16 * u)
        posref_identity_finding(id, "pairs are multiplied by different numbers, %.3g apart",
                                m->magnitude_spread);
    if (fabs(m->offset) > 1e-3)
        posref_identity_finding(id, "position 0 is turned: angles are those of position %+.6g",
                                m->offset);
    if (m->broken_at)
        posref_identity_finding(id, "angles follow position times one frequency below position %d "
                                "and not there", m->broken_at);
    for (int k = 0; k < p->n && p->n <= 64 && !id->channel; k++)
        if (p->pair[k].in[0] != p->pair[k].out[0] || p->pair[k].in[1] != p->pair[k].out[1]) {
            posref_identity_finding(id, "channels %d and %d come out as %d and %d",
                                    p->pair[k].in[0], p->pair[k].in[1], p->pair[k].out[0],
                                    p->pair[k].out[1]);
            return;
        }
}

/* A curve and what fits it. */
static enum posref_status conclude(struct posref_identity *id, struct measured *m,
                                   const double *angle, struct posref_probe *probe,
                                   struct posref_error *err)
{
    enum posref_status status = read_curve(m, angle, probe, err);
    if (status == POSREF_OK)
        status = fit(id, m, probe, err);
    if (status == POSREF_OK && foreign_magnitude(id, m))
        status = fit(id, m, probe, err);
    return status;
}

static enum posref_status keep_channels(struct posref_identity *id, const struct measured *m,
                                        const struct posref_arena *arena, struct posref_error *err)
{
    int (*channel)[2] = arena->alloc(arena->ctx, (size_t)(m->pairs.n + 1) * sizeof *channel);
    if (!channel)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    for (int i = 0; i < m->pairs.n; i++)
        for (int k = 0; k < 2; k++)
            channel[i][k] = m->pairs.pair[m->order[i]].in[k];
    id->channel = (const int (*)[2])channel;
    return POSREF_OK;
}

static void settle(struct posref_identity *id, const struct measured *m, bool found, double u)
{
    id->magnitude = m->magnitude;
    id->n_pairs = m->pairs.n;
    if (id->decided)
        name_exponent(id);
    describe(id, m, u);
    if (id->n_findings > 0)
        id->decided = false;
    if (!found)
        posref_identity_family(id, "pairing partial direction",
                               "no layout that posref knows has these pairs");
    else if (!id->inv_freq)
        posref_identity_family(id, "base scaling", "the frequencies could not be followed");
    else if (!id->decided && id->n_findings == 0)
        posref_identity_family(id, "base scaling",
                               "no base and scaling that posref knows gives these frequencies");
}

/* A plugin that gives tables and does not rotate. */
static enum posref_status identify_table(struct posref_identity *id, struct measured *m,
                                         struct posref_probe *probe, struct posref_error *err)
{
    const struct posref_arena *arena = probe->arena;
    double *angle;
    const size_t n = (size_t)probe->spec->rotary_dim / 2;
    m->pairs = (struct posref_pairs){.dim = probe->spec->dim, .n = (int)n};
    m->pairs.pair = arena->alloc(arena->ctx, n * sizeof *m->pairs.pair);
    m->order = arena->alloc(arena->ctx, n * sizeof *m->order);
    if (!m->pairs.pair || !m->order)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    id->op = POSREF_OP_TABLE;
    enum posref_status status = ask_table(&angle, m, probe, err);
    if (status != POSREF_OK || probe->verdict != POSREF_VERDICT_PASS)
        return status;
    id->dtype = probe->dtype;
    status = conclude(id, m, angle, probe, err);
    settle(id, m, true, posref_unit(probe->dtype));
    posref_identity_family(id, "pairing partial direction rotary_dim",
                           "tables do not show which channels are rotated");
    return status;
}

/* Cosines and sines of another base are handed in: is it this base that comes out? */
static enum posref_status hand_other_tables(struct posref_probe *probe,
                                            const struct posref_spec *asked,
                                            struct posref_error *err)
{
    struct posref_spec *other = probe->arena->alloc(probe->arena->ctx, sizeof *other);
    if (!other)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    *other = *asked;
    other->base = asked->base * 3;
    probe->tables = other;
    return POSREF_OK;
}

/* The basis, plain, or where that is declined in the first form that is taken. */
static enum posref_status ask_basis(struct posref_basis *out, struct posref_identity *id,
                                    struct posref_probe *probe, struct posref_error *err)
{
    const struct posref_layout *form;
    enum posref_status status = hand_other_tables(probe, &id->asked, err);
    if (status == POSREF_OK)
        status = posref_basis_ask(out, probe, 1, err);
    for (int k = 0; status == POSREF_OK && probe->verdict == POSREF_VERDICT_UNSUPPORTED &&
                    (form = posref_probe_form_at(k)) != NULL; k++) {
        if (!posref_probe_form_taken(form, probe->runner))
            continue;
        id->form = probe->form = form;
        status = posref_basis_ask(out, probe, 1, err);
    }
    if (status != POSREF_OK || probe->verdict == POSREF_VERDICT_UNSUPPORTED)
        id->form = probe->form = NULL;
    return status;
}

static void tell_handed(struct posref_identity *id, const struct posref_layout *form)
{
    posref_identity_family(id, "base scaling", "handed cosines and sines (layout %s), it turns by "
                           "these: base and scaling are not computed by it then", form->name);
    id->family[id->n_families - 1].handed = true;
}

/* Base and scaling of handed-in tables came out: they are not the plugin's. */
static void disown(struct posref_identity *id)
{
    if (id->spec.base == id->asked.base)
        return;
    id->n_families = 0; /* of base and scaling */
    id->models[0] = '\0';
    id->more_models = false;
    tell_handed(id, id->form);
    struct posref_spec spec = id->asked;
    spec.rotary_dim = id->spec.rotary_dim;
    spec.partial = id->spec.partial;
    spec.pairing = id->spec.pairing;
    spec.direction = id->spec.direction;
    id->spec = spec;
    for (int f = 0; f < POSREF_N_FIELDS; f++)
        if (id->how[f] == POSREF_HOW_FITTED) {
            id->how[f] = POSREF_HOW_ASSUMED;
            id->range[f] = (struct posref_interval){0, 0};
        }
}

/* A plugin that makes its own frequencies may take tables as well. */
static enum posref_status note_tables(struct posref_identity *id, struct measured *m,
                                      struct posref_probe *probe, struct posref_error *err)
{
    const struct posref_layout *form;
    enum posref_status status = POSREF_OK;
    const double last = pow(3, -(m->pairs.n - 1.0) / m->pairs.n) * m->inv_freq[m->pairs.n - 1];
    for (int k = 0; status == POSREF_OK && (form = posref_probe_form_at(k)) != NULL; k++) {
        double *angle;
        if (!posref_probe_form_has_tables(form) || !posref_probe_form_taken(form, probe->runner))
            continue;
        probe->form = form;
        status = ask_angles(&angle, m, probe, err);
        probe->form = NULL;
        if (status != POSREF_OK || probe->verdict != POSREF_VERDICT_PASS)
            continue;
        if (fabs(fabs(angle[m->pairs.n - 1]) / last - 1) < 0.01)
            tell_handed(id, form);
        break;
    }
    probe->verdict = POSREF_VERDICT_PASS;
    return status;
}

static enum posref_status identify_rotation(struct posref_identity *id, struct measured *m,
                                            const struct posref_basis *basis,
                                            struct posref_probe *probe, struct posref_error *err)
{
    double *angle;
    bool found = false;
    enum posref_status status = posref_pairs_read(&m->pairs, basis, probe->arena, err);
    m->order = probe->arena->alloc(probe->arena->ctx, ((size_t)m->pairs.n + 1) * sizeof *m->order);
    if (status == POSREF_OK && !m->order)
        status = posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    if (status != POSREF_OK)
        return status;
    order_pairs(m->order, &m->pairs);
    if (m->pairs.n > 0)
        status = find_layout(&found, id, m, probe->arena, err);
    if (status == POSREF_OK && found)
        status = ask_angles(&angle, m, probe, err);
    if (status == POSREF_OK && found && probe->verdict == POSREF_VERDICT_PASS)
        status = conclude(id, m, angle, probe, err);
    if (status == POSREF_OK && m->pairs.n > 0)
        status = keep_channels(id, m, probe->arena, err);
    settle(id, m, found, posref_unit(probe->dtype));
    if (status == POSREF_OK && id->decided && !id->form && m->pairs.n > 1)
        status = note_tables(id, m, probe, err);
    if (status == POSREF_OK && id->decided && id->form && posref_probe_form_has_tables(id->form))
        disown(id);
    return status;
}

enum posref_status posref_identify_rope(struct posref_identity *id, struct posref_probe *probe,
                                        struct posref_error *err)
{
    struct measured m = {.offset = 0};
    struct posref_basis basis;
    id->op = POSREF_OP_ROTATE;
    if (posref_spec_axes(&id->asked) > 1)
        return posref_identify_axes(id, probe, err);
    enum posref_status status = ask_basis(&basis, id, probe, err);
    if (status == POSREF_OK && probe->verdict == POSREF_VERDICT_UNSUPPORTED)
        return identify_table(id, &m, probe, err);
    if (status != POSREF_OK || probe->verdict != POSREF_VERDICT_PASS)
        return status;
    id->dtype = probe->dtype;
    return identify_rotation(id, &m, &basis, probe, err);
}
