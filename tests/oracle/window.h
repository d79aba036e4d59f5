/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the size of a window: "7" or "7,12" as height and width. */
#ifndef ORACLE_WINDOW_H
#define ORACLE_WINDOW_H

#include "oracle.h"

bool oracle_window(int64_t size[2], struct oracle_case *c, const char *key);

#endif
