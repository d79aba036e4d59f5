/* SPDX-License-Identifier: Apache-2.0 */
/* weights across element types: a checkpoint in float beside a GGUF file of every type we decode;
 * rows are matched within the type's error, and all of each row is looked at. */
#include "tests/unit/suite.h"
#include "tests/unit/weights_gguf.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const enum posref_stored_type types[] = {
    POSREF_STORED_F32, POSREF_STORED_F16, POSREF_STORED_BF16, POSREF_STORED_Q8_0,
    POSREF_STORED_Q4_0, POSREF_STORED_Q4_1, POSREF_STORED_Q5_0, POSREF_STORED_Q5_1,
    POSREF_STORED_Q6_K, POSREF_STORED_Q5_K, POSREF_STORED_Q4_K, POSREF_STORED_Q3_K,
    POSREF_STORED_Q2_K};

START_TEST(gguf_of_every_type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct made_model hf, gguf;
        const char *name = posref_stored_def(types[i])->name;
        make_both(&hf, &gguf);
        config(LLAMA);
        made_save_safetensors(&hf, in("m.safetensors"));
        port_gguf(&gguf);
        gguf.tensor[0].type = gguf.tensor[1].type = gguf.tensor[3].type = types[i];
        save_gguf(&gguf, "llama");
        ck_assert_msg(compare_paths(in("m.safetensors"), in("m.gguf"), NULL) == POSREF_OK,
                      "%s %s", name,
                      fixture.err.text);
        ck_assert_msg(wrong_count() == 0 && fixture.result.consistent, "%s: %s", name,
                      fixture.result.n_findings ? fixture.result.finding[0].summary : "");
        ck_assert_str_eq(fixture.result.kernel_pairing, "interleaved");
        const struct posref_weights_pair *q = pair_of(POSREF_ROLE_Q, POSREF_KIND_WEIGHT);
        ck_assert_int_eq(q->mapping, POSREF_MAPPING_HALF_TO_INTERLEAVED);
        ck_assert_str_eq(q->before->name.canonical, "model.layers.0.self_attn.q_proj.weight");
        ck_assert_str_eq(q->after->name.canonical, "model.layers.0.self_attn.q_proj.weight");
        ck_assert(types[i] != POSREF_STORED_Q4_K || (!q->exact && q->worst_error > 0.01));
        ck_assert_uint_eq(fixture.result.n_changed, 0);
        ck_assert_uint_eq(fixture.result.n_other_equal + fixture.result.n_other_within, 2);
        ck_assert_uint_eq(fixture.result.n_other_skipped, 0);
            made_clear(&hf);
        made_clear(&gguf);
    }
}
END_TEST

/* Within one quantised type rows are whole blocks: the match is byte for byte. */
START_TEST(within_one_quantised_type)
{
    struct made_model hf, gguf;
    make_both(&hf, &gguf);
    gguf.tensor[0].type = gguf.tensor[1].type = POSREF_STORED_Q4_K;
    save_gguf(&gguf, "llama");
    ck_assert_int_eq(rename(in("m.gguf"), in("before.gguf")), 0);
    port_gguf(&gguf);
    save_gguf(&gguf, "llama");
    const struct posref_weights_options half = {.order = POSREF_ORDER_HALF};
    ck_assert_int_eq(compare_paths(in("before.gguf"), in("m.gguf"), &half), POSREF_OK);
    ck_assert(pair_of(POSREF_ROLE_Q, POSREF_KIND_WEIGHT)->same_type);
    ck_assert_str_eq(fixture.result.kernel_pairing, "interleaved");
    ck_assert_int_eq(wrong_count(), 0);
    made_clear(&hf);
    made_clear(&gguf);
}
END_TEST

/* The permutation is found from the leading columns; the rest is verified. */
START_TEST(later_columns_count)
{
    struct made_model hf, gguf;
    make_both(&hf, &gguf);
    config(LLAMA);
    made_save_safetensors(&hf, in("m.safetensors"));
    port_gguf(&gguf);
    gguf.tensor[0].value[7 * HIDDEN + 300] += 40;
    gguf.tensor[3].value[7 * HIDDEN + 300] += 400;
    gguf.tensor[0].type = gguf.tensor[3].type = POSREF_STORED_Q8_0;
    save_gguf(&gguf, "llama");
    ck_assert_int_eq(compare_paths(in("m.safetensors"), in("m.gguf"), NULL), POSREF_OK);
    const struct posref_weights_pair *q = pair_of(POSREF_ROLE_Q, POSREF_KIND_WEIGHT);
    ck_assert_int_eq(q->mapping, POSREF_MAPPING_NONE);
    ck_assert_int_eq(q->first_bad_row, 7);
    ck_assert_ptr_nonnull(strstr(q->detail, "first 256 columns agree"));
    ck_assert_ptr_nonnull(finding_of("rows_unexplained"));
    ck_assert_uint_eq(fixture.result.n_changed, 1);
    made_clear(&hf);
    made_clear(&gguf);
}
END_TEST

