/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a run for people. */
#include "profile.h"
#include "report_arithmetic.h"
#include "report_declined.h"
#include "report_fields.h"

#include <inttypes.h>

static void add_gates(struct posref_buffer *out, const json_t *gates)
{
    const char *dtype, *separator = "";
    json_t *gate;
    json_object_foreach((json_t *)(uintptr_t)gates, dtype, gate) {
        posref_buffer_printf(out, "%s%s %s", separator, dtype, json_string_value(gate));
        separator = ", ";
    }
}

static void add_head(struct posref_buffer *out, const json_t *header)
{
    const json_t *plugin = json_object_get(header, "plugin");
    const json_t *suite = json_object_get(header, "suite");
    const char *filter = text_of(header, "filter"), *config = text_of(plugin, "config");
    posref_buffer_printf(out, "plugin   %s: %s %s\n", text_of(plugin, "path"),
                         text_of(plugin, "name"), text_of(plugin, "version"));
    if (*config)
        posref_buffer_printf(out, "config   %s\n", config);
    posref_buffer_printf(out, "suite    %s %s (%.12s...), %" PRId64 " vectors%s%s\n",
                         text_of(suite, "name"), text_of(suite, "version"),
                         text_of(suite, "digest"), integer_of(header, "vectors"),
                         *filter ? " for " : "", filter);
    posref_buffer_text(out, "gates    ");
    add_gates(out, json_object_get(header, "gates"));
    if (json_object_get(header, "nonce") && integer_of(header, "vectors") > 1) /* or no order */
        posref_buffer_printf(out, "\nnonce    %s", text_of(header, "nonce"));
    posref_buffer_text(out, "\n\n");
}

/* Without the padding of the last column. */
static void end_line(struct posref_buffer *out)
{
    while (out->length > 0 && out->data[out->length - 1] == ' ')
        out->length--;
    posref_buffer_text(out, "\n");
}

static void add_cells(struct posref_buffer *out, const struct posref_group *group,
                      const bool used[POSREF_N_FLOATS])
{
    char cell[32];
    for (int d = 0; d < POSREF_N_FLOATS; d++) {
        if (posref_cell_look(cell, &group->cell[d]) == POSREF_CELL_DECLINED)
            snprintf(cell, sizeof cell, "-");
        if (used[d])
            posref_buffer_printf(out, "%-*s", POSREF_TEXT_CELL, cell);
    }
    end_line(out);
}

static void add_row(struct posref_buffer *out, const struct posref_group *group, const char *label,
                    const bool used[POSREF_N_FLOATS])
{
    const size_t begin = out->length;
    posref_buffer_printf(out, "%-11s %-11s %s ", group->scheme, group->op, label);
    while (out->length < begin + POSREF_TEXT_FIRST_CELL)
        posref_buffer_text(out, " ");
    add_cells(out, group, used);
}

/* The dtypes that the run has. */
static void add_dtypes(struct posref_buffer *out, const char *title, bool used[POSREF_N_FLOATS],
                       const struct posref_tally *tally)
{
    for (int k = 0; k < tally->n_groups; k++)
        for (int d = 0; d < POSREF_N_FLOATS; d++)
            used[d] = used[d] || tally->group[k].cell[d].n > 0;
    posref_buffer_printf(out, "%-*s", POSREF_TEXT_FIRST_CELL, title);
    for (int d = 0; d < POSREF_N_FLOATS; d++)
        if (used[d])
            posref_buffer_printf(out, "%-*s", POSREF_TEXT_CELL,
                                 posref_dtype_name((enum posref_dtype)d));
    end_line(out);
}

static void add_groups(struct posref_buffer *out, const struct posref_tally *tally)
{
    bool used[POSREF_N_FLOATS] = {false}, any = false;
    for (int k = 0; k < tally->n_groups; k++) {
        if (tally->group[k].property[0] || posref_group_is_declined(&tally->group[k]))
            continue;
        if (!any)
            add_dtypes(out, "passed, worst grade", used, tally);
        any = true;
        add_row(out, &tally->group[k], tally->group[k].scaling, used);
    }
    posref_buffer_text(out, any ? "\n" : "");
    posref_report_declined(out, tally);
}

/* Adds the cells of one property to those of others. */
static void add_up(struct posref_group *sum, const struct posref_group *group)
{
    for (int d = 0; d < POSREF_N_FLOATS; d++) {
        const struct posref_cell *from = &group->cell[d];
        struct posref_cell *to = &sum->cell[d];
        to->n += from->n;
        for (int v = 0; v < POSREF_N_VERDICTS; v++)
            to->verdict[v] += from->verdict[v];
        if (from->n_judged > 0 && (to->n_judged == 0 || from->grade > to->grade))
            to->grade = from->grade;
        to->n_judged += from->n_judged;
    }
}

