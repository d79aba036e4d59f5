/* SPDX-License-Identifier: Apache-2.0 */
/* ggml as npm's @node-llama-cpp/linux-x64 and @fugood/node-llama-linux-x64 ship it, behind the
 * plugin ABI: ops rotate (f32, f16)
 * and weights (f32, ALiBi through soft_max_ext). It needs no header of ggml's.
 *
 *   --config lib=PATH          where libggml-base.so and libggml-cpu-*.so are, or one library that
 *                              has all of ggml (index.node); else the variable
 *                              POSREF_GGML_DIR; else the package under node_modules here
 *   --config pairing=swapped   asks ggml for the other pairing, to see that this is caught
 *
 * How a spec maps to ggml, and where ggml's own rules differ:
 *
 *   pairing half, interleaved       mode NEOX, NORMAL
 *   direction inverse               ggml_rope_ext_back, the gradient, which is the inverse rotation
 *   scaling linear                  freq_scale = 1 / factor
 *   scaling ntk                     freq_base = base * factor^(r/(r-2)), which ggml leaves to its
 *                                   caller
 *   scaling llama3                  frequency factors, divisors of the angle, as GGUF has them
 *   scaling yarn                    ext_factor = 1. ggml multiplies by 1 + 0.1 ln(factor) of its
 *                                   own accord, so the attention factor is divided by that before
 *                                   it is handed over (llama.cpp does so too). It always rounds the
 *                                   range of the ramp outwards: truncate=false is declined, unless
 *                                   rounding changes nothing. It never lets the range be empty or
 *                                   reversed: where the spec's is reversed, it is declined.
 *   mrope_section, half pairs       ggml_rope_multi, mode MROPE (chunked) or IMROPE (imrope);
 *                                   interleaved is IMROPE with t again as its fourth stream
 *   axes_dims d/2, d/2, half pairs  mode VISION: a ladder for each axis, which ggml tells apart by
 *     over the head                 sections of d/4 pairs
 *   alibi, any form                 the mask holds the factor of the slope (key minus query, say);
 *                                   ggml multiplies it by the slopes of alibi_bias_max = max_bias
 *
 * Positions are int32 in ggml: fractions are declined. Softmax takes f32 only. Tables, frequencies
 * and bare biases are not something that ggml hands out: declined. Results are copied out as they
 * are. */
#include "../posref_plugin.h"

#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_DIRECTORY "node_modules/@node-llama-cpp/linux-x64/bins/linux-x64"
#define PI 3.14159265358979323846

enum { TYPE_F32 = 0, TYPE_F16 = 1, TYPE_I32 = 26 };
enum { MODE_NORMAL = 0, MODE_NEOX = 2, MODE_MROPE = 8, MODE_VISION = 24, MODE_IMROPE = 40 };
#define STREAMS 4 /* positions of a token in ggml_rope_multi */
/* A graph and the tensors' headers; measured: 0.6 MB. */
#define OVERHEAD_BYTES ((size_t)2 << 20)

struct start {
    size_t mem_size;
    void *mem_buffer;
    bool no_alloc;
};

typedef void *rope_fn(void *context, void *x, void *positions, void *factors, int n_dims, int mode,
                      int n_ctx_orig, float freq_base, float freq_scale, float ext_factor,
                      float attn_factor, float beta_fast, float beta_slow);

typedef void *rope_multi_fn(void *context, void *x, void *positions, void *factors, int n_dims,
                            int sections[STREAMS], int mode, int n_ctx_orig, float freq_base,
                            float freq_scale, float ext_factor, float attn_factor, float beta_fast,
                            float beta_slow);

struct ggml {
    void (*cpu_init)(void);
    void *(*init)(struct start start);
    void (*free)(void *context);
    void *(*new_4d)(void *context, int type, int64_t a, int64_t b, int64_t c, int64_t d);
    void *(*get_data)(const void *tensor);
    rope_fn *rope, *rope_back;
    rope_multi_fn *rope_multi, *rope_multi_back;
    void *(*soft_max)(void *context, void *a, void *mask, float scale, float max_bias);
    void *(*new_graph)(void *context);
    void (*build)(void *graph, void *tensor);
    int (*compute)(void *context, void *graph, int n_threads);
    bool is_swapped;
    void *memory; /* ggml's arena, kept between calls */
    size_t memory_bytes;
};

