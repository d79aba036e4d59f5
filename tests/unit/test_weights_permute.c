/* SPDX-License-Identifier: Apache-2.0 */
/* weights permute: there and back is the identity, every other byte is as it was, and a failure
 * leaves no trace. */
#include "tests/unit/suite.h"
#include "tests/unit/weights_fixture.h"

#include <check.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADS 12
#define KV_HEADS 2
#define DIM 16
#define LLAMA "{\"model_type\":\"llama\",\"num_attention_heads\":12,\"num_key_value_heads\":2," \
              "\"head_dim\":16}"

static enum posref_status permute(const char *from, const char *to, bool to_half, bool dry_run)
{
    static const struct posref_weights_options none;
    struct posref_weights_side side = {0};
    struct posref_weights_plan plan = {0};
    struct posref_error *err = &fixture.err;
    enum posref_status status = posref_weights_open(&side, from, &none, err);
    if (status == POSREF_OK)
        status = posref_weights_cut(&side, err);
    if (status == POSREF_OK)
        status = posref_weights_permute(&plan, &side, to, to_half, dry_run, err);
    posref_buffer_clear(&plan.text);
    posref_buffer_clear(&plan.json);
    posref_weights_close(&side);
    return status;
}

static bool same_file(const char *a, const char *b)
{
    struct posref_mapping x, y;
    ck_assert_int_eq(posref_mapping_open(&x, a, &fixture.err), POSREF_OK);
    ck_assert_int_eq(posref_mapping_open(&y, b, &fixture.err), POSREF_OK);
    bool same = x.size_bytes == y.size_bytes && memcmp(x.data, y.data, x.size_bytes) == 0;
    posref_mapping_close(&x);
    posref_mapping_close(&y);
    return same;
}

static int count_entries(void)
{
    int n = 0;
    DIR *entries = opendir(fixture.directory);
    while (readdir(entries))
        n++;
    closedir(entries);
    return n - 2;
}

static void make(struct made_model *model)
{
    made_init(model, 21);
    made_add(model, "model.embed_tokens.weight", 50, 64);
    made_add(model, "model.layers.0.self_attn.q_proj.weight", HEADS * DIM, 64)->type =
        POSREF_STORED_BF16;
    made_add(model, "model.layers.0.self_attn.q_proj.bias", HEADS * DIM, 0);
    made_add(model, "model.layers.0.self_attn.k_proj.weight", KV_HEADS * DIM, 64)->type =
        POSREF_STORED_F16;
    made_add(model, "model.layers.0.self_attn.k_norm.weight", DIM, 0);
    made_add(model, "model.layers.0.self_attn.o_proj.weight", 64, HEADS * DIM);
}

START_TEST(there_and_back)
{
    struct made_model model, ported;
    make(&model);
    made_copy(&ported, &model);
    made_port(&ported.tensor[1], HEADS, 0, DIM, false);
    made_port(&ported.tensor[2], HEADS, 0, DIM, false);
    made_port(&ported.tensor[3], KV_HEADS, 0, DIM, false);
    made_port(&ported.tensor[4], 1, 0, DIM, false);
    made_save_text(in("config.json"), LLAMA);
    made_save_safetensors(&model, in("a.safetensors"));
    made_save_safetensors(&ported, in("want.safetensors"));
    ck_assert_msg(permute(in("a.safetensors"), in("b.safetensors"), false, false) == POSREF_OK,
                  "%s", fixture.err.text);
    ck_assert(same_file(in("b.safetensors"), in("want.safetensors")));
    ck_assert(!same_file(in("a.safetensors"), in("b.safetensors")));
    ck_assert_int_eq(permute(in("b.safetensors"), in("c.safetensors"), true, false), POSREF_OK);
    ck_assert(same_file(in("a.safetensors"), in("c.safetensors")));
    ck_assert_int_eq(compare_paths(in("a.safetensors"), in("b.safetensors"), NULL), POSREF_OK);
    ck_assert_str_eq(fixture.result.kernel_pairing, "interleaved");
    ck_assert_int_eq(wrong_count(), 0);
    made_clear(&model);
    made_clear(&ported);
}
END_TEST

