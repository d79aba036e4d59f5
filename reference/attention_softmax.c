/* SPDX-License-Identifier: Apache-2.0 */
/* softmax(scores) v, or the linear form's quotients, row by row,
 * in balls; a row is repeated at twice the precision until each of
 * its channels is decided.
 *
 * Exact cases: a key whose score is exactly that of the largest has the exact numerator 1, so rows
 * of one key, and rows of equal scores, give exact quotients (ties and zeros decide themselves).
 * Other quotients are transcendental where the scores are algebraic (Lindemann and Weierstrass). */
#include "attention.h"

struct row {
    struct posref_attention *a;
    int64_t head, i;
    int64_t n;                /* keys that are seen */
    int64_t *key;             /* [n] */
    struct posref_ball *term; /* [n]: exp(score - largest) */
    struct posref_attention_score *score; /* scratch, two */
};

static bool exactly_equal(const struct posref_ball *x, const struct posref_ball *y)
{
    return x->rad_man == 0 && y->rad_man == 0 && posref_ball_compare(x, y) == 0;
}

/* The place of the largest score (any of those that are not told apart), its score in score[0]. */
static enum posref_status find_largest(const struct row *row, int64_t *largest, unsigned prec_bits)
{
    enum posref_status status = POSREF_OK;
    for (int64_t n = 0; n < row->n && status == POSREF_OK; n++) {
        status = posref_attention_score(&row->score[1], row->a, row->head, row->i, row->key[n],
                                        prec_bits);
        posref_ball_set(&row->term[n], &row->score[1].value);
        if (n == 0 || posref_ball_compare(&row->term[n], &row->term[*largest]) == 1)
            *largest = n;
    }
    if (status == POSREF_OK)
        status = posref_attention_score(&row->score[0], row->a, row->head, row->i,
                                        row->key[*largest], prec_bits);
    return status;
}

/* Whether score n is the largest one, exactly. */
static enum posref_status is_largest(bool *equal, const struct row *row, int64_t n,
                                     unsigned prec_bits)
{
    *equal = false;
    /* Scores that overlap are worked out once more, sum and bias apart. */
    if (posref_ball_compare(&row->term[n], &row->score[0].value) == -1)
        return POSREF_OK;
    enum posref_status status = posref_attention_score(&row->score[1], row->a, row->head, row->i,
                                                       row->key[n], prec_bits);
    *equal = exactly_equal(&row->score[1].sum, &row->score[0].sum) &&
             exactly_equal(&row->score[1].bias, &row->score[0].bias);
    return status;
}

static enum posref_status exponentials(struct posref_ball *sum, const struct row *row,
                                       unsigned prec_bits)
{
    int64_t largest = 0;
    enum posref_status status = find_largest(row, &largest, prec_bits);
    posref_ball_set_int(sum, 0);
    for (int64_t n = 0; n < row->n && status == POSREF_OK; n++) {
        bool equal = n == largest;
        if (!equal)
            status = is_largest(&equal, row, n, prec_bits);
        if (equal) {
            posref_ball_set_int(&row->term[n], 1);
        } else {
            posref_ball_sub(&row->term[n], &row->term[n], &row->score[0].value, prec_bits);
            posref_ball_exp(&row->term[n], &row->term[n], prec_bits);
        }
        posref_ball_add(sum, sum, &row->term[n], prec_bits);
    }
    return status;
}

/* Weights of a slip: exp(score) over the sum of those of the key's queries. */
static enum posref_status over_queries(struct posref_ball *sum, const struct row *row,
                                       unsigned prec_bits)
{
    struct posref_attention *a = row->a;
    struct posref_ball one, own;
    enum posref_status status = POSREF_OK;
    for (int64_t n = 0; n < row->n && status == POSREF_OK; n++) {
        posref_ball_set_int(sum, 0);
        for (int64_t i = 0; i < a->n_q && status == POSREF_OK; i++) {
            if (!posref_attention_sees(a, i, row->key[n]))
                continue;
            status = posref_attention_score(&row->score[0], a, row->head, i, row->key[n],
                                            prec_bits);
            posref_ball_exp(&one, &row->score[0].value, prec_bits);
            posref_ball_add(sum, sum, &one, prec_bits);
            if (i == row->i)
                posref_ball_set(&own, &one);
        }
        if (status == POSREF_OK && !posref_ball_div(&row->term[n], &own, sum, prec_bits))
            status = POSREF_INTERNAL;
    }
    posref_ball_set_int(sum, 1);
    return status;
}

