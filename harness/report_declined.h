/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the text about groups: what was declined in every dtype, layouts that fail alone.
 * Private to harness/. */
#ifndef POSREF_REPORT_DECLINED_H
#define POSREF_REPORT_DECLINED_H

#include "report.h"

/* Whether nothing of the group was judged: all of it was declined, in each dtype there is. */
bool posref_group_is_declined(const struct posref_group *group);

/* "declined, all of: alibi bias, weights; rope rotate (yarn, llama3)" in lines of 96 columns and an
 * empty one: groups of vectors that are declined, by scheme; of an op with other scalings that are
 * not, the scalings. Nothing where there is none. */
void posref_report_declined(struct posref_buffer *out, const struct posref_tally *tally);

/* Where layouts fail and everything else passes: which, and where to look. Else nothing. */
void posref_report_layouts(struct posref_buffer *out, const struct posref_tally *tally);

#endif
