/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a bend: which apply where, in what order, and what they do to positions. */
#include "axes.h"
#include "bend_impl.h"

#include <math.h>

bool posref_bend_add(struct posref_bend *bend, enum posref_bend_kind kind, double value)
{
    if (kind == POSREF_BEND_NOTHING)
        return true;
    if (bend->n_steps == POSREF_BEND_STEPS)
        return false;
    int k = bend->n_steps++;
    for (; k > 0 && bend->step[k - 1].kind > kind; k--)
        bend->step[k] = bend->step[k - 1];
    bend->step[k] = (struct posref_bend_step){kind, value};
    return true;
}

bool posref_bend_has(const struct posref_bend *bend, enum posref_bend_kind kind)
{
    for (int k = 0; k < bend->n_steps; k++)
        if (bend->step[k].kind == kind)
            return true;
    return false;
}

bool posref_bend_is_position(enum posref_bend_kind kind)
{
    return kind >= POSREF_BEND_POSITION_OFFSET && kind <= POSREF_BEND_POSITION_WHOLE;
}

bool posref_bend_is_theta(enum posref_bend_kind kind)
{
    return kind >= POSREF_BEND_YARN_FLAT && kind <= POSREF_BEND_THETA_F16;
}

static bool is_of_recipes(enum posref_bend_kind kind)
{
    return (kind >= POSREF_BEND_DOUBLE && kind <= POSREF_BEND_FLOAT32_RECURRENCE) ||
           (kind >= POSREF_BEND_SINE_ONE_STEP && kind <= POSREF_BEND_SINE_HARDWARE) ||
           kind == POSREF_BEND_PRODUCTS_NARROW;
}

enum posref_bend_kind posref_bend_recipe(const struct posref_bend *bend)
{
    for (int k = 0; k < bend->n_steps; k++)
        if (bend->step[k].kind >= POSREF_BEND_DOUBLE &&
            bend->step[k].kind <= POSREF_BEND_FLOAT32_RECURRENCE)
            return bend->step[k].kind;
    return POSREF_BEND_NOTHING;
}

static bool applies_to_rope(enum posref_bend_kind kind, const struct posref_spec *spec,
                            enum posref_op op)
{
    const bool magnitude = posref_judge_has_magnitude(spec);
    const bool rotates = op == POSREF_OP_ROTATE || op == POSREF_OP_ROTATE_BACKWARD;
    if (kind == POSREF_BEND_THETA_SQUARED || kind == POSREF_BEND_COSINE_LATE ||
        kind == POSREF_BEND_THETA_ROOT)
        return false;
    if (kind == POSREF_BEND_YARN_FLAT || kind == POSREF_BEND_YARN_REVERSED ||
        kind == POSREF_BEND_YARN_PERIODS ||
        kind == POSREF_BEND_YARN_NTK)
        return spec->scaling == POSREF_SCALING_YARN;
    if (kind == POSREF_BEND_LLAMA3_PERIODS)
        return spec->scaling == POSREF_SCALING_LLAMA3;
    if (kind == POSREF_BEND_MAGNITUDE_TWICE)
        return magnitude;
    if (kind == POSREF_BEND_TAIL_ZERO || (kind == POSREF_BEND_TAIL_SCALED && magnitude))
        return rotates && spec->rotary_dim < spec->dim;
    if (kind == POSREF_BEND_THETA_OVER_HEAD)
        return posref_axes_ladders(spec) > 1 &&
               spec->axes_ladder == POSREF_AXES_LADDER_INDEPENDENT;
    if (posref_bend_is_theta(kind))
        return true;
    if (op == POSREF_OP_FREQUENCIES)
        return kind == POSREF_BEND_TRUNCATED;
    if (posref_bend_is_position(kind))
        return kind != POSREF_BEND_POSITION_HEAD || rotates;
    switch (kind) {
    case POSREF_BEND_TAIL_SCALED: return false;
    case POSREF_BEND_SLOPE_GEOMETRIC:
    case POSREF_BEND_SLOPE_FIRST:
    case POSREF_BEND_SLOPE_EARLY:
    case POSREF_BEND_SLOPE_BF16:
    case POSREF_BEND_BIAS_SIGN:
    case POSREF_BEND_BIAS_BF16: return false;
    case POSREF_BEND_TABLE_SPREAD:
    case POSREF_BEND_SINE_LATE:
    case POSREF_BEND_LAST_PAIR:
    case POSREF_BEND_LAST_CHANNEL:
    case POSREF_BEND_LAST_ROWS: return rotates;
    default: return true;
    }
}

