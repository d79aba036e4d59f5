/* SPDX-License-Identifier: Apache-2.0 */
/* The registry as a whole, and what a claim of one or two faults says. */
#include "faults_spec.h"

#include "trial.h"

#include <math.h>
#include <string.h>

/* ---- what there is ---- */

static struct posref_spec any_of(int scheme)
{
    struct posref_spec spec;
    posref_spec_init(&spec);
    spec.scheme = scheme;
    return spec;
}

/* Whether the row's step changes some op of the scheme. */
static bool shows(const struct posref_fault *fault, int scheme)
{
    const struct posref_spec spec = any_of(scheme);
    if (fault->mend)
        return true;
    for (int op = POSREF_OP_ALL + 1; op < POSREF_N_OPS; op++)
        if (posref_op_applies((enum posref_op)op, &spec) &&
            posref_bend_applies(fault->bend[0], &spec, (enum posref_op)op))
            return true;
    return false;
}

static bool has_scores(const struct posref_fault *fault, int scheme)
{
    const struct posref_spec spec = any_of(scheme);
    (void)fault;
    return posref_op_applies(POSREF_OP_SCORES, &spec);
}

/* The schemes of rows that do not say theirs: these, or those that the function finds. */
static const struct {
    const struct posref_fault *rows;
    uint32_t schemes;
    bool (*concerns)(const struct posref_fault *fault, int scheme);
} tables[] = {
    {posref_faults_rope, BIT(ROPE), NULL},
    {posref_faults_axes, BIT(ROPE), NULL},
    {posref_faults_sinusoidal, BIT(SINUSOIDAL), NULL},
    {posref_faults_timestep, BIT(TIMESTEP), NULL},
    {posref_faults_learned, BIT(LEARNED), NULL},
    {posref_faults_alibi, BIT(ALIBI), NULL},
    {posref_faults_bias, BIT(T5_BIAS), NULL},
    {posref_faults_terms, BIT(COPE), NULL},
    {posref_faults_attention, 0, has_scores},
    {posref_faults_any, 0, shows},
};
#define N_TABLES (sizeof tables / sizeof *tables)

