/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a run as JSON. */
#include "plugin_text.h"
#include "stream.h"
#include "wire.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Paths, names and messages are other people's bytes. */
static void add_string(struct posref_buffer *out, const char *text)
{
    char *clean = strdup(text);
    if (!clean) {
        out->failed = true;
        return;
    }
    posref_plugin_text_clean(clean, 0);
    posref_buffer_json_string(out, clean);
    free(clean);
}

static void add_text(struct posref_buffer *out, const char *key, const char *value)
{
    posref_buffer_printf(out, ", \"%s\": ", key);
    add_string(out, value);
}

void posref_stream_number(struct posref_buffer *out, double value)
{
    posref_buffer_number(out, value);
    /* The form without an exponent that ECMAScript uses below 1e21. */
    if (fabs(value) >= 0x1p53 && fabs(value) < 1e21)
        posref_buffer_text(out, ".0");
}

static void add_number(struct posref_buffer *out, const char *key, double value)
{
    posref_buffer_printf(out, ", \"%s\": ", key);
    posref_stream_number(out, value);
}

static void add_integer(struct posref_buffer *out, const char *key, int64_t value)
{
    posref_buffer_printf(out, ", \"%s\": %lld", key, (long long)value);
}

static void add_environment(struct posref_buffer *out)
{
    struct utsname name;
    posref_buffer_text(out, ", \"environment\": {\"posref\": \"" POSREF_VERSION "\"");
    if (uname(&name) == 0) {
        add_text(out, "system", name.sysname);
        add_text(out, "release", name.release);
        add_text(out, "machine", name.machine);
    }
    add_integer(out, "processors", sysconf(_SC_NPROCESSORS_ONLN));
    posref_buffer_text(out, "}");
}

/* When the run began, UTC. */
static void add_time(struct posref_buffer *out)
{
    char text[32];
    struct tm parts;
    time_t now = time(NULL);
    if (gmtime_r(&now, &parts) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts) > 0)
        add_text(out, "time", text);
}

static void add_gates(struct posref_buffer *out, const struct posref_test_options *options)
{
    const char *separator = "";
    posref_buffer_text(out, ", \"gates\": {");
    for (int d = 0; d < POSREF_N_FLOATS; d++) {
        if (!options->dtype[d])
            continue;
        posref_buffer_printf(out, "%s\"%s\": \"%s\"", separator,
                             posref_dtype_name((enum posref_dtype)d),
                             posref_grade_name(options->gate[d]));
        separator = ", ";
    }
    posref_buffer_text(out, "}");
}

static void add_nonce(struct posref_buffer *out, const uint64_t *nonce)
{
    posref_buffer_printf(out, ", \"nonce\": \"%016" PRIx64 "\"", *nonce);
}

void posref_stream_header(struct posref_buffer *out, const struct posref_stream_header *header)
{
    const struct posref_test_options *options = header->options;
    posref_buffer_printf(out, "{\"type\": \"header\", \"program\": \"posref test\", \"format\": %d",
                         POSREF_STREAM_FORMAT);
    posref_buffer_text(out, ", \"suite\": {\"name\": ");
    posref_buffer_json_string(out, header->suite->name);
    add_text(out, "version", header->suite->version);
    add_text(out, "digest", header->suite->digest);
    posref_buffer_text(out, "}, \"plugin\": {\"path\": ");
    add_string(out, options->plugin);
    add_text(out, "sha256", header->plugin_sha256);
    add_text(out, "name", header->plugin_name);
    add_text(out, "version", header->plugin_version);
    add_text(out, "config", options->config);
    posref_buffer_text(out, "}");
    add_time(out);
    add_text(out, "filter", options->filter_text);
    add_integer(out, "vectors", (int64_t)header->n_vectors);
    if (options->shard_of > 0) {
        posref_buffer_printf(out, ", \"shard\": {\"index\": %d, \"of\": %d}",
                             options->shard, options->shard_of);
    }
    add_integer(out, "selected", (int64_t)header->n_selected);
    add_text(out, "selection", header->selection_sha256);
    add_gates(out, options);
    posref_buffer_printf(out, ", \"strict\": %s", options->strict ? "true" : "false");
    add_nonce(out, &options->nonce);
    add_text(out, "database", header->db_path);
    add_text(out, "command", options->command);
    add_environment(out);
    posref_buffer_text(out, "}\n");
}

/* ---- a vector ---- */

