/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves another rounding mode behind: its own results after the first are other ones. */
#include "mutant.h"

#include <fenv.h>

static int32_t misbehave(const struct posref_plugin_call *call)
{
    int32_t status = mutant_right(call);
    fesetround(FE_UPWARD);
    return status;
}
