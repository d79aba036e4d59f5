/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors: what is written reads back bit for bit, and every lie in a header is refused by
 * name and byte. */
#include "tests/unit/suite.h"
#include "vectors/safetensors.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct posref_heap *heap;

static void setup(void) { heap = posref_heap_new(0); }
static void teardown(void) { posref_heap_free(heap); }

/* A document from its header's text and a number of data bytes (0, 1, 2, ...). */
static size_t document(unsigned char *out, const char *header, size_t n_data)
{
    size_t length = strlen(header);
    for (int i = 0; i < 8; i++)
        out[i] = (unsigned char)((uint64_t)length >> (8 * i));
    memcpy(out + 8, header, length);
    for (size_t i = 0; i < n_data; i++)
        out[8 + length + i] = (unsigned char)i;
    return 8 + length + n_data;
}

/* Parses a copy of exactly the document's size, so that ASan sees any step beyond it. */
static enum posref_status parse(struct posref_error *err, const char *header, size_t n_data)
{
    static unsigned char bytes[4096];
    struct posref_safetensors st = {0};
    size_t size = document(bytes, header, n_data);
    unsigned char *exact = malloc(size);
    memcpy(exact, bytes, size);
    memset(err, 0, sizeof *err);
    enum posref_status status = posref_safetensors_parse(&st, exact, size, "doc", err);
    posref_safetensors_close(&st);
    free(exact);
    return status;
}

START_TEST(reads_a_document)
{
    static unsigned char bytes[1024];
    struct posref_safetensors st;
    struct posref_error err;
    size_t size = document(bytes,
        "{\"__metadata__\":{\"format\":\"pt\"},"
        "\"b\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[4,16]},"
        "\"a\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[0,4]},"
        "\"empty\":{\"dtype\":\"F64\",\"shape\":[0,5],\"data_offsets\":[16,16]}}  ", 16);
    ck_assert_int_eq(posref_safetensors_parse(&st, bytes, size, "doc", &err), POSREF_OK);
    ck_assert_uint_eq(st.n, 3);
    ck_assert_str_eq(st.item[0].name, "a");
    const struct posref_stored *b = posref_safetensors_find(&st, "b");
    ck_assert_ptr_nonnull(b);
    ck_assert_int_eq(b->rank, 2);
    ck_assert_int_eq(b->shape[1], 3);
    ck_assert_int_eq(b->type, POSREF_STORED_BF16);
    ck_assert_uint_eq(b->data[0], 4);
    ck_assert_uint_eq(b->offset, size - 12);
    ck_assert_ptr_null(posref_safetensors_find(&st, "c"));
    ck_assert_str_eq(posref_safetensors_metadata(&st, "format"), "pt");
    ck_assert_ptr_null(posref_safetensors_metadata(&st, "other"));
    posref_safetensors_close(&st);
}
END_TEST