static bool same_op(const struct posref_group *a, const struct posref_group *b)
{
    return a->property[0] && b->property[0] && strcmp(a->scheme, b->scheme) == 0 &&
           strcmp(a->op, b->op) == 0;
}

/* The properties of the group's op that hold, as one row; groups before it have none of that op. */
static void add_sum(struct posref_buffer *out, const struct posref_tally *tally, int group,
                    const bool used[POSREF_N_FLOATS])
{
    struct posref_group sum = tally->group[group];
    char label[32];
    int n = 0;
    memset(sum.cell, 0, sizeof sum.cell);
    for (int j = group; j < tally->n_groups; j++) {
        const struct posref_group *other = &tally->group[j];
        if (!same_op(&sum, other) || posref_group_has(other, POSREF_CELL_FAILED) ||
            !posref_group_has(other, POSREF_CELL_PASSED))
            continue;
        add_up(&sum, other);
        n++;
    }
    snprintf(label, sizeof label, "%d hold", n);
    if (n > 0)
        add_row(out, &sum, label, used);
}

/* All properties of a scheme's op that hold in one row, each that does not in one of its own. */
static void add_properties(struct posref_buffer *out, const struct posref_tally *tally)
{
    bool used[POSREF_N_FLOATS] = {false}, any = false;
    for (int k = 0; k < tally->n_groups; k++)
        any = any || (tally->group[k].property[0] &&
                      (posref_group_has(&tally->group[k], POSREF_CELL_PASSED) ||
                       posref_group_has(&tally->group[k], POSREF_CELL_FAILED)));
    if (!any)
        return;
    add_dtypes(out, "properties", used, tally);
    for (int k = 0; k < tally->n_groups; k++) {
        const struct posref_group *group = &tally->group[k];
        bool first = group->property[0] != '\0';
        for (int j = 0; j < k; j++)
            first = first && !same_op(group, &tally->group[j]);
        if (group->property[0] && posref_group_has(group, POSREF_CELL_FAILED))
            add_row(out, group, group->property, used);
        if (first)
            add_sum(out, tally, k, used);
    }
    posref_buffer_text(out, "\n");
}

static void add_place(struct posref_buffer *out, const json_t *at)
{
    const json_t *index = json_object_get(at, "index");
    posref_buffer_printf(out, "%s[", text_of(at, "tensor"));
    for (size_t k = 0; k < json_array_size(index); k++)
        posref_buffer_printf(out, "%s%" PRId64, k ? "," : "",
                             (int64_t)json_integer_value(json_array_get(index, k)));
    if (!index)
        posref_buffer_printf(out, "%" PRId64, integer_of(at, "element"));
    posref_buffer_text(out, "]");
}

/* "y[3,17] (pair 17, position 4095): got 0.1, want 0.2, error 31 u, 1.2 of its limit" */
static void add_error(struct posref_buffer *out, const json_t *worst)
{
    const json_t *pair = json_object_get(worst, "pair"), *at = json_object_get(worst, "position");
    add_place(out, worst);
    if (pair || at)
        posref_buffer_text(out, " (");
    if (pair)
        posref_buffer_printf(out, "%s %" PRId64, at ? "pair" : "number",
                             (int64_t)json_integer_value(pair));
    if (at)
        posref_buffer_printf(out, "%sposition %.10g", pair ? ", " : "", json_number_value(at));
    posref_buffer_printf(out, "%s: got %.9g, want %.9g", pair || at ? ")" : "",
                         number_of(worst, "got"), number_of(worst, "want"));
    double limits = number_of(worst, "error_limits");
    if (limits < 1e6)
        posref_buffer_printf(out, ", error %.3g u, %.3g of its limit", number_of(worst, "error_u"),
                             limits);
}

static void add_worst(struct posref_buffer *out, const struct posref_tally *tally)
{
    if (!tally->worst)
        return;
    posref_buffer_printf(out, "worst    %s %s\n         ", text_of(tally->worst, "id"),
                         text_of(tally->worst, "dtype"));
    add_error(out, json_object_get(tally->worst, "worst"));
    posref_buffer_text(out, "\n");
}

