/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin declined: see report_declined.h. A row of dashes each would fill a screen. */
#include "report_declined.h"

#include <string.h>

#define COLUMNS 96

bool posref_group_is_declined(const struct posref_group *group)
{
    return !group->property[0] && posref_group_has(group, POSREF_CELL_DECLINED) &&
           !posref_group_has(group, POSREF_CELL_PASSED) &&
           !posref_group_has(group, POSREF_CELL_FAILED);
}

static bool same_op(const struct posref_group *a, const struct posref_group *b)
{
    return !b->property[0] && strcmp(a->scheme, b->scheme) == 0 && strcmp(a->op, b->op) == 0;
}

/* Appends before and word, on a new line where this one is full; *column is kept. */
static void add_word(struct posref_buffer *out, size_t *column, const char *before,
                     const char *word)
{
    const size_t length = strlen(before) + strlen(word);
    const char *mark = before[strspn(before, ",;")] == ' ' ? before : "";
    if (*column + length > COLUMNS && *mark) {
        posref_buffer_printf(out, "%.*s\n         ", (int)strspn(before, ",;"), before);
        before += strspn(before, ",; ");
        *column = 9;
    }
    posref_buffer_printf(out, "%s%s", before, word);
    *column += strlen(before) + strlen(word);
}

/* One op, with its declined scalings in brackets where others were not declined. */
static void add_op(struct posref_buffer *out, size_t *column, const struct posref_tally *tally,
                   int first, const char *before)
{
    const struct posref_group *group = &tally->group[first];
    bool all = true;
    for (int k = 0; k < tally->n_groups; k++)
        if (same_op(group, &tally->group[k]))
            all = all && posref_group_is_declined(&tally->group[k]);
    add_word(out, column, before, group->op);
    const char *separator = " (";
    for (int k = 0; k < tally->n_groups && !all; k++) {
        if (!same_op(group, &tally->group[k]) || !posref_group_is_declined(&tally->group[k]))
            continue;
        add_word(out, column, separator, tally->group[k].scaling);
        separator = ", ";
    }
    if (!all)
        add_word(out, column, "", ")");
}

/* Whether a declined group before k has the scheme, and with_op the op too. */
static bool came_before(const struct posref_tally *tally, int k, bool with_op)
{
    const struct posref_group *group = &tally->group[k];
    for (int j = 0; j < k; j++)
        if (posref_group_is_declined(&tally->group[j]) &&
            (with_op ? same_op(group, &tally->group[j])
                     : strcmp(group->scheme, tally->group[j].scheme) == 0))
            return true;
    return false;
}

void posref_report_declined(struct posref_buffer *out, const struct posref_tally *tally)
{
    size_t column = 0;
    const char *before = "declined ";
    for (int s = 0; s < tally->n_groups; s++) {
        if (!posref_group_is_declined(&tally->group[s]) || came_before(tally, s, false))
            continue;
        add_word(out, &column, before, tally->group[s].scheme);
        before = " ";
        for (int k = s; k < tally->n_groups; k++) {
            if (!posref_group_is_declined(&tally->group[k]) || came_before(tally, k, true) ||
                strcmp(tally->group[k].scheme, tally->group[s].scheme) != 0)
                continue;
            add_op(out, &column, tally, k, before);
            before = ", ";
        }
        before = "; ";
    }
    posref_buffer_text(out, column ? "\n\n" : "");
}
