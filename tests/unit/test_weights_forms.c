/* SPDX-License-Identifier: Apache-2.0 */
/* weights across forms: GGUF beside Hugging Face names, quantised types, fused projections, latent
 * attention, partial rotation, adapters, single arrays. */
#include "tests/unit/suite.h"
#include "tests/unit/weights_gguf.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool found(const char *fault)
{
    return finding_of(fault) != NULL;
}

/* A family whose ggml kernel is NEOX must not be permuted; LLAMA's must. */
START_TEST(the_kernel_of_a_gguf_architecture)
{
    struct made_model hf, gguf;
    make_both(&hf, &gguf);
    config("{\"model_type\":\"qwen2\",\"num_attention_heads\":12,\"num_key_value_heads\":2}");
    made_save_safetensors(&hf, in("m.safetensors"));
    save_gguf(&gguf, "qwen2");
    ck_assert_int_eq(compare_paths(in("m.safetensors"), in("m.gguf"), NULL), POSREF_OK);
    ck_assert_str_eq(fixture.result.kernel_pairing, "half");
    ck_assert_int_eq(wrong_count(), 0);
    save_gguf(&gguf, "llama");
    ck_assert_int_eq(compare_paths(in("m.safetensors"), in("m.gguf"), NULL), POSREF_OK);
    ck_assert(found("kernel_disagrees"));
    port_gguf(&gguf);
    save_gguf(&gguf, "qwen2");
    ck_assert_int_eq(compare_paths(in("m.safetensors"), in("m.gguf"), NULL), POSREF_OK);
    ck_assert_str_eq(fixture.result.kernel_pairing, "interleaved");
    ck_assert(found("kernel_disagrees"));
    made_clear(&hf);
    made_clear(&gguf);
}
END_TEST

/* Moves the rows of q and k in a fused tensor, by the layout's definition. */
static void port_fused(struct made_tensor *t, const char *layout, bool with_q, bool with_k)
{
    int64_t rows = (HEADS + 2 * KV_HEADS) * DIM, source[(HEADS + 2 * KV_HEADS) * DIM];
    int64_t group = HEADS / KV_HEADS;
    for (int64_t row = 0; row < rows; row++) {
        int64_t slot = row / DIM; /* a head of q, k or v */
        bool q, k;
        if (strcmp(layout, "per_group") == 0) {
            q = slot % (group + 2) < group;
            k = slot % (group + 2) == group;
        } else {
            q = slot < HEADS;
            k = slot >= HEADS && slot < HEADS + KV_HEADS;
        }
        int64_t at = row % DIM;
        bool moves = (q && with_q) || (k && with_k);
        source[row] = moves ? row - at + at % 2 * (DIM / 2) + at / 2 : row;
    }
    made_move_rows(t, source);
}

static const struct { const char *name, *config, *layout; } fused[] = {
    {"model.layers.0.self_attn.qkv_proj.weight", "{\"model_type\":\"phi3\",\"num_attention_heads\":"
     "12,\"num_key_value_heads\":2,\"head_dim\":16}", "concat"},
    {"model.layers.0.attention.wqkv.weight", "{\"model_type\":\"internlm2\","
     "\"num_attention_heads\":12,\"num_key_value_heads\":2,\"hidden_size\":192}", "per_group"},
    {"transformer.h.0.self_attention.query_key_value.weight", "{\"model_type\":\"falcon\","
     "\"num_attention_heads\":12,\"num_kv_heads\":2,\"hidden_size\":192,"
     "\"new_decoder_architecture\":true}", "per_group"},
    {"transformer.encoder.layers.0.self_attention.query_key_value.weight", "{\"model_type\":"
     "\"chatglm\",\"num_attention_heads\":12,\"multi_query_attention\":true,"
     "\"multi_query_group_num\":2,\"kv_channels\":16,\"partial_rotary_factor\":1.0}", "concat"}};

START_TEST(fused_projections)
{
    for (size_t i = 0; i < sizeof fused / sizeof *fused; i++)
        for (int mistake = 0; mistake < 3; mistake++) { /* none, k left out, all of it identity */
            struct made_model a, b;
            made_init(&a, 5);
            made_add(&a, fused[i].name, (HEADS + 2 * KV_HEADS) * DIM, 32);
            made_copy(&b, &a);
            config(fused[i].config);
            if (mistake < 2)
                port_fused(&b.tensor[0], fused[i].layout, true, mistake == 0);
            const struct posref_weights_options half = {.order = POSREF_ORDER_HALF};
            ck_assert_msg(compare_models(&a, &b, &half) == POSREF_OK,
                          "%s", fixture.err.text);
            ck_assert_msg(found("q_k_disagree") == (mistake == 1), "%s %d", fused[i].name, mistake);
            ck_assert_msg(wrong_count() == (mistake == 1), "%s", fused[i].name);
            if (mistake != 1)
                ck_assert_str_eq(fixture.result.kernel_pairing,
                                 mistake == 0 ? "interleaved" : "half");
                    made_clear(&a);
            made_clear(&b);
        }
}
END_TEST

