/* SPDX-License-Identifier: Apache-2.0 */
/* The greedy order of sections, for axes.c and axes_check.c. */
#ifndef POSREF_AXES_GREEDY_H
#define POSREF_AXES_GREEDY_H

#include "reference.h"

/* The axis of pair i < the sum of the sections; two or three sections. */
int posref_axes_greedy(const struct posref_ints *section, int i);

#endif
