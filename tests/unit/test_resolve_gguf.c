/* SPDX-License-Identifier: Apache-2.0 */
/* posref_resolve of GGUF headers: llama.cpp's keys and defaults, divisors that are llama3's,
 * sliding layers, ALiBi, bad values. */
#include "tests/unit/suite.h"
#include "vectors/vectors.h"

#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_PAIRS 64

struct file {
    struct posref_buffer pairs, tensors, data;
    uint64_t n_pairs, n_tensors;
};

static void number(struct posref_buffer *out, uint64_t value, int n_bytes)
{
    unsigned char bytes[8];
    for (int i = 0; i < n_bytes; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    posref_buffer_add(out, bytes, (size_t)n_bytes);
}

static void string(struct posref_buffer *out, const char *text)
{
    number(out, strlen(text), 8);
    posref_buffer_text(out, text);
}

static void begin(struct file *file)
{
    *file = (struct file){.n_pairs = 0};
    posref_buffer_init(&file->pairs, 1 << 20);
    posref_buffer_init(&file->tensors, 1 << 20);
    posref_buffer_init(&file->data, 1 << 20);
}

static void add_text(struct file *file, const char *key, const char *text)
{
    string(&file->pairs, key);
    number(&file->pairs, 8, 4);
    string(&file->pairs, text);
    file->n_pairs++;
}

static void add_whole(struct file *file, const char *key, uint32_t value)
{
    string(&file->pairs, key);
    number(&file->pairs, 4, 4);
    number(&file->pairs, value, 4);
    file->n_pairs++;
}

static void add_list(struct file *file, const char *key, const uint32_t *value, uint64_t n)
{
    string(&file->pairs, key);
    number(&file->pairs, 9, 4); /* a list */
    number(&file->pairs, 4, 4); /* of U32 */
    number(&file->pairs, n, 8);
    for (uint64_t i = 0; i < n; i++)
        number(&file->pairs, value[i], 4);
    file->n_pairs++;
}

static uint32_t bits_of(double value)
{
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
}

static void add_real(struct file *file, const char *key, double value)
{
    string(&file->pairs, key);
    number(&file->pairs, 6, 4);
    number(&file->pairs, bits_of(value), 4);
    file->n_pairs++;
}

static void add_tensor(struct file *file, const char *name, const double *value, int n)
{
    string(&file->tensors, name);
    number(&file->tensors, 1, 4);
    number(&file->tensors, (uint64_t)n, 8);
    number(&file->tensors, 0, 4); /* F32 */
    number(&file->tensors, file->data.length, 8);
    for (int i = 0; i < n; i++)
        number(&file->data, bits_of(value[i]), 4);
    while (file->data.length % 32 != 0)
        number(&file->data, 0, 1);
    file->n_tensors++;
}

/* The answer, or NULL with err filled. */
static json_t *resolve(struct file *file, struct posref_error *err)
{
    struct posref_buffer all, out;
    struct posref_heap *heap = posref_heap_new(0);
    struct posref_arena arena = posref_heap_arena(heap);
    posref_buffer_init(&all, 4 << 20);
    posref_buffer_init(&out, 4 << 20);
    posref_buffer_text(&all, "GGUF");
    number(&all, 3, 4);
    number(&all, file->n_tensors, 8);
    number(&all, file->n_pairs, 8);
    posref_buffer_add(&all, file->pairs.data, file->pairs.length);
    posref_buffer_add(&all, file->tensors.data ? file->tensors.data : "", file->tensors.length);
    while (all.length % 32 != 0)
        number(&all, 0, 1);
    posref_buffer_add(&all, file->data.data ? file->data.data : "", file->data.length);
    json_t *answer = NULL;
    if (posref_resolve(&out, all.data, all.length, &arena, err) == POSREF_OK) {
        json_error_t why;
        answer = json_loadb(out.data, out.length, 0, &why);
        ck_assert_msg(answer != NULL, "%s", why.text);
    }
    posref_buffer_clear(&all);
    posref_buffer_clear(&out);
    posref_buffer_clear(&file->pairs);
    posref_buffer_clear(&file->tensors);
    posref_buffer_clear(&file->data);
    posref_heap_free(heap);
    return answer;
}

static json_t *field(json_t *answer, size_t layer, const char *name)
{
    json_t *layers = json_object_get(answer, "layers");
    json_t *spec = json_object_get(json_array_get(layers, layer), "spec");
    json_t *value = json_object_get(spec, name);
    ck_assert_msg(value != NULL, "layer %zu has no %s", layer, name);
    return value;
}

static bool noted(json_t *answer, size_t layer, const char *key)
{
    json_t *notes = json_object_get(json_array_get(json_object_get(answer, "layers"), layer),
                                    "notes"), *note;
    size_t i;
    json_array_foreach(notes, i, note)
        if (strcmp(json_string_value(json_object_get(note, "key")), key) == 0)
            return true;
    return false;
}

static void sizes(struct file *file, const char *arch)
{
    char key[64];
    begin(file);
    add_text(file, "general.architecture", arch);
    snprintf(key, sizeof key, "%s.embedding_length", arch);
    add_whole(file, key, 4096);
    snprintf(key, sizeof key, "%s.attention.head_count", arch);
    add_whole(file, key, 32);
    snprintf(key, sizeof key, "%s.context_length", arch);
    add_whole(file, key, 131072);
}

START_TEST(keys_and_defaults)
{
    struct file file;
    struct posref_error err = {{0}, {0}};
    sizes(&file, "llama");
    json_t *answer = resolve(&file, &err);
    ck_assert_msg(answer != NULL, "%s: %s", err.key, err.text);
    ck_assert(json_number_value(field(answer, 0, "dim")) == 128);
    ck_assert(json_number_value(field(answer, 0, "base")) == 10000);
    ck_assert_str_eq(json_string_value(field(answer, 0, "pairing")), "interleaved");
    ck_assert(noted(answer, 0, "rope.freq_base"));
    json_decref(answer);

    sizes(&file, "qwen2");
    add_real(&file, "qwen2.rope.freq_base", 1e6);
    add_whole(&file, "qwen2.rope.dimension_count", 64);
    add_text(&file, "qwen2.rope.scaling.type", "yarn");
    add_real(&file, "qwen2.rope.scaling.factor", 4);
    add_whole(&file, "qwen2.rope.scaling.original_context_length", 32768);
    answer = resolve(&file, &err);
    ck_assert_msg(answer != NULL, "%s: %s", err.key, err.text);
    ck_assert_str_eq(json_string_value(field(answer, 0, "pairing")), "half");
    ck_assert_str_eq(json_string_value(field(answer, 0, "scaling")), "yarn");
    ck_assert(json_number_value(field(answer, 0, "rotary_dim")) == 64);
    ck_assert(json_number_value(field(answer, 0, "factor")) == 4);
    ck_assert(json_number_value(field(answer, 0, "original_max_position_embeddings")) == 32768);
    json_decref(answer);
}
END_TEST

/* Sections by axis: in turn for Qwen3-VL's kernel, one after another for the others. */
START_TEST(sections)
{
    static const struct { const char *arch, *order; } kernels[] = {
        {"qwen2vl", "chunked"}, {"qwen3vl", "imrope"}, {"qwen3vlmoe", "imrope"},
        {"glm4", "chunked"}};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        struct file file;
        struct posref_error err = {{0}, {0}};
        char key[64];
        sizes(&file, kernels[i].arch);
        snprintf(key, sizeof key, "%s.rope.dimension_sections", kernels[i].arch);
        add_list(&file, key, (const uint32_t[]){24, 20, 20, 0}, 4);
        json_t *answer = resolve(&file, &err);
        ck_assert_msg(answer != NULL, "%s: %s", err.key, err.text);
        ck_assert_str_eq(json_string_value(field(answer, 0, "mrope_order")), kernels[i].order);
        ck_assert_str_eq(json_string_value(field(answer, 0, "pairing")), "half");
        ck_assert_uint_eq(json_array_size(field(answer, 0, "mrope_section")), 4);
        ck_assert(json_number_value(json_array_get(field(answer, 0, "mrope_section"), 1)) == 20);
        json_decref(answer);

        sizes(&file, kernels[i].arch); /* too few */
        add_list(&file, key, (const uint32_t[]){24, 20}, 2);
        ck_assert(resolve(&file, &err) == NULL);
        ck_assert_str_eq(err.key, "rope.dimension_sections");
    }
}
END_TEST

