/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to a plugin that no vector asks: an op of a spec on inputs of one's own. Private to
 * harness/. */
#ifndef POSREF_PROBE_H
#define POSREF_PROBE_H

#include "layouts.h"

struct posref_probe {
    struct posref_runner *runner;
    const struct posref_arena *arena; /* of everything a probe hands out */
    const struct posref_spec *spec;   /* completed: what the plugin is told */
    enum posref_dtype dtype;
    const struct posref_layout *form; /* of rotations (probe_form.h); NULL: plain */
    const struct posref_spec *tables; /* what is handed in where the form has tables: other ones
                                       * than the plugin is told of */
    /* What the last question came to; why is one line. */
    enum posref_verdict verdict;
    char why[200];
};

/* Asks once. *out: what came back, as doubles, when probe->verdict is PASS; otherwise untouched.
 * Input values must be exact in the dtype. BAD_INPUT when the reference itself refuses the spec
 * or the inputs; fails otherwise only when the harness cannot go on. */
POSREF_MUST_USE enum posref_status posref_probe_ask(struct posref_tensors *out,
                                                    struct posref_probe *probe, enum posref_op op,
                                                    const struct posref_tensors *in,
                                                    struct posref_error *err);

/* What a trial that was run came to: *out as above. */
POSREF_MUST_USE enum posref_status posref_probe_take(struct posref_tensors *out,
                                                     struct posref_probe *probe,
                                                     const struct posref_trial *trial,
                                                     struct posref_error *err);

/* The first of f64, f32, bf16 and f16 in which the plugin answers the question; the verdict is that
 * of the last dtype asked, and the reason that of the first. */
POSREF_MUST_USE enum posref_status posref_probe_dtype(struct posref_tensors *out,
                                                      struct posref_probe *probe,
                                                      enum posref_op op,
                                                      const struct posref_tensors *in,
                                                      struct posref_error *err);

/* Adds an F64 tensor of zeros; NULL: no memory. */
double *posref_probe_input(struct posref_tensors *in, const char *name, int rank,
                           const int64_t *shape, const struct posref_arena *arena);

/* The elements of a tensor of any floating dtype as doubles, in the arena. */
POSREF_MUST_USE enum posref_status posref_tensor_widen(struct posref_tensor *out,
                                                       const struct posref_tensor *in,
                                                       const struct posref_arena *arena,
                                                       struct posref_error *err);

#endif