/* Channel c: the sum of numerators times values, and the quotient. */
static enum posref_status channel(struct posref_ball *out, const struct row *row,
                                  const struct posref_ball *sum, int64_t c, unsigned prec_bits)
{
    struct posref_attention *a = row->a;
    const int64_t v_head = row->head * a->v_heads / a->heads;
    struct posref_ball value, more;
    posref_ball_set_int(out, 0);
    for (int64_t n = 0; n < row->n; n++) {
        const int64_t j = row->key[n];
        posref_ball_set_double(&value, a->v[(j * a->v_heads + v_head) * a->dim_v + c]);
        if (a->hook->value) {
            enum posref_status status = a->hook->value(&more, a, row->head, row->i, j, c,
                                                       prec_bits);
            if (status != POSREF_OK)
                return status;
            posref_ball_add(&value, &value, &more, prec_bits);
        }
        posref_ball_mul(&value, &value, &row->term[n], prec_bits);
        posref_ball_add(out, out, &value, prec_bits);
    }
    return posref_ball_div(out, out, sum, prec_bits) ? POSREF_OK : POSREF_INTERNAL;
}

static enum posref_status at_precision(double *out, bool *decided, const struct row *row,
                                       unsigned prec_bits)
{
    const struct posref_spec *spec = row->a->job->spec;
    struct posref_ball sum, value;
    enum posref_status status =
        posref_attention_is_linear(spec)
            ? posref_attention_linear_weights(row->term, &sum, row->a, row->head, row->i, row->key,
                                              row->n, prec_bits)
        : spec->slips & POSREF_SLIP_SOFTMAX_QUERIES ? over_queries(&sum, row, prec_bits)
                                                    : exponentials(&sum, row, prec_bits);
    *decided = true;
    for (int64_t c = row->a->from_c; c < row->a->to_c && status == POSREF_OK && *decided; c++) {
        status = channel(&value, row, &sum, c, prec_bits);
        if (status == POSREF_OK)
            *decided = posref_attention_round(&out[c], &value, prec_bits);
    }
    return status;
}

static enum posref_status one_row(double *out, struct row *row)
{
    struct posref_attention *a = row->a;
    row->n = 0;
    for (int64_t j = 0; j < a->n_k; j++)
        if (posref_attention_sees(a, row->i, j))
            row->key[row->n++] = j;
    if (row->n == 0)
        return posref_fail(a->job->err, POSREF_BAD_INPUT, a->mask ? "mask" : "causal",
                           "query %lld sees no key: it has no attention", (long long)row->i);
    bool decided = false;
    enum posref_status status = POSREF_OK;
    for (unsigned bits = POSREF_ATTENTION_BITS; !decided && status == POSREF_OK; bits *= 2)
        status = at_precision(out, &decided, row, bits);
    return status;
}

enum posref_status posref_attention_softmax(double *out, struct posref_attention *a)
{
    struct row row = {.a = a};
    enum posref_status status = POSREF_OK;
    row.key = posref_job_alloc(a->job, (size_t)a->n_k, sizeof *row.key);
    row.term = posref_job_alloc(a->job, (size_t)a->n_k, sizeof *row.term);
    row.score = posref_job_alloc(a->job, 2, sizeof *row.score);
    if (!row.key || !row.term || !row.score)
        return POSREF_NO_MEMORY;
    for (row.i = a->from_q; row.i < a->to_q; row.i++)
        for (row.head = a->from_head; row.head < a->to_head && status == POSREF_OK; row.head++)
            status = one_row(out + (row.i * a->heads + row.head) * a->dim_v, &row);
    return status;
}
