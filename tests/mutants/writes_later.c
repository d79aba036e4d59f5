/* SPDX-License-Identifier: Apache-2.0 */
/* Writes two milliseconds after the call, when the next ones are made. */
#define LATER_US 2000
#include "writes_later.h"