/* Flat element k as [row, column, ...]. */
static void add_place(struct posref_buffer *out, const struct posref_tensors *set, const char *name,
                      int64_t element)
{
    const struct posref_tensor *tensor = posref_tensors_find(set, name);
    posref_buffer_text(out, "\"tensor\": ");
    posref_buffer_json_string(out, name);
    add_integer(out, "element", element);
    if (!tensor || element < 0 || element >= posref_tensor_count(tensor))
        return;
    posref_buffer_text(out, ", \"index\": [");
    int64_t below = posref_tensor_count(tensor);
    for (int axis = 0; axis < tensor->rank; axis++) {
        below /= tensor->shape[axis];
        posref_buffer_printf(out, "%s%lld", axis ? ", " : "", (long long)(element / below));
        element %= below;
    }
    posref_buffer_text(out, "]");
}

void posref_stream_judgement(struct posref_buffer *out, const struct posref_judgement *j,
                             const struct posref_tensors *golden)
{
    add_text(out, "grade", posref_grade_name(j->grade));
    if (j->breach != POSREF_BREACH_NONE)
        add_text(out, "breach", posref_breach_text(j->breach));
    posref_buffer_text(out, ", \"worst\": {");
    add_place(out, golden, j->tensor, j->element);
    if (j->pair >= 0)
        add_integer(out, "pair", j->pair);
    if (j->position == j->position)
        add_number(out, "position", j->position);
    add_number(out, "got", j->got);
    add_number(out, "want", j->want);
    add_number(out, "error_u", j->error_u);
    add_number(out, "error_limits", j->error_limits);
    posref_buffer_text(out, "}");
    add_integer(out, "compared", j->n_compared);
    add_integer(out, "judged", j->n_judged);
    add_number(out, "bias_u", j->bias_u);
    add_number(out, "norm_bias_u", j->norm_bias_u);
}

/* What the spec says of itself in groups and filters. */
static void add_field(struct posref_buffer *out, const struct posref_spec *spec,
                      enum posref_field field)
{
    struct posref_buffer text;
    if (!posref_field_applies(spec, field))
        return;
    posref_buffer_init(&text, 256);
    posref_field_text(&text, spec, field);
    posref_buffer_add(&text, "", 1);
    add_text(out, posref_field_def(field)->name, text.failed ? "" : text.data);
    posref_buffer_clear(&text);
}

static void add_trial(struct posref_buffer *out, const struct posref_trial *trial)
{
    if (trial->why[0])
        add_text(out, "why", trial->why);
    if (trial->signal)
        add_integer(out, "signal", trial->signal);
    if (trial->tensor) {
        bool is_output = posref_tensors_find(&trial->out, trial->tensor) != NULL;
        posref_buffer_text(out, ", \"at\": {");
        add_place(out, is_output ? &trial->out : &trial->in, trial->tensor, trial->element);
        posref_buffer_text(out, "}");
    }
    add_integer(out, "ns", (int64_t)trial->run_ns);
}

void posref_stream_line(struct posref_buffer *out, const struct posref_stream_line *line)
{
    posref_buffer_text(out, "{\"type\": \"vector\", \"id\": ");
    posref_buffer_json_string(out, line->vector->id);
    add_text(out, "op", posref_op_name(line->vector->op));
    add_field(out, &line->vector->spec, POSREF_FIELD_SCHEME);
    add_field(out, &line->vector->spec, POSREF_FIELD_SCALING);
    add_field(out, &line->vector->spec, POSREF_FIELD_PAIRING);
    if (line->property)
        add_text(out, "property", line->property);
    if (line->trial->layout)
        add_text(out, "layout", line->trial->layout);
    if (line->nonce)
        add_nonce(out, line->nonce);
    add_text(out, "dtype", posref_dtype_name(line->dtype));
    add_text(out, "verdict", posref_verdict_name(line->verdict));
    if (line->known)
        posref_buffer_text(out, ", \"known\": true");
    if (line->fixed)
        posref_buffer_text(out, ", \"fixed\": true");
    if (line->required)
        posref_buffer_text(out, ", \"required\": true");
    if (line->judgement)
        posref_stream_judgement(out, line->judgement, &line->vector->outputs);
    add_trial(out, line->trial);
    posref_buffer_text(out, "}\n");
}

/* ---- the end ---- */

