/* SPDX-License-Identifier: Apache-2.0 */
/* What the twists are made with. Private to harness/twists*.c. */
#ifndef POSREF_TWISTS_IMPL_H
#define POSREF_TWISTS_IMPL_H

#include "twists.h"

/* Room for other data of tensor i, with the old ones in it; NULL: none. */
double *posref_twist_renew(struct posref_tensors *set, int i, const struct posref_twisting *t);
bool posref_twist_has_axes(const struct posref_tensor *tensor);

#endif