static bool applies_to_sinusoidal(enum posref_bend_kind kind)
{
    return (posref_bend_is_position(kind) && kind != POSREF_BEND_POSITION_HEAD) ||
           (kind >= POSREF_BEND_THETA_INVERSE && kind <= POSREF_BEND_THETA_SQUARED &&
            kind != POSREF_BEND_THETA_OVER_HEAD) ||
           kind == POSREF_BEND_THETA_BF16 || kind == POSREF_BEND_THETA_F16 ||
           (kind >= POSREF_BEND_ANGLE_F16 && kind <= POSREF_BEND_MAGNITUDE) ||
           kind == POSREF_BEND_LAST_ROWS || kind == POSREF_BEND_TRUNCATED;
}

static bool applies_to_alibi(enum posref_bend_kind kind, enum posref_op op)
{
    if (kind >= POSREF_BEND_SLOPE_GEOMETRIC && kind <= POSREF_BEND_SLOPE_BF16)
        return true;
    if (kind == POSREF_BEND_TRUNCATED || kind == POSREF_BEND_MAGNITUDE)
        return true;
    return op != POSREF_OP_FREQUENCIES &&
           ((posref_bend_is_position(kind) && kind != POSREF_BEND_POSITION_HEAD) ||
            kind == POSREF_BEND_BIAS_SIGN || kind == POSREF_BEND_BIAS_BF16);
}

bool posref_bend_applies(enum posref_bend_kind kind, const struct posref_spec *spec,
                         enum posref_op op)
{
    if (is_of_recipes(kind))
        return posref_bend_has_recipes(spec) && op != POSREF_OP_FREQUENCIES;
    switch (spec->scheme) {
    case POSREF_SCHEME_ROPE: return applies_to_rope(kind, spec, op);
    case POSREF_SCHEME_TIMESTEP:
    case POSREF_SCHEME_SINUSOIDAL: return applies_to_sinusoidal(kind);
    case POSREF_SCHEME_ALIBI: return applies_to_alibi(kind, op);
    default:
        return posref_bend_is_position(kind) && kind != POSREF_BEND_POSITION_HEAD &&
               op != POSREF_OP_FREQUENCIES;
    }
}

static double int16_of(double position)
{
    double low = fmod(trunc(position), 65536);
    low = low < 0 ? low + 65536 : low;
    return low >= 32768 ? low - 65536 : low;
}

double posref_bend_position(const struct posref_bend *bend, double p, int64_t row, int64_t head)
{
    for (int k = 0; k < bend->n_steps; k++) {
        const double value = bend->step[k].value;
        switch (bend->step[k].kind) {
        case POSREF_BEND_POSITION_OFFSET: p += value; break;
        case POSREF_BEND_POSITION_SCALE: p *= value; break;
        case POSREF_BEND_POSITION_BF16: p = posref_rounded(p, POSREF_BF16); break;
        case POSREF_BEND_POSITION_F16: p = posref_rounded(p, POSREF_F16); break;
        case POSREF_BEND_POSITION_ABS: p = fabs(p); break;
        case POSREF_BEND_POSITION_CLAMP: p = fmin(p, value); break;
        case POSREF_BEND_POSITION_WRAP: p = fmod(p, value); break;
        case POSREF_BEND_POSITION_INT16: p = int16_of(p); break;
        case POSREF_BEND_POSITION_ZERO: p = 0; break;
        case POSREF_BEND_POSITION_ROW: p = (double)row; break;
        case POSREF_BEND_POSITION_HEAD: p = (double)head; break;
        case POSREF_BEND_POSITION_WHOLE: p = trunc(p); break;
        default: break;
        }
    }
    return p;
}

double posref_bend_at(const struct posref_bend *bend, double position, int64_t row)
{
    return posref_bend_position(bend, position, row, 0);
}

enum posref_status posref_bend_output(double **value, double **limit, double **scale,
                                      struct bend_job *job, const char *name, int rank,
                                      const int64_t *shape)
{
    struct posref_tensor tensor = {.dtype = POSREF_F64, .rank = rank};
    const size_t length = sizeof tensor.name;
    for (size_t k = 0; k + 1 < length && name[k]; k++)
        tensor.name[k] = name[k];
    for (int axis = 0; axis < rank; axis++)
        tensor.shape[axis] = shape[axis];
    const size_t size = (size_t)posref_tensor_count(&tensor) * sizeof(double) + 1;
    *value = tensor.data = job->arena->alloc(job->arena->ctx, size);
    *limit = job->arena->alloc(job->arena->ctx, size);
    *scale = job->arena->alloc(job->arena->ctx, size);
    if (!*value || !*limit || !*scale)
        return posref_fail(job->err, POSREF_NO_MEMORY, "", "out of memory");
    job->out->limit[job->out->outputs.n] = *limit;
    job->out->scale[job->out->outputs.n] = *scale;
    job->out->outputs.item[job->out->outputs.n++] = tensor;
    return POSREF_OK;
}