const struct posref_fault *posref_fault_at(int k)
{
    for (size_t t = 0; t < N_TABLES; t++)
        for (const struct posref_fault *fault = tables[t].rows; fault->name; fault++)
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

bool posref_fault_concerns(const struct posref_fault *fault, int scheme)
{
    for (size_t t = 0; t < N_TABLES; t++)
        for (const struct posref_fault *row = tables[t].rows; row->name; row++) {
            const uint32_t schemes = row->schemes ? row->schemes : tables[t].schemes;
            if (row == fault)
                return schemes ? (schemes >> scheme & 1) != 0 : tables[t].concerns(fault, scheme);
        }
    return false;
}

/* Drops the values of fields that the spec, as changed, does not take. */
static void drop_what_does_not_apply(struct posref_spec *spec)
{
    for (int f = 0; f < POSREF_N_FIELDS; f++)
        if (spec->given[f] && !posref_field_applies(spec, (enum posref_field)f))
            spec->given[f] = false;
}

static bool add_steps(struct posref_bend *out, const struct posref_fault *fault, double value,
                      enum posref_op op)
{
    bool any = false;
    for (int k = 0; k < 2; k++) {
        const enum posref_bend_kind kind = fault->bend[k];
        if (kind == POSREF_BEND_NOTHING || !posref_bend_applies(kind, out->spec, op))
            continue;
        any = posref_bend_add(out, kind, value);
    }
    return any;
}

/* Faults of scores and attention change nothing in what is computed without queries and keys; with
 * another fault they would pass for half of a pair. */
static bool is_out_of_place(const struct posref_fault *fault, const struct posref_spec *spec,
                            enum posref_op op)
{
    const bool without = op == POSREF_OP_FREQUENCIES || op == POSREF_OP_ROTATE ||
                         op == POSREF_OP_ROTATE_BACKWARD || op == POSREF_OP_EMBED ||
                         (op == POSREF_OP_TABLE && spec->scheme != POSREF_SCHEME_COPE);
    for (const struct posref_fault *row = posref_faults_attention; without && row->name; row++)
        if (row == fault)
            return true;
    return false;
}

/* *changed is the spec as the fault has it; false: it does not apply. */
static bool change(struct posref_spec *changed, const struct posref_spec *spec,
                   const struct posref_fault *fault, double value, enum posref_op op)
{
    *changed = *spec;
    if (is_out_of_place(fault, spec, op))
        return false;
    if (fault->change)
        return fault->change(changed, value);
    switch (fault->becomes) {
    case POSREF_BECOMES_OTHER: return posref_change_to_other(changed, fault->field);
    case POSREF_BECOMES_NONE: return posref_change_to_none(changed, fault->field);
    case POSREF_BECOMES_VALUE: break;
    }
    return posref_change_field(changed, fault->field, value);
}

unsigned posref_claim_steps(struct posref_bend *out, const struct posref_claim *claim,
                            const struct posref_spec *changed, enum posref_op op)
{
    unsigned parts = 0;
    *out = (struct posref_bend){.spec = changed};
    for (int k = 0; k < 2 && claim->fault[k]; k++)
        if (add_steps(out, claim->fault[k], claim->value[k], op) || claim->fault[k]->twist ||
            claim->fault[k]->untwist || claim->fault[k]->mend)
            parts |= 1U << k;
    return parts;
}

unsigned posref_claim_bend(struct posref_bend *out, struct posref_spec *changed,
                           const struct posref_claim *claim, const struct posref_spec *right,
                           enum posref_op op)
{
    struct posref_spec second;
    unsigned parts = 0;
    *out = (struct posref_bend){.spec = right};
    for (int k = 0; k < 2 && claim->fault[k]; k++) {
        /* change() fills it before it reads it. */
        /* cppcheck-suppress uninitvar */
        struct posref_spec *to = out->spec == right ? changed : &second;
        if (!posref_fault_is_spec(claim->fault[k]) ||
            !change(to, out->spec, claim->fault[k], claim->value[k], op))
            continue;
        if (to == &second)
            *changed = second;
        out->spec = changed;
        parts |= 1U << k;
    }
    if (parts) {
        drop_what_does_not_apply(changed);
        if (posref_spec_complete(changed, NULL) != POSREF_OK)
            return 0;
    }
    return parts | posref_claim_steps(out, claim, out->spec, op);
}

static unsigned twist(struct posref_tensors *set, const struct posref_claim *claim,
                      const struct posref_bend *bent, enum posref_op op,
                      const struct posref_arena *arena, bool of_outputs)
{
    unsigned changed = 0;
    for (int k = 0; k < 2 && claim->fault[k]; k++) {
        const struct posref_twisting t = {bent->spec, op, claim->value[k], arena};
        posref_twist *twisted = of_outputs ? claim->fault[k]->untwist : claim->fault[k]->twist;
        if (twisted && twisted(set, &t))
            changed |= 1U << k;
    }
    return changed;
}

unsigned posref_claim_twist(struct posref_tensors *in, const struct posref_claim *claim,
                            const struct posref_bend *bent, enum posref_op op,
                            const struct posref_arena *arena)
{
    return twist(in, claim, bent, op, arena, false);
}

unsigned posref_claim_untwist(struct posref_tensors *out, const struct posref_claim *claim,
                              const struct posref_bend *bent, enum posref_op op,
                              const struct posref_arena *arena)
{
    return twist(out, claim, bent, op, arena, true);
}

bool posref_claim_positions(struct posref_tensors *out, const struct posref_bend *bend,
                            const struct posref_tensors *in, const struct posref_arena *arena)
{
    *out = *in;
    for (int i = 0; i < in->n; i++) {
        const struct posref_tensor *t = &in->item[i];
        if (!posref_trial_is_positions(t) || bend->n_steps == 0 || t->rank < 1)
            continue;
        const int64_t n = posref_tensor_count(t), rows = t->shape[t->rank - 1];
        double *value = arena->alloc(arena->ctx, (size_t)n * sizeof *value + 1);
        if (!value)
            return false;
        for (int64_t k = 0; k < n; k++)
            value[k] = posref_bend_at(bend, ((const double *)t->data)[k], k % rows);
        out->item[i].data = value;
    }
    return true;
}

bool posref_claim_mend(struct posref_tensors *actual, const struct posref_claim *claim,
                       const struct posref_mending *mending)
{
    bool could = true;
    for (int k = 0; k < 2 && claim->fault[k] && could; k++)
        if (claim->fault[k]->mend)
            could = claim->fault[k]->mend(actual, mending);
    return could;
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
            (a->fault[k] && (a->fault[k]->parameter || a->fault[k]->n_values > 1) &&
             !alike(a->value[k], b->value[k])))
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
    int n = add_wrong(out, differ, bend->spec, right), written = n;
    for (int k = 0; k < 2 && claim->fault[k]; k++) {
        if (posref_fault_is_spec(claim->fault[k]) && claim->fault[k]->change != posref_change_slip)
            continue;
        posref_buffer_text(out, written++ ? " and with " : "with ");
        posref_buffer_printf(out, "%s: ", claim->fault[k]->name);
        add_formula(out, claim->fault[k], claim->value[k]);
    }
    add_right(out, differ, n, right);
}
