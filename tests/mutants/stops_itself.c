/* SPDX-License-Identifier: Apache-2.0 */
/* Stops its process, which is neither death nor progress. */
#include "mutant.h"

#include <signal.h>

static int32_t misbehave(const struct posref_plugin_call *call)
{
    raise(SIGSTOP);
    return mutant_right(call);
}
