/* SPDX-License-Identifier: Apache-2.0 */
/* Entity tags, Accept, and problem documents. */
#include "server/problem.h"
#include "tests/unit/suite.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

START_TEST(entity_tags)
{
    static const struct {
        const char *header;
        bool matches;
    } cases[] = {
        {"\"abc\"", true},       {"W/\"abc\"", true},         {"*", true},
        {"\"x\", \"abc\"", true}, {"\"x\" ,W/\"abc\" ", true}, {"\"x,y\",\"abc\"", true},
        {"", false},             {"abc", false},              {"\"ab\"", false},
        {"\"abcd\"", false},     {"\"abc", false},            {"\"x\"", false},
        {"\"x\", abc", false},   {"w/\"abc\"", false},        {",", false},
        {"\"abc-gzip\"", false}, {"\"x\" \"abc\"", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(posref_etag_matches(cases[i].header, "\"abc\"") == cases[i].matches, "%s",
                      cases[i].header);
}
END_TEST

START_TEST(accept)
{
    static const char *const types[] = {"application/json", NULL};
    static const struct {
        const char *header;
        bool admits;
    } cases[] = {
        {NULL, true},
        {"", true},
        {"*/*", true},
        {"application/json", true},
        {"Application/JSON", true},
        {"application/*", true},
        {"text/html, application/xhtml+xml, */*;q=0.8", true},
        {"text/html;level=1;q=0.5, application/json ; q=0.1", true},
        {"text/html", false},
        {"text/*", false},
        {"application/jsonx", false},
        {"application/jso", false},
        {"application/json;q=0", false},
        {"application/json; q=0.000", false},
        {"application/json; q=0.001", true},
        {"*/*;q=1, application/json;q=0", false},
        {"*/*;q=0, application/json;q=1", true},
        {"application/*;q=0, */*", false},
        {"*/*;q=0", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg((posref_accept_choose(cases[i].header, types) == 0) == cases[i].admits, "%s",
                      cases[i].header ? cases[i].header : "(none)");
}
END_TEST

START_TEST(accept_prefers)
{
    static const char *const types[] = {"application/json", "application/vnd.safetensors", NULL};
    static const struct {
        const char *header;
        int chosen;
    } cases[] = {
        {NULL, 0},
        {"*/*", 0},
        {"application/*", 0},
        {"application/vnd.safetensors", 1},
        {"application/vnd.safetensors, application/json", 0},
        {"application/vnd.safetensors, application/json;q=0.9", 1},
        {"application/vnd.safetensors;q=0.25, application/json;q=0.3", 0},
        {"application/vnd.safetensors;q=0.35, application/json;q=0.305", 1},
        {"application/vnd.safetensors, */*;q=0.1", 1},
        {"application/vnd.safetensors;q=0, */*", 0},
        {"application/json;q=0, */*;q=0.001", 1},
        {"text/html, image/*", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(posref_accept_choose(cases[i].header, types) == cases[i].chosen, "%s",
                      cases[i].header ? cases[i].header : "(none)");
}
END_TEST

START_TEST(accept_encoding)
{
    static const struct {
        const char *header;
        bool admits;
    } cases[] = {
        {NULL, false},           {"", false},           {"gzip", true},
        {"deflate, GZIP", true}, {"br", false},         {"*", true},
        {"gzip;q=0", false},     {"gzip; q=0.5", true}, {"*;q=0", false},
        {"gzip;q=0, *", false},  {"*, gzip;q=0", false}, {"*;q=0, gzip", true},
        {"identity", false},     {"xgzip", false},      {"x-gzip", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(posref_accepts_gzip(cases[i].header) == cases[i].admits, "%s",
                      cases[i].header ? cases[i].header : "(none)");
}
END_TEST

/* A short body, one that shrinks and one that does not, through zlib's own reader. */
START_TEST(compressed_bodies_unpack)
{
    static char plain[100000], unpacked[200000];
    uint32_t random = 1;
    static const size_t sizes[] = {0, 1023, 1024, 1025, 100000};
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        size_t size = sizes[i / 2];
        struct posref_reply reply;
        posref_reply_init(&reply);
        reply.caching = POSREF_CACHE_SHORT;
        memset(plain, 'a', sizeof plain);
        for (size_t k = 0; i % 2 && k < sizeof plain; k++) {
            random = random * 1664525 + 1013904223;
            plain[k] = (char)(random >> 24);
        }
        posref_buffer_add(&reply.body, plain, size);
        posref_reply_validate(&reply, NULL, true);
        posref_reply_compress(&reply);
        ck_assert_int_eq(reply.encoding != NULL, size >= 1024);
        if (reply.encoding) {
            z_stream stream = {.next_in = (Bytef *)reply.body.data,
                               .avail_in = (uInt)reply.body.length,
                               .next_out = (Bytef *)unpacked,
                               .avail_out = sizeof unpacked};
            ck_assert_int_eq(inflateInit2(&stream, 15 + 16), Z_OK);
            ck_assert_int_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
            ck_assert_uint_eq(stream.total_out, size);
            ck_assert_int_eq(memcmp(plain, unpacked, size), 0);
            inflateEnd(&stream);
        }
        posref_reply_clear(&reply);
    }
}
END_TEST

START_TEST(not_modified)
{
    struct posref_reply reply;
    posref_reply_init(&reply);
    reply.caching = POSREF_CACHE_SHORT;
    posref_buffer_text(&reply.body, "abc");
    posref_reply_validate(&reply, "\"x\"", false);
    ck_assert_uint_eq(reply.status, 200);
    ck_assert_str_eq(reply.sha256,
                     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    char header[POSREF_ETAG_SIZE];
    posref_etag(header, reply.sha256, true);
    posref_reply_validate(&reply, header, true); /* too short to be compressed */
    ck_assert_uint_eq(reply.status, 200);
    posref_etag(header, reply.sha256, false);
    posref_reply_validate(&reply, header, true);
    ck_assert_uint_eq(reply.status, 304);
    ck_assert_uint_eq(reply.body.length, 0);
    posref_reply_clear(&reply);
    /* What must not be stored has no entity tag. */
    posref_reply_init(&reply);
    posref_reply_validate(&reply, "*", false);
    ck_assert_uint_eq(reply.status, 200);
    ck_assert_str_eq(reply.sha256, "");
    posref_reply_clear(&reply);
}
END_TEST

/* The tag is that of the form which the client would get: a cache keeps both. */
START_TEST(not_modified_compressed)
{
    static char plain[2000];
    memset(plain, 'a', sizeof plain);
    for (int gzip = 0; gzip < 2; gzip++)
        for (int tag = 0; tag < 2; tag++) {
            struct posref_reply reply;
            char header[POSREF_ETAG_SIZE];
            posref_reply_init(&reply);
            reply.caching = POSREF_CACHE_SHORT;
            posref_buffer_add(&reply.body, plain, sizeof plain);
            posref_reply_validate(&reply, NULL, gzip);
            posref_etag(header, reply.sha256, tag);
            posref_reply_validate(&reply, header, gzip);
            ck_assert_uint_eq(reply.status, gzip == tag ? 304 : 200);
            ck_assert_int_eq(reply.encoding != NULL, gzip && tag);
            posref_reply_clear(&reply);
        }
}
END_TEST

static const char *member(const json_t *document, const char *name)
{
    return json_string_value(json_object_get(document, name));
}

/* Which bytes of a file of 1000 a Range header gets. */
START_TEST(ranges)
{
    static const struct {
        const char *range, *if_range;
        unsigned status; /* 0: cannot be satisfied */
        uint64_t offset, length;
    } cases[] = {
        {"bytes=0-0", NULL, 206, 0, 1},
        {"bytes=0-", NULL, 206, 0, 1000},
        {"bytes=10-19", NULL, 206, 10, 10},
        {"bytes=999-5000", NULL, 206, 999, 1},
        {"bytes=-1", NULL, 206, 999, 1},
        {"bytes=-1000", NULL, 206, 0, 1000},
        {"bytes=-5000", NULL, 206, 0, 1000},
        {"bytes= 10-19 ", NULL, 206, 10, 10},
        {"bytes=0-999999999999999999", NULL, 206, 0, 1000},
        {"bytes=0-9", "\"ab\"", 206, 0, 10},
        {"bytes=0-9", "\"abc\"", 200, 0, 1000},
        {"bytes=0-9", "W/\"ab\"", 200, 0, 1000},
        {"bytes=0-9", "Sun, 29 Nov 2026 19:38:25 GMT", 200, 0, 1000},
        {NULL, "\"ab\"", 200, 0, 1000},
        {"bytes=1000-", NULL, 0, 0, 1000},
        {"bytes=1000-1001", NULL, 0, 0, 1000},
        {"bytes=-0", NULL, 0, 0, 1000},
        {"bytes=2-1", NULL, 200, 0, 1000},
        {"bytes=-", NULL, 200, 0, 1000},
        {"bytes=", NULL, 200, 0, 1000},
        {"bytes=0-1,3-4", NULL, 200, 0, 1000},
        {"bytes=0-1 x", NULL, 200, 0, 1000},
        {"bytes=0x1-2", NULL, 200, 0, 1000},
        {"bytes=0-1000000000000000000", NULL, 206, 0, 1000},
        {"Bytes 0-9", NULL, 200, 0, 1000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct posref_reply reply;
        posref_reply_init(&reply);
        ck_assert(posref_reply_file(&reply, 0, 1000));
        snprintf(reply.sha256, sizeof reply.sha256, "ab");
        bool good = posref_reply_range(&reply, cases[i].range, cases[i].if_range);
        ck_assert_msg(good == (cases[i].status != 0), "%s", cases[i].range);
        ck_assert_msg(reply.status == (good ? cases[i].status : 200), "%s", cases[i].range);
        ck_assert_uint_eq(reply.offset, cases[i].offset);
        ck_assert_uint_eq(reply.length, cases[i].length);
        ck_assert_uint_eq(posref_reply_length(&reply), reply.length);
        posref_reply_clear(&reply);
        ck_assert_int_lt(reply.fd, 0);
    }
}
END_TEST

START_TEST(problems)
{
    struct posref_reply reply;
    for (int kind = 0; kind < POSREF_N_PROBLEMS; kind++) {
        posref_reply_init(&reply);
        posref_buffer_text(&reply.body, "half an answer");
        struct posref_problem problem = {.kind = (enum posref_problem_kind)kind, .param = "di\"m",
                                         .value = "\\\t\xc3\xa9", .detail = "why"};
        posref_reply_problem(&reply, &problem);
        json_t *document = json_loads(reply.body.data, JSON_REJECT_DUPLICATES, NULL);
        ck_assert_ptr_nonnull(document);
        const struct posref_problem_info *info = posref_problem_info(problem.kind);
        ck_assert_uint_eq(reply.status, info->status);
        ck_assert_int_eq(json_integer_value(json_object_get(document, "status")), info->status);
        ck_assert_str_eq(member(document, "title"), info->title);
        ck_assert_str_eq(member(document, "detail"), "why");
        ck_assert_str_eq(member(document, "param"), "di\"m");
        ck_assert_str_eq(member(document, "value"), "\\\t\xc3\xa9");
        ck_assert_ptr_null(json_object_get(document, "nearest"));
        ck_assert_str_eq(member(document, "type") + strlen("/problems/"), info->name);
        json_decref(document);
        posref_reply_clear(&reply);
    }
}
END_TEST

START_TEST(long_values_are_cut_between_characters)
{
    char value[256];
    for (size_t shift = 0; shift < 4; shift++) {
        size_t n = shift;
        memset(value, 'a', shift);
        while (n + 4 < sizeof value)
            n += (size_t)snprintf(value + n, sizeof value - n, "\xf0\x9f\x98\x80");
        struct posref_reply reply;
        posref_reply_init(&reply);
        struct posref_problem problem = {.kind = POSREF_PROBLEM_BAD_PARAMETER, .value = value};
        posref_reply_problem(&reply, &problem);
        json_t *document = json_loads(reply.body.data, 0, NULL); /* checks UTF-8 */
        ck_assert_ptr_nonnull(document);
        size_t length = strlen(member(document, "value"));
        ck_assert_uint_ge(length, 77);
        ck_assert_uint_le(length, 83);
        json_decref(document);
        posref_reply_clear(&reply);
    }
}
END_TEST

START_TEST(whose_fault)
{
    struct posref_reply reply;
    struct posref_error err = {.key = "dim", .text = "must be even"};
    posref_reply_init(&reply);
    posref_reply_error(&reply, POSREF_BAD_INPUT, &err);
    ck_assert_uint_eq(reply.status, 400);
    ck_assert_ptr_nonnull(strstr(reply.body.data, "\"dim: must be even\""));
    posref_reply_error(&reply, POSREF_INTERNAL, &err);
    ck_assert_uint_eq(reply.status, 500);
    err.key[0] = '\0';
    posref_reply_error(&reply, POSREF_BAD_INPUT, &err);
    ck_assert_uint_eq(reply.status, 400);
    ck_assert_ptr_null(strstr(reply.body.data, "\"param\""));
    posref_reply_clear(&reply);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reply");
    TCase *tests = tcase_create("reply");
    tcase_add_test(tests, entity_tags);
    tcase_add_test(tests, accept);
    tcase_add_test(tests, accept_prefers);
    tcase_add_test(tests, accept_encoding);
    tcase_add_test(tests, compressed_bodies_unpack);
    tcase_add_test(tests, not_modified);
    tcase_add_test(tests, not_modified_compressed);
    tcase_add_test(tests, ranges);
    tcase_add_test(tests, problems);
    tcase_add_test(tests, long_values_are_cut_between_characters);
    tcase_add_test(tests, whose_fault);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
