/* SPDX-License-Identifier: Apache-2.0 */
/* Ops scores and attention: inputs, masks, outputs. The mathematics is in attention_score.c and
 * attention_softmax.c. */
#include "attention.h"

#include <math.h>
#include <string.h>

static const char *const own_inputs[] = {"q", "k", "v", "mask", "positions", "q_positions",
                                         "k_positions"};

bool posref_attention_reads(const struct posref_attention_hook *hook, const char *name)
{
    for (size_t n = 0; n < sizeof own_inputs / sizeof *own_inputs; n++)
        if (strcmp(own_inputs[n], name) == 0)
            return true;
    for (const char *const *more = hook->inputs; more && *more; more++)
        if (strcmp(*more, name) == 0)
            return true;
    return false;
}

enum posref_need posref_attention_field_need(enum posref_field field)
{
    return field >= POSREF_FIELD_CAUSAL && field <= POSREF_FIELD_TEMPERATURE_OFFSET
               ? POSREF_NEED_OPTIONAL : POSREF_NEED_NONE;
}

enum posref_status posref_attention_check(struct posref_spec *spec, struct posref_error *err)
{
    const bool mla = spec->given[POSREF_FIELD_SOFTMAX_SCALE_FROM] &&
                     spec->softmax_scale_from != POSREF_SCALE_FROM_DIM;
    const bool own = spec->softmax_scale_from == POSREF_SCALE_FROM_MLA_MSCALE;
    if (mla && !(spec->given[POSREF_FIELD_FACTOR] &&
                 spec->given[own ? POSREF_FIELD_MSCALE : POSREF_FIELD_MSCALE_ALL_DIM]))
        return posref_fail(err, POSREF_BAD_INPUT, "softmax_scale_from",
                           own ? "mla_mscale needs yarn's factor and mscale"
                               : "mla needs yarn's factor and mscale_all_dim");
    if (spec->given[POSREF_FIELD_SOFTMAX_SCALE] && spec->given[POSREF_FIELD_SOFTMAX_SCALE_FROM])
        return posref_fail(err, POSREF_BAD_INPUT, "softmax_scale_from",
                           "and softmax_scale exclude each other");
    static const enum posref_field scales[] = {POSREF_FIELD_SOFTMAX_SCALE,
                                               POSREF_FIELD_SOFTMAX_SCALE_FROM,
                                               POSREF_FIELD_TEMPERATURE};
    for (size_t n = 0; n < sizeof scales / sizeof *scales; n++)
        if (posref_attention_is_linear(spec) && spec->given[scales[n]])
            return posref_fail(err, POSREF_BAD_INPUT, posref_field_def(scales[n])->name,
                               "is for softmax: attention_kind=linear has no scale");
    if (spec->given[POSREF_FIELD_CAUSAL_ALIGN] && !spec->causal)
        return posref_fail(err, POSREF_BAD_INPUT, "causal_align", "needs causal=true");
    if (spec->causal && !spec->given[POSREF_FIELD_CAUSAL_ALIGN]) {
        spec->causal_align = POSREF_ALIGN_BOTTOM_RIGHT;
        spec->given[POSREF_FIELD_CAUSAL_ALIGN] = true;
    }
    return posref_temperature_check(spec, err);
}

/* Reads tensor `name`, [n, width] or [n, heads, width]; a shape member that is 0 is filled, any
 * other must be met. */
static enum posref_status read_rows(const double **out, int64_t *n, int64_t *heads,
                                    int64_t *width, struct posref_job *job, const char *name)
{
    const struct posref_tensor *tensor = posref_tensors_find(job->in, name);
    if (!tensor)
        return posref_fail(job->err, POSREF_BAD_INPUT, name, "is required by op %s",
                           posref_op_name(job->op));
    if (tensor->rank != 2 && tensor->rank != 3)
        return posref_fail(job->err, POSREF_BAD_INPUT, name,
                           "must be [n, dim] or [n, heads, dim]");
    if (*n == 0)
        *n = tensor->shape[0];
    if (*width == 0)
        *width = tensor->shape[tensor->rank - 1];
    *heads = tensor->rank == 3 ? tensor->shape[1] : 1;
    return posref_job_rows(out, heads, job, name, *n, *width);
}

