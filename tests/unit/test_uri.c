/* SPDX-License-Identifier: Apache-2.0 */
/* Request targets: decoding, and everything that must be refused with the parameter's name. */
#include "server/uri.h"
#include "tests/unit/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct posref_uri uri;
static struct posref_error err;

/* Parses an exact-size copy, so that ASan and valgrind see a read past the end. */
static enum posref_status parse(const char *target)
{
    memset(&err, 0, sizeof err);
    char *copy = strdup(target);
    enum posref_status status = posref_uri_parse(&uri, copy, &err);
    free(copy);
    return status;
}

START_TEST(splits_and_decodes)
{
    ck_assert_int_eq(parse("/v1/eval?scheme=rope&x=1%2C-0.5&base=1e+06&&k=a=b?c"), POSREF_OK);
    ck_assert_str_eq(uri.path, "/v1/eval");
    ck_assert_uint_eq(uri.n_params, 4);
    ck_assert_str_eq(posref_uri_value(&uri, "x"), "1,-0.5");
    ck_assert_str_eq(posref_uri_value(&uri, "base"), "1e+06");
    ck_assert_str_eq(posref_uri_value(&uri, "k"), "a=b?c");
    ck_assert_ptr_null(posref_uri_value(&uri, "schem"));
    ck_assert_int_eq(parse("/v1/vectors/rope%2Fhalf%2fx"), POSREF_OK);
    ck_assert_str_eq(uri.path, "/v1/vectors/rope/half/x");
    ck_assert_uint_eq(uri.n_params, 0);
    ck_assert_int_eq(parse("/?"), POSREF_OK);
    ck_assert_uint_eq(uri.n_params, 0);
    ck_assert_int_eq(parse("/%C3%A9?%e2%82%ac="), POSREF_OK);
    ck_assert_str_eq(uri.path, "/\xc3\xa9");
    ck_assert_str_eq(posref_uri_value(&uri, "\xe2\x82\xac"), "");
}
END_TEST

START_TEST(absolute_form)
{
    ck_assert_int_eq(parse("http://host:80/a?b=c"), POSREF_OK);
    ck_assert_str_eq(uri.path, "/a");
    ck_assert_str_eq(posref_uri_value(&uri, "b"), "c");
    ck_assert_int_eq(parse("https://host?b=c"), POSREF_OK);
    ck_assert_str_eq(uri.path, "/");
    ck_assert_str_eq(posref_uri_value(&uri, "b"), "c");
    ck_assert_int_eq(parse("http://host"), POSREF_OK);
    ck_assert_str_eq(uri.path, "/");
}
END_TEST

