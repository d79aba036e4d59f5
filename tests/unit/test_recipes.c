/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic recipes: the kernels of judge_kernels.c, which know nothing of bends, are each named;
 * a mixture is not; profiles and the merging of shards. */
#include "harness/profile.h"
#include "harness/recipes.h"
#include "harness/report_arithmetic.h"
#include "harness/trial.h"
#include "judge_kernels.h"
#include "suite.h"

#include <math.h>
#include <string.h>

#define N_ROWS 8
#define HEADS 2

static const char *const specs[] = {"scheme=rope dim=64", "scheme=rope dim=96 base=500000",
                                    "scheme=rope dim=128 base=1000000 pairing=interleaved",
                                    "scheme=rope dim=80 scaling=linear factor=3",
                                    "scheme=rope dim=64 scaling=yarn factor=4 "
                                    "original_max_position_embeddings=4096",
                                    "scheme=rope dim=128 base=500000 scaling=llama3 factor=8 "
                                    "original_max_position_embeddings=8192"};
#define N_SPECS (sizeof specs / sizeof *specs)
static const double positions[N_ROWS] = {300, 1023, 4097, 8191, 32767, 65536, 131071, 1048575};

static struct posref_tensor of(const char *name, enum posref_dtype dtype, int rank, int64_t a,
                               int64_t b, int64_t c, void *data)
{
    struct posref_tensor out = {.dtype = dtype, .rank = rank, .shape = {a, b, c}, .data = data};
    snprintf(out.name, sizeof out.name, "%s", name);
    return out;
}

/* One of the specs, rotated by a kernel (even rows by another, where `other` is one). */
static void compare(struct posref_recipe_counts *counts, const char *text,
                    enum arithmetic arithmetic, int other, enum kernel_fault fault)
{
    struct posref_heap *heap = posref_heap_new(0);
    ck_assert_ptr_nonnull(heap);
    const struct posref_arena arena = posref_heap_arena(heap);
    struct posref_vector v = {.op = POSREF_OP_ROTATE};
    struct posref_tensors actual = {.n = 1};
    double x[N_ROWS * HEADS * 128], y[N_ROWS * HEADS * 128], z[N_ROWS * HEADS * 128];
    posref_spec_init(&v.spec);
    ck_assert_int_eq(posref_spec_parse(&v.spec, text, NULL), POSREF_OK);
    ck_assert_int_eq(posref_spec_complete(&v.spec, NULL), POSREF_OK);
    const int64_t dim = v.spec.dim, n = N_ROWS * HEADS * dim;
    for (int64_t k = 0; k < n; k++)
        x[k] = (double)((k * 37 + 11) % 126 - 63) / 64 + 1.0 / 128;
    kernel_rotate(y, &v.spec, x, positions, N_ROWS, HEADS, counts->dtype, arithmetic, fault);
    if (other >= 0) {
        kernel_rotate(z, &v.spec, x, positions, N_ROWS, HEADS, counts->dtype,
                      (enum arithmetic)other, fault);
        for (int row = 0; row < N_ROWS; row += 2)
            memcpy(y + row * HEADS * dim, z + row * HEADS * dim,
                   (size_t)(HEADS * dim) * sizeof *y);
    }
    double at[N_ROWS];
    memcpy(at, positions, sizeof at);
    v.inputs.n = 2;
    v.inputs.item[0] = of("positions", POSREF_F64, 1, N_ROWS, 0, 0, at);
    v.inputs.item[1] = of("x", POSREF_F64, 3, N_ROWS, HEADS, dim, x);
    v.outputs.n = 1;
    v.outputs.item[0] = of("y", POSREF_F64, 3, N_ROWS, HEADS, dim, y);
    ck_assert_int_eq(posref_tensor_narrow(&actual.item[0], &v.outputs.item[0], counts->dtype,
                                          &arena, NULL), POSREF_OK);
    posref_recipes_compare(counts, &v, &actual, &arena);
    posref_heap_free(heap);
}

/* What a report says of the counts. The caller frees the entry. */
static json_t *find(struct posref_fits *fits, const struct posref_recipe_counts *counts,
                    int64_t n_failed)
{
    struct posref_buffer text;
    posref_buffer_init(&text, 1 << 16);
    posref_buffer_printf(&text, "{\"dtype\": \"%s\", \"failed\": %lld, ",
                         posref_dtype_name(counts->dtype), (long long)n_failed);
    posref_recipes_json(&text, counts);
    posref_buffer_text(&text, "}");
    json_t *entry = json_loadb(text.data, text.length, 0, NULL);
    posref_buffer_clear(&text);
    ck_assert_ptr_nonnull(entry);
    posref_fits_find(fits, entry);
    return entry;
}

