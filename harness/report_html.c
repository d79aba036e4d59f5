/* SPDX-License-Identifier: Apache-2.0 */
/* The report as one HTML page that needs nothing else: what passed, the error over position for
 * each dtype, why it failed, the first failures. No script. */
#include "profile.h"
#include "report_arithmetic.h"
#include "report_fields.h"

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--line:#c9d1d9;--good:#1a7f37;"
    "--bad:#cf222e;--dot:#0969da}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--paper:#0d1117;--line:#444c56;"
    "--good:#3fb950;--bad:#ff7b72;--dot:#58a6ff}}"
    "body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);"
    "max-width:70rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;display:block;overflow-x:auto}"
    "td,th{border:1px solid var(--line);padding:.2rem .6rem;text-align:left}"
    "code{font-family:ui-monospace,monospace;font-size:.9em;overflow-wrap:anywhere}"
    ".good{color:var(--good)}.bad{color:var(--bad)}"
    "svg{width:100%;height:auto;background:var(--paper);border:1px solid var(--line)}"
    "svg text{font:11px sans-serif;fill:var(--ink)}svg line{stroke:var(--line)}"
    "circle{fill:var(--dot);fill-opacity:.5}circle.bad{fill:var(--bad);fill-opacity:.8}";

/* The plot: log2 of the position to the right, log10 of the error in u upwards. */
#define WIDTH 900.0
#define HEIGHT 260.0
#define MARGIN 40.0
#define LOG2_MOST 31.0
#define LOG10_LEAST (-2.0)
#define LOG10_MOST 8.0

struct plot {
    struct posref_buffer *out;
    int dtype;
    int64_t n;
};

static double to_x(double position)
{
    return MARGIN + (WIDTH - 2 * MARGIN) * log2(1 + fabs(position)) / LOG2_MOST;
}

static double to_y(double error_u)
{
    double log_error = error_u > 0 ? log10(error_u) : LOG10_LEAST;
    log_error = fmin(fmax(log_error, LOG10_LEAST), LOG10_MOST);
    return HEIGHT - MARGIN +
           (2 * MARGIN - HEIGHT) * (log_error - LOG10_LEAST) / (LOG10_MOST - LOG10_LEAST);
}

static void add_dot(void *ctx, const json_t *line)
{
    struct plot *plot = ctx;
    const json_t *worst = json_object_get(line, "worst");
    if (!worst || !json_object_get(worst, "position") ||
        posref_dtype_find(text_of(line, "dtype")) != plot->dtype)
        return;
    double error_u = number_of(worst, "error_u"), position = number_of(worst, "position");
    if (!(error_u >= 0) || !(fabs(position) < 1e300))
        return;
    plot->n++;
    posref_buffer_printf(plot->out, "<circle%s cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>\n",
                         strcmp(text_of(line, "verdict"), "pass") == 0 ? "" : " class=\"bad\"",
                         to_x(position), to_y(error_u));
}

static void add_axes(struct posref_buffer *out)
{
    for (int k = 0; k <= 30; k += 5)
        posref_buffer_printf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
                             "<text x=\"%.1f\" y=\"%.1f\">2^%d</text>\n", to_x(exp2(k) - 1),
                             MARGIN, to_x(exp2(k) - 1), HEIGHT - MARGIN, to_x(exp2(k) - 1) - 8,
                             HEIGHT - MARGIN + 16, k);
    for (int k = (int)LOG10_LEAST; k <= (int)LOG10_MOST; k += 2)
        posref_buffer_printf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
                             "<text x=\"2\" y=\"%.1f\">1e%d</text>\n", MARGIN,
                             to_y(pow(10, k)), WIDTH - MARGIN, to_y(pow(10, k)),
                             to_y(pow(10, k)) + 4, k);
}

