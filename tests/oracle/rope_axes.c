/* SPDX-License-Identifier: Apache-2.0 */
/* Axis and frequency of each column of a rope over several axes.
 *
 * axes_dims D_a, in blocks of columns, one an axis (video and image DiTs, vision towers):
 *   independent   w_j = b^(-2j/D_a); scaling linear: / f; ntk, or axes_ntk f_a:
 *                 (b f^(D/(D-2)))^(-2j/D) = b^(-2j/D) f^(-2j/(D-2))
 *   shared        b^(-2c/R), c the column
 *   split         b^(-2(n j + a)/R): Pixtral gives even entries to rows, odd ones to columns
 *   log_linspace  b^(j/(D/2 - 1)): theta^linspace(0, 1) of LTX-Video
 * axes_order=frequency: column c is entry c / n of axis c mod n.
 * mrope_section (arXiv 2409.12191): b^(-2c/R) under the scaling, axis by mrope_order. */
#include "rope_axes.h"

#include <stdlib.h>
#include <string.h>

bool axes_present(const struct oracle_case *c)
{
    return oracle_has(c, "axes_dims") || oracle_has(c, "mrope_section");
}

/* "16,24,24" */
static bool read_list(struct axes_list *out, struct oracle_case *c, const char *key)
{
    const char *text = oracle_text(c, key);
    out->n = 0;
    while (text && out->n < AXES_MAX) {
        char *end;
        out->item[out->n++] = strtoll(text, &end, 10);
        if (end == text || (*end != ',' && *end))
            break;
        if (!*end)
            return true;
        text = end + 1;
    }
    return oracle_fail(c, "%s: no list of numbers", key);
}

static int64_t sum_of(const struct axes_list *list)
{
    int64_t sum = 0;
    for (int64_t k = 0; k < list->n; k++)
        sum += list->item[k];
    return sum;
}

/* Deals n columns to the axes: who has the smallest share goes next, the lower of equals; twice in
 * a row only when no other has any left. Three sections: one of the first's goes last. */
static void deal(struct axes *a, const struct axes_list *section)
{
    int64_t left[3] = {section->item[0], section->item[1], section->n == 3 ? section->item[2] : 0};
    left[0] -= section->n == 3;
    const int64_t all[3] = {left[0], left[1], left[2]};
    int64_t last = -1, end = left[0] + left[1] + left[2];
    for (int64_t k = 0; k < end; k++) {
        int64_t best = -1;
        for (int pass = 0; pass < 2 && best < 0; pass++)
            for (int64_t x = 0; x < 3; x++) {
                if (left[x] == 0 || (pass == 0 && x == last))
                    continue;
                /* (all - left) / all against the best so far */
                if (best < 0 || (all[x] - left[x]) * all[best] < (all[best] - left[best]) * all[x])
                    best = x;
            }
        a->column[k].axis = last = best;
        left[best]--;
    }
    if (section->n == 3)
        a->column[end].axis = 0;
}

static bool place_sections(struct axes *a, struct oracle_case *c)
{
    struct axes_list s;
    const bool mixed = oracle_is(c, "mrope_order", "interleaved");
    const bool fourth = oracle_is(c, "mrope_order", "imrope");
    if (!read_list(&s, c, "mrope_section"))
        return false;
    a->n_axes = s.n;
    if (sum_of(&s) != a->n_columns || (mixed && s.n != 3) || (fourth && s.n != 4))
        return oracle_fail(c, "mrope_section: out of range");
    if (oracle_is(c, "mrope_order", "greedy")) {
        deal(a, &s);
        return true;
    }
    for (int64_t k = 0; k < a->n_columns; k++) {
        int64_t *axis = &a->column[k].axis;
        if (oracle_is(c, "mrope_order", "chunked")) {
            for (int64_t end = s.item[0]; k >= end; end += s.item[*axis])
                ++*axis;
        } else if (oracle_is(c, "mrope_order", "hw_t")) {
            *axis = k >= s.item[0] + s.item[1] ? 0 : k % 2 ? 2 : 1;
        } else if (mixed || fourth) {
            *axis = k < 3 * s.item[k % 3] ? k % 3 : fourth ? 3 : 0;
        } else {
            return oracle_fail(c, "mrope_order: the oracle has no formula for it");
        }
    }
    return true;
}

