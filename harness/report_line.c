/* SPDX-License-Identifier: Apache-2.0 */
/* What reports say of single lines. */
#include "report.h"
#include "report_fields.h"

struct each {
    void (*visit)(void *ctx, const json_t *line);
    void *ctx;
};

static void visit_vector(void *ctx, const char *type, const json_t *line)
{
    const struct each *each = ctx;
    if (strcmp(type, "vector") == 0)
        each->visit(each->ctx, line);
}

void posref_tally_each(const struct posref_tally *tally,
                       void (*visit)(void *ctx, const json_t *line), void *ctx)
{
    struct each each = {visit, ctx};
    struct posref_error err;
    /* The tally has read the same bytes without an error. */
    if (posref_stream_read(tally->lines, tally->size_bytes, visit_vector, &each, &err) != POSREF_OK)
        return;
}

const char *posref_line_why(const json_t *line)
{
    const char *why = text_of(line, "why");
    if (json_is_true(json_object_get(line, "fixed")))
        return "passes, but is listed as a known failure";
    if (json_is_true(json_object_get(line, "required")) && !*why)
        return "declined, but its op is required";
    return *why ? why : text_of(line, "breach");
}

bool posref_line_fails(const json_t *line)
{
    const char *verdict = text_of(line, "verdict");
    if (json_is_true(json_object_get(line, "required")) ||
        json_is_true(json_object_get(line, "fixed")))
        return true;
    return strcmp(verdict, "pass") != 0 && strcmp(verdict, "unsupported") != 0 &&
           !json_is_true(json_object_get(line, "known"));
}

void posref_line_command(struct posref_buffer *out, const struct posref_tally *tally,
                         const json_t *line)
{
    posref_buffer_printf(out, "%s id=%s --dtype %s", text_of(tally->header, "command"),
                         text_of(line, "id"), text_of(line, "dtype"));
    if (json_object_get(line, "nonce"))
        posref_buffer_printf(out, " --nonce %s", text_of(line, "nonce"));
    if (json_is_true(json_object_get(line, "required")))
        posref_buffer_printf(out, " --require %s", text_of(line, "op"));
}

bool posref_line_curl(struct posref_buffer *out, const json_t *line)
{
    if (json_object_get(line, "nonce"))
        return false;
    /* Of ID@LAYOUT the database has ID. */
    posref_buffer_printf(out, "curl localhost:8080/v1/vectors/%.*s",
                         (int)strcspn(text_of(line, "id"), "@"), text_of(line, "id"));
    return true;
}

void posref_line_repeat(struct posref_buffer *out, const struct posref_tally *tally,
                        const json_t *line, posref_escape *escape, const char *between)
{
    struct posref_buffer text;
    posref_buffer_init(&text, 1 << 16);
    posref_line_command(&text, tally, line);
    escape(out, text.failed ? "" : text.data);
    posref_buffer_clear(&text);
    posref_buffer_init(&text, 1 << 16);
    if (posref_line_curl(&text, line)) {
        posref_buffer_text(out, between);
        escape(out, text.failed ? "" : text.data);
    }
    posref_buffer_clear(&text);
}

const char *posref_group_label(char out[48], const struct posref_group *group)
{
    snprintf(out, 48, "%s%s", group->property[0] ? "property " : "",
             group->property[0] ? group->property : group->scaling);
    return out;
}

enum posref_cell_state posref_cell_look(char out[32], const struct posref_cell *cell)
{
    int64_t tried = cell->n - cell->verdict[POSREF_VERDICT_UNSUPPORTED];
    int64_t passed = cell->verdict[POSREF_VERDICT_PASS];
    out[0] = '\0';
    if (tried == 0)
        return cell->n == 0 ? POSREF_CELL_EMPTY : POSREF_CELL_DECLINED;
    if (passed == tried)
        snprintf(out, 32, "%lld %s", (long long)passed, posref_grade_name(cell->grade));
    else
        snprintf(out, 32, "%lld of %lld", (long long)passed, (long long)tried);
    return passed == tried ? POSREF_CELL_PASSED : POSREF_CELL_FAILED;
}

int posref_tally_columns(const struct posref_tally *tally)
{
    int n = POSREF_N_USUAL_FLOATS;
    for (int k = 0; k < tally->n_groups; k++)
        for (int d = n; d < POSREF_N_FLOATS; d++)
            if (tally->group[k].cell[d].n > 0)
                n = d + 1;
    return n;
}

bool posref_group_has(const struct posref_group *group, enum posref_cell_state state)
{
    char cell[32];
    for (int d = 0; d < POSREF_N_FLOATS; d++)
        if (posref_cell_look(cell, &group->cell[d]) == state)
            return true;
    return false;
}

bool posref_claim_text(struct posref_buffer *out, const json_t *claim)
{
    const json_t *alike = json_object_get(claim, "not_told_from");
    if (!json_is_true(json_object_get(claim, "covers")))
        return false;
    posref_buffer_printf(out, "%s (explains %lld of %lld failing vectors). %s",
                         text_of(claim, "summary"), (long long)integer_of(claim, "vectors"),
                         (long long)integer_of(claim, "failing"), text_of(claim, "advice"));
    for (size_t j = 0; j < json_array_size(alike); j++)
        posref_buffer_printf(out, "%s%s", j ? "; " : ". Not told from: ",
                             text_of(json_array_get(alike, j), "formula"));
    posref_buffer_text(out, ".");
    return true;
}

void posref_report_xml(struct posref_buffer *out, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        switch (c) {
        case '<': posref_buffer_text(out, "&lt;"); break;
        case '>': posref_buffer_text(out, "&gt;"); break;
        case '&': posref_buffer_text(out, "&amp;"); break;
        case '"': posref_buffer_text(out, "&quot;"); break;
        case '\'': posref_buffer_text(out, "&#39;"); break;
        default:
            if (c < 0x20 && c != '\n' && c != '\t')
                posref_buffer_text(out, "?");
            else
                posref_buffer_add(out, text, 1);
        }
    }
}
