/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a tenth of a second after the call, when there are no more calls. */
#define LATER_US 100000
#include "writes_later.h"