#define T(dtype, shape, offsets) \
    "{\"t\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static const struct {
    const char *header;
    size_t n_data;
    const char *says; /* part of the error's text */
} lies[] = {
    {"[]", 0, "does not begin with {"},
    {"{\"t\":", 0, "byte "},
    {"{} x", 0, "byte "},
    {T("F32", "[2]", "[0,8]"), 7, "tensor t: data_offsets 0 to 8 leave"},
    {T("F32", "[2]", "[0,8]"), 9, "1 bytes after the last tensor"},
    {T("F32", "[2]", "[4,12]"), 12, "tensor t: hole"},
    {T("F32", "[2]", "[8,0]"), 8, "tensor t: data_offsets"},
    {T("F32", "[2]", "[-8,0]"), 8, "tensor t: data_offsets"},
    {T("F32", "[3]", "[0,8]"), 8, "tensor t: byte "},
    {T("F32", "[2.0]", "[0,8]"), 8, "tensor t: shape"},
    {T("F32", "[-2]", "[0,8]"), 8, "tensor t: shape"},
    {T("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]"), 8, "tensor t: shape"},
    {T("F32", "[4611686018427387904,4]", "[0,0]"), 0, "overflows"},
    {T("F32", "[4611686018427387904,4,0]", "[0,0]"), 0, "overflows"},
    {T("F32", "[4611686018427387904]", "[0,0]"), 0, "overflows"},
    {T("F32", "[99999999999999999999]", "[0,0]"), 0, "byte "},
    {T("F4", "[3]", "[0,1]"), 1, "no whole number of bytes"},
    {T("Q8_0", "[32]", "[0,34]"), 34, "tensor t: unknown dtype Q8_0"},
    {T("F33", "[2]", "[0,8]"), 8, "tensor t: unknown dtype F33"},
    {T("F32", "[2]", "[0]"), 8, "tensor t: data_offsets is not two"},
    {T("F32", "[2]", "\"0,8\""), 8, "tensor t: data_offsets is not two"},
    {"{\"t\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
     "\"u\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}", 3, "tensor u: overlap"},
    {"{\"t\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
     "\"t\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2, "duplicate"},
    {"{\"t\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2],\"strides\":[1]}}", 2,
     "tensor t: is not an object of"},
    {"{\"t\":{\"dtype\":\"U8\",\"shape\":[2]}}", 2, "tensor t: is not an object of"},
    {"{\"t\":[]}", 0, "tensor t: is not an object of"},
    {"{\"__metadata__\":{\"a\":1}}", 0, "__metadata__"},
    {"{\"__metadata__\":[]}", 0, "__metadata__"},
    {"{\"a\\u0000b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, "byte "},
};

START_TEST(refuses_lies)
{
    struct posref_error err;
    ck_assert_int_eq(parse(&err, T("F32", "[2]", "[0,8]"), 8), POSREF_OK);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        enum posref_status status = parse(&err, lies[i].header, lies[i].n_data);
        ck_assert_msg(status == POSREF_BAD_INPUT, "%s: %d", lies[i].header, status);
        ck_assert_msg(strstr(err.text, lies[i].says) != NULL, "%s: %s", lies[i].header, err.text);
        ck_assert_str_eq(err.key, "doc");
    }
}
END_TEST

START_TEST(refuses_lengths)
{
    struct posref_safetensors st;
    struct posref_error err;
    unsigned char bytes[16] = {0};
    for (size_t size = 0; size <= 16; size++)
        ck_assert_int_eq(posref_safetensors_parse(&st, bytes, size, "doc", &err),
                         POSREF_BAD_INPUT);
    memset(bytes, 0xFF, 8);
    ck_assert_int_eq(posref_safetensors_parse(&st, bytes, 16, "doc", &err), POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "byte 0"));
}
END_TEST

static void sample(struct posref_tensors *set)
{
    static double f64[2] = {1.5, -0.0};
    static uint16_t bf16[3] = {0x3F80, 0x7FC1, 0xFF80};
    static int64_t i64[1] = {-3};
    static int32_t i32[2] = {7, -8};
    memset(set, 0, sizeof *set);
    set->n = 4;
    set->item[0] = (struct posref_tensor){"z\"\\\n", POSREF_BF16, 1, {3}, bf16};
    set->item[1] = (struct posref_tensor){"y", POSREF_F64, 2, {1, 2}, f64};
    set->item[2] = (struct posref_tensor){"positions", POSREF_I64, 0, {0}, i64};
    set->item[3] = (struct posref_tensor){"n", POSREF_I32, 1, {2}, i32};
}

