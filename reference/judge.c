/* SPDX-License-Identifier: Apache-2.0 */
/* The judgement: units against limits, grade by grade. */
#include "attention.h"
#include "judge_impl.h"

#include <math.h>
#include <string.h>

static const char *const grades[POSREF_N_GRADES] = {"exact", "float32", "recurrence",
                                                    "fast",  "low",     "fail"};

const char *posref_grade_name(enum posref_grade grade)
{
    return grades[grade];
}

int posref_grade_find(const char *name)
{
    for (int grade = 0; grade < POSREF_N_GRADES; grade++)
        if (strcmp(grades[grade], name) == 0)
            return grade;
    return -1;
}

enum posref_grade posref_grade_default(enum posref_dtype dtype)
{
    return dtype == POSREF_F64   ? POSREF_GRADE_EXACT
           : dtype == POSREF_F32 ? POSREF_GRADE_RECURRENCE
                                 : POSREF_GRADE_LOW;
}

double posref_unit(enum posref_dtype dtype)
{
    switch (dtype) {
    case POSREF_F64: return 0x1p-53;
    case POSREF_F32: return 0x1p-24;
    case POSREF_F16: return 0x1p-11;
    case POSREF_F8E4M3: return 0x1p-4;
    case POSREF_F8E5M2: return 0x1p-3;
    default: return 0x1p-8;
    }
}

const char *posref_breach_text(enum posref_breach breach)
{
    switch (breach) {
    case POSREF_BREACH_COPY: return "a channel that is not rotated is no bit-identical copy";
    case POSREF_BREACH_ELEMENT: return "an element is further from the reference than its limit";
    case POSREF_BREACH_NORM: return "a pair's norm differs from the reference beyond its limit";
    case POSREF_BREACH_BIAS: return "errors lean to one side: rounding is not to nearest";
    case POSREF_BREACH_NORM_BIAS: return "norms are wrong by a common factor";
    case POSREF_BREACH_INTEGER: return "an integer differs from the reference";
    case POSREF_BREACH_ANGLE: return "angles are not position times one frequency";
    default: return "";
    }
}

/* Conversions to 8 bits saturate as often as they overflow: both are right. */
static double largest_float8(enum posref_dtype dtype)
{
    return dtype == POSREF_F8E4M3 ? 448 : 57344;
}

static bool element_holds(const struct judge_unit *unit, int which, double limit,
                          enum posref_dtype dtype)
{
    double want = unit->want[which], got = unit->got[which];
    if (posref_judge_overflows(want, dtype)) {
        const bool saturated = posref_dtype_is_float8(dtype) && fabs(got) == largest_float8(dtype);
        return (saturated || isinf(got)) && signbit(got) == signbit(want);
    }
    return fabs(got - want) <= limit; /* false for NaN */
}

static bool norm_holds(const struct judge_unit *unit, const struct judge_limits *l,
                       enum posref_dtype dtype)
{
    if (!unit->is_pair || isinf(unit->got[0]) || isinf(unit->got[1]))
        return true;
    double got = hypot(unit->got[0], unit->got[1]);
    /* A norm errs by at most the length of the error that is not along the circle: sqrt(2) times
     * the limit of one element without the angle's part. */
    return fabs(got - unit->scale) <=
           1.5 * (unit->scale * (posref_judge_math_part(unit, l) + l->u_out) +
                  posref_judge_floor(dtype));
}

struct sums {
    double signed_error, norm_ratio, allowance, scale_error;
    int64_t n;
};

/* Errors are counted from the nearest value of the dtype, not from the golden one: golden values
 * that recur (the cosine of a pair that hardly turns, times an attention factor) would lend an
 * honest kernel's mean the error of their one common rounding. */
static void add_to_sums(struct sums *sums, const struct judge_unit *unit,
                        const struct judge_limits *l, enum posref_dtype dtype)
{
    double part = posref_judge_angle_part(unit, l);
    if (!unit->is_pair || unit->scale == 0 || part > 0.125 || isinf(unit->got[0]) ||
        isinf(unit->got[1]))
        return;
    double want[2];
    for (int which = 0; which < 2; which++) {
        want[which] = posref_rounded(unit->want[which], dtype);
        sums->signed_error += copysign(1, unit->want[which]) * (unit->got[which] - want[which]) /
                              (2 * unit->scale);
    }
    sums->norm_ratio +=
        (hypot(unit->got[0], unit->got[1]) - hypot(want[0], want[1])) / unit->scale;
    sums->allowance += part;
    sums->scale_error += unit->scale_error * fmax(l->u_math, l->u_formula) +
                         unit->common * l->u_formula;
    sums->n++;
}

