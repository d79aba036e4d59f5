/* SPDX-License-Identifier: Apache-2.0 */
/* Biases as judged units: entries of learned tables, kernels of the distance, and networks;
 * docs/tolerance.md, "Biases". */
#include "judge_impl.h"

#include <math.h>

struct judge_unit *posref_judge_add_one(struct judge_case *c, int tensor, int64_t element, int head)
{
    struct judge_unit *unit = posref_judge_one(c, tensor, element);
    unit->moves = unit->want[0] != 0;
    unit->pair = head;
    return unit;
}

const double *posref_judge_input(const struct judge_case *c, const char *name)
{
    const struct posref_tensor *tensor = posref_tensors_find(c->inputs, name);
    return tensor ? tensor->data : NULL;
}

/* Positions of queries or keys; *n of them. */
const double *posref_judge_grid(const struct judge_case *c, const char *name, int64_t *n)
{
    const struct posref_tensor *tensor = posref_tensors_find(c->inputs, name);
    if (!tensor)
        tensor = posref_tensors_find(c->inputs, "positions");
    *n = tensor->shape[tensor->rank - 1];
    return tensor->data;
}

static int find_floats(const struct judge_case *c)
{
    for (int t = 0; t < c->golden->n; t++)
        if (c->golden->item[t].dtype == POSREF_F64)
            return t;
    return -1;
}

/* An entry of a table is copied: it equals the entry rounded to the dtype. -0 may be +0: products
 * with a row of ones and zeros look entries up as well. */
enum posref_status posref_judge_units_table(struct judge_case *c)
{
    const int tensor = find_floats(c);
    if (tensor < 0) /* integers alone */
        return POSREF_OK;
    const int64_t count = posref_tensor_count(&c->golden->item[tensor]);
    const int64_t per_head = count / c->golden->item[tensor].shape[0];
    enum posref_status status = posref_judge_allocate(c, count);
    for (int64_t k = 0; k < count && status == POSREF_OK; k++) {
        struct judge_unit *unit = posref_judge_add_one(c, tensor, k, (int)(k / per_head));
        const double want = posref_rounded(unit->want[0], c->dtype);
        unit->moves = true;
        if (!c->copies_hold || want == unit->got[0])
            continue;
        c->copies_hold = false;
        c->broken_copy = *unit;
    }
    return status;
}

/* What a row of units of the same shape [heads, n_q, n_k] is judged by. */
struct relative {
    const double *q, *k;
    int64_t n_q, n_k;
};

static enum posref_status open_relative(struct relative *out, struct judge_case *c)
{
    out->q = posref_judge_grid(c, "q_positions", &out->n_q);
    out->k = posref_judge_grid(c, "k_positions", &out->n_k);
    return posref_judge_allocate(c, c->spec->num_heads * out->n_q * out->n_k);
}

static double distance_of(const struct relative *r, int64_t k)
{
    return r->q[k / r->n_k % r->n_q] - r->k[k % r->n_k];
}

/* Relative error of a float32 kernel, in u. log: 1 + x, x = r2 n in two roundings, and the
 * logarithm of that: (2 x + 1 + x) / ((1 + x) ln(1 + x)); power: exp(r2 ln n) with the exponent off
 * by 3 u. */
static double kerple_k(const struct posref_spec *spec, double r2, double n)
{
    if (n == 0)
        return 0;
    if (spec->kernel == POSREF_KERNEL_LOG)
        return 4 + (1 + 3 * r2 * n) / ((1 + r2 * n) * log1p(r2 * n));
    return 4 + 3 * fabs(r2 * log(n));
}

enum posref_status posref_judge_units_kerple(struct judge_case *c)
{
    struct relative r;
    const double *r2 = posref_judge_input(c, "r2");
    enum posref_status status = open_relative(&r, c);
    for (int64_t k = 0; k < c->spec->num_heads * r.n_q * r.n_k && status == POSREF_OK; k++) {
        const int head = (int)(k / (r.n_q * r.n_k));
        struct judge_unit *unit = posref_judge_add_one(c, 0, k, head);
        unit->k = kerple_k(c->spec, r2[head], fabs(distance_of(&r, k)));
        unit->low = 2 * posref_unit(c->dtype); /* logarithm or power, and product, in the dtype */
    }
    return status;
}

/* Terms of a sum that cancels: against the sum of |cos| and dim/2, with the errors of the angles
 * and one rounding of each partial sum. The paper's form is the product of two embeddings, whose
 * angles are those of the query and of the key; a kernel may as well form their difference. */
enum posref_status posref_judge_units_sandwich(struct judge_case *c)
{
    const struct posref_spec *spec = c->spec;
    const double pairs = spec->dim / 2.0;
    struct relative r;
    enum posref_status status = open_relative(&r, c);
    for (int64_t k = 0; k < spec->num_heads * r.n_q * r.n_k && status == POSREF_OK; k++) {
        const int head = (int)(k / (r.n_q * r.n_k));
        const double turned = fabs(r.q[k / r.n_k % r.n_q]) + fabs(r.k[k % r.n_k]);
        struct judge_unit *unit = posref_judge_add_one(c, 0, k, head);
        unit->scale = 2 * pairs * spec->num_heads / (8.0 * (head + 1));
        unit->k = 6 + pairs;
        for (int i = 1; i <= spec->dim / 2; i++) {
            const double x = log(spec->base) * 2 * i / spec->dim;
            unit->k += (4 + 3 * x) * turned * exp(-x) / (2 * pairs);
            unit->recurrence += 2 * i * turned * exp(-x) / (2 * pairs);
        }
        unit->moves = distance_of(&r, k) != 0;
    }
    return status;
}