static const struct kernel {
    enum arithmetic arithmetic;
    enum kernel_fault fault;
    enum posref_dtype dtype;
    const char *name;
} kernels[] = {
    {ARITHMETIC_DOUBLE, FAULT_NONE, POSREF_F32, "double"},
    {ARITHMETIC_FLOAT32, FAULT_NONE, POSREF_F32, "float32_power"},
    {ARITHMETIC_EXPF, FAULT_NONE, POSREF_F32, "float32_exp"},
    {ARITHMETIC_RECURRENCE, FAULT_NONE, POSREF_F32, "recurrence"},
    {ARITHMETIC_HARDWARE, FAULT_NONE, POSREF_F32, "float32_power+hardware_sine"},
    {ARITHMETIC_FLOAT32, FAULT_ONE_STEP_REDUCTION, POSREF_F32, "float32_power+one_step_reduction"},
    {ARITHMETIC_FLOAT32, FAULT_TWO_PI_FLOAT, POSREF_F32, "float32_power+fused_reduction"},
    {ARITHMETIC_RECURRENCE, FAULT_FAST_TRIG, POSREF_F32, "recurrence+hardware_sine"},
    {ARITHMETIC_DOUBLE, FAULT_NONE, POSREF_BF16, "double"},
    {ARITHMETIC_FLOAT32, FAULT_NONE, POSREF_BF16, "float32_power"},
    {ARITHMETIC_FLOAT32, FAULT_TABLE_BF16, POSREF_BF16, "float32_power+narrow_tables"},
    {ARITHMETIC_LOW, FAULT_NONE, POSREF_BF16, "float32_power+narrow_products"},
    {ARITHMETIC_RECURRENCE, FAULT_NONE, POSREF_BF16, "recurrence"},
    {ARITHMETIC_FLOAT32, FAULT_NONE, POSREF_F16, "float32_power"},
    {ARITHMETIC_LOW, FAULT_NONE, POSREF_F16, "float32_power+narrow_products"},
    {ARITHMETIC_EXPF, FAULT_NONE, POSREF_F16, "float32_exp"},
};
#define N_KERNELS (sizeof kernels / sizeof *kernels)

/* ggml multiplies by the reciprocal of factor, blends angles by one minus the ramp, and has
 * llama3's divisors from a file: this kernel's recurrence does none of these. */
static bool has_scaling(const struct kernel *k, const char *spec)
{
    return k->arithmetic != ARITHMETIC_RECURRENCE || !strstr(spec, "scaling");
}

START_TEST(every_kernel_is_named)
{
    const struct kernel *k = &kernels[_i];
    struct posref_recipe_counts counts = {.dtype = k->dtype};
    struct posref_fits fits;
    for (size_t s = 0; s < N_SPECS; s++)
        if (has_scaling(k, specs[s]))
            compare(&counts, specs[s], k->arithmetic, -1, k->fault);
    json_t *entry = find(&fits, &counts, 0);
    ck_assert_msg(fits.n == 1, "%s: %d recipes fit", k->name, fits.n);
    ck_assert_str_eq(json_string_value(json_object_get(fits.recipe[0], "recipe")), k->name);
    json_decref(entry);
}
END_TEST

/* Half the rows one way and half another: no recipe, and no guess. */
START_TEST(a_mixture_is_no_recipe)
{
    struct posref_recipe_counts counts = {.dtype = POSREF_F32};
    struct posref_fits fits;
    for (size_t s = 0; s < N_SPECS; s++)
        compare(&counts, specs[s], ARITHMETIC_FLOAT32, ARITHMETIC_DOUBLE, FAULT_NONE);
    json_t *entry = find(&fits, &counts, 0);
    struct posref_buffer text;
    posref_buffer_init(&text, 1 << 16);
    ck_assert_int_eq(fits.n, 0);
    ck_assert(posref_fits_text(&text, entry));
    ck_assert(text.length >= 15 && memcmp(text.data, "no known recipe", 15) == 0);
    posref_buffer_clear(&text);
    json_decref(entry);
}
END_TEST

/* Where every exponent 2i/d is exact, base^(-2i/d) in float32 is the rounded power: two fit. */
START_TEST(what_cannot_be_told_is_said)
{
    struct posref_recipe_counts counts = {.dtype = POSREF_F32};
    struct posref_fits fits;
    compare(&counts, "scheme=rope dim=2 base=7", ARITHMETIC_FLOAT32, -1, FAULT_NONE);
    json_t *entry = find(&fits, &counts, 0);
    ck_assert(!fits.asked || fits.n != 1);
    json_decref(entry);
    memset(&counts, 0, sizeof counts);
    counts.dtype = POSREF_F32;
    for (size_t s = 0; s < 3; s++)
        compare(&counts, specs[s], ARITHMETIC_FLOAT32, -1, FAULT_NONE);
    entry = find(&fits, &counts, 1); /* something failed: nothing is said */
    ck_assert(!fits.asked && fits.n == 0 && !fits.nearest);
    json_decref(entry);
}
END_TEST

