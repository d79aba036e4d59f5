/* SPDX-License-Identifier: Apache-2.0 */
/* An example of a plugin that computes attention in every layout of it: scores and attention
 * without positions and with ALiBi, its bias and weights, in float64 and float32. Every element is
 * reached by strides: one loop serves all.
 *
 * --config fault=NAME goes wrong as kernels do, to see each failure reported. */
#include "../posref_plugin.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
    const struct posref_plugin_call *call;
    const char *fault;
    bool is_alibi, is_causal, heads_first;
};

static bool is_faulty(const struct job *job, const char *fault)
{
    return strcmp(job->fault, fault) == 0;
}

/* A tensor as [sequences, tokens, heads, channels], whatever its rank and the order of its axes. */
struct view {
    const struct posref_plugin_tensor *tensor;
    int64_t batch, tokens, heads, width;
    int64_t stride[4];
};

static void forget_strides(struct view *v, uint32_t token_axis)
{
    const struct posref_plugin_tensor *t = v->tensor;
    int64_t stride[POSREF_PLUGIN_MAX_RANK] = {0}, next = 1;
    for (uint32_t axis = t->rank; axis-- > 0;) {
        stride[axis] = next;
        next *= t->shape[axis];
    }
    v->stride[0] = t->rank == 4 ? stride[0] : 0;
    v->stride[1] = stride[token_axis];
    v->stride[2] = t->rank == 2 ? 0 : stride[t->rank == 4 ? 3 - token_axis : 1 - token_axis];
}

/* heads_first: of [heads, tokens] rather than [tokens, heads], behind the batch if there is one. */
static struct view view_of(const struct job *job, const struct posref_plugin_tensor *t,
                           bool heads_first)
{
    const uint32_t first = t->rank == 4 ? 1 : 0, last = t->rank - 1;
    const uint32_t token = first + (t->rank > 2 && heads_first), head = 2 * first + 1 - token;
    struct view v = {.tensor = t, .batch = first ? t->shape[0] : 1, .tokens = t->shape[token],
                     .heads = t->rank > 2 ? t->shape[head] : 1, .width = t->shape[last],
                     .stride = {first ? t->strides[0] : 0, t->strides[token],
                                t->rank > 2 ? t->strides[head] : 0, t->strides[last]}};
    if (is_faulty(job, "strides_ignored"))
        forget_strides(&v, token);
    return v;
}

static int64_t at(const struct view *v, int64_t batch, int64_t token, int64_t head, int64_t channel)
{
    return batch * v->stride[0] + token * v->stride[1] + head * v->stride[2] +
           channel * v->stride[3];
}

static double get(const struct view *v, int64_t where)
{
    return v->tensor->dtype == POSREF_PLUGIN_F64 ? ((const double *)v->tensor->data)[where]
                                                 : (double)((const float *)v->tensor->data)[where];
}

static void put(const struct view *v, int64_t where, double value)
{
    if (v->tensor->dtype == POSREF_PLUGIN_F64)
        ((double *)v->tensor->data)[where] = value;
    else
        ((float *)v->tensor->data)[where] = (float)value;
}

/* ---- sequences ---- */

/* Tokens first ... first + n - 1 of a tensor are those of the sequence. */
struct span {
    int64_t first, n;
};

static struct span span_of(const struct job *job, const char *ends, int64_t sequence,
                           int64_t tokens)
{
    const struct posref_plugin_tensor *t = posref_plugin_find(job->call, ends);
    if (!t || is_faulty(job, "sequences_ignored"))
        return (struct span){0, tokens};
    const int32_t *end = t->data;
    return (struct span){end[sequence], end[sequence + 1] - end[sequence]};
}

/* The position of a token; packed ones have one each, in a batch all sequences have the same. */
static double position(const struct job *job, const char *name, int64_t token)
{
    const struct posref_plugin_tensor *t = posref_plugin_find(job->call, name);
    return t ? posref_plugin_position(t, 0, token) : (double)token;
}

static double slope(int64_t heads, int64_t h)
{
    int64_t c = 1;
    while (c <= heads / 2)
        c *= 2;
    return exp2(h < c ? -8.0 * (double)(h + 1) / (double)c
                      : -8.0 * (double)(2 * (h - c) + 1) / (double)(2 * c));
}

static double bias(const struct job *job, int64_t heads, int64_t head, int64_t q, int64_t k)
{
    return job->is_alibi ? slope(heads, head) * (position(job, "k_positions", k) -
                                                 position(job, "q_positions", q))
                         : 0;
}

