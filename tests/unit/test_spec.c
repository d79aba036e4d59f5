/* SPDX-License-Identifier: Apache-2.0 */
/* The table of spec fields, defaults, and every refusal of posref_spec_complete. */
#include "spec_build.h"
#include "tests/unit/suite.h"

#include <check.h>
#include <math.h>
#include <string.h>

#define MAX_PUTS 8

struct put {
    enum posref_field field;
    double value;
};

static struct posref_spec build(const struct put *puts)
{
    struct posref_spec spec;
    posref_spec_init(&spec);
    for (int k = 0; k < MAX_PUTS && (puts[k].field || puts[k].value != 0); k++)
        spec_put(&spec, puts[k].field, puts[k].value);
    return spec;
}

START_TEST(field_table_is_whole)
{
    for (int field = 0; field < POSREF_N_FIELDS; field++) {
        const struct posref_field_def *def = posref_field_def((enum posref_field)field);
        ck_assert_ptr_nonnull(def->name);
        ck_assert_ptr_nonnull(def->meaning);
        ck_assert_ptr_nonnull(def->unit);
        ck_assert_int_eq(posref_field_find(def->name), field);
        if (def->type == POSREF_TYPE_CHOICE)
            ck_assert_ptr_nonnull(def->choices);
        else if (def->type != POSREF_TYPE_BOOL)
            ck_assert_msg(def->min < def->max, "%s", def->name);
    }
    ck_assert_int_eq(posref_field_find("rope_theta"), -1);
}
END_TEST

START_TEST(defaults_of_rope)
{
    struct posref_spec spec = build((struct put[MAX_PUTS]){{POSREF_FIELD_DIM, 128}});
    ck_assert_int_eq(posref_spec_complete(&spec, NULL), POSREF_OK);
    ck_assert_int_eq(spec.scheme, POSREF_SCHEME_ROPE);
    ck_assert_double_eq(spec.base, 10000);
    ck_assert_int_eq(spec.rotary_dim, 128);
    ck_assert_int_eq(spec.pairing, POSREF_PAIRING_HALF);
    ck_assert_int_eq(spec.direction, POSREF_DIRECTION_FORWARD);
    ck_assert_int_eq(spec.scaling, POSREF_SCALING_NONE);
    for (int field = 0; field < POSREF_N_FIELDS; field++) {
        if (field == POSREF_FIELD_PARTIAL_ROTARY_FACTOR || /* for partial=proportional alone */
            field == POSREF_FIELD_TABLE_LAYOUT || field == POSREF_FIELD_ATTENTION_KIND ||
            (field >= POSREF_FIELD_AXES_DIMS && field <= POSREF_FIELD_MROPE_ORDER) ||
            (field >= POSREF_FIELD_XPOS_SCALE_BASE && field <= POSREF_FIELD_XPOS_SIDE) ||
            (field >= POSREF_FIELD_CAUSAL && field <= POSREF_FIELD_TEMPERATURE_OFFSET))
            continue; /* optional */
        ck_assert_msg(spec.given[field] == posref_field_applies(&spec, (enum posref_field)field),
                      "%s", posref_field_def((enum posref_field)field)->name);
    }
    struct posref_spec again = spec;
    ck_assert_int_eq(posref_spec_complete(&again, NULL), POSREF_OK);
    ck_assert_mem_eq(&again, &spec, sizeof spec);
}
END_TEST

START_TEST(defaults_of_yarn)
{
    struct posref_spec spec = build((struct put[MAX_PUTS]){
        {POSREF_FIELD_DIM, 64}, {POSREF_FIELD_SCALING, POSREF_SCALING_YARN},
        {POSREF_FIELD_FACTOR, 40}, {POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS, 4096}});
    ck_assert_int_eq(posref_spec_complete(&spec, NULL), POSREF_OK);
    ck_assert_double_eq(spec.beta_fast, 32);
    ck_assert_double_eq(spec.beta_slow, 1);
    ck_assert(spec.truncate);
    ck_assert(!spec.given[POSREF_FIELD_MSCALE]);
    ck_assert(!spec.given[POSREF_FIELD_MSCALE_ALL_DIM]);
    ck_assert(!spec.given[POSREF_FIELD_ATTENTION_FACTOR]);
    ck_assert(!spec.given[POSREF_FIELD_LOW_FREQ_FACTOR]);
}
END_TEST

