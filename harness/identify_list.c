/* SPDX-License-Identifier: Apache-2.0 */
/* Longrope with divisors of its own: whatever the frequencies are, over the base that was asked for
 * they are a list. */
#include "identify.h"

#include <math.h>

bool posref_curve_fit_list(struct posref_identity *id, const struct posref_curve *curve,
                           struct posref_spec *spec)
{
    const struct posref_spec *asked = &id->asked;
    if (asked->scaling != POSREF_SCALING_LONGROPE || curve->n > POSREF_MAX_REALS)
        return false;
    const struct posref_spec layout = *spec;
    *spec = *asked;
    spec->rotary_dim = layout.rotary_dim;
    spec->partial = layout.partial;
    spec->pairing = layout.pairing;
    spec->direction = layout.direction;
    const bool is_long = spec->seq_len > spec->original_max_position_embeddings;
    struct posref_reals *list = is_long ? &spec->long_factor : &spec->short_factor;
    list->n = curve->n;
    for (int i = 0; i < curve->n; i++) {
        const double at = pow(spec->base, -(double)i / curve->n) / curve->inv_freq[i];
        list->item[i] = posref_simplest((struct posref_interval){at * (1 - curve->tol[i]),
                                                                 at * (1 + curve->tol[i])});
    }
    const double usual = curve->magnitude, tol = curve->magnitude_tol;
    double residual = posref_curve_residual(curve, spec);
    if (residual > 1) { /* the frequencies are right by now: it is the magnitude */
        spec->attention_factor = posref_simplest((struct posref_interval){usual * (1 - tol),
                                                                          usual * (1 + tol)});
        spec->given[POSREF_FIELD_ATTENTION_FACTOR] = true;
        id->how[POSREF_FIELD_ATTENTION_FACTOR] = POSREF_HOW_FITTED;
        residual = posref_curve_residual(curve, spec);
    }
    if (residual > 1)
        return false;
    id->how[is_long ? POSREF_FIELD_LONG_FACTOR : POSREF_FIELD_SHORT_FACTOR] = POSREF_HOW_FITTED;
    id->how[is_long ? POSREF_FIELD_SHORT_FACTOR : POSREF_FIELD_LONG_FACTOR] = POSREF_HOW_ASSUMED;
    id->how[POSREF_FIELD_BASE] = POSREF_HOW_ASSUMED;
    posref_identity_family(id, is_long ? "long_factor base" : "short_factor base",
                           "with another base the divisors are others: base^(-2i/rotary_dim) over "
                           "the frequency");
    return true;
}
