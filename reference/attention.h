/* SPDX-License-Identifier: Apache-2.0 */
/* Scores and attention, once for all schemes. The kernel reads q, k, v and mask, scales, masks and
 * takes the softmax; a scheme contributes what it changes through the functions of a hook in its
 * scheme table. Everything is exact mathematics in balls: nothing is rounded before the output.
 *
 *     score[h, i, j] = scale t_i (term_1 + ... + term_n) + bias[h, i, j]
 *     attention[i, h] = sum over visible j of softmax_j(score[h, i, j]) (v[j, h] + value[h, i, j])
 *
 * or, with attention_kind=linear, quotients of sums over visible keys (attention_linear.c).
 * scale is 1/sqrt(dim of q) unless the spec (or, for deberta, the hook) says otherwise, t_i the
 * temperature of query i (temperature.c, 1 without one), and the only term without a hook is
 * q_i . k_j. Private to reference/. */
#ifndef POSREF_ATTENTION_H
#define POSREF_ATTENTION_H

#include "ball.h"
#include "scheme.h"

#define POSREF_ATTENTION_TERMS 8

/* Precisions: the first, and the last, beyond which zero is zero (see attention_score.c). */
#define POSREF_ATTENTION_BITS 128U
#define POSREF_ATTENTION_LAST_BITS 2048U

/* One call. Rows are [n, heads, width], row major; a 2-D input has one head. Query head h reads
 * key and value head h kv_heads / heads. */
struct posref_attention {
    struct posref_job *job;
    const struct posref_attention_hook *hook;
    const double *q, *k, *v, *mask; /* v, mask: NULL when not given */
    int64_t n_q, n_k, heads, kv_heads, v_heads, dim, dim_v;
    /* What is computed, each from its first to before its last: queries, heads, keys of scores, and
     * channels of attention. */
    int64_t from_q, to_q, from_head, to_head, from_k, to_k, from_c, to_c;
    bool by_head;               /* q is 3-D: scores have a dimension of heads */
    struct posref_positions q_positions, k_positions; /* value NULL: none */
    const char *const *terms;   /* the hook's; begin() may set others */
    int n_terms;                /* of them; begin() may lower it */
    int n_unscaled;             /* the last of them, without scale and t_i; begin() sets it */
    int scale_factor;           /* the scale is 1/sqrt(dim scale_factor): 1, or what begin() sets */
    void *state;                /* the hook's own, from begin() */
    struct posref_ball *phi;    /* linear: scratch [2, dim] */
    const struct judge_frequency *frequency; /* of rope's columns, for its estimates */
    unsigned prec_bits;         /* that `root` and `scale` are for; 0: none yet */
    struct posref_ball root;    /* the scale is scale / root */
    struct posref_ball scale;
};

/* What the error model wants to know of one score, in doubles; reference/judge_attention.c. */
struct posref_attention_estimate {
    double size;       /* sum of the |terms|, before the scale: for q . k, sum of |q_c k_c| */
    double angle;      /* sum of |part| k |angle|: error of the parts that turn, in u of angles */
    double recurrence; /* more of it where angles are built by repeated multiplication */
    double low;        /* error where values are held in a 16-bit dtype, in its u, beside size's */
    double bias;       /* |bias|, and the sizes of terms that are not scaled */
    double bias_k;     /* its relative error in float32, in u */
    double bias_low;   /* as low, of what is not scaled */
};

enum posref_attention_positions {
    POSREF_POSITIONS_OPTIONAL, /* for causal_align=position and temperatures alone */
    POSREF_POSITIONS_REQUIRED,
    POSREF_POSITIONS_COUNTED   /* none given: 0, 1, ..., the last query at the last key */
};

