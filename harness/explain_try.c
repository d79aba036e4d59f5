/* SPDX-License-Identifier: Apache-2.0 */
/* One claim against one failure: what would come out, and does it. */
#include "explain_impl.h"

#include "trial.h"

#include <math.h>
#include <string.h>

/* Beyond an eighth of its norm an element tells nothing. */
#define TELLING 0.125
/* Tables and products of a 16-bit kernel may be held in its dtype, those of an 8-bit one in
 * bfloat16: so many u of it more. */
#define LOOSE 4

struct distance {
    double largest;      /* in units of the limit */
    double signed_error; /* sum, in units of the norm */
    int64_t n, n_told, n_missed;
    int64_t worst;       /* the element of the largest, in its tensor */
};

/* Of a set (and what goes with each tensor) those that came back, in their order: a program may
 * have saved some outputs alone. False: one of them is not there. */
static bool keep_named(struct posref_tensors *set, double **limit, double **scale,
                       const struct posref_tensors *actual)
{
    const struct posref_tensors all = *set;
    double *limits[POSREF_MAX_TENSORS] = {NULL}, *scales[POSREF_MAX_TENSORS] = {NULL};
    for (int i = 0; i < all.n && limit; i++) {
        limits[i] = limit[i];
        scales[i] = scale[i];
    }
    set->n = actual->n;
    for (int i = 0; i < actual->n; i++) {
        const struct posref_tensor *found = posref_tensors_find(&all, actual->item[i].name);
        if (!found)
            return false;
        set->item[i] = *found;
        if (limit) {
            limit[i] = limits[found - all.item];
            scale[i] = scales[found - all.item];
        }
    }
    return true;
}

/* Infinity, where the value is beyond the dtype's largest. */
static bool overflows(double want, double got, enum posref_dtype dtype)
{
    return isinf(got) && dtype != POSREF_F64 && posref_rounded(want, dtype) == got;
}

double posref_explain_limit(const struct explain_failure *f, double want, double least,
                            double extra)
{
    if (!(least > 0))
        return least; /* a copy */
    return posref_dtype_is_float8(f->dtype) ? posref_float8_limit(want, least + extra, f->dtype)
                                            : least + extra;
}

/* How far one element is off, in units of its limit; negative: it tells nothing. */
static double off_by(double *limit, const struct explain_failure *f, double want, double got,
                     double least, double scale, double extra)
{
    const double off = fabs(got - want);
    *limit = posref_explain_limit(f, want, least, extra * posref_unit(f->dtype) * scale);
    /* A fault that makes infinities or NaN cannot have made a number. */
    if (!isfinite(want) && isfinite(got))
        return HUGE_VAL;
    if ((*limit > TELLING * scale && scale > 0) || overflows(want, got, f->dtype))
        return -1;
    if (!(*limit > 0) && off == 0)
        return 0;
    return isfinite(off) && *limit > 0 ? off / *limit : HUGE_VAL;
}

/* How far `actual`, the output, is from the bent one, up to `stop` limits; `extra` u of the norm
 * are added to each limit. Infinite where they cannot be compared. */
static void measure(struct distance *out, const struct posref_bent *bent,
                    const struct explain_failure *f, const struct posref_tensors *actual,
                    double extra, double stop)
{
    const double u = posref_unit(f->dtype);
    *out = (struct distance){.largest = bent->outputs.n == actual->n ? 0 : HUGE_VAL};
    for (int i = 0; i < actual->n && out->largest <= stop; i++) {
        const struct posref_tensor *want = &bent->outputs.item[i];
        const double *w = want->data, *g = actual->item[i].data;
        const int64_t n = posref_tensor_count(want);
        if (n != posref_tensor_count(&actual->item[i]))
            out->largest = HUGE_VAL;
        for (int64_t k = 0; k < n && out->largest <= stop; k++) {
            const double scale = bent->scale[i][k];
            double limit;
            const double ratio = off_by(&limit, f, w[k], g[k], bent->limit[i][k], scale, extra);
            if (ratio > out->largest) {
                out->largest = ratio;
                out->worst = k;
            }
            if (ratio < 0 || (!isfinite(w[k]) && isfinite(g[k])))
                continue;
            out->n_missed += !(fabs(g[k] - w[k]) <= limit);
            out->n_told += scale > 0;
            if (scale > 0 && limit <= 8 * u * scale) {
                out->signed_error += copysign(1, w[k]) * (g[k] - w[k]) / scale;
                out->n++;
            }
        }
    }
}

