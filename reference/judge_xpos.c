/* SPDX-License-Identifier: Apache-2.0 */
/* A scale of xPos in double with a bound of its error, for limits and bent evaluation alone. */
#include "xpos.h"

#include <math.h>

double posref_xpos_estimate(double *error, const struct posref_spec *spec,
                            enum posref_xpos_side side, int i, double position)
{
    *error = 0;
    if (!posref_xpos_on(spec))
        return 1;
    const double r = spec->rotary_dim, base = (10 * i + 2 * r) / (7 * r);
    const double e = (position - spec->xpos_center) / spec->xpos_scale_base;
    const double power = e * log(base);
    /* zeta is off by 3 u, which counts e times; e by 2 u and the logarithm by 3, which count
     * |power| times; exp, product and reciprocal. */
    *error = 4 + 3 * fabs(e) + 5 * fabs(power);
    return exp(side == POSREF_XPOS_KEY ? -power : power);
}
