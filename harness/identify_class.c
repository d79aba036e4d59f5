/* SPDX-License-Identifier: Apache-2.0 */
/* How exact: the identified spec judged in every dtype, at positions where arithmetics part. */
#include "identify.h"
#include "probe_form.h"

#include <string.h>

/* Beyond what bf16 and fp16 hold exactly, ends of usual contexts, and far out. */
static const double positions[] = {0, 1, 255, 257, 2049, 4095, 8191, 131071};
#define N ((int)(sizeof positions / sizeof *positions))

/* Values k/64 that every dtype holds, none of them 0. */
static double value_at(int64_t k)
{
    const int64_t value = (k * 37 + 11) % 126 - 63;
    return (double)(value < 0 ? value : value + 1) / 64;
}

static bool fill(struct posref_tensors *in, const struct posref_identity *id, int first, int n,
                 const struct posref_arena *arena)
{
    const bool bias = id->op == POSREF_OP_BIAS || id->op == POSREF_OP_WEIGHTS;
    const int64_t rows = n, dim = id->spec.dim, grid[] = {id->spec.num_heads, n, n};
    in->n = 0;
    if (id->op == POSREF_OP_FREQUENCIES)
        return true;
    const int axes = posref_spec_axes(&id->spec);
    double *p = posref_probe_input(in, "positions", axes > 1 ? 2 : 1,
                                   axes > 1 ? (const int64_t[]){axes, n} : &rows, arena);
    for (int k = 0; p && k < axes * n; k++)
        p[k] = positions[first + k % n];
    if (p && id->op == POSREF_OP_WEIGHTS)
        return posref_probe_input(in, "logits", 3, grid, arena) != NULL;
    if (!p || bias || id->op == POSREF_OP_TABLE)
        return p != NULL;
    double *x = posref_probe_input(in, "x", 2, (const int64_t[]){n, dim}, arena);
    for (int64_t k = 0; x && k < n * dim; k++)
        x[k] = value_at(first * dim + k);
    return x != NULL;
}

static enum posref_status judge(struct posref_class *out, struct posref_identity *id,
                                struct posref_probe *probe, int first, int n,
                                struct posref_error *err)
{
    struct posref_tensors in, got;
    if (!fill(&in, id, first, n, probe->arena))
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    struct posref_vector as = {.inputs = in};
    enum posref_status status = id->form ? posref_probe_form_judged(&got, &as, probe, &id->spec,
                                                                    &in, err)
                                         : posref_probe_ask(&got, probe, id->op, &in, err);
    out->verdict = probe->verdict;
    out->supported = probe->verdict != POSREF_VERDICT_UNSUPPORTED;
    if (status != POSREF_OK || probe->verdict != POSREF_VERDICT_PASS)
        return status;
    if (!id->form)
        status = posref_eval(&as.outputs, &id->spec, id->op, &in, probe->arena, err);
    if (status == POSREF_OK)
        status = posref_judge(&out->judgement, &id->spec, id->op, &as.inputs, &as.outputs, &got,
                              probe->dtype, posref_grade_default(probe->dtype), probe->arena, err);
    return status;
}

/* Position by position, where all together do not pass. */
static enum posref_status find_end(struct posref_class *out, struct posref_identity *id,
                                   struct posref_probe *probe, struct posref_error *err)
{
    out->valid_to = -1;
    for (int k = 0; k < N; k++) {
        struct posref_class one = {.supported = false};
        enum posref_status status = judge(&one, id, probe, k, 1, err);
        if (status != POSREF_OK)
            return status;
        if (one.verdict != POSREF_VERDICT_PASS || !one.judgement.pass)
            return POSREF_OK;
        out->valid_to = positions[k];
    }
    return POSREF_OK;
}

/* A rotation that is right, in a norm that is another than the layout's. */
static void tell_norm(struct posref_identity *id)
{
    if (!id->form || posref_probe_form_has_tables(id->form))
        return;
    for (int d = 0; d < POSREF_IDENTIFY_FLOATS; d++)
        if (id->class[d].supported &&
            (id->class[d].verdict != POSREF_VERDICT_PASS || id->class[d].valid_to > 0))
            return;
    posref_identity_finding(id, "the rotation is this spec's; the norm around it is not that of "
                            "layout %s (posref test names what it is)", id->form->name);
    id->decided = false;
}

enum posref_status posref_identify_class(struct posref_identity *id, struct posref_probe *probe,
                                         struct posref_error *err)
{
    enum posref_status status = POSREF_OK;
    for (int d = 0; d < POSREF_IDENTIFY_FLOATS && status == POSREF_OK; d++) {
        struct posref_class *class = &id->class[d];
        probe->dtype = (enum posref_dtype)d;
        status = judge(class, id, probe, 0, N, err);
        if (status != POSREF_OK || class->verdict != POSREF_VERDICT_PASS)
            continue;
        class->valid_to = positions[N - 1];
        if (!class->judgement.pass && id->op != POSREF_OP_FREQUENCIES)
            status = find_end(class, id, probe, err);
    }
    if (status == POSREF_OK)
        tell_norm(id);
    return status;
}
