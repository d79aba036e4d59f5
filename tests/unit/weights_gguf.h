/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests that hold a safetensors model against a GGUF one share: the model, its port, its
 * files. */
#ifndef POSREF_TESTS_WEIGHTS_GGUF_H
#define POSREF_TESTS_WEIGHTS_GGUF_H

#include "tests/unit/weights_fixture.h"

#define HEADS 12
#define KV_HEADS 2
#define DIM 16
#define HIDDEN 512 /* two superblocks */

#define LLAMA "{\"model_type\":\"llama\",\"num_attention_heads\":12,\"num_key_value_heads\":2," \
              "\"head_dim\":16}"

/* Saves config.json beside the model. */
void config(const char *text);
/* The same tensors under Hugging Face's and GGUF's names. */
void make_both(struct made_model *hf, struct made_model *gguf);
/* q and k of the GGUF model as llama.cpp's converter leaves them: interleaved. */
void port_gguf(struct made_model *gguf);
/* Saves it as m.gguf of that architecture. */
void save_gguf(const struct made_model *gguf, const char *family);

#endif
