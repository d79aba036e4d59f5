/* SPDX-License-Identifier: Apache-2.0 */
/* Says that all is done and leaves the last element as it was. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *y = posref_plugin_find(call, "y");
    size_t size = posref_plugin_dtype_size(y->dtype);
    char *last = (char *)y->data + (size_t)(mutant_count(y) - 1) * size;
    char kept[8];
    memcpy(kept, last, size);
    int32_t status = mutant_right(call);
    memcpy(last, kept, size);
    return status;
}
