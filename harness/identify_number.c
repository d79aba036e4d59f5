/* SPDX-License-Identifier: Apache-2.0 */
/* Which number was meant: the simplest one within the error of a measurement. */
#include "identify.h"

#include <math.h>

double posref_simplest(struct posref_interval in)
{
    const double middle = in.lo + (in.hi - in.lo) / 2;
    for (int digits = 0; digits < 17; digits++) {
        char text[40];
        double rounded;
        snprintf(text, sizeof text, "%.*e", digits, middle);
        if (posref_number_parse(&rounded, text, "", NULL) == POSREF_OK &&
            posref_within(in, rounded))
            return rounded;
    }
    return middle;
}

double posref_simplest_length(struct posref_interval in)
{
    double power = exp2(ceil(log2(fmax(in.lo, 1))));
    double thousands = 1024 * ceil(in.lo / 1024);
    if (posref_within(in, power))
        return power;
    return posref_within(in, thousands) ? thousands : posref_simplest(in);
}
