/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the explainer share. Private to harness/explain*.c. */
#ifndef POSREF_EXPLAIN_IMPL_H
#define POSREF_EXPLAIN_IMPL_H

#include "explain.h"

struct explain_failure {
    const char *id;
    const struct posref_spec *spec;     /* shared by the dtypes of a vector */
    const struct posref_tensors *inputs, *golden;
    struct posref_tensors actual;       /* doubles */
    enum posref_op op;
    enum posref_dtype dtype;
    int class;
    bool bent;           /* it has a bent form: trying a claim costs little */
    int64_t work;        /* what that costs: elements of a bent form, else products or so */
    bool known;          /* what follows is, as posref_explain_right has it */
    double right;        /* its distance from the right answer, in limits */
    int64_t n_told, n_missed; /* elements that tell, and of these the ones beyond the limit */
    int64_t worst;       /* the element that is furthest off, of its tensor */
    bool copies_stand;   /* channels behind rotary_dim came back as they were */
    bool right_loosely;  /* within the limits of tables in the dtype */
};

#define EXPLAIN_ALIVE 12
#define EXPLAIN_SINGLES 256 /* single faults, each value apart */

/* A claim that is tried, or was. */
struct explain_candidate {
    struct posref_claim claim;
    double residual; /* largest error in units of the limit, over all that it fits */
    int n_fits;      /* failures that show it; the others of the class tell nothing */
};

/* Vectors that one cause is expected to break alike. */
struct explain_class {
    enum posref_op op;
    int scheme, pairing, direction, scaling, order, exponent, form;
    enum posref_dtype dtype;
    int *failure; /* indexes, most telling first */
    int n, room;
    struct explain_candidate alive[EXPLAIN_ALIVE];
    int n_alive;
    signed char first_fit[EXPLAIN_SINGLES]; /* enum explain_fit of each single and failure[0] */
    struct posref_claim second; /* of those that do not fit, the one that did so longest */
    int second_fits;   /* how many failures it fits, */
    int second_killer; /* and the first of `failure` that it does not; -1 */
    int killer; /* of `failure`: the one that the last claim fell on that got beyond the first */
    int chosen; /* index of the explanation, or -1 */
};

/* One line of the answer. */
struct explain_explanation {
    struct posref_claim claim;
    double residual;
    int n_failures; /* that show it */
    int n_untold;   /* further failures of its classes: too near the right answer to show it */
    int example;    /* a failure it fits */
    bool covers;    /* chosen; the others are runners-up */
    int killer[POSREF_EXPLAIN_KILLERS], n_killers; /* failures that only the chosen one fits */
    bool look_alike;  /* no failure at hand tells it from the chosen one */
    /* Of a chosen one: what fits its classes as well. */
    struct posref_claim alike[POSREF_EXPLAIN_KILLERS];
    int n_alike;
};

struct posref_explainer {
    struct posref_heap *store, *scratch;
    struct explain_failure *failure;
    size_t n_failures, room_failures, n_dropped, bytes;
    struct explain_class *class;
    int n_classes, room_classes;
    struct explain_explanation *explanation;
    int n_explanations;
    int64_t n_tries_left;    /* of pairs of faults: a bound on the time of the search */
    int64_t exact_work_left; /* the same where there is no bent form, in products */
    const char *last_id; /* of the vector copied last */
};

/* SAME: the failure is too near the right answer to tell. */
enum explain_fit { EXPLAIN_MISSES, EXPLAIN_FITS, EXPLAIN_SAME };

/* The same kind of vectors, whatever the dtype. */
bool posref_explain_kin(const struct explain_class *a, const struct explain_class *b);

/* The limit of an element of a bent output: `least`, 0 where a copy is due, and `extra`; in 8 bits
 * what one rounding of a value within that may make of want. */
double posref_explain_limit(const struct explain_failure *failure, double want, double least,
                            double extra);

/* Fills bent and work. */
void posref_explain_size(struct explain_failure *failure, const struct posref_arena *scratch);
/* Fills what is not known yet, and bent again: most failures of a search are never tried. */
void posref_explain_right(struct explain_failure *failure, const struct posref_arena *scratch);

/* One claim against one failure that is known. *residual is set when it fits. */
enum explain_fit posref_explain_try(double *residual, const struct posref_claim *claim,
                                    const struct explain_failure *failure,
                                    const struct posref_arena *scratch);

/* The same of what posref_claim_bend made of the claim, when some of its faults take part. */
enum explain_fit posref_explain_try_bend(double *residual, const struct posref_claim *claim,
                                         const struct posref_bend *bend,
                                         const struct explain_failure *failure,
                                         const struct posref_arena *scratch);

/* An output beside what should have come out, to estimate parameters from. */
struct explain_sample {
    struct posref_bend bend; /* its spec is the failure's, or `changed` */
    struct posref_spec changed;
    struct posref_bent bent;
    struct posref_tensors actual;
    double *value; /* room for what each pair says */
    int n;         /* of them */
    int n_frequencies;
    bool reversed; /* sine for cosine: pairs turn the other way */
    double least_stretch; /* a magnitude nearer to 1 is none */
};

/* What a failure shows on top of `base` (no faults: fault[0] NULL), in memory of `scratch`; false:
 * nothing can be compared. */
bool posref_explain_sample(struct explain_sample *out, const struct posref_claim *base,
                           const struct explain_failure *failure,
                           const struct posref_arena *scratch);
/* Estimates the parameter of a fault (one that says `estimated`) from a sample; false: it does not
 * show one. `sloping`: from differences between positions, which their offset leaves alone. */
bool posref_explain_estimate(double *value, struct explain_sample *sample,
                             const struct posref_fault *fault, bool sloping);
/* A base that is right to `near`, relatively, made better by a sample of the claim that has it;
 * false: no pair of it turns far enough, and *value stays. */
bool posref_explain_refine_base(double *value, struct explain_sample *sample, double near);

/* Fills alive of every class, then the explanations. */
POSREF_MUST_USE enum posref_status posref_explain_classes(struct posref_explainer *e,
                                                          struct posref_error *err);
POSREF_MUST_USE enum posref_status posref_explain_choose(struct posref_explainer *e,
                                                         struct posref_error *err);

#endif
