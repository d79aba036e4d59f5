/* SPDX-License-Identifier: Apache-2.0 */
/* Loads ggml and runs its rotation. */
#include "tests/thirdparty/weights_ggml.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

const int32_t ggml_positions[3] = {0, 5, 130};

/* The library of the CPU with the best score for this machine. */
static void *open_cpu(const char *directory)
{
    char path[1024];
    void *best = NULL;
    int best_score = 0;
    DIR *entries = opendir(directory);
    const struct dirent *entry;
    while (entries && (entry = readdir(entries))) {
        int (*score)(void) = NULL;
        if (strncmp(entry->d_name, "libggml-cpu", 11) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
        if (!library)
            continue;
        *(void **)&score = dlsym(library, "ggml_backend_score");
        int value = score ? score() : 1;
        if (value > best_score) {
            best = library;
            best_score = value;
        }
    }
    if (entries)
        closedir(entries);
    return best;
}

const char *ggml_open(struct ggml *out, const char *directory)
{
    char path[1024];
    memset(out, 0, sizeof *out);
    setenv("GGML_NO_BACKTRACE", "1", 1);
    snprintf(path, sizeof path, "%s/libggml-base.so", directory);
    out->base = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!out->base)
        return "libggml-base.so cannot be loaded";
    out->cpu = open_cpu(directory);
    if (!out->cpu)
        return "no libggml-cpu for this machine";
    const struct { void *library; const char *name; void *to; } symbols[] = {
        {out->base, "ggml_blck_size", &out->blck_size},
        {out->base, "ggml_type_size", &out->type_size},
        {out->base, "ggml_quantize_chunk", &out->quantize_chunk},
        {out->cpu, "ggml_cpu_init", &out->cpu_init},
        {out->base, "ggml_init", &out->init},
        {out->base, "ggml_free", &out->free},
        {out->base, "ggml_new_tensor_1d", &out->new_1d},
        {out->base, "ggml_new_tensor_4d", &out->new_4d},
        {out->base, "ggml_get_data", &out->get_data},
        {out->base, "ggml_rope_ext", &out->rope_ext},
        {out->base, "ggml_new_graph", &out->new_graph},
        {out->base, "ggml_build_forward_expand", &out->build},
        {out->cpu, "ggml_graph_compute_with_ctx", &out->compute}};
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = dlsym(symbols[i].library, symbols[i].name);
        if (!address)
            return symbols[i].name;
        memcpy(symbols[i].to, &address, sizeof address);
    }
    out->cpu_init();
    return NULL;
}

void ggml_rotate(const struct ggml *ggml, float *y, int64_t heads, int64_t dim, int64_t n_tokens,
                 int mode, float base)
{
    struct ggml_start start = {64u << 20, NULL, false};
    void *context = ggml->init(start);
    void *x = ggml->new_4d(context, 0, dim, heads, n_tokens, 1);
    void *positions = ggml->new_1d(context, 26, n_tokens);
    memcpy(ggml->get_data(x), y, (size_t)(n_tokens * heads * dim) * sizeof *y);
    memcpy(ggml->get_data(positions), ggml_positions, (size_t)n_tokens * sizeof *ggml_positions);
    void *out = ggml->rope_ext(context, x, positions, NULL, (int)dim, mode, 0, base, 1, 0, 1, 32,
                               1);
    void *graph = ggml->new_graph(context);
    ggml->build(graph, out);
    ggml->compute(context, graph, 1);
    memcpy(y, ggml->get_data(out), (size_t)(n_tokens * heads * dim) * sizeof *y);
    ggml->free(context);
}
