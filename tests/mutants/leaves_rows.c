/* SPDX-License-Identifier: Apache-2.0 */
/* Says that all is done and leaves the first element of a single row as it was. */
#define MUTANT_WHERE(call) 1
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *y = posref_plugin_find(call, "y");
    const size_t size = posref_plugin_dtype_size(y->dtype);
    char kept[8];
    memcpy(kept, y->data, size);
    int32_t status = mutant_right(call);
    if (mutant_count(posref_plugin_find(call, "positions")) == 1)
        memcpy(y->data, kept, size);
    return status;
}
