/* SPDX-License-Identifier: Apache-2.0 */
/* What Hugging Face's own code does with a family's config: the kind of encoding, the pairing, and
 * the values it takes where the config names none (0: not known here, which is said). */
#include "vectors/resolve.h"

#include <string.h>

#define ROPE(name, pairing, theta, partial, traits)                                              \
    {name, RESOLVE_ROPE, pairing, theta, partial, traits}
#define MORE(name, pairing, theta, partial) ROPE(name, pairing, theta, partial, RESOLVE_HF_ONLY)
#define OTHER(name, kind) {name, kind, "", 0, 1, 0}
#define LEARNED(name, traits) {name, RESOLVE_LEARNED, "", 0, 1, traits}
#define SINES(name, traits) {name, RESOLVE_SINUSOIDAL, "", 0, 1, traits}
#define AFTER_PAD RESOLVE_ROW_AFTER_PAD
#define HALF "half"
#define NEIGHBOURS "interleaved"
#define NORMAL RESOLVE_GGML_NORMAL

static const struct resolve_family families[] = {
    ROPE("llama", HALF, 10000, 1, NORMAL), ROPE("mistral", HALF, 10000, 1, NORMAL),
    ROPE("mixtral", HALF, 1000000, 1, NORMAL | RESOLVE_MLX_PLAIN),
    ROPE("mistral3", HALF, 0, 1, NORMAL), ROPE("ministral3", HALF, 0, 1, NORMAL),
    ROPE("ministral", HALF, 0, 1, NORMAL), ROPE("qwen", HALF, 10000, 1, 0),
    ROPE("qwen2", HALF, 10000, 1, 0), ROPE("qwen2_moe", HALF, 10000, 1, 0),
    ROPE("qwen3", HALF, 10000, 1, 0), ROPE("qwen3_moe", HALF, 10000, 1, 0),
    ROPE("qwen3_next", HALF, 10000, 0.25, 0), ROPE("qwen3_5_text", HALF, 0, 0.25, 0),
    ROPE("qwen3_5_moe_text", HALF, 0, 0.25, 0), ROPE("qwen2_vl", HALF, 1000000, 1, 0),
    ROPE("qwen2_vl_text", HALF, 1000000, 1, 0), ROPE("qwen2_5_vl", HALF, 1000000, 1, 0),
    ROPE("qwen2_5_vl_text", HALF, 1000000, 1, 0), ROPE("qwen3_vl_text", HALF, 500000, 1, 0),
    ROPE("qwen3_vl_moe_text", HALF, 500000, 1, 0), ROPE("gemma", HALF, 10000, 1, RESOLVE_MLX_PLAIN),
    ROPE("gemma2", HALF, 10000, 1, RESOLVE_MLX_PLAIN),
    ROPE("gemma3_text", HALF, 1000000, 1, RESOLVE_LOCAL_PLAIN | RESOLVE_LOCAL_10000),
    ROPE("gemma3", HALF, 1000000, 1, RESOLVE_LOCAL_PLAIN | RESOLVE_LOCAL_10000),
    ROPE("gemma4_text", HALF, 0, 1, 0),
    ROPE("phi", HALF, 10000, 0.5, RESOLVE_MLX_PLAIN), ROPE("phi-msft", HALF, 10000, 1, 0),
    ROPE("phi3", HALF, 10000, 1, 0), ROPE("phi3_v", HALF, 10000, 1, 0),
    ROPE("phi4mm", HALF, 10000, 1, 0), ROPE("phimoe", HALF, 1000000, 1, 0),
    ROPE("gpt_neox", HALF, 10000, 0.25, RESOLVE_MLX_PLAIN), ROPE("falcon", HALF, 10000, 1, 0),
    ROPE("stablelm", HALF, 10000, 0.25, RESOLVE_MLX_PLAIN),
    ROPE("persimmon", HALF, 25000, 0.5, 0), ROPE("nemotron", HALF, 10000, 0.5, 0),
    ROPE("olmo", HALF, 10000, 1, RESOLVE_MLX_PLAIN | NORMAL), ROPE("olmo2", HALF, 10000, 1, 0),
    ROPE("olmo3", HALF, 10000, 1, RESOLVE_LOCAL_PLAIN), ROPE("gpt_oss", HALF, 150000, 1, 0),
    ROPE("smollm3", HALF, 2000000, 1, RESOLVE_EVERY_4TH_NOPE | NORMAL),
    ROPE("llama4_text", NEIGHBOURS, 500000, 1,
         RESOLVE_EVERY_4TH_NOPE | RESOLVE_MLX_PLAIN | NORMAL),
    ROPE("cohere", NEIGHBOURS, 0, 1, RESOLVE_MLX_PLAIN | NORMAL),
    ROPE("cohere2", NEIGHBOURS, 0, 1, RESOLVE_MLX_PLAIN | RESOLVE_FULL_IS_NOPE | NORMAL),
    ROPE("gptj", NEIGHBOURS, 10000, 1, 0), ROPE("codegen", NEIGHBOURS, 10000, 1, 0),
    ROPE("chatglm", NEIGHBOURS, 10000, 0.5, NORMAL),
    ROPE("glm", NEIGHBOURS, 10000, 0.5, RESOLVE_MLX_PLAIN | RESOLVE_MLX_WHOLE | NORMAL),
    ROPE("glm4", NEIGHBOURS, 10000, 0.5, RESOLVE_MLX_PLAIN | NORMAL),
    ROPE("glm4_moe", HALF, 10000, 0.5, RESOLVE_MLX_PLAIN),
    ROPE("glm4v_text", NEIGHBOURS, 10000, 0.5, 0),
    ROPE("deepseek", HALF, 10000, 1, RESOLVE_MLX_PLAIN | NORMAL),
    ROPE("deepseek_v2", NEIGHBOURS, 10000, 1, RESOLVE_MLA | NORMAL),
    ROPE("deepseek_v3", NEIGHBOURS, 10000, 1, RESOLVE_MLA | NORMAL),
    ROPE("deepseek_v32", NEIGHBOURS, 10000, 1, RESOLVE_MLA | NORMAL),
    ROPE("kimi_k2", NEIGHBOURS, 0, 1, RESOLVE_MLA | NORMAL),
    ROPE("ernie4_5", NEIGHBOURS, 500000, 1, NORMAL),
    ROPE("ernie4_5_moe", NEIGHBOURS, 500000, 1, NORMAL),
    ROPE("modernbert", HALF, 160000, 1, RESOLVE_LOCAL_10000), ROPE("nomic_bert", HALF, 0, 1, 0),
    ROPE("exaone4", HALF, 0, 1, RESOLVE_FULL_IS_NOPE),
    ROPE("helium", NEIGHBOURS, 100000, 1, NORMAL), ROPE("hunyuan", HALF, 10000, 1, 0),
    ROPE("hunyuan_v1_dense", HALF, 10000, 1, 0), ROPE("hunyuan_v1_moe", HALF, 10000, 1, 0),
    ROPE("minimax", HALF, 0, 1, RESOLVE_MLX_PLAIN), ROPE("minimax_m2", HALF, 5000000, 1, 0),
    ROPE("mimo", HALF, 10000, 1, 0), ROPE("seed_oss", HALF, 10000, 1, 0),
    ROPE("granite", HALF, 10000, 1, NORMAL), ROPE("granitemoe", HALF, 10000, 1, NORMAL),
    ROPE("starcoder2", HALF, 10000, 1, RESOLVE_MLX_PLAIN),
    ROPE("internlm", HALF, 10000, 1, NORMAL), ROPE("internlm2", HALF, 10000, 1, NORMAL),
    ROPE("baichuan", HALF, 10000, 1, NORMAL), ROPE("orion", HALF, 10000, 1, 0),
    ROPE("dbrx", HALF, 10000, 1, RESOLVE_MLX_PLAIN), ROPE("apertus", HALF, 12000000, 1, 0),
    ROPE("lfm2", HALF, 1000000, 1, RESOLVE_MLX_PLAIN), ROPE("falcon_h1", HALF, 0, 1, 0),
    ROPE("nanochat", HALF, 10000, 1, RESOLVE_INVERSE), ROPE("bailing_moe", HALF, 0, 1, NORMAL),
    ROPE("dots1", HALF, 10000, 1, 0), ROPE("telechat3", HALF, 0, 1, 0),
    ROPE("laguna", HALF, 0, 1, 0), ROPE("minicpm", HALF, 10000, 1, NORMAL),
    ROPE("minicpm3", HALF, 0, 1, RESOLVE_MLA), ROPE("voxtral", HALF, 0, 1, NORMAL),
    MORE("arcee", HALF, 10000, 1), MORE("bitnet", HALF, 500000, 1), MORE("olmoe", HALF, 10000, 1),
    MORE("flex_olmo", HALF, 500000, 1), MORE("exaone", HALF, 0, 1), MORE("internlm3", HALF, 0, 1),
    MORE("mllama_text_model", HALF, 500000, 1), MORE("chameleon", HALF, 10000, 1),
    ROPE("gemma3n_text", HALF, 1000000, 1,
         RESOLVE_LOCAL_PLAIN | RESOLVE_LOCAL_10000 | RESOLVE_HF_ONLY),
    MORE("vaultgemma", HALF, 10000, 1), MORE("recurrent_gemma", HALF, 10000, 0.5),
    MORE("granitemoehybrid", HALF, 10000, 1), MORE("granitemoeshared", HALF, 10000, 1),
    MORE("bamba", HALF, 10000, 0.5), MORE("zamba2", HALF, 10000, 1), MORE("jetmoe", HALF, 10000, 1),
    MORE("diffllama", HALF, 10000, 1), MORE("gpt_neox_japanese", HALF, 10000, 1),
    MORE("roformer", NEIGHBOURS, 10000, 1), MORE("phi4_multimodal", HALF, 10000, 1),
    MORE("qwen2_5_omni_text", HALF, 1000000, 1), MORE("qwen3_omni_moe_text", HALF, 1000000, 1),
    MORE("glm4v_moe_text", HALF, 10000, 0.5), MORE("glm4v_moe", HALF, 10000, 0.5),
    MORE("glm4v", NEIGHBOURS, 10000, 0.5), MORE("ernie4_5_moe_vl", NEIGHBOURS, 500000, 1),
    MORE("ernie4_5_vl_moe", NEIGHBOURS, 500000, 1),
    MORE("ernie4_5_vl_moe_text", NEIGHBOURS, 500000, 1),
    ROPE("longcat_flash", NEIGHBOURS, 0, 1, RESOLVE_MLA | RESOLVE_HF_ONLY),
    ROPE("glm4_moe_lite", NEIGHBOURS, 0, 1, RESOLVE_MLA | RESOLVE_HF_ONLY),
    MORE("RefinedWeb", HALF, 10000, 1), MORE("RefinedWebModel", HALF, 10000, 1),
    MORE("openelm", HALF, 10000, 1), MORE("xverse", HALF, 10000, 1), MORE("aquila", HALF, 10000, 1),
    MORE("mixformer-sequential", HALF, 10000, 1), MORE("stablelm_epoch", HALF, 10000, 0.25),
    MORE("nemotron-nas", HALF, 0, 1),
    OTHER("bloom", RESOLVE_ALIBI), OTHER("mpt", RESOLVE_ALIBI), OTHER("refact", RESOLVE_ALIBI),
    OTHER("jais", RESOLVE_ALIBI),
    OTHER("t5", RESOLVE_T5), OTHER("mt5", RESOLVE_T5), OTHER("umt5", RESOLVE_T5),
    OTHER("longt5", RESOLVE_T5), OTHER("switch_transformers", RESOLVE_T5),
    OTHER("gpt2", RESOLVE_LEARNED), OTHER("gpt_bigcode", RESOLVE_LEARNED),
    OTHER("gpt_neo", RESOLVE_LEARNED), OTHER("openai-gpt", RESOLVE_LEARNED),
    OTHER("bert", RESOLVE_LEARNED), OTHER("electra", RESOLVE_LEARNED),
    OTHER("albert", RESOLVE_LEARNED), OTHER("distilbert", RESOLVE_LEARNED),
    OTHER("mobilebert", RESOLVE_LEARNED), OTHER("megatron-bert", RESOLVE_LEARNED),
    OTHER("convbert", RESOLVE_LEARNED), OTHER("layoutlm", RESOLVE_LEARNED),
    OTHER("big_bird", RESOLVE_LEARNED), OTHER("blenderbot", RESOLVE_LEARNED),
    LEARNED("roberta", AFTER_PAD), LEARNED("xlm-roberta", AFTER_PAD),
    LEARNED("xlm-roberta-xl", AFTER_PAD), LEARNED("camembert", AFTER_PAD),
    LEARNED("longformer", AFTER_PAD), LEARNED("mpnet", AFTER_PAD),
    LEARNED("esm", AFTER_PAD), LEARNED("data2vec-text", AFTER_PAD), LEARNED("luke", AFTER_PAD),
    LEARNED("opt", RESOLVE_ROW_OFFSET_2), LEARNED("bart", RESOLVE_ROW_OFFSET_2),
    LEARNED("mbart", RESOLVE_ROW_OFFSET_2), LEARNED("plbart", RESOLVE_ROW_OFFSET_2),
    LEARNED("biogpt", RESOLVE_ROW_OFFSET_2 | RESOLVE_SCALED_INPUT),
    SINES("whisper", 0), SINES("marian", RESOLVE_EXPONENT_D),
    SINES("pegasus", RESOLVE_EXPONENT_D), SINES("ctrl", RESOLVE_EXPONENT_D),
    SINES("musicgen_decoder", 0), SINES("m2m_100", AFTER_PAD | RESOLVE_SCALED_INPUT),
    SINES("fsmt", AFTER_PAD | RESOLVE_SCALED_INPUT),
    SINES("speech_to_text", AFTER_PAD | RESOLVE_SCALED_INPUT),
    SINES("xglm", RESOLVE_ROW_OFFSET_2 | RESOLVE_SCALED_INPUT),
    OTHER("deberta", RESOLVE_DEBERTA), OTHER("deberta-v2", RESOLVE_DEBERTA),
    OTHER("swin", RESOLVE_SWIN), OTHER("donut-swin", RESOLVE_SWIN), OTHER("swinv2", RESOLVE_SWIN),
    OTHER("beit", RESOLVE_BEIT), OTHER("data2vec-vision", RESOLVE_BEIT),
    OTHER("xlnet", RESOLVE_XL), OTHER("transfo-xl", RESOLVE_XL),
    OTHER("wav2vec2-conformer", RESOLVE_CONFORMER), OTHER("wav2vec2-bert", RESOLVE_UNSAID),
    OTHER("wav2vec2", RESOLVE_UNSAID), OTHER("hubert", RESOLVE_UNSAID),
    OTHER("wavlm", RESOLVE_UNSAID), OTHER("reformer", RESOLVE_UNSAID),
    OTHER("funnel", RESOLVE_UNSAID),
    OTHER("mamba", RESOLVE_STATE_SPACE), OTHER("mamba2", RESOLVE_STATE_SPACE),
    OTHER("falcon_mamba", RESOLVE_STATE_SPACE), OTHER("rwkv", RESOLVE_STATE_SPACE),
    OTHER("rwkv5", RESOLVE_STATE_SPACE), OTHER("rwkv6", RESOLVE_STATE_SPACE),
    OTHER("rwkv7", RESOLVE_STATE_SPACE), OTHER("xlstm", RESOLVE_STATE_SPACE),
    OTHER("jamba", RESOLVE_STATE_SPACE), OTHER("nemotron_h", RESOLVE_STATE_SPACE),
};