/* GPT-NeoX: 12 heads of q, k, v each. Without a config the layout is asked for. */
START_TEST(fused_per_head)
{
    struct made_model a, b;
    int64_t source[3 * HEADS * DIM];
    made_init(&a, 6);
    made_add(&a, "gpt_neox.layers.0.attention.query_key_value.weight", 3 * HEADS * DIM, 32);
    made_copy(&b, &a);
    for (int64_t row = 0; row < 3 * HEADS * DIM; row++) {
        int64_t at = row % DIM; /* v is permuted too: a converter that took it for q, k */
        source[row] = row - at + at % 2 * (DIM / 2) + at / 2;
    }
    made_move_rows(&b.tensor[0], source);
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "--fused"));
    config("{\"model_type\":\"gpt_neox\",\"num_attention_heads\":12,\"hidden_size\":192,"
           "\"rotary_pct\":1.0}");
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
    ck_assert_int_eq(pair_of(POSREF_ROLE_K, POSREF_KIND_WEIGHT)->mapping,
                     POSREF_MAPPING_HALF_TO_INTERLEAVED);
    ck_assert(found("v_permuted"));
    ck_assert_int_eq(wrong_count(), 1);
    made_clear(&a);
    made_clear(&b);
}
END_TEST

/* Latent attention: rope rows come last in each q head and in kv_a. */
START_TEST(latent_attention)
{
    for (int whole = 0; whole < 2; whole++) {
        struct made_model a, b;
        made_init(&a, 8);
        made_add(&a, "model.layers.0.self_attn.q_b_proj.weight", HEADS * 24, 32);
        made_add(&a, "model.layers.0.self_attn.kv_a_proj_with_mqa.weight", 48 + 16, 32);
        made_add(&a, "model.layers.0.self_attn.kv_b_proj.weight", HEADS * 16, 48);
        made_copy(&b, &a);
        config("{\"model_type\":\"deepseek_v3\",\"num_attention_heads\":12,\"qk_rope_head_dim\":16,"
               "\"qk_nope_head_dim\":8,\"kv_lora_rank\":48,\"v_head_dim\":8}");
        made_port(&b.tensor[0], HEADS, whole ? 0 : 8, whole ? 24 : 16, true);
        made_port(&b.tensor[1], 1, 48, 16, true);
        ck_assert_msg(compare_models(&a, &b, NULL) == POSREF_OK, "%s",
                      fixture.err.text);
        const struct posref_weights_pair *k = pair_of(POSREF_ROLE_K, POSREF_KIND_WEIGHT);
        ck_assert_int_eq(k->mapping, POSREF_MAPPING_ROTARY_ROWS_ONLY);
        ck_assert_int_eq(k->before->rotary_first, 48);
        if (whole) {
            ck_assert(found("q_k_disagree"));
        } else {
            ck_assert_str_eq(fixture.result.kernel_pairing, "half");
            ck_assert_int_eq(wrong_count(), 0);
        }
            made_clear(&a);
        made_clear(&b);
    }
}
END_TEST

START_TEST(partial_rotation)
{
    for (int mistake = 0; mistake < 3; mistake++) { /* 16 of 64: right, all rows, 32 rows */
        static const int64_t rows[] = {16, 64, 32};
        struct made_model a, b;
        made_init(&a, 9);
        made_add(&a, "model.layers.0.self_attn.q_proj.weight", HEADS * 64, 32);
        made_add(&a, "model.layers.0.self_attn.k_proj.weight", KV_HEADS * 64, 32);
        made_copy(&b, &a);
        config("{\"model_type\":\"stablelm\",\"num_attention_heads\":12,\"num_key_value_heads\":2,"
               "\"hidden_size\":768}"); /* rotates a quarter by default */
        made_port(&b.tensor[0], HEADS, 0, rows[mistake], false);
        made_port(&b.tensor[1], KV_HEADS, 0, rows[mistake], false);
        ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
        const struct posref_weights_pair *q = pair_of(POSREF_ROLE_Q, POSREF_KIND_WEIGHT);
        ck_assert_int_eq(q->mapping, mistake == 1 ? POSREF_MAPPING_HALF_TO_INTERLEAVED
                                                  : POSREF_MAPPING_ROTARY_ROWS_ONLY);
        ck_assert_int_eq(found("rotary_dim_ignored"), mistake == 1);
        ck_assert_int_eq(found("rotary_rows_wrong"), mistake == 2);
        ck_assert_str_eq(fixture.result.kernel_pairing, mistake == 0 ? "interleaved" : "none");
        ck_assert_int_eq(wrong_count(), mistake > 0);
            made_clear(&a);
        made_clear(&b);
    }
}
END_TEST

