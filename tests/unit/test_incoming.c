/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies as they arrive: the limit of one, the limit of all, and the count of what is held. */
#include "server/incoming.h"
#include "tests/unit/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static char piece[1 << 16];

START_TEST(one_body_is_limited)
{
    atomic_size_t kept = 0;
    struct posref_incoming *in = NULL;
    ck_assert(posref_incoming_begin(&in, "/"));
    size_t n = 0;
    while (n + sizeof piece <= POSREF_MAX_BODY_BYTES) {
        ck_assert(posref_incoming_body(in, piece, sizeof piece, &kept));
        n += sizeof piece;
        ck_assert_uint_eq(in->body.length, n);
        ck_assert_uint_eq(atomic_load(&kept), n);
    }
    ck_assert(!in->body_too_large);
    ck_assert(posref_incoming_body(in, piece, 1, &kept));
    ck_assert(in->body_too_large);
    ck_assert_uint_eq(atomic_load(&kept), 0);
    ck_assert_ptr_null(in->body.data);
    /* The rest is dropped, to an end. */
    size_t dropped = 1;
    while (posref_incoming_body(in, piece, sizeof piece, &kept))
        dropped += sizeof piece;
    ck_assert_uint_le(dropped, POSREF_MAX_DROPPED_BYTES);
    ck_assert_uint_gt(dropped + sizeof piece, POSREF_MAX_DROPPED_BYTES);
    posref_incoming_end(in, &kept);
    posref_incoming_free(in);
    ck_assert_uint_eq(atomic_load(&kept), 0);
}
END_TEST

START_TEST(all_bodies_are_limited)
{
    atomic_size_t kept = POSREF_MAX_KEPT_BYTES - 10;
    struct posref_incoming *a = NULL, *b = NULL;
    ck_assert(posref_incoming_begin(&a, "/") && posref_incoming_begin(&b, "/"));
    ck_assert(posref_incoming_body(a, piece, 10, &kept));
    ck_assert(!a->refused);
    ck_assert(posref_incoming_body(b, piece, 1, &kept));
    ck_assert(b->refused);
    ck_assert_int_eq(b->refusal.kind, POSREF_PROBLEM_UNAVAILABLE);
    posref_incoming_end(b, &kept);
    ck_assert_uint_eq(atomic_load(&kept), POSREF_MAX_KEPT_BYTES);
    posref_incoming_end(a, &kept);
    ck_assert_uint_eq(atomic_load(&kept), POSREF_MAX_KEPT_BYTES - 10);
    posref_incoming_free(a);
    posref_incoming_free(b);
    posref_incoming_end(NULL, &kept);
    posref_incoming_free(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("incoming");
    TCase *tests = tcase_create("incoming");
    tcase_add_test(tests, one_body_is_limited);
    tcase_add_test(tests, all_bodies_are_limited);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