START_TEST(gguf_with_quantised_rows)
{
    static const struct made_pair pairs[] = {{"general.architecture", 0, "qwen2"},
                                             {"qwen2.attention.head_count", HEADS, NULL},
                                             {"qwen2.attention.head_count_kv", KV_HEADS, NULL},
                                             {"qwen2.attention.key_length", DIM, NULL},
                                             {NULL, 0, NULL}};
    struct made_model model;
    made_init(&model, 22);
    made_add(&model, "blk.0.attn_q.weight", HEADS * DIM, 256)->type = POSREF_STORED_Q4_K;
    made_add(&model, "blk.0.attn_k.weight", KV_HEADS * DIM, 64)->type = POSREF_STORED_Q8_0;
    made_add(&model, "blk.0.attn_norm.weight", 5, 0); /* padding after it */
    made_save_gguf(&model, in("a.gguf"), pairs, 0, model.n);
    ck_assert_msg(permute(in("a.gguf"), in("b.gguf"), false, false) == POSREF_OK, "%s",
                  fixture.err.text);
    ck_assert(!same_file(in("a.gguf"), in("b.gguf")));
    ck_assert_int_eq(permute(in("b.gguf"), in("c.gguf"), true, false), POSREF_OK);
    ck_assert(same_file(in("a.gguf"), in("c.gguf")));
    ck_assert_int_eq(compare_paths(in("a.gguf"), in("b.gguf"), NULL), POSREF_OK);
    ck_assert(pair_of(POSREF_ROLE_Q, POSREF_KIND_WEIGHT)->same_type);
    ck_assert_ptr_nonnull(finding_of("kernel_disagrees")); /* qwen2's ggml kernel is NEOX */
    made_clear(&model);
}
END_TEST

START_TEST(shards_go_to_a_new_directory)
{
    struct made_model model, part;
    make(&model);
    ck_assert_int_eq(mkdir(in("in"), 0777), 0);
    made_save_text(in("in/config.json"), LLAMA);
    part = model;
    part.n = 3;
    made_save_safetensors(&part, in("in/m-1.safetensors"));
    part.n = model.n - 3;
    memcpy(part.tensor, model.tensor + 3, (size_t)part.n * sizeof *part.tensor);
    made_save_safetensors(&part, in("in/m-2.safetensors"));
    struct posref_buffer index;
    posref_buffer_init(&index, 1 << 16);
    posref_buffer_text(&index, "{\"weight_map\":{");
    for (int i = 0; i < model.n; i++)
        posref_buffer_printf(&index, "%s\"%s\":\"m-%d.safetensors\"", i > 0 ? "," : "",
                             model.tensor[i].name, i < 3 ? 1 : 2);
    posref_buffer_add(&index, "}}", 3); /* with its NUL */
    made_save_text(in("in/model.safetensors.index.json"), index.data);
    posref_buffer_clear(&index);
    ck_assert_msg(permute(in("in"), in("out/"), false, false) == POSREF_OK, "%s: %s",
                  fixture.err.key, fixture.err.text);
    ck_assert(same_file(in("in/config.json"), in("out/config.json")));
    ck_assert(same_file(in("in/model.safetensors.index.json"),
                        in("out/model.safetensors.index.json")));
    ck_assert_int_eq(compare_paths(in("in"), in("out"), NULL), POSREF_OK);
    ck_assert_str_eq(fixture.result.kernel_pairing, "interleaved");
    ck_assert_int_eq(wrong_count(), 0);
    ck_assert_int_eq(permute(in("in"), in("out"), false, false), POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "exists"));
    ck_assert_int_eq(permute(in("out"), in("back"), true, false), POSREF_OK);
    ck_assert(same_file(in("in/m-1.safetensors"), in("back/m-1.safetensors")));
    ck_assert(same_file(in("in/m-2.safetensors"), in("back/m-2.safetensors")));
    ck_assert_int_eq(count_entries(), 3);
    made_clear(&model);
}
END_TEST

