/* SPDX-License-Identifier: Apache-2.0 */
/* weights check on small checkpoints: every known mistake is named, a right port is not accused,
 * and what cannot be told apart is said to be ambiguous. */
#include "tests/unit/suite.h"
#include "tests/unit/weights_fixture.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADS 12
#define KV_HEADS 2
#define HIDDEN 32
#define LAYERS 3

static const char *layer_name(int layer, const char *rest)
{
    static char name[4][128];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(name[turn], sizeof name[turn], "model.layers.%d.self_attn.%s", layer, rest);
    return name[turn];
}

static const char *const parts[] = {"q_proj.weight", "k_proj.weight", "q_proj.bias", "k_proj.bias",
                                    "q_norm.weight", "k_norm.weight", "v_proj.weight"};

static void make(struct made_model *model, int64_t dim)
{
    made_init(model, (uint64_t)dim);
    for (int layer = 0; layer < LAYERS; layer++)
        for (int part = 0; part < 7; part++) {
            int64_t heads = part >= 4 && part < 6 ? 1 : parts[part][0] == 'q' ? HEADS : KV_HEADS;
            made_add(model, layer_name(layer, parts[part]), heads * dim,
                     part < 2 || part == 6 ? HIDDEN : 0);
        }
    char config[256];
    snprintf(config, sizeof config, "{\"model_type\":\"llama\",\"num_attention_heads\":%d,"
             "\"num_key_value_heads\":%d,\"head_dim\":%lld}", HEADS, KV_HEADS, (long long)dim);
    made_save_text(in("config.json"), config);
}

/* Ports one part of one layer, `times` over. */
static void port(struct made_model *model, int layer, int part, int64_t rows, bool to_half,
                 int times)
{
    struct made_tensor *t = made_find(model, layer_name(layer, parts[part]));
    int64_t heads = part >= 4 ? 1 : parts[part][0] == 'q' ? HEADS : KV_HEADS;
    while (times-- > 0)
        made_port(t, heads, 0, rows, to_half);
}

static void port_all(struct made_model *model, int64_t rows, bool to_half, int times)
{
    for (int layer = 0; layer < LAYERS; layer++)
        for (int part = 0; part < 6; part++)
            port(model, layer, part, rows, to_half, times);
}

static const char *first_summary(void)
{
    return fixture.result.n_findings ? fixture.result.finding[0].summary : "";
}

/* Compares, and expects the mapping of layer 1's q or k weight, the kernel, and one fault. */
static void expect(const struct made_model *a, const struct made_model *b, const char *part,
                   enum posref_weights_mapping mapping, const char *kernel, const char *fault)
{
    ck_assert_msg(compare_models(a, b, NULL) == POSREF_OK, "%s: %s", fixture.err.key,
                  fixture.err.text);
    const struct posref_weights_pair *pair = pair_named(layer_name(1, part));
    ck_assert_msg(pair->mapping == mapping, "%s: %s, %s",  fault ? fault : "right",
                  posref_weights_mapping_name(pair->mapping), part);
    ck_assert_msg(strcmp(fixture.result.kernel_pairing, kernel) == 0, "%s: kernel %s",
                  fault ? fault : "right", fixture.result.kernel_pairing);
    if (fault) {
        ck_assert_msg(finding_of(fault) != NULL, "%s not found", fault);
        ck_assert_int_ge(wrong_count(), 1);
    } else {
        ck_assert_msg(wrong_count() == 0, "%s", first_summary());
        ck_assert(fixture.result.consistent);
    }
}

static const int64_t dims[] = {12, 16, 64, 96, 128};

START_TEST(right_ports)
{
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        struct made_model a, b;
        make(&a, dims[i]);
        made_copy(&b, &a);
        expect(&a, &b, "k_proj.weight", POSREF_MAPPING_IDENTITY, "half", NULL);
        port_all(&b, dims[i], false, 1);
        expect(&a, &b, "k_proj.weight", POSREF_MAPPING_HALF_TO_INTERLEAVED, "interleaved", NULL);
        made_save_text(in("config.json"), "{\"model_type\":\"cohere\",\"num_attention_heads\":12,"
                       "\"num_key_value_heads\":2}");
        expect(&b, &a, "q_proj.weight", POSREF_MAPPING_INTERLEAVED_TO_HALF, "half", NULL);
        made_clear(&a);
        made_clear(&b);
    }
}
END_TEST