static void add_judged(struct posref_buffer *out, const json_t *footer)
{
    int64_t compared = integer_of(footer, "compared"), judged = integer_of(footer, "judged");
    if (compared == 0)
        return;
    posref_buffer_printf(out, "judged   %" PRId64 " of %" PRId64 " pairs and elements (%.1f %%); "
                         "the rest were compared, but\n         do not move or have limits beyond "
                         "1/8 of their size\n", judged, compared,
                         100.0 * (double)judged / (double)compared);
}

/* One decade of every dtype there is. */
static void add_decade(struct posref_buffer *out, const json_t *const entry[POSREF_N_FLOATS],
                       int bin)
{
    char label[64];
    posref_profile_label(label, bin);
    posref_buffer_printf(out, "%-23s", label);
    for (int d = 0; d < POSREF_N_FLOATS; d++) {
        const json_t *decade = posref_arithmetic_decade(entry[d], bin);
        if (decade)
            posref_buffer_printf(out, "%11.1e%9.1e%+10.1e   ", number_of(decade, "worst"),
                                 posref_decade_most(decade), posref_decade_bias(decade));
        else if (entry[d])
            posref_buffer_printf(out, "%33s", "");
    }
    end_line(out);
}

/* Recipe and validity of each dtype, then a line a decade. */
static void draw_arithmetic(void *ctx, const char *scheme,
                            const json_t *const entry[POSREF_N_FLOATS])
{
    struct posref_buffer *out = ctx;
    char indented[64];
    posref_buffer_text(out, "\n");
    for (int d = 0; d < POSREF_N_FLOATS; d++) {
        const char *dtype = posref_dtype_name((enum posref_dtype)d);
        if (!entry[d])
            continue;
        snprintf(indented, sizeof indented, "\n%*s", (int)(strlen(scheme) + strlen(dtype) + 3), "");
        posref_buffer_printf(out, "%s %s: ", scheme, dtype);
        posref_arithmetic_text(out, entry[d], indented);
        posref_buffer_text(out, "\n");
    }
    posref_buffer_printf(out, "%-23s", "error at position");
    for (int d = 0; d < POSREF_N_FLOATS; d++)
        if (entry[d])
            posref_buffer_printf(out, "%4s: worst   99.9 %%      bias   ",
                                 posref_dtype_name((enum posref_dtype)d));
    end_line(out);
    for (int bin = 0; bin < POSREF_PROFILE_BINS; bin++)
        if (posref_arithmetic_has(entry, bin))
            add_decade(out, entry, bin);
}

/* What explains this vector, or NULL. */
static const char *explained(const struct posref_tally *tally, const json_t *line)
{
    const json_t *list = json_object_get(tally->footer, "sentences");
    for (size_t k = 0; k < json_array_size(list); k++) {
        const json_t *said = json_array_get(list, k);
        if (strcmp(text_of(said, "id"), text_of(line, "id")) == 0 &&
            strcmp(text_of(said, "dtype"), text_of(line, "dtype")) == 0)
            return text_of(said, "summary");
    }
    return NULL;
}

/* No single element shows what the means do. */
static void add_mean(struct posref_buffer *out, const json_t *line, const char *breach)
{
    const bool norm = strcmp(breach, posref_breach_text(POSREF_BREACH_NORM_BIAS)) == 0;
    double u = number_of(line, norm ? "norm_bias_u" : "bias_u");
    double unit = posref_unit((enum posref_dtype)posref_dtype_find(text_of(line, "dtype")));
    if (norm)
        posref_buffer_printf(out, "     norm / expected norm is %.6g on average (%+.3g u); the "
                             "worst element:\n", 1 + u * unit, u);
    else if (strcmp(breach, posref_breach_text(POSREF_BREACH_BIAS)) == 0)
        posref_buffer_printf(out, "     errors away from zero, on average, are %+.3g u of the "
                             "pair; the worst element:\n", u);
}

static void add_failure(struct posref_buffer *out, const struct posref_tally *tally, int k)
{
    const json_t *line = tally->failure[k], *at = json_object_get(line, "at");
    const char *why = posref_line_why(line), *breach = text_of(line, "breach");
    const char *summary = explained(tally, line);
    posref_buffer_printf(out, "%3d. %s %s: %s", k + 1, text_of(line, "id"), text_of(line, "dtype"),
                         text_of(line, "verdict"));
    if (at) {
        posref_buffer_text(out, " at ");
        add_place(out, at);
    }
    if (*why)
        posref_buffer_printf(out, ": %s", why);
    posref_buffer_text(out, "\n");
    add_mean(out, line, breach);
    if (json_object_get(line, "worst")) {
        posref_buffer_text(out, "     ");
        add_error(out, json_object_get(line, "worst"));
        posref_buffer_text(out, "\n");
    }
    if (summary)
        posref_buffer_printf(out, "     %s\n", summary);
    else if (strcmp(text_of(line, "verdict"), "fail") == 0 && json_object_get(line, "grade") &&
             strcmp(text_of(line, "grade"), "fail") != 0)
        posref_buffer_printf(out, "     the limits of grade %s hold; those of the gate do not\n",
                             text_of(line, "grade"));
    posref_buffer_text(out, "     ");
    posref_line_repeat(out, tally, line, posref_buffer_text, "\n     ");
    const bool first_curl = k == 0 && !json_object_get(line, "nonce");
    posref_buffer_text(out, first_curl ? "  (posref serve)\n" : "\n");
}

