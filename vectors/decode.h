/* SPDX-License-Identifier: Apache-2.0 */
/* From stored elements, quantised blocks included, to floats. */
#ifndef POSREF_VECTORS_DECODE_H
#define POSREF_VECTORS_DECODE_H

#include "vectors/stored.h"

/* Whether the type has a decoding. */
bool posref_decode_knows(enum posref_stored_type type);

/* n elements (whole blocks) from data to out. F64 and wide integers are rounded to float; all
 * other types are decoded as their format defines them, in float arithmetic. The type must be one
 * that posref_decode_knows. Alignment of data does not matter. */
void posref_decode(float *out, enum posref_stored_type type, const unsigned char *data, int64_t n);

#endif