static void add_plots(struct posref_buffer *out, const struct posref_tally *tally)
{
    for (int d = 0; d < POSREF_N_FLOATS; d++) {
        struct posref_buffer dots;
        struct plot plot = {.out = &dots, .dtype = d};
        posref_buffer_init(&dots, (size_t)1 << 28);
        posref_tally_each(tally, add_dot, &plot);
        if (plot.n > 0 && !dots.failed) {
            const char *name = posref_dtype_name((enum posref_dtype)d);
            posref_buffer_printf(out, "<h2>Error over position, %s</h2>\n<p>The largest error of "
                                 "each vector in u (half the spacing of %s at 1), relative to its "
                                 "pair; red: does not pass.</p>\n<svg viewBox=\"0 0 %g %g\" "
                                 "role=\"img\" aria-label=\"error over position, %s\">\n", name,
                                 name, WIDTH, HEIGHT, name);
            add_axes(out);
            posref_buffer_add(out, dots.data, dots.length);
            posref_buffer_text(out, "</svg>\n");
        }
        out->failed = out->failed || dots.failed;
        posref_buffer_clear(&dots);
    }
}

static void add_decade(struct posref_buffer *out, const json_t *const entry[POSREF_N_FLOATS],
                       int bin)
{
    char label[64];
    posref_profile_label(label, bin);
    posref_buffer_printf(out, "<tr><td>%s</td>", label);
    for (int d = 0; d < POSREF_N_FLOATS; d++) {
        const json_t *decade = posref_arithmetic_decade(entry[d], bin);
        if (decade)
            posref_buffer_printf(out, "<td>%.1e</td><td>%.1e</td><td>%+.1e</td>",
                                 number_of(decade, "worst"), posref_decade_most(decade),
                                 posref_decade_bias(decade));
        else
            posref_buffer_text(out, entry[d] ? "<td></td><td></td><td></td>" : "");
    }
    posref_buffer_text(out, "</tr>\n");
}

/* Recipe and validity of each dtype, then a line a decade. */
static void draw_arithmetic(void *ctx, const char *scheme,
                            const json_t *const entry[POSREF_N_FLOATS])
{
    struct posref_buffer *out = ctx;
    posref_buffer_printf(out, "<h2>Arithmetic: %s</h2>\n<ul>\n", scheme);
    for (int d = 0; d < POSREF_N_FLOATS; d++) {
        if (!entry[d])
            continue;
        posref_buffer_printf(out, "<li>%s: ", posref_dtype_name((enum posref_dtype)d));
        posref_arithmetic_escaped(out, entry[d], posref_report_xml);
        posref_buffer_text(out, "</li>\n");
    }
    posref_buffer_text(out, "</ul>\n<table><tr><th>position</th>");
    for (int d = 0; d < POSREF_N_FLOATS; d++)
        if (entry[d])
            posref_buffer_printf(out, "<th>%s: worst</th><th>99.9 %%</th><th>bias</th>",
                                 posref_dtype_name((enum posref_dtype)d));
    posref_buffer_text(out, "</tr>\n");
    for (int bin = 0; bin < POSREF_PROFILE_BINS; bin++)
        if (posref_arithmetic_has(entry, bin))
            add_decade(out, entry, bin);
    posref_buffer_text(out, "</table>\n");
}

static void add_table(struct posref_buffer *out, const struct posref_tally *tally)
{
    posref_buffer_text(out, "<h2>What passed</h2>\n<table><tr><th>scheme</th><th>op</th>"
                            "<th>scaling or property</th>");
    const int n_dtypes = posref_tally_columns(tally);
    for (int d = 0; d < n_dtypes; d++)
        posref_buffer_printf(out, "<th>%s</th>", posref_dtype_name((enum posref_dtype)d));
    posref_buffer_text(out, "</tr>\n");
    for (int k = 0; k < tally->n_groups; k++) {
        const struct posref_group *group = &tally->group[k];
        char label[48];
        posref_buffer_printf(out, "<tr><td>%s</td><td>%s</td><td>%s</td>", group->scheme,
                             group->op, posref_group_label(label, group));
        for (int d = 0; d < n_dtypes; d++) {
            char text[32];
            switch (posref_cell_look(text, &group->cell[d])) {
            case POSREF_CELL_EMPTY: posref_buffer_text(out, "<td></td>"); break;
            case POSREF_CELL_DECLINED: posref_buffer_text(out, "<td>declined</td>"); break;
            case POSREF_CELL_PASSED:
                posref_buffer_printf(out, "<td class=\"good\">%s</td>", text);
                break;
            case POSREF_CELL_FAILED:
                posref_buffer_printf(out, "<td class=\"bad\">%s</td>", text);
                break;
            }
        }
        posref_buffer_text(out, "</tr>\n");
    }
    posref_buffer_text(out, "</table>\n");
}

