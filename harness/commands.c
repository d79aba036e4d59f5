/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of this room. */
#include "harness.h"
#include "commands.h"
#include "weights.h"

const struct posref_command posref_harness_commands[] = {
    {"test", "judge an implementation on the vectors that match", posref_cmd_test},
    {"identify", "measure what an implementation computes, as a spec", posref_cmd_identify},
    {"explain", "judge and explain a saved output", posref_cmd_explain},
    {"faults", "known faults, or those that one vector catches", posref_cmd_faults},
    {"export", "prompts without answers, for devices that cannot load a plugin",
     posref_cmd_export},
    {"merge", "join the reports of shards; every vector exactly once, or it fails",
     posref_cmd_merge},
    {"selftest", "the built-in bad plugins must all be caught", posref_cmd_selftest},
    {"weights", "check, permute or guess the row order of q and k in checkpoints",
     posref_cmd_weights},
    {NULL, NULL, NULL},
};