int resolve_family_head_dim(const char *name, bool has_sizes)
{
    static const struct { const char *name; int head_dim; bool divided; } own[] = {
        {"gemma", 256, false}, {"gemma2", 256, false}, {"gemma3_text", 256, false},
        {"gemma4_text", 256, false}, {"qwen3", 128, false}, {"qwen3_vl_text", 128, false},
        {"qwen3_next", 256, false}, {"gpt_oss", 64, false}, {"llama4_text", 128, false},
        {"glm", 128, false}, {"glm4", 128, false}, {"helium", 128, false}, {"seed_oss", 128, false},
        {"llama", 128, true}, {"mistral", 128, true}, {"mixtral", 128, true},
        {"qwen2", 128, true}, {"qwen2_vl", 128, true}, {"qwen2_vl_text", 128, true},
        {"qwen2_5_vl_text", 128, true}, {"mllama_text_model", 128, true}, {"phi3", 96, true},
        {"phi", 64, true}, {"cohere", 128, true}, {"granite", 128, true}, {"persimmon", 64, true},
    };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i].name, name) == 0 && !(own[i].divided && has_sizes))
            return own[i].head_dim;
    return 0;
}

const struct resolve_family *resolve_family_find(const char *name)
{
    for (size_t i = 0; name && i < sizeof families / sizeof *families; i++)
        if (strcmp(families[i].name, name) == 0)
            return &families[i];
    return NULL;
}
