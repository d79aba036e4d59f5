/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of grades: of one unit, and of all elements of an output. */
#include "judge_impl.h"

#include <math.h>
#include <string.h>

enum posref_grade posref_grade_best(enum posref_dtype dtype)
{
    return dtype == POSREF_F64 ? POSREF_GRADE_EXACT : POSREF_GRADE_FLOAT32;
}

enum posref_grade posref_grade_worst(enum posref_dtype dtype)
{
    return dtype == POSREF_F64 || dtype == POSREF_F32 ? POSREF_GRADE_FAST : POSREF_GRADE_LOW;
}

double posref_judge_floor(enum posref_dtype dtype)
{
    switch (dtype) {
    case POSREF_F64: return 0x1p-1074;
    case POSREF_F32: return 0x1p-150;
    case POSREF_F16: return 0x1p-25;
    case POSREF_F8E4M3: return 0x1p-10;
    case POSREF_F8E5M2: return 0x1p-17;
    default: return 0x1p-134;
    }
}

struct judge_limits posref_judge_grade_limits(enum posref_grade grade, enum posref_dtype dtype)
{
    const double u = posref_unit(dtype), single = 0x1p-24;
    struct judge_limits out = {.grade = grade, .u_angle = single, .u_math = single, .u_out = u,
                               .u_formula = single};
    if (grade == POSREF_GRADE_EXACT)
        out.u_angle = out.u_math = out.u_formula = 0x1p-53;
    if (grade >= POSREF_GRADE_FAST)
        out.u_sine = 0x1p-20;
    if (grade == POSREF_GRADE_LOW) /* nobody computes in 8 bits; bfloat16 is what is coarsest */
        out.u_table = out.u_math = posref_dtype_is_float8(dtype) ? posref_unit(POSREF_BF16) : u;
    return out;
}

double posref_judge_angle_part(const struct judge_unit *unit, const struct judge_limits *l)
{
    if (unit->exact_angle && l->grade < POSREF_GRADE_FAST)
        return 0;
    if (unit->angle == 0) /* k may be infinite */
        return 0;
    /* In double, repeated multiplication is still far more exact than any fault. */
    double k = unit->k + (l->grade == POSREF_GRADE_FLOAT32 ? 0 : unit->recurrence);
    const double low = l->grade == POSREF_GRADE_LOW ? unit->low : 0;
    const double part = k * l->u_angle * unit->angle + low;
    return unit->cap > 0 ? fmin(part, unit->cap) : part;
}

double posref_judge_math_part(const struct judge_unit *unit, const struct judge_limits *l)
{
    return l->u_table + l->u_sine + (2 + unit->extra) * l->u_math + unit->common * l->u_formula;
}

/* Eight bits are so few that u of the pair would hide what is wrong. A quarter of a spacing, which
 * no other value is within, keeps errors countable in limits where want is a value of the dtype. */
double posref_float8_limit(double want, double arithmetic, enum posref_dtype dtype)
{
    const double below = want - posref_rounded(want - arithmetic, dtype);
    const double above = posref_rounded(want + arithmetic, dtype) - want;
    if (!isfinite(below) || !isfinite(above))
        return (double)INFINITY;
    return fmax(fmax(below, above),
                fmax(posref_unit(dtype) / 4 * fabs(want), posref_judge_floor(dtype) / 2));
}

double posref_judge_limit(const struct judge_unit *unit, int which, const struct judge_limits *l,
                          enum posref_dtype dtype)
{
    const double arithmetic =
        unit->scale * (posref_judge_angle_part(unit, l) + posref_judge_math_part(unit, l)) +
        unit->math_scale * l->u_math;
    if (posref_dtype_is_float8(dtype))
        return posref_float8_limit(unit->want[which], arithmetic + unit->floor, dtype);
    return arithmetic + unit->out_scale[which] * l->u_out + unit->floor +
           posref_judge_floor(dtype);
}

bool posref_judge_overflows(double want, enum posref_dtype dtype)
{
    const double near = posref_rounded(want, dtype);
    return isinf(near) || (isnan(near) && !isnan(want)); /* f8e4m3 has no infinity */
}

/* Zeros of golden's names and shapes. */
static enum posref_status make_zeros(struct posref_tensors *out, const struct judge_case *c)
{
    *out = *c->golden;
    for (int t = 0; t < out->n; t++) {
        struct posref_tensor *tensor = &out->item[t];
        const size_t size = (size_t)posref_tensor_count(tensor) * sizeof(double);
        tensor->dtype = POSREF_F64;
        tensor->data = c->arena->alloc(c->arena->ctx, size ? size : 1);
        if (!tensor->data)
            return posref_fail(c->err, POSREF_NO_MEMORY, "", "out of memory");
        memset(tensor->data, 0, size);
    }
    return POSREF_OK;
}

static void fill(struct posref_tensors *out, const struct judge_case *c, enum posref_grade grade)
{
    const struct judge_limits l = posref_judge_grade_limits(grade, c->dtype);
    for (int64_t k = 0; k < c->n_units; k++)
        for (int which = 0; which < c->unit[k].n; which++) {
            const struct judge_unit *unit = &c->unit[k];
            double *limit = out->item[unit->tensor[which]].data;
            limit[unit->element[which]] =
                posref_judge_overflows(unit->want[which], c->dtype)
                    ? (double)INFINITY : posref_judge_limit(unit, which, &l, c->dtype);
        }
}

enum posref_status posref_judge_limits(struct posref_tensors out[POSREF_GRADE_FAIL],
                                       const struct posref_spec *spec, enum posref_op op,
                                       const struct posref_tensors *inputs,
                                       const struct posref_tensors *golden,
                                       enum posref_dtype dtype, const struct posref_arena *arena,
                                       struct posref_error *err)
{
    struct judge_case c = {.spec = spec, .op = op, .dtype = dtype, .inputs = inputs,
                           .golden = golden, .actual = golden, .arena = arena, .err = err,
                           .copies_hold = true, .integers_hold = true};
    enum posref_status status = posref_judge_units(&c);
    for (int grade = 0; grade < POSREF_GRADE_FAIL && status == POSREF_OK; grade++) {
        out[grade].n = 0;
        if (grade < (int)posref_grade_best(dtype) || grade > (int)posref_grade_worst(dtype))
            continue;
        status = make_zeros(&out[grade], &c);
        if (status == POSREF_OK)
            fill(&out[grade], &c, (enum posref_grade)grade);
    }
    return status;
}
