/* SPDX-License-Identifier: Apache-2.0 */
/* A shared library that is no plugin. */
int mutant_without_entry(void);

int mutant_without_entry(void)
{
    return 0;
}