/* Honest roundings do not lean to one side; those of a truncation or of a factor do. */
static bool is_centred(const struct distance *d, double u, bool strict)
{
    if (d->n < 64)
        return true;
    const double mean = fabs(d->signed_error / (double)d->n), root = sqrt((double)d->n);
    return mean <= (strict ? 0.1 * u + 3 * u / root : 0.25 * u + 8 * u / root) + 4 * 0x1p-24;
}

static bool is_narrow(const struct explain_failure *f)
{
    return f->dtype != POSREF_F64 && f->dtype != POSREF_F32;
}

static double loose(const struct explain_failure *f)
{
    return posref_dtype_is_float8(f->dtype)
               ? LOOSE * posref_unit(POSREF_BF16) / posref_unit(f->dtype) : LOOSE;
}

/* Whether the claim is about positions that also hide keys: a miss proves nothing then. */
static bool is_ambiguous(const struct posref_claim *claim, const struct posref_bend *bend,
                         const struct explain_failure *f)
{
    bool moves = false;
    for (int k = 0; k < bend->n_steps; k++)
        moves = moves || posref_bend_is_position(bend->step[k].kind);
    for (int k = 0; k < 2 && claim->fault[k]; k++)
        moves = moves || claim->fault[k]->twist;
    return moves && posref_positions_hide_keys(f->spec);
}

/* Tables of 16 bits are no fault of what is rounded to 8 (grade low). */
static bool is_allowed(const struct posref_claim *claim, const struct explain_failure *f)
{
    bool allowed = false;
    for (int k = 0; k < 2 && claim->fault[k]; k++)
        allowed = allowed || claim->fault[k]->bend[0] == POSREF_BEND_TABLE_BF16 ||
                  claim->fault[k]->bend[0] == POSREF_BEND_TABLE_F16;
    return allowed && posref_dtype_is_float8(f->dtype);
}

static bool mend(struct posref_tensors *actual, const struct posref_claim *claim,
                 const struct explain_failure *f, const struct posref_tensors *wanted,
                 const struct posref_arena *scratch)
{
    const struct posref_mending m = {.op = f->op, .dtype = f->dtype, .spec = f->spec,
                                     .in = f->inputs, .wanted = wanted, .arena = scratch};
    return posref_claim_mend(actual, claim, &m);
}

static bool mends(const struct posref_claim *claim)
{
    return claim->fault[0]->mend || (claim->fault[1] && claim->fault[1]->mend);
}

/* Whether the first of the claim's faults that leaves something out can be what came back: whatever
 * else should have. */
static bool could_mend(const struct posref_tensors *actual, const struct posref_claim *claim,
                       const struct explain_failure *f, const struct posref_arena *scratch)
{
    if (!mends(claim))
        return true;
    const int which = claim->fault[0]->mend ? 0 : 1;
    const struct posref_claim alone = {{claim->fault[which], NULL}, {claim->value[which], 0}};
    struct posref_tensors wanted = *f->golden, mended = *actual;
    return keep_named(&wanted, NULL, NULL, actual) &&
           mend(&mended, &alone, f, &wanted, scratch);
}

/* ---- elements as they are made: one that is off is enough ---- */

struct glimpse {
    const struct explain_failure *failure;
    const struct posref_tensors *actual;
    double extra; /* u of the norm that the limits may have more */
    struct {
        bool known;
        const double *value; /* NULL: it did not come back, or in another shape */
    } came[POSREF_MAX_TENSORS]; /* of each output */
    bool missed;
};

