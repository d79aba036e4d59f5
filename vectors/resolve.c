/* SPDX-License-Identifier: Apache-2.0 */
/* posref_resolve: a config.json or a GGUF file in memory, to the JSON that says what it implies. */
#include "vectors/resolve.h"

#include <string.h>

/* Names that say a key concerns positions: where resolve did not read it, it says so. */
static bool looks_positional(const char *key)
{
    static const char *const parts[] = {"rope", "rotary", "position", "alibi", "theta", "yarn",
                                        "ntk", "relative_attention", "sinusoid", "logn", "xpos"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(key, parts[i]))
            return true;
    return false;
}

static void say_ignored(struct resolve *r)
{
    for (int i = 0; i < r->n_scopes; i++) {
        bool of_positions = looks_positional(r->scope[i].path);
        const char *key;
        json_t *value;
        json_object_foreach(r->scope[i].rest, key, value)
            if (!json_is_null(value) && (of_positions || looks_positional(key)))
                resolve_say(r, NULL, "unknown", key, "%s%.80s is not read: if it concerns "
                            "positions, the specs do not have it", r->scope[i].path, key);
    }
}

/* The first class name of "architectures" tells a family where model_type is missing. */
static const char *family_of(struct resolve *r, struct resolve_scope *scope)
{
    static const struct { const char *begins, *family; } classes[] = {
        {"LlamaFor", "llama"}, {"MistralFor", "mistral"}, {"MixtralFor", "mixtral"},
        {"Qwen2For", "qwen2"}, {"Qwen3For", "qwen3"}, {"GemmaFor", "gemma"},
        {"Gemma2For", "gemma2"}, {"GPTNeoXFor", "gpt_neox"}, {"Phi3For", "phi3"},
        {"GPT2LMHead", "gpt2"}, {"BertFor", "bert"}, {"BloomFor", "bloom"}, {"T5For", "t5"},
    };
    const char *type = NULL;
    const json_t *list = json_object_get(scope->at, "architectures");
    enum posref_status status = resolve_string(r, scope, "model_type", &type);
    if (status != POSREF_OK)
        return NULL;
    const char *name = json_string_value(json_array_get(list, 0));
    for (size_t i = 0; !type && name && i < sizeof classes / sizeof *classes; i++)
        if (strncmp(name, classes[i].begins, strlen(classes[i].begins)) == 0) {
            type = classes[i].family;
            json_object_del(scope->rest, "architectures");
            resolve_say(r, NULL, "default", "model_type", "missing; architectures names %.60s",
                        name);
        }
    return type ? type : "";
}

/* The language model's own object, in configs that nest it: the name of the key, or NULL. */
static const char *nested_key(const json_t *root)
{
    static const char *const nests[] = {"text_config", "language_config", "llm_config",
                                        "thinker_config", "decoder"};
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++)
        if (json_is_object(json_object_get(root, nests[i])))
            return nests[i];
    return NULL;
}

/* The objects from the root to the language model. */
struct chain {
    struct resolve_scope *scope[8];
    const char *family[8]; /* of each, or that of the object around it */
    int n;
};

static enum posref_status find_text(struct resolve *r, struct resolve_scope *scope,
                                    struct chain *out)
{
    const char *family = "";
    for (out->n = 0; scope;) {
        const char *own = family_of(r, scope);
        if (!own)
            return POSREF_BAD_INPUT;
        family = *own ? own : family;
        out->scope[out->n] = scope;
        out->family[out->n++] = family;
        const char *key = nested_key(scope->at);
        if (!key || out->n == sizeof out->scope / sizeof *out->scope)
            return POSREF_OK;
        scope = resolve_enter(r, scope, key, json_object_get(scope->at, key));
    }
    return POSREF_BAD_INPUT;
}

static enum posref_status resolve_text(struct resolve *r, struct resolve_scope *scope,
                                       const char *family, const char *outer)
{
    bool alibi = false, given = false, found = false;
    r->family = family;
    enum posref_status status = resolve_bool(r, scope, "alibi", &alibi, &given); /* Falcon-RW */
    if (status != POSREF_OK)
        return status;
    if (given && alibi)
        return resolve_falcon_alibi(r, scope, family);
    if (!resolve_family_find(family)) {
        status = resolve_tower(r, scope, family, outer, "text", "", &found);
        if (status != POSREF_OK || found)
            return status;
    }
    return resolve_model(r, scope, family, "");
}

