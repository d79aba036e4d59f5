/* SPDX-License-Identifier: Apache-2.0 */
/* What the property*.c files share. */
#ifndef POSREF_PROPERTY_IMPL_H
#define POSREF_PROPERTY_IMPL_H

#include "property.h"

/* An encoding whose properties are looked at. */
struct posref_property_subject {
    const char *variant;    /* "half" */
    const char *spec;       /* as typed */
    enum posref_op op;
    const char *inputs;     /* to be drawn, beside positions: "q k v" */
    const char *properties; /* names, each with a space behind it */
    const char *other_base; /* for `base`: the key that changes, as typed */
};

/* One question to the plugin and its answer. */
struct posref_property_call {
    struct posref_vector vector; /* outputs: the reference's, for shapes and limits alone */
    struct posref_trial trial;
    struct posref_tensors got;   /* the answer as doubles */
    struct posref_tensors limit[POSREF_GRADE_FAIL];
};

struct posref_property {
    const struct posref_property_case *of;
    const struct posref_property_settings *settings;
    const struct posref_spec *spec;
    const struct posref_arena *arena;
    struct posref_error *err;
    struct posref_draw draw;
    struct posref_property_call *call[POSREF_PROPERTY_CALLS];
    int n_calls;
    /* Comparisons so far. */
    bool holds[POSREF_GRADE_FAIL];
    bool bits_matter;           /* equal things are to have equal bits */
    int64_t n_compared, n_judged, n_other_bits;
    double worst;               /* of |got - want| / slack at the gate; -1: none yet */
    struct posref_judgement judgement;
    const struct posref_tensors *shapes; /* of the call that the worst lies in */
};

struct posref_property_def {
    const char *name;
    const char *broken; /* one sentence: what is not so when it fails */
    /* Lays the first calls; then, where it is not NULL and all came back, more that need answers;
     * then compares. */
    enum posref_status (*ask)(struct posref_property *p);
    enum posref_status (*ask_more)(struct posref_property *p);
    void (*compare)(struct posref_property *p);
};
extern const struct posref_property_def posref_property_defs[]; /* a NULL name ends it */
extern const struct posref_property_subject posref_property_subjects[]; /* a NULL spec ends it */

/* How much two numbers may differ, at each grade. */
struct posref_slack {
    double at[POSREF_GRADE_FAIL];
};

/* ---- inputs ---- */

/* An F64 tensor of that shape; NULL: no memory, with the error filled. */
double *posref_property_tensor(struct posref_property *p, struct posref_tensors *in,
                               const char *name, int rank, const int64_t *shape);
/* Positions of n rows, the same on every axis: positions, or where the op has queries and keys
 * q_positions and k_positions. */
POSREF_MUST_USE enum posref_status posref_property_positions(struct posref_property *p,
                                                             struct posref_tensors *in,
                                                             const double *position, int64_t n);
/* The subject's other inputs, drawn, for positions that are there already. heads: 0 for none. */
POSREF_MUST_USE enum posref_status posref_property_draw(struct posref_property *p,
                                                        struct posref_tensors *in, int64_t heads);
/* The inputs of row (or query) `row` alone; of the keys the first n_keys. */
POSREF_MUST_USE enum posref_status posref_property_row(struct posref_tensors *out,
                                                       struct posref_property *p,
                                                       const struct posref_tensors *in, int64_t row,
                                                       int64_t n_keys);
/* The inputs with n keys from number `first` on. */
POSREF_MUST_USE enum posref_status posref_property_keys(struct posref_tensors *out,
                                                        struct posref_property *p,
                                                        const struct posref_tensors *in,
                                                        int64_t first, int64_t n);
/* The input's elements, to be written. */
double *posref_property_data(const struct posref_tensors *in, const char *name);

/* Adds a call of `spec` on the inputs, which stay as they are from here on. */
POSREF_MUST_USE enum posref_status posref_property_ask(struct posref_property *p,
                                                       const struct posref_spec *spec,
                                                       const struct posref_tensors *in);
