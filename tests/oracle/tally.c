/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of what was judged, and the dispatch of a case to its scheme. A value that the scheme did
 * not reach, or could not decide, is a mismatch: nothing is certified by being overlooked. */
#include "oracle.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void oracle_tally_init(struct oracle_tally *t)
{
    memset(t, 0, sizeof *t);
    t->nearest_ulp = 1;
}

void oracle_tally_mismatch(struct oracle_tally *t, const char *format, ...)
{
    int64_t at = t->n_mismatches++;
    if (at >= ORACLE_MAX_SHOWN)
        return;
    va_list list;
    va_start(list, format);
    vsnprintf(t->shown[at], sizeof t->shown[at], format, list);
    va_end(list);
}

void oracle_tally_join(struct oracle_tally *t, const struct oracle_tally *other)
{
    for (int64_t i = 0; i < other->n_mismatches && i < ORACLE_MAX_SHOWN; i++)
        if (t->n_mismatches + i < ORACLE_MAX_SHOWN)
            memcpy(t->shown[t->n_mismatches + i], other->shown[i], sizeof other->shown[i]);
    t->n_mismatches += other->n_mismatches;
    t->n_cases += other->n_cases;
    t->n_values += other->n_values;
    for (int i = 0; i < ORACLE_MAX_SCHEMES; i++)
        t->n_scheme_values[i] += other->n_scheme_values[i];
    t->n_exact += other->n_exact;
    t->n_ties += other->n_ties;
    t->n_within += other->n_within;
    t->n_raised += other->n_raised;
    if (other->largest_prec > t->largest_prec)
        t->largest_prec = other->largest_prec;
    if (other->nearest_ulp < t->nearest_ulp) {
        t->nearest_ulp = other->nearest_ulp;
        memcpy(t->nearest_at, other->nearest_at, sizeof t->nearest_at);
    }
}

static int find_scheme(const struct oracle_case *c)
{
    for (int i = 0; oracle_schemes[i]; i++)
        if (oracle_is(c, "scheme", oracle_schemes[i]->name))
            return i;
    return -1;
}

void oracle_case_judge(struct oracle_tally *t, struct oracle_case *c)
{
    int scheme = find_scheme(c);
    t->n_cases++;
    if (scheme < 0)
        oracle_fail(c, "scheme %s: the oracle has no formula for it",
                    oracle_has(c, "scheme") ? oracle_text(c, "scheme") : "missing");
    else if (!c->error[0])
        oracle_schemes[scheme]->judge(t, c);
    if (c->error[0])
        oracle_tally_mismatch(t, "%s: %s", c->id, c->error);
    if (c->n_outputs == 0)
        oracle_tally_mismatch(t, "%s: no outputs", c->id);
    for (int i = 0; i < c->n_outputs; i++) {
        const struct oracle_tensor *out = &c->output[i];
        t->n_values += out->count;
        if (scheme >= 0)
            t->n_scheme_values[scheme] += out->count;
        for (int64_t k = 0; k < out->count && !c->error[0]; k++)
            if (out->state[k] == ORACLE_PENDING)
                oracle_tally_mismatch(t, "%s %s[%lld]: stored %.17g (%a), not decided", c->id,
                                      out->name, (long long)k, out->data[k], out->data[k]);
    }
}
