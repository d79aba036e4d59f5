/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of harness/, one a cmd_NAME.c. Private to the room. */
#ifndef POSREF_HARNESS_COMMANDS_H
#define POSREF_HARNESS_COMMANDS_H

int posref_cmd_test(int argc, char **argv);
int posref_cmd_identify(int argc, char **argv);
int posref_cmd_explain(int argc, char **argv);
int posref_cmd_faults(int argc, char **argv);
int posref_cmd_export(int argc, char **argv);
int posref_cmd_selftest(int argc, char **argv);
int posref_cmd_merge(int argc, char **argv);

#endif
