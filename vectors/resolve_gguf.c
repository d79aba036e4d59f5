/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a GGUF file: rope.* keys and rope_freqs tensors, by llama.cpp's own rules. The
 * tensors' divisors are recognised where they are llama3's; else they are lists of longrope. */
#include "vectors/gguf.h"
#include "vectors/gguf_cursor.h"
#include "vectors/resolve.h"

#include <math.h>
#include <string.h>

#define MAX_PAIRS (POSREF_MAX_DIM / 2)

struct header {
    struct resolve *r;
    const struct posref_gguf *gguf;
    struct resolve_layer *layer;
    char arch[48];
    bool read[4096]; /* pairs of the metadata that were looked at */
};

/* ARCH.NAME; NULL where it is not there. */
static const struct posref_gguf_pair *find(struct header *h, const char *name)
{
    char key[160];
    snprintf(key, sizeof key, "%s%s%s", h->arch, *h->arch ? "." : "", name);
    const struct posref_gguf_pair *pair = posref_gguf_find(h->gguf, key);
    size_t index = pair ? (size_t)(pair - h->gguf->pair) : sizeof h->read;
    if (index < sizeof h->read)
        h->read[index] = true;
    return pair;
}

static double widen32(uint64_t bits)
{
    float value;
    uint32_t low = (uint32_t)bits;
    memcpy(&value, &low, sizeof value);
    return (double)value;
}

/* A scalar, or the first element of a list (sizes that vary by layer). */
static enum posref_status number(struct header *h, const char *name, double low, double high,
                                 double *out, bool *given)
{
    const struct posref_gguf_pair *pair = find(h, name);
    int64_t whole;
    if (!pair)
        return POSREF_OK;
    double value = (double)NAN;
    if (pair->type == GGUF_F32 && !pair->is_array) {
        value = widen32(gguf_bits(pair->value, 4));
    } else if (pair->type == GGUF_F64 && !pair->is_array) {
        uint64_t bits = gguf_bits(pair->value, 8);
        memcpy(&value, &bits, sizeof value);
    } else if (posref_gguf_integer(&whole, h->gguf, pair->key, 0)) {
        value = (double)whole;
    }
    if (!(value >= low && value <= high))
        return posref_fail(h->r->err, POSREF_BAD_INPUT, name, "must be a number in [%.15g, %.15g]",
                           low, high);
    *out = value;
    *given = true;
    return POSREF_OK;
}

static void text(struct header *h, const char *name, char *out, size_t size)
{
    const struct posref_gguf_pair *pair = find(h, name);
    size_t length = 0;
    const char *value = pair ? posref_gguf_string(h->gguf, pair->key, &length) : NULL;
    snprintf(out, size, "%.*s", (int)(length < size ? length : size - 1), value ? value : "");
    resolve_ascii(out);
}

/* ---- tensors of divisors ---- */

static const struct posref_stored *tensor(const struct header *h, const char *name)
{
    for (size_t i = 0; i < h->gguf->n; i++)
        if (strcmp(h->gguf->item[i].name, name) == 0)
            return &h->gguf->item[i];
    return NULL;
}

/* n positive finite numbers of type F32, or -1. */
static int divisors(const struct posref_stored *stored, double out[MAX_PAIRS])
{
    uint64_t n = stored ? stored->size_bytes / 4 : 0;
    if (n == 0 || n > MAX_PAIRS || strcmp(stored->type_name, "F32") != 0)
        return -1;
    for (uint64_t i = 0; i < n; i++) {
        out[i] = widen32(gguf_bits(stored->data + 4 * i, 4));
        if (!isfinite(out[i]) || out[i] <= 0)
            return -1;
    }
    return (int)n;
}

static bool set_divisors(struct posref_spec *spec, const char *field, const double *list, int n)
{
    struct posref_buffer words;
    posref_buffer_init(&words, POSREF_MAX_FIELD_TEXT);
    for (int i = 0; i < n; i++) {
        posref_buffer_text(&words, i ? "," : "");
        posref_buffer_number(&words, list[i]);
    }
    posref_buffer_add(&words, "", 1);
    bool ok = !words.failed && resolve_set(spec, field, words.data);
    posref_buffer_clear(&words);
    return ok;
}

