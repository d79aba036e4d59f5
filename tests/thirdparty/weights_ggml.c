/* SPDX-License-Identifier: Apache-2.0 */
/* weights against the real ggml: its quantised blocks decode to the same bits here, its types have
 * the sizes we think, and a model ported to its NORMAL kernel keeps its scores and passes check.
 * weights_ggml DIRECTORY-OF-LIBRARIES; exits 77 when they are not there. */
#include "tests/thirdparty/weights_ggml.h"

#include "vectors/gguf_types.h"

#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADS 12
#define KV_HEADS 2
#define HIDDEN 256
#define TOKENS 3
#define BASE 10000.0
#define MAX_DIM 128
#define N_SCORES (HEADS * TOKENS * TOKENS)

static int n_passed, n_failed;

static void expect(bool holds, const char *what, const char *detail)
{
    n_passed += holds;
    n_failed += !holds;
    if (!holds)
        printf("FAILED: %s: %s\n", what, detail);
}

static void check_sizes(const struct ggml *ggml)
{
    char text[96];
    for (uint32_t number = 0; number < 41; number++) {
        const struct gguf_type *type = gguf_type_find(number);
        if (!type)
            continue;
        snprintf(text, sizeof text, "%s: %lld elements, %zu bytes", type->name,
                 (long long)ggml->blck_size((int)number), ggml->type_size((int)number));
        expect(ggml->blck_size((int)number) == type->block_elements &&
               ggml->type_size((int)number) == (size_t)type->block_bytes, "size of a type", text);
    }
}

static const struct {
    int number;
    enum posref_stored_type type;
    const char *decode;
} types[] = {
    {2, POSREF_STORED_Q4_0, "dequantize_row_q4_0"},
    {3, POSREF_STORED_Q4_1, "dequantize_row_q4_1"},
    {6, POSREF_STORED_Q5_0, "dequantize_row_q5_0"},
    {7, POSREF_STORED_Q5_1, "dequantize_row_q5_1"},
    {8, POSREF_STORED_Q8_0, "dequantize_row_q8_0"},
    {10, POSREF_STORED_Q2_K, "dequantize_row_q2_K"},
    {11, POSREF_STORED_Q3_K, "dequantize_row_q3_K"},
    {12, POSREF_STORED_Q4_K, "dequantize_row_q4_K"},
    {13, POSREF_STORED_Q5_K, "dequantize_row_q5_K"},
    {14, POSREF_STORED_Q6_K, "dequantize_row_q6_K"},
};
#define N_TYPES ((int)(sizeof types / sizeof *types))

/* Real quantised data, then random bits (scales kept finite by ggml's own encoding of noise). */
static void check_decoding(const struct ggml *ggml)
{
    enum { N = 64 * 256 };
    static float value[N], theirs[N], ours[N];
    static unsigned char bytes[N * 4];
    for (int i = 0; i < N_TYPES; i++) {
        void (*decode)(const void *, float *, int64_t) = NULL;
        *(void **)&decode = dlsym(ggml->base, types[i].decode);
        if (!decode) {
            expect(false, "ggml has no", types[i].decode);
            continue;
        }
        for (int j = 0; j < N; j++)
            value[j] = (float)(sin(0.7 * j + i) * exp(sin(0.013 * j)) * 0.05);
        ggml->quantize_chunk(types[i].number, value, bytes, 0, 64, 256, NULL);
        decode(bytes, theirs, N);
        posref_decode(ours, types[i].type, bytes, N);
        expect(memcmp(theirs, ours, sizeof ours) == 0, "decoding", types[i].decode);
    }
}

/* ---- a port ---- */

struct layer {
    struct made_model model; /* q, k */
    int64_t dim;
};

/* q or k of every token before rotation: y[token][head][dim]. */
static void project(float *y, const struct made_tensor *weight, int64_t dim)
{
    struct made_model tokens;
    made_init(&tokens, 5);
    int64_t heads = weight->rows / dim;
    for (int64_t token = 0; token < TOKENS; token++) {
        double input[HIDDEN];
        for (int c = 0; c < HIDDEN; c++)
            input[c] = made_random(&tokens) - 0.5;
        for (int64_t row = 0; row < weight->rows; row++) {
            double sum = 0;
            for (int c = 0; c < HIDDEN; c++)
                sum += (double)weight->value[row * HIDDEN + c] * input[c];
            y[token * heads * dim + row] = (float)sum;
        }
    }
}

