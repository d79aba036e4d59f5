/* SPDX-License-Identifier: Apache-2.0 */
/* Joining shards: see merge.h. */
#include "merge.h"

#include "choice.h"
#include "merge_footers.h"
#include "report.h"
#include "report_fields.h"

#include <stdlib.h>

#define MAX_BYTES ((size_t)1 << 30)

/* One vector's line. */
struct line {
    const char *text; /* in an input */
    size_t length;
    char *id;         /* owned */
    int dtype;
    bool named; /* of those that the footer may have a sentence of */
};

struct merging {
    const struct posref_merge_input *inputs;
    size_t n_inputs, at; /* the input at hand */
    const char *next;    /* its next line */
    json_t *header, *own_header; /* the first one; the present one's */
    bool seen[POSREF_MAX_SHARDS + 1];
    json_t *footer[POSREF_MAX_SHARDS + 1];
    struct line *line;
    size_t n_lines, room;
    struct posref_stream_counts counts;
    enum posref_status status;
    struct posref_error *err;
};

static void fail(struct merging *m, const char *text)
{
    if (m->status == POSREF_OK)
        m->status = posref_fail(m->err, POSREF_BAD_INPUT, m->inputs[m->at].path, "%s", text);
}

static void no_memory(struct merging *m)
{
    if (m->status == POSREF_OK)
        m->status = posref_fail(m->err, POSREF_NO_MEMORY, "", "no memory");
}

/* What the headers of the shards of one run have in common. */
static void read_header(struct merging *m, const json_t *line)
{
    static const char *const same[] = {"format", "suite", "filter", "gates", "strict", "selected",
                                       "selection", NULL};
    const json_t *shard = json_object_get(line, "shard");
    int64_t index = integer_of(shard, "index"), of = integer_of(shard, "of");
    if (!shard || of < 1 || index < 1 || index > of || of > POSREF_MAX_SHARDS) {
        fail(m, "is no shard of a run: its header names none");
        return;
    }
    json_decref(m->own_header); /* of a file that was cut off */
    m->own_header = json_incref((json_t *)(uintptr_t)line);
    if (!m->header)
        m->header = json_incref((json_t *)(uintptr_t)line);
    if (strcmp(text_of(m->header, "nonce"), text_of(line, "nonce")) != 0)
        json_object_del(m->header, "nonce"); /* each line that needs it has its own */
    for (int k = 0; same[k]; k++)
        if (!json_equal(json_object_get(m->header, same[k]), json_object_get(line, same[k]))) {
            char text[96];
            snprintf(text, sizeof text, "is a shard of another run: its %s differs", same[k]);
            fail(m, text);
        }
    const json_t *plugin = json_object_get(line, "plugin");
    const json_t *first = json_object_get(m->header, "plugin");
    if (strcmp(text_of(plugin, "sha256"), text_of(first, "sha256")) != 0 ||
        strcmp(text_of(plugin, "config"), text_of(first, "config")) != 0)
        fail(m, "is a shard of another run: its plugin differs");
    if (of != integer_of(json_object_get(m->header, "shard"), "of"))
        fail(m, "is a shard of another run: the number of shards differs");
    else if (m->seen[index])
        fail(m, "is a shard that is there already");
    else
        m->seen[index] = true;
}

static void count_line(struct merging *m, const json_t *line)
{
    struct posref_stream_counts *counts = &m->counts;
    const char *verdict = text_of(line, "verdict"), *grade = text_of(line, "grade");
    int v = posref_verdict_find(verdict), g = *grade ? posref_grade_find(grade) : -1;
    if (v < 0 || (*grade && g < 0)) {
        fail(m, "holds an unknown verdict or grade");
        return;
    }
    counts->verdict[v]++;
    if (g >= 0)
        counts->grade[g]++;
    counts->n_compared += integer_of(line, "compared");
    counts->n_judged += integer_of(line, "judged");
    counts->run_ns += (uint64_t)integer_of(line, "ns");
    counts->n_known += json_is_true(json_object_get(line, "known"));
    counts->n_fixed += json_is_true(json_object_get(line, "fixed"));
    counts->n_required += json_is_true(json_object_get(line, "required"));
}

