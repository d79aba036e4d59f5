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
    NULL,
};