/* ---- profiles ---- */

/* Errors p * 1e-6 at 0 ... 999, one position in each shard where shards > 1. */
static json_t *profile(int shard, int shards)
{
    struct posref_profile *p = posref_profile_new();
    struct posref_buffer text;
    ck_assert_ptr_nonnull(p);
    for (int at = 0; at < 1000; at++)
        if (at % shards == shard)
            posref_profile_see(p, at % 7 == 3 ? -at : at, at * 1e-6, at % 2 ? 1e-7 : -1e-7);
    posref_buffer_init(&text, 1 << 20);
    posref_buffer_text(&text, "[{\"scheme\": \"rope\", \"dtype\": \"f32\", \"failed\": 0, "
                              "\"elements\": 0, \"tried\": [], ");
    posref_profile_json(&text, p, true);
    posref_buffer_text(&text, "}]");
    json_t *list = json_loadb(text.data, text.length, 0, NULL);
    ck_assert_ptr_nonnull(list);
    posref_buffer_clear(&text);
    posref_profile_free(p);
    return list;
}

static void check_profile(const json_t *entry)
{
    const json_t *decade = posref_arithmetic_decade(entry, POSREF_PROFILE_DECADES + 4);
    struct posref_buffer text;
    char label[64];
    posref_profile_label(label, POSREF_PROFILE_DECADES + 4);
    ck_assert_str_eq(label, "100..999");
    ck_assert_int_eq(json_integer_value(json_object_get(decade, "n")), 771);
    ck_assert(json_number_value(json_object_get(decade, "worst")) == 999 * 1e-6);
    /* All but the largest 0.771 of 771: the worst itself, or at most 9 % above the next. */
    ck_assert(posref_decade_most(decade) <= 999e-6 && posref_decade_most(decade) >= 998e-6);
    posref_buffer_init(&text, 1 << 16);
    ck_assert(posref_valid_text(&text, entry));
    ck_assert_str_eq(text.data, "valid to 1 at 1e-06, to 10 at 1e-05, to 100 at 1e-04, to 999 at "
                                "1e-03 (the farthest there was)");
    posref_buffer_clear(&text);
}

START_TEST(profiles_count_decades)
{
    json_t *whole = profile(0, 1);
    check_profile(json_array_get(whole, 0));
    json_decref(whole);
}
END_TEST

START_TEST(shards_are_the_whole)
{
    json_t *all = json_array();
    for (int shard = 2; shard >= 0; shard--) {
        json_t *one = profile(shard, 3);
        posref_arithmetic_merge(all, one);
        json_decref(one);
    }
    ck_assert_uint_eq(json_array_size(all), 1);
    check_profile(json_array_get(all, 0));
    json_decref(all);
}
END_TEST

/* A large error anywhere below bounds what is valid; infinite ones count. */
START_TEST(one_bad_position_ends_it)
{
    struct posref_profile *p = posref_profile_new();
    struct posref_buffer text;
    for (int at = 0; at < 100; at++)
        posref_profile_see(p, at, at == 40 ? HUGE_VAL : 1e-8, 0);
    posref_buffer_init(&text, 1 << 20);
    posref_buffer_text(&text, "{");
    posref_profile_json(&text, p, false);
    posref_buffer_text(&text, "}");
    json_t *entry = json_loadb(text.data, text.length, 0, NULL);
    ck_assert_ptr_nonnull(entry);
    posref_buffer_clear(&text);
    posref_buffer_init(&text, 1 << 16);
    ck_assert(posref_valid_text(&text, entry));
    ck_assert_str_eq(text.data, "valid to 39 at 1e-06");
    posref_buffer_clear(&text);
    json_decref(entry);
    posref_profile_free(p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recipes");
    TCase *tcase = tcase_create("recipes");
    tcase_set_timeout(tcase, 120);
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, every_kernel_is_named, 0, (int)N_KERNELS);
    tcase_add_test(tcase, a_mixture_is_no_recipe);
    tcase_add_test(tcase, what_cannot_be_told_is_said);
    tcase_add_test(tcase, profiles_count_decades);
    tcase_add_test(tcase, shards_are_the_whole);
    tcase_add_test(tcase, one_bad_position_ends_it);
    return run_suite(suite);
}