bool posref_counts_conform(const struct posref_stream_counts *counts,
                           enum posref_verdict close_verdict, int64_t *n_judged)
{
    int64_t n_failed = 0;
    *n_judged = 0;
    for (int v = 0; v < POSREF_N_VERDICTS; v++) {
        n_failed += posref_verdict_is_failure((enum posref_verdict)v) ? counts->verdict[v] : 0;
        *n_judged += v == POSREF_VERDICT_UNSUPPORTED ? 0 : counts->verdict[v];
    }
    return close_verdict == POSREF_VERDICT_PASS && n_failed == counts->n_known &&
           counts->n_fixed == 0 && counts->n_required == 0;
}

/* {"threads": 2, "handlers": ["USR1"], "rounding": true, ...}; nothing where nothing is left. */
static void add_left(struct posref_buffer *out, const struct posref_left *left)
{
    const struct {
        const char *name;
        bool is;
    } changed[] = {{"rounding", left->rounding}, {"flush", left->flush}, {"locale", left->locale}};
    const char *separator = ", \"left\": {";
    if (left->n_threads > 0) {
        posref_buffer_printf(out, "%s\"threads\": %u", separator, left->n_threads);
        separator = ", ";
    }
    if (left->handlers) {
        const char *comma = "";
        posref_buffer_printf(out, "%s\"handlers\": [", separator);
        for (int number = 1; number <= 64; number++) {
            const char *name = sigabbrev_np(number);
            if ((left->handlers >> (number - 1) & 1) == 0)
                continue;
            if (name)
                posref_buffer_printf(out, "%s\"%s\"", comma, name);
            else
                posref_buffer_printf(out, "%s\"%d\"", comma, number);
            comma = ", ";
        }
        posref_buffer_text(out, "]");
        separator = ", ";
    }
    for (size_t k = 0; k < sizeof changed / sizeof *changed; k++)
        if (changed[k].is) {
            posref_buffer_printf(out, "%s\"%s\": true", separator, changed[k].name);
            separator = ", ";
        }
    posref_buffer_text(out, strcmp(separator, ", ") == 0 ? "}" : "");
}

void posref_stream_footer(struct posref_buffer *out, const struct posref_stream_footer *footer)
{
    const struct posref_stream_counts *counts = footer->counts;
    enum posref_grade worst = POSREF_GRADE_EXACT;
    posref_buffer_printf(out, "{\"type\": \"footer\", \"verdict\": \"%s\", \"counts\": {",
                         footer->conforms ? "pass" : "fail");
    for (int v = 0; v < POSREF_N_VERDICTS; v++)
        posref_buffer_printf(out, "%s\"%s\": %lld", v ? ", " : "",
                             posref_verdict_name((enum posref_verdict)v),
                             (long long)counts->verdict[v]);
    posref_buffer_text(out, "}, \"grades\": {");
    for (int g = 0; g < POSREF_N_GRADES; g++) {
        posref_buffer_printf(out, "%s\"%s\": %lld", g ? ", " : "",
                             posref_grade_name((enum posref_grade)g), (long long)counts->grade[g]);
        if (counts->grade[g] > 0)
            worst = (enum posref_grade)g;
    }
    posref_buffer_text(out, "}");
    add_text(out, "grade", posref_grade_name(footer->conforms ? worst : POSREF_GRADE_FAIL));
    add_integer(out, "known", counts->n_known);
    add_integer(out, "fixed", counts->n_fixed);
    add_integer(out, "required", counts->n_required);
    add_integer(out, "compared", counts->n_compared);
    add_integer(out, "judged", counts->n_judged);
    posref_buffer_text(out, ", \"explanations\": ");
    posref_buffer_text(out, footer->explanations);
    posref_buffer_text(out, ", \"description\": ");
    posref_buffer_text(out, footer->description);
    posref_buffer_text(out, ", \"sentences\": ");
    posref_buffer_text(out, footer->sentences);
    posref_buffer_text(out, ", \"arithmetic\": ");
    posref_buffer_text(out, footer->arithmetic);
    add_integer(out, "unexplained", (int64_t)footer->n_unexplained);
    add_text(out, "close", posref_verdict_name(footer->close_verdict));
    add_integer(out, "workers", footer->n_workers);
    add_integer(out, "printed_bytes", (int64_t)footer->printed_bytes);
    if (footer->printed_bytes)
        add_text(out, "printed", footer->printed);
    if (footer->left)
        add_left(out, footer->left);
    if (footer->left && footer->left->varies)
        posref_buffer_text(out, ", \"varies\": true");
    add_integer(out, "plugin_ns", (int64_t)counts->run_ns);
    posref_buffer_text(out, "}\n");
}
