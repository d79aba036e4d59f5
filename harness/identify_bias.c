/* SPDX-License-Identifier: Apache-2.0 */
/* ALiBi: the form from how biases change over positions, then slopes, then their rule. Where only
 * softmax weights are to be had, their logarithms give the biases up to a constant of the row. */
#include "identify.h"

#include <math.h>

#define N_Q 2
#define N_K 5

/* Unlike distances on both sides of the queries; near, so that weights do not vanish. */
static const double q_at[N_Q] = {7, 9}, k_at[N_K] = {0, 3, 7, 8, 12};

static bool fill(struct posref_tensors *in, const struct posref_spec *spec, bool weights,
                 const struct posref_arena *arena)
{
    in->n = 0;
    double *q = posref_probe_input(in, "q_positions", 1, (const int64_t[]){N_Q}, arena);
    double *k = posref_probe_input(in, "k_positions", 1, (const int64_t[]){N_K}, arena);
    for (int i = 0; i < N_Q && q; i++)
        q[i] = q_at[i];
    for (int i = 0; i < N_K && k; i++)
        k[i] = k_at[i];
    const int64_t shape[] = {spec->num_heads, N_Q, N_K};
    return q && k && (!weights || posref_probe_input(in, "logits", 3, shape, arena));
}

static enum posref_status ask(struct posref_tensors *out, struct posref_tensors *in,
                              struct posref_identity *id, struct posref_probe *probe,
                              struct posref_error *err)
{
    enum posref_status status = POSREF_OK;
    static const enum posref_op ops[] = {POSREF_OP_BIAS, POSREF_OP_WEIGHTS};
    for (int k = 0; k < 2; k++) {
        id->op = ops[k];
        if (!fill(in, probe->spec, k == 1, probe->arena))
            return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
        status = posref_probe_dtype(out, probe, ops[k], in, err);
        if (status != POSREF_OK || probe->verdict != POSREF_VERDICT_UNSUPPORTED)
            break;
    }
    return status;
}

/* Biases, less that of the row's first key where they come from weights. */
static double bias_at(const double *row, int k, bool weights)
{
    return weights ? log(row[k]) - log(row[0]) : row[k];
}

/* slope[h] = how much larger each head's biases are than the reference's of that form, times its
 * slope; false: they are not proportional. */
static bool proportional(double *slope, const double *got, const struct posref_tensors *like,
                         const double *like_slope, int heads, bool weights, double u)
{
    for (int h = 0; h < heads; h++) {
        double top = 0, bottom = 0;
        const double *mine = got + (size_t)h * N_Q * N_K;
        const double *shape = (const double *)like->item[0].data + (size_t)h * N_Q * N_K;
        for (int k = 0; k < N_Q * N_K; k++) {
            double b = bias_at(shape + k / N_K * N_K, k % N_K, weights);
            top += b * bias_at(mine + k / N_K * N_K, k % N_K, weights);
            bottom += b * b;
        }
        const double ratio = top / bottom;
        for (int k = 0; k < N_Q * N_K; k++) {
            double want = ratio * bias_at(shape + k / N_K * N_K, k % N_K, weights);
            double is = bias_at(mine + k / N_K * N_K, k % N_K, weights);
            if (!(fabs(is - want) <= u * (weights ? 64 + 8 * fabs(want) : 16 * fabs(want))))
                return false;
        }
        slope[h] = ratio * like_slope[h];
    }
    return true;
}

static enum posref_status reference(struct posref_tensors *bias, const double **slope,
                                    const struct posref_spec *spec, enum posref_op op,
                                    const struct posref_tensors *in,
                                    const struct posref_arena *arena, struct posref_error *err)
{
    static const struct posref_tensors nothing = {.n = 0};
    struct posref_tensors slopes;
    enum posref_status status = posref_eval(bias, spec, op, in, arena, err);
    if (status == POSREF_OK)
        status = posref_eval(&slopes, spec, POSREF_OP_FREQUENCIES, &nothing, arena, err);
    if (status == POSREF_OK)
        *slope = slopes.item[0].data;
    return status;
}

/* alibi_bias_max from slopes that are 2^(-alibi_bias_max e_h), e_h as the reference has them. */
static bool fit_max(struct posref_identity *id, const double *slope, const double *like, double max,
                    double u)
{
    struct posref_interval in = {0, HUGE_VAL};
    for (int h = 0; h < id->asked.num_heads; h++) {
        const double e = -log2(like[h]) / max;
        if (!(slope[h] > 0))
            return false;
        const double tol = u * (32 + 8 * fabs(log2(slope[h])) + h);
        in.lo = fmax(in.lo, (-log2(slope[h]) - tol) / e);
        in.hi = fmin(in.hi, (-log2(slope[h]) + tol) / e);
    }
    if (!(in.lo <= in.hi))
        return false;
    id->spec.alibi_bias_max = posref_within(in, id->asked.alibi_bias_max)
                                  ? id->asked.alibi_bias_max : posref_simplest(in);
    id->range[POSREF_FIELD_ALIBI_BIAS_MAX] = in;
    return true;
}

static enum posref_status fit(struct posref_identity *id, const struct posref_tensors *got,
                              const struct posref_tensors *in, const struct posref_probe *probe,
                              struct posref_error *err)
{
    const bool weights = id->op == POSREF_OP_WEIGHTS;
    const char *const *forms = posref_field_def(POSREF_FIELD_FORM)->choices;
    const double u = posref_unit(probe->dtype) * (weights ? 4 : 1);
    double slope[POSREF_MAX_HEADS];
    int found = -1, n = 0;
    for (int k = -1; k < 0 || forms[k]; k++) { /* as asked first */
        struct posref_tensors bias;
        const double *like;
        struct posref_spec spec = id->asked;
        spec.form = k < 0 ? id->asked.form : k;
        if (k == id->asked.form)
            continue;
        enum posref_status status = reference(&bias, &like, &spec, id->op, in, probe->arena, err);
        if (status != POSREF_OK)
            return status;
        if (!proportional(slope, got->item[0].data, &bias, like, spec.num_heads, weights, u))
            continue;
        if (n++ > 0) {
            posref_identity_family(id, "form", "form=%s has the same effect after softmax",
                                   forms[spec.form]);
            continue;
        }
        found = spec.form;
        id->spec.form = found;
        id->decided = fit_max(id, slope, like, spec.alibi_bias_max, u);
        if (!id->decided && slope[0] < 0)
            posref_identity_finding(id, "the sign of the bias is the other one");
        if (!id->decided)
            posref_identity_family(id, "alibi_bias_max",
                                   "no rule of slopes that posref knows gives these: %.9g, %.9g, "
                                   "... %.9g", slope[0], slope[spec.num_heads > 1],
                                   slope[spec.num_heads - 1]);
    }
    if (found < 0)
        posref_identity_family(id, "form", "no form that posref knows has these biases");
    return POSREF_OK;
}

enum posref_status posref_identify_alibi(struct posref_identity *id, struct posref_probe *probe,
                                         struct posref_error *err)
{
    struct posref_tensors in, got;
    enum posref_status status = ask(&got, &in, id, probe, err);
    if (status != POSREF_OK || probe->verdict != POSREF_VERDICT_PASS)
        return status;
    id->dtype = probe->dtype;
    id->how[POSREF_FIELD_NUM_HEADS] = id->how[POSREF_FIELD_FORM] = POSREF_HOW_MEASURED;
    id->how[POSREF_FIELD_ALIBI_BIAS_MAX] = POSREF_HOW_FITTED;
    return fit(id, &got, &in, probe, err);
}