static void read_vector(struct merging *m, const json_t *line, const char *text, size_t length)
{
    if (m->n_lines == m->room) {
        size_t room = m->room ? 2 * m->room : 4096;
        struct line *grown = realloc(m->line, room * sizeof *grown);
        if (!grown) {
            no_memory(m);
            return;
        }
        m->line = grown;
        m->room = room;
    }
    const char *id = text_of(line, "id"), *dtype = text_of(line, "dtype");
    struct line *out = &m->line[m->n_lines];
    const bool named = strcmp(text_of(line, "verdict"), "fail") == 0 &&
                       strcmp(text_of(line, "grade"), "fail") == 0 &&
                       !json_object_get(line, "property");
    *out = (struct line){.text = text, .length = length, .dtype = posref_dtype_find(dtype),
                         .named = named};
    out->id = strdup(id);
    if (!out->id) {
        no_memory(m);
        return;
    }
    m->n_lines++;
    count_line(m, line);
}

/* Kept under the shard's number: they are added up in that order. */
static void read_footer(struct merging *m, const json_t *line)
{
    if (m->own_header) {
        json_t **place = &m->footer[integer_of(json_object_get(m->own_header, "shard"), "index")];
        json_decref(*place); /* a shard may be given twice: an error, said at its header */
        *place = json_incref((json_t *)(uintptr_t)line);
    }
    json_decref(m->own_header);
    m->own_header = NULL;
}

static void visit(void *ctx, const char *type, const json_t *line)
{
    struct merging *m = ctx;
    const char *text = m->next;
    size_t length = strcspn(text, "\n") + 1;
    m->next += length;
    if (strcmp(type, "header") == 0)
        read_header(m, line);
    else if (strcmp(type, "footer") == 0)
        read_footer(m, line);
    else
        read_vector(m, line, text, length);
}

static int compare_lines(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int order = posref_id_compare(x->id, y->id);
    return order ? order : (x->dtype > y->dtype) - (x->dtype < y->dtype);
}

/* Every shard is there, and every selected vector in every dtype exactly once. */
static void prove(struct merging *m)
{
    struct posref_buffer ids;
    char sha256[65];
    const int64_t of = integer_of(json_object_get(m->header, "shard"), "of");
    const size_t n_dtypes = json_object_size(json_object_get(m->header, "gates"));
    int64_t n_seen = 0;
    for (int64_t k = 1; k <= of; k++)
        n_seen += m->seen[k];
    if (m->status == POSREF_OK && n_seen != of)
        m->status = posref_fail(m->err, POSREF_BAD_INPUT, "report",
                                "%lld of %lld shards are missing", (long long)(of - n_seen),
                                (long long)of);
    if (m->status != POSREF_OK)
        return;
    qsort(m->line, m->n_lines, sizeof *m->line, compare_lines);
    posref_buffer_init(&ids, MAX_BYTES);
    for (size_t k = 0; k < m->n_lines; k++) {
        if (k > 0 && compare_lines(&m->line[k - 1], &m->line[k]) == 0)
            m->status = posref_fail(m->err, POSREF_BAD_INPUT, "report", "%s was judged twice",
                                    m->line[k].id);
        if (k % (n_dtypes ? n_dtypes : 1))
            continue;
        posref_buffer_text(&ids, m->line[k].id);
        posref_buffer_text(&ids, "\n");
    }
    if (ids.failed)
        no_memory(m);
    else
        posref_sha256_hex(sha256, ids.data ? ids.data : "", ids.length);
    posref_buffer_clear(&ids);
    if (m->status == POSREF_OK &&
        ((int64_t)(m->n_lines) != integer_of(m->header, "selected") * (int64_t)n_dtypes ||
         strcmp(sha256, text_of(m->header, "selection")) != 0))
        m->status = posref_fail(m->err, POSREF_BAD_INPUT, "report",
                                "the lines are not the %lld selected vectors in %zu dtypes",
                                (long long)integer_of(m->header, "selected"), n_dtypes);
}

/* The sentences of the first failures of the run. */
static void add_sentences(struct posref_buffer *out, const struct merging *m,
                          const json_t *sentences)
{
    const char *separator = "";
    size_t n = 0;
    posref_buffer_text(out, "[");
    for (size_t k = 0; k < m->n_lines && n < POSREF_N_NAMED; k++) {
        char key[POSREF_MAX_ID + 16];
        snprintf(key, sizeof key, "%s %s", m->line[k].id,
                 posref_dtype_name((enum posref_dtype)m->line[k].dtype));
        const json_t *one = m->line[k].named ? json_object_get(sentences, key) : NULL;
        n += m->line[k].named;
        if (!one)
            continue;
        posref_buffer_text(out, separator);
        posref_report_json_value(out, one);
        separator = ", ";
    }
    posref_buffer_text(out, "]");
}

