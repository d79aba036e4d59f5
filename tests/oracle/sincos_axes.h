/* SPDX-License-Identifier: Apache-2.0 */
/* Sinusoidal tables over several position axes, for scheme_sinusoidal.c. */
#ifndef SINCOS_AXES_H
#define SINCOS_AXES_H

#include "oracle.h"

/* Judges every value of a sinusoidal case with axes_dims; c->error when it cannot be read. */
void sincos_axes_judge(struct oracle_tally *t, struct oracle_case *c);

#endif