/* sum of |terms| of head h's output for the inputs `in`. */
static double network_terms(const struct judge_case *c, const double *in, int n_in, int h,
                            double *value)
{
    const double *w1 = posref_judge_input(c, "w1"), *b1 = posref_judge_input(c, "b1");
    const double *w2 = posref_judge_input(c, "w2"), *b2 = posref_judge_input(c, "b2");
    double terms = b2 ? fabs(b2[h]) : 0;
    *value = b2 ? b2[h] : 0;
    for (int m = 0; m < c->spec->mlp_width; m++) {
        double hidden = b1[m], size = fabs(b1[m]), weight = w2[h * c->spec->mlp_width + m];
        for (int i = 0; i < n_in; i++) {
            hidden += w1[m * n_in + i] * in[i];
            size += fabs(w1[m * n_in + i] * in[i]);
        }
        terms += fabs(weight) * size;
        *value += weight * fmax(0, hidden);
    }
    return terms;
}

static double swinv2_coordinate(const struct posref_spec *spec, int axis, double d)
{
    const int w = spec->given[POSREF_FIELD_PRETRAINED_WINDOW_SIZE]
                      ? spec->pretrained_window_size.item[axis] : spec->window_size.item[axis];
    return d == 0 ? 0 : copysign(log2(1 + 8 * fabs(d) / (w - 1)) / 3, d);
}

/* Inputs of the network for one pair of positions, and the relative error of a float32 one in u. */
static double network_inputs(double in[2], const struct posref_spec *spec,
                             const struct relative *r, int64_t pair)
{
    const int64_t i = pair / r->n_k % r->n_q, j = pair % r->n_k;
    if (spec->scheme == POSREF_SCHEME_SWINV2) {
        for (int axis = 0; axis < 2; axis++)
            in[axis] = swinv2_coordinate(spec, axis,
                                         r->q[axis * r->n_q + i] - r->k[axis * r->n_k + j]);
        return 8;
    }
    const double c = spec->log_scale, n = c * fabs(r->q[i] - r->k[j]);
    const double far = c * fmax(spec->threshold, r->q[i]);
    in[0] = log1p(n) / (log1p(far) + spec->epsilon);
    return 6 + (n > 0 ? (1 + 3 * n) / ((1 + n) * log1p(n)) : 0) +
           (1 + 3 * far) / ((1 + far) * log1p(far));
}

/* A hidden sum has n_in + 1 terms, the output mlp_width + 1; each partial sum is rounded. */
static enum posref_status network_bias(struct judge_case *c, int tensor)
{
    const struct posref_spec *spec = c->spec;
    const bool swin = spec->scheme == POSREF_SCHEME_SWINV2;
    const double u_low = posref_unit(c->dtype);
    struct relative r;
    enum posref_status status = open_relative(&r, c);
    for (int64_t k = 0; k < spec->num_heads * r.n_q * r.n_k && status == POSREF_OK; k++) {
        const int head = (int)(k / (r.n_q * r.n_k));
        struct judge_unit *unit = posref_judge_add_one(c, tensor, k, head);
        double in[2], value;
        const double of_inputs = network_inputs(in, spec, &r, k);
        const double terms = network_terms(c, in, swin ? 2 : 1, head, &value);
        unit->scale = terms;
        unit->k = of_inputs + 4 + spec->mlp_width;
        unit->low = 4 * u_low; /* inputs, hidden layer, products and sum in the dtype */
        if (swin) { /* d(16 sigmoid)/dv = bias (1 - bias/16), then the sigmoid's own error */
            const double bias = unit->want[0];
            unit->scale = bias * (1 - bias / 16) * terms + bias;
        }
        unit->moves = true;
    }
    return status;
}

/* Coordinates of swinv2: relative to their own size, in two roundings and a logarithm. */
static enum posref_status coordinates(struct judge_case *c, int tensor)
{
    const int64_t count = posref_tensor_count(&c->golden->item[tensor]);
    enum posref_status status = posref_judge_allocate(c, count);
    for (int64_t k = 0; k < count && status == POSREF_OK; k++) {
        struct judge_unit *unit = posref_judge_add_one(c, tensor, k, -1);
        const double x = exp2(3 * fabs(unit->want[0])) - 1;
        unit->k = x > 0 ? 6 + (1 + 4 * x) / ((1 + x) * log1p(x)) : 0;
        unit->low = 2 * posref_unit(c->dtype);
    }
    return status;
}

enum posref_status posref_judge_units_network(struct judge_case *c)
{
    const int tensor = find_floats(c);
    if (tensor < 0)
        return POSREF_OK;
    return c->op == POSREF_OP_TABLE ? coordinates(c, tensor) : network_bias(c, tensor);
}
