/* SPDX-License-Identifier: Apache-2.0 */
/* Text from outside, made safe to print and to put into JSON. Private to harness/. */
#ifndef POSREF_PLUGIN_TEXT_H
#define POSREF_PLUGIN_TEXT_H

/* In place: control characters but for line ends become spaces, bytes that are no UTF-8 become
 * question marks. one_line: line ends become spaces too. */
void posref_plugin_text_clean(char *text, int one_line);

#endif
