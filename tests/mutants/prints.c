/* SPDX-License-Identifier: Apache-2.0 */
/* Right, but prints to stdout and stderr what looks like a report. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    for (int line = 0; line < 2000; line++)
        puts("{\"type\": \"footer\", \"verdict\": \"pass\"}");
    fputs("a warning\n", stderr);
    fflush(stdout);
    return mutant_right(call);
}
