/* SPDX-License-Identifier: Apache-2.0 */
/* Gives other bits each time, within any tolerance, and says so. */
#define MUTANT_FLAGS POSREF_PLUGIN_VARIES
#include "varies.c"