#define N_TEXTS 4

static void write_footer(struct merging *m, struct posref_buffer *out, bool *conforms,
                         int64_t *n_judged)
{
    struct posref_merged_footers merged;
    struct posref_buffer text[N_TEXTS];
    const size_t n = (size_t)integer_of(json_object_get(m->header, "shard"), "of");
    bool good = posref_merge_footers(&merged, m->footer + 1, n);
    for (int k = 0; k < N_TEXTS; k++)
        posref_buffer_init(&text[k], MAX_BYTES);
    if (good) {
        posref_report_json_value(&text[0], merged.explanations);
        if (merged.description)
            posref_report_json_value(&text[1], merged.description);
        else
            posref_buffer_text(&text[1], "null");
        add_sentences(&text[2], m, merged.sentences);
        posref_report_json_value(&text[3], merged.arithmetic);
    }
    for (int k = 0; k < N_TEXTS; k++) {
        posref_buffer_add(&text[k], "", 1);
        good = good && !text[k].failed;
    }
    *conforms = posref_counts_conform(&m->counts, merged.close_verdict, n_judged);
    const struct posref_stream_footer footer = {.counts = &m->counts,
                                                .explanations = text[0].data,
                                                .description = text[1].data,
                                                .sentences = text[2].data,
                                                .arithmetic = text[3].data,
                                                .n_unexplained = (size_t)merged.n_unexplained,
                                                .close_verdict = merged.close_verdict,
                                                .printed = merged.printed ? merged.printed : "",
                                                .printed_bytes = (uint64_t)merged.printed_bytes,
                                                .n_workers = merged.n_workers,
                                                .left = &merged.left,
                                                .conforms = *conforms && *n_judged > 0};
    if (good)
        posref_stream_footer(out, &footer);
    else
        no_memory(m);
    for (int k = 0; k < N_TEXTS; k++)
        posref_buffer_clear(&text[k]);
    posref_merged_footers_clear(&merged);
}

static void write_stream(struct merging *m, struct posref_buffer *out, bool *conforms,
                         int64_t *n_judged)
{
    struct posref_buffer footer;
    posref_buffer_init(&footer, MAX_BYTES);
    write_footer(m, &footer, conforms, n_judged); /* reads the header's shard */
    json_object_del(m->header, "shard");
    json_object_set(m->header, "vectors", json_object_get(m->header, "selected"));
    posref_report_json_value(out, m->header);
    posref_buffer_text(out, "\n");
    for (size_t k = 0; k < m->n_lines; k++)
        posref_buffer_add(out, m->line[k].text, m->line[k].length);
    if (footer.length)
        posref_buffer_add(out, footer.data, footer.length);
    if (out->failed || footer.failed)
        no_memory(m);
    posref_buffer_clear(&footer);
}

enum posref_status posref_merge(struct posref_buffer *out, bool *conforms, int64_t *n_judged,
                                const struct posref_merge_input *inputs, size_t n,
                                struct posref_error *err)
{
    struct merging *m = calloc(1, sizeof *m);
    if (!m)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    m->inputs = inputs;
    m->n_inputs = n;
    m->err = err;
    for (m->at = 0; m->at < n && m->status == POSREF_OK; m->at++) {
        struct posref_error why;
        m->next = inputs[m->at].lines;
        if (posref_stream_read(m->next, inputs[m->at].size_bytes, visit, m, &why) != POSREF_OK)
            fail(m, why.text);
    }
    if (m->status == POSREF_OK)
        prove(m);
    if (m->status == POSREF_OK)
        write_stream(m, out, conforms, n_judged);
    enum posref_status status = m->status;
    for (size_t k = 0; k < m->n_lines; k++)
        free(m->line[k].id);
    free(m->line);
    json_decref(m->header);
    json_decref(m->own_header);
    for (int k = 0; k <= POSREF_MAX_SHARDS; k++)
        json_decref(m->footer[k]);
    free(m);
    return status;
}