/* Means over n pairs of independent roundings of at most u each: 5 u / sqrt(n) is more than eight
 * standard deviations of an honest rounding's mean; several roundings add in squares. An attention
 * factor has an error of its own, common to all pairs: of its formula, and of one rounding where
 * it is held in the dtype; xPos's scales have errors that grow with the distance from the centre,
 * all to one side. */
static double bias_limit(const struct sums *sums, const struct judge_limits *l, bool magnitude)
{
    double each = sqrt(l->u_out * l->u_out + l->u_table * l->u_table + l->u_math * l->u_math);
    double common = magnitude ? l->u_table + 3 * l->u_formula : 0.25 * l->u_math;
    common += sums->scale_error / (double)sums->n;
    return 0.1 * l->u_out + 5 * each / sqrt((double)sums->n) + common + 2 * l->u_sine;
}

/* The first breach of these limits. */
static enum posref_breach breach_of(const struct judge_case *c, const struct judge_limits *l)
{
    enum posref_breach breach = POSREF_BREACH_NONE;
    struct sums sums = {0};
    if (!c->integers_hold)
        return POSREF_BREACH_INTEGER;
    if (!c->copies_hold)
        return POSREF_BREACH_COPY;
    for (int64_t k = 0; k < c->n_units; k++) {
        const struct judge_unit *unit = &c->unit[k];
        for (int which = 0; which < unit->n; which++)
            if (!element_holds(unit, which, posref_judge_limit(unit, which, l, c->dtype),
                               c->dtype))
                return POSREF_BREACH_ELEMENT;
        if (!norm_holds(unit, l, c->dtype))
            breach = POSREF_BREACH_NORM;
        add_to_sums(&sums, unit, l, c->dtype);
    }
    if (breach != POSREF_BREACH_NONE || sums.n == 0)
        return breach;
    const double n = (double)sums.n;
    const bool magnitude = posref_judge_has_magnitude(c->spec);
    if (!(fabs(sums.signed_error / n) <= bias_limit(&sums, l, magnitude) + sums.allowance / n))
        return POSREF_BREACH_BIAS;
    if (!(fabs(sums.norm_ratio / n) <= bias_limit(&sums, l, magnitude)))
        return POSREF_BREACH_NORM_BIAS;
    return POSREF_BREACH_NONE;
}

/* By how much a pair is turned further than expected, radians. */
static double turned(const struct judge_unit *unit)
{
    return atan2(unit->want[0] * unit->got[1] - unit->want[1] * unit->got[0],
                 unit->want[0] * unit->got[0] + unit->want[1] * unit->got[1]);
}

static bool angle_is_judged(const struct judge_unit *unit, const struct judge_limits *l)
{
    return unit->is_pair && unit->scale != 0 && unit->k * l->u_angle * unit->angle <= 0.125;
}

/* c->farthest[i] = the unit of pair i with the largest judged angle, or NULL. */
static void find_farthest(const struct judge_case *c, const struct judge_limits *l)
{
    for (int i = 0; i < c->n_pairs; i++)
        c->farthest[i] = NULL;
    for (int64_t k = 0; k < c->n_units; k++) {
        const struct judge_unit *unit = &c->unit[k];
        if (!angle_is_judged(unit, l) || unit->position == 0)
            continue;
        const struct judge_unit **far = &c->farthest[unit->pair];
        if (!*far || unit->angle > (*far)->angle)
            *far = unit;
    }
}

/* What roundings of the angle and of the outputs turn a pair by, radians. */
static double angle_noise(const struct judge_unit *unit, const struct judge_limits *l)
{
    return 2 * l->u_angle * unit->angle + 1.5 * (posref_judge_math_part(unit, l) + l->u_out);
}

/* Grade float32 forms an angle as position times one frequency, rounded: the error of
 * the angle is position * (error of the frequency), within 2 u |angle|. Fits the error of the
 * frequency of each pair at its largest judged angle, and checks the others against it. */
static bool one_frequency(const struct judge_case *c, const struct judge_limits *l)
{
    find_farthest(c, l);
    for (int64_t k = 0; k < c->n_units; k++) {
        const struct judge_unit *unit = &c->unit[k];
        const struct judge_unit *far = angle_is_judged(unit, l) ? c->farthest[unit->pair] : NULL;
        if (!far || far == unit)
            continue;
        double share = unit->position / far->position;
        double noise = angle_noise(unit, l), far_noise = angle_noise(far, l);
        if (fabs(turned(unit) - share * turned(far)) > noise + fabs(share) * far_noise)
            return false;
    }
    return true;
}

static bool reaches(enum posref_breach *breach, const struct judge_case *c, enum posref_grade grade)
{
    const struct judge_limits l = posref_judge_grade_limits(grade, c->dtype);
    *breach = breach_of(c, &l);
    if (*breach == POSREF_BREACH_NONE && grade == POSREF_GRADE_FLOAT32 && !one_frequency(c, &l))
        *breach = POSREF_BREACH_ANGLE;
    return *breach == POSREF_BREACH_NONE;
}

