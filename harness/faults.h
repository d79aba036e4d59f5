/* SPDX-License-Identifier: Apache-2.0 */
/* Named ways to be wrong, as changes of a spec. Each is a hypothesis when a plugin fails. Private
 * to harness/. */
#ifndef POSREF_FAULTS_H
#define POSREF_FAULTS_H

#include "vectors/vectors.h"

struct posref_fault {
    const char *name;    /* stable */
    const char *formula; /* what it amounts to */
    const char *advice;  /* what mends it */
    /* Changes a completed spec; false: the fault does not apply to it. The result need not be
     * complete. */
    bool (*change)(struct posref_spec *spec);
};

#define POSREF_MAX_FAULTS 32
extern const struct posref_fault posref_faults[]; /* most likely first; ends with a NULL name */

/* The completed spec with the fault; false: it does not apply, or makes no valid spec. */
bool posref_fault_apply(struct posref_spec *out, const struct posref_fault *fault,
                        const struct posref_spec *right);

/* "output equals the reference with pairing=interleaved; the spec asks for half": the keys in
 * which two specs of one scheme differ. */
void posref_fault_summary(struct posref_buffer *out, const struct posref_spec *wrong,
                          const struct posref_spec *right);

#endif