/* Whether query i of a sequence sees key j; the two counted in it, then in the tensor. */
static bool sees(const struct job *job, int64_t i, int64_t j, struct span q, struct span k)
{
    const struct posref_plugin_tensor *mask = posref_plugin_find(job->call, "mask");
    const char *spec = job->call->spec;
    if (mask) {
        const struct view v = {.tensor = mask};
        if (get(&v, i * mask->strides[0] + j * mask->strides[1]) == 0)
            return false;
    }
    if (!job->is_causal)
        return true;
    if (posref_plugin_is(spec, "causal_align", "position"))
        return position(job, "k_positions", k.first + j) <=
               position(job, "q_positions", q.first + i);
    return j <= i + (posref_plugin_is(spec, "causal_align", "top_left") ? 0 : k.n - q.n);
}

/* ---- scores and attention ---- */

struct operands {
    struct view q, k, v, out;
    double *score;
};

static double score_of(const struct job *job, const struct operands *o, int64_t batch,
                       int64_t head, int64_t token, int64_t key)
{
    const int64_t from = is_faulty(job, "batch_0_keys") ? 0 : batch;
    const int64_t group = is_faulty(job, "groups_interleaved") ? head % o->k.heads
                                                               : head * o->k.heads / o->q.heads;
    double sum = 0;
    for (int64_t c = 0; c < o->q.width; c++)
        sum += get(&o->q, at(&o->q, batch, token, head, c)) *
               get(&o->k, at(&o->k, from, key, group, c));
    return sum / sqrt((double)o->q.width) + bias(job, o->q.heads, head, token, key);
}

static void attend(const struct job *job, const struct operands *o, int64_t batch, int64_t head,
                   int64_t token, const struct span *keys)
{
    const int64_t group = head * o->v.heads / o->q.heads;
    const int64_t from = is_faulty(job, "batch_0_values") ? 0 : batch;
    double largest = -HUGE_VAL, sum = 0;
    for (int64_t j = 0; j < keys->n; j++)
        largest = fmax(largest, o->score[j]);
    for (int64_t j = 0; j < keys->n; j++)
        sum += o->score[j] = exp(o->score[j] - largest);
    for (int64_t c = 0; c < o->v.width; c++) {
        double total = 0;
        for (int64_t j = 0; j < keys->n; j++)
            total += o->score[j] * get(&o->v, at(&o->v, from, keys->first + j, group, c));
        put(&o->out, at(&o->out, batch, token, head, c), total / sum);
    }
}

static void run_sequence(const struct job *job, const struct operands *o, int64_t batch,
                         const struct span *q, const struct span *k)
{
    const bool wants_scores = posref_plugin_word_is(job->call->op, "scores");
    for (int64_t i = 0; i < q->n; i++)
        for (int64_t head = 0; head < o->q.heads; head++) {
            for (int64_t j = 0; j < k->n; j++)
                o->score[j] = sees(job, i, j, *q, *k)
                                  ? score_of(job, o, batch, head, q->first + i, k->first + j)
                                  : -HUGE_VAL;
            for (int64_t j = 0; j < k->n && wants_scores; j++)
                put(&o->out, at(&o->out, batch, i, head, j), o->score[j]);
            if (!wants_scores)
                attend(job, o, batch, head, q->first + i, k);
        }
}

static int32_t run_attention(const struct job *job)
{
    const bool wants_scores = posref_plugin_word_is(job->call->op, "scores");
    const struct posref_plugin_tensor *v = posref_plugin_find(job->call, "v");
    struct operands o = {
        .q = view_of(job, posref_plugin_find(job->call, "q"), job->heads_first),
        .k = view_of(job, posref_plugin_find(job->call, "k"), job->heads_first),
        .out = view_of(job, posref_plugin_find(job->call, job->call->op),
                       wants_scores || job->heads_first)};
    if (v)
        o.v = view_of(job, v, job->heads_first);
    o.score = malloc((size_t)o.k.tokens * sizeof *o.score + 1);
    if (!o.score)
        return POSREF_PLUGIN_ERROR;
    const struct posref_plugin_tensor *ends = posref_plugin_find(job->call, "cu_seqlens_q");
    const int64_t sequences = ends ? ends->shape[0] - 1 : o.q.batch;
    for (int64_t s = 0; s < sequences; s++) {
        const struct span q = span_of(job, "cu_seqlens_q", s, o.q.tokens);
        const struct span k = span_of(job, "cu_seqlens_k", s, o.k.tokens);
        run_sequence(job, &o, ends ? 0 : s, &q, &k);
    }
    free(o.score);
    return POSREF_PLUGIN_OK;
}

