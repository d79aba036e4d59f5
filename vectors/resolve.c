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
            if (of_positions || looks_positional(key))
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

static enum posref_status resolve_text(struct resolve *r, struct resolve_scope *scope)
{
    const char *outer = family_of(r, scope), *family = outer;
    if (!family)
        return POSREF_BAD_INPUT;
    for (const char *key; (key = nested_key(scope->at));) {
        scope = resolve_enter(r, scope, key, json_object_get(scope->at, key));
        if (!scope)
            return POSREF_BAD_INPUT;
        family = family_of(r, scope);
        if (!family)
            return POSREF_BAD_INPUT;
        if (!*family)
            family = outer;
    }
    r->family = family;
    bool alibi = false, given = false;
    enum posref_status status = resolve_bool(r, scope, "alibi", &alibi, &given); /* Falcon-RW */
    if (status != POSREF_OK)
        return status;
    if (given && alibi)
        return resolve_falcon_alibi(r, scope, family);
    return resolve_model(r, scope, family, "");
}

static enum posref_status resolve_root(struct resolve *r, json_t *root)
{
    static const char *const towers[] = {"vision_config", "visual", "vision_encoder"};
    struct resolve_scope *scope = resolve_enter(r, NULL, "", root);
    enum posref_status status = scope ? resolve_text(r, scope) : POSREF_NO_MEMORY;
    for (size_t i = 0; i < sizeof towers / sizeof *towers && status == POSREF_OK; i++) {
        const json_t *tower = json_object_get(root, towers[i]);
        const char *family = "";
        if (!json_is_object(tower))
            continue;
        struct resolve_scope *vision = resolve_enter(r, scope, towers[i], tower);
        if (!vision)
            return POSREF_BAD_INPUT;
        status = resolve_string(r, vision, "model_type", &family);
        if (status == POSREF_OK)
            status = resolve_vision(r, vision, family);
    }
    if (status == POSREF_OK)
        say_ignored(r);
    return status;
}

static enum posref_status resolve_config(struct posref_buffer *out, struct resolve *r,
                                         const char *data, size_t size_bytes)
{
    json_error_t why;
    if (size_bytes > POSREF_RESOLVE_MAX_BYTES)
        return posref_fail(r->err, POSREF_BAD_INPUT, "", "a config of %zu bytes; %zu are the most",
                           size_bytes, POSREF_RESOLVE_MAX_BYTES);
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