/* Positions 0, 1, ...: keys from 0 on, queries so that the last one stands at the last key. */
static enum posref_status count_positions(struct posref_positions *out, struct posref_attention *a,
                                          int64_t n, int64_t first)
{
    double *value = posref_job_alloc(a->job, (size_t)n, sizeof *value);
    for (int64_t i = 0; value && i < n; i++)
        value[i] = (double)(first + i);
    *out = (struct posref_positions){.value = value, .n_axes = 1, .n = n};
    return value ? POSREF_OK : POSREF_NO_MEMORY;
}

static enum posref_status read_side(struct posref_positions *out, struct posref_attention *a,
                                    const char *name, const char *tensor, int64_t n,
                                    int64_t n_axes)
{
    const char *from = posref_job_has(a->job, name) ? name : "positions";
    enum posref_status status = posref_job_positions(out, a->job, from, n_axes);
    if (status == POSREF_OK && out->n != n)
        return posref_fail(a->job->err, POSREF_BAD_INPUT, from, "holds %lld, but %s has %lld rows",
                           (long long)out->n, tensor, (long long)n);
    return status;
}

enum posref_status posref_attention_read_positions(struct posref_attention *a,
                                                   enum posref_attention_positions how,
                                                   int64_t n_axes)
{
    struct posref_job *job = a->job;
    const bool both = posref_job_has(job, "positions");
    const bool q = posref_job_has(job, "q_positions"), k = posref_job_has(job, "k_positions");
    if (!both && !q && !k && how == POSREF_POSITIONS_OPTIONAL)
        return POSREF_OK;
    if (!both && !q && !k && how == POSREF_POSITIONS_COUNTED) {
        enum posref_status status = count_positions(&a->k_positions, a, a->n_k, 0);
        return status == POSREF_OK
                   ? count_positions(&a->q_positions, a, a->n_q, a->n_k - a->n_q) : status;
    }
    enum posref_status status = read_side(&a->q_positions, a, "q_positions", "q", a->n_q, n_axes);
    return status == POSREF_OK
               ? read_side(&a->k_positions, a, "k_positions", "k", a->n_k, n_axes) : status;
}

static enum posref_status check_whole(const struct posref_attention *a,
                                      const struct posref_positions *positions, const char *name)
{
    for (int64_t n = 0; n < positions->n; n++)
        if (positions->value[n] != floor(positions->value[n]))
            return posref_fail(a->job->err, POSREF_BAD_INPUT, name,
                               "element %lld is %.17g; distances must be whole", (long long)n,
                               positions->value[n]);
    return POSREF_OK;
}

enum posref_status posref_attention_whole_positions(const struct posref_attention *a)
{
    enum posref_status status = check_whole(a, &a->q_positions, "q_positions");
    return status == POSREF_OK ? check_whole(a, &a->k_positions, "k_positions") : status;
}

static enum posref_status read_mask(struct posref_attention *a)
{
    const int64_t shape[] = {a->n_q, a->n_k};
    enum posref_status status = posref_job_input(&a->mask, a->job, "mask", 2, shape);
    for (int64_t at = 0; at < a->n_q * a->n_k && status == POSREF_OK; at++)
        if (a->mask[at] != 0 && a->mask[at] != 1)
            status = posref_fail(a->job->err, POSREF_BAD_INPUT, "mask",
                                 "element %lld is %.17g; 1 is seen, 0 is not", (long long)at,
                                 a->mask[at]);
    return status;
}

