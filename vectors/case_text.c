/* SPDX-License-Identifier: Apache-2.0 */
/* Case lists as text: what the digest program reads instead of the suites' JSON. */
#include "vectors/case.h"

#include <string.h>

#define FIRST_LINE "posref-cases 1"

void posref_cases_text(struct posref_buffer *out, const struct posref_case_list *list)
{
    posref_buffer_text(out, FIRST_LINE "\n");
    for (int i = 0; i < list->n_suites; i++)
        posref_buffer_printf(out, "suite %s %s\n", list->suite[i].name, list->suite[i].version);
    for (size_t i = 0; i < list->n; i++) {
        const struct posref_case *item = &list->item[i];
        posref_buffer_printf(out, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", item->suite, item->id, item->op,
                             item->spec, item->inputs, item->flags, item->source);
    }
}

/* Cuts the text at the first `mark` and moves past it; NULL when the text has none. */
static char *cut(char **text, char mark)
{
    char *begin = *text, *end = strchr(begin, mark);
    if (!end)
        return NULL;
    *end = '\0';
    *text = end + 1;
    return begin;
}

static bool parse_suite(struct posref_case_list *out, char *line)
{
    char *space = strchr(line, ' ');
    if (!space || out->n_suites == POSREF_MAX_SUITES)
        return false;
    *space = '\0';
    int n = out->n_suites++;
    if (strlen(line) >= sizeof out->suite[n].name ||
        strlen(space + 1) >= sizeof out->suite[n].version)
        return false;
    memcpy(out->suite[n].name, line, strlen(line) + 1);
    memcpy(out->suite[n].version, space + 1, strlen(space + 1) + 1);
    return true;
}

static bool parse_case(struct posref_case *out, char *line, int n_suites)
{
    const char *suite = cut(&line, '\t');
    const char **const member[] = {&out->id, &out->op, &out->spec, &out->inputs, &out->flags};
    for (size_t i = 0; suite && i < sizeof member / sizeof *member; i++)
        if (!(*member[i] = cut(&line, '\t')))
            suite = NULL;
    out->source = line;
    if (!suite || suite[0] < '0' || suite[0] >= '0' + n_suites || suite[1] || strchr(line, '\t'))
        return false;
    out->suite = suite[0] - '0';
    return true;
}

static enum posref_status fail_line(struct posref_error *err, size_t line)
{
    return posref_fail(err, POSREF_BAD_INPUT, "cases", "line %zu is not as a case list has it",
                       line);
}

enum posref_status posref_cases_parse(struct posref_case_list *out, char *text,
                                      const struct posref_arena *arena, struct posref_error *err)
{
    struct posref_case_list list = {.n = 0};
    size_t n_lines = 0, line_no = 1;
    for (const char *at = text; *at; at++)
        n_lines += *at == '\n';
    list.item = arena->alloc(arena->ctx, (n_lines + 1) * sizeof *list.item);
    if (!list.item)
        return posref_fail(err, POSREF_NO_MEMORY, "cases", "no memory");
    const char *first = cut(&text, '\n');
    if (!first || strcmp(first, FIRST_LINE) != 0)
        return posref_fail(err, POSREF_BAD_INPUT, "cases", "does not begin with '" FIRST_LINE "'");
    while (*text) {
        char *line = cut(&text, '\n');
        line_no++;
        if (!line)
            return fail_line(err, line_no);
        if (list.n == 0 && strncmp(line, "suite ", 6) == 0) {
            if (!parse_suite(&list, line + 6))
                return fail_line(err, line_no);
            continue;
        }
        struct posref_case *item = &list.item[list.n];
        if (!parse_case(item, line, list.n_suites) ||
            (list.n && strcmp(item[-1].id, item->id) >= 0))
            return fail_line(err, line_no);
        list.n++;
    }
    *out = list;
    return POSREF_OK;
}