static const double *value_of(struct glimpse *g, int tensor, const struct posref_tensor *want)
{
    if (!g->came[tensor].known) {
        const struct posref_tensor *got = posref_tensors_find(g->actual, want->name);
        const bool same = got && posref_tensor_count(got) == posref_tensor_count(want);
        g->came[tensor].value = same ? got->data : NULL;
        g->came[tensor].known = true;
    }
    return g->came[tensor].value;
}

static bool see(void *ctx, const struct posref_bent *bent, int tensor, int64_t element)
{
    struct glimpse *g = ctx;
    const struct posref_tensor *want = &bent->outputs.item[tensor];
    const double *got = value_of(g, tensor, want);
    double limit;
    if (!got)
        return true; /* for the whole to say */
    g->missed = off_by(&limit, g->failure, ((const double *)want->data)[element],
                       got[element], bent->limit[tensor][element],
                       bent->scale[tensor][element], g->extra) > 1;
    return !g->missed;
}

/* The same shapes and the same bits of doubles. */
static bool same_tensors(const struct posref_tensors *a, const struct posref_tensors *b)
{
    bool same = a->n == b->n;
    for (int i = 0; i < a->n && same; i++) {
        const struct posref_tensor *x = &a->item[i], *y = &b->item[i];
        same = x->rank == y->rank &&
               memcmp(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape) == 0 &&
               (x->data == y->data ||
                memcmp(x->data, y->data, (size_t)posref_tensor_count(x) * sizeof(double)) == 0);
    }
    return same;
}

/* Whether the bend says what the failure was judged against: the spec, inputs and outputs as they
 * are. */
static bool is_right(const struct posref_bend *bend, const struct explain_failure *f,
                     const struct posref_tensors *in, const struct posref_tensors *actual)
{
    return bend->spec == f->spec && same_tensors(in, f->inputs) &&
           same_tensors(actual, &f->actual);
}

/* Whether one element is enough to see that scores or attention are not these. */
static bool misses_at_a_glance(const struct posref_bend *bend, const struct explain_failure *f,
                               const struct posref_tensors *in,
                               const struct posref_tensors *actual,
                               const struct posref_arena *scratch)
{
    bool fails;
    return (f->op == POSREF_OP_SCORES || f->op == POSREF_OP_ATTENTION) &&
           actual->n == f->golden->n && /* terms need not have been saved */
           posref_judge_glance(&fails, bend->spec, f->op, f->worst, in, actual, f->dtype, scratch,
                               NULL) == POSREF_OK && fails;
}

/* The reference itself under another spec or other positions, judged as a right answer would be. */
static enum explain_fit try_exactly(double *residual, const struct posref_claim *claim,
                                    const struct posref_bend *bend,
                                    const struct explain_failure *f,
                                    const struct posref_tensors *given,
                                    struct posref_tensors *actual,
                                    const struct posref_arena *scratch)
{
    struct posref_tensors in, golden, narrow = {.n = actual->n};
    struct posref_judgement judgement;
    for (int k = 0; k < bend->n_steps; k++)
        if (!posref_bend_is_position(bend->step[k].kind))
            return EXPLAIN_MISSES;
    if (!posref_claim_positions(&in, bend, given, scratch) ||
        (!mends(claim) && (is_right(bend, f, &in, actual) ||
                           misses_at_a_glance(bend, f, &in, actual, scratch))) ||
        posref_eval(&golden, bend->spec, f->op, &in, scratch, NULL) != POSREF_OK ||
        !keep_named(&golden, NULL, NULL, actual) || !mend(actual, claim, f, &golden, scratch))
        return EXPLAIN_MISSES;
    for (int i = 0; i < golden.n; i++) {
        const bool whole = golden.item[i].dtype == POSREF_I64;
        if (posref_tensor_count(&golden.item[i]) != posref_tensor_count(&actual->item[i]) ||
            posref_tensor_narrow(&narrow.item[i], &actual->item[i],
                                 whole ? POSREF_I64 : f->dtype, scratch, NULL) != POSREF_OK)
            return EXPLAIN_MISSES;
    }
    if (posref_judge(&judgement, bend->spec, f->op, &in, &golden, &narrow, f->dtype,
                     posref_grade_default(f->dtype), scratch, NULL) != POSREF_OK)
        return EXPLAIN_MISSES;
    *residual = judgement.error_limits;
    return judgement.grade != POSREF_GRADE_FAIL ? EXPLAIN_FITS : EXPLAIN_MISSES;
}