START_TEST(a_dry_run_writes_nothing)
{
    struct made_model model;
    make(&model);
    made_save_text(in("config.json"), LLAMA);
    made_save_safetensors(&model, in("a.safetensors"));
    ck_assert_int_eq(permute(in("a.safetensors"), in("b.safetensors"), false, true), POSREF_OK);
    ck_assert_int_eq(count_entries(), 2);
    made_clear(&model);
}
END_TEST

/* A full disk, here a limit on the file's size: the old output stays, no temporary is left. */
START_TEST(a_failed_write_leaves_no_trace)
{
    struct made_model model;
    struct rlimit old, small;
    make(&model);
    made_save_text(in("config.json"), LLAMA);
    made_save_safetensors(&model, in("a.safetensors"));
    made_save_text(in("b.safetensors"), "old");
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 10000;
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    enum posref_status status = permute(in("a.safetensors"), in("b.safetensors"), false, false);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_DFL);
    ck_assert_int_eq(status, POSREF_IO);
    struct posref_mapping kept;
    ck_assert_int_eq(posref_mapping_open(&kept, in("b.safetensors"), &fixture.err), POSREF_OK);
    ck_assert_uint_eq(kept.size_bytes, 3);
    posref_mapping_close(&kept);
    ck_assert_int_eq(count_entries(), 3);
    made_clear(&model);
}
END_TEST

/* A signal that ends the program waits until what was written is gone. */
START_TEST(an_interrupted_write_leaves_no_trace)
{
    struct made_model model;
    sigset_t term, before;
    const struct timespec now = {0};
    make(&model);
    made_save_text(in("config.json"), LLAMA);
    made_save_safetensors(&model, in("a.safetensors"));
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, &before);
    raise(SIGTERM);
    enum posref_status status = permute(in("a.safetensors"), in("b.safetensors"), false, false);
    ck_assert_int_eq(sigtimedwait(&term, NULL, &now), SIGTERM); /* still there */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    ck_assert_int_eq(status, POSREF_IO);
    ck_assert_int_eq(count_entries(), 2);
    ck_assert_int_eq(permute(in("a.safetensors"), in("b.safetensors"), false, false), POSREF_OK);
    made_clear(&model);
}
END_TEST

START_TEST(what_cannot_be_done_is_refused)
{
    struct made_model model;
    make(&model);
    made_save_safetensors(&model, in("a.safetensors"));
    ck_assert_int_eq(permute(in("a.safetensors"), in("b.safetensors"), false, false),
                     POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "head size is not known"));
    made_save_text(in("config.json"), LLAMA);
    ck_assert_int_eq(permute(in("a.safetensors"), in("a.safetensors"), false, false),
                     POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "is the input"));
    ck_assert_int_eq(permute(in("a.safetensors"), in("b/"), false, false), POSREF_BAD_INPUT);
    ck_assert_int_eq(permute(in("a.safetensors"), in("no/b.safetensors"), false, false),
                     POSREF_BAD_INPUT);
    ck_assert_int_eq(permute(in("a.safetensors"), fixture.directory, false, false),
                     POSREF_BAD_INPUT);
    /* One scale for 24 rows of q: blocks that cut through heads of 16. */
    made_add(&model, "model.layers.0.self_attn.q_proj.weight_scale_inv", 8, 2);
    made_save_safetensors(&model, in("a.safetensors"));
    ck_assert_int_eq(permute(in("a.safetensors"), in("b.safetensors"), false, false),
                     POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "no whole heads"));
    model.tensor[model.n - 1].rows = 6; /* one for 32: two heads */
    made_save_safetensors(&model, in("a.safetensors"));
    ck_assert_int_eq(permute(in("a.safetensors"), in("b.safetensors"), false, false), POSREF_OK);
    FILE *empty = fopen(in("empty.safetensors"), "wb"); /* rows of no columns hold nothing */
    static const char header[] =
        "{\"model.layers.0.self_attn.q_proj.weight\":{\"dtype\":\"F32\",\"shape\":[192,0],"
        "\"data_offsets\":[0,0]},\"model.layers.0.self_attn.k_proj.weight\":{\"dtype\":\"F32\","
        "\"shape\":[32,0],\"data_offsets\":[0,0]}}";
    const unsigned char length[8] = {sizeof header - 1};
    ck_assert(empty && fwrite(length, 1, 8, empty) == 8 && fputs(header, empty) >= 0);
    ck_assert_int_eq(fclose(empty), 0);
    ck_assert_int_eq(permute(in("empty.safetensors"), in("b.safetensors"), false, false),
                     POSREF_BAD_INPUT);
    ck_assert_int_eq(compare_paths(in("empty.safetensors"), in("empty.safetensors"), NULL),
                     POSREF_BAD_INPUT);
    made_save_text(in("config.json"), "{\"model_type\":\"bloom\",\"n_head\":12}");
    ck_assert_int_eq(permute(in("a.safetensors"), in("b.safetensors"), false, false),
                     POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "no q or k projection"));
    made_clear(&model);
}
END_TEST