START_TEST(defaults_of_llama3_sinusoidal_and_alibi)
{
    struct posref_spec spec = build((struct put[MAX_PUTS]){
        {POSREF_FIELD_DIM, 128}, {POSREF_FIELD_SCALING, POSREF_SCALING_LLAMA3},
        {POSREF_FIELD_FACTOR, 8}, {POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS, 8192}});
    ck_assert_int_eq(posref_spec_complete(&spec, NULL), POSREF_OK);
    ck_assert_double_eq(spec.low_freq_factor, 1);
    ck_assert_double_eq(spec.high_freq_factor, 4);
    spec = build((struct put[MAX_PUTS]){{POSREF_FIELD_SCHEME, POSREF_SCHEME_SINUSOIDAL},
                                        {POSREF_FIELD_DIM, 8}});
    ck_assert_int_eq(posref_spec_complete(&spec, NULL), POSREF_OK);
    ck_assert_double_eq(spec.base, 10000);
    ck_assert_int_eq(spec.order, POSREF_ORDER_INTERLEAVED);
    ck_assert_int_eq(spec.exponent, POSREF_EXPONENT_D);
    ck_assert(!spec.given[POSREF_FIELD_ROTARY_DIM]);
    spec = build((struct put[MAX_PUTS]){{POSREF_FIELD_SCHEME, POSREF_SCHEME_ALIBI},
                                        {POSREF_FIELD_NUM_HEADS, 12}});
    ck_assert_int_eq(posref_spec_complete(&spec, NULL), POSREF_OK);
    ck_assert_double_eq(spec.alibi_bias_max, 8);
    ck_assert_int_eq(spec.form, POSREF_ALIBI_DISTANCE);
    ck_assert(!spec.given[POSREF_FIELD_DIM] && !spec.given[POSREF_FIELD_BASE]);
}
END_TEST

#define DIM POSREF_FIELD_DIM
#define SCALING POSREF_FIELD_SCALING
#define FACTOR POSREF_FIELD_FACTOR
#define LENGTH POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS
#define SCHEME POSREF_FIELD_SCHEME