START_TEST(round_trip)
{
    static const char *const metadata[] = {"k\"1", "v\\1", "k2", "\xC3\xA9", NULL};
    struct posref_arena arena = posref_heap_arena(heap);
    struct posref_tensors set, back;
    struct posref_buffer buffer;
    struct posref_safetensors st;
    struct posref_error err = {0};
    sample(&set);
    posref_buffer_init(&buffer, 1 << 20);
    posref_safetensors_add(&buffer, &set, metadata);
    ck_assert(!buffer.failed);
    ck_assert_msg(posref_safetensors_parse(&st, buffer.data, buffer.length, "b", &err) == POSREF_OK,
                  "%s", err.text);
    ck_assert_uint_eq(st.header_bytes % 8, 0);
    ck_assert_str_eq(posref_safetensors_metadata(&st, "k\"1"), "v\\1");
    ck_assert_str_eq(posref_safetensors_metadata(&st, "k2"), "\xC3\xA9");
    ck_assert_int_eq(posref_safetensors_load(&back, &st, false, &arena, &err), POSREF_OK);
    ck_assert_int_eq(back.n, set.n);
    for (int i = 0; i < set.n; i++) {
        const struct posref_tensor *a = &set.item[i];
        const struct posref_tensor *b = posref_tensors_find(&back, a->name);
        ck_assert_ptr_nonnull(b);
        ck_assert_int_eq(a->dtype, b->dtype);
        ck_assert_int_eq(a->rank, b->rank);
        ck_assert_mem_eq(a->shape, b->shape, sizeof a->shape);
        ck_assert_mem_eq(a->data, b->data,
                         (size_t)posref_tensor_count(a) * posref_dtype_size(a->dtype));
    }
    ck_assert_int_eq(posref_safetensors_load(&back, &st, true, &arena, &err), POSREF_OK);
    ck_assert_double_eq(*(double *)posref_tensors_find(&back, "positions")->data, -3.0);
    ck_assert_double_eq(((double *)posref_tensors_find(&back, "n")->data)[1], -8.0);
    ck_assert_double_eq(((double *)posref_tensors_find(&back, "z\"\\\n")->data)[0], 1.0);
    posref_safetensors_close(&st);
    posref_buffer_clear(&buffer);
}
END_TEST

START_TEST(files_and_references)
{
    struct posref_arena arena = posref_heap_arena(heap);
    struct posref_tensors set;
    struct posref_tensor x;
    struct posref_error err = {0};
    char path[64], reference[80];
    snprintf(path, sizeof path, "/tmp/posref-st-%ld", (long)getpid());
    snprintf(reference, sizeof reference, "%s:y", path);
    sample(&set);
    ck_assert_msg(posref_safetensors_save(path, &set, NULL, &err) == POSREF_OK, "%s", err.text);
    ck_assert_int_eq(posref_safetensors_read_input(&x, "x", reference, &arena, &err), POSREF_OK);
    ck_assert_str_eq(x.name, "x");
    ck_assert_int_eq(x.dtype, POSREF_F64);
    ck_assert_double_eq(((double *)x.data)[0], 1.5);
    ck_assert_int_eq(posref_safetensors_read_input(&x, "positions", path, &arena, &err), POSREF_OK);
    ck_assert_double_eq(((double *)x.data)[0], -3.0);
    ck_assert_int_eq(posref_safetensors_read_input(&x, "x", path, &arena, &err), POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "no tensor called x"));
    set.n = 1;
    ck_assert_int_eq(posref_safetensors_save(path, &set, NULL, &err), POSREF_OK);
    ck_assert_int_eq(posref_safetensors_read_input(&x, "x", path, &arena, &err), POSREF_OK);
    unlink(path);
    ck_assert_int_eq(posref_safetensors_read_input(&x, "x", path, &arena, &err), POSREF_BAD_INPUT);
    ck_assert_int_eq(posref_safetensors_read_input(&x, "x", "/tmp", &arena, &err),
                     POSREF_BAD_INPUT);
}
END_TEST

START_TEST(big_integers_are_not_rounded)
{
    struct posref_arena arena = posref_heap_arena(heap);
    int64_t big[2] = {1, (INT64_C(1) << 53) + 1};
    struct posref_tensors set = {.n = 1, .item = {{"p", POSREF_I64, 1, {2}, big}}}, back;
    struct posref_buffer buffer;
    struct posref_safetensors st;
    struct posref_error err;
    posref_buffer_init(&buffer, 1 << 20);
    posref_safetensors_add(&buffer, &set, NULL);
    ck_assert_int_eq(posref_safetensors_parse(&st, buffer.data, buffer.length, "b", &err),
                     POSREF_OK);
    ck_assert_int_eq(posref_safetensors_load(&back, &st, true, &arena, &err), POSREF_BAD_INPUT);
    ck_assert_str_eq(err.key, "p");
    ck_assert_ptr_nonnull(strstr(err.text, "element 1"));
    posref_safetensors_close(&st);
    posref_buffer_clear(&buffer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("safetensors");
    TCase *cases = tcase_create("all");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, reads_a_document);
    tcase_add_test(cases, refuses_lies);
    tcase_add_test(cases, refuses_lengths);
    tcase_add_test(cases, round_trip);
    tcase_add_test(cases, files_and_references);
    tcase_add_test(cases, big_integers_are_not_rounded);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
