/* SPDX-License-Identifier: Apache-2.0 */
/* The list of schemes that the oracle knows: one line each, one file each. */
#include "oracle.h"

extern const struct oracle_scheme oracle_rope;
extern const struct oracle_scheme oracle_sinusoidal;
extern const struct oracle_scheme oracle_alibi;
extern const struct oracle_scheme oracle_timestep;
extern const struct oracle_scheme oracle_learned;
extern const struct oracle_scheme oracle_none;
extern const struct oracle_scheme oracle_fourier;
extern const struct oracle_scheme oracle_shaw;
extern const struct oracle_scheme oracle_transformer_xl;
extern const struct oracle_scheme oracle_relative_bias;
extern const struct oracle_scheme oracle_t5_bias;
extern const struct oracle_scheme oracle_deberta;
extern const struct oracle_scheme oracle_swin;
extern const struct oracle_scheme oracle_beit;
extern const struct oracle_scheme oracle_swinv2;
extern const struct oracle_scheme oracle_kerple;
extern const struct oracle_scheme oracle_fire;
extern const struct oracle_scheme oracle_sandwich;
extern const struct oracle_scheme oracle_cope;

const struct oracle_scheme *const oracle_schemes[] = {
    &oracle_rope,
    &oracle_sinusoidal,
    &oracle_alibi,
    &oracle_timestep,
    &oracle_learned,
    &oracle_none,
    &oracle_fourier,
    &oracle_shaw,
    &oracle_transformer_xl,
    &oracle_relative_bias,
    &oracle_t5_bias,
    &oracle_deberta,
    &oracle_swin,
    &oracle_beit,
    &oracle_swinv2,
    &oracle_kerple,
    &oracle_fire,
    &oracle_sandwich,
    &oracle_cope,
    NULL,
};
