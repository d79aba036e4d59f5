/* SPDX-License-Identifier: Apache-2.0 */
/* The growable buffer: its maximum holds whatever its capacity, and a failure sticks. */
#include "tests/unit/suite.h"
#include "vectors/vectors.h"

#include <check.h>
#include <string.h>

START_TEST(maximum_is_exact)
{
    static const size_t maxima[] = {1, 2, 255, 256, 257, 1000, 65536};
    for (size_t i = 0; i < sizeof maxima / sizeof *maxima; i++) {
        struct posref_buffer buffer;
        posref_buffer_init(&buffer, maxima[i]);
        for (size_t n = 0; n < maxima[i]; n++)
            posref_buffer_add(&buffer, "x", 1);
        ck_assert(!buffer.failed);
        ck_assert_uint_eq(buffer.length, maxima[i]);
        ck_assert_uint_eq(strlen(buffer.data), maxima[i]);
        posref_buffer_add(&buffer, "y", 1);
        ck_assert_msg(buffer.failed, "%zu bytes and one more", maxima[i]);
        posref_buffer_clear(&buffer);
    }
}
END_TEST

START_TEST(failure_sticks_and_keeps_what_was_there)
{
    struct posref_buffer buffer;
    posref_buffer_init(&buffer, 10);
    posref_buffer_text(&buffer, "abc");
    posref_buffer_text(&buffer, "12345678");
    posref_buffer_text(&buffer, "d");
    ck_assert(buffer.failed);
    ck_assert_str_eq(buffer.data, "abc");
    posref_buffer_clear(&buffer);
    ck_assert(!buffer.failed);
    ck_assert_uint_eq(buffer.max_bytes, 10);
}
END_TEST

/* Formatted text of any length fits exactly or fails, and then leaves what was there. */
START_TEST(formatted_text)
{
    for (int n = 0; n < 600; n++) {
        struct posref_buffer buffer;
        posref_buffer_init(&buffer, 600);
        posref_buffer_text(&buffer, "abc");
        posref_buffer_printf(&buffer, "%0*d|%s", n + 1, 7, "end");
        ck_assert_int_eq(buffer.failed, 3 + n + 1 + 4 > 600 - 1);
        ck_assert_uint_eq(buffer.length, buffer.failed ? 3 : (size_t)(3 + n + 1 + 4));
        ck_assert_uint_eq(strlen(buffer.data), buffer.length);
        ck_assert_str_eq(buffer.data + buffer.length - 3, buffer.failed ? "abc" : "end");
        posref_buffer_clear(&buffer);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("buffer");
    TCase *tests = tcase_create("buffer");
    tcase_add_test(tests, maximum_is_exact);
    tcase_add_test(tests, failure_sticks_and_keeps_what_was_there);
    tcase_add_test(tests, formatted_text);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
