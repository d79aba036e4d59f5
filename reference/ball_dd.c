/* SPDX-License-Identifier: Apache-2.0 */
/* A double-double with a bound as a ball. */
#include "ball_impl.h"

#include <math.h>

void posref_ball_set_dd(struct posref_ball *out, double hi, double lo, double err)
{
    struct posref_ball low;
    posref_ball_set_double(out, hi);
    posref_ball_set_double(&low, lo);
    posref_ball_add(out, out, &low, 2200); /* exact */
    if (err > 0) {
        int exponent;
        double man = frexp(err, &exponent);
        ball_add_radius(out, radius_make((uint64_t)ceil(man * 0x1p32), exponent - 32));
    }
}