/* Biases, or the softmax of logits and them. */
static int32_t run_bias(const struct job *job)
{
    const struct posref_plugin_tensor *logits = posref_plugin_find(job->call, "logits");
    const struct view out = view_of(job, posref_plugin_find(job->call, job->call->op), true);
    struct view in = {0};
    if (logits)
        in = view_of(job, logits, true);
    for (int64_t head = 0; head < out.heads; head++)
        for (int64_t q = 0; q < out.tokens; q++) {
            double largest = -HUGE_VAL, sum = 0;
            for (int pass = logits ? 0 : 2; pass < 3; pass++)
                for (int64_t k = 0; k < out.width; k++) {
                    const double score = bias(job, out.heads, head, q, k) +
                                         (logits ? get(&in, at(&in, 0, q, head, k)) : 0);
                    largest = pass == 0 ? fmax(largest, score) : largest;
                    sum += pass == 1 ? exp(score - largest) : 0;
                    if (pass == 2)
                        put(&out, at(&out, 0, q, head, k),
                            logits ? exp(score - largest) / sum : score);
                }
        }
    return POSREF_PLUGIN_OK;
}

/* ---- the plugin ---- */

static int32_t open_example(void **state, const char *config, char *why, size_t why_size)
{
    static char fault[32];
    const char *value = posref_plugin_value(config, "fault", NULL);
    if (value == NULL && *config) {
        snprintf(why, why_size, "the only setting is fault=NAME");
        return POSREF_PLUGIN_ERROR;
    }
    snprintf(fault, sizeof fault, "%.*s", value ? (int)strcspn(value, " ") : 0, value ? value : "");
    *state = fault;
    return POSREF_PLUGIN_OK;
}

static int32_t supports(void *state, const struct posref_plugin_call *call, char *why,
                        size_t why_size)
{
    static const char *const ops[] = {"scores", "attention", "bias", "weights"};
    const bool is_alibi = posref_plugin_is(call->spec, "scheme", "alibi") &&
                          posref_plugin_is(call->spec, "form", "distance") &&
                          posref_plugin_is(call->spec, "slopes", "published") &&
                          posref_plugin_is(call->spec, "align", "bottom_right") &&
                          posref_plugin_is(call->spec, "alibi_bias_max", "8");
    const struct posref_plugin_tensor *out = posref_plugin_find(call, call->op);
    bool knows = false;
    (void)state;
    for (int k = is_alibi || posref_plugin_is(call->spec, "scheme", "none") ? 0 : 4; k < 4; k++)
        knows = knows || posref_plugin_word_is(call->op, ops[k]);
    knows = knows && out && (out->dtype == POSREF_PLUGIN_F64 || out->dtype == POSREF_PLUGIN_F32) &&
            !posref_plugin_value(call->spec, "temperature", NULL) &&
            !posref_plugin_value(call->spec, "softmax_scale", NULL) &&
            !posref_plugin_value(call->spec, "attention_kind", NULL);
    if (knows)
        return POSREF_PLUGIN_OK;
    snprintf(why, why_size, "attention without positions and with ALiBi is all there is");
    return POSREF_PLUGIN_UNSUPPORTED;
}

static int32_t run(void *state, const struct posref_plugin_call *call, char *why, size_t why_size)
{
    struct job job = {.call = call, .fault = state,
                      .is_alibi = posref_plugin_is(call->spec, "scheme", "alibi"),
                      .is_causal = posref_plugin_is(call->spec, "causal", "true"),
                      .heads_first = posref_plugin_word_is(posref_plugin_layout(call),
                                                           "attention-bhsd")};
    (void)why, (void)why_size;
    if (is_faulty(&job, "heads_exchanged") && posref_plugin_find(call, "q") &&
        posref_plugin_find(call, "q")->rank == 4)
        job.heads_first = !job.heads_first;
    return posref_plugin_find(call, "q") ? run_attention(&job) : run_bias(&job);
}

const struct posref_plugin *posref_plugin_entry(uint32_t host_abi)
{
    static const struct posref_plugin plugin = {
        .abi = POSREF_PLUGIN_ABI,
        .struct_size = sizeof plugin,
        .name = "example_attention",
        .version = "1",
        .open = open_example,
        .supports = supports,
        .run = run,
        .layouts = "attention-strided attention-bhsd attention-bshd attention-varlen",
    };
    (void)host_abi;
    return &plugin;
}