/* Whether llama3 with that factor gives these divisors to float32's precision. */
static bool fits_llama3(const struct header *h, const double *list, int n, double factor,
                        double length)
{
    struct posref_spec spec = h->layer->spec;
    struct posref_tensors in = {.n = 0}, plain, scaled;
    struct posref_error err;
    const struct posref_arena *arena = h->r->arena;
    const enum posref_op op = POSREF_OP_FREQUENCIES;
    bool ok = posref_spec_complete(&spec, &err) == POSREF_OK &&
              posref_eval(&plain, &spec, op, &in, arena, &err) == POSREF_OK;
    spec = h->layer->spec;
    ok = ok && resolve_set(&spec, "scaling", "llama3") &&
         resolve_set_number(&spec, "factor", factor) &&
         resolve_set_number(&spec, "original_max_position_embeddings", length) &&
         posref_spec_complete(&spec, &err) == POSREF_OK &&
         posref_eval(&scaled, &spec, op, &in, arena, &err) == POSREF_OK;
    if (!ok || posref_tensor_count(&plain.item[0]) != n)
        return false;
    const double *a = plain.item[0].data, *b = scaled.item[0].data;
    for (int i = 0; i < n; i++)
        if (fabs(a[i] / b[i] - list[i]) > 1e-5 * list[i])
            return false;
    return true;
}

static bool set_llama3(struct header *h, const double *list, int n)
{
    double factor = 1;
    for (int i = 0; i < n; i++)
        factor = list[i] > factor ? list[i] : factor;
    for (double length = 2048; length <= 65536; length *= 2) {
        if (!fits_llama3(h, list, n, factor, length))
            continue;
        struct posref_spec *spec = &h->layer->spec;
        resolve_set(spec, "scaling", "llama3");
        resolve_set_number(spec, "factor", factor);
        resolve_set_number(spec, "original_max_position_embeddings", length);
        resolve_say(h->r, h->layer, "info", "rope_freqs.weight", "its divisors are those of llama3 "
                    "with factor %.15g and original length %.15g", factor, length);
        return true;
    }
    return false;
}

static enum posref_status apply_divisors(struct header *h, double context)
{
    double *list = h->r->arena->alloc(h->r->arena->ctx, 2 * MAX_PAIRS * sizeof *list);
    double *longer = list ? list + MAX_PAIRS : NULL;
    const struct posref_stored *one = tensor(h, "rope_freqs.weight");
    const struct posref_stored *brief = tensor(h, "rope_factors_short.weight");
    if (!list)
        return posref_fail(h->r->err, POSREF_NO_MEMORY, "", "no memory");
    int n = divisors(one ? one : brief, list);
    int n_long = brief ? divisors(tensor(h, "rope_factors_long.weight"), longer) : n;
    if (!one && !brief)
        return POSREF_OK;
    if (n < 0 || n_long != n || 2 * n != h->layer->spec.rotary_dim)
        return posref_fail(h->r->err, POSREF_BAD_INPUT, one ? one->name : brief->name,
                           "must hold a positive F32 number for each of %d pairs",
                           h->layer->spec.rotary_dim / 2);
    if (one && set_llama3(h, list, n))
        return POSREF_OK;
    struct posref_spec *spec = &h->layer->spec;
    double length = spec->given[POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS]
                        ? spec->original_max_position_embeddings : context;
    bool ok = resolve_set(spec, "scaling", "longrope") &&
              set_divisors(spec, "short_factor", list, n) &&
              set_divisors(spec, "long_factor", one ? list : longer, n) &&
              resolve_set_number(spec, "original_max_position_embeddings", length) &&
              resolve_set_number(spec, "factor", context > length ? context / length : 1) &&
              resolve_set_number(spec, "seq_len", length);
    if (one)
        ok = ok && resolve_set(spec, "attention_factor", "1");
    if (!ok)
        return posref_fail(h->r->err, POSREF_BAD_INPUT, one ? one->name : brief->name,
                           "holds what no divisor can be");
    resolve_say(h->r, h->layer, "info", one ? one->name : brief->name, one
                ? "divides every pair's angle by its own number"
                : "divides every pair's angle by its own number; the long list serves contexts of "
                  "more than the original length");
    return POSREF_OK;
}

/* ---- keys ---- */

