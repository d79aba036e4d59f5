/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of what is computed row by row: rotations, tables, embeddings. The slack of each
 * comparison is what judge.h allows the answers in it; docs/tolerance.md, "Properties". */
#include "property_impl.h"

#include <math.h>
#include <string.h>

#define SQRT2 1.4142135623730951

/* A position from 1 to `most`. */
static double draw_position(struct posref_property *p, int64_t most)
{
    return (double)(1 + posref_draw_below(&p->draw, most));
}

/* Rows at these positions with the subject's inputs drawn. */
static enum posref_status lay_rows(struct posref_tensors *in, struct posref_property *p,
                                   const double *position, int64_t n, int64_t heads)
{
    *in = (struct posref_tensors){.n = 0};
    enum posref_status status = posref_property_positions(p, in, position, n);
    return status == POSREF_OK ? posref_property_draw(p, in, heads) : status;
}

/* Elements of one row of the answer's tensor. */
static int64_t width_of(const struct posref_property *p, int call, int tensor)
{
    const struct posref_tensor *t = &p->call[call]->vector.outputs.item[tensor];
    return t->shape[0] ? posref_tensor_count(t) / t->shape[0] : 0;
}

static int n_outputs(const struct posref_property *p)
{
    return p->call[0]->vector.outputs.n;
}

/* All inputs of a row equal those of another. */
static void copy_row(const struct posref_tensors *in, int64_t to, int64_t from)
{
    const struct posref_tensor *x = posref_tensors_find(in, "x");
    if (!x)
        return;
    const int64_t width = posref_tensor_count(x) / x->shape[0];
    double *row = x->data;
    memcpy(row + to * width, row + from * width, (size_t)width * sizeof *row);
}

static void same_rows(struct posref_property *p, int call_a, int64_t row_a, int call_b,
                      int64_t row_b)
{
    for (int t = 0; t < n_outputs(p); t++) {
        const int64_t width = width_of(p, call_a, t);
        for (int64_t k = 0; k < width; k++)
            posref_property_same(p, call_a, row_a * width + k, call_b, row_b * width + k, t);
    }
}

/* ---- position 0 changes nothing ---- */

enum posref_status posref_identity_ask(struct posref_property *p)
{
    static const double zeros[3] = {0};
    struct posref_tensors in;
    enum posref_status status = lay_rows(&in, p, zeros, 3, 0);
    return status == POSREF_OK ? posref_property_ask(p, p->spec, &in) : status;
}

void posref_identity_compare(struct posref_property *p)
{
    const struct posref_tensor *x = posref_tensors_find(&p->call[0]->vector.inputs, "x");
    for (int t = 0; t < n_outputs(p); t++) {
        const struct posref_tensor *y = &p->call[0]->vector.outputs.item[t];
        for (int64_t k = 0; k < posref_tensor_count(y); k++) {
            const double want = x ? ((const double *)x->data)[k] : strcmp(y->name, "cos") == 0;
            const struct posref_slack slack = posref_property_slack(p, 0, t, k, 1);
            posref_property_compare(p, 0, t, k, posref_property_got(p, 0, t, k), want, &slack);
        }
    }
}

/* ---- R(a) R(b) = R(a + b) ---- */

#define N_SUMS 4

/* Call 0: rows at b; call 1: the same rows at a + b; call 2: at a, what call 0 gave (tables: at a).
 * The positions are drawn the same way each time. */
static enum posref_status ask_sums(struct posref_property *p, bool tables)
{
    double a[N_SUMS], b[N_SUMS], both[N_SUMS];
    struct posref_tensors in;
    for (int k = 0; k < N_SUMS; k++) {
        a[k] = draw_position(p, 900);
        b[k] = draw_position(p, 900);
        both[k] = a[k] + b[k];
    }
    enum posref_status status = lay_rows(&in, p, b, N_SUMS, 0);
    if (status == POSREF_OK)
        status = posref_property_ask(p, p->spec, &in);
    struct posref_tensors summed = {.n = 0}, first = {.n = 0};
    if (status == POSREF_OK)
        status = posref_property_positions(p, &summed, both, N_SUMS);
    if (status == POSREF_OK)
        status = posref_property_positions(p, &first, a, N_SUMS);
    for (int i = 1; i < in.n; i++) /* all but the positions */
        summed.item[summed.n++] = in.item[i];
    if (status == POSREF_OK)
        status = posref_property_ask(p, p->spec, &summed);
    if (status == POSREF_OK && tables)
        return posref_property_ask(p, p->spec, &first);
    if (status == POSREF_OK) /* kept for the second wave */
        p->call[0]->vector.inputs.item[p->call[0]->vector.inputs.n] = first.item[0];
    return status;
}