enum posref_status posref_bend_pairs(struct bend_job *job, int64_t n)
{
    if (!job->bend->wants_pairs)
        return POSREF_OK;
    job->out->pair = job->arena->alloc(job->arena->ctx, (size_t)n * sizeof *job->out->pair + 1);
    return job->out->pair ? POSREF_OK
                          : posref_fail(job->err, POSREF_NO_MEMORY, "", "out of memory");
}

void posref_bend_note(struct bend_job *job, const struct posref_bent_pair *pair)
{
    if (job->out->pair)
        job->out->pair[job->out->n_pairs++] = *pair;
}

/* What posref_bend_rounding goes by: a recipe's outputs are not rounded yet. */
static void set_rounding(struct bend_job *job)
{
    if (posref_bend_recipe(job->bend) != POSREF_BEND_NOTHING)
        return;
    const bool narrow = job->dtype == POSREF_F16 || job->dtype == POSREF_BF16;
    job->least = job->dtype == POSREF_F16    ? 0x1p-24
                 : job->dtype == POSREF_BF16 ? 0x1p-132 : 0x1p-148;
    /* Next to a step of a rounding, float32 may take the other one. */
    const double spacings = narrow && posref_bend_has(job->bend, POSREF_BEND_TRUNCATED) ? 2.1 : 1.1;
    /* What rounds to 8 bits was a float32: posref_float8_limit has the rest. */
    const bool wide = posref_dtype_is_float8(job->dtype);
    job->spacings = spacings * posref_unit(wide ? POSREF_F32 : job->dtype);
}

/* Towards zero where nearest went beyond. */
static double truncate_to(double x, enum posref_dtype dtype)
{
    if (dtype == POSREF_F64 || x == 0)
        return x;
    uint32_t bits = posref_narrow(x, dtype);
    double near = posref_widen(bits, dtype);
    return fabs(near) > fabs(x) ? posref_widen(bits - 1, dtype) : near;
}

/* Values of 8 bits are often next to a step, and float32 on its other side. */
static void widen_step(double *limit, double x, enum posref_dtype dtype)
{
    const double low = truncate_to(x - *limit, dtype), high = truncate_to(x + *limit, dtype);
    if (low != high)
        *limit = high - low;
}

bool posref_bend_done(struct bend_job *job, int tensor, int64_t element)
{
    const struct posref_bend_watch *watch = job->bend->watch;
    struct posref_bent *out = job->out;
    if (posref_bend_has(job->bend, POSREF_BEND_TRUNCATED)) {
        double *value = (double *)out->outputs.item[tensor].data + element;
        if (posref_dtype_is_float8(job->dtype))
            widen_step(&out->limit[tensor][element], *value, job->dtype);
        *value = truncate_to(*value, job->dtype);
    }
    return !watch || watch->see(watch->ctx, out, tensor, element);
}

int64_t posref_bend_first(const struct bend_job *job, int64_t n)
{
    const struct posref_bend_watch *watch = job->bend->watch;
    return watch && watch->first >= 0 && watch->first < n ? watch->first : 0;
}

int64_t posref_bend_row(const struct bend_job *job, int64_t row, int64_t n, int64_t heads)
{
    const int64_t token = row / heads;
    const bool swapped = n >= 2 && token >= n - 2 &&
                         posref_bend_has(job->bend, POSREF_BEND_LAST_ROWS);
    return swapped ? (2 * n - 3 - token) * heads + row % heads : row;
}

enum posref_status posref_bend_eval(struct posref_bent *out, const struct posref_bend *bend,
                                    enum posref_op op, const struct posref_tensors *in,
                                    enum posref_dtype dtype, const struct posref_arena *arena,
                                    struct posref_error *err)
{
    struct posref_bend settled = *bend;
    struct posref_spec by_length; /* scalings by length go by the positions */
    struct bend_job job = {.bend = &settled, .op = op, .in = in, .out = out, .dtype = dtype,
                           .arena = arena, .err = err};
    enum posref_status status = POSREF_OK;
    if (posref_spec_is_unsettled(bend->spec)) {
        by_length = *bend->spec;
        settled.spec = &by_length;
        status = posref_spec_settle(&by_length, in, err);
    }
    if (status != POSREF_OK)
        return status;
    set_rounding(&job);
    out->outputs.n = 0;
    out->pair = NULL;
    out->n_pairs = 0;
    switch (bend->spec->scheme) {
    case POSREF_SCHEME_ROPE: status = posref_bend_rope(&job); break;
    case POSREF_SCHEME_TIMESTEP:
    case POSREF_SCHEME_SINUSOIDAL: status = posref_bend_sinusoidal(&job); break;
    case POSREF_SCHEME_ALIBI: status = posref_bend_alibi(&job); break;
    default: return posref_fail(err, POSREF_BAD_INPUT, "scheme", "has no bent form");
    }
    return status;
}
