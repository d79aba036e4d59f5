/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary position embedding (RoFormer, arXiv 2104.09864); axes.c has what several axes add.
 *
 * Pair i of r/2 turns by the angle a = position * theta_i, theta_i = base^(-2i/r), possibly scaled
 * for long context (scaling_*.c), and both cos and sin carry the scaling's attention factor:
 *     y1 = x1 cos a - x2 sin a,    y2 = x2 cos a + x1 sin a.
 * pairing says which channels a pair is; direction=inverse turns x by -a. The gradient of y with
 * respect to x is the transpose of that: dx = R^T dy, the rotation by -a with the same factor. */
#include "attention.h"
#include "plan.h"

#include "layout.h"
#include "xpos.h"

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_DIM, POSREF_NEED_REQUIRED},       {POSREF_FIELD_BASE, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_ROTARY_DIM, POSREF_NEED_OPTIONAL}, {POSREF_FIELD_PARTIAL, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_PARTIAL_ROTARY_FACTOR, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_PAIRING, POSREF_NEED_DEFAULT},    {POSREF_FIELD_DIRECTION, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_AXES_DIMS, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_AXES_LADDER, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_AXES_ORDER, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_AXES_SPAN, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_AXES_NTK, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_ANGLE_UNIT, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_MROPE_SECTION, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_MROPE_INTERLEAVED, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_MROPE_ORDER, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_ATTENTION_KIND, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_XPOS_SCALE_BASE, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_XPOS_CENTER, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_XPOS_SIDE, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_TABLE_LAYOUT, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_SCALING, POSREF_NEED_DEFAULT},    {0, POSREF_NEED_NONE},
};

static const struct posref_input_use inputs[] = {{"positions", ""}, {"x", "n,[*],dim"},
                                                 {"dy", "n,[*],dim"}, {NULL, NULL}};

/* Gemma 4's proportional form: pairs over the whole head, of which the first few turn. */
static enum posref_status check_partial(const struct posref_spec *spec, struct posref_error *err)
{
    const bool share = spec->given[POSREF_FIELD_PARTIAL_ROTARY_FACTOR];
    if (spec->partial != POSREF_PARTIAL_PROPORTIONAL)
        return share ? posref_fail(err, POSREF_BAD_INPUT, "partial_rotary_factor",
                                   "only partial=proportional takes it; else give rotary_dim")
                     : POSREF_OK;
    if (!share)
        return posref_fail(err, POSREF_BAD_INPUT, "partial_rotary_factor",
                           "is required by partial=proportional");
    if (posref_layout_pairs(spec) == 0)
        return posref_fail(err, POSREF_BAD_INPUT, "partial_rotary_factor",
                           "%.15g of dim=%d leaves no pair that turns",
                           spec->partial_rotary_factor, spec->dim);
    if (spec->rotary_dim != spec->dim)
        return posref_fail(err, POSREF_BAD_INPUT, "rotary_dim",
                           "partial=proportional pairs all dim=%d channels; leave it out",
                           spec->dim);
    if (spec->pairing != POSREF_PAIRING_HALF && spec->pairing != POSREF_PAIRING_INTERLEAVED)
        return posref_fail(err, POSREF_BAD_INPUT, "pairing",
                           "partial=proportional needs half or interleaved");
    if (spec->scaling != POSREF_SCALING_NONE && spec->scaling != POSREF_SCALING_LINEAR)
        return posref_fail(err, POSREF_BAD_INPUT, "scaling",
                           "partial=proportional is defined with none and linear alone");
    return POSREF_OK;
}

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    if (spec->dim % 2)
        return posref_fail(err, POSREF_BAD_INPUT, "dim", "must be even, got %d", spec->dim);
    if (!spec->given[POSREF_FIELD_ROTARY_DIM]) {
        spec->rotary_dim = spec->dim;
        spec->given[POSREF_FIELD_ROTARY_DIM] = true;
    }
    if (spec->rotary_dim % 2)
        return posref_fail(err, POSREF_BAD_INPUT, "rotary_dim", "must be even, got %d",
                           spec->rotary_dim);
    if (spec->rotary_dim > spec->dim)
        return posref_fail(err, POSREF_BAD_INPUT, "rotary_dim", "must be at most dim=%d, got %d",
                           spec->dim, spec->rotary_dim);
    if (posref_attention_is_linear(spec) && spec->pairing == POSREF_PAIRING_MISMATCHED)
        return posref_fail(err, POSREF_BAD_INPUT, "attention_kind",
                           "linear rotates pairs, and pairing=mismatched is no rotation");
    enum posref_status status = check_partial(spec, err);
    if (status == POSREF_OK)
        status = posref_axes_check(spec, err);
    return status == POSREF_OK ? posref_xpos_check(spec, err) : status;
}

static enum posref_status frequencies(struct posref_job *job, const struct posref_plan *plan)
{
    double *out;
    const int64_t shape[] = {plan->n_columns};
    enum posref_status status = posref_job_output(&out, job, "inv_freq", 1, shape);
    if (status != POSREF_OK)
        return status;
    for (int i = 0; i < plan->n_columns; i++)
        out[i] = plan->inv_freq[i];
    status = posref_job_output(&out, job, "attention_factor", 0, NULL);
    if (status == POSREF_OK)
        *out = plan->attention_factor;
    return status;
}

