/* SPDX-License-Identifier: Apache-2.0 */
/* From judged pairs to named findings. Internal to harness/weights*.c. */
#ifndef POSREF_HARNESS_WEIGHTS_FINDINGS_H
#define POSREF_HARNESS_WEIGHTS_FINDINGS_H

#include "harness/weights.h"

/* Fills result->finding and result->consistent; false: no memory. */
POSREF_MUST_USE bool posref_weights_find(struct posref_weights_result *result,
                                         const struct posref_weights_side *before,
                                         const struct posref_weights_side *after);
/* Layer by layer: q against k, bias and gains against their weights, layers against each other. */
POSREF_MUST_USE bool posref_weights_find_layers(struct posref_weights_result *result,
                                                const struct posref_weights_side *before);
/* What one side lacks, and what the data cannot decide. */
POSREF_MUST_USE bool posref_weights_find_gaps(struct posref_weights_result *result,
                                              const struct posref_weights_side *before,
                                              const struct posref_weights_side *after);

/* Adds a finding, or a layer (-1: none) to one of the same fault, which keeps its summary. */
POSREF_MUST_USE bool posref_weights_add_finding(struct posref_weights_result *result,
                                                const char *fault,
                                                enum posref_weights_severity severity, int layer,
                                                const char *advice, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* "half_to_interleaved", or "rotary_rows_only (first 64 rows, half_to_interleaved)", ... */
void posref_weights_describe(char *out, size_t size, const struct posref_weights_pair *pair);

#endif