struct posref_attention_hook {
    enum posref_attention_positions positions; /* read with one axis, unless begin() has */
    const char *const *inputs; /* further tensors of the two ops, NULL-terminated; may be NULL */
    const char *const *terms;  /* names of the terms, NULL-terminated; NULL: one without a name */
    /* Once a call: reads further inputs, checks shapes, sets a->state (in the arena). May be
     * NULL. */
    enum posref_status (*begin)(struct posref_attention *a);
    /* Encloses each term of score (head, i, j), before the scale. NULL: q . k alone. */
    enum posref_status (*score)(struct posref_ball *term, const struct posref_attention *a,
                                int64_t head, int64_t i, int64_t j, unsigned prec_bits);
    /* Encloses what is added to the scaled score. NULL: nothing. */
    enum posref_status (*bias)(struct posref_ball *out, const struct posref_attention *a,
                               int64_t head, int64_t i, int64_t j, unsigned prec_bits);
    /* Encloses what is added to channel c of v_j for this query. NULL: nothing. */
    enum posref_status (*value)(struct posref_ball *out, const struct posref_attention *a,
                                int64_t head, int64_t i, int64_t j, int64_t c, unsigned prec_bits);
    /* For judging: fills *out, which is 0 but for size = sum |q_c k_c|. NULL: that is all. */
    void (*estimate)(struct posref_attention_estimate *out, const struct posref_attention *a,
                     int64_t head, int64_t i, int64_t j);
};

/* The row of q, k or v that query i, or key j, of this head reads. */
static inline const double *posref_attention_q(const struct posref_attention *a, int64_t head,
                                               int64_t i)
{
    return a->q + (i * a->heads + head) * a->dim;
}
static inline const double *posref_attention_k(const struct posref_attention *a, int64_t head,
                                               int64_t j)
{
    return a->k + (j * a->kv_heads + head * a->kv_heads / a->heads) * a->dim;
}

/* x . y of n doubles, enclosed: exact where it fits prec_bits. */
void posref_attention_dot(struct posref_ball *out, const double *x, const double *y, int64_t n,
                          unsigned prec_bits);
/* x . y of doubles and balls. */
void posref_attention_dot_ball(struct posref_ball *out, const double *x,
                               const struct posref_ball *y, int64_t n, unsigned prec_bits);

/* Reads tensor `name` of this shape, shared by all heads (*heads = 1), or of that for each head. */
POSREF_MUST_USE enum posref_status
posref_attention_input(const double **out, int64_t *heads, struct posref_attention *a,
                       const char *name, int rank, const int64_t *shape);

/* Reads q_positions and k_positions (default: positions) of n_axes axes into *a. */
POSREF_MUST_USE enum posref_status
posref_attention_read_positions(struct posref_attention *a, enum posref_attention_positions how,
                                int64_t n_axes);

/* k_position[j] - q_position[i] of an axis, exactly. */
void posref_attention_offset(struct posref_ball *out, const struct posref_attention *a, int axis,
                             int64_t i, int64_t j);

/* Reads and checks the inputs of the two ops, and begins the hook. */
POSREF_MUST_USE enum posref_status posref_attention_open(struct posref_attention *a,
                                                         struct posref_job *job);
/* Fails unless positions are whole numbers. */
POSREF_MUST_USE enum posref_status
posref_attention_whole_positions(const struct posref_attention *a);
/* Whether query i sees key j: neither masked nor, if causal, after it. */
bool posref_attention_sees(const struct posref_attention *a, int64_t i, int64_t j);

/* A score in the making. */
struct posref_attention_score {
    struct posref_ball term[POSREF_ATTENTION_TERMS]; /* scaled, where they are */
    struct posref_ball sum;   /* of the terms that are, before the scale */
    struct posref_ball bias;  /* with the terms that are not */
    struct posref_ball value; /* the score */
};
/* score = sum * scale / root: sets root and scale for this precision. */
POSREF_MUST_USE enum posref_status posref_attention_set_scale(struct posref_attention *a,
                                                              unsigned prec_bits);
/* x t scale / root, as set; t NULL: 1. False: ask for more precision. */
bool posref_attention_times_scale(struct posref_ball *x, const struct posref_attention *a,
                                  const struct posref_ball *t, unsigned prec_bits);
POSREF_MUST_USE enum posref_status
posref_attention_score(struct posref_attention_score *out, struct posref_attention *a,
                       int64_t head, int64_t i, int64_t j, unsigned prec_bits);

/* Rounds an enclosure at prec_bits; false: ask for more. At POSREF_ATTENTION_LAST_BITS always
 * true: what is then below half the smallest double is +0, and what is still open is within
 * 2^-60 of the sum of |terms| by far. */
bool posref_attention_round(double *out, const struct posref_ball *value, unsigned prec_bits);

