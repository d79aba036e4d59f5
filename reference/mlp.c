/* SPDX-License-Identifier: Apache-2.0 */
/* The networks of SwinV2 and FIRE. */
#include "mlp.h"

enum posref_status posref_mlp_read(struct posref_mlp *out, struct posref_job *job, int n_in,
                                   bool with_b2)
{
    const int64_t width = job->spec->mlp_width, heads = job->spec->num_heads;
    *out = (struct posref_mlp){.n_in = n_in, .width = (int)width, .heads = (int)heads};
    enum posref_status status =
        posref_job_input(&out->w1, job, "w1", 2, (const int64_t[]){width, n_in});
    if (status == POSREF_OK)
        status = posref_job_input(&out->b1, job, "b1", 1, &width);
    if (status == POSREF_OK)
        status = posref_job_input(&out->w2, job, "w2", 2, (const int64_t[]){heads, width});
    if (status == POSREF_OK && with_b2)
        status = posref_job_input(&out->b2, job, "b2", 1, &heads);
    if (status != POSREF_OK)
        return status;
    out->hidden = posref_job_alloc(job, (size_t)width, sizeof *out->hidden);
    return out->hidden ? POSREF_OK : POSREF_NO_MEMORY;
}

/* sum += weight * x */
static void add_product(struct posref_ball *sum, double weight, const struct posref_ball *x,
                        unsigned prec_bits)
{
    struct posref_ball term;
    posref_ball_set_double(&term, weight);
    posref_ball_mul(&term, &term, x, prec_bits);
    posref_ball_add(sum, sum, &term, prec_bits);
}

/* max(0, x), within the radius of max(0, midpoint). Certainly negative: exactly 0. */
static void rectify(struct posref_ball *x)
{
    struct posref_ball zero;
    posref_ball_set_int(&zero, 0);
    if (x->sign >= 0)
        return;
    if (posref_ball_compare(x, &zero) != -1) {
        zero.rad_man = x->rad_man;
        zero.rad_exponent = x->rad_exponent;
    }
    posref_ball_set(x, &zero);
}

void posref_mlp_hidden(const struct posref_mlp *mlp, const struct posref_ball *in,
                       unsigned prec_bits)
{
    for (int m = 0; m < mlp->width; m++) {
        posref_ball_set_double(&mlp->hidden[m], mlp->b1[m]);
        for (int c = 0; c < mlp->n_in; c++)
            add_product(&mlp->hidden[m], mlp->w1[m * mlp->n_in + c], &in[c], prec_bits);
        rectify(&mlp->hidden[m]);
    }
}

void posref_mlp_head(struct posref_ball *out, const struct posref_mlp *mlp, int h,
                     unsigned prec_bits)
{
    posref_ball_set_double(out, mlp->b2 ? mlp->b2[h] : 0);
    for (int m = 0; m < mlp->width; m++)
        add_product(out, mlp->w2[(int64_t)h * mlp->width + m], &mlp->hidden[m], prec_bits);
}