enum posref_status posref_composition_ask(struct posref_property *p)
{
    return ask_sums(p, p->of->subject->op == POSREF_OP_TABLE);
}

enum posref_status posref_composition_more(struct posref_property *p)
{
    const struct posref_property_call *first = p->call[0];
    struct posref_tensors in = {.n = 1};
    if (p->of->subject->op == POSREF_OP_TABLE)
        return POSREF_OK;
    in.item[0] = first->vector.inputs.item[first->vector.inputs.n];
    in.item[in.n] = first->got.item[0];
    snprintf(in.item[in.n++].name, sizeof in.item[0].name, "x");
    return posref_property_ask(p, p->spec, &in);
}

/* u v of two answers, each off by its limit. */
static struct posref_slack product_slack(const struct posref_property *p, int call_a, int t_a,
                                         int call_b, int t_b, int64_t a, int64_t b)
{
    const double x = fabs(posref_property_got(p, call_a, t_a, a));
    const double y = fabs(posref_property_got(p, call_b, t_b, b));
    const struct posref_slack e = posref_property_slack(p, call_a, t_a, a, 1);
    const struct posref_slack f = posref_property_slack(p, call_b, t_b, b, 1);
    struct posref_slack out;
    for (int grade = 0; grade < POSREF_GRADE_FAIL; grade++)
        out.at[grade] = e.at[grade] * y + f.at[grade] * x + e.at[grade] * f.at[grade] +
                        0x1p-52 * x * y; /* the product here and its sum with another */
    return out;
}

/* cos(a + b) = cos a cos b - sin a sin b; sin(a + b) = sin a cos b + cos a sin b. */
static void compare_tables(struct posref_property *p)
{
    enum { COS, SIN, B = 0, SUM = 1, A = 2 };
    const int64_t n = posref_tensor_count(&p->call[0]->got.item[COS]);
    for (int t = COS; t <= SIN; t++)
        for (int64_t k = 0; k < n; k++) {
            const int other = t == COS ? SIN : COS; /* what sin b is multiplied by */
            const double u = posref_property_got(p, A, t, k) * posref_property_got(p, B, COS, k);
            const double v = posref_property_got(p, A, other, k) *
                             posref_property_got(p, B, SIN, k);
            struct posref_slack slack = product_slack(p, A, t, B, COS, k, k);
            slack = posref_slack_sum(slack, product_slack(p, A, other, B, SIN, k, k));
            slack = posref_slack_sum(slack, posref_property_slack(p, SUM, t, k, 1));
            posref_property_compare(p, SUM, t, k, t == COS ? u - v : u + v,
                                    posref_property_got(p, SUM, t, k), &slack);
        }
}

void posref_composition_compare(struct posref_property *p)
{
    if (p->of->subject->op == POSREF_OP_TABLE) {
        compare_tables(p);
        return;
    }
    for (int64_t k = 0; k < posref_tensor_count(&p->call[0]->got.item[0]); k++) {
        /* The error of call 0, sqrt(2) limits of a pair, is turned by call 2 and kept in length. */
        struct posref_slack slack = posref_property_slack(p, 0, 0, k, SQRT2);
        slack = posref_slack_sum(slack, posref_property_slack(p, 1, 0, k, 1));
        slack = posref_slack_sum(slack, posref_property_slack(p, 2, 0, k, 1));
        posref_property_compare(p, 2, 0, k, posref_property_got(p, 2, 0, k),
                                posref_property_got(p, 1, 0, k), &slack);
    }
}

/* ---- <R(m) q, R(n) k> depends on m - n ---- */

#define N_SHIFTS 5 /* of a pair of rows: 2 j is q, 2 j + 1 is k */

enum posref_status posref_relative_ask(struct posref_property *p)
{
    double position[2 * N_SHIFTS];
    const double m = draw_position(p, 300), n = draw_position(p, 300);
    struct posref_tensors in;
    double by = 0;
    for (int j = 0; j < N_SHIFTS; j++, by += draw_position(p, 300)) {
        position[2 * j] = m + by;
        position[2 * j + 1] = n + by;
    }
    enum posref_status status = lay_rows(&in, p, position, 2 * N_SHIFTS, 0);
    for (int j = 1; j < N_SHIFTS && status == POSREF_OK; j++) {
        copy_row(&in, 2 * j, 0);
        copy_row(&in, 2 * j + 1, 1);
    }
    return status == POSREF_OK ? posref_property_ask(p, p->spec, &in) : status;
}