/* Without a config a permuted prefix tells how many rows are rotated. */
START_TEST(partial_rotation_without_a_config)
{
    struct made_model a, b;
    const struct posref_weights_options options = {.head_dim = 64};
    made_init(&a, 9);
    made_add(&a, "model.layers.0.self_attn.q_proj.weight", HEADS * 64, 32);
    made_add(&a, "model.layers.0.self_attn.k_proj.weight", KV_HEADS * 64, 32);
    made_copy(&b, &a);
    made_port(&b.tensor[0], HEADS, 0, 32, false);
    made_port(&b.tensor[1], KV_HEADS, 0, 32, false);
    ck_assert_int_eq(compare_models(&a, &b, &options), POSREF_OK);
    ck_assert_str_eq(fixture.result.kernel_pairing, "interleaved");
    ck_assert(found("rotary_dim_inferred"));
    ck_assert_int_eq(wrong_count(), 0);
    /* A config that is silent: known is the default of a known family's code only. */
    config("{\"model_type\":\"brand_new\",\"num_attention_heads\":12,\"num_key_value_heads\":2,"
           "\"head_dim\":64}");
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
    ck_assert_int_eq(wrong_count(), 0);
    config("{\"model_type\":\"llama\",\"num_attention_heads\":12,\"num_key_value_heads\":2,"
           "\"head_dim\":64}");
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
    ck_assert(found("rotary_rows_wrong"));
    made_clear(&a);
    made_clear(&b);
}
END_TEST

START_TEST(adapters_count_as_their_projection)
{
    for (int mistake = 0; mistake < 2; mistake++) {
        struct made_model a, b;
        const char *q = "base_model.model.model.layers.0.self_attn.q_proj";
        char name[128];
        made_init(&a, 10);
        snprintf(name, sizeof name, "%s.lora_A.weight", q);
        made_add(&a, name, 8, 32);
        snprintf(name, sizeof name, "%s.lora_B.weight", q);
        made_add(&a, name, HEADS * DIM, 8);
        made_add(&a, "base_model.model.model.layers.0.self_attn.k_proj.lora_B.weight",
                 KV_HEADS * DIM, 8);
        made_copy(&b, &a);
        config(LLAMA);
        made_port(&b.tensor[1], HEADS, 0, DIM, false);
        if (!mistake)
            made_port(&b.tensor[2], KV_HEADS, 0, DIM, false);
        ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
        ck_assert_uint_eq(fixture.result.n_pairs, 2);
        ck_assert_int_eq(found("q_k_disagree"), mistake);
        ck_assert_int_eq(pair_of(POSREF_ROLE_Q, POSREF_KIND_LORA)->mapping,
                         POSREF_MAPPING_HALF_TO_INTERLEAVED);
            made_clear(&a);
        made_clear(&b);
    }
}
END_TEST

START_TEST(single_arrays)
{
    struct made_model a;
    const struct posref_weights_options heads = {.n_heads = HEADS};
    made_init(&a, 12);
    made_save_npy(made_add(&a, "x", HEADS * DIM, 8), in("a.npy"));
    made_port(&a.tensor[0], HEADS, 0, DIM, true);
    made_save_npy(&a.tensor[0], in("b.npy"));
    made_save_safetensors(&a, in("c.safetensors"));
    ck_assert_msg(compare_paths(in("a.npy"), in("b.npy"), &heads) == POSREF_OK, "%s",
                  fixture.err.text);
    ck_assert_uint_eq(fixture.result.n_pairs, 1);
    ck_assert_int_eq(fixture.result.pair[0].mapping, POSREF_MAPPING_INTERLEAVED_TO_HALF);
    ck_assert_str_eq(fixture.result.kernel_pairing, "half");
    ck_assert_int_eq(compare_paths(in("a.npy"), in("c.safetensors:x"), &heads), POSREF_OK);
    ck_assert_int_eq(fixture.result.pair[0].mapping, POSREF_MAPPING_INTERLEAVED_TO_HALF);
    ck_assert_int_eq(compare_paths(in("a.npy"), in("c.safetensors:y"), &heads), POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "no tensor called y"));
    made_clear(&a);
}
END_TEST

