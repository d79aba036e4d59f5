/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's entry: `posref --worker PLUGIN CONFIG`, started by the runner and by nobody else.
 * Private to harness/ and posref.c. */
#ifndef POSREF_WORKER_H
#define POSREF_WORKER_H

#define POSREF_WORKER_ARGUMENT "--worker"

/* argv: --worker, the plugin's path, its config text. The descriptors are those of wire.h. */
int posref_worker_main(int argc, char **argv);

#endif
