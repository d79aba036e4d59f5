/* SPDX-License-Identifier: Apache-2.0 */
/* Explanations as JSON, and as the sentence of one failure. */
#include "explain_impl.h"
#include "stream.h"

#include <math.h>
#include <string.h>

static void add_string(struct posref_buffer *out, const char *key, struct posref_buffer *text)
{
    posref_buffer_add(text, "", 1);
    posref_buffer_printf(out, ", \"%s\": ", key);
    posref_buffer_json_string(out, text->failed ? "" : text->data);
    posref_buffer_clear(text);
}

static bool sentence(struct posref_buffer *out, const struct posref_claim *claim,
                     const struct explain_failure *f)
{
    struct posref_bend bend;
    struct posref_spec changed;
    if (!posref_claim_bend(&bend, &changed, claim, f->spec, f->op))
        return false;
    posref_claim_summary(out, claim, &bend, f->spec);
    return true;
}

/* Whether a claim is about gradients and nothing else: a convention of the forward pass excuses no
 * gradient that does not follow it. */
static bool of_gradients_alone(const struct posref_explainer *e, int number)
{
    const struct explain_failure *example = &e->failure[e->explanation[number].example];
    bool alone = e->class[example->class].op == POSREF_OP_ROTATE_BACKWARD;
    for (int k = 0; k < e->n_classes; k++)
        if (e->class[k].chosen == number)
            alone = alone && e->class[k].op == POSREF_OP_ROTATE_BACKWARD;
    return alone;
}

static void add_advice(struct posref_buffer *out, const struct posref_claim *claim, bool excusable)
{
    struct posref_buffer text;
    posref_buffer_init(&text, 1 << 16);
    posref_claim_formula(&text, claim);
    add_string(out, "formula", &text);
    posref_buffer_init(&text, 1 << 16);
    for (int k = 0; k < 2 && claim->fault[k]; k++)
        posref_buffer_printf(&text, "%s%s", k ? "; " : "", claim->fault[k]->advice);
    add_string(out, "advice", &text);
    for (int k = 0; k < 2 && claim->fault[k]; k++)
        if (excusable && claim->fault[k]->equivalent && !claim->fault[1]) {
            posref_buffer_text(out, ", \"equivalent_after\": ");
            posref_buffer_json_string(out, claim->fault[k]->equivalent);
        }
    int n = 0;
    for (int k = 0; k < 2 && claim->fault[k]; k++)
        if (claim->fault[k]->parameter) {
            posref_buffer_printf(out, "%s\"%s\": ", n++ ? ", " : ", \"parameters\": {",
                                 claim->fault[k]->parameter);
            posref_stream_number(out, claim->value[k]);
        }
    posref_buffer_text(out, n ? "}" : "");
}

/* The distinct sentences of a claim over the failures it covers. */
struct said {
    char *text[POSREF_EXPLAIN_SENTENCES];
    int n_failures[POSREF_EXPLAIN_SENTENCES], n;
};

static void gather(struct said *said, const struct posref_explainer *e, int number)
{
    const struct explain_explanation *x = &e->explanation[number];
    const struct posref_arena arena = posref_heap_arena(e->scratch);
    memset(said, 0, sizeof *said);
    posref_heap_reset(e->scratch);
    for (size_t k = 0; k < e->n_failures; k++) {
        struct posref_buffer text;
        if (e->class[e->failure[k].class].chosen != number)
            continue;
        posref_buffer_init(&text, 1 << 16);
        if (sentence(&text, &x->claim, &e->failure[k])) {
            posref_buffer_add(&text, "", 1);
            int at = 0;
            while (at < said->n && strcmp(said->text[at], text.data) != 0)
                at++;
            if (at == said->n && at < POSREF_EXPLAIN_SENTENCES) {
                said->text[at] = arena.alloc(arena.ctx, text.length);
                if (said->text[at]) {
                    memcpy(said->text[at], text.data, text.length);
                    said->n++;
                }
            }
            if (at < said->n)
                said->n_failures[at]++;
        }
        posref_buffer_clear(&text);
    }
}

static void add_sentences(struct posref_buffer *out, const struct posref_explainer *e, int number)
{
    struct said said;
    gather(&said, e, number);
    if (said.n < 2)
        return;
    posref_buffer_text(out, ", \"sentences\": [");
    for (int k = 0; k < said.n; k++) {
        posref_buffer_text(out, k ? ", {\"summary\": " : "{\"summary\": ");
        posref_buffer_json_string(out, said.text[k]);
        posref_buffer_printf(out, ", \"vectors\": %d}", said.n_failures[k]);
    }
    posref_buffer_text(out, "]");
}

