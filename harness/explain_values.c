/* SPDX-License-Identifier: Apache-2.0 */
/* Claims whose parameter is estimated from an output. */
#include "explain_search.h"

#include <math.h>

#define NOTHING ((struct posref_claim){{NULL, NULL}, {0, 0}})

/* The round numbers that may have been meant by a value of the claim, and the value itself. */
static void examine_near(struct explain_search *s, struct posref_claim *claim, int slot)
{
    const double value = claim->value[slot];
    /* The other fault may have rounded what was estimated from, and 8 or 16 bits have. */
    const enum posref_dtype dtype = s->class->dtype;
    const bool coarse = posref_dtype_is_float8(dtype);
    const bool rounds = slot == 1 || (dtype != POSREF_F64 && dtype != POSREF_F32);
    const double reach = coarse ? 0.1 : rounds ? 4e-3 : 2e-5;
    char text[40];
    for (int digits = 0; digits < 6; digits++) {
        double rounded;
        snprintf(text, sizeof text, "%.*e", digits, value);
        if (posref_number_parse(&rounded, text, "", NULL) != POSREF_OK ||
            fabs(rounded - value) > reach * fabs(value) ||
            (digits > 0 && rounded == claim->value[slot]))
            continue;
        claim->value[slot] = rounded;
        posref_explain_examine(s, claim);
        if (!rounds)
            break;
    }
    claim->value[slot] = value;
    posref_explain_examine(s, claim);
}

/* What the first failure and the last one say, by fault of s->estimated; NaN: nothing. */
struct estimates {
    double value[EXPLAIN_ESTIMATED][2];
};

static void estimate_all(struct estimates *out, struct explain_search *s,
                         const struct posref_claim *base)
{
    for (int at = 0; at < 2; at++) {
        const struct posref_arena scratch = posref_explain_scratch(s);
        struct explain_sample sample;
        const int k = at ? s->class->n - 1 : 0;
        const bool sampled = at < s->class->n &&
                             posref_explain_sample(&sample, base, posref_explain_failure(s, k),
                                                   &scratch);
        for (int n = 0; n < s->n_estimated; n++)
            if (!sampled || s->estimated[n] == base->fault[0] ||
                !posref_explain_estimate(&out->value[n][at], &sample, s->estimated[n], false))
                out->value[n][at] = (double)NAN;
    }
}

/* In 16 bits a base read off small angles is right to a hundredth or so: failures that have larger
 * ones make it better, and those that have still larger ones again. */
static double refined(struct explain_search *s, struct posref_claim claim)
{
    static const double near[] = {1.5e-2, 1e-3, 5e-5};
    for (size_t pass = 0; pass < sizeof near / sizeof *near; pass++)
        for (int k = s->class->n - 1; k >= 0 && k >= s->class->n - 40; k--) {
            const struct posref_arena scratch = posref_explain_scratch(s);
            struct explain_sample sample;
            if (posref_explain_sample(&sample, &claim, posref_explain_failure(s, k), &scratch) &&
                posref_explain_refine_base(&claim.value[0], &sample, near[pass]))
                break;
        }
    return claim.value[0];
}

void posref_explain_examine_estimates(struct explain_search *s, const struct posref_claim *base)
{
    const int slot = base->fault[0] ? 1 : 0;
    struct estimates estimates;
    estimate_all(&estimates, s, base);
    for (int n = 0; n < s->n_estimated; n++)
        for (int at = 0; at < 2; at++) {
            struct posref_claim claim = *base;
            if (isnan(estimates.value[n][at]))
                continue;
            claim.fault[slot] = s->estimated[n];
            claim.value[slot] = estimates.value[n][at];
            if (slot == 0 && s->estimated[n]->field == POSREF_FIELD_BASE &&
                posref_dtype_size(s->class->dtype) == 2)
                claim.value[0] = refined(s, claim);
            examine_near(s, &claim, slot);
        }
}

void posref_explain_examine_slopes(struct explain_search *s)
{
    const struct posref_fault *fault = posref_fault_find("theta_scaled");
    for (int k = 0; k < s->class->n && k < 4 && fault; k++) {
        const struct posref_arena scratch = posref_explain_scratch(s);
        struct explain_sample sample;
        double value, rounded;
        char text[40];
        if (!posref_explain_sample(&sample, &NOTHING, posref_explain_failure(s, k), &scratch) ||
            !posref_explain_estimate(&value, &sample, fault, true))
            continue;
        snprintf(text, sizeof text, "%.3g", value);
        const bool parsed = posref_number_parse(&rounded, text, "", NULL) == POSREF_OK;
        const struct posref_claim base = {
            {fault, NULL}, {parsed && fabs(rounded - value) < 1e-3 * value ? rounded : value, 0}};
        posref_explain_examine_estimates(s, &base);
    }
}
