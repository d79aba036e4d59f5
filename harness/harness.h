/* SPDX-License-Identifier: Apache-2.0 */
/* The front door of harness/: judging an implementation, explaining, reporting. The plugin ABI is
 * posref_plugin.h, which plugins include instead of this. */
#ifndef POSREF_HARNESS_H
#define POSREF_HARNESS_H

#include "check.h"
#include "faults_front.h"
#include "vectors/vectors.h"
#include "worker.h"

extern const struct posref_command posref_harness_commands[];

#endif
