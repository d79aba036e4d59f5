/* SPDX-License-Identifier: Apache-2.0 */
/* Failures in layouts of vectors that pass as they are: no spec explains them. */
#include "report_declined.h"

#include <string.h>

void posref_report_layouts(struct posref_buffer *out, const struct posref_tally *tally)
{
    bool plain = false;
    for (int k = 0; k < tally->n_groups; k++) {
        const struct posref_group *group = &tally->group[k];
        const bool laid = group->scaling[0] == '@';
        if (!laid && posref_group_has(group, POSREF_CELL_FAILED))
            return;
        plain = plain || (!laid && !group->property[0] &&
                          posref_group_has(group, POSREF_CELL_PASSED));
    }
    const char *before = "  Only layouts fail: ";
    for (int k = 0; k < tally->n_groups && plain; k++) {
        const struct posref_group *group = &tally->group[k];
        bool again = group->scaling[0] != '@' || !posref_group_has(group, POSREF_CELL_FAILED);
        for (int j = 0; j < k && !again; j++)
            again = strcmp(group->scaling, tally->group[j].scaling) == 0 &&
                    posref_group_has(&tally->group[j], POSREF_CELL_FAILED);
        if (again)
            continue;
        posref_buffer_printf(out, "%s%s", before, group->scaling + 1);
        before = ", ";
    }
    if (before[0] == ',')
        posref_buffer_text(out, "\n      Plain vectors pass: look at shapes and strides; "
                                "docs/plugin.md says what goes wrong with each.\n");
}