START_TEST(wrong_as_a_whole)
{
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        struct made_model a, b;
        make(&a, dims[i]);
        made_copy(&b, &a);
        port_all(&b, dims[i], true, 1);
        expect(&a, &b, "k_proj.weight", POSREF_MAPPING_INTERLEAVED_TO_HALF, "none",
               "wrong_direction");
        made_clear(&b);
        made_copy(&b, &a);
        port_all(&b, dims[i], false, 2);
        expect(&a, &b, "q_proj.weight", POSREF_MAPPING_APPLIED_TWICE, "none", "applied_twice");
        made_clear(&b);
        made_copy(&b, &a);
        port_all(&b, dims[i] / 2, false, 1); /* the model rotates whole heads */
        expect(&a, &b, "q_proj.weight", POSREF_MAPPING_ROTARY_ROWS_ONLY, "none",
               "rotary_rows_wrong");
        made_clear(&a);
        made_clear(&b);
    }
}
END_TEST

START_TEST(one_part_left_out)
{
    static const struct {
        int part;
        const char *kernel, *fault;
    } left_out[] = {{0, "none", "q_k_disagree"}, {1, "none", "q_k_disagree"},
                    {2, "interleaved", "bias_not_permuted"},
                    {3, "interleaved", "bias_not_permuted"},
                    {4, "interleaved", "norm_not_permuted"},
                    {5, "interleaved", "norm_not_permuted"}};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        for (size_t j = 0; j < sizeof left_out / sizeof *left_out; j++) {
            struct made_model a, b;
            make(&a, dims[i]);
            made_copy(&b, &a);
            port_all(&b, dims[i], false, 1);
            for (int layer = 0; layer < LAYERS; layer++)
                port(&b, layer, left_out[j].part, dims[i], true, 1);
            expect(&a, &b, parts[left_out[j].part], POSREF_MAPPING_IDENTITY, left_out[j].kernel,
                   left_out[j].fault);
            made_clear(&a);
            made_clear(&b);
        }
}
END_TEST

START_TEST(k_by_the_number_of_query_heads)
{
    static const int64_t fitting[] = {24, 48, 96}; /* 2 * dim / 12 is even */
    for (size_t i = 0; i < sizeof fitting / sizeof *fitting; i++) {
        struct made_model a, b;
            make(&a, fitting[i]);
        made_copy(&b, &a);
        port_all(&b, fitting[i], false, 1);
        for (int layer = 0; layer < LAYERS; layer++) {
            port(&b, layer, 1, fitting[i], true, 1);
            made_port(made_find(&b, layer_name(layer, parts[1])), HEADS, 0,
                      KV_HEADS * fitting[i] / HEADS, false);
        }
        ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
        const struct posref_weights_pair *k = pair_named(layer_name(1, "k_proj.weight"));
        ck_assert_int_eq(k->mapping, POSREF_MAPPING_WRONG_HEAD_COUNT);
        ck_assert_int_eq(k->head_count_used, HEADS);
        ck_assert(!k->to_half);
        ck_assert(!fixture.result.consistent);
        ck_assert_ptr_nonnull(finding_of("wrong_head_count"));
            made_clear(&a);
        made_clear(&b);
    }
}
END_TEST

START_TEST(heads_in_another_order)
{
    struct made_model a, b;
    make(&a, 16);
    made_copy(&b, &a);
    port_all(&b, 16, false, 1);
    int64_t source[HEADS * 16];
    for (int row = 0; row < HEADS * 16; row++)
        source[row] = (row + 5 * 16) % (HEADS * 16);
    for (int layer = 0; layer < LAYERS; layer++)
        made_move_rows(made_find(&b, layer_name(layer, "q_proj.weight")), source);
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
    const struct posref_weights_pair *q = pair_named(layer_name(0, "q_proj.weight"));
    ck_assert_int_eq(q->mapping, POSREF_MAPPING_HEADS_REORDERED);
    ck_assert_int_eq(q->head_order[0], 5);
    ck_assert_int_eq(q->within, 1);
    ck_assert_ptr_nonnull(finding_of("heads_reordered"));
    made_clear(&a);
    made_clear(&b);
}
END_TEST