/* Runners-up are no claims: they are left to --report json. */
static void add_explanations(struct posref_buffer *out, const json_t *footer)
{
    const json_t *list = json_object_get(footer, "explanations");
    size_t n = json_array_size(list);
    int64_t open = integer_of(footer, "unexplained");
    if (n == 0 && open == 0)
        return;
    posref_buffer_text(out, "<h2>Why</h2>\n<ul>\n");
    for (size_t k = 0; k < n; k++) {
        struct posref_buffer text;
        posref_buffer_init(&text, 1 << 16);
        if (posref_claim_text(&text, json_array_get(list, k)) && !text.failed) {
            posref_buffer_text(out, "<li>");
            posref_report_xml(out, text.data);
            posref_buffer_text(out, "</li>\n");
        }
        posref_buffer_clear(&text);
    }
    if (open > 0)
        posref_buffer_printf(out, "<li>%lld failing vectors show no known fault.</li>\n",
                             (long long)open);
    posref_buffer_text(out, "</ul>\n");
}

static void add_code(struct posref_buffer *out, const char *text)
{
    posref_buffer_text(out, "<code>");
    posref_report_xml(out, text);
    posref_buffer_text(out, "</code>");
}

static void add_failures(struct posref_buffer *out, const struct posref_tally *tally)
{
    if (tally->n_failures == 0)
        return;
    posref_buffer_printf(out, "<h2>Failures</h2>\n<p>The first of %lld, each with the command that "
                         "repeats it.</p>\n<table><tr><th>vector</th><th>dtype</th>"
                         "<th>verdict</th><th>repeat</th></tr>\n", (long long)tally->n_failures);
    for (int k = 0; k < POSREF_FIRST_FAILURES && tally->failure[k]; k++) {
        const json_t *line = tally->failure[k];
        posref_buffer_text(out, "<tr><td>");
        add_code(out, text_of(line, "id"));
        posref_buffer_printf(out, "</td><td>%s</td><td>%s: ", text_of(line, "dtype"),
                             text_of(line, "verdict"));
        posref_report_xml(out, posref_line_why(line));
        posref_buffer_text(out, "</td><td>");
        posref_line_repeat(out, tally, line, add_code, "<br>");
        posref_buffer_text(out, "</td></tr>\n");
    }
    posref_buffer_text(out, "</table>\n");
}

void posref_report_html(struct posref_buffer *out, const struct posref_tally *tally)
{
    const json_t *plugin = json_object_get(tally->header, "plugin");
    const json_t *suite = json_object_get(tally->header, "suite");
    const bool pass = strcmp(text_of(tally->footer, "verdict"), "pass") == 0;
    posref_buffer_printf(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                         "<meta name=\"viewport\" content=\"width=device-width\">\n"
                         "<title>posref: %s</title>\n<style>%s</style></head><body>\n",
                         pass ? "pass" : "fail", style);
    posref_buffer_printf(out, "<h1 class=\"%s\">%s, grade %s</h1>\n<p><code>",
                         pass ? "good" : "bad", pass ? "Conforms" : "Does not conform",
                         text_of(tally->footer, "grade"));
    posref_report_xml(out, text_of(plugin, "path"));
    posref_buffer_text(out, "</code> ");
    posref_report_xml(out, text_of(plugin, "config"));
    posref_buffer_printf(out, " on suite %s %s (%.12s), %lld vectors, %s UTC</p>\n",
                         text_of(suite, "name"), text_of(suite, "version"),
                         text_of(suite, "digest"), (long long)integer_of(tally->header, "vectors"),
                         text_of(tally->header, "time"));
    add_table(out, tally);
    add_explanations(out, tally->footer);
    add_plots(out, tally);
    posref_arithmetic_each(tally, draw_arithmetic, out);
    add_failures(out, tally);
    posref_buffer_text(out, "</body></html>\n");
}
