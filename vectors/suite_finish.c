/* SPDX-License-Identifier: Apache-2.0 */
/* The last step from a draft to a case: positions, flags, texts. */
#include "vectors/suite_draft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INPUTS_BYTES 32768

/* One position as declared: a number, or [K]L[+-D] relative to the context length. */
static enum posref_status add_position(struct posref_buffer *out, const char *word, size_t size,
                                       double length, struct posref_error *err)
{
    const char *mark = memchr(word, 'L', size);
    if (!mark) {
        posref_buffer_add(out, word, size);
        return POSREF_OK;
    }
    char *end;
    double times = mark > word ? strtod(word, &end) : 1;
    double shift = mark + 1 < word + size ? strtod(mark + 1, &end) : 0;
    if (length < 1 || times != floor(times) || times < 1 || shift != floor(shift))
        return posref_fail(err, POSREF_BAD_INPUT, "positions",
                           "'%.*s' needs a length, and whole numbers beside L", (int)size, word);
    posref_buffer_number(out, times * length + shift);
    return POSREF_OK;
}

static enum posref_status add_positions(struct posref_buffer *out, const char *text, double length,
                                        struct posref_error *err)
{
    for (;;) {
        size_t size = strcspn(text, ",");
        enum posref_status status = add_position(out, text, size, length, err);
        if (status != POSREF_OK || text[size] == '\0')
            return status;
        posref_buffer_text(out, ",");
        text += size + 1;
    }
}

/* The draft's inputs as text, positions resolved; all of them, or the positions alone. */
static enum posref_status add_inputs(struct posref_buffer *out, const struct posref_draft *draft,
                                     bool all, struct posref_error *err)
{
    enum posref_status status = POSREF_OK;
    const struct posref_input_def *def;
    for (int i = 0; (def = posref_input_def(i)) && status == POSREF_OK; i++) {
        if (!draft->input[i] || (!all && !def->is_positions))
            continue;
        posref_buffer_printf(out, "%s%s=", out->length ? " " : "", def->name);
        if (def->is_positions)
            status = add_positions(out, draft->input[i], draft->length, err);
        else
            posref_buffer_text(out, draft->input[i]);
    }
    return status;
}

static void add_flag(struct posref_draft *draft, const char *flag)
{
    for (int i = 0; i < draft->n_flags; i++)
        if (strcmp(draft->flag[i], flag) == 0)
            return;
    if (draft->n_flags < POSREF_DRAFT_FLAGS)
        draft->flag[draft->n_flags++] = flag;
}