/* The product of rows 2 j and 2 j + 1, and what it may be off by. */
static double row_product(struct posref_slack *slack, const struct posref_property *p, int64_t j)
{
    const int64_t width = width_of(p, 0, 0);
    double sum = 0, size = 0;
    *slack = (struct posref_slack){{0}};
    for (int64_t k = 0; k < width; k++) {
        const int64_t q = 2 * j * width + k, other = q + width;
        const double term = posref_property_got(p, 0, 0, q) * posref_property_got(p, 0, 0, other);
        sum += term;
        size += fabs(term);
        *slack = posref_slack_sum(*slack, product_slack(p, 0, 0, 0, 0, q, other));
    }
    *slack = posref_slack_more(*slack, (double)width * 0x1p-53 * size);
    return sum;
}

void posref_relative_compare(struct posref_property *p)
{
    struct posref_slack first, other;
    const double want = row_product(&first, p, 0);
    for (int64_t j = 1; j < N_SHIFTS; j++) {
        const double got = row_product(&other, p, j);
        const struct posref_slack slack = posref_slack_sum(first, other);
        posref_property_compare(p, 0, 0, 2 * j * width_of(p, 0, 0), got, want, &slack);
    }
}

/* ---- f(x + z) + f(0) = f(x) + f(z) ---- */

enum posref_status posref_linearity_ask(struct posref_property *p)
{
    double position[4];
    struct posref_tensors in;
    position[0] = draw_position(p, 255);
    for (int k = 1; k < 4; k++)
        position[k] = position[0];
    enum posref_status status = lay_rows(&in, p, position, 4, 0);
    if (status != POSREF_OK)
        return status;
    double *x = posref_property_data(&in, "x");
    const int64_t width = p->spec->dim;
    for (int64_t k = 0; k < width; k++) {
        x[2 * width + k] = x[k] + x[width + k]; /* multiples of 1/16 below 8: exact */
        x[3 * width + k] = 0;
    }
    return posref_property_ask(p, p->spec, &in);
}

void posref_linearity_compare(struct posref_property *p)
{
    const int64_t width = width_of(p, 0, 0);
    for (int64_t k = 0; k < width; k++) {
        struct posref_slack slack = {{0}};
        double y[4], size = 0;
        for (int row = 0; row < 4; row++) {
            y[row] = posref_property_got(p, 0, 0, row * width + k);
            size += fabs(y[row]);
            slack = posref_slack_sum(slack, posref_property_slack(p, 0, 0, row * width + k, 1));
        }
        slack = posref_slack_more(slack, 0x1p-52 * size);
        posref_property_compare(p, 0, 0, 2 * width + k, y[2] + y[3], y[0] + y[1], &slack);
    }
}

/* ---- the same row elsewhere ---- */

#define N_BATCH 67 /* beyond a block of 64 */
static const int64_t copies_of_first[] = {1, 31, 64, 66};
#define N_COPIES (sizeof copies_of_first / sizeof *copies_of_first)

enum posref_status posref_batch_ask(struct posref_property *p)
{
    double position[N_BATCH];
    struct posref_tensors in;
    for (int k = 0; k < N_BATCH; k++)
        position[k] = draw_position(p, 255);
    for (size_t j = 0; j < N_COPIES; j++)
        position[copies_of_first[j]] = position[0];
    enum posref_status status = lay_rows(&in, p, position, N_BATCH, 0);
    for (size_t j = 0; j < N_COPIES && status == POSREF_OK; j++)
        copy_row(&in, copies_of_first[j], 0);
    return status == POSREF_OK ? posref_property_ask(p, p->spec, &in) : status;
}

void posref_batch_compare(struct posref_property *p)
{
    p->bits_matter = true;
    for (size_t j = 0; j < N_COPIES; j++)
        same_rows(p, 0, 0, 0, copies_of_first[j]);
}

#define N_HEADS 12

enum posref_status posref_heads_ask(struct posref_property *p)
{
    double position[3];
    struct posref_tensors in;
    for (int k = 0; k < 3; k++)
        position[k] = draw_position(p, 255);
    enum posref_status status = lay_rows(&in, p, position, 3, N_HEADS);
    if (status != POSREF_OK)
        return status;
    double *x = posref_property_data(&in, "x");
    const size_t width = (size_t)p->spec->dim;
    for (size_t row = 0; row < 3; row++)
        for (size_t head = 1; head < N_HEADS; head++)
            memcpy(x + (row * N_HEADS + head) * width, x + row * N_HEADS * width,
                   width * sizeof *x);
    return posref_property_ask(p, p->spec, &in);
}

