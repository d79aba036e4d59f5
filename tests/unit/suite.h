/* SPDX-License-Identifier: Apache-2.0 */
/* How every unit test ends its main. */
#ifndef POSREF_TESTS_SUITE_H
#define POSREF_TESTS_SUITE_H

#include <check.h>

/* Runs a suite in this process, so that sanitizers, valgrind and debuggers see it; returns the
 * program's exit code. Takes the suite. */
int run_suite(Suite *suite);

#endif
