/* SPDX-License-Identifier: Apache-2.0 */
/* The list of schemes that the oracle knows: one line each, one file each. */
#include "oracle.h"

extern const struct oracle_scheme oracle_rope, oracle_sinusoidal, oracle_alibi, oracle_timestep,
    oracle_learned;

const struct oracle_scheme *const oracle_schemes[] = {
    &oracle_rope,
    &oracle_sinusoidal,
    &oracle_alibi,
    &oracle_timestep,
    &oracle_learned,
    NULL,
};