/* llama.cpp: m(f, 1), or the ratio that yarn_log_multiplier names, times attn_factor. */
static enum posref_status set_yarn(struct header *h, double factor, double context)
{
    double original = context, fast = 32, slow = 1, log_mul = 0, attn = 1, ext = 1, stored = 1;
    bool given = false, has_log = false, has_attn = false, has_stored = false, has_ext = false;
    enum posref_status status = number(h, "rope.scaling.original_context_length", 1, 2147483648.0,
                                       &original, &given);
    if (status == POSREF_OK && !given)
        resolve_say(h->r, h->layer, "default", "rope.scaling.original_context_length", "missing; "
                    "llama.cpp takes context_length, %.15g", context);
    if (status == POSREF_OK)
        status = number(h, "rope.scaling.yarn_beta_fast", 1e-6, 1e6, &fast, &given);
    if (status == POSREF_OK)
        status = number(h, "rope.scaling.yarn_beta_slow", 1e-6, 1e6, &slow, &given);
    if (status == POSREF_OK)
        status = number(h, "rope.scaling.yarn_log_multiplier", 0, 1e3, &log_mul, &has_log);
    if (status == POSREF_OK)
        status = number(h, "rope.scaling.attn_factor", 1e-6, 1e6, &attn, &has_attn);
    if (status == POSREF_OK)
        status = number(h, "rope.scaling.yarn_attn_factor", 1e-6, 1e6, &stored, &has_stored);
    if (status == POSREF_OK)
        status = number(h, "rope.scaling.yarn_ext_factor", -1, 1e3, &ext, &has_ext);
    if (status != POSREF_OK)
        return status;
    struct posref_spec *spec = &h->layer->spec;
    resolve_set(spec, "scaling", "yarn");
    resolve_set_number(spec, "factor", factor);
    resolve_set_number(spec, "original_max_position_embeddings", original);
    resolve_set_number(spec, "beta_fast", fast);
    resolve_set_number(spec, "beta_slow", slow);
    resolve_set(spec, "truncate", "true");
    bool latent = strncmp(h->arch, "deepseek2", 9) == 0;
    double all = latent ? 10 * log_mul : log_mul; /* deepseek2 stores a tenth */
    if (has_log && all > 0) {
        resolve_set_number(spec, "mscale", latent ? all : 1);
        resolve_set_number(spec, "mscale_all_dim", all);
    }
    if (has_attn && attn != 1) /* exact: as stored */
        resolve_set_number(spec, "attention_factor", attn * (1 + 0.1 * log(factor)));
    if (has_stored)
        resolve_say(h->r, h->layer, "ignored", "rope.scaling.yarn_attn_factor", "llama.cpp "
                    "recomputes it from the factor");
    if (has_ext && ext != 1 && ext != -1) /* exact: as stored */
        resolve_say(h->r, h->layer, "ignored", "rope.scaling.yarn_ext_factor", "%.15g: only 1 is "
                    "resolved", ext);
    return POSREF_OK;
}

static enum posref_status set_scaling(struct header *h, double context)
{
    char type[32];
    double factor = 1, linear = 1;
    bool given = false, legacy = false;
    text(h, "rope.scaling.type", type, sizeof type);
    enum posref_status status = number(h, "rope.scaling.factor", 0, 1e6, &factor, &given);
    if (status == POSREF_OK)
        status = number(h, "rope.scale_linear", 1e-6, 1e6, &linear, &legacy);
    if (status != POSREF_OK)
        return status;
    if (legacy && !given) {
        factor = linear;
        resolve_say(h->r, h->layer, "legacy", "rope.scale_linear", "the older name of "
                    "rope.scaling.factor");
    }
    struct posref_spec *spec = &h->layer->spec;
    if (!*type && factor > 0 && factor != 1) { /* llama.cpp's default is linear */
        resolve_say(h->r, h->layer, "default", "rope.scaling.type", "missing; llama.cpp takes "
                    "linear");
        snprintf(type, sizeof type, "linear");
    }
    if (strcmp(type, "linear") == 0 && factor > 0) {
        resolve_set(spec, "scaling", "linear");
        resolve_set_number(spec, "factor", factor);
    } else if (strcmp(type, "yarn") == 0 && factor > 0) {
        return set_yarn(h, factor, context);
    } else if (strcmp(type, "longrope") == 0) {
        double original = context;
        status = number(h, "rope.scaling.original_context_length", 1, 2147483648.0, &original,
                        &given);
        if (status == POSREF_OK)
            resolve_set_number(spec, "original_max_position_embeddings", original);
        return status;
    } else if (*type && strcmp(type, "none") != 0) {
        return posref_fail(h->r->err, POSREF_BAD_INPUT, "rope.scaling.type", "'%s' is no scaling "
                           "that llama.cpp knows", type);
    }
    return POSREF_OK;
}