START_TEST(one_layer_departs)
{
    struct made_model a, b;
    make(&a, 64);
    made_copy(&b, &a);
    port_all(&b, 64, false, 1);
    for (int part = 0; part < 6; part++)
        port(&b, 2, part, 64, true, 1);
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
    const struct posref_weights_finding *found = finding_of("layer_departs");
    ck_assert_ptr_nonnull(found);
    ck_assert(found->layer[2] && !found->layer[0] && !found->layer[1]);
    ck_assert_str_eq(fixture.result.kernel_pairing, "interleaved");
    ck_assert(!fixture.result.consistent);
    ck_assert_int_eq(wrong_count(), 1);
    /* The same is right when layer 2 does not rotate. */
    made_save_text(in("config.json"), "{\"model_type\":\"llama\",\"num_attention_heads\":12,"
                   "\"num_key_value_heads\":2,\"head_dim\":64,\"no_rope_layers\":[1,1,0]}");
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
    ck_assert_int_eq(wrong_count(), 0);
    ck_assert(fixture.result.consistent);
    made_clear(&a);
    made_clear(&b);
}
END_TEST

START_TEST(rows_that_nothing_explains)
{
    struct made_model a, b;
    int64_t source[KV_HEADS * 16];
    make(&a, 16);
    made_copy(&b, &a);
    for (int row = 0; row < KV_HEADS * 16; row++)
        source[row] = KV_HEADS * 16 - 1 - row;
    made_move_rows(made_find(&b, layer_name(1, "k_proj.weight")), source);
    made_find(&b, layer_name(0, "q_proj.weight"))->value[5] += 1;
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
    const struct posref_weights_pair *k = pair_named(layer_name(1, "k_proj.weight"));
    ck_assert_int_eq(k->mapping, POSREF_MAPPING_NONE);
    ck_assert_int_eq(k->rows_found, KV_HEADS * 16);
    const struct posref_weights_pair *q = pair_named(layer_name(0, "q_proj.weight"));
    ck_assert_int_eq(q->mapping, POSREF_MAPPING_NONE);
    ck_assert_int_eq(q->rows_found, HEADS * 16 - 1);
    ck_assert_int_eq(q->first_bad_row, 0);
    const struct posref_weights_finding *found = finding_of("rows_unexplained");
    ck_assert(found->layer[0] && found->layer[1] && !found->layer[2]);
    made_clear(&a);
    made_clear(&b);
}
END_TEST

START_TEST(other_tensors_must_stay)
{
    struct made_model a, b;
    make(&a, 16);
    made_copy(&b, &a);
    port_all(&b, 16, false, 1);
    made_port(made_find(&b, layer_name(1, "v_proj.weight")), KV_HEADS, 0, 16, false);
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
    ck_assert_ptr_nonnull(finding_of("tensor_changed"));
    ck_assert_uint_eq(fixture.result.n_changed, 1);
    ck_assert_str_eq(fixture.result.changed[0].before->name, layer_name(1, "v_proj.weight"));
    ck_assert_uint_eq(fixture.result.n_other_equal, 2);
    made_clear(&a);
    made_clear(&b);
}
END_TEST

/* d = 4: the permutation is its own inverse; d = 8: twice equals the inverse. */
START_TEST(ambiguity_is_said)
{
    struct made_model a, b;
    make(&a, 4);
    made_copy(&b, &a);
    port_all(&b, 4, true, 1);
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
    ck_assert_str_eq(fixture.result.kernel_pairing, "interleaved"); /* before is known to be half */
    ck_assert_ptr_nonnull(finding_of("ambiguous"));
    ck_assert_int_eq(wrong_count(), 0);
    ck_assert(posref_weights_fits(pair_named(layer_name(0, "k_proj.weight")), 1));
    ck_assert(posref_weights_fits(pair_named(layer_name(0, "k_proj.weight")), 2));
    made_clear(&a);
    made_clear(&b);
    make(&a, 8);
    made_copy(&b, &a);
    port_all(&b, 8, false, 2);
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
    ck_assert_str_eq(fixture.result.kernel_pairing, "none");
    ck_assert_ptr_nonnull(finding_of("ambiguous"));
    const struct posref_weights_pair *q = pair_named(layer_name(0, "q_proj.weight"));
    ck_assert(posref_weights_fits(q, 2) && posref_weights_fits(q, 3));
    made_clear(&a);
    made_clear(&b);
}
END_TEST

/* A bias of zeros and gains of ones fit anything: they accuse nobody. */
START_TEST(equal_rows_accuse_nobody)
{
    struct made_model a, b;
    make(&a, 16);
    for (int layer = 0; layer < LAYERS; layer++)
        for (int part = 2; part < 6; part++) {
            struct made_tensor *t = made_find(&a, layer_name(layer, parts[part]));
            for (int64_t i = 0; i < t->rows; i++)
                t->value[i] = part >= 4;
        }
    made_copy(&b, &a);
    port_all(&b, 16, false, 1);
    expect(&a, &b, "q_proj.bias", POSREF_MAPPING_HALF_TO_INTERLEAVED, "interleaved", NULL);
    made_clear(&a);
    made_clear(&b);
}
END_TEST

