/* SPDX-License-Identifier: Apache-2.0 */
/* The zoo of posref selftest: bad plugins, and what must become of each. They misbehave where dim
 * is 4 and are right elsewhere. Private to harness/. */
#ifndef POSREF_SELFTEST_H
#define POSREF_SELFTEST_H

#include "verdict.h"

#include <stdbool.h>

struct posref_bad_plugin {
    const char *name;            /* NAME.so in the zoo's directory; NULL ends the table */
    enum posref_verdict verdict; /* where dim is 4 */
    bool everywhere;             /* that verdict on every vector */
    const char *id, *here;       /* runs on ids that begin so, and has the verdict where they hold
                                  * this; NULL: the stored vectors, where dim is 4 */
    bool no_plugin;              /* refused as bad input: no run at all */
    const char *close;           /* verdict of closing it, NULL: pass */
    unsigned memory_mib;         /* its limit; 0: none */
    const char *what;            /* what it does, for people */
};
extern const struct posref_bad_plugin posref_zoo[];

#endif