/* A config that leaves the heads to its family's code, beside a GGUF file that says them; GPT-NeoX
 * cuts q, k, v head by head where GGUF has them one after another. */
START_TEST(each_side_cut_its_own_way)
{
    struct made_model hf, gguf;
    int64_t source[3 * HEADS * DIM];
    made_init(&hf, 14);
    made_add(&hf, "gpt_neox.layers.0.attention.query_key_value.weight", 3 * HEADS * DIM, 32);
    made_copy(&gguf, &hf);
    snprintf(gguf.tensor[0].name, sizeof gguf.tensor[0].name, "blk.0.attn_qkv.weight");
    for (int64_t row = 0; row < 3 * HEADS * DIM; row++) {
        int64_t role = row / (HEADS * DIM), head = row / DIM % HEADS;
        source[row] = (head * 3 + role) * DIM + row % DIM;
    }
    made_move_rows(&gguf.tensor[0], source);
    config("{\"model_type\":\"gpt_neox\",\"rotary_pct\":1.0}");
    made_save_safetensors(&hf, in("m.safetensors"));
    const struct made_pair pairs[] = {{"general.architecture", 0, "gptneox"},
                                      {"gptneox.attention.head_count", HEADS, NULL},
                                      {"gptneox.embedding_length", HEADS * DIM, NULL},
                                      {NULL, 0, NULL}};
    made_save_gguf(&gguf, in("m.gguf"), pairs, 0, gguf.n);
    ck_assert_msg(compare_paths(in("m.safetensors"), in("m.gguf"), NULL) == POSREF_OK, "%s",
                  fixture.err.text);
    ck_assert_int_eq(pair_of(POSREF_ROLE_K, POSREF_KIND_WEIGHT)->mapping,
                     POSREF_MAPPING_IDENTITY);
    ck_assert_str_eq(fixture.result.kernel_pairing, "half");
    ck_assert_int_eq(wrong_count(), 0);
    made_clear(&hf);
    made_clear(&gguf);
}
END_TEST

/* Gemma's gains are stored less one; GGUF's are not. */
START_TEST(gemma_gains)
{
    struct made_model hf, gguf;
    made_init(&hf, 15);
    made_add(&hf, "model.layers.0.self_attn.q_proj.weight", HEADS * DIM, 32);
    made_add(&hf, "model.layers.0.self_attn.k_proj.weight", KV_HEADS * DIM, 32);
    made_add(&hf, "model.layers.0.self_attn.q_norm.weight", DIM, 0);
    made_copy(&gguf, &hf);
    snprintf(gguf.tensor[0].name, sizeof gguf.tensor[0].name, "blk.0.attn_q.weight");
    snprintf(gguf.tensor[1].name, sizeof gguf.tensor[1].name, "blk.0.attn_k.weight");
    snprintf(gguf.tensor[2].name, sizeof gguf.tensor[2].name, "blk.0.attn_q_norm.weight");
    for (int i = 0; i < DIM; i++)
        gguf.tensor[2].value[i] += 1;
    config("{\"model_type\":\"gemma3_text\",\"num_attention_heads\":12,"
           "\"num_key_value_heads\":2,\"head_dim\":16}");
    made_save_safetensors(&hf, in("m.safetensors"));
    save_gguf(&gguf, "gemma3");
    ck_assert_int_eq(compare_paths(in("m.safetensors"), in("m.gguf"), NULL), POSREF_OK);
    ck_assert_int_eq(pair_of(POSREF_ROLE_Q, POSREF_KIND_NORM)->mapping, POSREF_MAPPING_IDENTITY);
    ck_assert_int_eq(wrong_count(), 0);
    made_clear(&hf);
    made_clear(&gguf);
}
END_TEST

/* The originals of a family may be in the other order and have no config: borrowing the heads of
 * the port's config does not make them half. */