/* Frequency j of an axis of width d, which is entry `entry` of a ladder over all. */
static bool set_power(struct axes *a, struct oracle_case *c, struct axes_column *column, int64_t j,
                      int64_t d, int64_t entry)
{
    double base = oracle_real(c, "base");
    if (oracle_is(c, "axes_ladder", "independent"))
        oracle_power_init(&column->power, base, 2 * j, d);
    else if (oracle_is(c, "axes_ladder", "log_linspace"))
        oracle_power_init(&column->power, base, -j, d > 2 ? d / 2 - 1 : 1);
    else
        oracle_power_init(&column->power, base, 2 * entry, a->r);
    if (oracle_is(c, "scaling", "linear"))
        column->divisor = oracle_real(c, "factor");
    if (oracle_is(c, "scaling", "ntk"))
        column->extra_base = oracle_real(c, "factor");
    if (oracle_is(c, "scaling", "ntk") || oracle_has(c, "axes_ntk"))
        fmpq_set_si(column->extra, -2 * j, (ulong)(d - 2));
    return !c->error[0];
}

static bool read_ntk(double factor[AXES_MAX], struct oracle_case *c)
{
    char *at = (char *)(uintptr_t)oracle_text(c, "axes_ntk");
    for (int k = 0; at && k < AXES_MAX; k++) {
        char *end;
        factor[k] = strtod(at, &end);
        if (end == at)
            return oracle_fail(c, "axes_ntk: no list of numbers");
        at = *end ? end + 1 : NULL;
    }
    return true;
}

static bool place_dims(struct axes *a, struct oracle_case *c)
{
    struct axes_list dims;
    double ntk[AXES_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};
    const bool dealt = oracle_is(c, "axes_order", "frequency");
    const bool split = oracle_is(c, "axes_ladder", "split");
    if (!read_list(&dims, c, "axes_dims") || !read_ntk(ntk, c))
        return false;
    a->n_axes = dims.n;
    if (sum_of(&dims) != a->r)
        return oracle_fail(c, "axes_dims: out of range");
    int64_t at = 0, before = 0;
    for (int64_t axis = 0; axis < dims.n; axis++) {
        const int64_t d = dims.item[axis];
        for (int64_t j = 0; j < d / 2; j++, at++) {
            struct axes_column *column = &a->column[dealt ? j * dims.n + axis : at];
            const int64_t number = column - a->column;
            column->axis = axis;
            column->shared = number;
            column->extra_base = ntk[axis];
            if (!set_power(a, c, column, j, d, split ? dims.n * j + axis : number))
                return false;
        }
        if (oracle_is(c, "axes_span", "axis"))
            a->block[a->n_blocks++] = (struct axes_block){before, d / 2};
        before += d / 2;
    }
    return true;
}

bool axes_init(struct axes *a, struct oracle_case *c)
{
    memset(a, 0, sizeof *a);
    a->r = oracle_int(c, "rotary_dim");
    a->n_columns = a->r / 2;
    if (a->r < 2 || a->r > 1 << 20)
        return oracle_fail(c, "rotary_dim out of range");
    a->column = calloc((size_t)a->n_columns, sizeof *a->column);
    if (!a->column)
        return oracle_fail(c, "no memory");
    for (int64_t k = 0; k < a->n_columns; k++) {
        a->column[k].shared = k;
        a->column[k].extra_base = a->column[k].divisor = 1;
        fmpq_init(a->column[k].extra);
    }
    a->unit = oracle_is(c, "angle_unit", "turn")           ? AXES_TURN
              : oracle_is(c, "angle_unit", "quarter_turn") ? AXES_QUARTER
                                                           : AXES_RADIAN;
    const bool sections = oracle_has(c, "mrope_section");
    a->scaled = sections || (oracle_is(c, "axes_ladder", "shared") && a->unit == AXES_RADIAN);
    if (a->scaled && !rope_frequencies_init(&a->f, c))
        return false;
    if (!(sections ? place_sections(a, c) : place_dims(a, c)))
        return false;
    if (a->n_blocks == 0)
        a->block[a->n_blocks++] = (struct axes_block){0, a->n_columns};
    return !c->error[0];
}

void axes_clear(struct axes *a)
{
    for (int64_t k = 0; a->column && k < a->n_columns; k++) {
        fmpq_clear(a->column[k].extra);
        if (a->column[k].power.base > 0)
            oracle_power_clear(&a->column[k].power);
    }
    free(a->column);
    if (a->scaled)
        rope_frequencies_clear(&a->f);
}
