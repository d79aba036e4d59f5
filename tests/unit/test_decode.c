/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding of stored elements: float16 on all patterns, quantised blocks within half a step of
 * what was encoded, 8-bit floats at their corners. */
#include "tests/unit/made_model.h"
#include "tests/unit/suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

START_TEST(float16_and_bfloat16_on_all_patterns)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        unsigned char bytes[2] = {(unsigned char)bits, (unsigned char)(bits >> 8)};
        float half, brain;
        posref_decode(&half, POSREF_STORED_F16, bytes, 1);
        posref_decode(&brain, POSREF_STORED_BF16, bytes, 1);
        double want_half = posref_widen(bits, POSREF_F16);
        double want_brain = posref_widen(bits, POSREF_BF16);
        if (isnan(want_half))
            ck_assert(isnan(half));
        else
            ck_assert_msg((double)half == want_half && !signbit(half) == !signbit(want_half),
                          "%04x: %a", bits, (double)half);
        if (isnan(want_brain))
            ck_assert(isnan(brain));
        else
            ck_assert((double)brain == want_brain);
    }
}
END_TEST

/* Largest error of a block's elements over its largest magnitude, by plain rounding. */
static const struct { enum posref_stored_type type; double limit; } blocks[] = {
    {POSREF_STORED_Q8_0, 0.0045}, {POSREF_STORED_Q4_0, 0.075}, {POSREF_STORED_Q5_0, 0.035},
    {POSREF_STORED_Q4_1, 0.07}, {POSREF_STORED_Q5_1, 0.034}, {POSREF_STORED_Q6_K, 0.02},
    {POSREF_STORED_Q5_K, 0.045}, {POSREF_STORED_Q4_K, 0.085}, {POSREF_STORED_Q3_K, 0.19},
    {POSREF_STORED_Q2_K, 0.5},
};

START_TEST(blocks_come_back_within_their_step)
{
    struct made_model model;
    made_init(&model, 7);
    const struct made_tensor *t = made_add(&model, "t", 16, 256);
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
        const struct posref_stored_def *def = posref_stored_def(blocks[b].type);
        size_t size = (size_t)(16 * 256 / def->block_elements * def->block_bytes);
        unsigned char *bytes = malloc(size);
        float back[16 * 256];
        double worst = 0;
        made_encode(bytes, blocks[b].type, t->value, 16 * 256);
        posref_decode(back, blocks[b].type, bytes, 16 * 256);
        for (int row = 0; row < 16; row++) {
            double largest = 0;
            for (int e = 0; e < 256; e++)
                largest = fmax(largest, fabs((double)t->value[256 * row + e]));
            for (int e = 0; e < 256; e++)
                worst = fmax(worst, fabs((double)back[256 * row + e] -
                                         (double)t->value[256 * row + e]) / largest);
        }
        ck_assert_msg(worst <= blocks[b].limit && worst > blocks[b].limit / 8, "%s: %g",
                      def->name, worst);
        free(bytes);
    }
    made_clear(&model);
}
END_TEST

START_TEST(eight_bit_floats)
{
    static const struct {
        enum posref_stored_type type;
        unsigned char bits;
        double value;
    } known[] =
        {{POSREF_STORED_F8_E4M3, 0x00, 0}, {POSREF_STORED_F8_E4M3, 0x38, 1},
         {POSREF_STORED_F8_E4M3, 0x7E, 448}, {POSREF_STORED_F8_E4M3, 0xFE, -448},
         {POSREF_STORED_F8_E4M3, 0x01, 0x1p-9}, {POSREF_STORED_F8_E4M3, 0x08, 0x1p-6},
         {POSREF_STORED_F8_E5M2, 0x3C, 1}, {POSREF_STORED_F8_E5M2, 0x7B, 57344},
         {POSREF_STORED_F8_E5M2, 0x01, 0x1p-16}, {POSREF_STORED_I8, 0xFF, -1},
         {POSREF_STORED_U8, 0xFF, 255}};
    float value;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        posref_decode(&value, known[i].type, &known[i].bits, 1);
        ck_assert_msg((double)value == known[i].value, "%zu: %g", i, (double)value);
    }
    posref_decode(&value, POSREF_STORED_F8_E4M3, (const unsigned char *)"\x7F", 1);
    ck_assert(isnan(value));
    posref_decode(&value, POSREF_STORED_F8_E5M2, (const unsigned char *)"\x7C", 1);
    ck_assert(isinf(value));
}
END_TEST

START_TEST(what_cannot_be_decoded_is_said)
{
    ck_assert(!posref_decode_knows(POSREF_STORED_OTHER_BLOCKS));
    ck_assert(!posref_decode_knows(POSREF_STORED_F4));
    ck_assert(posref_decode_knows(POSREF_STORED_Q4_K));
    ck_assert(posref_decode_knows(POSREF_STORED_F64));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, float16_and_bfloat16_on_all_patterns);
    tcase_add_test(cases, blocks_come_back_within_their_step);
    tcase_add_test(cases, eight_bit_floats);
    tcase_add_test(cases, what_cannot_be_decoded_is_said);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