static enum posref_status check_heads(const struct posref_attention *a)
{
    const struct posref_spec *spec = a->job->spec;
    struct posref_error *err = a->job->err;
    if (a->heads > POSREF_MAX_HEADS)
        return posref_fail(err, POSREF_BAD_INPUT, "q", "has %lld heads, at most %d are allowed",
                           (long long)a->heads, POSREF_MAX_HEADS);
    if (a->heads % a->kv_heads)
        return posref_fail(err, POSREF_BAD_INPUT, "k",
                           "has %lld heads, which do not divide the %lld of q",
                           (long long)a->kv_heads, (long long)a->heads);
    if (a->v && a->heads % a->v_heads)
        return posref_fail(err, POSREF_BAD_INPUT, "v",
                           "has %lld heads, which do not divide the %lld of q",
                           (long long)a->v_heads, (long long)a->heads);
    if (spec->given[POSREF_FIELD_NUM_HEADS] && a->heads != spec->num_heads)
        return posref_fail(err, POSREF_BAD_INPUT, "q", "has %lld heads, but num_heads is %d",
                           (long long)a->heads, spec->num_heads);
    if (spec->given[POSREF_FIELD_DIM] && a->dim != spec->dim)
        return posref_fail(err, POSREF_BAD_INPUT, "q", "has dim %lld, but dim is %d",
                           (long long)a->dim, spec->dim);
    const int64_t width = a->dim > a->dim_v ? a->dim : a->dim_v;
    if ((double)a->n_q * (double)a->n_k * (double)a->heads * (double)width >
        POSREF_MAX_ATTENTION_PRODUCTS)
        return posref_fail(err, POSREF_BAD_INPUT, "q",
                           "queries times keys times heads times dim must be at most %d",
                           POSREF_MAX_ATTENTION_PRODUCTS);
    return POSREF_OK;
}

/* What masks and temperatures ask of positions. */
static enum posref_status check_positions(const struct posref_attention *a)
{
    const struct posref_spec *spec = a->job->spec;
    const bool by_position = spec->causal && spec->causal_align == POSREF_ALIGN_POSITION;
    const bool warm = spec->given[POSREF_FIELD_TEMPERATURE] &&
                      spec->temperature != POSREF_TEMPERATURE_NONE;
    if (!by_position && !warm)
        return POSREF_OK;
    const char *key = by_position ? "causal_align" : "temperature";
    if (!a->q_positions.value || a->q_positions.n_axes != 1)
        return posref_fail(a->job->err, POSREF_BAD_INPUT, key, "needs positions of one axis");
    for (int64_t i = 0; warm && i < a->n_q; i++)
        if (a->q_positions.value[i] < 0)
            return posref_fail(a->job->err, POSREF_BAD_INPUT, "temperature",
                               "needs positions of 0 and above, query %lld has %.17g",
                               (long long)i, a->q_positions.value[i]);
    return POSREF_OK;
}

enum posref_status posref_attention_input(const double **out, int64_t *heads,
                                          struct posref_attention *a, const char *name, int rank,
                                          const int64_t *shape)
{
    const struct posref_tensor *tensor = posref_tensors_find(a->job->in, name);
    int64_t by_head[POSREF_MAX_RANK] = {a->heads};
    const bool shared = tensor && tensor->rank == rank;
    memcpy(by_head + 1, shape, (size_t)rank * sizeof *shape);
    *heads = shared ? 1 : a->heads;
    return shared ? posref_job_input(out, a->job, name, rank, shape)
                  : posref_job_input(out, a->job, name, rank + 1, by_head);
}

/* Everything, or what makes one element. */
static void choose_part(struct posref_attention *a)
{
    const int64_t *glance = a->job->glance;
    const bool scores = a->job->op == POSREF_OP_SCORES;
    const int64_t n = scores ? a->heads * a->n_q * a->n_k : a->n_q * a->heads * a->dim_v;
    int64_t at = glance && *glance >= 0 && *glance < n ? *glance : 0;
    a->to_q = a->n_q;
    a->to_head = a->heads;
    a->to_k = a->n_k;
    a->to_c = a->dim_v;
    if (!glance || n == 0)
        return;
    if (scores) {
        a->to_k = (a->from_k = at % a->n_k) + 1;
        at /= a->n_k;
        a->to_q = (a->from_q = at % a->n_q) + 1;
        a->to_head = (a->from_head = at / a->n_q) + 1;
    } else {
        a->to_c = (a->from_c = at % a->dim_v) + 1;
        at /= a->dim_v;
        a->to_head = (a->from_head = at % a->heads) + 1;
        a->to_q = (a->from_q = at / a->heads) + 1;
    }
}