/* DeepSeek's log multiplier is stored as a tenth; the attention factor cancels. */
START_TEST(log_multiplier)
{
    struct file file;
    struct posref_error err = {{0}, {0}};
    sizes(&file, "deepseek2");
    add_whole(&file, "deepseek2.rope.dimension_count", 64);
    add_text(&file, "deepseek2.rope.scaling.type", "yarn");
    add_real(&file, "deepseek2.rope.scaling.factor", 40);
    add_whole(&file, "deepseek2.rope.scaling.original_context_length", 4096);
    add_real(&file, "deepseek2.rope.scaling.yarn_log_multiplier", 0.1);
    json_t *answer = resolve(&file, &err);
    ck_assert_msg(answer != NULL, "%s: %s", err.key, err.text);
    json_t *layer = json_array_get(json_object_get(answer, "layers"), 0);
    ck_assert(json_number_value(json_object_get(layer, "attention_factor")) == 1);
    ck_assert(json_number_value(field(answer, 0, "dim")) == 64);
    json_decref(answer);
}
END_TEST

/* The divisors of the converter for Llama 3.1 are recognised, and changed ones are not. */
START_TEST(divisors_of_llama3)
{
    double list[N_PAIRS];
    for (int i = 0; i < N_PAIRS; i++) {
        double wave = 2 * 3.14159265358979323846 * pow(500000, 2.0 * i / 128);
        double smooth = (8192 / wave - 1) / 3;
        list[i] = wave < 2048 ? 1 : wave > 8192 ? 8 : 1 / ((1 - smooth) / 8 + smooth);
    }
    for (int changed = 0; changed < 2; changed++) {
        struct file file;
        struct posref_error err = {{0}, {0}};
        list[31] *= changed ? 1.01 : 1;
        sizes(&file, "llama");
        add_real(&file, "llama.rope.freq_base", 500000);
        add_tensor(&file, "rope_freqs.weight", list, N_PAIRS);
        json_t *answer = resolve(&file, &err);
        ck_assert_msg(answer != NULL, "%s: %s", err.key, err.text);
        json_t *layers = json_object_get(answer, "layers");
        json_t *spec = json_object_get(json_array_get(layers, 0), "spec");
        const char *scaling = json_string_value(json_object_get(spec, "scaling"));
        ck_assert_int_eq(scaling && strcmp(scaling, "llama3") == 0, !changed);
        ck_assert(noted(answer, 0, "rope_freqs.weight"));
        if (!changed)
            ck_assert(json_number_value(field(answer, 0, "factor")) == 8 &&
                      json_number_value(field(answer, 0, "original_max_position_embeddings")) ==
                          8192);
        json_decref(answer);
    }
}
END_TEST

