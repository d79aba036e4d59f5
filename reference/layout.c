/* SPDX-License-Identifier: Apache-2.0 */
/* The layouts of pairs and the rule of slopes. */
#include "layout.h"

#include "axes.h"

#include <math.h>

/* floor(share * width / 2), exactly: share = m 2^e with m < 2^53 and width < 2^15, so that the
 * product is an integer of 68 bits times a power of two. */
static int pairs_of_share(double share, int width)
{
    int exponent;
    const uint64_t m = (uint64_t)ldexp(frexp(share, &exponent), 53);
    const int shift = 53 - exponent + 1; /* share <= 1: at least 53 */
    if (shift > 68)
        return 0;
    const uint64_t high = (m >> 32) * (uint64_t)width, low = (m & 0xffffffffu) * (uint64_t)width;
    const uint64_t top = high + (low >> 32); /* product >> 32; what is cut lies below bit 53 */
    return (int)(top >> (shift - 32));
}

int posref_layout_pairs(const struct posref_spec *spec)
{
    return spec->partial == POSREF_PARTIAL_PROPORTIONAL
               ? pairs_of_share(spec->partial_rotary_factor, spec->dim)
               : spec->rotary_dim / 2;
}

void posref_layout_rope(struct posref_layout_pair *out, const struct posref_spec *spec, int i)
{
    int first, width, at;
    posref_axes_block(&first, &width, &at, spec, i);
    const int half = width / 2, columns = first / 2; /* of the blocks before this one */
    if (spec->partial == POSREF_PARTIAL_TRAILING)
        first += spec->dim - spec->rotary_dim;
    const bool reads_half = spec->pairing == POSREF_PAIRING_HALF;
    const bool writes_half = reads_half || spec->pairing == POSREF_PAIRING_INTERLEAVED_TO_HALF;
    for (int which = 0; which < 2; which++) {
        const int as_half = first + at + which * half, as_interleaved = first + 2 * at + which;
        out->in[which] = reads_half ? as_half : as_interleaved;
        out->out[which] = writes_half ? as_half : as_interleaved;
        out->frequency[which] =
            spec->pairing == POSREF_PAIRING_MISMATCHED ? columns + (2 * at + which) % half : i;
    }
}

void posref_layout_copied(bool *copied, const struct posref_spec *spec)
{
    const int n_pairs = posref_layout_pairs(spec);
    for (int channel = 0; channel < spec->dim; channel++)
        copied[channel] = true;
    for (int i = 0; i < n_pairs; i++) {
        struct posref_layout_pair pair;
        posref_layout_rope(&pair, spec, i);
        copied[pair.out[0]] = copied[pair.out[1]] = false;
    }
}

void posref_layout_table(struct posref_table_form *out, const struct posref_spec *spec)
{
    const int r = spec->rotary_dim;
    *out = (struct posref_table_form){.layout = POSREF_TABLE_SPLIT, .joined = true, .copies = 1,
                                      .rank = 1, .width = r, .shape = {r}};
    if (spec->given[POSREF_FIELD_TABLE_LAYOUT])
        out->layout = (enum posref_table_layout)spec->table_layout;
    switch (out->layout) {
    case POSREF_TABLE_CONCAT:
    case POSREF_TABLE_REPEAT:
        out->joined = false;
        out->copies = 2;
        break;
    case POSREF_TABLE_COMPLEX:
        out->rank = 2;
        out->shape[0] = r / 2;
        out->shape[1] = 2;
        break;
    case POSREF_TABLE_MATRIX:
        out->copies = 2;
        out->rank = 3;
        out->width = 2 * r;
        out->shape[0] = r / 2;
        out->shape[1] = out->shape[2] = 2;
        break;
    case POSREF_TABLE_COS_SIN:
    case POSREF_TABLE_SIN_COS:
    case POSREF_TABLE_INTERLEAVED: break;
    default:
        out->joined = false;
        out->width = r / 2;
        out->shape[0] = r / 2;
    }
}

void posref_layout_table_at(int *cosine, int *sine, bool *negated,
                            const struct posref_table_form *form, int i, int copy)
{
    const int half = form->width / 2; /* concat, cos_sin, sin_cos */
    *negated = false;
    *cosine = *sine = i;
    switch (form->layout) {
    case POSREF_TABLE_CONCAT: *cosine = *sine = i + copy * half; break;
    case POSREF_TABLE_REPEAT: *cosine = *sine = 2 * i + copy; break;
    case POSREF_TABLE_COS_SIN: *sine = half + i; break;
    case POSREF_TABLE_SIN_COS: *cosine = half + i; break;
    case POSREF_TABLE_COMPLEX:
    case POSREF_TABLE_INTERLEAVED:
        *cosine = 2 * i;
        *sine = 2 * i + 1;
        break;
    case POSREF_TABLE_MATRIX: /* row major: c, -s, s, c */
        *cosine = 4 * i + 3 * copy;
        *sine = 4 * i + 1 + copy;
        *negated = copy == 0;
        break;
    default: break;
    }
}

void posref_layout_block(struct posref_block *out, const struct posref_spec *spec)
{
    const bool extra = spec->given[POSREF_FIELD_ODD_DIM] &&
                       spec->odd_dim == POSREF_ODD_DIM_EXTRA_SINE;
    *out = (struct posref_block){.width = spec->dim, .n_sines = spec->dim / 2 + extra,
                                 .n_cosines = spec->dim / 2, .order = spec->order};
    if (spec->given[POSREF_FIELD_FLIP_SIN_TO_COS])
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
    if (spec->slopes == POSREF_SLOPES_GEOMETRIC) {
        *num = h + 1;
        *den = spec->num_heads;
        return;
    }
    int c = 1; /* the largest power of two that is at most num_heads */
    while (c <= spec->num_heads / 2)
        c *= 2;
    *num = h < c ? h + 1 : 2 * (h - c) + 1;
    *den = h < c ? c : 2 * c;
}
