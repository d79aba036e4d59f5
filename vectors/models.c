/* SPDX-License-Identifier: Apache-2.0 */
/* Reads vectors/models.txt: blocks that begin with `model NAME`, one keyword and its text a line.
 * The file's own comment explains the keywords. */
#include "vectors/models.h"
#include "vectors/embedded.h"

#include <string.h>

#define MAX_NAMES 512

struct reading {
    struct posref_model *model;
    const struct posref_arena *arena;
    struct posref_error *err;
    int line; /* of the file, for messages */
};

const char *posref_known_name(enum posref_known known)
{
    static const char *const names[POSREF_N_KNOWN] = {"", "source", "config", "unverified"};
    return names[known];
}

const char *posref_models_text(void)
{
    return posref_embedded_find("models.txt");
}

static int line_number(const char *at)
{
    int n = 1;
    for (const char *from = posref_models_text(); from < at; from++)
        n += *from == '\n';
    return n;
}

static enum posref_status malformed(const struct reading *r, const char *text)
{
    return posref_fail(r->err, POSREF_INTERNAL, "models.txt", "line %d: %s", r->line, text);
}

static char *copy_text(const struct reading *r, const char *text, size_t length)
{
    char *copy = r->arena->alloc(r->arena->ctx, length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

static struct posref_model_layers *last_layers(const struct reading *r)
{
    return r->model->n_layers ? &r->model->layers[r->model->n_layers - 1] : NULL;
}

static enum posref_status add_layers(const struct reading *r, const char *name)
{
    struct posref_model *model = r->model;
    if (model->n_layers == POSREF_MODEL_MAX_LAYERS)
        return malformed(r, "too many layer types");
    struct posref_model_layers *layers = &model->layers[model->n_layers++];
    *layers = (struct posref_model_layers){.name = name};
    posref_spec_init(&layers->spec);
    return POSREF_OK;
}

/* KEY=VALUE KEY=VALUE ...; `text` is cut up. */
static enum posref_status add_fields(const struct reading *r, char *text, enum posref_known known)
{
    enum posref_status status = r->model->n_layers ? POSREF_OK : add_layers(r, "all");
    struct posref_model_layers *layers = last_layers(r);
    for (char *word; status == POSREF_OK && (word = strsep(&text, " "));) {
        char *equals = strchr(word, '=');
        if (!*word)
            continue;
        if (!equals)
            return malformed(r, "not KEY=VALUE");
        *equals = '\0';
        int field = posref_field_find(word);
        if (field < 0 || layers->known[field])
            return malformed(r, field < 0 ? "no such field" : "a field is given twice");
        status = posref_spec_set(&layers->spec, word, equals + 1, r->err);
        layers->known[field] = (unsigned char)known;
    }
    return status;
}

static enum posref_status add_line(const struct reading *r, const char **lines, int *n,
                                   const char *text)
{
    if (*n == POSREF_MODEL_MAX_LINES)
        return malformed(r, "too many lines of this keyword");
    lines[(*n)++] = text;
    return POSREF_OK;
}

static enum posref_status read_keyword(const struct reading *r, const char *key, char *text)
{
    struct posref_model *model = r->model;
    const struct { const char *key; const char **at; } plain[] = {
        {"title", &model->title}, {"family", &model->family}, {"same", &model->same},
        {"original", &model->original}, {"huggingface", &model->huggingface},
    };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(key, plain[i].key) == 0) {
            if (**plain[i].at)
                return malformed(r, "a keyword is given twice");
            *plain[i].at = text;
            return POSREF_OK;
        }
    for (int known = POSREF_KNOWN_SOURCE; known < POSREF_N_KNOWN; known++)
        if (strcmp(key, posref_known_name((enum posref_known)known)) == 0)
            return add_fields(r, text, (enum posref_known)known);
    if (strcmp(key, "layers") == 0)
        return add_layers(r, text);
    if (strcmp(key, "from") == 0)
        return add_line(r, model->source, &model->n_sources, text);
    if (strcmp(key, "note") == 0)
        return add_line(r, model->note, &model->n_notes, text);
    return malformed(r, "unknown keyword");
}

static bool begins(const char *line)
{
    return strncmp(line, "model ", 6) == 0;
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

static enum posref_status read_line(struct reading *r, const char *line)
{
    size_t length = strcspn(line, "\n"), key_length = strcspn(line, " \n");
    if (length == 0 || line[0] == '#')
        return POSREF_OK;
    r->line = line_number(line);
    if (key_length == length)
        return malformed(r, "a keyword without text");
    char *key = copy_text(r, line, key_length);
    char *text = copy_text(r, line + key_length + 1, length - key_length - 1);
    if (!key || !text)
        return posref_fail(r->err, POSREF_NO_MEMORY, "models.txt", "no memory");
    return read_keyword(r, key, text);
}

enum posref_status posref_model_next(struct posref_model *out, const char **at, bool *found,
                                     const struct posref_arena *arena, struct posref_error *err)
{
    const char *line = *at;
    while (*line && !begins(line))
        line = next_line(line);
    *found = *line != '\0';
    *at = line;
    if (!*found)
        return POSREF_OK;
    struct posref_model model = {.title = "", .family = "", .same = "", .original = "",
                                 .huggingface = ""};
    struct reading r = {&model, arena, err, line_number(line)};
    model.name = copy_text(&r, line + 6, strcspn(line + 6, "\n"));
    model.layers = arena->alloc(arena->ctx, POSREF_MODEL_MAX_LAYERS * sizeof *model.layers);
    if (!model.name || !model.layers)
        return posref_fail(err, POSREF_NO_MEMORY, "models.txt", "no memory");
    for (line = next_line(line); *line && !begins(line); line = next_line(line)) {
        enum posref_status status = read_line(&r, line);
        if (status != POSREF_OK)
            return status;
    }
    if (!model.n_layers || !*model.title || !*model.family || !model.n_sources)
        return malformed(&r, "needs a title, a family, parameters and where they are from");
    *at = line;
    *out = model;
    return POSREF_OK;
}

/* Whether `name`, `length` bytes long, is among the words of `text` (ended by a line's end). */
static bool has_word(const char *text, const char *name, size_t length)
{
    while (*text && *text != '\n') {
        size_t word = strcspn(text, " \n");
        if (word == length && strncmp(text, name, length) == 0)
            return true;
        text += word + (text[word] == ' ');
    }
    return false;
}

/* The line with which the preset of that name begins, or NULL. */
static const char *find_block(const char *name, size_t length)
{
    const char *block = NULL;
    for (const char *line = posref_models_text(); *line; line = next_line(line)) {
        if (begins(line))
            block = line;
        if (block && ((line == block && has_word(line + 6, name, length)) ||
                      (strncmp(line, "same ", 5) == 0 && has_word(line + 5, name, length))))
            return block;
    }
    return NULL;
}

static enum posref_status fail_unknown(const char *name, size_t length,
                                       const struct posref_arena *arena, struct posref_error *err)
{
    const char *names[MAX_NAMES + 1] = {NULL};
    struct reading r = {.arena = arena, .err = err};
    size_t n = 0;
    for (const char *line = posref_models_text(); *line && n < MAX_NAMES; line = next_line(line))
        if (begins(line) && !(names[n++] = copy_text(&r, line + 6, strcspn(line + 6, "\n"))))
            return posref_fail(err, POSREF_NO_MEMORY, "model", "no memory");
    const char *typed = copy_text(&r, name, length < 64 ? length : 64);
    const char *near = typed ? posref_nearest(typed, names) : NULL;
    return posref_fail(err, POSREF_BAD_INPUT, "model",
                       "no preset '%.64s'%s%s%s; see posref models (/v1/models)",
                       typed ? typed : "", near ? "; did you mean " : "", near ? near : "",
                       near ? "?" : "");
}

static enum posref_status find_layers(int *out, const struct posref_model *model,
                                      const char *name, struct posref_error *err)
{
    char known[128] = "";
    size_t length = 0;
    for (int i = 0; i < model->n_layers; i++) {
        if (strcmp(model->layers[i].name, name) == 0) {
            *out = i;
            return POSREF_OK;
        }
        length += (size_t)snprintf(known + length, sizeof known - length, "%s%s", i ? ", " : "",
                                   model->layers[i].name);
        length = length < sizeof known ? length : sizeof known - 1;
    }
    return posref_fail(err, POSREF_BAD_INPUT, "model", "%s has no layers '%.40s'; it has %s",
                       model->name, name, known);
}

enum posref_status posref_model_find(struct posref_model *out, int *layers, const char *name,
                                     const struct posref_arena *arena, struct posref_error *err)
{
    size_t length = strcspn(name, "/");
    const char *block = length ? find_block(name, length) : NULL;
    bool found;
    struct posref_model model;
    if (!block)
        return fail_unknown(name, length, arena, err);
    enum posref_status status = posref_model_next(&model, &block, &found, arena, err);
    int index = 0;
    if (status == POSREF_OK && name[length] == '/')
        status = find_layers(&index, &model, name + length + 1, err);
    if (status != POSREF_OK)
        return status;
    *out = model;
    *layers = index;
    return POSREF_OK;
}

bool posref_model_verified(const struct posref_model *model)
{
    for (int i = 0; i < model->n_layers; i++)
        if (memchr(model->layers[i].known, POSREF_KNOWN_UNVERIFIED, POSREF_N_FIELDS))
            return false;
    return true;
}