/* Whether all elements that must be copies are. */
static bool copies_stand(const struct posref_bent *bent, const struct posref_tensors *actual)
{
    int64_t n = 0;
    for (int i = 0; i < actual->n && i < bent->outputs.n; i++) {
        const double *w = bent->outputs.item[i].data, *g = actual->item[i].data;
        for (int64_t k = 0; k < posref_tensor_count(&bent->outputs.item[i]); k++) {
            if (bent->limit[i][k] > 0)
                continue;
            n++;
            if (g[k] != w[k])
                return false;
        }
    }
    return n > 0;
}

/* What a try of the failure costs: outputs of a bent form; where the reference itself has to be
 * evaluated, products. */
static int64_t work_of(const struct explain_failure *f)
{
    const struct posref_tensor *q = posref_tensors_find(f->inputs, "q");
    const struct posref_tensor *k = posref_tensors_find(f->inputs, "k");
    int64_t n = 0;
    for (int i = 0; i < f->actual.n; i++)
        n += posref_tensor_count(&f->actual.item[i]);
    if (f->bent)
        return n;
    if (!q || !k)
        return 64 * n;
    const int64_t products = posref_tensor_count(q) * k->shape[0];
    return products + 64 * (products / q->shape[q->rank - 1] + n);
}

/* The element of the first output that is furthest from golden, where the two have one shape. */
static int64_t farthest(const struct explain_failure *f)
{
    const struct posref_tensor *got = &f->actual.item[0];
    const struct posref_tensor *want = posref_tensors_find(f->golden, got->name);
    const int64_t n = want && posref_tensor_count(want) == posref_tensor_count(got)
                          ? posref_tensor_count(got) : 0;
    int64_t found = 0;
    double most = 0;
    for (int64_t k = 0; k < n; k++) {
        const double expected = posref_tensor_value(want, k);
        const double off = fabs(posref_tensor_value(got, k) - expected);
        if (!isfinite(expected) || off <= most)
            continue;
        most = isnan(off) ? HUGE_VAL : off;
        found = k;
    }
    return found;
}

static bool see_nothing(void *ctx, const struct posref_bent *bent, int tensor, int64_t element)
{
    (void)ctx;
    (void)bent;
    (void)tensor;
    (void)element;
    return false;
}

void posref_explain_size(struct explain_failure *f, const struct posref_arena *scratch)
{
    const struct posref_bend_watch watch = {.see = see_nothing};
    const struct posref_bend right = {.spec = f->spec, .watch = &watch};
    struct posref_bent bent;
    f->bent = posref_bend_eval(&bent, &right, f->op, f->inputs, f->dtype, scratch, NULL) ==
              POSREF_OK;
    f->work = work_of(f);
}

void posref_explain_right(struct explain_failure *f, const struct posref_arena *scratch)
{
    const struct posref_bend right = {.spec = f->spec};
    struct posref_bent bent;
    struct distance d;
    f->copies_stand = f->bent = false;
    f->known = true;
    f->n_told = 0;
    f->n_missed = 1 << 20;
    f->right = HUGE_VAL; /* without a bent form the judge has said so */
    f->right_loosely = false;
    f->worst = farthest(f);
    if (posref_bend_eval(&bent, &right, f->op, f->inputs, f->dtype, scratch, NULL) != POSREF_OK ||
        !keep_named(&bent.outputs, bent.limit, bent.scale, &f->actual))
        return;
    f->bent = true;
    const double u = posref_unit(f->dtype);
    measure(&d, &bent, f, &f->actual, 0, HUGE_VAL);
    f->copies_stand = copies_stand(&bent, &f->actual);
    f->worst = d.worst;
    f->n_told = d.n_told;
    f->n_missed = d.largest <= 1 ? d.n : d.n_missed; /* a mean is wrong over all of them */
    f->right = d.largest <= 1 && !is_centred(&d, u, true) ? HUGE_VAL : d.largest;
    if (!is_narrow(f))
        return;
    measure(&d, &bent, f, &f->actual, loose(f), 1);
    f->right_loosely = d.largest <= 1 && is_centred(&d, u, false);
}

