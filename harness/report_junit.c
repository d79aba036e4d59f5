/* SPDX-License-Identifier: Apache-2.0 */
/* The report as JUnit XML: a suite for each scheme, op and dtype, a case for each vector. Crashes,
 * timeouts and the like are errors, wrong values are failures, declined vectors are skipped. */
#include "report.h"
#include "report_fields.h"

#include <stdlib.h>

struct suite {
    const struct posref_group *group;
    int dtype;
    int64_t n, n_failures, n_errors, n_skipped;
    double seconds;
    struct posref_buffer cases;
    const struct posref_tally *tally;
};

static bool is_error(const char *verdict)
{
    return strcmp(verdict, "fail") != 0 && strcmp(verdict, "nan") != 0;
}

static void add_details(struct posref_buffer *out, const struct posref_tally *tally,
                        const json_t *line)
{
    struct posref_buffer command;
    const json_t *worst = json_object_get(line, "worst");
    posref_buffer_init(&command, 1 << 16);
    if (worst)
        posref_buffer_printf(out, "%s element %lld: got %.17g, want %.17g, %.3g of its limit\n",
                             text_of(worst, "tensor"), (long long)integer_of(worst, "element"),
                             number_of(worst, "got"), number_of(worst, "want"),
                             number_of(worst, "error_limits"));
    posref_line_command(&command, tally, line);
    posref_buffer_text(&command, "\n");
    (void)posref_line_curl(&command, line);
    posref_report_xml(out, command.failed ? "" : command.data);
    posref_buffer_text(out, "\n");
    posref_buffer_clear(&command);
}

static void add_result(struct suite *suite, const json_t *line)
{
    struct posref_buffer *out = &suite->cases;
    const char *verdict = text_of(line, "verdict");
    if (!posref_line_fails(line)) {
        const bool known = json_is_true(json_object_get(line, "known"));
        if (strcmp(verdict, "pass") == 0)
            return;
        suite->n_skipped++;
        posref_buffer_text(out, "<skipped message=\"");
        posref_report_xml(out, known ? "known failure" : posref_line_why(line));
        posref_buffer_text(out, "\"/>");
        return;
    }
    const bool fixed = json_is_true(json_object_get(line, "fixed"));
    const bool error = !fixed && is_error(verdict);
    const char *element = error ? "error" : "failure";
    suite->n_errors += error;
    suite->n_failures += !error;
    posref_buffer_printf(out, "<%s type=\"%s\" message=\"", element, fixed ? "fixed" : verdict);
    posref_report_xml(out, posref_line_why(line));
    posref_buffer_text(out, "\">");
    add_details(out, suite->tally, line);
    posref_buffer_printf(out, "</%s>", element);
}

/* The suites of all groups and dtypes, [n_groups][POSREF_N_FLOATS], filled in one pass. */
struct suites {
    const struct posref_tally *tally;
    struct suite *item;
};

static void add_case(void *ctx, const json_t *line)
{
    const struct suites *suites = ctx;
    int group = posref_tally_group(suites->tally, line);
    int dtype = posref_dtype_find(text_of(line, "dtype"));
    if (group < 0 || dtype < 0 || dtype >= POSREF_N_FLOATS)
        return; /* the tally would have refused it */
    struct suite *suite = &suites->item[group * POSREF_N_FLOATS + dtype];
    double seconds = number_of(line, "ns") * 1e-9;
    suite->n++;
    suite->seconds += seconds;
    posref_buffer_text(&suite->cases, "    <testcase name=\"");
    posref_report_xml(&suite->cases, text_of(line, "id"));
    posref_buffer_printf(&suite->cases, "\" classname=\"posref.%s.%s.%s\" time=\"%.9f\">",
                         suite->group->scheme, suite->group->op, text_of(line, "dtype"), seconds);
    add_result(suite, line);
    posref_buffer_text(&suite->cases, "</testcase>\n");
}

static void add_suite(struct posref_buffer *out, struct suite *suite, int id)
{
    const struct posref_group *group = suite->group;
    const json_t *header = suite->tally->header, *plugin = json_object_get(header, "plugin");
    const char *dtype = posref_dtype_name((enum posref_dtype)suite->dtype);
    char label[48];
    posref_group_label(label, group);
    posref_buffer_printf(out, "  <testsuite id=\"%d\" package=\"posref\" name=\"%s %s%s%s %s\" "
                         "timestamp=\"%s\" hostname=\"localhost\" tests=\"%lld\" "
                         "failures=\"%lld\" errors=\"%lld\" skipped=\"%lld\" time=\"%.9f\">\n",
                         id, group->scheme, group->op, label[0] ? " " : "", label, dtype,
                         text_of(header, "time"), (long long)suite->n,
                         (long long)suite->n_failures, (long long)suite->n_errors,
                         (long long)suite->n_skipped, suite->seconds);
    posref_buffer_text(out, "    <properties>\n      <property name=\"plugin\" value=\"");
    posref_report_xml(out, text_of(plugin, "path"));
    posref_buffer_text(out, "\"/>\n      <property name=\"suite\" value=\"");
    posref_report_xml(out, text_of(json_object_get(header, "suite"), "digest"));
    posref_buffer_text(out, "\"/>\n    </properties>\n");
    if (suite->cases.length)
        posref_buffer_add(out, suite->cases.data, suite->cases.length);
    out->failed = out->failed || suite->cases.failed;
    posref_buffer_text(out, "    <system-out></system-out>\n    <system-err></system-err>\n"
                            "  </testsuite>\n");
}

void posref_report_junit(struct posref_buffer *out, const struct posref_tally *tally)
{
    const int n = tally->n_groups * POSREF_N_FLOATS;
    struct suites suites = {tally, calloc(n ? (size_t)n : 1, sizeof *suites.item)};
    int id = 0;
    if (!suites.item) {
        out->failed = true;
        return;
    }
    for (int k = 0; k < n; k++) {
        suites.item[k] = (struct suite){.group = &tally->group[k / POSREF_N_FLOATS],
                                        .dtype = k % POSREF_N_FLOATS, .tally = tally};
        posref_buffer_init(&suites.item[k].cases, (size_t)1 << 30);
    }
    posref_tally_each(tally, add_case, &suites);
    posref_buffer_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for (int k = 0; k < n; k++) {
        if (suites.item[k].n > 0)
            add_suite(out, &suites.item[k], id++);
        posref_buffer_clear(&suites.item[k].cases);
    }
    posref_buffer_text(out, "</testsuites>\n");
    free(suites.item);
}