static void dot(double out[N_SCORES], const float *q, const float *k, int64_t dim)
{
    for (int64_t head = 0; head < HEADS; head++)
        for (int64_t m = 0; m < TOKENS; m++)
            for (int64_t n = 0; n < TOKENS; n++) {
                double sum = 0;
                for (int64_t i = 0; i < dim; i++)
                    sum += (double)q[(m * HEADS + head) * dim + i] *
                           (double)k[(n * KV_HEADS + head / (HEADS / KV_HEADS)) * dim + i];
                out[(head * TOKENS + m) * TOKENS + n] = sum;
            }
}

/* Rotates y[token][heads][dim] in half order through the reference. */
static void rotate_half(float *y, int64_t heads, int64_t dim)
{
    static double wide[TOKENS * HEADS * MAX_DIM];
    double positions[TOKENS];
    struct posref_spec spec;
    struct posref_error err = {{0}, {0}};
    char text[24];
    struct posref_tensors outputs, inputs = {.n = 2, .item = {
        {"positions", POSREF_F64, 1, {TOKENS}, positions},
        {"x", POSREF_F64, 3, {TOKENS, heads, dim}, wide}}};
    struct posref_heap *heap = posref_heap_new(0);
    struct posref_arena arena = posref_heap_arena(heap);
    for (int i = 0; i < TOKENS; i++)
        positions[i] = ggml_positions[i];
    for (int64_t i = 0; i < TOKENS * heads * dim; i++)
        wide[i] = (double)y[i];
    snprintf(text, sizeof text, "%lld", (long long)dim);
    posref_spec_init(&spec);
    bool ok = posref_spec_set(&spec, "scheme", "rope", &err) == POSREF_OK &&
              posref_spec_set(&spec, "dim", text, &err) == POSREF_OK &&
              posref_spec_complete(&spec, &err) == POSREF_OK &&
              posref_eval(&outputs, &spec, POSREF_OP_ROTATE, &inputs, &arena, &err) == POSREF_OK;
    expect(ok, "reference", err.text);
    const double *out = ok ? posref_tensors_find(&outputs, "y")->data : wide;
    for (int64_t i = 0; i < TOKENS * heads * dim; i++)
        y[i] = (float)out[i];
    posref_heap_free(heap);
}

static double distance(const double a[N_SCORES], const double b[N_SCORES])
{
    double worst = 0, largest = 0;
    for (int i = 0; i < N_SCORES; i++) {
        worst = fmax(worst, fabs(a[i] - b[i]));
        largest = fmax(largest, fabs(a[i]));
    }
    return worst / largest;
}

/* Scores of weights through ggml's kernel of a mode. */
static void ggml_scores(double out[N_SCORES], const struct ggml *ggml, struct made_model *model,
                        int64_t dim, int mode)
{
    static float q[TOKENS * HEADS * MAX_DIM], k[TOKENS * KV_HEADS * MAX_DIM];
    project(q, &model->tensor[0], dim);
    project(k, &model->tensor[1], dim);
    ggml_rotate(ggml, q, HEADS, dim, TOKENS, mode, (float)BASE);
    ggml_rotate(ggml, k, KV_HEADS, dim, TOKENS, mode, (float)BASE);
    dot(out, q, k, dim);
}

static void save_config(const char *directory, int64_t dim)
{
    char path[128], text[160];
    snprintf(path, sizeof path, "%s/config.json", directory);
    snprintf(text, sizeof text, "{\"model_type\":\"llama\",\"num_attention_heads\":%d,"
             "\"num_key_value_heads\":%d,\"head_dim\":%lld}", HEADS, KV_HEADS, (long long)dim);
    made_save_text(path, text);
}

/* Says which kernel check finds that the file at `after` needs; "" on failure. */
static const char *needed_kernel(const char *before, const char *after, int *n_wrong)
{
    static char pairing[16];
    static const struct posref_weights_options none;
    struct posref_weights_side a = {0}, b = {0};
    struct posref_weights_result result = {0};
    struct posref_error err = {{0}, {0}};
    enum posref_status status = posref_weights_open(&a, before, &none, &err);
    if (status == POSREF_OK)
        status = posref_weights_open(&b, after, &none, &err);
    if (status == POSREF_OK)
        status = posref_weights_compare(&result, &a, &b, &none, &err);
    expect(status == POSREF_OK, "check", err.text);
    snprintf(pairing, sizeof pairing, "%s", status == POSREF_OK ? result.kernel_pairing : "");
    *n_wrong = 0;
    for (size_t i = 0; i < result.n_findings; i++)
        *n_wrong += result.finding[i].severity == POSREF_WRONG;
    posref_weights_result_clear(&result);
    posref_weights_close(&a);
    posref_weights_close(&b);
    return pairing;
}

