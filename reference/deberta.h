/* SPDX-License-Identifier: Apache-2.0 */
/* What DeBERTa's look-ups and scores share. Private to reference/. */
#ifndef POSREF_DEBERTA_H
#define POSREF_DEBERTA_H

#include "bias.h"

/* Half the rows of the relative embeddings: num_buckets, or max_distance without buckets. */
int64_t posref_deberta_span(const struct posref_spec *spec);
/* A posref_index_fn: the signed bucket of each query and key. */
POSREF_MUST_USE enum posref_status posref_deberta_buckets(int64_t *out, struct posref_job *job,
                                                          const struct posref_grid *grid);
/* The row of a bucket: clip(sign bucket + span, 0, 2 span - 1); sign is 1 or -1. */
int64_t posref_deberta_row(const struct posref_spec *spec, int64_t bucket, int sign);

#endif
