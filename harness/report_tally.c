/* SPDX-License-Identifier: Apache-2.0 */
/* Adds a stream up: by group and dtype, the worst error, the first failures. */
#include "report.h"
#include "report_fields.h"

/* The scaling, or @LAYOUT. */
static const char *label_of(char out[32], const json_t *line)
{
    const char *layout = text_of(line, "layout");
    snprintf(out, 32, "%s%s", *layout ? "@" : "", *layout ? layout : text_of(line, "scaling"));
    return out;
}

int posref_tally_group(const struct posref_tally *tally, const json_t *line)
{
    char label[32];
    for (int k = 0; k < tally->n_groups; k++) {
        const struct posref_group *group = &tally->group[k];
        if (strcmp(group->scheme, text_of(line, "scheme")) == 0 &&
            strcmp(group->op, text_of(line, "op")) == 0 &&
            strcmp(group->property, text_of(line, "property")) == 0 &&
            (group->property[0] || strcmp(group->scaling, label_of(label, line)) == 0))
            return k;
    }
    return -1;
}

static struct posref_group *find_group(struct posref_tally *tally, const json_t *line)
{
    int known = posref_tally_group(tally, line);
    if (known >= 0)
        return &tally->group[known];
    if (tally->n_groups == POSREF_MAX_GROUPS)
        return NULL;
    struct posref_group *group = &tally->group[tally->n_groups++];
    snprintf(group->scheme, sizeof group->scheme, "%s", text_of(line, "scheme"));
    snprintf(group->op, sizeof group->op, "%s", text_of(line, "op"));
    snprintf(group->property, sizeof group->property, "%s", text_of(line, "property"));
    char label[32];
    if (!group->property[0])
        snprintf(group->scaling, sizeof group->scaling, "%s", label_of(label, line));
    return group;
}

/* The error of a line in units of its limit; -1: it was not judged. */
static double error_of(const json_t *line)
{
    const json_t *worst = json_object_get(line, "worst");
    const json_t *limits = json_object_get(worst, "error_limits");
    if (!worst)
        return -1;
    return json_is_number(limits) ? json_number_value(limits) : HUGE_VAL; /* "Infinity" */
}

static void visit_vector(struct posref_tally *tally, const json_t *line)
{
    struct posref_group *group = find_group(tally, line);
    int verdict = posref_verdict_find(text_of(line, "verdict"));
    int dtype = posref_dtype_find(text_of(line, "dtype"));
    if (!group || verdict < 0 || dtype < 0 || dtype >= POSREF_N_FLOATS) {
        tally->failed = true;
        return;
    }
    struct posref_cell *cell = &group->cell[dtype];
    cell->n++;
    cell->verdict[verdict]++;
    int grade = posref_grade_find(text_of(line, "grade"));
    if (grade >= 0 && (cell->n_judged++ == 0 || grade > (int)cell->grade))
        cell->grade = (enum posref_grade)grade;
    /* A property's error is between two answers, not from the truth. */
    const bool golden = !json_object_get(line, "property");
    if (golden && error_of(line) >= 0 &&
        (!tally->worst || error_of(line) > error_of(tally->worst))) {
        json_decref(tally->worst);
        tally->worst = json_incref((json_t *)(uintptr_t)line);
    }
    if (!posref_line_fails(line))
        return;
    if (tally->n_failures < POSREF_FIRST_FAILURES)
        tally->failure[tally->n_failures] = json_incref((json_t *)(uintptr_t)line);
    tally->n_failures++;
    if (verdict == POSREF_VERDICT_FAIL && grade >= 0 && grade < POSREF_GRADE_FAIL) {
        tally->n_lower++;
        tally->lower = grade > (int)tally->lower ? (enum posref_grade)grade : tally->lower;
    }
}

static void visit(void *ctx, const char *type, const json_t *line)
{
    struct posref_tally *tally = ctx;
    if (strcmp(type, "header") == 0)
        tally->header = json_incref((json_t *)(uintptr_t)line);
    else if (strcmp(type, "footer") == 0)
        tally->footer = json_incref((json_t *)(uintptr_t)line);
    else
        visit_vector(tally, line);
}

enum posref_status posref_tally_read(struct posref_tally *out, const char *lines, size_t size_bytes,
                                     struct posref_error *err)
{
    memset(out, 0, sizeof *out);
    out->lines = lines;
    out->size_bytes = size_bytes;
    enum posref_status status = posref_stream_read(lines, size_bytes, visit, out, err);
    if (status == POSREF_OK && out->failed)
        status = posref_fail(err, POSREF_BAD_INPUT, "report", "a line holds an unknown name");
    if (status != POSREF_OK)
        posref_tally_clear(out);
    return status;
}

void posref_tally_clear(struct posref_tally *tally)
{
    json_decref(tally->header);
    json_decref(tally->footer);
    json_decref(tally->worst);
    for (int k = 0; k < POSREF_FIRST_FAILURES; k++)
        json_decref(tally->failure[k]);
    memset(tally, 0, sizeof *tally);
}
