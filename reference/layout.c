/* SPDX-License-Identifier: Apache-2.0 */
/* The layouts of pairs and the rule of slopes. */
#include "layout.h"

void posref_layout_rope(int *first, int *second, const struct posref_spec *spec, int i)
{
    bool half = spec->pairing == POSREF_PAIRING_HALF;
    *first = half ? i : 2 * i;
    *second = half ? i + spec->rotary_dim / 2 : 2 * i + 1;
}

void posref_layout_sinusoidal(int *sine, int *cosine, const struct posref_spec *spec, int i)
{
    bool interleaved = spec->order == POSREF_ORDER_INTERLEAVED;
    *sine = interleaved ? 2 * i : i;
    *cosine = interleaved ? 2 * i + 1 : i + spec->dim / 2;
}

void posref_layout_slope(int *num, int *den, const struct posref_spec *spec, int h)
{
    int c = 1; /* the largest power of two that is at most num_heads */
    while (c <= spec->num_heads / 2)
        c *= 2;
    *num = h < c ? h + 1 : 2 * (h - c) + 1;
    *den = h < c ? c : 2 * c;
}