static const struct {
    struct put puts[MAX_PUTS];
    const char *key;
    const char *text; /* a part of the message */
} refused[] = {
    {{{SCHEME, 77}}, "scheme", "choice"},
    {{{0, 0}}, "dim", "required by scheme=rope"},
    {{{DIM, 7}}, "dim", "even"},
    {{{DIM, 0}}, "dim", "[2, 16384]"},
    {{{DIM, -4}}, "dim", "got -4"},
    {{{DIM, POSREF_MAX_DIM + 2}}, "dim", "[2, 16384]"},
    {{{DIM, 8}, {POSREF_FIELD_ROTARY_DIM, 3}}, "rotary_dim", "even"},
    {{{DIM, 8}, {POSREF_FIELD_ROTARY_DIM, 10}}, "rotary_dim", "at most dim=8"},
    {{{DIM, 8}, {POSREF_FIELD_ROTARY_DIM, 0}}, "rotary_dim", "[2, "},
    {{{DIM, 8}, {POSREF_FIELD_BASE, 1}}, "base", "(1, 1000000000000]"},
    {{{DIM, 8}, {POSREF_FIELD_BASE, 1.0001e12}}, "base", "(1, "},
    {{{DIM, 8}, {POSREF_FIELD_BASE, -10000}}, "base", "(1, "},
    {{{DIM, 8}, {POSREF_FIELD_BASE, (double)NAN}}, "base", "(1, "},
    {{{DIM, 8}, {POSREF_FIELD_PAIRING, 9}}, "pairing", "choice"},
    {{{DIM, 8}, {SCALING, 99}}, "scaling", "choice"},
    {{{DIM, 8}, {FACTOR, 2}}, "factor", "scaling=none takes no factor"},
    {{{DIM, 8}, {POSREF_FIELD_NUM_HEADS, 2}}, "num_heads", "scheme=rope takes no num_heads"},
    {{{DIM, 8}, {SCALING, POSREF_SCALING_LINEAR}}, "factor", "required by scaling=linear"},
    {{{DIM, 8}, {SCALING, POSREF_SCALING_LINEAR}, {FACTOR, -1}}, "factor", "got -1"},
    {{{DIM, 8}, {SCALING, POSREF_SCALING_LINEAR}, {FACTOR, 2}, {POSREF_FIELD_BETA_FAST, 3}},
     "beta_fast", "scaling=linear takes no beta_fast"},
    {{{DIM, 2}, {SCALING, POSREF_SCALING_NTK}, {FACTOR, 2}}, "scaling", "rotary_dim >= 4"},
    {{{DIM, 8}, {SCALING, POSREF_SCALING_NTK}, {FACTOR, 2}, {POSREF_FIELD_ROTARY_DIM, 2}},
     "scaling", "rotary_dim >= 4"},
    {{{DIM, 8}, {SCALING, POSREF_SCALING_YARN}, {FACTOR, 2}},
     "original_max_position_embeddings", "required by scaling=yarn"},
    {{{DIM, 8}, {SCALING, POSREF_SCALING_YARN}, {FACTOR, 2}, {LENGTH, 4096},
      {POSREF_FIELD_BETA_FAST, 1}, {POSREF_FIELD_BETA_SLOW, 2}}, "beta_fast", "beta_slow=2"},
    {{{DIM, 8}, {SCALING, POSREF_SCALING_YARN}, {FACTOR, 2}, {LENGTH, 4096},
      {POSREF_FIELD_BETA_SLOW, -1}}, "beta_slow", "got -1"},
    {{{DIM, 8}, {SCALING, POSREF_SCALING_YARN}, {FACTOR, 2}, {LENGTH, 4096},
      {POSREF_FIELD_ATTENTION_FACTOR, -1}}, "attention_factor", "got -1"},
    {{{DIM, 8}, {SCALING, POSREF_SCALING_YARN}, {FACTOR, 2}, {LENGTH, 4096},
      {POSREF_FIELD_LOW_FREQ_FACTOR, 1}}, "low_freq_factor", "scaling=yarn takes no"},
    {{{DIM, 8}, {SCALING, POSREF_SCALING_LLAMA3}, {FACTOR, 2}, {LENGTH, 4096},
      {POSREF_FIELD_LOW_FREQ_FACTOR, 4}, {POSREF_FIELD_HIGH_FREQ_FACTOR, 1}},
     "high_freq_factor", "low_freq_factor=4"},
    {{{DIM, 8}, {SCALING, POSREF_SCALING_LLAMA3}, {FACTOR, 2}, {LENGTH, -1}},
     "original_max_position_embeddings", "got -1"},
    {{{SCHEME, POSREF_SCHEME_SINUSOIDAL}}, "dim", "required by scheme=sinusoidal"},
    {{{SCHEME, POSREF_SCHEME_SINUSOIDAL}, {DIM, 5}}, "dim", "odd_dim=zero_column"},
    {{{SCHEME, POSREF_SCHEME_SINUSOIDAL}, {DIM, 8}, {SCALING, 0.5}}, "scaling",
     "scheme=sinusoidal takes no scaling"},
    {{{SCHEME, POSREF_SCHEME_SINUSOIDAL}, {DIM, 8}, {POSREF_FIELD_PAIRING, 1}}, "pairing",
     "scheme=sinusoidal takes no pairing"},
    {{{SCHEME, POSREF_SCHEME_SINUSOIDAL}, {DIM, 2}, {POSREF_FIELD_EXPONENT, 1}}, "exponent",
     "dim >= 4"},
    {{{SCHEME, POSREF_SCHEME_ALIBI}}, "num_heads", "required by scheme=alibi"},
    {{{SCHEME, POSREF_SCHEME_ALIBI}, {POSREF_FIELD_NUM_HEADS, 1025}}, "num_heads", "[1, 1024]"},
    {{{SCHEME, POSREF_SCHEME_ALIBI}, {POSREF_FIELD_NUM_HEADS, 8},
      {POSREF_FIELD_ALIBI_BIAS_MAX, -8}}, "alibi_bias_max", "(0, 256]"},
    {{{SCHEME, POSREF_SCHEME_ALIBI}, {POSREF_FIELD_NUM_HEADS, 8}, {DIM, 64}}, "dim",
     "scheme=alibi takes no dim"},
    {{{SCHEME, POSREF_SCHEME_ALIBI}, {POSREF_FIELD_NUM_HEADS, 8}, {FACTOR, 2}}, "factor",
     "scheme=alibi takes no factor"},
};