enum posref_status posref_attention_open(struct posref_attention *a, struct posref_job *job)
{
    int64_t n_v;
    *a = (struct posref_attention){.job = job,
                                   .hook = posref_scheme_def(job->spec->scheme)->attention,
                                   .scale_factor = 1};
    a->terms = a->hook->terms;
    while (a->terms && a->terms[a->n_terms])
        a->n_terms++;
    a->n_terms += a->n_terms == 0;
    enum posref_status status = read_rows(&a->q, &a->n_q, &a->heads, &a->dim, job, "q");
    if (status == POSREF_OK)
        status = read_rows(&a->k, &a->n_k, &a->kv_heads, &a->dim, job, "k");
    n_v = a->n_k;
    if (status == POSREF_OK && posref_job_has(job, "v"))
        status = read_rows(&a->v, &n_v, &a->v_heads, &a->dim_v, job, "v");
    if (status == POSREF_OK && posref_job_has(job, "mask"))
        status = read_mask(a);
    if (status == POSREF_OK)
        status = check_heads(a);
    if (status == POSREF_OK && a->hook->begin)
        status = a->hook->begin(a);
    if (status == POSREF_OK && posref_attention_is_linear(job->spec))
        status = posref_attention_linear_open(a);
    if (status == POSREF_OK && !a->q_positions.value)
        status = posref_attention_read_positions(a, a->hook->positions, 1);
    if (status == POSREF_OK)
        status = check_positions(a);
    choose_part(a);
    a->by_head = status == POSREF_OK && posref_tensors_find(job->in, "q")->rank == 3;
    return status;
}

bool posref_attention_sees(const struct posref_attention *a, int64_t i, int64_t j)
{
    const struct posref_spec *spec = a->job->spec;
    if (a->mask && a->mask[i * a->n_k + j] == 0 && !(spec->slips & POSREF_SLIP_MASK_ADDED))
        return false;
    if (!spec->causal)
        return true;
    if (spec->causal_align == POSREF_ALIGN_POSITION)
        return a->k_positions.value[j] <= a->q_positions.value[i];
    return j <= i + (spec->causal_align == POSREF_ALIGN_TOP_LEFT ? 0 : a->n_k - a->n_q);
}

/* One score and its named terms (out[1] ...), each where it is wanted (not NULL). */
static enum posref_status round_score(double *const *out, int64_t at,
                                      struct posref_attention_score *score,
                                      struct posref_attention *a, int64_t head, int64_t i,
                                      int64_t j)
{
    bool decided = false;
    enum posref_status status = POSREF_OK;
    for (unsigned bits = POSREF_ATTENTION_BITS; !decided && status == POSREF_OK; bits *= 2) {
        status = posref_attention_score(score, a, head, i, j, bits);
        decided = status == POSREF_OK && posref_attention_round(&out[0][at], &score->value, bits);
        for (int n = 0; n < a->n_terms && decided; n++)
            decided = !out[n + 1] || posref_attention_round(&out[n + 1][at], &score->term[n], bits);
    }
    return status;
}

static enum posref_status all_scores(double *const *out, struct posref_attention *a)
{
    enum posref_status status = POSREF_OK;
    struct posref_attention_score *score = posref_job_alloc(a->job, 1, sizeof *score);
    if (!score)
        return POSREF_NO_MEMORY;
    for (int64_t i = a->from_q; i < a->to_q; i++)
        for (int64_t j = a->from_k; j < a->to_k; j++)
            for (int64_t head = a->from_head; head < a->to_head && status == POSREF_OK; head++) {
                const int64_t at = (head * a->n_q + i) * a->n_k + j;
                status = round_score(out, at, score, a, head, i, j);
                if (!posref_attention_sees(a, i, j))
                    out[0][at] = -HUGE_VAL;
            }
    return status;
}

