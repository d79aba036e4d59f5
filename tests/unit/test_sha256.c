/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 against the examples of FIPS 180-4 / NIST's CAVP, whole and in uneven pieces. */
#include "tests/unit/suite.h"
#include "vectors/sha256.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void check_digest(const void *data, size_t size, const char *want)
{
    char got[65];
    posref_sha256_hex(got, data, size);
    ck_assert_str_eq(got, want);
    for (size_t step = 1; step <= 130; step += 43) {
        struct posref_sha256 sha;
        posref_sha256_init(&sha);
        sha.fast = sha.fast && step > 100; /* both ways */
        for (size_t at = 0; at < size; at += step)
            posref_sha256_add(&sha, (const char *)data + at, size - at < step ? size - at : step);
        posref_sha256_finish(got, &sha);
        ck_assert_str_eq(got, want);
    }
}

START_TEST(published_examples)
{
    check_digest("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_digest("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
                 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_digest("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
                 "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
                 112, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    check_digest("\xd3", 1, "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1");
    check_digest("\x11\xaf", 2, "5ca7133fa735326081558ac312c620eeca9970d1e70a4b95533d956f072d1f98");
    check_digest("\x74\xba\x25\x21", 4,
                 "b16aa56be3880d18cd41e68384cf1ec8c17680c45a02b1575dc1518923ae8b0e");
}
END_TEST

START_TEST(million_a)
{
    char *data = malloc(1000000);
    memset(data, 'a', 1000000);
    check_digest(data, 1000000,
                 "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sha256");
    TCase *tests = tcase_create("sha256");
    tcase_add_test(tests, published_examples);
    tcase_add_test(tests, million_a);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
