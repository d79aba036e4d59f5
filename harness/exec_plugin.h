/* SPDX-License-Identifier: Apache-2.0 */
/* Any program as a plugin: `exec:COMMAND`. The worker opens this plugin in place of a shared
 * library; it starts the command with /bin/sh and speaks the protocol of docs/plugin.md over its
 * standard input and output: safetensors documents, each after its length in 8 bytes (little
 * endian). What the command writes to stderr is captured as a plugin's output is. Private to
 * harness/. */
#ifndef POSREF_EXEC_PLUGIN_H
#define POSREF_EXEC_PLUGIN_H

#include "posref_plugin.h"

#define POSREF_EXEC_PREFIX "exec:"

/* The plugin that runs `command` (borrowed), and the state to hand to its functions; NULL: no
 * memory. Both live as long as the process. A command that ends during a call ends the worker alike
 * (by the same signal, or by exiting), which is what tells the parent; a reply that breaks the
 * protocol is an error of that call, and the command is started anew for the next one. */
const struct posref_plugin *posref_exec_plugin(void **state, const char *command);

#endif
