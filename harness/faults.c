/* SPDX-License-Identifier: Apache-2.0 */
/* The registry as a whole, and what a claim of one or two faults says. */
#include "faults_spec.h"

#include <math.h>
#include <string.h>

static const struct posref_fault *const tables[] = {posref_faults_rope, posref_faults_sinusoidal,
                                                    posref_faults_timestep, posref_faults_alibi,
                                                    posref_faults_any};

const struct posref_fault *posref_fault_at(int k)
{
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct posref_fault *fault = tables[t]; fault->name; fault++)
            if (k-- == 0)
                return fault;
    return NULL;
}

const struct posref_fault *posref_fault_find(const char *name)
{
    const struct posref_fault *fault;
    for (int k = 0; (fault = posref_fault_at(k)) != NULL; k++)
        if (strcmp(fault->name, name) == 0)
            return fault;
    return NULL;
}

/* Drops the values of fields that the spec, as changed, does not take. */
static void drop_what_does_not_apply(struct posref_spec *spec)
{
    for (int f = 0; f < POSREF_N_FIELDS; f++)
        if (!posref_field_applies(spec, (enum posref_field)f))
            spec->given[f] = false;
}

static bool add_steps(struct posref_bend *out, const struct posref_fault *fault, double value,
                      enum posref_op op)
{
    bool any = false;
    for (int k = 0; k < 2; k++) {
        const enum posref_bend_kind kind = fault->bend[k];
        if (kind == POSREF_BEND_NOTHING || !posref_bend_applies(kind, &out->spec, op))
            continue;
        any = posref_bend_add(out, kind, value);
    }
    return any;
}

bool posref_claim_bend(struct posref_bend *out, const struct posref_claim *claim,
                       const struct posref_spec *right, enum posref_op op)
{
    bool any = false, changed = false;
    *out = (struct posref_bend){.spec = *right};
    for (int k = 0; k < 2 && claim->fault[k]; k++) {
        struct posref_spec spec = out->spec;
        if (!claim->fault[k]->change || !claim->fault[k]->change(&spec, claim->value[k]))
            continue;
        out->spec = spec;
        any = changed = true;
    }
    if (changed) {
        drop_what_does_not_apply(&out->spec);
        if (posref_spec_complete(&out->spec, NULL) != POSREF_OK)
            return false;
    }
    for (int k = 0; k < 2 && claim->fault[k]; k++)
        any = add_steps(out, claim->fault[k], claim->value[k], op) || any;
    return any;
}

static bool alike(double a, double b)
{
    const bool whole = a == floor(a) && fabs(a) <= 64;
    return a == b || (!whole && fabs(a - b) <= 0.01 * fmax(fabs(a), fabs(b)));
}

bool posref_claim_same(const struct posref_claim *a, const struct posref_claim *b)
{
    for (int k = 0; k < 2; k++)
        if (a->fault[k] != b->fault[k] ||
            (a->fault[k] && a->fault[k]->parameter && !alike(a->value[k], b->value[k])))
            return false;
    return true;
}

void posref_claim_name(struct posref_buffer *out, const struct posref_claim *claim)
{
    posref_buffer_text(out, claim->fault[0]->name);
    if (claim->fault[1])
        posref_buffer_printf(out, "+%s", claim->fault[1]->name);
}

static void add_formula(struct posref_buffer *out, const struct posref_fault *fault, double value)
{
    const char *hole = fault->parameter ? strstr(fault->formula, "%g") : NULL;
    if (!hole) {
        posref_buffer_text(out, fault->formula);
        return;
    }
    posref_buffer_add(out, fault->formula, (size_t)(hole - fault->formula));
    posref_buffer_number(out, value);
    posref_buffer_text(out, hole + 2);
}

void posref_claim_formula(struct posref_buffer *out, const struct posref_claim *claim)
{
    for (int k = 0; k < 2 && claim->fault[k]; k++) {
        posref_buffer_text(out, k ? "; " : "");
        add_formula(out, claim->fault[k], claim->value[k]);
    }
}

/* ---- sentences ---- */

static void add_field(struct posref_buffer *out, const struct posref_spec *spec,
                      enum posref_field field, const char *prefix, bool with_name)
{
    posref_buffer_text(out, prefix);
    if (with_name)
        posref_buffer_printf(out, "%s=", posref_field_def(field)->name);
    if (spec->given[field])
        posref_field_text(out, spec, field);
    else
        posref_buffer_text(out, "(none)");
}