void posref_heads_compare(struct posref_property *p)
{
    const int64_t width = p->spec->dim;
    p->bits_matter = true;
    for (int64_t row = 0; row < 3; row++)
        for (int64_t head = 1; head < N_HEADS; head++)
            for (int64_t k = 0; k < width; k++)
                posref_property_same(p, 0, row * N_HEADS * width + k, 0,
                                     (row * N_HEADS + head) * width + k, 0);
}

/* ---- another base ---- */

enum posref_status posref_base_ask(struct posref_property *p)
{
    struct posref_spec *other = p->arena->alloc(p->arena->ctx, sizeof *other);
    const char *key = p->of->subject->other_base;
    char name[32];
    double position[3];
    struct posref_tensors in;
    if (!other)
        return posref_fail(p->err, POSREF_NO_MEMORY, "", "no memory");
    *other = *p->spec;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(key, "="), key);
    other->given[posref_field_find(name)] = false;
    enum posref_status status =
        posref_spec_set(other, name, key + strcspn(key, "=") + 1, p->err);
    for (int k = 0; k < 3; k++)
        position[k] = 64 + draw_position(p, 191);
    if (status == POSREF_OK)
        status = lay_rows(&in, p, position, 3, 0);
    if (status == POSREF_OK)
        status = posref_property_ask(p, p->spec, &in);
    return status == POSREF_OK ? posref_property_ask(p, other, &in) : status;
}

/* Where the two right answers are further apart than both limits of the worst grade together, equal
 * answers cannot both be honest. */
void posref_base_compare(struct posref_property *p)
{
    const enum posref_grade worst = posref_grade_worst(p->settings->dtype);
    const struct posref_tensors *a = &p->call[0]->vector.outputs, *b = &p->call[1]->vector.outputs;
    int64_t n_changed = 0;
    int last_t = 0;
    int64_t last_k = 0;
    for (int t = 0; t < a->n; t++)
        for (int64_t k = 0; k < posref_tensor_count(&a->item[t]); k++) {
            const double apart = fabs(((const double *)a->item[t].data)[k] -
                                      ((const double *)b->item[t].data)[k]);
            const struct posref_slack slack =
                posref_slack_sum(posref_property_slack(p, 0, t, k, 1),
                                 posref_property_slack(p, 1, t, k, 1));
            if (!(apart > slack.at[worst]))
                continue;
            n_changed += posref_property_got(p, 0, t, k) != posref_property_got(p, 1, t, k);
            last_t = t;
            last_k = k;
        }
    /* One comparison stands for all: 1 thing changes, or none. */
    const struct posref_slack none = {{0}};
    posref_property_compare(p, 1, last_t, last_k, n_changed > 0, 1, &none);
}

/* ---- there and back ---- */

enum posref_status posref_inverse_ask(struct posref_property *p)
{
    double position[N_SUMS];
    struct posref_tensors in;
    for (int k = 0; k < N_SUMS; k++)
        position[k] = draw_position(p, 1500);
    enum posref_status status = lay_rows(&in, p, position, N_SUMS, 0);
    return status == POSREF_OK ? posref_property_ask(p, p->spec, &in) : status;
}

enum posref_status posref_inverse_more(struct posref_property *p)
{
    struct posref_spec *back = p->arena->alloc(p->arena->ctx, sizeof *back);
    struct posref_tensors in = p->call[0]->vector.inputs;
    if (!back)
        return posref_fail(p->err, POSREF_NO_MEMORY, "", "no memory");
    *back = *p->spec;
    back->direction = POSREF_DIRECTION_INVERSE;
    for (int i = 0; i < in.n; i++)
        if (strcmp(in.item[i].name, "x") == 0)
            in.item[i].data = p->call[0]->got.item[0].data;
    return posref_property_ask(p, back, &in);
}

void posref_inverse_compare(struct posref_property *p)
{
    const double *x = posref_property_data(&p->call[0]->vector.inputs, "x");
    for (int64_t k = 0; k < posref_tensor_count(&p->call[0]->got.item[0]); k++) {
        const struct posref_slack slack =
            posref_slack_sum(posref_property_slack(p, 0, 0, k, SQRT2),
                             posref_property_slack(p, 1, 0, k, 1));
        posref_property_compare(p, 1, 0, k, posref_property_got(p, 1, 0, k), x[k], &slack);
    }
}
