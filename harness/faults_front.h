/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of faults, for readers outside of harness/. */
#ifndef POSREF_FAULTS_FRONT_H
#define POSREF_FAULTS_FRONT_H

#include "vectors/vectors.h"

/* {"faults": [{"name", "kind", "formula", "advice", "seen": [...], "schemes": [...], "parameter",
 * "values", "estimated", "equivalent"}, ...], "kinds": {"A": "layout", ...}} and a newline. */
void posref_faults_json(struct posref_buffer *out);

#endif
