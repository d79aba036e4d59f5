/* SPDX-License-Identifier: Apache-2.0 */
/* The layouts of pairs and the rule of slopes. */
#include "layout.h"

void posref_layout_rope(int *first, int *second, const struct posref_spec *spec, int i)
{
    bool half = spec->pairing == POSREF_PAIRING_HALF;
    *first = half ? i : 2 * i;
    *second = half ? i + spec->rotary_dim / 2 : 2 * i + 1;
}

void posref_layout_block(struct posref_block *out, const struct posref_spec *spec)
{
    const bool timestep = spec->scheme == POSREF_SCHEME_TIMESTEP;
    const bool extra = spec->given[POSREF_FIELD_ODD_DIM] &&
                       spec->odd_dim == POSREF_ODD_DIM_EXTRA_SINE;
    *out = (struct posref_block){.width = spec->dim, .n_sines = spec->dim / 2 + extra,
                                 .n_cosines = spec->dim / 2, .order = spec->order};
    if (timestep)
        out->order = spec->flip_sin_to_cos ? POSREF_ORDER_FLIPPED : POSREF_ORDER_CONCAT;
}

void posref_layout_wave(int *sine, int *cosine, const struct posref_block *block, int i)
{
    const bool interleaved = block->order == POSREF_ORDER_INTERLEAVED;
    const bool flipped = block->order == POSREF_ORDER_FLIPPED;
    *sine = block->first + (interleaved ? 2 * i : flipped ? block->n_cosines + i : i);
    *cosine = block->first + (interleaved ? 2 * i + 1 : flipped ? i : block->n_sines + i);
    if (i >= block->n_cosines)
        *cosine = -1;
}

void posref_layout_slope(int *num, int *den, const struct posref_spec *spec, int h)
{
    int c = 1; /* the largest power of two that is at most num_heads */
    while (c <= spec->num_heads / 2)
        c *= 2;
    *num = h < c ? h + 1 : 2 * (h - c) + 1;
    *den = h < c ? c : 2 * c;
}
