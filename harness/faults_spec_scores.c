/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of specs of biases, relative terms, scores and attention. */
#include "faults_spec.h"

#include <math.h>

/* ---- biases and relative terms ---- */

bool posref_change_buckets_halved(struct posref_spec *spec, double value)
{
    (void)value;
    return spec->num_buckets % 4 == 0 && spec->num_buckets >= 8 &&
           posref_change_field(spec, POSREF_FIELD_NUM_BUCKETS, spec->num_buckets / 2);
}

bool posref_change_window(struct posref_spec *spec, double value)
{
    (void)value;
    int *side = spec->window_size.item, first = side[0];
    side[0] = side[1];
    side[1] = first;
    return posref_spec_has(spec, POSREF_FIELD_WINDOW_SIZE);
}

/* ---- scores ---- */

bool posref_change_scale_missing(struct posref_spec *spec, double value)
{
    (void)value;
    if (!posref_field_applies(spec, POSREF_FIELD_SOFTMAX_SCALE) ||
        (spec->given[POSREF_FIELD_SOFTMAX_SCALE] && spec->softmax_scale == 1))
        return false;
    spec->softmax_scale = 1;
    return spec->given[POSREF_FIELD_SOFTMAX_SCALE] = true;
}

bool posref_change_causal(struct posref_spec *spec, double value)
{
    (void)value;
    if (!posref_field_applies(spec, POSREF_FIELD_CAUSAL))
        return false;
    spec->causal = !spec->causal;
    spec->given[POSREF_FIELD_CAUSAL] = true;
    spec->given[POSREF_FIELD_CAUSAL_ALIGN] = spec->causal;
    spec->causal_align = POSREF_ALIGN_BOTTOM_RIGHT;
    return true;
}

/* ---- terms and buckets ---- */

bool posref_change_npos_less(struct posref_spec *spec, double value)
{
    (void)value;
    return spec->npos_max > 1 &&
           posref_change_field(spec, POSREF_FIELD_NPOS_MAX, spec->npos_max - 1);
}

bool posref_change_scale_of_terms(struct posref_spec *spec, double value)
{
    (void)value;
    if (spec->scheme != POSREF_SCHEME_DEBERTA || !posref_spec_has(spec, POSREF_FIELD_DIM) ||
        spec->given[POSREF_FIELD_SOFTMAX_SCALE])
        return false;
    spec->softmax_scale = 1 / sqrt(spec->dim);
    return spec->given[POSREF_FIELD_SOFTMAX_SCALE] = true;
}

bool posref_change_distance_edge(struct posref_spec *spec, double value)
{
    const bool t5 = spec->scheme == POSREF_SCHEME_T5_BIAS;
    (void)value;
    if (!t5 && (spec->scheme != POSREF_SCHEME_DEBERTA || !spec->log_buckets))
        return false;
    return posref_change_field(spec, POSREF_FIELD_MAX_DISTANCE,
                               (double)spec->max_distance + (t5 ? -1 : 1));
}

static unsigned slips_of(const struct posref_spec *spec)
{
    const unsigned of_any = posref_field_applies(spec, POSREF_FIELD_CAUSAL)
                                ? POSREF_SLIP_SOFTMAX_QUERIES | POSREF_SLIP_MASK_ADDED : 0;
    switch (spec->scheme) {
    case POSREF_SCHEME_T5_BIAS:
        return of_any | POSREF_SLIP_BUCKET_CEIL | POSREF_SLIP_BUCKET_NEAREST;
    case POSREF_SCHEME_DEBERTA:
        return of_any | POSREF_SLIP_BUCKET_FLOOR | POSREF_SLIP_BUCKET_NEAREST |
               POSREF_SLIP_BUCKET_SIGNED | POSREF_SLIP_SPAN_LESS | POSREF_SLIP_SPAN_MORE |
               POSREF_SLIP_P2C_UNTURNED;
    case POSREF_SCHEME_COPE:
        return of_any | POSREF_SLIP_GATES_FROM_START | POSREF_SLIP_GATES_BEYOND |
               POSREF_SLIP_GATES_UNMASKED | POSREF_SLIP_ROW_FLOOR | POSREF_SLIP_ROW_NEAREST |
               POSREF_SLIP_ROW_NONE_BEYOND;
    case POSREF_SCHEME_SINUSOIDAL:
    case POSREF_SCHEME_LEARNED:
        return of_any | POSREF_SLIP_OWN_POSITIONS | POSREF_SLIP_QUERIES_BARE |
               POSREF_SLIP_KEYS_BARE | POSREF_SLIP_POSITIONS_APART;
    case POSREF_SCHEME_SHAW: return of_any | POSREF_SLIP_KEYS_APART;
    case POSREF_SCHEME_TRANSFORMER_XL:
        return of_any | POSREF_SLIP_SHIFT_CAUSAL | POSREF_SLIP_SHIFT_LAST;
    default: return of_any;
    }
}

bool posref_change_slip(struct posref_spec *spec, double value)
{
    const unsigned slip = (unsigned)value;
    const bool has = (slips_of(spec) & slip) != 0 && (spec->slips & slip) == 0;
    spec->slips |= slip;
    return has;
}