static void add_separation(struct posref_buffer *out, const struct posref_explainer *e,
                           const struct explain_explanation *x)
{
    if (x->covers)
        return;
    posref_buffer_printf(out, ", \"look_alike\": %s, \"separated_by\": [",
                         x->look_alike ? "true" : "false");
    for (int k = 0; k < x->n_killers; k++) {
        posref_buffer_text(out, k ? ", " : "");
        posref_buffer_json_string(out, e->failure[x->killer[k]].id);
    }
    posref_buffer_text(out, "]");
}

static void add_same_as(struct posref_buffer *out, const struct explain_explanation *x, int k)
{
    struct posref_buffer text;
    posref_buffer_text(out, "{\"fault\": \"");
    posref_claim_name(out, &x->alike[k]);
    posref_buffer_text(out, "\"");
    posref_buffer_init(&text, 1 << 16);
    posref_claim_formula(&text, &x->alike[k]);
    add_string(out, "formula", &text);
    posref_buffer_text(out, "}");
}

/* Faults that differ in a parameter which their formula does not name are said once. */
static void add_alike(struct posref_buffer *out, const struct explain_explanation *x)
{
    size_t before = 0, before_length = 0;
    if (x->n_alike == 0)
        return;
    posref_buffer_text(out, ", \"not_told_from\": [");
    for (int k = 0; k < x->n_alike; k++) {
        const size_t end = out->length;
        posref_buffer_text(out, k ? ", " : "");
        const size_t begin = out->length;
        add_same_as(out, x, k);
        if (out->failed)
            return;
        if (k > 0 && out->length - begin == before_length &&
            memcmp(out->data + before, out->data + begin, before_length) == 0) {
            out->length = end;
            continue;
        }
        before = begin;
        before_length = out->length - begin;
    }
    posref_buffer_text(out, "]");
}

static void add_explanation(struct posref_buffer *out, const struct posref_explainer *e, int number)
{
    const struct explain_explanation *x = &e->explanation[number];
    const struct explain_failure *example = &e->failure[x->example];
    struct posref_bend bend;
    struct posref_spec changed;
    struct posref_buffer text;
    posref_buffer_text(out, "{\"fault\": \"");
    posref_claim_name(out, &x->claim);
    posref_buffer_text(out, "\"");
    posref_buffer_init(&text, 1 << 16);
    (void)sentence(&text, &x->claim, example);
    add_string(out, "summary", &text);
    add_advice(out, &x->claim, !of_gradients_alone(e, number));
    posref_buffer_printf(out, ", \"rank\": %d, \"covers\": %s, \"vectors\": %d, \"untold\": %d, "
                         "\"failing\": %zu, \"residual\": ", number + 1,
                         x->covers ? "true" : "false", x->n_failures, x->n_untold,
                         e->n_failures + e->n_dropped);
    if (isnan(x->residual))
        posref_buffer_text(out, "null");
    else
        posref_stream_number(out, x->residual);
    add_separation(out, e, x);
    add_alike(out, x);
    if (x->covers)
        add_sentences(out, e, number);
    posref_buffer_text(out, ", \"spec\": ");
    (void)posref_claim_bend(&bend, &changed, &x->claim, example->spec, example->op);
    posref_spec_json(out, bend.spec);
    posref_buffer_text(out, "}");
}

void posref_explainer_json(struct posref_buffer *out, size_t *n_unexplained,
                           const struct posref_explainer *e)
{
    *n_unexplained = e->n_dropped;
    for (int k = 0; k < e->n_classes; k++)
        *n_unexplained += e->class[k].chosen < 0 ? (size_t)e->class[k].n : 0;
    posref_buffer_text(out, "[");
    for (int k = 0; k < e->n_explanations; k++) {
        posref_buffer_text(out, k ? ", " : "");
        add_explanation(out, e, k);
    }
    posref_buffer_text(out, "]");
}

bool posref_explainer_sentence(struct posref_buffer *out, const struct posref_explainer *e,
                               size_t k)
{
    if (k >= e->n_failures)
        return false;
    const int chosen = e->class[e->failure[k].class].chosen;
    if (chosen < 0)
        return false;
    /* Of a failure that does not show the fault it is not said. */
    const struct posref_claim *claim = &e->explanation[chosen].claim;
    const struct posref_arena arena = posref_heap_arena(e->scratch);
    double residual;
    posref_heap_reset(e->scratch);
    return posref_explain_try(&residual, claim, &e->failure[k], &arena) == EXPLAIN_FITS &&
           sentence(out, claim, &e->failure[k]);
}
