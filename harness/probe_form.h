/* SPDX-License-Identifier: Apache-2.0 */
/* Rotations asked for in another form than plain, of plugins that take no other: fused with an RMS
 * norm of each head, or by cosines and sines that are handed in. Private to harness/. */
#ifndef POSREF_PROBE_FORM_H
#define POSREF_PROBE_FORM_H

#include "layouts.h"
#include "probe.h"

/* The k-th form that rotations are asked in where plain ones are declined; NULL: no more. */
const struct posref_layout *posref_probe_form_at(int k);
/* Whether the plugin says that it takes the form. */
bool posref_probe_form_taken(const struct posref_layout *form, const struct posref_runner *runner);
/* The cosines and sines are handed in. */
bool posref_probe_form_has_tables(const struct posref_layout *form);

/* The trial of a rotation, x [n, dim] whose rows all have one mean of squares, at most 1, in the
 * probe's form. A norm has the weight 1 and an eps with which it divides by 1; tables are those of
 * probe->tables. `vector` has the shape of the output. */
POSREF_MUST_USE enum posref_status posref_probe_form_trial(struct posref_trial *out,
                                                           const struct posref_probe *probe,
                                                           const struct posref_vector *vector,
                                                           const char *spec_text,
                                                           struct posref_error *err);

/* Asks for a rotation in the form and says what it is to be judged as: *judged has its inputs and
 * golden outputs, those of a norm that is none of weight 1. */
POSREF_MUST_USE enum posref_status posref_probe_form_judged(struct posref_tensors *out,
                                                            struct posref_vector *judged,
                                                            struct posref_probe *probe,
                                                            const struct posref_spec *spec,
                                                            const struct posref_tensors *in,
                                                            struct posref_error *err);

#endif