START_TEST(refusals_name_the_key)
{
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        struct posref_spec spec = build(refused[k].puts), before = spec;
        struct posref_error err = {"", ""};
        ck_assert_msg(posref_spec_complete(&spec, &err) == POSREF_BAD_INPUT, "case %zu", k);
        ck_assert_msg(strcmp(err.key, refused[k].key) == 0, "case %zu: key %s: %s", k, err.key,
                      err.text);
        ck_assert_msg(strstr(err.text, refused[k].text) != NULL, "case %zu: %s", k, err.text);
        ck_assert_mem_eq(&spec, &before, sizeof spec);
    }
}
END_TEST

START_TEST(edges_are_allowed)
{
    static const struct put edges[][MAX_PUTS] = {
        {{DIM, 2}},
        {{DIM, POSREF_MAX_DIM}, {POSREF_FIELD_BASE, 1e12}},
        {{DIM, 4}, {POSREF_FIELD_BASE, 0x1.0000000000001p0}},
        {{DIM, 8}, {POSREF_FIELD_ROTARY_DIM, 2}, {SCALING, POSREF_SCALING_LINEAR}, {FACTOR, 1}},
        {{DIM, 8}, {SCALING, POSREF_SCALING_LLAMA3}, {FACTOR, 16}, {LENGTH, 8192},
         {POSREF_FIELD_LOW_FREQ_FACTOR, 1}, {POSREF_FIELD_HIGH_FREQ_FACTOR, 1}},
    };
    for (size_t k = 0; k < sizeof edges / sizeof *edges; k++) {
        struct posref_spec spec = build(edges[k]);
        struct posref_error err = {"", ""};
        ck_assert_msg(posref_spec_complete(&spec, &err) == POSREF_OK, "%s: %s", err.key, err.text);
    }
}
END_TEST

START_TEST(ops_and_dtypes_by_name)
{
    for (int op = 0; op < POSREF_N_OPS; op++)
        ck_assert_int_eq(posref_op_find(posref_op_name((enum posref_op)op)), op);
    ck_assert_int_eq(posref_op_find("attend"), -1);
    for (int dtype = 0; dtype < POSREF_N_DTYPES; dtype++)
        ck_assert_int_eq(posref_dtype_find(posref_dtype_name((enum posref_dtype)dtype)), dtype);
    ck_assert_int_eq(posref_dtype_find("fp8"), -1);
    ck_assert_uint_eq(posref_dtype_size(POSREF_BF16), 2);
    struct posref_spec spec = build((struct put[MAX_PUTS]){{DIM, 8}});
    ck_assert(posref_op_applies(POSREF_OP_ROTATE, &spec));
    ck_assert(posref_op_applies(POSREF_OP_ALL, &spec));
    ck_assert(!posref_op_applies(POSREF_OP_BIAS, &spec));
    for (int scheme = 0; scheme < POSREF_N_SCHEMES; scheme++)
        ck_assert_str_eq(posref_scheme_info((enum posref_scheme)scheme)->name,
                         posref_field_def(SCHEME)->choices[scheme]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spec");
    TCase *tcase = tcase_create("spec");
    tcase_add_test(tcase, field_table_is_whole);
    tcase_add_test(tcase, defaults_of_rope);
    tcase_add_test(tcase, defaults_of_yarn);
    tcase_add_test(tcase, defaults_of_llama3_sinusoidal_and_alibi);
    tcase_add_test(tcase, refusals_name_the_key);
    tcase_add_test(tcase, edges_are_allowed);
    tcase_add_test(tcase, ops_and_dtypes_by_name);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
