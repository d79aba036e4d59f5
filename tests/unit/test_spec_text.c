/* SPDX-License-Identifier: Apache-2.0 */
/* Specs as text and JSON: every field there and back, and what is refused, by name. */
#include "tests/unit/suite.h"
#include "vectors/vectors.h"

#include <check.h>
#include <string.h>

static const char *const specs[] = {
    "scheme=rope dim=4 base=10000 rotary_dim=4 partial=leading pairing=interleaved "
    "direction=forward scaling=none",
    "scheme=rope dim=128 base=1000000 rotary_dim=64 partial=leading pairing=half "
    "direction=inverse scaling=yarn factor=4 original_max_position_embeddings=32768 beta_fast=32 "
    "beta_slow=1 truncate=false mscale=0.707 mscale_all_dim=1 attention_factor=1.25",
    "scheme=rope dim=64 base=500000.5 rotary_dim=64 partial=leading pairing=half "
    "direction=forward scaling=llama3 factor=8 original_max_position_embeddings=8192 "
    "low_freq_factor=1 high_freq_factor=4",
    "scheme=sinusoidal dim=512 base=10000 order=concat exponent=half_minus_one offset=0 "
    "min_timescale=1 table_scale=1 x_scale=one",
    "scheme=alibi num_heads=12 alibi_bias_max=8 form=symmetric align=bottom_right slopes=published",
};
#define N_SPECS (sizeof specs / sizeof *specs)

START_TEST(text_there_and_back)
{
    for (size_t i = 0; i < N_SPECS; i++) {
        struct posref_spec spec;
        struct posref_error err = {{0}, {0}};
        struct posref_buffer text;
        posref_buffer_init(&text, 4096);
        ck_assert_msg(posref_spec_parse(&spec, specs[i], &err) == POSREF_OK, "%s: %s", err.key,
                      err.text);
        ck_assert_msg(posref_spec_complete(&spec, &err) == POSREF_OK, "%s: %s", err.key, err.text);
        posref_spec_text(&text, &spec);
        ck_assert_str_eq(text.data, specs[i]);
        posref_buffer_clear(&text);
    }
}
END_TEST

/* The JSON of a spec, read as the body of a request, is the same spec. */
START_TEST(json_there_and_back)
{
    struct posref_heap *heap = posref_heap_new(0);
    struct posref_arena arena = posref_heap_arena(heap);
    for (size_t i = 0; i < N_SPECS; i++) {
        struct posref_spec spec;
        struct posref_request request;
        struct posref_error err = {{0}, {0}};
        struct posref_buffer json, text;
        posref_buffer_init(&json, 4096);
        posref_buffer_init(&text, 4096);
        ck_assert(posref_spec_parse(&spec, specs[i], &err) == POSREF_OK);
        posref_buffer_text(&json, "{\"spec\": ");
        posref_spec_json(&json, &spec);
        posref_buffer_text(&json, "}");
        posref_request_init(&request);
        ck_assert_msg(posref_request_json(&request, json.data, json.length, &arena, &err) ==
                      POSREF_OK, "%s: %s in %s", err.key, err.text, json.data);
        posref_spec_text(&text, &request.spec);
        ck_assert_str_eq(text.data, specs[i]);
        posref_buffer_clear(&json);
        posref_buffer_clear(&text);
    }
    posref_heap_free(heap);
}
END_TEST

START_TEST(json_form)
{
    struct posref_spec spec;
    struct posref_error err = {{0}, {0}};
    struct posref_buffer json;
    posref_buffer_init(&json, 4096);
    ck_assert(posref_spec_parse(&spec, "scheme=rope dim=4 base=1e4 truncate=1", &err) == POSREF_OK);
    posref_spec_json(&json, &spec);
    ck_assert_str_eq(json.data,
                     "{\"scheme\": \"rope\", \"dim\": 4, \"base\": 10000, \"truncate\": true}");
    posref_buffer_clear(&json);
}
END_TEST

static void check_set(const char *key, const char *value, const char *want_key,
                      const char *want_text)
{
    struct posref_spec spec;
    struct posref_error err = {{0}, {0}};
    posref_spec_init(&spec);
    ck_assert_msg(posref_spec_set(&spec, key, value, &err) == POSREF_BAD_INPUT, "%s=%s", key,
                  value);
    ck_assert_str_eq(err.key, want_key);
    ck_assert_msg(strstr(err.text, want_text), "%s=%s: %s", key, value, err.text);
    for (int field = 0; field < POSREF_N_FIELDS; field++)
        ck_assert(!spec.given[field]);
}

START_TEST(refused)
{
    check_set("dim", "4.5", "dim", "whole");
    check_set("dim", "", "dim", "number");
    check_set("dim", "99999999999", "dim", "range");
    check_set("base", "1e999", "base", "finite");
    check_set("base", "ten", "base", "number");
    check_set("pairing", "neox", "pairing", "half, interleaved");
    check_set("truncate", "yes", "truncate", "true or false");
    check_set("diim", "4", "diim", "did you mean dim?");
    check_set("beta_fsat", "4", "beta_fsat", "did you mean beta_fast?");
    check_set("zzzzzz", "4", "zzzzzz", "unknown key");
    check_set("", "4", "", "unknown key");
}
END_TEST

START_TEST(parse_refused)
{
    static const char *const bad[] = {"scheme", "scheme=rope dim=4 dim=4", "scheme=rope  dim=4",
                                      "=rope", "scheme=rope nonsense"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct posref_spec spec;
        struct posref_error err = {{0}, {0}};
        memset(&spec, 0x55, sizeof spec);
        struct posref_spec before = spec;
        ck_assert_msg(posref_spec_parse(&spec, bad[i], &err) == POSREF_BAD_INPUT, "%s", bad[i]);
        ck_assert_mem_eq(&before, &spec, sizeof spec);
    }
}
END_TEST

/* Every field of the table can be set from its default and its choices, and printed again: a field
 * that is added needs no code here. */
START_TEST(every_field)
{
    for (int f = 0; f < POSREF_N_FIELDS; f++) {
        const struct posref_field_def *def = posref_field_def((enum posref_field)f);
        struct posref_spec spec;
        struct posref_error err = {{0}, {0}};
        for (int i = 0; def->choices ? def->choices[i] != NULL : i < 1; i++) {
            const char *value = def->choices                     ? def->choices[i]
                                : def->type == POSREF_TYPE_BOOL ? "false"
                                : posref_field_is_list(def)     ? "3,4" : "3";
            struct posref_buffer text;
            posref_buffer_init(&text, 256);
            posref_spec_init(&spec);
            ck_assert(posref_spec_set(&spec, def->name, value, &err) == POSREF_OK);
            posref_field_text(&text, &spec, (enum posref_field)f);
            ck_assert_str_eq(text.data, value);
            posref_buffer_clear(&text);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spec_text");
    TCase *tests = tcase_create("spec_text");
    tcase_add_test(tests, text_there_and_back);
    tcase_add_test(tests, json_there_and_back);
    tcase_add_test(tests, json_form);
    tcase_add_test(tests, refused);
    tcase_add_test(tests, parse_refused);
    tcase_add_test(tests, every_field);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