static void name_worst(struct posref_judgement *out, const struct judge_case *c,
                       const struct judge_unit *unit, int which, double limits)
{
    out->tensor = c->golden->item[unit->tensor[which]].name;
    out->element = unit->element[which];
    out->pair = unit->pair;
    out->position = unit->position;
    out->got = unit->got[which];
    out->want = unit->want[which];
    double norm = unit->scale > 0 ? unit->scale : 1;
    out->error_u = fabs(out->got - out->want) / norm / posref_unit(c->dtype);
    out->error_limits = limits;
}

static void measure(struct posref_judgement *out, const struct judge_case *c,
                    enum posref_grade gate)
{
    const struct judge_limits l = posref_judge_grade_limits(gate, c->dtype);
    struct sums sums = {0};
    out->error_limits = -1;
    for (int64_t k = 0; k < c->n_units; k++) {
        const struct judge_unit *unit = &c->unit[k];
        double largest = 0;
        for (int which = 0; which < unit->n; which++) {
            double limit = posref_judge_limit(unit, which, &l, c->dtype);
            bool holds = element_holds(unit, which, limit, c->dtype);
            /* An infinity where one is expected is no error. */
            double ratio = holds && isinf(unit->got[which])
                               ? 0 : fabs(unit->got[which] - unit->want[which]) / limit;
            if (!(ratio >= 0))
                ratio = holds ? 0 : HUGE_VAL;
            largest = fmax(largest, unit->scale > 0 ? limit / unit->scale : 0);
            if (ratio > out->error_limits)
                name_worst(out, c, unit, which, ratio);
        }
        out->n_compared++;
        out->n_judged += unit->moves && largest <= 0.125;
        add_to_sums(&sums, unit, &l, c->dtype);
    }
    if (!c->copies_hold || !c->integers_hold)
        name_worst(out, c, &c->broken_copy, 0, HUGE_VAL);
    else if (c->n_units == 0) /* integers alone, all right: the first stands for them */
        name_worst(out, c, &c->broken_copy, 0, 0);
    if (sums.n > 0) {
        out->bias_u = sums.signed_error / (double)sums.n / posref_unit(c->dtype);
        out->norm_bias_u = sums.norm_ratio / (double)sums.n / posref_unit(c->dtype);
    }
}

static enum posref_status check_tensors(const struct posref_tensors *golden,
                                        const struct posref_tensors *actual,
                                        struct posref_error *err)
{
    for (int k = 0; k < golden->n; k++) {
        const struct posref_tensor *want = &golden->item[k];
        if (k >= actual->n || strcmp(want->name, actual->item[k].name) != 0)
            return posref_fail(err, POSREF_BAD_INPUT, want->name, "is missing from the output");
        if (posref_tensor_count(want) != posref_tensor_count(&actual->item[k]))
            return posref_fail(err, POSREF_BAD_INPUT, want->name,
                               "has %lld elements; the reference has %lld",
                               (long long)posref_tensor_count(&actual->item[k]),
                               (long long)posref_tensor_count(want));
    }
    return POSREF_OK;
}

/* Integers are exact. What differs first is named, and the very first where nothing else is judged;
 * a shape of any dtype has been checked. */
static int64_t check_integers(struct judge_case *c)
{
    int64_t n = 0;
    for (int t = 0; t < c->golden->n; t++) {
        const struct posref_tensor *want = &c->golden->item[t];
        if (want->dtype != POSREF_I64)
            continue;
        for (int64_t k = 0; k < posref_tensor_count(want); k++, n++) {
            double expected = posref_tensor_value(want, k);
            double got = posref_tensor_value(&c->actual->item[t], k);
            const bool first = n == 0 && c->n_units == 0;
            if (!first && (got == expected || !c->integers_hold))
                continue;
            c->integers_hold = c->integers_hold && got == expected;
            c->broken_copy = (struct judge_unit){.want = {expected}, .got = {got}, .element = {k},
                                                 .tensor = {t}, .pair = -1, .scale = 1,
                                                 .position = (double)NAN};
        }
    }
    return n;
}

static enum posref_status make_room_for_farthest(struct judge_case *c)
{
    for (int64_t k = 0; k < c->n_units; k++)
        if (c->unit[k].is_pair && c->unit[k].pair >= c->n_pairs)
            c->n_pairs = c->unit[k].pair + 1;
    if (c->n_pairs == 0)
        return POSREF_OK;
    c->farthest = c->arena->alloc(c->arena->ctx, (size_t)c->n_pairs * sizeof *c->farthest);
    return c->farthest ? POSREF_OK : posref_fail(c->err, POSREF_NO_MEMORY, "", "out of memory");
}

