/* SPDX-License-Identifier: Apache-2.0 */
/* Unmaps the memory that the worker shares with posref. */
#include "mutant.h"

#include <sys/mman.h>

static int32_t misbehave(const struct posref_plugin_call *call)
{
    unsigned char *end = NULL, *begin = mutant_shared(&end);
    mutant_right(call);
    if (begin)
        munmap(begin, (size_t)(end - begin));
    return POSREF_PLUGIN_OK;
}