static void add_failures(struct posref_buffer *out, const struct posref_tally *tally)
{
    if (tally->n_failures == 0)
        return;
    posref_buffer_text(out, "\n");
    if (tally->n_failures > POSREF_FIRST_FAILURES)
        posref_buffer_printf(out, "The first %d of %" PRId64 " failures, each with the command "
                             "that repeats it:\n", POSREF_FIRST_FAILURES, tally->n_failures);
    else
        posref_buffer_text(out, "Failures, each with the command that repeats it:\n");
    for (int k = 0; k < POSREF_FIRST_FAILURES && tally->failure[k]; k++)
        add_failure(out, tally, k);
}

/* The claim, its further sentences, and what mends it. */
static void add_claim(struct posref_buffer *out, const json_t *claim)
{
    const json_t *alike = json_object_get(claim, "not_told_from");
    const json_t *more = json_object_get(claim, "sentences");
    const char *after = text_of(claim, "equivalent_after");
    if (json_array_size(more) == 0)
        posref_buffer_printf(out, "  %s\n", text_of(claim, "summary"));
    for (size_t k = 0; k < json_array_size(more) && k < 4; k++)
        posref_buffer_printf(out, "  %s\n", text_of(json_array_get(more, k), "summary"));
    posref_buffer_printf(out, "      explains %" PRId64 " of %" PRId64 " failing vectors, within "
                         "%.2g of the limit. %s: %s.\n", integer_of(claim, "vectors"),
                         integer_of(claim, "failing"), number_of(claim, "residual"),
                         text_of(claim, "fault"), text_of(claim, "advice"));
    if (integer_of(claim, "untold") > 0)
        posref_buffer_printf(out, "      %" PRId64 " more of the same kind are too near the right "
                             "answer to show it\n", integer_of(claim, "untold"));
    for (size_t k = 0; k < json_array_size(alike); k++)
        posref_buffer_printf(out, "      these vectors do not tell it from %s (%s): look for "
                             "both\n", text_of(json_array_get(alike, k), "fault"),
                             text_of(json_array_get(alike, k), "formula"));
    if (*after)
        posref_buffer_printf(out, "      No fault where the other side has it too: equivalent "
                             "after %s.\n", after);
}

/* What came second, and a vector that tells it from the first. */
static void add_runner_up(struct posref_buffer *out, const json_t *claim)
{
    const json_t *ids = json_object_get(claim, "separated_by");
    if (!json_is_true(json_object_get(claim, "look_alike")) && json_array_size(ids) > 0)
        posref_buffer_printf(out, "      the first is told from %s (%s) by %s\n",
                             text_of(claim, "fault"), text_of(claim, "formula"),
                             json_string_value(json_array_get(ids, 0)));
}

static void add_explanations(struct posref_buffer *out, const struct posref_tally *tally)
{
    const json_t *footer = tally->footer;
    const json_t *list = json_object_get(footer, "explanations");
    const json_t *description = json_object_get(footer, "description");
    const char *described = text_of(description, "summary");
    const int64_t n_described = integer_of(description, "vectors");
    int64_t open = integer_of(footer, "unexplained");
    size_t n = json_array_size(list);
    if (n == 0 && open == 0 && tally->n_lower == 0)
        return;
    posref_buffer_text(out, "\nWhy:\n");
    for (size_t k = 0; k < n && k < 10; k++) {
        const json_t *claim = json_array_get(list, k);
        if (json_is_true(json_object_get(claim, "covers")))
            add_claim(out, claim);
        else
            add_runner_up(out, claim);
    }
    if (n > 10)
        posref_buffer_printf(out, "  and %zu more: --report json lists them\n", n - 10);
    if (open > 0)
        posref_buffer_printf(out, "  %" PRId64 " failing vector(s) show no known fault.\n", open);
    if (*described && n_described < open) /* each shard describes its own, and one of them stands */
        posref_buffer_printf(out, "      %" PRId64 " of them: %s\n", n_described, described);
    else if (*described)
        posref_buffer_printf(out, "      %s\n", described);
    posref_report_layouts(out, tally);
    if (tally->n_lower > 0)
        posref_buffer_printf(out, "  %" PRId64 " failing vector(s) meet the limits of a grade "
                             "below the gate, %s at worst.\n", tally->n_lower,
                             posref_grade_name(tally->lower));
}