static enum posref_status rotate(struct posref_job *job, const char *output, const char *input,
                                 const struct posref_plan *plan,
                                 const struct posref_positions *positions)
{
    const double *x;
    double *y;
    int64_t heads;
    enum posref_status status = posref_job_rows(&x, &heads, job, input, positions->n, plan->dim);
    if (status != POSREF_OK)
        return status;
    const struct posref_tensor *like = posref_tensors_find(job->in, input);
    status = posref_job_output(&y, job, output, like->rank, like->shape);
    return status == POSREF_OK ? posref_plan_rotate(y, x, heads, plan, positions) : status;
}

/* The gradient is the transposed rotation: each pair reads what it wrote, writes what it read, and
 * turns the other way. Of mismatched tables the transpose is no such plan. */
static enum posref_status rotate_backward(struct posref_job *job, const struct posref_plan *plan,
                                          const struct posref_positions *positions)
{
    struct posref_plan transposed = *plan;
    if (job->spec->pairing == POSREF_PAIRING_MISMATCHED)
        return posref_fail(job->err, POSREF_BAD_INPUT, "pairing",
                           "mismatched is no rotation and has no rotate_backward");
    transposed.pair = posref_job_alloc(job, (size_t)plan->n_pairs, sizeof *transposed.pair);
    if (!transposed.pair)
        return POSREF_NO_MEMORY;
    for (int i = 0; i < plan->n_pairs; i++) {
        const struct posref_plan_pair *of = &plan->pair[i];
        transposed.pair[i] = (struct posref_plan_pair){
            .in = {of->out[0], of->out[1]}, .out = {of->in[0], of->in[1]},
            .column = {of->column[0], of->column[1]}, .sign = -of->sign};
    }
    return rotate(job, "dx", "dy", &transposed, positions);
}

static enum posref_status prepare(const struct posref_plan **out, struct posref_job *job)
{
    struct posref_plan *plan = posref_job_alloc(job, 1, sizeof *plan);
    if (!plan)
        return POSREF_NO_MEMORY;
    enum posref_status status = posref_plan_compile(plan, job);
    if (status == POSREF_OK)
        *out = plan;
    return status;
}

enum posref_status posref_rope_plan(const struct posref_plan **out, struct posref_job *job)
{
    if (!job->plan)
        return prepare(out, job);
    *out = job->plan;
    return POSREF_OK;
}

static enum posref_status eval(struct posref_job *job)
{
    const bool has_x = posref_job_has(job, "x");
    const bool has_dy = posref_job_has(job, "dy");
    const bool placed = has_x || has_dy || posref_job_has(job, "positions");
    const bool wants_table = posref_job_wants(job, POSREF_OP_TABLE, placed);
    const bool wants_rotate = posref_job_wants(job, POSREF_OP_ROTATE, has_x);
    const bool wants_backward = posref_job_wants(job, POSREF_OP_ROTATE_BACKWARD, has_dy);
    const bool turns = wants_table || wants_rotate || wants_backward;
    const struct posref_plan *plan = NULL;
    struct posref_positions positions = {.n = 0};
    enum posref_status status = posref_rope_plan(&plan, job);
    if (status == POSREF_OK && posref_job_wants(job, POSREF_OP_FREQUENCIES, true))
        status = frequencies(job, plan);
    if (status == POSREF_OK && turns)
        status = posref_job_positions(&positions, job, "positions", plan->n_axes);
    if (status == POSREF_OK && turns)
        status = posref_xpos_reach(job->spec, "positions", positions.value, positions.n,
                                   job->spec->xpos_center, job->err);
    if (status == POSREF_OK && turns)
        status = posref_xpos_count(job->spec, "positions", positions.n * plan->n_pairs, job->err);
    if (status == POSREF_OK && wants_table)
        status = posref_rope_table(job, plan, &positions);
    if (status == POSREF_OK && wants_rotate)
        status = rotate(job, "y", "x", plan, &positions);
    if (status == POSREF_OK && wants_backward)
        status = rotate_backward(job, plan, &positions);
    return status;
}

const struct posref_scheme_def posref_rope = {
    .info = {.name = "rope",
             .summary = "rotary position embedding: rotates pairs of query and key channels",
             .formula = "y1 = x1 cos a - x2 sin a; y2 = x2 cos a + x1 sin a; "
                        "a = position * base^(-2i/rotary_dim)",
             .source = "Su et al., RoFormer, arXiv 2104.09864",
             .learned = "none",
             .injected = "queries and keys of every layer, before the scores",
             .relative = "exact: a score depends on the distance alone",
             .beyond = "degrades soon; scalings (linear, ntk, yarn, llama3, ...) extend it, "
                       "mostly with some training",
             .cost = "one multiply-add a channel of q and k, O(n d); a table of n d values",
             .users = "Llama, Mistral, Qwen, Gemma, Phi, DeepSeek, GPT-NeoX, GPT-J, gpt-oss; over "
                      "several axes Qwen-VL, Wan, Flux, HunyuanVideo, DINOv3",
             .advice = "the default of decoder models; several axes for images and video",
             .differs = "which channels are a pair (pairing), which are rotated (rotary_dim, "
                        "partial), the sense (direction), the frequencies for long context "
                        "(scaling and its keys), and with several axes which pair has which "
                        "axis and frequency (docs/axes.md)"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_FREQUENCIES | 1U << POSREF_OP_TABLE | 1U << POSREF_OP_ROTATE |
           1U << POSREF_OP_ROTATE_BACKWARD,
    .defaults = posref_axes_defaults,
    .check = check,
    .eval = eval,
    .prepare = prepare,
    .attention = &posref_attention_rope,
};
