/* SPDX-License-Identifier: Apache-2.0 */
/* One small model under Hugging Face's and GGUF's names. */
#include "tests/unit/weights_gguf.h"

#include <stdio.h>

void config(const char *text)
{
    made_save_text(in("config.json"), text);
}

void make_both(struct made_model *hf, struct made_model *gguf)
{
    static const char *const names[][2] = {
        {"model.layers.0.self_attn.q_proj.weight", "blk.0.attn_q.weight"},
        {"model.layers.0.self_attn.k_proj.weight", "blk.0.attn_k.weight"},
        {"model.layers.0.self_attn.k_proj.bias", "blk.0.attn_k.bias"},
        {"model.layers.0.self_attn.v_proj.weight", "blk.0.attn_v.weight"},
        {"model.norm.weight", "output_norm.weight"}};
    static const int64_t shapes[][2] = {{HEADS * DIM, HIDDEN}, {KV_HEADS * DIM, HIDDEN},
                                        {KV_HEADS * DIM, 0}, {KV_HEADS * DIM, HIDDEN},
                                        {HIDDEN, 0}};
    made_init(hf, 11);
    for (int i = 0; i < 5; i++)
        made_add(hf, names[i][0], shapes[i][0], shapes[i][1]);
    made_copy(gguf, hf);
    for (int i = 0; i < 5; i++)
        snprintf(gguf->tensor[i].name, sizeof gguf->tensor[i].name, "%s", names[i][1]);
}

void port_gguf(struct made_model *gguf)
{
    made_port(&gguf->tensor[0], HEADS, 0, DIM, false);
    made_port(&gguf->tensor[1], KV_HEADS, 0, DIM, false);
    made_port(&gguf->tensor[2], KV_HEADS, 0, DIM, false);
}

void save_gguf(const struct made_model *gguf, const char *family)
{
    char keys[3][64];
    snprintf(keys[0], sizeof keys[0], "%s.attention.head_count", family);
    snprintf(keys[1], sizeof keys[1], "%s.attention.head_count_kv", family);
    snprintf(keys[2], sizeof keys[2], "%s.attention.key_length", family);
    const struct made_pair pairs[] = {{"general.architecture", 0, family},
                                      {keys[0], HEADS, NULL}, {keys[1], KV_HEADS, NULL},
                                      {keys[2], DIM, NULL}, {NULL, 0, NULL}};
    made_save_gguf(gguf, in("m.gguf"), pairs, 0, gguf->n);
}
