/* SPDX-License-Identifier: Apache-2.0 */
/* The report as Markdown, for step summaries and comments. */
#include "profile.h"
#include "report_arithmetic.h"
#include "report_fields.h"

/* Text in a table or a sentence; code spans take the rest. */
static void add_escaped(struct posref_buffer *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("\\`*_{}[]<>#|!&", *text))
            posref_buffer_text(out, "\\");
        posref_buffer_add(out, *text == '\n' ? " " : text, 1);
    }
}

static void add_code(struct posref_buffer *out, const char *text)
{
    posref_buffer_text(out, strchr(text, '`') ? "`` " : "`");
    posref_buffer_text(out, text);
    posref_buffer_text(out, strchr(text, '`') ? " ``" : "`");
}

static void add_counts(struct posref_buffer *out, const struct posref_cell *cell)
{
    char text[32];
    switch (posref_cell_look(text, cell)) {
    case POSREF_CELL_EMPTY: posref_buffer_text(out, " |"); break;
    case POSREF_CELL_DECLINED: posref_buffer_text(out, " declined |"); break;
    case POSREF_CELL_PASSED: posref_buffer_printf(out, " %s |", text); break;
    case POSREF_CELL_FAILED: posref_buffer_printf(out, " **%s** |", text); break;
    }
}

static void add_table(struct posref_buffer *out, const struct posref_tally *tally)
{
    const int n_dtypes = posref_tally_columns(tally);
    posref_buffer_text(out, "| scheme | op | scaling or property |");
    for (int d = 0; d < n_dtypes; d++)
        posref_buffer_printf(out, " %s |", posref_dtype_name((enum posref_dtype)d));
    posref_buffer_text(out, "\n|---|---|---|");
    for (int d = 0; d < n_dtypes; d++)
        posref_buffer_text(out, "---|");
    posref_buffer_text(out, "\n");
    for (int k = 0; k < tally->n_groups; k++) {
        const struct posref_group *group = &tally->group[k];
        char label[48];
        posref_buffer_printf(out, "| %s | %s | %s |", group->scheme, group->op,
                             posref_group_label(label, group));
        for (int d = 0; d < n_dtypes; d++)
            add_counts(out, &group->cell[d]);
        posref_buffer_text(out, "\n");
    }
}

static void draw_arithmetic(void *ctx, const char *scheme,
                            const json_t *const entry[POSREF_N_FLOATS])
{
    struct posref_buffer *out = ctx;
    posref_buffer_printf(out, "\n### Arithmetic: %s\n\n", scheme);
    for (int d = 0; d < POSREF_N_FLOATS; d++) {
        if (!entry[d])
            continue;
        posref_buffer_printf(out, "- %s: ", posref_dtype_name((enum posref_dtype)d));
        posref_arithmetic_escaped(out, entry[d], add_escaped);
        posref_buffer_text(out, "\n");
    }
    posref_buffer_text(out, "\n| position |");
    for (int d = 0; d < POSREF_N_FLOATS; d++)
        if (entry[d])
            posref_buffer_printf(out, " %s: worst | 99.9 %% | bias |",
                                 posref_dtype_name((enum posref_dtype)d));
    posref_buffer_text(out, "\n|---|");
    for (int d = 0; d < POSREF_N_FLOATS; d++)
        posref_buffer_text(out, entry[d] ? "---|---|---|" : "");
    posref_buffer_text(out, "\n");
    for (int bin = 0; bin < POSREF_PROFILE_BINS; bin++) {
        char label[64];
        if (!posref_arithmetic_has(entry, bin))
            continue;
        posref_profile_label(label, bin);
        posref_buffer_printf(out, "| %s |", label);
        for (int d = 0; d < POSREF_N_FLOATS; d++) {
            const json_t *decade = posref_arithmetic_decade(entry[d], bin);
            if (decade)
                posref_buffer_printf(out, " %.1e | %.1e | %+.1e |", number_of(decade, "worst"),
                                     posref_decade_most(decade), posref_decade_bias(decade));
            else
                posref_buffer_text(out, entry[d] ? " | | |" : "");
        }
        posref_buffer_text(out, "\n");
    }
}

/* Runners-up are no claims: they are left to --report json. */
static void add_explanations(struct posref_buffer *out, const json_t *footer)
{
    const json_t *list = json_object_get(footer, "explanations");
    int64_t open = integer_of(footer, "unexplained");
    size_t n = json_array_size(list);
    if (n == 0 && open == 0)
        return;
    posref_buffer_text(out, "\n### Why\n\n");
    for (size_t k = 0; k < n && k < 10; k++) {
        struct posref_buffer text;
        posref_buffer_init(&text, 1 << 16);
        if (posref_claim_text(&text, json_array_get(list, k)) && !text.failed) {
            posref_buffer_text(out, "- ");
            add_escaped(out, text.data);
            posref_buffer_text(out, "\n");
        }
        posref_buffer_clear(&text);
    }
    if (open > 0)
        posref_buffer_printf(out, "- %lld failing vectors show no known fault.\n",
                             (long long)open);
}

static void add_failures(struct posref_buffer *out, const struct posref_tally *tally)
{
    if (tally->n_failures == 0)
        return;
    posref_buffer_printf(out, "\n### Failures (%lld)\n\n| vector | dtype | verdict | repeat |\n"
                         "|---|---|---|---|\n", (long long)tally->n_failures);
    for (int k = 0; k < POSREF_FIRST_FAILURES && tally->failure[k]; k++) {
        const json_t *line = tally->failure[k];
        posref_buffer_text(out, "| ");
        add_code(out, text_of(line, "id"));
        posref_buffer_printf(out, " | %s | %s | ", text_of(line, "dtype"),
                             text_of(line, "verdict"));
        posref_line_repeat(out, tally, line, add_code, "<br>");
        posref_buffer_text(out, " |\n");
    }
}

void posref_report_markdown(struct posref_buffer *out, const struct posref_tally *tally)
{
    const json_t *plugin = json_object_get(tally->header, "plugin");
    const json_t *suite = json_object_get(tally->header, "suite");
    const bool pass = strcmp(text_of(tally->footer, "verdict"), "pass") == 0;
    posref_buffer_printf(out, "## posref: %s, grade %s\n\n", pass ? "pass" : "fail",
                         text_of(tally->footer, "grade"));
    add_code(out, text_of(plugin, "path"));
    posref_buffer_printf(out, " on suite %s %s (`%.12s`), %lld vectors\n\n",
                         text_of(suite, "name"), text_of(suite, "version"),
                         text_of(suite, "digest"), (long long)integer_of(tally->header, "vectors"));
    add_table(out, tally);
    add_explanations(out, tally->footer);
    add_failures(out, tally);
    posref_arithmetic_each(tally, draw_arithmetic, out);
}