static void tell(const struct posref_judge_watch *watch, const struct judge_case *c)
{
    for (int64_t k = 0; k < c->n_units; k++) {
        const struct judge_unit *unit = &c->unit[k];
        double error = 0, sum = 0;
        if (!unit->is_pair || !(unit->scale > 0) || isinf(unit->scale))
            continue;
        for (int which = 0; which < unit->n; which++) {
            const double off = fabs(unit->got[which] - unit->want[which]);
            if (posref_judge_overflows(unit->want[which], c->dtype) && isinf(unit->got[which]))
                continue;
            error = off <= error ? error : isnan(off) ? HUGE_VAL : off;
            sum += copysign(1, unit->want[which]) *
                   (unit->got[which] - posref_rounded(unit->want[which], c->dtype));
        }
        watch->see(watch->ctx, unit->position, error / unit->scale,
                   sum / (unit->n * unit->scale));
    }
}

enum posref_status posref_judge(struct posref_judgement *out, const struct posref_spec *spec,
                                enum posref_op op, const struct posref_tensors *inputs,
                                const struct posref_tensors *golden,
                                const struct posref_tensors *actual, enum posref_dtype dtype,
                                enum posref_grade gate, const struct posref_arena *arena,
                                struct posref_error *err)
{
    return posref_judge_watched(out, NULL, spec, op, inputs, golden, actual, dtype, gate, arena,
                                err);
}

enum posref_status posref_judge_watched(struct posref_judgement *out,
                                        const struct posref_judge_watch *watch,
                                        const struct posref_spec *spec, enum posref_op op,
                                        const struct posref_tensors *inputs,
                                        const struct posref_tensors *golden,
                                        const struct posref_tensors *actual,
                                        enum posref_dtype dtype, enum posref_grade gate,
                                        const struct posref_arena *arena,
                                        struct posref_error *err)
{
    struct judge_case c = {.spec = spec, .op = op, .dtype = dtype, .inputs = inputs,
                           .golden = golden, .actual = actual, .arena = arena, .err = err,
                           .copies_hold = true, .integers_hold = true};
    enum posref_status status = check_tensors(golden, actual, err);
    if (status == POSREF_OK)
        status = posref_judge_units(&c);
    if (status == POSREF_OK)
        status = make_room_for_farthest(&c);
    if (status != POSREF_OK)
        return status;
    const int64_t n_integers = check_integers(&c);
    memset(out, 0, sizeof *out);
    out->pair = -1;
    const enum posref_grade best = posref_grade_best(dtype), last = posref_grade_worst(dtype);
    out->grade = POSREF_GRADE_FAIL;
    for (enum posref_grade grade = best; grade <= last; grade++) {
        enum posref_breach breach;
        bool reached = reaches(&breach, &c, grade);
        if (grade == gate || (grade == last && gate > last))
            out->breach = breach;
        if (reached) {
            out->grade = grade;
            break;
        }
    }
    out->pass = out->grade <= gate && out->grade != POSREF_GRADE_FAIL;
    if (out->pass)
        out->breach = POSREF_BREACH_NONE;
    measure(out, &c, gate <= last ? gate : last);
    if (watch)
        tell(watch, &c);
    out->n_compared += n_integers;
    out->n_judged += n_integers;
    return POSREF_OK;
}

enum posref_status posref_judge_glance(bool *fails, const struct posref_spec *spec,
                                       enum posref_op op, int64_t element,
                                       const struct posref_tensors *inputs,
                                       const struct posref_tensors *actual,
                                       enum posref_dtype dtype, const struct posref_arena *arena,
                                       struct posref_error *err)
{
    struct posref_tensors golden;
    struct judge_case c = {.spec = spec, .op = op, .glance = &element, .dtype = dtype,
                           .inputs = inputs, .golden = &golden, .actual = actual, .arena = arena,
                           .err = err, .copies_hold = true, .integers_hold = true};
    enum posref_breach breach;
    if (op != POSREF_OP_SCORES && op != POSREF_OP_ATTENTION)
        return posref_fail(err, POSREF_BAD_INPUT, "op", "must be scores or attention");
    /* Attention takes its element from the scores that its limit needs anyway. */
    const bool softmax = op == POSREF_OP_ATTENTION && !posref_attention_is_linear(spec) &&
                         !(spec->slips & POSREF_SLIP_SOFTMAX_QUERIES);
    enum posref_status status = POSREF_OK;
    if (softmax)
        c.estimated = &golden;
    else
        status = posref_eval_glance(&golden, spec, op, element, inputs, arena, err);
    if (status == POSREF_OK && !softmax)
        status = check_tensors(&golden, actual, err);
    if (status == POSREF_OK)
        status = posref_judge_units(&c);
    if (status != POSREF_OK)
        return status;
    *fails = !reaches(&breach, &c, posref_grade_worst(dtype));
    return POSREF_OK;
}
