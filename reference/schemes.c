/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of schemes and the table of ops. */
#include "scheme.h"

#include <string.h>

static const struct posref_scheme_def *const schemes[POSREF_N_SCHEMES] = {
    [POSREF_SCHEME_ROPE] = &posref_rope,
    [POSREF_SCHEME_SINUSOIDAL] = &posref_sinusoidal,
    [POSREF_SCHEME_ALIBI] = &posref_alibi,
    [POSREF_SCHEME_TIMESTEP] = &posref_timestep,
    [POSREF_SCHEME_LEARNED] = &posref_learned,
    [POSREF_SCHEME_NONE] = &posref_none,
    [POSREF_SCHEME_FOURIER] = &posref_fourier,
    [POSREF_SCHEME_SHAW] = &posref_shaw,
    [POSREF_SCHEME_TRANSFORMER_XL] = &posref_transformer_xl,
    [POSREF_SCHEME_T5_BIAS] = &posref_t5_bias,
    [POSREF_SCHEME_RELATIVE_BIAS] = &posref_relative_bias,
    [POSREF_SCHEME_DEBERTA] = &posref_deberta,
    [POSREF_SCHEME_SWIN] = &posref_swin,
    [POSREF_SCHEME_BEIT] = &posref_beit,
    [POSREF_SCHEME_SWINV2] = &posref_swinv2,
    [POSREF_SCHEME_KERPLE] = &posref_kerple,
    [POSREF_SCHEME_FIRE] = &posref_fire,
    [POSREF_SCHEME_SANDWICH] = &posref_sandwich,
    [POSREF_SCHEME_COPE] = &posref_cope,
};

static const char *const ops[POSREF_N_OPS] = {
    [POSREF_OP_ALL] = "all",       [POSREF_OP_FREQUENCIES] = "frequencies",
    [POSREF_OP_TABLE] = "table",   [POSREF_OP_ROTATE] = "rotate",
    [POSREF_OP_ROTATE_BACKWARD] = "rotate_backward",
    [POSREF_OP_EMBED] = "embed",   [POSREF_OP_BIAS] = "bias",
    [POSREF_OP_WEIGHTS] = "weights", [POSREF_OP_SCORES] = "scores",
    [POSREF_OP_ATTENTION] = "attention",
    [POSREF_OP_INDEX] = "index",
};

const struct posref_scheme_def *posref_scheme_def(int scheme)
{
    return schemes[scheme];
}

const struct posref_scheme_info *posref_scheme_info(enum posref_scheme scheme)
{
    return &schemes[scheme]->info;
}

const char *posref_op_name(enum posref_op op)
{
    return ops[op];
}

int posref_op_find(const char *name)
{
    for (int op = 0; op < POSREF_N_OPS; op++)
        if (strcmp(ops[op], name) == 0)
            return op;
    return -1;
}

bool posref_op_applies(enum posref_op op, const struct posref_spec *spec)
{
    if (op == POSREF_OP_SCORES || op == POSREF_OP_ATTENTION)
        return schemes[spec->scheme]->attention != NULL;
    return op == POSREF_OP_ALL || (schemes[spec->scheme]->ops >> op & 1U) != 0;
}
