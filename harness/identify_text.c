/* SPDX-License-Identifier: Apache-2.0 */
/* What was identified, as JSON and for people. */
#include "identify.h"

#include <math.h>
#include <string.h>

static const char *const hows[] = {"assumed", "measured", "fitted", "assumed"};

static const char *name_of(int field)
{
    return posref_field_def((enum posref_field)field)->name;
}

static void add_number(struct posref_buffer *out, const char *key, double value)
{
    posref_buffer_printf(out, "\"%s\": ", key);
    posref_buffer_number(out, value);
}

/* Keys whose asked value is another. */
static bool differs(const struct posref_identity *id, int field)
{
    struct posref_buffer text[2];
    for (int k = 0; k < 2; k++) {
        posref_buffer_init(&text[k], 1 << 16);
        posref_field_text(&text[k], k ? &id->spec : &id->asked, (enum posref_field)field);
    }
    bool same = text[0].length == text[1].length &&
                (text[0].length == 0 || memcmp(text[0].data, text[1].data, text[0].length) == 0);
    posref_buffer_clear(&text[0]);
    posref_buffer_clear(&text[1]);
    return !same;
}

static void add_confidence(struct posref_buffer *out, const struct posref_identity *id)
{
    posref_buffer_printf(out, "{\"decided\": %s, ", id->decided ? "true" : "false");
    add_number(out, "residual", id->residual);
    for (int f = 0; f < POSREF_N_FIELDS; f++) {
        if (!id->spec.given[f])
            continue;
        posref_buffer_printf(out, ", \"%s\": {\"how\": \"%s\"", name_of(f), hows[id->how[f]]);
        if (id->range[f].hi > 0) {
            posref_buffer_text(out, ", ");
            add_number(out, "from", id->range[f].lo);
            posref_buffer_text(out, ", ");
            add_number(out, "to", id->range[f].hi);
        }
        posref_buffer_text(out, "}");
    }
    posref_buffer_text(out, "}");
}

static void add_words(struct posref_buffer *out, const char *words)
{
    posref_buffer_text(out, "[");
    for (const char *at = words; *at;) {
        size_t length = strcspn(at, " ");
        posref_buffer_printf(out, "%s\"%.*s\"", at == words ? "" : ", ", (int)length, at);
        at += length + (at[length] == ' ');
    }
    posref_buffer_text(out, "]");
}

static void add_undecided(struct posref_buffer *out, const struct posref_identity *id)
{
    posref_buffer_text(out, "[");
    for (int k = 0; k < id->n_families; k++) {
        posref_buffer_text(out, k ? ", {\"keys\": " : "{\"keys\": ");
        add_words(out, id->family[k].keys);
        posref_buffer_text(out, ", \"family\": ");
        posref_buffer_json_string(out, id->family[k].text);
        posref_buffer_text(out, "}");
    }
    posref_buffer_text(out, "]");
}

static void add_curve(struct posref_buffer *out, const struct posref_identity *id)
{
    posref_buffer_text(out, ", \"inv_freq\": [");
    for (int i = 0; i < id->n_pairs; i++) {
        posref_buffer_text(out, i ? ", " : "");
        posref_buffer_number(out, id->inv_freq[i]);
    }
    posref_buffer_text(out, "], \"inv_freq_error\": [");
    for (int i = 0; i < id->n_pairs; i++) {
        posref_buffer_text(out, i ? ", " : "");
        posref_buffer_number(out, id->inv_freq_error[i]);
    }
    posref_buffer_text(out, "]");
}

static void add_class(struct posref_buffer *out, const struct posref_class *class, int dtype)
{
    posref_buffer_printf(out, "\"%s\": ", posref_dtype_name((enum posref_dtype)dtype));
    if (class->verdict != POSREF_VERDICT_PASS) {
        posref_buffer_printf(out, "{\"verdict\": \"%s\"}", posref_verdict_name(class->verdict));
        return;
    }
    posref_buffer_printf(out, "{\"grade\": \"%s\", ", posref_grade_name(class->judgement.grade));
    add_number(out, "error_limits", class->judgement.error_limits);
    posref_buffer_text(out, ", \"valid_to\": ");
    if (class->valid_to < 0)
        posref_buffer_text(out, "null");
    else
        posref_buffer_number(out, class->valid_to);
    posref_buffer_text(out, "}");
}

static void add_evidence(struct posref_buffer *out, const struct posref_identity *id)
{
    posref_buffer_printf(out, "{\"op\": \"%s\", \"dtype\": \"%s\"", posref_op_name(id->op),
                         posref_dtype_name(id->dtype));
    posref_buffer_printf(out, ", \"layout\": \"%s\"",
                         id->form ? id->form->name : POSREF_LAYOUT_PLAIN);
    if (id->channel) {
        posref_buffer_text(out, ", \"pairs\": [");
        for (int i = 0; i < id->n_pairs; i++)
            posref_buffer_printf(out, "%s[%d, %d]", i ? ", " : "", id->channel[i][0],
                                 id->channel[i][1]);
        posref_buffer_text(out, "], ");
        add_number(out, "magnitude", id->magnitude);
    }
    if (id->inv_freq)
        add_curve(out, id);
    posref_buffer_text(out, ", \"findings\": [");
    for (int k = 0; k < id->n_findings; k++) {
        posref_buffer_text(out, k ? ", " : "");
        posref_buffer_json_string(out, id->finding[k]);
    }
    posref_buffer_text(out, "], \"arithmetic\": {");
    for (int d = 0, first = 1; d < POSREF_IDENTIFY_FLOATS; d++)
        if (id->class[d].supported) {
            posref_buffer_text(out, first ? "" : ", ");
            add_class(out, &id->class[d], d);
            first = 0;
        }
    posref_buffer_text(out, "}, \"models\": ");
    add_words(out, id->decided ? id->models : "");
    posref_buffer_text(out, ", \"also_accepts\": ");
    add_words(out, id->also);
    posref_buffer_text(out, "}");
}