static inline bool posref_attention_is_linear(const struct posref_spec *spec)
{
    return spec->given[POSREF_FIELD_ATTENTION_KIND] &&
           spec->attention_kind == POSREF_ATTENTION_LINEAR;
}
/* attention_linear.c. Checks q and k, and allocates what the next function needs. */
POSREF_MUST_USE enum posref_status posref_attention_linear_open(struct posref_attention *a);
/* Encloses the numerator of each of the n keys, and the sum of their denominators. */
POSREF_MUST_USE enum posref_status
posref_attention_linear_weights(struct posref_ball *numerator, struct posref_ball *sum,
                                const struct posref_attention *a, int64_t head, int64_t i,
                                const int64_t *key, int64_t n, unsigned prec_bits);
/* Adds (R q) . (R k) of rope's pair number `pair` to sum, for position i of the queries and j of
 * the keys: along = q . k of its two channels, across = q2 k1 - q1 k2; magnitudes left out. */
POSREF_MUST_USE enum posref_status
posref_attention_rope_add(struct posref_ball *sum, const struct posref_attention *a, int pair,
                          const struct posref_ball *along, const struct posref_ball *across,
                          int64_t i, int64_t j, unsigned prec_bits);

/* Sums of weights and values, divided: a->v is given. */
POSREF_MUST_USE enum posref_status posref_attention_softmax(double *out,
                                                            struct posref_attention *a);

/* eval.c: posref_eval of one element of scores (and of that element of their terms) or of
 * attention, or of the first where there are not so many; the others are not set. */
POSREF_MUST_USE enum posref_status
posref_eval_glance(struct posref_tensors *out, const struct posref_spec *spec, enum posref_op op,
                   int64_t element, const struct posref_tensors *in,
                   const struct posref_arena *arena, struct posref_error *err);
/* The two ops, as far as the job asks for them; schemes without a hook have neither. */
POSREF_MUST_USE enum posref_status posref_attention_eval(struct posref_job *job);
/* Whether they are all that op all can mean: for schemes of tables, which take positions. */
bool posref_attention_alone(const struct posref_job *job);
/* The scores alone, [heads, n_q, n_k], for judging. */
POSREF_MUST_USE enum posref_status posref_attention_scores(double *out,
                                                           struct posref_attention *a);
/* Whether the ops read a tensor of this name. */
bool posref_attention_reads(const struct posref_attention_hook *hook, const char *name);

extern const struct posref_attention_hook posref_attention_additive; /* additive.c */
extern const struct posref_attention_hook posref_attention_rope; /* attention_rope.c */
extern const struct posref_attention_hook posref_attention_deberta; /* deberta_attention.c */
extern const struct posref_attention_hook posref_attention_learned; /* learned_attention.c */
/* additive.c, for tables that are added to the content: the terms of their scores, and what no such
 * scores have. */
extern const char *const posref_attention_added_terms[];
/* Leaves out the terms that the spec's slips leave out. */
void posref_attention_drop_added(struct posref_ball term[4], const struct posref_spec *spec);
POSREF_MUST_USE enum posref_status posref_attention_check_added(const struct posref_attention *a);
struct posref_plan;
const struct posref_plan *posref_attention_rope_plan(const struct posref_attention *a);
void posref_attention_rope_estimate(struct posref_attention_estimate *out,
                                    const struct posref_attention *a, int64_t head, int64_t i,
                                    int64_t j);

/* The scale of the scores as a double, for judging: judge_attention.c. */
double posref_attention_scale(const struct posref_attention *a);
void posref_attention_alibi_estimate(struct posref_attention_estimate *out,
                                     const struct posref_attention *a, int64_t head, int64_t i,
                                     int64_t j); /* judge_alibi.c */

/* temperature.c: encloses t_i. Exact where it is rational. */
POSREF_MUST_USE enum posref_status posref_temperature_ball(struct posref_ball *out,
                                                           const struct posref_spec *spec,
                                                           double position, unsigned prec_bits);
/* Checks and completes the temperature's fields. */
POSREF_MUST_USE enum posref_status posref_temperature_check(struct posref_spec *spec,
                                                            struct posref_error *err);
/* The need of a field that every scheme with a hook takes. */
enum posref_need posref_attention_field_need(enum posref_field field);
POSREF_MUST_USE enum posref_status posref_attention_check(struct posref_spec *spec,
                                                          struct posref_error *err);

#endif