START_TEST(head_size_is_inferred_or_asked_for)
{
    struct made_model a, b;
    make(&a, 16);
    unlink(in("config.json"));
    made_copy(&b, &a);
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
    ck_assert_str_eq(fixture.result.kernel_pairing, "unchanged");
    port_all(&b, 16, false, 1);
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
    ck_assert(fixture.result.head_dim_inferred);
    ck_assert_int_eq(fixture.before.geometry.head_dim, 16);
    ck_assert_str_eq(fixture.result.kernel_pairing, "interleaved");
    ck_assert_int_eq(wrong_count(), 0);
    made_find(&b, layer_name(0, "q_proj.weight"))->value[0] += 1;
    made_find(&b, layer_name(1, "q_proj.weight"))->value[0] += 1;
    made_find(&b, layer_name(2, "q_proj.weight"))->value[0] += 1;
    for (int layer = 0; layer < LAYERS; layer++)
        made_find(&b, layer_name(layer, "k_proj.weight"))->value[0] += 1;
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_BAD_INPUT);
    ck_assert_str_eq(fixture.err.key, "head_dim");
    made_clear(&a);
    made_clear(&b);
}
END_TEST

START_TEST(different_models_are_refused)
{
    struct made_model a, b;
    make(&a, 16);
    made_copy(&b, &a);
    snprintf(made_find(&b, layer_name(1, "k_proj.weight"))->name, 128, "x.layers.1.mlp.weight");
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "has no k weight for tensor model.layers.1"));
    ck_assert_int_eq(compare_models(&b, &a, NULL), POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "has no k weight for tensor model.layers.1"));
    made_clear(&b);
    made_copy(&b, &a);
    made_find(&b, layer_name(2, "q_proj.weight"))->columns = HIDDEN / 2;
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "different models"));
    made_find(&b, layer_name(2, "q_proj.weight"))->columns = HIDDEN;
    made_find(&b, layer_name(2, "q_proj.weight"))->rows = HEADS * 16 - 1;
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "191 rows are not 12 heads of 16"));
    made_clear(&a);
    made_clear(&b);
}
END_TEST

START_TEST(packings_are_named_and_refused)
{
    static const struct { const char *name, *says; } packed[] = {
        {"model.layers.0.self_attn.q_proj.qweight", "GPTQ or AWQ"},
        {"model.layers.0.self_attn.k_proj.scales", "GPTQ or AWQ"},
        {"model.layers.0.self_attn.q_proj.weight.absmax", "bitsandbytes"},
        {"model.layers.0.self_attn.q_proj.weight_packed", "compressed-tensors"}};
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
        struct made_model a, b;
            make(&a, 16);
        made_copy(&b, &a);
        made_add(&b, packed[i].name, 4, 0);
        ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_BAD_INPUT);
        ck_assert_msg(strstr(fixture.err.text, packed[i].says) != NULL, "%s", fixture.err.text);
            made_clear(&a);
        made_clear(&b);
    }
}
END_TEST

/* All rows alike: nothing is decided, and that is said. */
START_TEST(rows_that_decide_nothing)
{
    struct made_model a, b;
    make(&a, 16);
    for (int i = 0; i < a.n; i++)
        for (int64_t j = 0; j < a.tensor[i].rows; j++)
            memset(&a.tensor[i].value[j * a.tensor[i].columns], 0,
                   sizeof(float) * (size_t)(a.tensor[i].columns ? a.tensor[i].columns : 1));
    made_copy(&b, &a);
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
    ck_assert_ptr_nonnull(finding_of("ambiguous"));
    ck_assert_int_eq(wrong_count(), 0);
    made_clear(&a);
    made_clear(&b);
}
END_TEST