/* Architectures whose ggml kernel pairs neighbours, or rotates nothing: llama.cpp's own table. */
static const char *pairing_of(const char *arch)
{
    static const char *const neighbours[] = {
        "llama", "llama4", "llada", "deci", "baichuan", "starcoder", "internlm2", "minicpm",
        "xverse", "command-r", "cohere2", "olmo", "arctic", "deepseek", "deepseek2", "plm",
        "chatglm", "granite", "granitemoe", "granitehybrid", "chameleon", "bailingmoe", "neo-bert",
        "smollm3", "arcee", "ernie4_5", "ernie4_5-moe", "mistral3", "glm4"};
    static const char *const none[] = {"gpt2", "gptj", "mpt", "refact", "bloom", "mamba", "mamba2",
                                       "t5", "t5encoder", "jais", "rwkv6", "rwkv7"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (strcmp(arch, none[i]) == 0)
            return NULL;
    for (size_t i = 0; i < sizeof neighbours / sizeof *neighbours; i++)
        if (strcmp(arch, neighbours[i]) == 0)
            return "interleaved";
    return "half";
}

static enum posref_status read_sizes(struct header *h, double *dim, double *rotated)
{
    double width = 0, heads = 0;
    bool has_dim = false, has_width = false, has_heads = false, given = false;
    enum posref_status status = number(h, "attention.key_length", 2, POSREF_MAX_DIM, dim, &has_dim);
    if (status == POSREF_OK)
        status = number(h, "embedding_length", 1, 1 << 24, &width, &has_width);
    if (status == POSREF_OK)
        status = number(h, "attention.head_count", 1, 65536, &heads, &has_heads);
    if (status == POSREF_OK)
        status = number(h, "rope.dimension_count", 0, POSREF_MAX_DIM, rotated, &given);
    if (status != POSREF_OK)
        return status;
    if (!has_dim && (!has_width || !has_heads))
        return posref_fail(h->r->err, POSREF_BAD_INPUT, has_width ? "attention.head_count"
                           : "embedding_length", "is missing, and so is attention.key_length");
    if (!has_dim)
        *dim = floor(width / heads);
    if (!given)
        *rotated = *dim;
    if (strncmp(h->arch, "deepseek2", 9) == 0)
        *dim = *rotated; /* the rotated part stands apart */
    return POSREF_OK;
}

/* Pairs of each axis, four streams. Without the key, or all on one axis, it is a rope of text. */
static enum posref_status set_sections(struct header *h)
{
    static const char *const interleaved[] = {"qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe"};
    const struct posref_gguf_pair *pair = find(h, "rope.dimension_sections");
    int64_t part[4] = {0, 0, 0, 0};
    char text_of[64];
    bool imrope = false;
    if (!pair)
        return POSREF_OK;
    for (uint64_t i = 0; i < 4; i++)
        if (!posref_gguf_integer(&part[i], h->gguf, pair->key, i) || part[i] < 0 ||
            part[i] > MAX_PAIRS)
            return posref_fail(h->r->err, POSREF_BAD_INPUT, "rope.dimension_sections",
                               "must be four numbers of pairs");
    if (part[1] == 0 && part[2] == 0)
        return POSREF_OK;
    for (size_t i = 0; i < sizeof interleaved / sizeof *interleaved; i++)
        imrope = imrope || strcmp(h->arch, interleaved[i]) == 0;
    snprintf(text_of, sizeof text_of, "%d,%d,%d,%d", (int)part[0], (int)part[1], (int)part[2],
             (int)part[3]);
    struct posref_spec *spec = &h->layer->spec;
    resolve_set(spec, "pairing", "half"); /* of every kernel with sections */
    resolve_set(spec, "mrope_section", text_of);
    resolve_set(spec, "mrope_interleaved", imrope ? "true" : "false");
    resolve_set(spec, "mrope_order", imrope ? "imrope" : "chunked");
    return POSREF_OK;
}

static enum posref_status read_rope(struct header *h, const char *pairing, const char *base_key)
{
    double dim = 0, rotated = 0, base = 10000, context = 0;
    bool has_base = false, given = false;
    struct posref_spec *spec = &h->layer->spec;
    enum posref_status status = read_sizes(h, &dim, &rotated);
    if (status == POSREF_OK)
        status = number(h, base_key, 1.0000001, 1e12, &base, &has_base);
    if (status == POSREF_OK)
        status = number(h, "context_length", 1, 2147483648.0, &context, &given);
    if (status != POSREF_OK)
        return status;
    if (!has_base)
        resolve_say(h->r, h->layer, "default", base_key, "missing; llama.cpp takes 10000");
    resolve_set(spec, "scheme", "rope");
    resolve_set_number(spec, "dim", dim);
    resolve_set_number(spec, "base", base);
    resolve_set_number(spec, "rotary_dim", rotated);
    resolve_set(spec, "pairing", pairing);
    resolve_set(spec, "scaling", "none");
    h->layer->has_spec = true;
    status = set_scaling(h, context);
    if (status == POSREF_OK)
        status = set_sections(h);
    if (status == POSREF_OK)
        status = apply_divisors(h, context);
    if (status == POSREF_OK)
        status = posref_spec_complete(spec, h->r->err);
    return status;
}

static enum posref_status read_alibi(struct header *h, double most)
{
    double heads = 0;
    bool given = false;
    enum posref_status status = number(h, "attention.head_count", 1, POSREF_MAX_HEADS, &heads,
                                       &given);
    if (status == POSREF_OK && !given)
        status = posref_fail(h->r->err, POSREF_BAD_INPUT, "attention.head_count", "is missing");
    if (status != POSREF_OK)
        return status;
    resolve_set(&h->layer->spec, "scheme", "alibi");
    resolve_set_number(&h->layer->spec, "num_heads", heads);
    resolve_set_number(&h->layer->spec, "alibi_bias_max", most);
    resolve_set(&h->layer->spec, "form", "symmetric");
    h->layer->has_spec = true;
    return posref_spec_complete(&h->layer->spec, h->r->err);
}

static enum posref_status add_layers(struct header *h)
{
    double most = 0, swa = 0;
    bool alibi = false, sliding = false;
    const char *pairing = pairing_of(h->arch);
    h->layer = resolve_add_layer(h->r, "all", -1);
    enum posref_status status = number(h, "attention.max_alibi_bias", 0, 256, &most, &alibi);
    if (status == POSREF_OK)
        status = number(h, "rope.freq_base_swa", 1.0000001, 1e12, &swa, &sliding);
    if (status != POSREF_OK || !h->layer)
        return status == POSREF_OK ? POSREF_NO_MEMORY : status;
    if (alibi && most > 0)
        return read_alibi(h, most);
    if (!pairing) {
        resolve_say(h->r, h->layer, "info", "general.architecture", "%s does not rotate q and k",
                    h->arch);
        return POSREF_OK;
    }
    resolve_say(h->r, h->layer, "info", "general.architecture", "llama.cpp pairs %s for %s%s",
                strcmp(pairing, "half") == 0 ? "halves" : "neighbours", h->arch,
                strcmp(pairing, "half") == 0 ? "" : "; a converter has permuted the rows of q and "
                "k where the checkpoint was for halves");
    status = read_rope(h, pairing, "rope.freq_base");
    if (status != POSREF_OK || !sliding)
        return status;
    snprintf(h->layer->applies_to, sizeof h->layer->applies_to, "full_attention");
    h->layer = resolve_add_layer(h->r, "sliding_attention", -1);
    return h->layer ? read_rope(h, pairing, "rope.freq_base_swa") : POSREF_NO_MEMORY;
}

static void say_unread(struct header *h)
{
    for (size_t i = 0; i < h->gguf->n_pairs && i < sizeof h->read; i++)
        if (!h->read[i] && (strstr(h->gguf->pair[i].key, ".rope.") ||
                            strstr(h->gguf->pair[i].key, "alibi")))
            resolve_say(h->r, NULL, "unknown", h->gguf->pair[i].key, "is not read");
}

enum posref_status resolve_gguf(struct resolve *r, const void *data, size_t size_bytes)
{
    struct posref_gguf gguf = {0};
    struct header *h = r->arena->alloc(r->arena->ctx, sizeof *h);
    if (!h)
        return posref_fail(r->err, POSREF_NO_MEMORY, "", "no memory");
    enum posref_status status = posref_gguf_parse(&gguf, data, size_bytes, "header", r->err);
    if (status != POSREF_OK)
        return status;
    *h = (struct header){.r = r, .gguf = &gguf};
    char arch[sizeof h->arch];
    text(h, "general.architecture", arch, sizeof arch);
    snprintf(h->arch, sizeof h->arch, "%s", arch);
    if (*arch) {
        char *family = r->arena->alloc(r->arena->ctx, sizeof arch);
        if (family)
            snprintf(family, sizeof arch, "%s", arch);
        r->family = family;
        status = add_layers(h);
    } else {
        status = posref_fail(r->err, POSREF_BAD_INPUT, "general.architecture", "is missing");
    }
    if (status == POSREF_OK)
        say_unread(h);
    posref_gguf_close(&gguf);
    return status;
}
