/* SPDX-License-Identifier: Apache-2.0 */
/* What the twists are made with. Private to harness/twists*.c. */
#ifndef POSREF_TWISTS_IMPL_H
#define POSREF_TWISTS_IMPL_H

#include "twists.h"

/* The number of the tensor of that name; -1: there is none. */
int posref_twist_find(const struct posref_tensors *set, const char *name);
/* Room for other data of tensor i, with the old ones in it; NULL: none. */
double *posref_twist_renew(struct posref_tensors *set, int i, const struct posref_twisting *t);
/* value[k] = factor value[k] + summand of tensor i; false: i < 0, or no memory. */
bool posref_twist_line(struct posref_tensors *set, const struct posref_twisting *t, int i,
                       double factor, double summand);
bool posref_twist_has_axes(const struct posref_tensor *tensor);

#endif
