/* SPDX-License-Identifier: Apache-2.0 */
/* What a scheme is to the rest of the room: one const table of functions. A new scheme is one file
 * that defines such a table, one line in schemes.c, and its fields in fields.c. Private to
 * reference/. */
#ifndef POSREF_SCHEME_H
#define POSREF_SCHEME_H

#include "reference.h"

/* How a scheme (or a scaling) takes a field that the user left out. */
enum posref_need {
    POSREF_NEED_NONE,     /* not taken at all; ends a list */
    POSREF_NEED_DEFAULT,  /* the field table's default */
    POSREF_NEED_REQUIRED, /* an error */
    POSREF_NEED_OPTIONAL  /* stays without a value, unless check() derives one */
};

struct posref_field_use {
    enum posref_field field;
    enum posref_need need;
};

/* An input that a scheme reads, and its shape (posref_input_shape has the language); "" for
 * positions. */
struct posref_input_use {
    const char *name, *shape;
};

struct posref_plan;
struct judge_case;
struct posref_attention_hook;

/* One evaluation. Schemes read inputs through the functions below and add outputs to out. */
struct posref_job {
    const struct posref_spec *spec; /* completed */
    const struct posref_plan *plan; /* of the spec, when it has been prepared; else NULL */
    enum posref_op op;
    const int64_t *glance; /* NULL, or the element of scores or attention that is wanted alone */
    const struct posref_tensors *in;
    struct posref_tensors *out;
    const struct posref_arena *arena;
    struct posref_error *err;
};

struct posref_scheme_def {
    struct posref_scheme_info info;
    const struct posref_field_use *fields; /* without scheme itself; ends with NEED_NONE */
    const struct posref_input_use *inputs; /* tensors it reads; ends with a NULL name */
    unsigned ops;                          /* bit 1 << op for each op but ALL */
    /* NULL, or sets fields whose default depends on which others are given; before all the rest. */
    void (*defaults)(struct posref_spec *spec);
    /* NULL, or checks combinations of fields and derives optional ones (spec->given says which
     * have a value). Ranges of single fields have been checked. */
    enum posref_status (*check)(struct posref_spec *spec, struct posref_error *err);
    /* NULL, or how many entries its learned table has: the axis `entries` of a shape. */
    int64_t (*entries)(const struct posref_spec *spec);
    enum posref_status (*eval)(struct posref_job *job);
    /* Compiles the job's spec, which outlives the plan, for job->plan; NULL: nothing to share. */
    enum posref_status (*prepare)(const struct posref_plan **out, struct posref_job *job);
    /* Lays out the units by which outputs are judged (judge_impl.h); integers are compared without
     * it. NULL: pairs, tables and frequencies as rope has them. */
    enum posref_status (*judge)(struct judge_case *c);
    /* What the scheme changes in scores and attention (attention.h); NULL: it has neither op. */
    const struct posref_attention_hook *attention;
};

extern const struct posref_scheme_def posref_rope;
extern const struct posref_scheme_def posref_sinusoidal;
extern const struct posref_scheme_def posref_alibi;
extern const struct posref_scheme_def posref_timestep;
extern const struct posref_scheme_def posref_learned;
extern const struct posref_scheme_def posref_none;
extern const struct posref_scheme_def posref_fourier;
extern const struct posref_scheme_def posref_shaw;
extern const struct posref_scheme_def posref_transformer_xl;
extern const struct posref_scheme_def posref_t5_bias;
extern const struct posref_scheme_def posref_relative_bias;
extern const struct posref_scheme_def posref_deberta;
extern const struct posref_scheme_def posref_swin;
extern const struct posref_scheme_def posref_beit;
extern const struct posref_scheme_def posref_swinv2;
extern const struct posref_scheme_def posref_kerple;
extern const struct posref_scheme_def posref_fire;
extern const struct posref_scheme_def posref_sandwich;
extern const struct posref_scheme_def posref_cope;

const struct posref_scheme_def *posref_scheme_def(int scheme);

/* The need of `field` in a list that ends with NEED_NONE. */
enum posref_need posref_field_need(const struct posref_field_use *list, enum posref_field field);

/* ---- what eval functions use (job.c) ------------------------------------------------------- */

/* True when the job is to produce the op's outputs: asked for by name, or by ALL with every
 * required input at hand (`ready`). */
bool posref_job_wants(const struct posref_job *job, enum posref_op op, bool ready);

bool posref_job_has(const struct posref_job *job, const char *name); /* the input is given */

/* Uninitialised memory from the arena. NULL: none left, err filled; return POSREF_NO_MEMORY. */
POSREF_MUST_USE void *posref_job_alloc(const struct posref_job *job, size_t count,
                                       size_t size_bytes);
/* Adds an F64 output of that shape and hands out its elements. Fails (naming the output) beyond
 * POSREF_MAX_OUTPUT_ELEMENTS. */
POSREF_MUST_USE enum posref_status posref_job_output(double **out, struct posref_job *job,
                                                     const char *name, int rank,
                                                     const int64_t *shape);

/* The same for an I64 output. */
POSREF_MUST_USE enum posref_status posref_job_output_int(int64_t **out, struct posref_job *job,
                                                         const char *name, int rank,
                                                         const int64_t *shape);

/* Positions of one input: n_axes rows of n values, all within range, no negative zero. */
struct posref_positions {
    const double *value;
    int64_t n_axes, n;
};
/* Reads tensor `name` as positions ([n] or [n_axes, n]). */
POSREF_MUST_USE enum posref_status posref_job_positions(struct posref_positions *out,
                                                        struct posref_job *job, const char *name,
                                                        int64_t n_axes);
/* Reads tensor `name`, which must have the shape [rows, cols] or [rows, heads, cols] and finite
 * elements; *heads is 1 for the former. */
POSREF_MUST_USE enum posref_status posref_job_rows(const double **out, int64_t *heads,
                                                   struct posref_job *job, const char *name,
                                                   int64_t rows, int64_t cols);
/* Reads tensor `name`, which must have exactly this shape and finite elements. */
POSREF_MUST_USE enum posref_status posref_job_input(const double **out, struct posref_job *job,
                                                    const char *name, int rank,
                                                    const int64_t *shape);

#endif