enum explain_fit posref_explain_try(double *residual, const struct posref_claim *claim,
                                    const struct explain_failure *f,
                                    const struct posref_arena *scratch)
{
    struct posref_bend bend;
    struct posref_spec changed;
    if (f->right <= 1)
        return EXPLAIN_SAME;
    if (!posref_claim_bend(&bend, &changed, claim, f->spec, f->op))
        return EXPLAIN_MISSES; /* it changes nothing here, and yet it failed */
    return posref_explain_try_bend(residual, claim, &bend, f, scratch);
}

enum explain_fit posref_explain_try_bend(double *residual, const struct posref_claim *claim,
                                         const struct posref_bend *bend,
                                         const struct explain_failure *f,
                                         const struct posref_arena *scratch)
{
    struct posref_bent bent;
    struct distance d;
    if (f->right <= 1)
        return EXPLAIN_SAME;
    if (is_allowed(claim, f))
        return EXPLAIN_MISSES;
    /* Channels that came back as copies were not turned, however little the dtype shows of it. */
    if (f->copies_stand && bend->spec->rotary_dim > f->spec->rotary_dim)
        return EXPLAIN_MISSES;
    const double u = posref_unit(f->dtype);
    const bool may_be_loose = is_narrow(f) && !f->right_loosely;
    struct posref_tensors in = *f->inputs, actual = f->actual;
    posref_claim_twist(&in, claim, bend, f->op, scratch);
    posref_claim_untwist(&actual, claim, bend, f->op, scratch);
    if (!could_mend(&actual, claim, f, scratch) && !is_ambiguous(claim, bend, f))
        return EXPLAIN_MISSES;
    struct glimpse glimpse = {.failure = f, .actual = &actual,
                              .extra = may_be_loose ? loose(f) : 0};
    const struct posref_bend_watch watch = {see, &glimpse, f->worst};
    struct posref_bend watched = *bend;
    watched.watch = mends(claim) ? NULL : &watch;
    enum posref_status status = posref_bend_eval(&bent, &watched, f->op, &in, f->dtype, scratch,
                                                 NULL);
    if (glimpse.missed)
        return EXPLAIN_MISSES;
    if (status == POSREF_BAD_INPUT) {
        const enum explain_fit fit = try_exactly(residual, claim, bend, f, &in, &actual, scratch);
        return fit == EXPLAIN_MISSES && is_ambiguous(claim, bend, f) ? EXPLAIN_SAME : fit;
    }
    if (status != POSREF_OK || !keep_named(&bent.outputs, bent.limit, bent.scale, &actual) ||
        !mend(&actual, claim, f, &bent.outputs, scratch))
        return EXPLAIN_MISSES;
    measure(&d, &bent, f, &actual, 0, 1);
    if (d.largest <= 1 && 2 * d.n_told < f->n_told)
        return EXPLAIN_SAME; /* angles too large to tell */
    bool fits = d.largest <= 1 && is_centred(&d, u, true);
    if (!fits && may_be_loose) {
        measure(&d, &bent, f, &actual, loose(f), 1);
        fits = d.largest <= 1 && is_centred(&d, u, false);
    }
    *residual = d.largest;
    if (!fits)
        return EXPLAIN_MISSES;
    /* One that is hardly nearer than the right answer says nothing. */
    return d.largest <= 0.6 * f->right ? EXPLAIN_FITS : EXPLAIN_SAME;
}
