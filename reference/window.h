/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets within a window of tokens: what swin, beit and swinv2 share. Private to reference/. */
#ifndef POSREF_WINDOW_H
#define POSREF_WINDOW_H

#include "bias.h"

/* W becomes W,W; fails, naming the field, unless there are one or two numbers. */
POSREF_MUST_USE enum posref_status posref_window_check(struct posref_ints *window, const char *name,
                                                       struct posref_error *err);
/* d = query i - key j on both axes. Fails when the window cannot hold both. */
POSREF_MUST_USE enum posref_status posref_window_difference(int64_t d[2], struct posref_job *job,
                                                            const struct posref_grid *grid,
                                                            int64_t i, int64_t j);
/* The entry of an offset, below posref_window_entries. */
int64_t posref_window_index(const int window[2], const int64_t d[2]);
int64_t posref_window_entries(const int window[2]);
/* A posref_index_fn: the entries of window_size. */
POSREF_MUST_USE enum posref_status posref_window_fill(int64_t *out, struct posref_job *job,
                                                      const struct posref_grid *grid);

#endif
