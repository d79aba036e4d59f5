/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a pair of checkpoints for the benchmark of weights check: weights_pair TYPE MB DIR writes
 * config.json, before.safetensors and after.safetensors (a right port, TYPE F32, F16 or BF16) into
 * DIR, together about MB megabytes; or, for a quantised TYPE, before in F16 and after.gguf. */
#include "tests/unit/made_model.h"

#include <stdlib.h>
#include <string.h>

#define HIDDEN 2048
#define DIM 128
#define HEADS 16
#define KV_HEADS 4
#define MLP 5632
#define N_SHAPES 7
#define MAX_LAYERS 500

static const struct { const char *hf, *gguf; int64_t rows, heads; } shapes[N_SHAPES] = {
    {"self_attn.q_proj", "attn_q", HEADS * DIM, HEADS},
    {"self_attn.k_proj", "attn_k", KV_HEADS * DIM, KV_HEADS},
    {"self_attn.v_proj", "attn_v", KV_HEADS * DIM, 0},
    {"self_attn.o_proj", "attn_output", HIDDEN, 0}, {"mlp.gate_proj", "ffn_gate", MLP, 0},
    {"mlp.up_proj", "ffn_up", MLP, 0}, {"mlp.down_proj", "ffn_down", MLP, 0}};

/* One layer's tensors, encoded once and written for every layer. */
struct side {
    enum posref_stored_type type;
    unsigned char *data[N_SHAPES];
    size_t size[N_SHAPES];
};

static void encode(struct side *side, const struct made_model *model)
{
    const struct posref_stored_def *def = posref_stored_def(side->type);
    for (int i = 0; i < N_SHAPES; i++) {
        int64_t n = model->tensor[i].rows * HIDDEN;
        side->size[i] = (size_t)(n / def->block_elements * def->block_bytes);
        side->data[i] = malloc(side->size[i]);
        made_encode(side->data[i], side->type, model->tensor[i].value, n);
    }
}

static void put(FILE *file, uint64_t value, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++)
        fputc((int)(value >> (8 * i) & 0xFF), file);
}

static void write_layers(FILE *file, const struct side *side, int n_layers)
{
    for (int layer = 0; layer < n_layers; layer++)
        for (int i = 0; i < N_SHAPES; i++)
            fwrite(side->data[i], 1, side->size[i], file);
}

static void save_safetensors(const struct side *side, const char *path, int n_layers)
{
    struct posref_buffer header;
    size_t at = 0;
    posref_buffer_init(&header, 1 << 24);
    for (int layer = 0; layer < n_layers; layer++)
        for (int i = 0; i < N_SHAPES; i++) {
            posref_buffer_printf(&header, "%c\"model.layers.%d.%s.weight\":{\"dtype\":\"%s\","
                                 "\"shape\":[%lld,%d],\"data_offsets\":[%zu,%zu]}",
                                 at == 0 ? '{' : ',', layer, shapes[i].hf,
                                 posref_stored_def(side->type)->name, (long long)shapes[i].rows,
                                 HIDDEN, at, at + side->size[i]);
            at += side->size[i];
        }
    posref_buffer_text(&header, "}");
    FILE *file = fopen(path, "wb");
    put(file, header.length, 8);
    fwrite(header.data, 1, header.length, file);
    write_layers(file, side, n_layers);
    fclose(file);
    posref_buffer_clear(&header);
}

static void put_text(FILE *file, const char *text)
{
    put(file, strlen(text), 8);
    fputs(text, file);
}

/* Sizes here are multiples of 32: no padding between tensors. */
static void save_gguf(const struct side *side, const char *path, int n_layers)
{
    char name[64];
    uint64_t at = 0;
    FILE *file = fopen(path, "wb");
    fputs("GGUF", file);
    put(file, 3, 4);
    put(file, (uint64_t)n_layers * N_SHAPES, 8);
    put(file, 4, 8);
    put_text(file, "general.architecture");
    put(file, 8, 4);
    put_text(file, "llama");
    static const struct { const char *key; int value; } sizes[] = {
        {"llama.attention.head_count", HEADS}, {"llama.attention.head_count_kv", KV_HEADS},
        {"llama.attention.key_length", DIM}};
    for (int i = 0; i < 3; i++) {
        put_text(file, sizes[i].key);
        put(file, 4, 4);
        put(file, (uint64_t)sizes[i].value, 4);
    }
    for (int layer = 0; layer < n_layers; layer++)
        for (int i = 0; i < N_SHAPES; i++) {
            snprintf(name, sizeof name, "blk.%d.%s.weight", layer, shapes[i].gguf);
            put_text(file, name);
            put(file, 2, 4);
            put(file, HIDDEN, 8);
            put(file, (uint64_t)shapes[i].rows, 8);
            put(file, side->type == POSREF_STORED_Q4_K ? 12 : 14, 4);
            put(file, at, 8);
            at += side->size[i];
        }
    while (ftell(file) % 32 != 0)
        fputc(0, file);
    write_layers(file, side, n_layers);
    fclose(file);
}

int main(int argc, char **argv)
{
    char path[512];
    struct made_model model;
    struct side before = {.type = POSREF_N_STORED_TYPES}, after;
    if (argc != 4)
        return 2;
    for (int type = 0; type < POSREF_N_STORED_TYPES; type++)
        if (strcmp(posref_stored_def((enum posref_stored_type)type)->name, argv[1]) == 0)
            before.type = (enum posref_stored_type)type;
    if (before.type == POSREF_N_STORED_TYPES)
        return 2;
    after = before;
    bool quantised = posref_stored_def(before.type)->block_elements > 1;
    if (quantised)
        before.type = POSREF_STORED_F16;
    made_init(&model, 1);
    for (int i = 0; i < N_SHAPES; i++)
        made_add(&model, shapes[i].hf, shapes[i].rows, HIDDEN);
    encode(&before, &model);
    for (int i = 0; i < N_SHAPES; i++)
        if (shapes[i].heads > 0)
            made_port(&model.tensor[i], shapes[i].heads, 0, DIM, false);
    encode(&after, &model);
    size_t layer_bytes = 0;
    for (int i = 0; i < N_SHAPES; i++)
        layer_bytes += before.size[i] + after.size[i];
    int n_layers = (int)((strtoull(argv[2], NULL, 10) << 20) / layer_bytes) + 1;
    if (n_layers > MAX_LAYERS)
        n_layers = MAX_LAYERS;
    snprintf(path, sizeof path, "%s/config.json", argv[3]);
    made_save_text(path, "{\"model_type\":\"llama\",\"num_attention_heads\":16,"
                   "\"num_key_value_heads\":4,\"head_dim\":128}");
    snprintf(path, sizeof path, "%s/before.safetensors", argv[3]);
    save_safetensors(&before, path, n_layers);
    snprintf(path, sizeof path, "%s/after.%s", argv[3], quantised ? "gguf" : "safetensors");
    if (quantised)
        save_gguf(&after, path, n_layers);
    else
        save_safetensors(&after, path, n_layers);
    for (int i = 0; i < N_SHAPES; i++) {
        free(before.data[i]);
        free(after.data[i]);
    }
    made_clear(&model);
    return 0;
}
