/* SPDX-License-Identifier: Apache-2.0 */
/* What the judge_*.c files share. Nothing else includes this header. */
#ifndef POSREF_JUDGE_IMPL_H
#define POSREF_JUDGE_IMPL_H

#include "judge.h"

/* One frequency as an implementation in working precision sees it. */
struct judge_frequency {
    double theta;      /* radians per token, scaled; to about 1e-14 */
    double k;          /* relative error of a float32 theta * position, in u_angle */
    double recurrence; /* more, when angles are built by repeated multiplication */
    int axis;          /* row of the positions */
    bool first;        /* the ladder's first, which every route forms exactly: 1, or 1 / factor */
};

/* Fills frequency i of a sinusoidal or timestep spec, or that of column i of a rope's table. */
void posref_judge_frequency_fill(struct judge_frequency *out, const struct posref_spec *spec,
                                 int i);

/* Ends of yarn's range over `width` channels, by the spec's truncate and range_rule, from rotations
 * `first` and `last`. */
void posref_judge_yarn_range(double *lo, double *hi, const struct posref_spec *spec, double width,
                             double first, double last);

/* The attention factor may differ from 1. */
bool posref_judge_has_magnitude(const struct posref_spec *spec);

/* The attention factor, to about 1e-14. */
double posref_judge_magnitude(const struct posref_spec *spec);

/* A pair of elements (or one alone) that is judged as a whole. The limit of an element is
 *     scale (angle_part + u_table + u_sine + (2 + extra) u_math + common u_formula)
 *     + math_scale u_math
 *     + out_scale u_out + floor,
 *     angle_part = (k + recurrence) u_angle angle, where the grade has these,
 * and low more under grade low; cap at most, where there is one. */
struct judge_unit {
    double want[2], got[2];
    int64_t element[2];
    int tensor[2]; /* index in golden */
    int n;         /* 1 or 2 */
    double scale, out_scale[2], math_scale, floor;
    double angle, k, recurrence, extra, low;
    double scale_error; /* of a factor by pair and position (xPos), in u; extra has it too */
    double common;      /* of a factor that all elements of a row have, in u_formula */
    double cap;         /* what the angle's part is at most, relative to scale; 0: no such bound */
    bool exact_angle; /* the angle is exact in float32: no angle allowance but under fast */
    bool is_pair;     /* a rotation: its norm is judged too */
    bool moves;       /* the expected pair is not what it would be at position 0 */
    int pair;
    double position;
};

/* The units of a grade in a dtype; docs/tolerance.md names them. */
struct judge_limits {
    enum posref_grade grade;
    double u_angle, u_math, u_out, u_table, u_sine, u_formula;
};
struct judge_limits posref_judge_grade_limits(enum posref_grade grade, enum posref_dtype dtype);
/* The angle's part of a unit's limit, relative to its scale. */
double posref_judge_angle_part(const struct judge_unit *unit, const struct judge_limits *l);
/* The part that is neither the angle's nor the output's, relative to its scale. */
double posref_judge_math_part(const struct judge_unit *unit, const struct judge_limits *l);
/* How far element `which` of the unit may be off. */
double posref_judge_limit(const struct judge_unit *unit, int which, const struct judge_limits *l,
                          enum posref_dtype dtype);
/* Half the spacing of subnormals: what rounding loses however small the value. */
double posref_judge_floor(enum posref_dtype dtype);
/* The dtype's nearest value is an infinity, or what stands for one. */
bool posref_judge_overflows(double want, enum posref_dtype dtype);

struct judge_case {
    const struct posref_spec *spec;
    enum posref_op op;
    const int64_t *glance; /* see struct posref_job */
    struct posref_tensors *estimated; /* not NULL: golden, of which the wanted element of attention
                                       * is to be filled in, in double */
    enum posref_dtype dtype;
    const struct posref_tensors *inputs, *golden, *actual;
    const struct posref_arena *arena;
    struct posref_error *err;
    struct judge_unit *unit;
    int64_t n_units;
    const struct judge_unit **farthest; /* scratch [n_pairs], n_pairs > every is_pair unit's pair */
    int n_pairs;
    bool integers_hold;
    bool copies_hold; /* untouched channels are bit-identical copies */
    struct judge_unit broken_copy; /* or the integer that differs */
};

/* Lays out the units of a case; one function for each kind of op. */
POSREF_MUST_USE enum posref_status posref_judge_units(struct judge_case *c);
POSREF_MUST_USE enum posref_status posref_judge_units_alibi(struct judge_case *c);
POSREF_MUST_USE enum posref_status posref_judge_units_waves(struct judge_case *c);
POSREF_MUST_USE enum posref_status posref_judge_units_learned(struct judge_case *c);
POSREF_MUST_USE enum posref_status posref_judge_units_attention(struct judge_case *c);
struct posref_attention;
POSREF_MUST_USE enum posref_status
posref_judge_units_linear(struct judge_case *c, const struct posref_attention *a);
POSREF_MUST_USE enum posref_status posref_judge_units_table(struct judge_case *c);
POSREF_MUST_USE enum posref_status posref_judge_units_cope(struct judge_case *c);
POSREF_MUST_USE enum posref_status posref_judge_units_kerple(struct judge_case *c);
POSREF_MUST_USE enum posref_status posref_judge_units_sandwich(struct judge_case *c);
POSREF_MUST_USE enum posref_status posref_judge_units_network(struct judge_case *c);

/* Rotations that are fused with a norm (judge_norm.c): whether the inputs say so; what becomes of
 * the unit of a pair, whose elements are channels at->out; the units of the channels that do not
 * turn, which are no copies then. */
struct posref_layout_pair;
bool posref_judge_is_normed(const struct judge_case *c);
void posref_judge_normed(const struct judge_case *c, struct judge_unit *unit,
                         const struct posref_layout_pair *at);
POSREF_MUST_USE enum posref_status posref_judge_normed_rest(struct judge_case *c, int y,
                                                            int64_t n_rows);

/* Adds a unit of one element, judged against its own size, and returns it. */
struct judge_unit *posref_judge_add_one(struct judge_case *c, int tensor, int64_t element,
                                        int head);
/* Positions of queries or keys (by their input's name), of which there are *n. */
const double *posref_judge_grid(const struct judge_case *c, const char *name, int64_t *n);
/* The elements of an input; NULL: not given. */
const double *posref_judge_input(const struct judge_case *c, const char *name);

POSREF_MUST_USE enum posref_status posref_judge_allocate(struct judge_case *c, int64_t n_units);

/* Adds the pair of elements (t1, e1), (t2, e2) that turned by position * frequency i of its ladder;
 * or one element, judged relative to itself. The caller has room for it and may change it. */
struct judge_unit *posref_judge_pair(struct judge_case *c, const struct judge_frequency *f, int i,
                                     double position, int t1, int64_t e1, int t2, int64_t e2);
struct judge_unit *posref_judge_one(struct judge_case *c, int tensor, int64_t element);

/* Frequencies 0 ... n - 1 of the spec, in the arena. */
POSREF_MUST_USE enum posref_status posref_judge_frequencies(struct judge_frequency **out,
                                                            struct judge_case *c, int n);

#endif