/* What ggml_rope_ext and ggml_rope_multi are told. */
struct rope {
    int dim, n_dims, mode;
    int n_streams;         /* 1: ggml_rope_ext */
    int sections[STREAMS]; /* pairs of each stream */
    int axis[STREAMS];     /* whose positions a stream has; -1: zeros */
    double base, freq_scale, ext_factor, attn_factor, beta_fast, beta_slow;
    int n_ctx_orig;
    bool has_factors; /* llama3 */
    bool is_inverse;
};

static double number(const char *spec, const char *key, const char *missing)
{
    return strtod(posref_plugin_value(spec, key, missing), NULL);
}

static bool is(const char *spec, const char *key, const char *value)
{
    return posref_plugin_is(spec, key, value);
}

/* ---- loading --------------------------------------------------------------------- */

/* The CPU library that scores best here; one built for other processors scores 0. What is no
 * directory is the library itself; what else it needs of node is not looked up. */
static void *open_cpu(const char *directory)
{
    char path[8192];
    void *best = NULL;
    int best_score = 0;
    DIR *entries = opendir(directory);
    if (entries == NULL)
        return dlopen(directory, RTLD_LAZY | RTLD_LOCAL);
    const struct dirent *entry;
    while ((entry = readdir(entries)) != NULL) {
        if (strncmp(entry->d_name, "libggml-cpu", 11) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
        int (*score)(void) = NULL;
        if (library)
            *(void **)&score = dlsym(library, "ggml_backend_score");
        int value = score ? score() : 0;
        if (value > best_score) {
            best = library;
            best_score = value;
        }
    }
    closedir(entries);
    return best;
}

/* Resolves every function; returns the name of the one that is missing, or NULL. */
static const char *resolve(struct ggml *g, void *cpu)
{
    const struct {
        const char *name;
        void *to;
    } symbols[] = {
        {"ggml_cpu_init", &g->cpu_init},         {"ggml_init", &g->init},
        {"ggml_free", &g->free},                 {"ggml_new_tensor_4d", &g->new_4d},
        {"ggml_get_data", &g->get_data},         {"ggml_rope_ext", &g->rope},
        {"ggml_rope_ext_back", &g->rope_back},   {"ggml_soft_max_ext", &g->soft_max},
        {"ggml_rope_multi", &g->rope_multi},     {"ggml_rope_multi_back", &g->rope_multi_back},
        {"ggml_new_graph", &g->new_graph},       {"ggml_build_forward_expand", &g->build},
        {"ggml_graph_compute_with_ctx", &g->compute},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        /* The CPU library pulls in libggml-base, and dlsym looks there too. */
        void *address = dlsym(cpu, symbols[i].name);
        if (address == NULL)
            return symbols[i].name;
        memcpy(symbols[i].to, &address, sizeof address);
    }
    return NULL;
}

static void find_directory(char *out, size_t size, const char *config)
{
    const char *given = posref_plugin_value(config, "lib", NULL);
    const char *variable = getenv("POSREF_GGML_DIR");
    if (given)
        snprintf(out, size, "%.*s", (int)strcspn(given, " "), given);
    else
        snprintf(out, size, "%s", variable && *variable ? variable : DEFAULT_DIRECTORY);
}

/* The first key of the configuration that is not known, or NULL. */
static const char *unknown_key(const char *config)
{
    while (*config) {
        if (strncmp(config, "lib=", 4) != 0 && !posref_plugin_word_is(config, "pairing=swapped"))
            return config;
        config += strcspn(config, " ");
        config += *config == ' ';
    }
    return NULL;
}

/* Of the library, once it is open. */
static char version[48];

static int32_t ggml_open(void **state, const char *config, char *why, size_t why_size)
{
    char directory[4000];
    const char *unknown = unknown_key(config);
    if (unknown) {
        snprintf(why, why_size, "--config is lib=PATH or pairing=swapped, not %s", unknown);
        return POSREF_PLUGIN_ERROR;
    }
    find_directory(directory, sizeof directory, config);
    setenv("GGML_NO_BACKTRACE", "1", 1); /* a failed assertion must not spawn a debugger */
    void *cpu = open_cpu(directory);
    if (cpu == NULL) {
        snprintf(why, why_size, "no libggml-cpu for this machine in %.120s", directory);
        return POSREF_PLUGIN_ERROR;
    }
    struct ggml *g = calloc(1, sizeof *g);
    const char *missing = g ? resolve(g, cpu) : "memory";
    if (missing) {
        snprintf(why, why_size, "ggml has no %s", missing);
        free(g);
        return POSREF_PLUGIN_ERROR;
    }
    g->is_swapped = is(config, "pairing", "swapped");
    const char *(*tell)(void) = NULL;
    *(void **)&tell = dlsym(cpu, "ggml_version");
    snprintf(version, sizeof version, "%s", tell ? tell() : "");
    g->cpu_init();
    *state = g;
    return POSREF_PLUGIN_OK;
}

static void ggml_close(void *state)
{
    struct ggml *g = state;
    free(g->memory);
    free(g);
}

/* ---- the spec ----------------------------------------------------------------------- */

static int32_t decline(char *why, size_t why_size, const char *text)
{
    snprintf(why, why_size, "%s", text);
    return POSREF_PLUGIN_UNSUPPORTED;
}

/* Ends of yarn's ramp, rounded outwards or not, within [0, last] or as they come (last < 0). */
static void yarn_range(double *low, double *high, const struct rope *rope, bool rounded,
                       double last)
{
    double per = rope->n_dims / (2 * log(rope->base));
    double length = rope->n_ctx_orig;
    *low = per * log(length / (2 * PI * rope->beta_fast));
    *high = per * log(length / (2 * PI * rope->beta_slow));
    if (rounded) {
        *low = floor(*low);
        *high = ceil(*high);
    }
    if (last < 0)
        return;
    *low = fmax(*low, 0);
    *high = fmin(*high, last);
}

/* Whether the range that the spec means is the one ggml forms. */
static int32_t check_range(const struct rope *rope, const char *spec, char *why, size_t why_size)
{
    const char *rule = posref_plugin_value(spec, "range_rule", "clamped");
    const bool half = posref_plugin_word_is(rule, "half");
    const bool own = posref_plugin_word_is(rule, "at_least");
    double low, high, exact_low, exact_high, last = rope->n_dims - 1;
    yarn_range(&low, &high, rope, true, last);
    if (posref_plugin_word_is(rule, "unclamped"))
        last = -1;
    yarn_range(&exact_low, &exact_high, rope, is(spec, "truncate", "true"),
               half ? rope->n_dims / 2.0 - 1 : last);
    if (low != exact_low || high != exact_high)
        return decline(why, why_size, "ggml always rounds yarn's range (truncate=true) and clamps "
                                      "it to [0, r - 1]");
    if (low > high && !own)
        return decline(why, why_size, "ggml has no reversed range of yarn");
    return POSREF_PLUGIN_OK;
}

/* 0.1 scale ln(factor) + 1. */
static double yarn_magnitude(double factor, double scale)
{
    return factor > 1 ? 0.1 * scale * log(factor) + 1 : 1;
}

/* By mscale_rule; ggml leaves the rule to its callers but for `ggml` itself. */
static double own_factor(const char *spec, double factor)
{
    const char *rule = posref_plugin_value(spec, "mscale_rule", "both");
    const bool ratio = posref_plugin_word_is(rule, "ratio");
    double mscale = number(spec, "mscale", ratio ? "1" : "0");
    double all = number(spec, "mscale_all_dim", "0");
    if (ratio || (posref_plugin_word_is(rule, "both") && mscale != 0 && all != 0))
        return yarn_magnitude(factor, mscale) / yarn_magnitude(factor, all);
    if (posref_plugin_word_is(rule, "none"))
        return 1;
    if (posref_plugin_word_is(rule, "ggml"))
        return 1 + 0.1 * log(factor);
    return yarn_magnitude(factor, posref_plugin_word_is(rule, "telechat") ? 0.7 : 1);
}

static double attention_factor(const char *spec, double factor)
{
    const char *given = posref_plugin_value(spec, "attention_factor", NULL);
    const char *meaning = posref_plugin_value(spec, "attention_factor_rule", "replaces");
    if (!given || posref_plugin_word_is(meaning, "ignored"))
        return own_factor(spec, factor);
    if (posref_plugin_word_is(meaning, "multiplies"))
        return own_factor(spec, factor) * strtod(given, NULL);
    return strtod(given, NULL);
}

static int32_t read_yarn(struct rope *rope, const char *spec, char *why, size_t why_size)
{
    double factor = number(spec, "factor", "1"), own = 1 + 0.1 * log(factor);
    double length = number(spec, "original_max_position_embeddings", "0");
    if (length != floor(length) || length > 2147483647)
        return decline(why, why_size, "original_max_position_embeddings is an int in ggml");
    rope->n_ctx_orig = (int)length;
    rope->beta_fast = number(spec, "beta_fast", "32");
    rope->beta_slow = number(spec, "beta_slow", "1");
    if (check_range(rope, spec, why, why_size) != POSREF_PLUGIN_OK)
        return POSREF_PLUGIN_UNSUPPORTED;
    if (own <= 0)
        return decline(why, why_size, "ggml's own factor 1 + 0.1 ln(factor) is not positive");
    rope->freq_scale = 1 / factor;
    rope->ext_factor = 1;
    rope->attn_factor = attention_factor(spec, factor) / own;
    return POSREF_PLUGIN_OK;
}

/* Sections of M-RoPE. */
static int32_t read_sections(struct rope *rope, const char *spec, char *why, size_t why_size)
{
    const char *text = posref_plugin_value(spec, "mrope_section", "");
    const bool fourth = is(spec, "mrope_order", "imrope");
    const bool turns = is(spec, "mrope_order", "interleaved");
    int n = 0;
    char *end = NULL;
    for (bool more = true; more && n < STREAMS; text = end + 1) {
        rope->sections[n++] = (int)strtol(text, &end, 10);
        more = *end == ',';
    }
    if (end && *end == ',')
        return decline(why, why_size, "ggml has four sections at most");
    if (!fourth && !turns && !is(spec, "mrope_order", "chunked"))
        return decline(why, why_size, "no such order of sections in ggml");
    if (rope->sections[0] + rope->sections[1] + rope->sections[2] == 0)
        return decline(why, why_size, "ggml wants a section among the first three");
    rope->mode = fourth || turns ? MODE_IMROPE : MODE_MROPE;
    rope->n_streams = STREAMS;
    for (int k = 0; k < STREAMS; k++)
        rope->axis[k] = k < n ? k : turns ? 0 : -1;
    return POSREF_PLUGIN_OK;
}

/* Two axes of a vision tower. */
static int32_t read_dims(struct rope *rope, const char *spec, char *why, size_t why_size)
{
    char halves[32];
    snprintf(halves, sizeof halves, "%d,%d", rope->dim / 2, rope->dim / 2);
    if (!is(spec, "axes_dims", halves) || !is(spec, "axes_span", "head") || rope->dim % 4 != 0 ||
        !is(spec, "axes_ladder", "independent") || !is(spec, "axes_order", "axis") ||
        !is(spec, "angle_unit", "radian") || posref_plugin_value(spec, "axes_ntk", NULL))
        return decline(why, why_size, "ggml has vision towers and M-RoPE, no other axes");
    rope->mode = MODE_VISION;
    rope->n_dims = rope->dim / 2;
    rope->n_streams = STREAMS;
    for (int k = 0; k < STREAMS; k++) {
        rope->sections[k] = rope->dim / 4;
        rope->axis[k] = k % 2;
    }
    return POSREF_PLUGIN_OK;
}

static int32_t read_axes(struct rope *rope, const struct ggml *g, const char *spec, char *why,
                         size_t why_size)
{
    const bool dims = posref_plugin_value(spec, "axes_dims", NULL);
    if (!dims && !posref_plugin_value(spec, "mrope_section", NULL))
        return POSREF_PLUGIN_OK;
    if (!is(spec, "pairing", "half") || g->is_swapped)
        return decline(why, why_size, "ggml turns half pairs only where there are several axes");
    return dims ? read_dims(rope, spec, why, why_size) : read_sections(rope, spec, why, why_size);
}

/* Yarn, also in the readings that are named after it (yarn+mscale_rule), and no xPos. */
static bool is_yarn(const char *spec)
{
    const char *scaling = posref_plugin_value(spec, "scaling", "");
    return is(spec, "scaling", "yarn") || (strncmp(scaling, "yarn+", strlen("yarn+")) == 0 &&
                                           !posref_plugin_value(spec, "xpos_scale_base", NULL));
}

static int32_t read_rope(struct rope *rope, const struct ggml *g, const char *spec, char *why,
                         size_t why_size)
{
    double factor = number(spec, "factor", "1"), r = number(spec, "rotary_dim", "0");
    bool half = is(spec, "pairing", "half");
    if (!half && !is(spec, "pairing", "interleaved"))
        return decline(why, why_size, "no such pairing in ggml");
    if (!is(spec, "partial", "leading"))
        return decline(why, why_size, "ggml rotates the first channels only");
    *rope = (struct rope){.dim = (int)number(spec, "dim", "0"), .n_dims = (int)r,
                          .mode = half != g->is_swapped ? MODE_NEOX : MODE_NORMAL,
                          .base = number(spec, "base", "10000"), .freq_scale = 1,
                          .attn_factor = 1, .beta_fast = 32, .beta_slow = 1, .n_streams = 1,
                          .is_inverse = is(spec, "direction", "inverse")};
    int32_t status = read_axes(rope, g, spec, why, why_size);
    if (status != POSREF_PLUGIN_OK)
        return status;
    if (is(spec, "scaling", "none"))
        return POSREF_PLUGIN_OK;
    if (is(spec, "scaling", "linear")) {
        rope->freq_scale = 1 / factor;
        return POSREF_PLUGIN_OK;
    }
    if (is(spec, "scaling", "ntk")) {
        rope->base *= pow(factor, r / (r - 2));
        return POSREF_PLUGIN_OK;
    }
    if (is(spec, "scaling", "llama3")) {
        rope->has_factors = true;
        return POSREF_PLUGIN_OK;
    }
    if (is_yarn(spec))
        return read_yarn(rope, spec, why, why_size);
    return decline(why, why_size, "no such scaling in ggml");
}

/* Divisors of the angles, as converters write them into GGUF files. */
static void llama3_factors(float *out, const struct rope *rope, const char *spec)
{
    double factor = number(spec, "factor", "8"), low = number(spec, "low_freq_factor", "1");
    double high = number(spec, "high_freq_factor", "4");
    double length = number(spec, "original_max_position_embeddings", "8192");
    for (int i = 0; i < rope->n_dims / 2; i++) {
        double turns = length * pow(rope->base, -2.0 * i / rope->n_dims) / (2 * PI);
        double smooth = (turns - low) / (high - low);
        out[i] = (float)(turns > high  ? 1
                         : turns < low ? factor
                                       : 1 / ((1 - smooth) / factor + smooth));
    }
}

/* ---- running -------------------------------------------------------------------------- */

/* A context with room for data_bytes beside the graph, in memory that is kept; NULL: none. */
static void *begin(struct ggml *g, size_t data_bytes)
{
    size_t need = OVERHEAD_BYTES + data_bytes;
    if (g->memory_bytes < need) {
        free(g->memory);
        g->memory = NULL;
        g->memory_bytes = 0;
        if (posix_memalign(&g->memory, 64, need) != 0)
            return NULL;
        g->memory_bytes = need;
    }
    return g->init((struct start){g->memory_bytes, g->memory, false});
}

static void compute(const struct ggml *g, void *context, void *result)
{
    void *graph = g->new_graph(context);
    g->build(graph, result);
    g->compute(context, graph, 1);
}

static int ggml_type(uint32_t dtype)
{
    return dtype == POSREF_PLUGIN_F16 ? TYPE_F16 : TYPE_F32;
}

/* Elements of a tensor. */
static int64_t count(const struct posref_plugin_tensor *t)
{
    int64_t n = 1;
    for (uint32_t axis = 0; axis < t->rank; axis++)
        n *= t->shape[axis];
    return n;
}

/* ggml wants whole rows one after another, as posref hands them today. */
static bool is_contiguous(const struct posref_plugin_tensor *t)
{
    int64_t stride = 1;
    for (uint32_t axis = t->rank; axis-- > 0;) {
        if (t->strides[axis] != stride && t->shape[axis] > 1)
            return false;
        stride *= t->shape[axis];
    }
    return true;
}

/* Stream after stream, one number a token. */
static void fill_positions(int32_t *out, const struct rope *rope,
                           const struct posref_plugin_tensor *positions, int64_t n)
{
    for (int k = 0; k < rope->n_streams; k++)
        for (int64_t i = 0; i < n; i++)
            out[k * n + i] = rope->axis[k] < 0
                                 ? 0 : (int32_t)posref_plugin_position(positions, rope->axis[k], i);
}

/* The gradient, dx of dy, is the rotation the other way; ggml has it for training. */
static bool is_backward(const struct posref_plugin_call *call)
{
    return posref_plugin_word_is(call->op, "rotate_backward");
}

/* The node that rotates a. */
static void *rotation(const struct ggml *g, void *context, void *a, void *b, void *c,
                      struct rope *rope)
{
    const float base = (float)rope->base, scale = (float)rope->freq_scale;
    const float ext = (float)rope->ext_factor, attn = (float)rope->attn_factor;
    const float fast = (float)rope->beta_fast, slow = (float)rope->beta_slow;
    if (rope->n_streams == 1)
        return (rope->is_inverse ? g->rope_back : g->rope)(context, a, b, c, rope->n_dims,
                                                           rope->mode, rope->n_ctx_orig, base,
                                                           scale, ext, attn, fast, slow);
    return (rope->is_inverse ? g->rope_multi_back : g->rope_multi)(
        context, a, b, c, rope->n_dims, rope->sections, rope->mode, rope->n_ctx_orig, base, scale,
        ext, attn, fast, slow);
}

static int32_t run_rope(struct ggml *g, const struct posref_plugin_call *call, char *why,
                        size_t why_size)
{
    struct rope rope;
    int32_t status = read_rope(&rope, g, call->spec, why, why_size);
    if (status != POSREF_PLUGIN_OK)
        return status;
    const bool backward = is_backward(call);
    const struct posref_plugin_tensor *x = posref_plugin_find(call, backward ? "dy" : "x");
    const struct posref_plugin_tensor *y = posref_plugin_find(call, backward ? "dx" : "y");
    rope.is_inverse = rope.is_inverse != backward;
    const struct posref_plugin_tensor *positions = posref_plugin_find(call, "positions");
    int64_t n = x->shape[0], heads = x->rank == 3 ? x->shape[1] : 1;
    size_t bytes = (size_t)count(x) * posref_plugin_dtype_size(x->dtype);
    /* Input and output; positions and factors; the scratch rows of ggml's cosines. */
    void *context = begin(g, 2 * bytes + (size_t)n * 4 * STREAMS + (size_t)rope.dim * 64 + 4096);
    if (context == NULL)
        return POSREF_PLUGIN_ERROR;
    void *a = g->new_4d(context, ggml_type(x->dtype), rope.dim, heads, n, 1);
    void *b = g->new_4d(context, TYPE_I32, n * rope.n_streams, 1, 1, 1), *c = NULL;
    memcpy(g->get_data(a), x->data, bytes);
    fill_positions(g->get_data(b), &rope, positions, n);
    if (rope.has_factors) {
        c = g->new_4d(context, TYPE_F32, rope.n_dims / 2, 1, 1, 1);
        llama3_factors(g->get_data(c), &rope, call->spec);
    }
    void *out = rotation(g, context, a, b, c, &rope);
    compute(g, context, out);
    memcpy(y->data, g->get_data(out), bytes);
    g->free(context);
    return POSREF_PLUGIN_OK;
}

/* What the slope multiplies, for query i and key j. */
static double distance(const char *spec, double q, double k)
{
    if (is(spec, "form", "row"))
        return k;
    return is(spec, "form", "symmetric") ? -fabs(q - k) : k - q;
}

static int32_t run_weights(struct ggml *g, const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *logits = posref_plugin_find(call, "logits");
    const struct posref_plugin_tensor *weights = posref_plugin_find(call, "weights");
    const struct posref_plugin_tensor *q = posref_plugin_find(call, "q_positions");
    const struct posref_plugin_tensor *k = posref_plugin_find(call, "k_positions");
    int64_t heads = logits->shape[0], n_q = logits->shape[1], n_k = logits->shape[2];
    size_t bytes = (size_t)count(logits) * sizeof(float);
    void *context = begin(g, 2 * bytes + (size_t)(n_q * n_k) * 4 + (size_t)n_k * 256 + 4096);
    if (context == NULL)
        return POSREF_PLUGIN_ERROR;
    void *a = g->new_4d(context, TYPE_F32, n_k, n_q, heads, 1);
    void *mask = g->new_4d(context, TYPE_F32, n_k, n_q, 1, 1);
    memcpy(g->get_data(a), logits->data, bytes);
    for (int64_t i = 0; i < n_q; i++)
        for (int64_t j = 0; j < n_k; j++)
            ((float *)g->get_data(mask))[i * n_k + j] =
                (float)distance(call->spec, posref_plugin_position(q, 0, i),
                                posref_plugin_position(k, 0, j));
    void *out = g->soft_max(context, a, mask, 1,
                            (float)number(call->spec, "alibi_bias_max", "8"));
    compute(g, context, out);
    memcpy(weights->data, g->get_data(out), bytes);
    g->free(context);
    return POSREF_PLUGIN_OK;
}

/* ---- the plugin --------------------------------------------------------------------------- */

static int32_t supports_rope(const struct ggml *g, const struct posref_plugin_call *call, char *why,
                             size_t why_size)
{
    const bool backward = is_backward(call);
    const struct posref_plugin_tensor *x = posref_plugin_find(call, backward ? "dy" : "x");
    const struct posref_plugin_tensor *y = posref_plugin_find(call, backward ? "dx" : "y");
    const struct posref_plugin_tensor *positions = posref_plugin_find(call, "positions");
    struct rope rope;
    if (x == NULL || positions == NULL || x->rank > 3)
        return decline(why, why_size, "x [n, dim] or [n, heads, dim] only");
    if (x->dtype != POSREF_PLUGIN_F32 && x->dtype != POSREF_PLUGIN_F16)
        return decline(why, why_size, "rotate takes f32 and f16");
    if (!is_contiguous(x) || !is_contiguous(y))
        return decline(why, why_size, "contiguous tensors only");
    const bool several = positions->rank == 2;
    for (int64_t axis = 0; axis < (several ? positions->shape[0] : 1); axis++)
        for (int64_t i = 0; i < positions->shape[several]; i++) {
            double position = posref_plugin_position(positions, axis, i);
            if (position != floor(position))
                return decline(why, why_size, "positions are int32 in ggml");
        }
    return read_rope(&rope, g, call->spec, why, why_size);
}

static int32_t ggml_supports(void *state, const struct posref_plugin_call *call, char *why,
                             size_t why_size)
{
    const bool rotates = posref_plugin_word_is(call->op, "rotate") || is_backward(call);
    if (rotates && is(call->spec, "scheme", "rope"))
        return supports_rope(state, call, why, why_size);
    if (!posref_plugin_word_is(call->op, "weights") || !is(call->spec, "scheme", "alibi"))
        return decline(why, why_size, "ggml hands out rotations and softmax weights only");
    if (posref_plugin_find(call, "logits")->dtype != POSREF_PLUGIN_F32)
        return decline(why, why_size, "soft_max_ext takes f32 only");
    return POSREF_PLUGIN_OK;
}

static int32_t ggml_run(void *state, const struct posref_plugin_call *call, char *why,
                        size_t why_size)
{
    return posref_plugin_word_is(call->op, "weights") ? run_weights(state, call)
                                                      : run_rope(state, call, why, why_size);
}

const struct posref_plugin *posref_plugin_entry(uint32_t host_abi)
{
    static const struct posref_plugin plugin = {
        .abi = POSREF_PLUGIN_ABI,
        .struct_size = sizeof plugin,
        .name = "ggml",
        .version = version,
        .open = ggml_open,
        .supports = ggml_supports,
        .run = ggml_run,
        .close = ggml_close,
    };
    (void)host_abi;
    return &plugin;
}