START_TEST(sliding_layers_and_slopes)
{
    struct file file;
    struct posref_error err = {{0}, {0}};
    sizes(&file, "gemma3");
    add_real(&file, "gemma3.rope.freq_base", 1e6);
    add_real(&file, "gemma3.rope.freq_base_swa", 1e4);
    json_t *answer = resolve(&file, &err);
    ck_assert_msg(answer != NULL, "%s: %s", err.key, err.text);
    ck_assert(json_number_value(field(answer, 0, "base")) == 1e6);
    ck_assert(json_number_value(field(answer, 1, "base")) == 1e4);
    json_decref(answer);

    sizes(&file, "mpt");
    add_real(&file, "mpt.attention.max_alibi_bias", 8);
    answer = resolve(&file, &err);
    ck_assert_msg(answer != NULL, "%s: %s", err.key, err.text);
    ck_assert_str_eq(json_string_value(field(answer, 0, "scheme")), "alibi");
    ck_assert(json_number_value(field(answer, 0, "num_heads")) == 32);
    json_decref(answer);
}
END_TEST

START_TEST(refused)
{
    struct file file;
    struct posref_error err = {{0}, {0}};
    const double bad[] = {1, -1, 1, 1};
    begin(&file);
    ck_assert(resolve(&file, &err) == NULL);
    ck_assert_str_eq(err.key, "general.architecture");
    sizes(&file, "llama");
    add_real(&file, "llama.rope.freq_base", (double)NAN);
    ck_assert(resolve(&file, &err) == NULL);
    ck_assert_str_eq(err.key, "rope.freq_base");
    sizes(&file, "llama");
    add_text(&file, "llama.rope.scaling.type", "magic");
    ck_assert(resolve(&file, &err) == NULL);
    ck_assert_str_eq(err.key, "rope.scaling.type");
    sizes(&file, "llama");
    add_tensor(&file, "rope_freqs.weight", bad, 4);
    ck_assert(resolve(&file, &err) == NULL);
    ck_assert_str_eq(err.key, "rope_freqs.weight");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("resolve_gguf");
    TCase *tests = tcase_create("resolve_gguf");
    tcase_add_test(tests, keys_and_defaults);
    tcase_add_test(tests, sections);
    tcase_add_test(tests, log_multiplier);
    tcase_add_test(tests, divisors_of_llama3);
    tcase_add_test(tests, sliding_layers_and_slopes);
    tcase_add_test(tests, refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