/* A bias or gain that the port dropped, or made up; a bias of zeros may go. */
START_TEST(a_missing_bias_or_gain)
{
    static const char *const faults[] = {"bias_missing", "bias_missing", "norm_missing",
                                         "norm_missing"};
    for (int part = 2; part < 6; part++)
        for (int swap = 0; swap < 2; swap++) {
            struct made_model a, b;
            make(&a, 16);
            made_copy(&b, &a);
            port_all(&b, 16, false, 1);
            struct made_model *poor = swap ? &a : &b;
            memcpy(made_find(poor, layer_name(1, parts[part]))->name, "elsewhere", 10);
            ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
            const struct posref_weights_finding *f = finding_of(faults[part - 2]);
            ck_assert(f && f->layer[1] && !f->layer[0]);
            ck_assert_int_eq(wrong_count(), 1);
            struct made_tensor *full = made_find(swap ? &b : &a, layer_name(1, parts[part]));
            memset(full->value, 0, (size_t)full->rows * sizeof *full->value);
            ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
            ck_assert_int_eq(wrong_count(), part < 4 ? 0 : 1);
            made_clear(&a);
            made_clear(&b);
        }
}
END_TEST

/* Two attentions of one number: each is judged by its own q and k. */
START_TEST(two_attentions_of_one_layer)
{
    struct made_model a, b;
    char name[128];
    make(&a, 16);
    for (int i = 0, n = a.n; i < n && a.n < 60; i++) {
        if (!strstr(a.tensor[i].name, "_proj.weight"))
            continue;
        snprintf(name, sizeof name, "draft.%s", a.tensor[i].name);
        made_add(&a, name, a.tensor[i].rows, a.tensor[i].columns);
    }
    made_copy(&b, &a);
    port_all(&b, 16, false, 1);
    for (int i = 0; i < b.n; i++)
        if (strncmp(b.tensor[i].name, "draft.", 6) == 0 && !strstr(b.tensor[i].name, "v_proj"))
            made_port(&b.tensor[i], b.tensor[i].rows / 16, 0, 16, false);
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
    ck_assert_int_eq(wrong_count(), 0);
    ck_assert(fixture.result.consistent);
    snprintf(name, sizeof name, "draft.%s", layer_name(0, "k_proj.weight"));
    made_port(made_find(&b, name), KV_HEADS, 0, 16, true);
    ck_assert_int_eq(compare_models(&a, &b, NULL), POSREF_OK);
    const struct posref_weights_finding *f = finding_of("q_k_disagree");
    ck_assert(f && f->layer[0] && !f->layer[1]);
    ck_assert_int_eq(wrong_count(), 1);
    made_clear(&a);
    made_clear(&b);
}
END_TEST

/* Heads of another size than the config's, everywhere: who is wrong is not for the rows to say. */
START_TEST(a_config_of_another_size)
{
    struct made_model a, b;
    make(&a, 16);
    made_copy(&b, &a);
    port_all(&b, 16, false, 1);
    for (int i = 0; i < a.n; i++) /* gains would tell the size */
        if (strstr(a.tensor[i].name, "norm")) {
            snprintf(a.tensor[i].name, sizeof a.tensor[i].name, "other.%d", i);
            snprintf(b.tensor[i].name, sizeof b.tensor[i].name, "another.%d", i);
        }
    const struct posref_weights_options eight = {.n_heads = 24, .n_kv_heads = 4, .head_dim = 8};
    ck_assert_int_eq(compare_models(&a, &b, &eight), POSREF_OK);
    ck_assert_ptr_nonnull(finding_of("wrong_head_count"));
    const struct posref_weights_finding *f = finding_of("ambiguous");
    ck_assert(f && strstr(f->summary, "heads of 16"));
    made_clear(&a);
    made_clear(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("weights");
    TCase *cases = tcase_create("all");
    tcase_add_checked_fixture(cases, fixture_setup, fixture_teardown);
    tcase_add_test(cases, right_ports);
    tcase_add_test(cases, wrong_as_a_whole);
    tcase_add_test(cases, one_part_left_out);
    tcase_add_test(cases, k_by_the_number_of_query_heads);
    tcase_add_test(cases, heads_in_another_order);
    tcase_add_test(cases, one_layer_departs);
    tcase_add_test(cases, rows_that_nothing_explains);
    tcase_add_test(cases, other_tensors_must_stay);
    tcase_add_test(cases, ambiguity_is_said);
    tcase_add_test(cases, equal_rows_accuse_nobody);
    tcase_add_test(cases, head_size_is_inferred_or_asked_for);
    tcase_add_test(cases, different_models_are_refused);
    tcase_add_test(cases, packings_are_named_and_refused);
    tcase_add_test(cases, rows_that_decide_nothing);
    tcase_add_test(cases, a_missing_bias_or_gain);
    tcase_add_test(cases, two_attentions_of_one_layer);
    tcase_add_test(cases, a_config_of_another_size);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
