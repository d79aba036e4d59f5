/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that lie ready: what their key is made of, entity tags, and the bounds. Without a
 * connection nothing is queued, but what would be is told. */
#include "server/ready.h"
#include "tests/unit/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct posref_http_request request(const char *target)
{
    return (struct posref_http_request){.method = "GET", .target = target};
}

/* Adds an answer of `size_bytes` to the target. */
static void add(struct posref_ready *ready, const char *target, size_t size_bytes)
{
    struct posref_http_request http = request(target);
    struct posref_reply reply;
    posref_reply_init(&reply);
    reply.caching = POSREF_CACHE_SHORT;
    ck_assert(posref_buffer_reserve(&reply.body, size_bytes));
    memset(reply.body.data, 'a', size_bytes);
    reply.body.length = size_bytes;
    memset(reply.sha256, 'b', 64);
    posref_ready_add(ready, &http, 7, &reply, 3);
    posref_reply_clear(&reply);
}

static bool is_there(struct posref_ready *ready, const char *target)
{
    struct posref_http_request http = request(target);
    struct posref_ready_sent sent;
    return posref_ready_send(ready, &sent, NULL, &http, 7);
}

START_TEST(keys)
{
    struct posref_ready *ready = posref_ready_new();
    struct posref_ready_sent sent;
    ck_assert(!is_there(ready, "/a"));
    add(ready, "/a", 1000);
    static const struct {
        const char *target, *accept, *accept_encoding, *method;
        uint64_t generation;
        bool there;
    } cases[] = {
        {"/a", NULL, NULL, "GET", 7, true},  {"/a", NULL, NULL, "HEAD", 7, true},
        {"/a", NULL, NULL, "POST", 7, false}, {"/a", NULL, NULL, "OPTIONS", 7, false},
        {"/b", NULL, NULL, "GET", 7, false},  {"/a?", NULL, NULL, "GET", 7, false},
        {"/a", "", NULL, "GET", 7, false},    {"/a", NULL, "", "GET", 7, false},
        {"/a", NULL, "gzip", "GET", 7, false}, {"/a", "gzip", NULL, "GET", 7, false},
        {"/a", NULL, NULL, "GET", 6, false},  {"/a", NULL, NULL, "GET", 8, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct posref_http_request http = {
            .target = cases[i].target, .accept = cases[i].accept, .method = cases[i].method,
            .accept_encoding = cases[i].accept_encoding};
        bool there = posref_ready_send(ready, &sent, NULL, &http, cases[i].generation);
        ck_assert_msg(there == cases[i].there, "case %zu", i);
        if (!there)
            continue;
        ck_assert_uint_eq(sent.status, 200);
        ck_assert_uint_eq(sent.body_bytes, 1000);
        ck_assert_int_eq(sent.route, 3);
    }
    posref_ready_free(ready);
}
END_TEST

START_TEST(conditional)
{
    struct posref_ready *ready = posref_ready_new();
    struct posref_http_request http = request("/a");
    struct posref_ready_sent sent;
    char etag[POSREF_ETAG_SIZE], sha256[65];
    add(ready, "/a", 2000);
    memset(sha256, 'b', 64);
    sha256[64] = '\0';
    for (int gzip = 0; gzip < 2; gzip++) {
        posref_etag(etag, sha256, gzip);
        http.if_none_match = etag;
        ck_assert(posref_ready_send(ready, &sent, NULL, &http, 7));
        ck_assert_uint_eq(sent.status, gzip ? 200 : 304);
        ck_assert_uint_eq(sent.body_bytes, gzip ? 2000 : 0);
    }
    posref_ready_free(ready);
}
END_TEST

START_TEST(notes)
{
    struct posref_ready *ready = posref_ready_new();
    struct posref_http_request a = request("/a"), b = request("/b");
    ck_assert(!posref_ready_note(ready, &a));
    ck_assert(!posref_ready_note(ready, &b));
    ck_assert(posref_ready_note(ready, &a));
    a.accept_encoding = "gzip";
    ck_assert(!posref_ready_note(ready, &a));
    posref_ready_free(ready);
}
END_TEST

START_TEST(at_most_so_many)
{
    struct posref_ready *ready = posref_ready_new();
    char target[32];
    int n = 0, last = 0;
    add(ready, "/kept", 10);
    for (int i = 0; i < 3 * POSREF_READY_ANSWERS; i++) {
        snprintf(target, sizeof target, "/%d", i);
        add(ready, target, 10);
        ck_assert_msg(is_there(ready, target), "%s was not added", target);
        ck_assert_msg(is_there(ready, "/kept"), "/kept gave way to %s", target);
    }
    for (int i = 0; i < 3 * POSREF_READY_ANSWERS; i++) {
        snprintf(target, sizeof target, "/%d", i);
        n += is_there(ready, target);
        last += i >= 3 * POSREF_READY_ANSWERS - 1000 && is_there(ready, target);
    }
    ck_assert_int_le(n, POSREF_READY_ANSWERS);
    ck_assert_int_ge(n, POSREF_READY_ANSWERS * 9 / 10);
    ck_assert_int_eq(last, 1000); /* the oldest have given way */
    posref_ready_free(ready);
}
END_TEST

START_TEST(at_most_so_large)
{
    struct posref_ready *ready = posref_ready_new();
    char target[1200];
    size_t n = 0, mib = (size_t)1 << 20;
    for (int i = 0; i < 200; i++) {
        snprintf(target, sizeof target, "/%d", i);
        add(ready, target, mib);
        ck_assert(is_there(ready, target));
    }
    for (int i = 0; i < 200; i++) {
        snprintf(target, sizeof target, "/%d", i);
        n += is_there(ready, target);
    }
    ck_assert_uint_le(n * mib, POSREF_READY_BYTES);
    ck_assert_uint_gt(n, 20);
    add(ready, "/large", 4 * mib);
    ck_assert(!is_there(ready, "/large"));
    memset(target, 'x', sizeof target - 1);
    target[sizeof target - 1] = '\0';
    add(ready, target, 10);
    ck_assert(!is_there(ready, target));
    /* The same address again, of another size: one answer, and the room of the first is free. */
    for (int i = 0; i < 1000; i++)
        add(ready, "/same", mib + (size_t)i);
    ck_assert(is_there(ready, "/same"));
    posref_ready_free(ready);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ready");
    TCase *tests = tcase_create("ready");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, keys);
    tcase_add_test(tests, conditional);
    tcase_add_test(tests, notes);
    tcase_add_test(tests, at_most_so_many);
    tcase_add_test(tests, at_most_so_large);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
