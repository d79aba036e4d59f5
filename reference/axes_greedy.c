/* SPDX-License-Identifier: Apache-2.0 */
/* The greedy order of sections (openPangu, as vllm-project/vllm computes it). */
#include "axes_greedy.h"

/* Shares placed / of of two axes: whether a's is smaller. */
static bool smaller_share(const int placed[3], const int of[3], int a, int b)
{
    return (int64_t)placed[a] * of[b] < (int64_t)placed[b] * of[a];
}

/* The next axis: the smallest share among those with any left, without `last` if another has. */
static int next_axis(const int placed[3], const int of[3], int last)
{
    int best = -1;
    for (int axis = 0; axis < 3; axis++)
        if (placed[axis] < of[axis] && axis != last &&
            (best < 0 || smaller_share(placed, of, axis, best)))
            best = axis;
    return best < 0 ? last : best;
}

int posref_axes_greedy(const struct posref_ints *section, int i)
{
    int of[3] = {section->item[0], section->item[1], section->n > 2 ? section->item[2] : 0};
    int placed[3] = {0, 0, 0}, axis = -1;
    if (section->n > 2)
        of[0]--; /* kept for the last pair */
    if (i == of[0] + of[1] + of[2])
        return 0;
    for (int k = 0; k <= i; k++) {
        axis = next_axis(placed, of, axis);
        placed[axis]++;
    }
    return axis;
}
