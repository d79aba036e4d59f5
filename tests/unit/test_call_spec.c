/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin is told: a spec's text, with a scaling that older plugins do not claim. */
#include "harness/call_spec.h"
#include "suite.h"

#include <string.h>

#define YARN "dim=8 scaling=yarn factor=4 original_max_position_embeddings=64 "

static const struct {
    const char *spec, *scaling; /* NULL: the text is that of the spec */
} rows[] = {
    {"dim=8", NULL},
    {"dim=8 scaling=linear factor=2", NULL},
    {YARN, NULL},
    {YARN "mscale_rule=both range_rule=clamped attention_factor_rule=replaces", NULL},
    {"scheme=alibi num_heads=8", NULL},
    {"dim=8 xpos_scale_base=512", " scaling=none+xpos_scale_base"},
    {"dim=8 xpos_scale_base=512 xpos_side=key", " scaling=none+xpos_scale_base"},
    {YARN "mscale_rule=ratio", " scaling=yarn+mscale_rule "},
    {YARN "range_rule=half mscale_rule=both", " scaling=yarn+range_rule "},
    {YARN "attention_factor=2 attention_factor_rule=ignored mscale_rule=none",
     " scaling=yarn+mscale_rule+attention_factor_rule "},
};

START_TEST(names_what_older_plugins_cannot_know)
{
    struct posref_heap *heap = posref_heap_new(0);
    const struct posref_arena arena = posref_heap_arena(heap);
    struct posref_spec spec;
    struct posref_error err;
    struct posref_buffer text;
    posref_buffer_init(&text, 4096);
    ck_assert_int_eq(posref_spec_parse(&spec, rows[_i].spec, &err), POSREF_OK);
    ck_assert_int_eq(posref_spec_complete(&spec, &err), POSREF_OK);
    posref_spec_text(&text, &spec);
    posref_buffer_add(&text, "", 1);
    const char *call = posref_call_spec(&spec, &arena);
    ck_assert_ptr_nonnull(call);
    if (rows[_i].scaling) {
        const char *at = strstr(call, rows[_i].scaling);
        ck_assert_msg(at, "%s", call);
        /* Nothing else differs: the part from + to the next space is what was added. */
        const char *plus = strchr(at, '+');
        const size_t before = (size_t)(plus - call), added = strcspn(plus, " ");
        ck_assert_int_eq(strncmp(call, text.data, before), 0);
        ck_assert_str_eq(plus + added, text.data + before);
    } else {
        ck_assert_str_eq(call, text.data);
    }
    posref_buffer_clear(&text);
    posref_heap_free(heap);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("call_spec");
    TCase *tests = tcase_create("call_spec");
    tcase_set_timeout(tests, 0);
    tcase_add_loop_test(tests, names_what_older_plugins_cannot_know, 0,
                        (int)(sizeof rows / sizeof *rows));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