START_TEST(refuses)
{
    static const struct {
        const char *target, *key;
    } bad[] = {
        {"", ""},           {"v1", ""},         {"*", ""},          {"ftp://x/", ""},
        {"/%", ""},         {"/%4", ""},        {"/%4g", ""},       {"/%g4", ""},
        {"/%00", ""},       {"/a%0d%0ab", ""},  {"/%7f", ""},       {"/a b", ""},
        {"/a#b", ""},       {"/\x01", ""},      {"/\xc3\xa9", ""},  {"/%c3", ""},
        {"/%c3%28", ""},    {"/%ff", ""},       {"/%c0%af", ""},    {"/%e0%80%af", ""},
        {"/%ed%a0%80", ""}, {"/%f4%90%80%80", ""},                  {"/?dim", "dim"},
        {"/?dim=%", "dim"}, {"/?dim=%00", "dim"}, {"/?dim=%zz", "dim"}, {"/?dim=%ff", "dim"},
        {"/?=1", ""},       {"/?di%6=1", ""},   {"/?a=1&b=2&a=3", "a"}, {"/?a=1&%61=3", "a"},
        {"/?a=b c", "a"},   {"/?a=%c3", "a"},   {"/?a%00=1", ""},   {"/?a=1#f", "a"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(parse(bad[i].target) == POSREF_BAD_INPUT, "accepted: %s", bad[i].target);
        ck_assert_msg(strcmp(err.key, bad[i].key) == 0, "%s: named '%s'", bad[i].target, err.key);
        ck_assert_msg(err.text[0] != '\0', "%s: says nothing", bad[i].target);
    }
}
END_TEST

START_TEST(limits)
{
    char long_target[POSREF_URI_MAX_BYTES + 2], many[2048] = "/?";
    memset(long_target, 'a', sizeof long_target);
    long_target[0] = '/';
    long_target[POSREF_URI_MAX_BYTES] = '\0';
    ck_assert_int_eq(parse(long_target), POSREF_OK);
    ck_assert_uint_eq(strlen(uri.path), POSREF_URI_MAX_BYTES);
    /* As many separators as there can be: every byte of the storage is used. */
    for (size_t i = 2; i < POSREF_URI_MAX_BYTES; i++)
        long_target[i] = '&';
    long_target[1] = '?';
    ck_assert_int_eq(parse(long_target), POSREF_OK);
    long_target[POSREF_URI_MAX_BYTES] = 'a';
    long_target[POSREF_URI_MAX_BYTES + 1] = '\0';
    ck_assert_int_eq(parse(long_target), POSREF_BAD_INPUT);
    size_t n = 2;
    for (int i = 0; i < POSREF_URI_MAX_PARAMS; i++)
        n += (size_t)snprintf(many + n, sizeof many - n, "k%d=%d&", i, i);
    ck_assert_int_eq(parse(many), POSREF_OK);
    ck_assert_uint_eq(uri.n_params, POSREF_URI_MAX_PARAMS);
    snprintf(many + n, sizeof many - n, "one_more=1");
    ck_assert_int_eq(parse(many), POSREF_BAD_INPUT);
    ck_assert_str_eq(err.key, "one_more");
}
END_TEST

/* Every sequence of up to three bytes, against the definition of RFC 3629 by code points. */
START_TEST(utf8_is_what_code_points_encode_to)
{
    static bool two[65536];
    static unsigned char three[1 << 24 >> 3];
    for (unsigned code = 0x80; code <= 0xffff; code++) {
        if (code >= 0xd800 && code <= 0xdfff)
            continue;
        unsigned last = 0x80 | (code & 0x3f);
        if (code < 0x800) {
            two[(0xc0 | code >> 6) << 8 | last] = true;
        } else {
            unsigned all = (0xe0 | code >> 12) << 16 | (0x80 | (code >> 6 & 0x3f)) << 8 | last;
            three[all >> 3] |= (unsigned char)(1u << (all & 7));
        }
    }
    for (unsigned all = 0; all < 1u << 24; all++) {
        unsigned char s[3] = {(unsigned char)(all >> 16), (unsigned char)(all >> 8),
                              (unsigned char)all};
        if (s[0] < 0x80 || s[1] < 0x80 || s[2] < 0x80)
            continue; /* an ASCII byte ends every longer sequence: covered by the two-byte check */
        bool want = three[all >> 3] >> (all & 7) & 1;
        if (posref_utf8_valid((const char *)s, 3) != want)
            ck_abort_msg("%06x", all);
    }
    for (unsigned all = 0; all < 65536; all++) {
        unsigned char s[2] = {(unsigned char)(all >> 8), (unsigned char)all};
        bool want = two[all] || (s[0] < 0x80 && s[1] < 0x80);
        if (posref_utf8_valid((const char *)s, 2) != want)
            ck_abort_msg("%04x", all);
    }
    ck_assert(posref_utf8_valid("\xf0\x9f\x98\x80", 4));
    ck_assert(posref_utf8_valid("\xf4\x8f\xbf\xbf", 4));
    ck_assert(!posref_utf8_valid("\xf0\x8f\xbf\xbf", 4));
    ck_assert(!posref_utf8_valid("\xf4\x90\x80\x80", 4));
    ck_assert(!posref_utf8_valid("\xf5\x80\x80\x80", 4));
    ck_assert(!posref_utf8_valid("\xf0\x9f\x98", 3));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("uri");
    TCase *tests = tcase_create("uri");
    tcase_add_test(tests, splits_and_decodes);
    tcase_add_test(tests, absolute_form);
    tcase_add_test(tests, refuses);
    tcase_add_test(tests, limits);
    tcase_add_test(tests, utf8_is_what_code_points_encode_to);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