/* Whether the field tells the two apart; one that only one of them takes does not. */
static bool differs(const struct posref_spec *a, const struct posref_spec *b,
                    enum posref_field field)
{
    struct posref_buffer texts[2];
    const struct posref_spec *specs[2] = {a, b};
    if (!posref_field_applies(a, field) || !posref_field_applies(b, field))
        return false;
    for (int k = 0; k < 2; k++) {
        posref_buffer_init(&texts[k], POSREF_MAX_FIELD_TEXT);
        add_field(&texts[k], specs[k], field, "", false);
    }
    bool same = texts[0].length == texts[1].length &&
                memcmp(texts[0].data, texts[1].data, texts[0].length) == 0;
    posref_buffer_clear(&texts[0]);
    posref_buffer_clear(&texts[1]);
    return !same;
}

/* "with pairing=interleaved"; the keys that differ are counted and marked. */
static int add_wrong(struct posref_buffer *out, bool differ[POSREF_N_FIELDS],
                     const struct posref_spec *wrong, const struct posref_spec *right)
{
    int n = 0;
    for (int f = 0; f < POSREF_N_FIELDS; f++)
        n += differ[f] = differs(wrong, right, (enum posref_field)f);
    if (n > 0)
        posref_buffer_text(out, "with");
    for (int f = 0; f < POSREF_N_FIELDS; f++)
        if (differ[f])
            add_field(out, wrong, (enum posref_field)f, " ", true);
    return n;
}

static void add_right(struct posref_buffer *out, const bool differ[POSREF_N_FIELDS], int n,
                      const struct posref_spec *right)
{
    if (n > 0)
        posref_buffer_text(out, "; the spec asks for");
    for (int f = 0; f < POSREF_N_FIELDS; f++)
        if (differ[f])
            add_field(out, right, (enum posref_field)f, " ", n > 1);
}

void posref_fault_summary(struct posref_buffer *out, const struct posref_spec *wrong,
                          const struct posref_spec *right)
{
    bool differ[POSREF_N_FIELDS];
    posref_buffer_text(out, "output equals the reference ");
    int n = add_wrong(out, differ, wrong, right);
    add_right(out, differ, n, right);
}

void posref_claim_summary(struct posref_buffer *out, const struct posref_claim *claim,
                          const struct posref_bend *bend, const struct posref_spec *right)
{
    bool differ[POSREF_N_FIELDS];
    posref_buffer_text(out, "output equals the reference ");
    int n = add_wrong(out, differ, &bend->spec, right), written = n;
    for (int k = 0; k < 2 && claim->fault[k]; k++) {
        if (claim->fault[k]->change)
            continue;
        posref_buffer_text(out, written++ ? " and with " : "with ");
        posref_buffer_printf(out, "%s: ", claim->fault[k]->name);
        add_formula(out, claim->fault[k], claim->value[k]);
    }
    add_right(out, differ, n, right);
}

/* ---- what there is ---- */

bool posref_fault_concerns(const struct posref_fault *fault, int scheme)
{
    static const struct posref_fault *const of[] = {
        [POSREF_SCHEME_ROPE] = posref_faults_rope,
        [POSREF_SCHEME_SINUSOIDAL] = posref_faults_sinusoidal,
        [POSREF_SCHEME_TIMESTEP] = posref_faults_timestep,
        [POSREF_SCHEME_ALIBI] = posref_faults_alibi};
    if (scheme >= 0 && scheme < (int)(sizeof of / sizeof *of) && of[scheme])
        for (const struct posref_fault *own = of[scheme]; own->name; own++)
            if (own == fault)
                return true;
    for (const struct posref_fault *any = posref_faults_any; any->name; any++)
        if (any == fault) {
            struct posref_spec spec;
            posref_spec_init(&spec);
            spec.scheme = scheme;
            for (int op = POSREF_OP_ALL + 1; op < POSREF_N_OPS; op++)
                if (posref_op_applies((enum posref_op)op, &spec) &&
                    posref_bend_applies(fault->bend[0], &spec, (enum posref_op)op))
                    return true;
        }
    return false;
}