START_TEST(originals_without_a_config)
{
    struct made_model a, b;
    make_both(&b, &a);
    mkdir(in("hf"), 0700);
    unlink(in("config.json"));
    made_save_text(in("hf/config.json"), LLAMA);
    made_save_safetensors(&b, in("hf/model.safetensors"));
    made_port(&b.tensor[0], HEADS, 0, DIM, false);
    made_port(&b.tensor[1], KV_HEADS, 0, DIM, false);
    made_port(&b.tensor[2], KV_HEADS, 0, DIM, false);
    made_save_safetensors(&b, in("original.safetensors"));
    ck_assert_int_eq(compare_paths(in("original.safetensors"), in("hf"), NULL), POSREF_OK);
    ck_assert_int_eq(wrong_count(), 0);
    ck_assert_str_eq(fixture.result.kernel_pairing, "half");
    ck_assert_int_eq(pair_of(POSREF_ROLE_K, POSREF_KIND_WEIGHT)->mapping,
                     POSREF_MAPPING_INTERLEAVED_TO_HALF);
    const struct posref_weights_options half = {.order = POSREF_ORDER_HALF};
    ck_assert_int_eq(compare_paths(in("original.safetensors"), in("hf"), &half), POSREF_OK);
    ck_assert_ptr_nonnull(finding_of("wrong_direction"));
    unlink(in("hf/config.json"));
    unlink(in("hf/model.safetensors"));
    rmdir(in("hf"));
    made_clear(&a);
    made_clear(&b);
}
END_TEST

/* Hugging Face's own loader knows one order of a family: a note, not a fault. */
START_TEST(the_loader_of_a_family)
{
    struct made_model hf, gguf;
    make_both(&hf, &gguf);
    config(LLAMA);
    made_save_safetensors(&hf, in("a.safetensors"));
    made_port(&hf.tensor[0], HEADS, 0, DIM, false);
    made_port(&hf.tensor[1], KV_HEADS, 0, DIM, false);
    made_port(&hf.tensor[2], KV_HEADS, 0, DIM, false);
    made_save_safetensors(&hf, in("b.safetensors"));
    ck_assert_int_eq(compare_paths(in("a.safetensors"), in("b.safetensors"), NULL), POSREF_OK);
    ck_assert_ptr_nonnull(finding_of("loader_disagrees"));
    ck_assert_int_eq(wrong_count(), 0);
    const struct posref_weights_options own = {.kernel = POSREF_ORDER_INTERLEAVED_ROWS};
    ck_assert_int_eq(compare_paths(in("a.safetensors"), in("b.safetensors"), &own), POSREF_OK);
    ck_assert_ptr_null(finding_of("loader_disagrees"));
    made_clear(&hf);
    made_clear(&gguf);
}
END_TEST

/* One scale per row must move with its row. */
START_TEST(scales_follow_their_rows)
{
    struct made_model a, b;
    made_init(&a, 13);
    made_add(&a, "model.layers.0.self_attn.q_proj.weight", HEADS * DIM, 32);
    made_add(&a, "model.layers.0.self_attn.q_proj.weight_scale", HEADS * DIM, 1);
    made_add(&a, "model.layers.0.self_attn.k_proj.weight", KV_HEADS * DIM, 32);
    made_add(&a, "model.layers.0.self_attn.k_proj.weight_scale", KV_HEADS * DIM, 1);
    made_copy(&b, &a);
    config(LLAMA);
    made_port(&b.tensor[0], HEADS, 0, DIM, false);
    made_port(&b.tensor[1], HEADS, 0, DIM, false);
    made_port(&b.tensor[2], KV_HEADS, 0, DIM, false);
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
    ck_assert(found("scale_not_permuted"));
    ck_assert_int_eq(wrong_count(), 1);
    made_clear(&a);
    made_clear(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("weights_forms");
    TCase *cases = tcase_create("all");
    tcase_add_checked_fixture(cases, fixture_setup, fixture_teardown);
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, the_kernel_of_a_gguf_architecture);
    tcase_add_test(cases, fused_projections);
    tcase_add_test(cases, fused_per_head);
    tcase_add_test(cases, latent_attention);
    tcase_add_test(cases, partial_rotation);
    tcase_add_test(cases, partial_rotation_without_a_config);
    tcase_add_test(cases, adapters_count_as_their_projection);
    tcase_add_test(cases, single_arrays);
    tcase_add_test(cases, scales_follow_their_rows);
    tcase_add_test(cases, each_side_cut_its_own_way);
    tcase_add_test(cases, gemma_gains);
    tcase_add_test(cases, the_loader_of_a_family);
    tcase_add_test(cases, originals_without_a_config);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