/* The same of another op than the subject's. */
POSREF_MUST_USE enum posref_status posref_property_ask_op(struct posref_property *p,
                                                          const struct posref_spec *spec,
                                                          enum posref_op op,
                                                          const struct posref_tensors *in);

/* ---- comparing ---- */

double posref_property_got(const struct posref_property *p, int call, int tensor, int64_t element);
/* What the answer's element may be off by, `times` over. */
struct posref_slack posref_property_slack(const struct posref_property *p, int call, int tensor,
                                          int64_t element, double times);
/* a + b, and a with the same number more at each grade. */
struct posref_slack posref_slack_sum(struct posref_slack a, struct posref_slack b);
struct posref_slack posref_slack_more(struct posref_slack a, double more);
/* Element `element` of the call's tensor, or a number made of it, is `got`; it must be `want` but
 * for the slack. */
void posref_property_compare(struct posref_property *p, int call, int tensor, int64_t element,
                             double got, double want, const struct posref_slack *slack);
/* Two elements of answers that are to be the same. */
void posref_property_same(struct posref_property *p, int call_a, int64_t a, int call_b, int64_t b,
                          int tensor);

/* Those of rows (property_rows.c), of grids of queries and keys (property_grid.c), of scores and
 * their terms, and the adjoint (property_terms.c), of relative tables (property_window.c). */
enum posref_status posref_identity_ask(struct posref_property *p);
void posref_identity_compare(struct posref_property *p);
enum posref_status posref_composition_ask(struct posref_property *p);
enum posref_status posref_composition_more(struct posref_property *p);
void posref_composition_compare(struct posref_property *p);
enum posref_status posref_relative_ask(struct posref_property *p);
void posref_relative_compare(struct posref_property *p);
enum posref_status posref_linearity_ask(struct posref_property *p);
void posref_linearity_compare(struct posref_property *p);
enum posref_status posref_batch_ask(struct posref_property *p);
void posref_batch_compare(struct posref_property *p);
enum posref_status posref_heads_ask(struct posref_property *p);
void posref_heads_compare(struct posref_property *p);
enum posref_status posref_incremental_ask(struct posref_property *p);
void posref_incremental_compare(struct posref_property *p);
enum posref_status posref_base_ask(struct posref_property *p);
void posref_base_compare(struct posref_property *p);
enum posref_status posref_inverse_ask(struct posref_property *p);
enum posref_status posref_inverse_more(struct posref_property *p);
void posref_inverse_compare(struct posref_property *p);
enum posref_status posref_shift_ask(struct posref_property *p);
void posref_shift_compare(struct posref_property *p);
enum posref_status posref_toeplitz_ask(struct posref_property *p);
void posref_toeplitz_compare(struct posref_property *p);
enum posref_status posref_sum_ask(struct posref_property *p);
void posref_sum_compare(struct posref_property *p);
enum posref_status posref_constant_ask(struct posref_property *p);
void posref_constant_compare(struct posref_property *p);
enum posref_status posref_terms_ask(struct posref_property *p);
void posref_terms_compare(struct posref_property *p);
enum posref_status posref_later_ask(struct posref_property *p);
void posref_later_compare(struct posref_property *p);
enum posref_status posref_permutation_ask(struct posref_property *p);
void posref_permutation_compare(struct posref_property *p);
enum posref_status posref_adjoint_ask(struct posref_property *p);
void posref_adjoint_compare(struct posref_property *p);
enum posref_status posref_window_ask(struct posref_property *p);
void posref_window_compare(struct posref_property *p);
enum posref_status posref_entries_ask(struct posref_property *p);
void posref_entries_compare(struct posref_property *p);
enum posref_status posref_class_ask(struct posref_property *p);
void posref_class_compare(struct posref_property *p);
enum posref_status posref_odd_ask(struct posref_property *p);
void posref_odd_compare(struct posref_property *p);
enum posref_status posref_ends_ask(struct posref_property *p);
void posref_ends_compare(struct posref_property *p);

#endif
