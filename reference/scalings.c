/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of frequency scalings. */
#include "scaling.h"

static const struct posref_scaling_def *const scalings[] = {
    [POSREF_SCALING_NONE] = &posref_scaling_none,     [POSREF_SCALING_LINEAR] = &posref_scaling_linear,
    [POSREF_SCALING_NTK] = &posref_scaling_ntk,       [POSREF_SCALING_YARN] = &posref_scaling_yarn,
    [POSREF_SCALING_LLAMA3] = &posref_scaling_llama3,
};

const struct posref_scaling_def *posref_scaling_def(int scaling)
{
    if (scaling < 0 || (size_t)scaling >= sizeof scalings / sizeof *scalings)
        return NULL;
    return scalings[scaling];
}