void posref_identity_json(struct posref_buffer *out, const struct posref_identity *id)
{
    posref_buffer_text(out, "{\"spec\": ");
    posref_spec_json(out, &id->spec);
    posref_buffer_text(out, ", \"asked\": ");
    posref_spec_json(out, &id->asked);
    posref_buffer_text(out, ", \"differing\": [");
    for (int f = 0, first = 1; f < POSREF_N_FIELDS; f++)
        if (differs(id, f)) {
            posref_buffer_printf(out, "%s\"%s\"", first ? "" : ", ", name_of(f));
            first = 0;
        }
    posref_buffer_text(out, "], \"confidence\": ");
    add_confidence(out, id);
    posref_buffer_text(out, ", \"undecided\": ");
    add_undecided(out, id);
    posref_buffer_text(out, ", \"evidence\": ");
    add_evidence(out, id);
    posref_buffer_text(out, "}\n");
}

/* ---- for people ---- */

static void add_line(struct posref_buffer *out, const char *label, const char *text)
{
    posref_buffer_printf(out, "%-11s%s\n", label, text);
}

static void add_differences(struct posref_buffer *out, const struct posref_identity *id)
{
    const char *label = "asked";
    for (int f = 0; f < POSREF_N_FIELDS; f++) {
        if (!differs(id, f))
            continue;
        posref_buffer_printf(out, "%-11s%s=", label, name_of(f));
        if (id->asked.given[f])
            posref_field_text(out, &id->asked, (enum posref_field)f);
        else
            posref_buffer_text(out, "(none)");
        posref_buffer_text(out, "; computed ");
        if (id->spec.given[f])
            posref_field_text(out, &id->spec, (enum posref_field)f);
        else
            posref_buffer_text(out, "(none)");
        posref_buffer_text(out, "\n");
        label = "";
    }
}

static void add_arithmetic(struct posref_buffer *out, const struct posref_identity *id)
{
    const char *label = "arithmetic";
    for (int d = 0; d < POSREF_IDENTIFY_FLOATS; d++) {
        const struct posref_class *class = &id->class[d];
        if (!class->supported)
            continue;
        posref_buffer_printf(out, "%-11s%s: ", label, posref_dtype_name((enum posref_dtype)d));
        label = "";
        if (class->verdict != POSREF_VERDICT_PASS)
            posref_buffer_printf(out, "verdict %s\n", posref_verdict_name(class->verdict));
        else if (class->judgement.pass)
            posref_buffer_printf(out, "grade %s at positions up to %.0f\n",
                                 posref_grade_name(class->judgement.grade), class->valid_to);
        else if (class->valid_to >= 131071)
            posref_buffer_text(out, "each position passes alone, the mean over all does not\n");
        else if (class->valid_to >= 0)
            posref_buffer_printf(out, "right up to position %.0f and not beyond\n",
                                 class->valid_to);
        else
            posref_buffer_text(out, "not within the limits of this spec\n");
    }
}

void posref_identity_text(struct posref_buffer *out, const struct posref_identity *id)
{
    posref_buffer_printf(out, "%-11s", id->decided ? "computes" : "closest");
    posref_spec_text(out, &id->spec);
    posref_buffer_text(out, "\n");
    add_differences(out, id);
    posref_buffer_printf(out, "%-11s%s in %s", "measured", posref_op_name(id->op),
                         posref_dtype_name(id->dtype));
    if (id->form)
        posref_buffer_printf(out, ", layout %s", id->form->name);
    if (id->n_pairs)
        posref_buffer_printf(out, ", %d pairs", id->n_pairs);
    if (id->inv_freq)
        posref_buffer_printf(out, ", frequencies %.9g to %.9g", id->inv_freq[0],
                             id->inv_freq[id->n_pairs - 1]);
    posref_buffer_text(out, "\n");
    for (int k = 0; k < id->n_findings; k++)
        add_line(out, k ? "" : "found", id->finding[k]);
    add_arithmetic(out, id);
    const char *before = "";
    for (int k = 0; k < id->n_families; k++) {
        const struct posref_family *family = &id->family[k];
        const char *label = family->handed ? "handed in" : id->decided ? "the same" : "undecided";
        posref_buffer_printf(out, "%-11s%s: %s\n", label == before ? "" : label, family->keys,
                             family->text);
        before = label;
    }
    if (id->decided && *id->models)
        posref_buffer_printf(out, "%-11s%s%s\n", "models", id->models,
                             id->more_models ? " ..." : "");
    if (*id->also)
        add_line(out, "also takes", id->also);
}
