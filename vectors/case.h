/* SPDX-License-Identifier: Apache-2.0 */
/* Cases: what is asked, before the answer. A case list is the expansion of the suites' JSON; it has
 * a text form, from which the digest program works without jansson and SQLite. Private to
 * vectors/. */
#ifndef POSREF_CASE_H
#define POSREF_CASE_H

#include "vectors/vectors.h"

#define POSREF_MAX_SUITES 4

/* All texts live in the list's arena; "" where there is nothing. */
struct posref_case {
    int suite;          /* index of the smallest suite that holds it */
    const char *id;
    const char *op;
    const char *spec;   /* canonical text, every field */
    const char *inputs; /* "positions=0,1,2 x=random:2": see posref_case_vector */
    const char *flags;  /* sorted, separated by spaces */
    const char *source;
};

struct posref_case_list {
    struct {
        char name[32], version[16];
    } suite[POSREF_MAX_SUITES]; /* smallest first; each holds the ones before it */
    int n_suites;
    struct posref_case *item; /* sorted by id (bytes) */
    size_t n;
};

/* One file that declares cases (vectors/suites/README.md describes them): its text, and its name
 * for errors. */
struct posref_suite_text {
    const char *name, *json;
};
#define POSREF_MAX_SUITE_TEXTS 32

/* Expands declarations. Suites come smallest first, each by the file that has its version and then
 * the files that only add groups to it. The list lives in the arena. Errors name the group and the
 * member at fault. */
POSREF_MUST_USE enum posref_status posref_suites_expand(struct posref_case_list *out,
                                                        const struct posref_suite_text *texts,
                                                        size_t n_texts,
                                                        const struct posref_arena *arena,
                                                        struct posref_error *err);
/* The suites of this program up to `largest` (NULL: all), from the declarations built into it. */
POSREF_MUST_USE enum posref_status posref_suites_load(struct posref_case_list *out,
                                                      const char *largest,
                                                      const struct posref_arena *arena,
                                                      struct posref_error *err);

/* The text form: a line "posref-cases 1", a line "suite NAME VERSION" each, a line a case with tabs
 * between its members. */
void posref_cases_text(struct posref_buffer *out, const struct posref_case_list *list);
/* Reads it; `text` is cut up and must outlive the list. Fails unless the ids are sorted. */
POSREF_MUST_USE enum posref_status posref_cases_parse(struct posref_case_list *out, char *text,
                                                      const struct posref_arena *arena,
                                                      struct posref_error *err);

/* The vector of a case, without outputs. Inputs are recipes, positions first:
 *   positions, q_positions, k_positions   as typed by users
 *   NAME=random[:SIZE] the shape that the scheme takes (posref_input_shape), its free axis (heads,
 *                      rows) SIZE long; values k/64 (logits: k/16) with 1 <= |k| <= 127, drawn by a
 *                      generator seeded by the id: exact in bfloat16 and float16, never zero
 *   x, dy=basis        [n, HEADS, dim]: head h is the h-th of the basis vectors whose channels lie
 *                      at the ends and in the middle of the rotated part and of the head
 *   NAME=1,0.5,...     these values (q, k, v: a row a position, without heads)
 *   q, k, v=random[:HEADS][xDIM]  rows as many as positions, [n, DIM] or [n, HEADS, DIM]; DIM is
 *                      dim where it is not said
 *   mask=random        [n_q, n_k] of 0 and 1, two ones at least in each row */
POSREF_MUST_USE enum posref_status posref_case_vector(struct posref_vector *out,
                                                      const struct posref_case_list *list,
                                                      const struct posref_case *item,
                                                      const struct posref_arena *arena,
                                                      struct posref_error *err);

/* ---- canonical content -------------------------------------------------------------------- */

/* The vector as canonical text: id, op, spec, flags and source, then every input and output with
 * dtype, shape and the bits of each element in hex. Depends on nothing but the vector. */
void posref_canonical_text(struct posref_buffer *out, const struct posref_vector *vector);

#endif
