/* SPDX-License-Identifier: Apache-2.0 */
/* The axis and the frequency of each pair.
 *
 * axes_dims D_0, D_1, ... (3-D rope of video and image models, vision towers): blocks of pairs, one
 * an axis. Frequency j of axis a:
 *     independent    base^(-2j / D_a)
 *     shared         base^(-2i / r), i the pair's number in the head: the ladder goes on
 *     split          base^(-2(n j + a) / r), n axes: dealt out in turn (Pixtral)
 *     log_linspace   base^(j / (D_a / 2 - 1)): rising (LTX-Video)
 * axes_order=frequency deals the pairs to the axes in turn instead of in blocks (LTX-Video).
 *
 * mrope_section s_0, s_1, ... (M-RoPE, Qwen2-VL, arXiv 2409.12191): base^(-2i / r) for pair i, and
 * its axis by mrope_order:
 *     chunked      the first s_0 pairs axis 0, the next s_1 axis 1, ...
 *     interleaved  1 where i mod 3 = 1 and i < 3 s_1; 2 where i mod 3 = 2 and i < 3 s_2; else 0
 *     imrope       the same, but 0 only where i mod 3 = 0 and i < 3 s_0; else 3 (ggml)
 *     hw_t         sections are those of h, w, t, positions t, h, w: below 2 s_0 even pairs are h
 *                  (axis 1), odd ones w (axis 2), the rest t (Ernie 4.5 VL)
 *     greedy       each pair to the axis that has got the smallest share of its section so far, the
 *                  first of equals, never twice the same axis while another has any left; with
 *                  three sections the last pair is always axis 0 (openPangu) */
#include "axes.h"

#include "axes_greedy.h"
#include "wave_axes.h"

static bool has_dims(const struct posref_spec *spec)
{
    return spec->given[POSREF_FIELD_AXES_DIMS];
}

static bool has_sections(const struct posref_spec *spec)
{
    return spec->given[POSREF_FIELD_MROPE_SECTION];
}

int posref_spec_axes(const struct posref_spec *spec)
{
    return spec->scheme == POSREF_SCHEME_SINUSOIDAL ? posref_wave_axes_count(spec)
                                                    : posref_axes_count(spec);
}

int posref_axes_count(const struct posref_spec *spec)
{
    return has_dims(spec) ? spec->axes_dims.n : has_sections(spec) ? spec->mrope_section.n : 1;
}

/* Each axis has frequencies of its own. */
static bool has_own_ladders(const struct posref_spec *spec)
{
    return has_dims(spec) && (spec->axes_ladder == POSREF_AXES_LADDER_INDEPENDENT ||
                              spec->axes_ladder == POSREF_AXES_LADDER_LOG_LINSPACE);
}

int posref_axes_ladders(const struct posref_spec *spec)
{
    return has_own_ladders(spec) ? spec->axes_dims.n : 1;
}

static int section_axis(const struct posref_spec *spec, int i)
{
    const int *section = spec->mrope_section.item;
    const bool second = i % 3 == 1 && i < 3 * section[1], third = i % 3 == 2 && i < 3 * section[2];
    int axis = 0;
    switch (spec->mrope_order) {
    case POSREF_MROPE_INTERLEAVED:
        return second ? 1 : third ? 2 : 0;
    case POSREF_MROPE_IMROPE:
        return second ? 1 : third ? 2 : i % 3 == 0 && i < 3 * section[0] ? 0 : 3;
    case POSREF_MROPE_HW_T:
        return i < 2 * section[0] ? 1 + i % 2 : 0;
    case POSREF_MROPE_GREEDY:
        return posref_axes_greedy(&spec->mrope_section, i);
    default:
        while (i >= section[axis])
            i -= section[axis++];
        return axis;
    }
}

/* Axis and number within it of pair i under axes_dims. */
static void dims_axis(int *axis, int *j, const struct posref_spec *spec, int i)
{
    if (spec->axes_order == POSREF_AXES_ORDER_FREQUENCY) {
        *axis = i % spec->axes_dims.n;
        *j = i / spec->axes_dims.n;
        return;
    }
    for (*axis = 0, *j = i; *j >= spec->axes_dims.item[*axis] / 2; ++*axis)
        *j -= spec->axes_dims.item[*axis] / 2;
}

void posref_axes_pair(struct posref_axis_pair *out, const struct posref_spec *spec, int i)
{
    *out = (struct posref_axis_pair){.axis = 0, .ladder = 0, .index = i};
    if (has_sections(spec))
        out->axis = section_axis(spec, i);
    if (!has_dims(spec))
        return;
    int j;
    dims_axis(&out->axis, &j, spec, i);
    if (has_own_ladders(spec)) {
        out->ladder = out->axis;
        out->index = j;
    } else if (spec->axes_ladder == POSREF_AXES_LADDER_SPLIT) {
        out->index = spec->axes_dims.n * j + out->axis;
    }
}

int posref_axes_width(const struct posref_spec *spec, int ladder)
{
    return has_own_ladders(spec) ? spec->axes_dims.item[ladder] : spec->rotary_dim;
}

const struct posref_spec *posref_axes_ladder(struct posref_spec *own,
                                             const struct posref_spec *spec, int ladder)
{
    if (!has_own_ladders(spec) && !spec->given[POSREF_FIELD_AXES_NTK])
        return spec;
    *own = *spec;
    own->rotary_dim = posref_axes_width(spec, ladder);
    if (spec->given[POSREF_FIELD_AXES_NTK])
        own->axes_ntk.item[0] = spec->axes_ntk.item[ladder];
    return own;
}

void posref_axes_block(int *offset, int *width, int *at, const struct posref_spec *spec, int i)
{
    *offset = 0;
    *width = spec->rotary_dim;
    *at = i;
    if (!has_dims(spec) || spec->axes_span == POSREF_AXES_SPAN_HEAD)
        return;
    int axis;
    dims_axis(&axis, at, spec, i);
    for (int before = 0; before < axis; before++)
        *offset += spec->axes_dims.item[before];
    *width = spec->axes_dims.item[axis];
}
