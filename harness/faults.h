/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of faults: named ways to be wrong, each as another spec, as steps of a bend
 * (reference/bend.h), as other inputs or outputs (twists.h), or as several of these. One registry
 * serves the explanations of failures, GET /v1/faults and docs/faults.md. A scheme's faults are
 * rows of its own file faults_NAME.c. Private to harness/. */
#ifndef POSREF_FAULTS_H
#define POSREF_FAULTS_H

#include "reference/bend.h"
#include "mends.h"
#include "twists.h"

#define POSREF_FAULT_VALUES 6

/* What becomes of a field. */
enum posref_becomes {
    POSREF_BECOMES_VALUE, /* the value that the row tries */
    POSREF_BECOMES_OTHER, /* of its two values the other one */
    POSREF_BECOMES_NONE   /* as if it were not given; numbers alone */
};

struct posref_fault {
    const char *name;    /* stable */
    const char *kind;    /* a letter of docs/faults.md's taxonomy: "A" layout, ... */
    const char *formula; /* what it amounts to; %g of a parametrised one is its value */
    const char *advice;  /* what mends it */
    const char *seen;    /* public reports, separated by spaces; "" for none */
    /* Not wrong where the other side agrees: "permuting the rows of q and k", ... NULL: wrong. */
    const char *equivalent;
    /* Changes a completed spec; false: the fault does not apply to it. The result need not be
     * complete. NULL: the spec stays. */
    bool (*change)(struct posref_spec *spec, double value);
    enum posref_field field; /* without `change`: this field is another; SCHEME: none is */
    enum posref_becomes becomes;
    enum posref_bend_kind bend[2];
    posref_twist *twist;   /* of the inputs */
    posref_twist *untwist; /* of the outputs, its own inverse */
    posref_mend *mend;     /* of what is left out of the outputs */
    uint32_t schemes;      /* bits 1 << scheme, where they are not those of the table */
    /* The parameter, where there is one: its name, whether it can be estimated from an output, and
     * values to try. A bend's second step has no parameter. */
    const char *parameter;
    bool estimated;
    int n_values;
    double value[POSREF_FAULT_VALUES];
};

/* It is another spec. */
static inline bool posref_fault_is_spec(const struct posref_fault *fault)
{
    return fault->change || fault->field != POSREF_FIELD_SCHEME;
}

/* All rows, most likely first within a scheme; ends with NULL. */
const struct posref_fault *posref_fault_at(int k);
const struct posref_fault *posref_fault_find(const char *name); /* NULL: none */

/* What is claimed: a fault with a value, or two of them together. */
struct posref_claim {
    const struct posref_fault *fault[2]; /* the second NULL: one fault */
    double value[2];
};

/* The spec and the steps of a claim on a completed spec: a bit for each of its faults that takes
 * part. 0: none of them applies (op: what is computed), or they make no valid spec. out->spec is
 * *changed, where the claim changes it, else `right`. */
unsigned posref_claim_bend(struct posref_bend *out, struct posref_spec *changed,
                           const struct posref_claim *claim, const struct posref_spec *right,
                           enum posref_op op);

/* The same of a spec that the claim's faults have changed already. */
unsigned posref_claim_steps(struct posref_bend *out, const struct posref_claim *claim,
                            const struct posref_spec *changed, enum posref_op op);

/* The inputs that the claim's faults amount to, and outputs with their changes taken back; a bit
 * for each fault that changed something. `bent` is what posref_claim_bend made. */
unsigned posref_claim_twist(struct posref_tensors *in, const struct posref_claim *claim,
                            const struct posref_bend *bent, enum posref_op op,
                            const struct posref_arena *arena);
unsigned posref_claim_untwist(struct posref_tensors *out, const struct posref_claim *claim,
                              const struct posref_bend *bent, enum posref_op op,
                              const struct posref_arena *arena);

/* The inputs with positions as the bend's steps change them, for schemes without a bent form;
 * false: no memory. */
bool posref_claim_positions(struct posref_tensors *out, const struct posref_bend *bend,
                            const struct posref_tensors *in, const struct posref_arena *arena);

/* Puts right in `actual` what the claim's faults leave out; false: that is not what came back. */
bool posref_claim_mend(struct posref_tensors *actual, const struct posref_claim *claim,
                       const struct posref_mending *mending);

/* The same faults, and the same values: whole numbers up to 64 exactly, others within 1 %. */
bool posref_claim_same(const struct posref_claim *a, const struct posref_claim *b);

/* "pairing", "base", "pairing+position_offset". */
void posref_claim_name(struct posref_buffer *out, const struct posref_claim *claim);
/* "output equals the reference with pairing=interleaved; the spec asks for half", or, for steps,
 * "output equals the reference with positions + 1". */
void posref_claim_summary(struct posref_buffer *out, const struct posref_claim *claim,
                          const struct posref_bend *bend, const struct posref_spec *right);
/* The formulas of a claim, with their values. */
void posref_claim_formula(struct posref_buffer *out, const struct posref_claim *claim);

/* The keys in which two specs of one scheme differ, as summaries have them. */
void posref_fault_summary(struct posref_buffer *out, const struct posref_spec *wrong,
                          const struct posref_spec *right);

/* Whether the fault can be seen in any op of the scheme. */
bool posref_fault_concerns(const struct posref_fault *fault, int scheme);

#endif