/* A model whose k hides under a name that tells nothing: q alone is no port. */
START_TEST(q_without_its_k)
{
    struct made_model model;
    make(&model);
    made_save_text(in("config.json"), LLAMA);
    for (int i = 0; i < model.n; i++) {
        char *k = strstr(model.tensor[i].name, "k_proj");
        if (k)
            memcpy(k, "w_kv__", 6);
    }
    made_save_safetensors(&model, in("a.safetensors"));
    ck_assert_int_eq(permute(in("a.safetensors"), in("b.safetensors"), false, false),
                     POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "q_proj.weight: no k projection"));
    ck_assert_int_eq(permute(in("a.safetensors"), "", false, false), POSREF_BAD_INPUT);
    made_clear(&model);
}
END_TEST

static const struct { const char *text, *says; } configs[] = {
    {"{\"num_attention_heads\":0}", "num_attention_heads is no positive integer"},
    {"{\"num_attention_heads\":\"12\"}", "num_attention_heads is no positive integer"},
    {"{\"num_attention_heads\":12,\"num_attention_heads\":12}", "duplicate"},
    {"{\"partial_rotary_factor\":1.5}", "partial_rotary_factor is no number in (0, 1]"},
    {"[]", "not a JSON object"}, {"{", "line 1"},
    {"{\"num_attention_heads\":12,\"num_key_value_heads\":2,\"head_dim\":16,\"rotary_dim\":18}",
     "do not fit a head of 16 rows"},
    {"{\"num_attention_heads\":12,\"num_key_value_heads\":2,\"head_dim\":16,\"rotary_dim\":7}",
     "do not fit a head of 16 rows"},
    {"{\"num_attention_heads\":13,\"num_key_value_heads\":2,\"head_dim\":16}",
     "192 rows are not 13 heads of 16"}};

START_TEST(configs_that_do_not_fit)
{
    struct made_model model;
    make(&model);
    made_save_safetensors(&model, in("a.safetensors"));
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        made_save_text(in("config.json"), configs[i].text);
        ck_assert_int_eq(permute(in("a.safetensors"), in("b.safetensors"), false, false),
                         POSREF_BAD_INPUT);
        ck_assert_msg(strstr(fixture.err.text, configs[i].says) != NULL, "%s: %s",
                      configs[i].says, fixture.err.text);
    }
    ck_assert_int_eq(count_entries(), 2);
    made_clear(&model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("weights_permute");
    TCase *cases = tcase_create("all");
    tcase_add_checked_fixture(cases, fixture_setup, fixture_teardown);
    tcase_add_test(cases, there_and_back);
    tcase_add_test(cases, gguf_with_quantised_rows);
    tcase_add_test(cases, shards_go_to_a_new_directory);
    tcase_add_test(cases, a_dry_run_writes_nothing);
    tcase_add_test(cases, a_failed_write_leaves_no_trace);
    tcase_add_test(cases, an_interrupted_write_leaves_no_trace);
    tcase_add_test(cases, what_cannot_be_done_is_refused);
    tcase_add_test(cases, q_without_its_k);
    tcase_add_test(cases, configs_that_do_not_fit);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