static void save_gguf(const struct made_model *ported, const char *path, int64_t dim)
{
    const struct made_pair pairs[] = {{"general.architecture", 0, "llama"},
                                      {"llama.attention.head_count", HEADS, NULL},
                                      {"llama.attention.head_count_kv", KV_HEADS, NULL},
                                      {"llama.attention.key_length", dim, NULL},
                                      {NULL, 0, NULL}};
    made_save_gguf(ported, path, pairs, 0, ported->n);
}

/* Half-order weights, ported for NORMAL: ggml's scores are the reference's on the original. */
static void check_port(const struct ggml *ggml, const char *directory, int64_t dim,
                       enum posref_stored_type type)
{
    struct made_model model, ported;
    char before[128], after[128], text[96];
    double want[N_SCORES], got[N_SCORES];
    static float q[TOKENS * HEADS * MAX_DIM], k[TOKENS * KV_HEADS * MAX_DIM];
    int n_wrong;
    made_init(&model, (uint64_t)dim);
    made_add(&model, "model.layers.0.self_attn.q_proj.weight", HEADS * dim, HIDDEN);
    made_add(&model, "model.layers.0.self_attn.k_proj.weight", KV_HEADS * dim, HIDDEN);
    snprintf(before, sizeof before, "%s/before.safetensors", directory);
    snprintf(after, sizeof after, "%s/after.gguf", directory);
    snprintf(text, sizeof text, "dim %lld, %s", (long long)dim, posref_stored_def(type)->name);
    save_config(directory, dim);
    made_save_safetensors(&model, before);
    project(q, &model.tensor[0], dim);
    project(k, &model.tensor[1], dim);
    rotate_half(q, HEADS, dim);
    rotate_half(k, KV_HEADS, dim);
    dot(want, q, k, dim);

    made_copy(&ported, &model);
    snprintf(ported.tensor[0].name, sizeof ported.tensor[0].name, "blk.0.attn_q.weight");
    snprintf(ported.tensor[1].name, sizeof ported.tensor[1].name, "blk.0.attn_k.weight");
    ported.tensor[0].type = ported.tensor[1].type = type;
    save_gguf(&ported, after, dim); /* the rows forgotten */
    expect(strcmp(needed_kernel(before, after, &n_wrong), "half") == 0 && n_wrong == 1,
           "a port that forgot the rows is named", text);
    ggml_scores(got, ggml, &ported, dim, GGML_NORMAL);
    expect(distance(want, got) > 1e-2, "and its scores are wrong", text);
    ggml_scores(got, ggml, &ported, dim, GGML_NEOX);
    expect(distance(want, got) < 1e-3, "though NEOX would keep them", text);

    made_port(&ported.tensor[0], HEADS, 0, dim, false);
    made_port(&ported.tensor[1], KV_HEADS, 0, dim, false);
    save_gguf(&ported, after, dim);
    expect(strcmp(needed_kernel(before, after, &n_wrong), "interleaved") == 0 && n_wrong == 0,
           "a right port passes", text);
    ggml_scores(got, ggml, &ported, dim, GGML_NORMAL);
    expect(distance(want, got) < 1e-3, "and keeps the scores", text);
    made_clear(&model);
    made_clear(&ported);
}

int main(int argc, char **argv)
{
    static const int64_t dims[] = {12, 16, 64, 96, 128};
    char directory[] = "/tmp/posref-ggml-XXXXXX", command[64];
    struct ggml ggml;
    const char *why = ggml_open(&ggml, argc > 1 ? argv[1] : "");
    if (why) {
        printf("skipped: %s\n", why);
        return 77;
    }
    check_sizes(&ggml);
    check_decoding(&ggml);
    if (!mkdtemp(directory))
        return 3;
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        check_port(&ggml, directory, dims[i], POSREF_STORED_F32);
        check_port(&ggml, directory, dims[i], POSREF_STORED_Q4_K);
    }
    snprintf(command, sizeof command, "rm -rf %s", directory);
    expect(system(command) == 0, "cleaning up", directory);
    printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed != 0;
}
