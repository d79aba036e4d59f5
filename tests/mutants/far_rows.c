/* SPDX-License-Identifier: Apache-2.0 */
/* Rows behind the 64th get the answer of the row 64 before them, as from a kernel that forgets to
 * add a block's offset. No stored vector of these specs has so many rows. */
#define MUTANT_WHERE(call) 1
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *y = posref_plugin_find(call, "y");
    const int64_t far = 64 * (int64_t)mutant_dim(call);
    int32_t status = mutant_right(call);
    for (int64_t k = far; y->rank == 2 && k < mutant_count(y); k++)
        mutant_put(y, k, mutant_get(y, k - far));
    return status;
}
