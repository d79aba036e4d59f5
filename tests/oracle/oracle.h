/* SPDX-License-Identifier: Apache-2.0 */
/* The independent oracle: encloses the exact value of every output of a case with Arb, from the
 * papers' formulas, and judges the stored doubles by the enclosures. Nothing here includes or
 * links anything of reference/ or vectors/: that is what makes the agreement of the two a proof.
 *
 * A scheme is one file, scheme_NAME.c, with one line in schemes.c. */
#ifndef ORACLE_H
#define ORACLE_H

#include <arb.h>
#include <flint/fmpq.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- cases ------------------------------------------------------------------------------- */

#define ORACLE_MAX_RANK 8
#define ORACLE_MAX_FIELDS 96
#define ORACLE_MAX_TENSORS 24

enum oracle_state { ORACLE_PENDING, ORACLE_RIGHT, ORACLE_WRONG };

/* Row major. state[k] (outputs only) is set once, when value k is judged. */
struct oracle_tensor {
    char name[32];
    int rank;
    int64_t shape[ORACLE_MAX_RANK];
    int64_t count;
    double *data;
    unsigned char *state;
};

struct oracle_field {
    char *key, *value; /* as text; reals read back to the same double */
};

/* A spec, inputs, and the outputs to be judged. error is "" or why the case cannot be judged. */
struct oracle_case {
    char id[192];
    struct oracle_field field[ORACLE_MAX_FIELDS];
    int n_fields;
    struct oracle_tensor input[ORACLE_MAX_TENSORS], output[ORACLE_MAX_TENSORS];
    int n_inputs, n_outputs;
    char error[256];
};