enum posref_status posref_attention_scores(double *out, struct posref_attention *a)
{
    double *const outs[1 + POSREF_ATTENTION_TERMS] = {out};
    return all_scores(outs, a);
}

static enum posref_status scores(struct posref_attention *a)
{
    const int64_t shape[] = {a->heads, a->n_q, a->n_k};
    const int drop = a->by_head ? 0 : 1;
    double *out[1 + POSREF_ATTENTION_TERMS] = {NULL};
    enum posref_status status = posref_job_output(&out[0], a->job, "scores", 3 - drop,
                                                  shape + drop);
    for (int n = 0; a->terms && n < a->n_terms && status == POSREF_OK; n++)
        status = posref_job_output(&out[n + 1], a->job, a->terms[n], 3 - drop, shape + drop);
    return status == POSREF_OK ? all_scores(out, a) : status;
}

static enum posref_status attention(struct posref_attention *a)
{
    const int64_t with_heads[] = {a->n_q, a->heads, a->dim_v}, without[] = {a->n_q, a->dim_v};
    double *out;
    enum posref_status status = posref_job_output(&out, a->job, "attention", a->by_head ? 3 : 2,
                                                  a->by_head ? with_heads : without);
    return status == POSREF_OK ? posref_attention_softmax(out, a) : status;
}

static bool scheme_reads(const struct posref_job *job, const char *name)
{
    const struct posref_input_use *use = posref_scheme_def(job->spec->scheme)->inputs;
    while (use->name && strcmp(use->name, name) != 0)
        use++;
    return use->name != NULL;
}

/* Everything was asked for, but not both of q and k are there: what only scores read would be
 * ignored. */
static enum posref_status check_unread(const struct posref_job *job)
{
    for (size_t n = 0; n < sizeof own_inputs / sizeof *own_inputs; n++) {
        const char *name = own_inputs[n];
        if (!posref_job_has(job, name) || strcmp(name, "positions") == 0 ||
            scheme_reads(job, name))
            continue;
        return posref_fail(job->err, POSREF_BAD_INPUT, name,
                           "is read by scores and attention alone, which need %s",
                           !posref_job_has(job, "q") ? "q" : "k");
    }
    return POSREF_OK;
}

bool posref_attention_alone(const struct posref_job *job)
{
    return job->op == POSREF_OP_ALL && posref_job_has(job, "q") &&
           !posref_job_has(job, "positions");
}

enum posref_status posref_attention_eval(struct posref_job *job)
{
    const bool pair = posref_job_has(job, "q") && posref_job_has(job, "k");
    const bool has_v = posref_job_has(job, "v");
    const bool linear = posref_attention_is_linear(job->spec);
    const bool wants_scores = posref_job_wants(job, POSREF_OP_SCORES, pair && !linear);
    const bool wants_attention = posref_job_wants(job, POSREF_OP_ATTENTION,
                                                  pair && (has_v || linear));
    if (!wants_scores && !wants_attention)
        return job->op == POSREF_OP_ALL ? check_unread(job) : POSREF_OK;
    if (linear && wants_scores)
        return posref_fail(job->err, POSREF_BAD_INPUT, "op",
                           "attention_kind=linear has no scores; take op=attention");
    struct posref_attention *a = posref_job_alloc(job, 1, sizeof *a);
    if (!a)
        return POSREF_NO_MEMORY;
    if (wants_attention && !has_v)
        return posref_fail(job->err, POSREF_BAD_INPUT, "v", "is required by op attention");
    enum posref_status status = posref_attention_open(a, job);
    if (status == POSREF_OK && wants_scores)
        status = scores(a);
    if (status == POSREF_OK && wants_attention)
        status = attention(a);
    return status;
}
