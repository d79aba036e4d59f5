/* SPDX-License-Identifier: Apache-2.0 */
/* The forms in which kernels take their tensors: batches and heads in another order, strides,
 * packed sequences, in place, ... A layout hands a plugin a vector of a suite in such a form:
 * the same rows, repeated where a form has more of them (each copy times another power of two,
 * which changes no digit of the golden output), so that a row taken for another one shows. The case
 * is called ID@LAYOUT. docs/plugin.md lists layouts and tensors. Private to harness/. */
#ifndef POSREF_LAYOUTS_H
#define POSREF_LAYOUTS_H

#include "runner.h"
#include "vectors/vectors.h"

#define POSREF_LAYOUT_PLAIN "plain" /* the vector as it is: no layout */
#define POSREF_LAYOUT_STAYS (-2)
#define POSREF_LAYOUT_OTHER (-3)
#define POSREF_N_LAYOUTS 27

/* What a vector must be like. */
enum posref_layout_need {
    POSREF_LAYOUT_ROWS,    /* whatever it is */
    POSREF_LAYOUT_WHOLE,   /* positions are whole numbers */
    POSREF_LAYOUT_COUNTED, /* and have one axis */
    POSREF_LAYOUT_TABLES,  /* each pair turns, as one, by a column of the tables, and no more */
    POSREF_LAYOUT_INDEXED, /* and positions have one axis */
    POSREF_LAYOUT_KEYS,    /* it is of queries and keys */
    POSREF_LAYOUT_UNMASKED /* and has no mask */
};

struct posref_layout {
    const char *name;    /* "bhsd" */
    const char *summary; /* one line */
    unsigned ops;        /* bit 1 << op */
    enum posref_layout_need need;
};

const struct posref_layout *posref_layout_at(int k); /* NULL: there are not so many */
const struct posref_layout *posref_layout_find(const char *name, size_t length); /* or NULL */
/* A list of names between commas or spaces (all: every one): sets plain and layout[]. BAD_INPUT,
 * with key, for a name that is none; NULL key: such names are skipped. */
POSREF_MUST_USE enum posref_status posref_layouts_parse(bool *plain, bool layout[POSREF_N_LAYOUTS],
                                                        const char *text, const char *key,
                                                        struct posref_error *err);
bool posref_layout_applies(const struct posref_layout *layout, const struct posref_vector *vector);

/* A vector in a layout. Everything lives in the arena it was made with, but for what the vector it
 * was made of has. */
struct posref_layout_case {
    const struct posref_layout *layout;
    struct posref_vector judged; /* its rows one after another: what the result is judged as */
    int64_t n, heads, dim;       /* rows of judged, heads of each (0: x has no axis of heads) */
    int64_t batch, seq;          /* where the form has them */
    int64_t source_rows;
    const int64_t *first;        /* packed sequences: [batch + 1], first row of each */
};
POSREF_MUST_USE enum posref_status posref_layout_make(struct posref_layout_case *out,
                                                      const struct posref_layout *layout,
                                                      const struct posref_vector *vector,
                                                      const struct posref_arena *arena,
                                                      struct posref_error *err);

/* How the plugin's outputs are put together again. */
struct posref_layout_result {
    /* Of an output: the judged row of each of its rows, -1: none, and it need not be written,
     * POSREF_LAYOUT_STAYS: none, and it must not be, POSREF_LAYOUT_OTHER: none, and whatever is
     * written; in an output that copies, rows of the input in
     * the place of judged ones. */
    const int64_t *row_of[POSREF_MAX_TENSORS];
    const struct posref_tensor *copied[POSREF_MAX_TENSORS]; /* the input that it copies, or NULL */
    struct posref_tensors judged;              /* room for them, one of all outputs or one of each;
                                                * none: the outputs as they are */
    int64_t dim;
    const struct posref_vector *vector; /* judged in the place of the case's, where the dtype of
                                         * what is handed in changes the golden output; or NULL */
};
/* The call of a case in a dtype; spec_text must outlive it. */
POSREF_MUST_USE enum posref_status posref_layout_trial(struct posref_trial *out,
                                                       struct posref_layout_result *result,
                                                       const struct posref_layout_case *of,
                                                       const char *spec_text,
                                                       enum posref_dtype dtype,
                                                       const struct posref_arena *arena,
                                                       struct posref_error *err);
/* After a call that returned: trial->out becomes what is judged, and the verdict UNWRITTEN or NAN
 * where elements are, BAD_WRITE where a row that was to stay was written, FAIL where one is no copy
 * of what it should be. Other verdicts are left alone. */
void posref_layout_collect(struct posref_trial *trial, const struct posref_layout_result *result);

#endif