/* Towers beside the language model, in any of the objects around it. */
static enum posref_status resolve_towers(struct resolve *r, struct resolve_scope *scope,
                                         const char *outer)
{
    static const struct { const char *key, *kind; } towers[] = {
        {"vision_config", "vision"}, {"visual", "vision"}, {"vision_encoder", "vision"},
        {"encoder", "encoder"}, {"audio_config", "audio"}, {"audio_encoder", "audio"},
    };
    enum posref_status status = POSREF_OK;
    for (size_t i = 0; i < sizeof towers / sizeof *towers && status == POSREF_OK; i++) {
        const json_t *tower = json_object_get(scope->at, towers[i].key);
        const char *name = "";
        if (!json_is_object(tower))
            continue;
        struct resolve_scope *inner = resolve_enter(r, scope, towers[i].key, tower);
        if (!inner)
            return POSREF_BAD_INPUT;
        status = resolve_string(r, inner, "model_type", &name);
        if (status == POSREF_OK)
            status = resolve_beside(r, inner, name, outer, towers[i].kind);
    }
    return status;
}

static enum posref_status resolve_root(struct resolve *r, json_t *root)
{
    struct chain chain = {.n = 0};
    struct resolve_scope *scope = resolve_enter(r, NULL, "", root);
    enum posref_status status = scope ? find_text(r, scope, &chain) : POSREF_NO_MEMORY;
    if (status == POSREF_OK) {
        const int last = chain.n - 1;
        status = resolve_text(r, chain.scope[last], chain.family[last], chain.family[0]);
    }
    for (int i = 0; i < chain.n && status == POSREF_OK; i++)
        status = resolve_towers(r, chain.scope[i], chain.family[i]);
    if (status == POSREF_OK)
        say_ignored(r);
    return status;
}

/* Python writes Infinity, which is no JSON, where a limit is meant (Mamba 2's time_step_limit): it
 * becomes a number that no size or factor may be, of as many characters. NULL: no memory. */
static const char *mend_infinity(struct resolve *r, const char *data, size_t size_bytes)
{
    static const char word[] = "Infinity", number[] = "1e308   ";
    const size_t length = sizeof word - 1;
    bool quoted = false;
    char *copy = NULL;
    for (size_t i = 0; i + length <= size_bytes; i++) {
        if (data[i] == '"')
            quoted = !quoted;
        else if (quoted && data[i] == '\\')
            i++;
        else if (!quoted && memcmp(data + i, word, length) == 0) {
            if (!copy) {
                copy = r->arena->alloc(r->arena->ctx, size_bytes);
                if (!copy)
                    return NULL;
                memcpy(copy, data, size_bytes);
                resolve_say(r, NULL, "legacy", "", "Infinity is no JSON; it is read as 1e308");
            }
            memcpy(copy + i, number, length);
        }
    }
    return copy ? copy : data;
}

static enum posref_status resolve_config(struct posref_buffer *out, struct resolve *r,
                                         const char *data, size_t size_bytes)
{
    json_error_t why;
    if (size_bytes > POSREF_RESOLVE_MAX_BYTES)
        return posref_fail(r->err, POSREF_BAD_INPUT, "", "a config of %zu bytes; %zu are the most",
                           size_bytes, POSREF_RESOLVE_MAX_BYTES);
    data = mend_infinity(r, data, size_bytes);
    if (!data)
        return posref_fail(r->err, POSREF_NO_MEMORY, "", "no memory");
    json_t *root = json_loadb(data, size_bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL,
                              &why);
    if (!root)
        return posref_fail(r->err, POSREF_BAD_INPUT, "", "line %d: %.160s", why.line, why.text);
    enum posref_status status =
        json_is_object(root) ? resolve_root(r, root)
                             : posref_fail(r->err, POSREF_BAD_INPUT, "", "is no JSON object");
    if (status == POSREF_OK)
        status = resolve_write(out, r);
    for (int i = 0; i < r->n_scopes; i++)
        json_decref(r->scope[i].rest);
    json_decref(root);
    return status;
}

enum posref_status posref_resolve(struct posref_buffer *out, const void *data, size_t size_bytes,
                                  const struct posref_arena *arena, struct posref_error *err)
{
    struct resolve *r = arena->alloc(arena->ctx, sizeof *r);
    if (!r)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    *r = (struct resolve){.err = err, .arena = arena, .format = "config.json"};
    r->note = arena->alloc(arena->ctx, POSREF_RESOLVE_MAX_NOTES * sizeof *r->note);
    if (!r->note)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    if (size_bytes < 4 || memcmp(data, "GGUF", 4) != 0)
        return resolve_config(out, r, data, size_bytes);
    r->format = "gguf";
    enum posref_status status = resolve_gguf(r, data, size_bytes);
    return status == POSREF_OK ? resolve_write(out, r) : status;
}