/* Rows closer to each other than the type's limit: the closest permutation is still told apart. */
START_TEST(similar_rows)
{
    struct made_model hf, gguf;
    make_both(&hf, &gguf);
    for (int part = 0; part < 2; part++) {
        struct made_tensor *t = &hf.tensor[part];
        for (int64_t i = t->rows * HIDDEN - 1; i >= HIDDEN; i--)
            t->value[i] = t->value[i % HIDDEN] + t->value[i] / 10;
        memcpy(gguf.tensor[part].value, t->value, (size_t)(t->rows * HIDDEN) * sizeof *t->value);
        gguf.tensor[part].type = POSREF_STORED_Q4_K;
    }
    config(LLAMA);
    made_save_safetensors(&hf, in("m.safetensors"));
    port_gguf(&gguf);
    save_gguf(&gguf, "llama");
    ck_assert_int_eq(compare_paths(in("m.safetensors"), in("m.gguf"), NULL), POSREF_OK);
    const struct posref_weights_pair *k = pair_of(POSREF_ROLE_K, POSREF_KIND_WEIGHT);
    ck_assert_int_eq(k->mapping, POSREF_MAPPING_HALF_TO_INTERLEAVED);
    ck_assert(!posref_weights_fits(k, 0) && !posref_weights_fits(k, 2));
    ck_assert_int_eq(wrong_count(), 0);
    made_clear(&hf);
    made_clear(&gguf);
}
END_TEST

/* Leading columns that are 0 (pruned inputs) decide nothing: the later ones do. */
START_TEST(leading_columns_alike)
{
    struct made_model hf, gguf;
    make_both(&hf, &gguf);
    for (int part = 0; part < 2; part++) {
        struct made_tensor *t = &hf.tensor[part];
        for (int64_t i = 0; i < t->rows * HIDDEN; i++)
            t->value[i] = i % HIDDEN < 256 ? 0 : t->value[i];
        memcpy(gguf.tensor[part].value, t->value, (size_t)(t->rows * HIDDEN) * sizeof *t->value);
        gguf.tensor[part].type = POSREF_STORED_Q8_0;
    }
    config(LLAMA);
    made_save_safetensors(&hf, in("m.safetensors"));
    port_gguf(&gguf);
    save_gguf(&gguf, "llama");
    ck_assert_int_eq(compare_paths(in("m.safetensors"), in("m.gguf"), NULL), POSREF_OK);
    const struct posref_weights_pair *q = pair_of(POSREF_ROLE_Q, POSREF_KIND_WEIGHT);
    ck_assert_int_eq(q->mapping, POSREF_MAPPING_HALF_TO_INTERLEAVED);
    ck_assert(!posref_weights_fits(q, 0) && !q->uniform);
    ck_assert_int_eq(wrong_count(), 0);
    made_clear(&hf);
    made_clear(&gguf);
}
END_TEST

/* A row under the smallest float16 scale becomes 0 in a block type: no other row, no fault. */
START_TEST(rows_below_the_smallest_scale)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct made_model hf, gguf;
        make_both(&hf, &gguf);
        for (int64_t c = 0; c < HIDDEN; c++) {
            hf.tensor[0].value[5 * HIDDEN + c] *= 0x1p-26F;
            gguf.tensor[0].value[5 * HIDDEN + c] *= 0x1p-26F;
        }
        config(LLAMA);
        made_save_safetensors(&hf, in("m.safetensors"));
        port_gguf(&gguf);
        gguf.tensor[0].type = gguf.tensor[1].type = types[i];
        save_gguf(&gguf, "llama");
        ck_assert_int_eq(compare_paths(in("m.safetensors"), in("m.gguf"), NULL), POSREF_OK);
        ck_assert_msg(wrong_count() == 0, "%s: %s", posref_stored_def(types[i])->name,
                      fixture.result.n_findings ? fixture.result.finding[0].summary : "");
        made_clear(&hf);
        made_clear(&gguf);
    }
}
END_TEST

/* What is not finite is equal to itself across types, and to nothing else. */
START_TEST(values_that_are_not_finite)
{
    static const float values[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 6; i++) {
        struct made_model hf, gguf;
        make_both(&hf, &gguf);
        for (int part = 0; part < 4; part += 3) {
            hf.tensor[part].value[300] = hf.tensor[part].value[7] = values[i % 3];
            gguf.tensor[part].value[300] = i < 3 ? values[i % 3] : 1;
            gguf.tensor[part].value[7] = values[i % 3];
        }
        config(LLAMA);
        made_save_safetensors(&hf, in("m.safetensors"));
        port_gguf(&gguf);
        gguf.tensor[0].type = gguf.tensor[3].type = POSREF_STORED_BF16;
        save_gguf(&gguf, "llama");
        ck_assert_int_eq(compare_paths(in("m.safetensors"), in("m.gguf"), NULL), POSREF_OK);
        ck_assert_int_eq(wrong_count(), i < 3 ? 0 : 1);
        ck_assert_uint_eq(fixture.result.n_changed, i < 3 ? 0 : 1);
        ck_assert(i < 3 || finding_of("rows_unexplained"));
        made_clear(&hf);
        made_clear(&gguf);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("weights_types");
    TCase *cases = tcase_create("all");
    tcase_add_checked_fixture(cases, fixture_setup, fixture_teardown);
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, gguf_of_every_type);
    tcase_add_test(cases, within_one_quantised_type);
    tcase_add_test(cases, later_columns_count);
    tcase_add_test(cases, similar_rows);
    tcase_add_test(cases, leading_columns_alike);
    tcase_add_test(cases, rows_below_the_smallest_scale);
    tcase_add_test(cases, values_that_are_not_finite);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