/* Flags that follow from the case itself, so that no declaration can forget them. */
static void derive_flags(struct posref_draft *draft, const struct posref_vector *vector)
{
    const struct posref_spec *spec = &draft->spec;
    bool moved = false;
    const bool x = draft->input[posref_input_find("x")] || draft->input[posref_input_find("dy")];
    for (int t = 0; t < vector->inputs.n; t++) {
        const struct posref_tensor *tensor = &vector->inputs.item[t];
        const double *value = tensor->data;
        bool positions = strstr(tensor->name, "positions");
        for (int64_t i = 0; positions && i < posref_tensor_count(tensor); i++) {
            moved = moved || value[i] != 0;
            if (value[i] < 0)
                add_flag(draft, "negative-position");
            if (value[i] == 0)
                add_flag(draft, "zero-position");
            if (fabs(value[i]) >= 32768)
                add_flag(draft, "long-position");
        }
    }
    if (spec->given[POSREF_FIELD_ROTARY_DIM] && spec->rotary_dim < spec->dim)
        add_flag(draft, "partial");
    if (spec->given[POSREF_FIELD_ROTARY_DIM] && spec->rotary_dim > 2 && x && moved)
        add_flag(draft, "pairing");
    if (spec->given[POSREF_FIELD_DIRECTION] && spec->direction == POSREF_DIRECTION_INVERSE && x)
        add_flag(draft, "inverse");
    if (spec->given[POSREF_FIELD_DIM] && spec->dim & (spec->dim - 1))
        add_flag(draft, "non-pow2-width");
    if (spec->given[POSREF_FIELD_NUM_HEADS] && spec->num_heads & (spec->num_heads - 1))
        add_flag(draft, "non-pow2-heads");
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *flags_text(struct posref_draft *draft, const struct posref_arena *arena)
{
    struct posref_buffer text;
    posref_buffer_init(&text, MAX_INPUTS_BYTES);
    qsort(draft->flag, (size_t)draft->n_flags, sizeof *draft->flag, compare_texts);
    for (int i = 0; i < draft->n_flags; i++) {
        if (i && strcmp(draft->flag[i - 1], draft->flag[i]) == 0)
            continue;
        posref_buffer_text(&text, text.length ? " " : "");
        posref_buffer_text(&text, draft->flag[i]);
    }
    const char *copy =
        text.failed ? NULL : posref_arena_text(arena, text.data ? text.data : "", text.length);
    posref_buffer_clear(&text);
    return copy;
}

/* The case with its positions alone, which is all that the flags depend on. */
static enum posref_status read_positions(struct posref_vector *out, const struct posref_case *item,
                                         const struct posref_draft *draft,
                                         const struct posref_arena *arena,
                                         struct posref_buffer *text, struct posref_error *err)
{
    const struct posref_case_list no_suites = {.n_suites = 1};
    struct posref_case bare = *item;
    text->length = 0;
    posref_buffer_text(text, "");
    enum posref_status status = add_inputs(text, draft, false, err);
    bare.inputs = text->data;
    if (status == POSREF_OK && text->failed)
        return posref_fail(err, POSREF_NO_MEMORY, item->id, "no memory, or too long a text");
    return status == POSREF_OK ? posref_case_vector(out, &no_suites, &bare, arena, err) : status;
}

static enum posref_status make_texts(struct posref_case *out, struct posref_draft *draft,
                                     const struct posref_arena *arena, struct posref_buffer *text,
                                     struct posref_error *err)
{
    struct posref_vector vector;
    posref_spec_text(text, &draft->spec);
    out->spec = text->failed ? NULL : posref_arena_text(arena, text->data, text->length);
    text->length = 0;
    enum posref_status status = add_inputs(text, draft, true, err);
    if (status != POSREF_OK)
        return status;
    out->inputs = text->failed ? NULL : posref_arena_text(arena, text->data, text->length);
    if (!out->spec || !out->inputs)
        return posref_fail(err, POSREF_NO_MEMORY, out->id, "no memory, or too long a text");
    status = read_positions(&vector, out, draft, arena, text, err);
    if (status != POSREF_OK)
        return status;
    text->length = 0; /* once more, with what the positions settle */
    posref_spec_text(text, &vector.spec);
    out->spec = text->failed ? NULL : posref_arena_text(arena, text->data, text->length);
    if (!out->spec)
        return posref_fail(err, POSREF_NO_MEMORY, out->id, "no memory, or too long a text");
    derive_flags(draft, &vector);
    out->flags = flags_text(draft, arena);
    return out->flags ? POSREF_OK : posref_fail(err, POSREF_NO_MEMORY, out->id, "no memory");
}

enum posref_status posref_draft_finish(struct posref_case *out, bool *wanted,
                                       struct posref_draft *draft, const char *id,
                                       const struct posref_arena *arena, struct posref_error *err)
{
    struct posref_case item = {.id = id, .op = draft->op, .flags = "", .source = draft->source};
    enum posref_status status = posref_spec_complete(&draft->spec, err);
    if (status != POSREF_OK)
        return status;
    int dim = draft->spec.given[POSREF_FIELD_DIM] ? draft->spec.dim : draft->spec.num_heads;
    *wanted = dim >= draft->dim_min && dim <= draft->dim_max;
    if (!*wanted)
        return POSREF_OK;
    if (!item.op || !item.source || strpbrk(item.source, "\t\n"))
        return posref_fail(err, POSREF_BAD_INPUT, id, "has no op, or no source of one line");
    struct posref_buffer text;
    posref_buffer_init(&text, MAX_INPUTS_BYTES);
    status = make_texts(&item, draft, arena, &text, err);
    posref_buffer_clear(&text);
    if (status == POSREF_OK)
        *out = item;
    return status;
}