void oracle_case_init(struct oracle_case *c, const char *id);
void oracle_case_clear(struct oracle_case *c);
/* Keeps the first message; returns false, so that a check is one line. */
bool oracle_fail(struct oracle_case *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A key given twice keeps both; the first is found. */
bool oracle_case_set(struct oracle_case *c, const char *key, const char *value);
/* Copies nothing: takes ownership of data (malloc), which holds the product of shape. */
bool oracle_case_add(struct oracle_case *c, bool is_output, const char *name, int rank,
                     const int64_t *shape, double *data);

const char *oracle_text(const struct oracle_case *c, const char *key); /* NULL: absent */
bool oracle_is(const struct oracle_case *c, const char *key, const char *value);
bool oracle_has(const struct oracle_case *c, const char *key);
/* Fail the case when the field is absent or malformed. */
double oracle_real(struct oracle_case *c, const char *key);
int64_t oracle_int(struct oracle_case *c, const char *key);
struct oracle_tensor *oracle_input(struct oracle_case *c, const char *name);
struct oracle_tensor *oracle_output(struct oracle_case *c, const char *name); /* NULL: absent */
/* Whether the tensor has this shape; fails the case when not. */
bool oracle_shaped(struct oracle_case *c, const struct oracle_tensor *tensor, int rank,
                   const int64_t *shape);

/* ---- judging ----------------------------------------------------------------------------- */

#define ORACLE_FIRST_PREC 160
#define ORACLE_LAST_PREC 20480
#define ORACLE_MAX_SHOWN 20
#define ORACLE_MAX_SCHEMES 32

/* Plain data, so that a worker can hand it over through a pipe. */
struct oracle_tally {
    int64_t n_cases, n_values, n_scheme_values[ORACLE_MAX_SCHEMES];
    int64_t n_exact;      /* values known exactly and stored exactly */
    int64_t n_ties;       /* exact values half way between two doubles */
    int64_t n_within;     /* compound values within their bound, not correctly rounded */
    int64_t n_raised;     /* values that needed more than ORACLE_FIRST_PREC */
    int64_t n_mismatches; /* wrong values, and values and cases that could not be judged */
    int64_t largest_prec;
    double nearest_ulp;   /* smallest distance to a rounding boundary, exact values left out */
    char nearest_at[256];
    char shown[ORACLE_MAX_SHOWN][640];
};

void oracle_tally_init(struct oracle_tally *t);
void oracle_tally_join(struct oracle_tally *t, const struct oracle_tally *other);
void oracle_tally_mismatch(struct oracle_tally *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Judges out->data[k] by an enclosure of the exact value: right when every member rounds (nearest,
 * ties to even) to it. False: the enclosure is too wide to say; come back with more bits. */
bool oracle_judge(struct oracle_tally *t, struct oracle_case *c, struct oracle_tensor *out,
                  int64_t k, const arb_t exact, slong prec);
/* The same for a compound value: a wrong rounding is still right within `slack` of the exact. */
bool oracle_judge_within(struct oracle_tally *t, struct oracle_case *c, struct oracle_tensor *out,
                         int64_t k, const arb_t exact, double slack, slong prec);
/* The stored bits must be those of `copied`. */
void oracle_judge_copy(struct oracle_tally *t, struct oracle_case *c, struct oracle_tensor *out,
                       int64_t k, double copied);
/* An exact zero: +0, or -0 when every term of the sum is -0 (design.md). The two judges above take
 * an exact zero for +0. */
void oracle_judge_zero(struct oracle_tally *t, struct oracle_case *c, struct oracle_tensor *out,
                       int64_t k, bool negative);

/* Calls unit(ctx, prec) with rising precision until it returns true (all its values judged). */
typedef bool oracle_unit_fn(void *ctx, slong prec);
void oracle_raise(oracle_unit_fn *unit, void *ctx);

/* Judges every output of the case: dispatches to the scheme, then counts what it left pending. */
void oracle_case_judge(struct oracle_tally *t, struct oracle_case *c);

/* ---- formulas several schemes share ------------------------------------------------------ */

/* base^(-num/den), 1 < base, num >= 0, den > 0: exactly, as a fraction, when it is rational. */
struct oracle_power {
    double base;
    fmpq_t exponent; /* -num/den, reduced */
    bool rational;
    fmpq_t value;    /* when rational */
};
void oracle_power_init(struct oracle_power *p, double base, int64_t num, int64_t den);
void oracle_power_clear(struct oracle_power *p);
void oracle_power_arb(arb_t out, const struct oracle_power *p, slong prec);
/* base^exponent for base > 0 at about prec bits; exact when it is a dyadic number. */
void oracle_pow(arb_t out, double base, const fmpq_t exponent, slong prec);
/* x as a fraction; x finite. */
void oracle_fmpq_set_double(fmpq_t out, double x);
void oracle_arb_set_fmpq(arb_t out, const fmpq_t x, slong prec);

/* ---- schemes ----------------------------------------------------------------------------- */

struct oracle_scheme {
    const char *name;
    /* Judges every value of every output; sets c->error when the spec cannot be read. */
    void (*judge)(struct oracle_tally *t, struct oracle_case *c);
};
extern const struct oracle_scheme *const oracle_schemes[]; /* ends with NULL */

/* ---- where cases come from --------------------------------------------------------------- */

/* One JSON document {"id", "spec", "inputs", "outputs"} (id and inputs may be missing): adds its
 * parts to *c. False and c->error when it is none. */
bool oracle_read_json(struct oracle_case *c, const char *text, size_t length);
/* Runs PROGRAM eval ARGS... (argv as execv takes it), adds the spec and outputs that it prints.
 * Returns its exit code, or -1 with c->error. */
int oracle_run_eval(struct oracle_case *c, char *const argv[]);
/* A posref database, read-only: the vectors of a suite (NULL: all), or the one with that id (NULL:
 * any), in the order of ids. NULL and error when there is none. */
struct oracle_db;
struct oracle_db *oracle_db_open(const char *path, const char *suite, const char *id,
                                 char error[256]);
void oracle_db_close(struct oracle_db *db);
int64_t oracle_db_count(const struct oracle_db *db);
/* Vector number `at`: spec, inputs and outputs from the tensors as stored. False with c->error. */
bool oracle_db_case(struct oracle_db *db, int64_t at, struct oracle_case *c);
/* Whether the stored JSON reads back to the same spec and the same bits. False with c->error. */
bool oracle_db_json(struct oracle_db *db, int64_t at, struct oracle_case *c);

#endif