/* What calls left behind in the plugin's process. */
static void add_left(struct posref_buffer *out, const json_t *left)
{
    static const char *const changed[][2] = {{"rounding", "the rounding mode"},
                                             {"flush", "how subnormal numbers are treated"},
                                             {"locale", "the locale"}};
    const json_t *handlers = json_object_get(left, "handlers");
    if (integer_of(left, "threads") > 0)
        posref_buffer_printf(out, "note     calls of the plugin left %" PRId64 " thread(s) "
                             "behind\n", integer_of(left, "threads"));
    for (size_t k = 0; k < json_array_size(handlers); k++)
        posref_buffer_printf(out, "%s%s", k ? ", SIG" : "note     the plugin handles SIG",
                             json_string_value(json_array_get(handlers, k)));
    posref_buffer_text(out, json_array_size(handlers) ? "\n" : "");
    for (size_t k = 0; k < sizeof changed / sizeof *changed; k++)
        if (json_is_true(json_object_get(left, changed[k][0])))
            posref_buffer_printf(out, "note     the plugin changed %s\n", changed[k][1]);
}

static void add_notes(struct posref_buffer *out, const json_t *footer)
{
    int64_t printed = integer_of(footer, "printed_bytes"), workers = integer_of(footer, "workers");
    if (workers > 1)
        posref_buffer_printf(out, "note     the plugin's process died or was ended %" PRId64
                             " time(s)\n", workers - 1);
    if (json_is_true(json_object_get(footer, "varies")))
        posref_buffer_text(out, "note     the plugin declares that its results vary: calls were "
                                "not compared\n");
    add_left(out, json_object_get(footer, "left"));
    if (strcmp(text_of(footer, "close"), "pass") != 0)
        posref_buffer_printf(out, "note     closing the plugin: %s%s\n", text_of(footer, "close"),
                             strncmp(text_of(footer, "close"), "bad-", 4) == 0
                                 ? ", by a thread of a call that had returned" : "");
    if (printed > 0) {
        const char *text = text_of(footer, "printed");
        posref_buffer_printf(out, "note     the plugin printed %" PRId64 " bytes: %.*s ...\n",
                             printed, (int)strcspn(text, "\n"), text);
    }
}

/* What the baseline and --require changed in the verdict. */
static void add_lists(struct posref_buffer *out, const json_t *footer)
{
    static const char *const text[][2] = {
        {"known", "failed as the baseline lists them"},
        {"fixed", "passed, but are on the baseline: take them off"},
        {"required", "were declined, but --require names their op"},
    };
    for (size_t k = 0; k < sizeof text / sizeof *text; k++)
        if (integer_of(footer, text[k][0]) > 0)
            posref_buffer_printf(out, "note     %" PRId64 " vector(s) %s\n",
                                 integer_of(footer, text[k][0]), text[k][1]);
}

static void add_verdict(struct posref_buffer *out, const json_t *footer)
{
    const json_t *counts = json_object_get(footer, "counts");
    const char *name;
    json_t *count;
    posref_buffer_printf(out, "\n%s:",
                         strcmp(text_of(footer, "verdict"), "pass") == 0 ? "PASS" : "FAIL");
    const char *separator = " ";
    json_object_foreach((json_t *)(uintptr_t)counts, name, count) {
        if (json_integer_value(count) == 0)
            continue;
        posref_buffer_printf(out, "%s%" PRId64 " %s", separator, (int64_t)json_integer_value(count),
                             name);
        separator = ", ";
    }
    posref_buffer_printf(out, "; grade %s\n", text_of(footer, "grade"));
}

void posref_report_text(struct posref_buffer *out, const struct posref_tally *tally)
{
    add_head(out, tally->header);
    add_groups(out, tally);
    add_properties(out, tally);
    add_worst(out, tally);
    add_judged(out, tally->footer);
    posref_arithmetic_each(tally, draw_arithmetic, out);
    add_notes(out, tally->footer);
    add_lists(out, tally->footer);
    add_failures(out, tally);
    add_explanations(out, tally);
    add_verdict(out, tally->footer);
}
