/* SPDX-License-Identifier: Apache-2.0 */
/* Attaches to posref, to change its verdicts. */
#include "mutant.h"

#include <sys/ptrace.h>
#include <unistd.h>

static int32_t misbehave(const struct posref_plugin_call *call)
{
    ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
    return mutant_right(call);
}
