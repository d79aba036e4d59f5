/* SPDX-License-Identifier: Apache-2.0 */
/* Writes small models as safetensors, GGUF and npy, byte by byte from the formats' descriptions. */
#include "tests/unit/made_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put(FILE *file, uint64_t value, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++)
        fputc((int)(value >> (8 * i) & 0xFF), file);
}

static void put_text(FILE *file, const char *text)
{
    put(file, strlen(text), 8);
    fputs(text, file);
}

static int64_t count(const struct made_tensor *tensor)
{
    return tensor->rows * (tensor->columns > 0 ? tensor->columns : 1);
}

static int64_t encoded_bytes(const struct made_tensor *tensor)
{
    const struct posref_stored_def *def = posref_stored_def(tensor->type);
    return count(tensor) / def->block_elements * def->block_bytes;
}

static void put_data(FILE *file, const struct made_tensor *tensor)
{
    unsigned char *bytes = malloc((size_t)encoded_bytes(tensor) + 1);
    made_encode(bytes, tensor->type, tensor->value, count(tensor));
    fwrite(bytes, 1, (size_t)encoded_bytes(tensor), file);
    free(bytes);
}

void made_save_safetensors(const struct made_model *model, const char *path)
{
    char header[1 << 14];
    size_t length = 0, at = 0;
    length += (size_t)snprintf(header, sizeof header, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (int i = 0; i < model->n; i++) {
        const struct made_tensor *t = &model->tensor[i];
        char shape[64];
        if (t->columns > 0)
            snprintf(shape, sizeof shape, "%lld,%lld", (long long)t->rows, (long long)t->columns);
        else
            snprintf(shape, sizeof shape, "%lld", (long long)t->rows);
        size_t end = at + (size_t)encoded_bytes(t);
        length += (size_t)snprintf(header + length, sizeof header - length,
                                   ",\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],"
                                   "\"data_offsets\":[%zu,%zu]}", t->name,
                                   posref_stored_def(t->type)->name, shape, at, end);
        at = end;
    }
    length += (size_t)snprintf(header + length, sizeof header - length, "}");
    FILE *file = fopen(path, "wb");
    put(file, length, 8);
    fwrite(header, 1, length, file);
    for (int i = 0; i < model->n; i++)
        put_data(file, &model->tensor[i]);
    fclose(file);
}

static uint32_t gguf_number(enum posref_stored_type type)
{
    switch (type) {
    case POSREF_STORED_F16: return 1;
    case POSREF_STORED_Q4_0: return 2;
    case POSREF_STORED_Q4_1: return 3;
    case POSREF_STORED_Q5_0: return 6;
    case POSREF_STORED_Q5_1: return 7;
    case POSREF_STORED_Q8_0: return 8;
    case POSREF_STORED_Q2_K: return 10;
    case POSREF_STORED_Q3_K: return 11;
    case POSREF_STORED_Q4_K: return 12;
    case POSREF_STORED_Q5_K: return 13;
    case POSREF_STORED_Q6_K: return 14;
    case POSREF_STORED_BF16: return 30;
    default: return 0;
    }
}

static void put_pairs(FILE *file, const struct made_pair *pairs)
{
    for (; pairs->key; pairs++) {
        put_text(file, pairs->key);
        put(file, pairs->text ? 8 : 4, 4);
        if (pairs->text)
            put_text(file, pairs->text);
        else
            put(file, (uint64_t)pairs->number, 4);
    }
}

static void pad(FILE *file)
{
    while (ftell(file) % 32 != 0)
        fputc(0, file);
}

void made_save_gguf(const struct made_model *model, const char *path,
                    const struct made_pair *pairs, int first, int last)
{
    FILE *file = fopen(path, "wb");
    uint64_t n_pairs = 0, at = 0;
    while (pairs[n_pairs].key)
        n_pairs++;
    fputs("GGUF", file);
    put(file, 3, 4);
    put(file, (uint64_t)(last - first), 8);
    put(file, n_pairs, 8);
    put_pairs(file, pairs);
    for (int i = first; i < last; i++) {
        const struct made_tensor *t = &model->tensor[i];
        put_text(file, t->name);
        put(file, t->columns > 0 ? 2 : 1, 4);
        if (t->columns > 0)
            put(file, (uint64_t)t->columns, 8);
        put(file, (uint64_t)t->rows, 8);
        put(file, gguf_number(t->type), 4);
        put(file, at, 8);
        at += ((uint64_t)encoded_bytes(t) + 31) / 32 * 32;
    }
    for (int i = first; i < last; i++) {
        pad(file);
        put_data(file, &model->tensor[i]);
    }
    pad(file);
    fclose(file);
}

void made_save_npy(const struct made_tensor *tensor, const char *path)
{
    char header[128];
    int length = snprintf(header, sizeof header,
                          "{'descr': '%s', 'fortran_order': False, 'shape': (%lld, %lld), }",
                          tensor->type == POSREF_STORED_F16 ? "<f2" : "<f4",
                          (long long)tensor->rows, (long long)tensor->columns);
    int padded = (10 + length + 1 + 63) / 64 * 64 - 10;
    FILE *file = fopen(path, "wb");
    fwrite("\x93NUMPY\x01", 1, 8, file);
    put(file, (uint64_t)padded, 2);
    fprintf(file, "%s%*s\n", header, padded - length - 1, "");
    put_data(file, tensor);
    fclose(file);
}

void made_save_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    fputs(text, file);
    fclose(file);
}
