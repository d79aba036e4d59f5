/* SPDX-License-Identifier: Apache-2.0 */
/* The error model: honest kernels are never accused and get the grade they deserve; the 26 seeded
 * faults are killed where docs/tolerance.md says so. */
#include "judge_kernels.h"
#include "tests/unit/suite.h"
#include "vectors/vectors.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEADS 2

static const char *const specs[] = {
    "scheme=rope dim=128 base=10000",
    "scheme=rope dim=128 base=10000 pairing=interleaved direction=inverse",
    "scheme=rope dim=2 base=10000",
    "scheme=rope dim=6 base=10000",
    "scheme=rope dim=24 base=500000 pairing=interleaved",
    "scheme=rope dim=80 base=10000 rotary_dim=32",
    "scheme=rope dim=96 base=1000000",
    "scheme=rope dim=256 base=1000000",
    "scheme=rope dim=64 base=150000 pairing=interleaved",
    "scheme=rope dim=128 base=1000000 scaling=linear factor=8",
    "scheme=rope dim=128 base=10000 scaling=linear factor=3",
    "scheme=rope dim=128 base=10000 scaling=ntk factor=8",
    "scheme=rope dim=80 base=10000 scaling=ntk factor=4",
    "scheme=rope dim=128 base=1000000 scaling=yarn factor=4 "
    "original_max_position_embeddings=32768",
    "scheme=rope dim=64 base=150000 scaling=yarn factor=32 "
    "original_max_position_embeddings=4096 truncate=false",
    "scheme=rope dim=64 base=10000 scaling=yarn factor=40 "
    "original_max_position_embeddings=4096 mscale=0.707 mscale_all_dim=1 pairing=interleaved",
    "scheme=rope dim=64 base=10000 pairing=interleaved xpos_scale_base=1000000000",
    "scheme=rope dim=40 base=10000 xpos_scale_base=1000000000 xpos_center=1024 xpos_side=key",
    "scheme=rope dim=48 base=1000 scaling=yarn factor=8 range_rule=half mscale_rule=telechat "
    "original_max_position_embeddings=131072",
    "scheme=rope dim=48 base=10000 scaling=yarn factor=4 range_rule=unclamped truncate=false "
    "original_max_position_embeddings=100 mscale=0.707 mscale_rule=ratio",
    "scheme=rope dim=32 base=10 scaling=yarn factor=4 range_rule=at_least "
    "original_max_position_embeddings=1000000 attention_factor=0.9 "
    "attention_factor_rule=multiplies",
    "scheme=rope dim=128 base=500000 scaling=llama3 factor=8 "
    "original_max_position_embeddings=8192",
    "scheme=rope dim=64 base=500000 scaling=llama3 factor=32 "
    "original_max_position_embeddings=8192",
    "scheme=rope dim=128 base=500000 scaling=llama3 factor=16 low_freq_factor=1 "
    "high_freq_factor=1 original_max_position_embeddings=8192",
    "scheme=rope dim=64 base=10000 pairing=interleaved_to_half",
    "scheme=rope dim=64 base=10000 rotary_dim=48 partial=trailing pairing=interleaved",
    "scheme=rope dim=20 base=10000 pairing=mismatched",
    "scheme=rope dim=80 base=10000 rotary_dim=52 pairing=mismatched direction=inverse",
    "scheme=rope dim=96 base=1000000 partial=proportional partial_rotary_factor=0.25",
    "scheme=rope dim=64 base=1000 scaling=dynamic factor=2 original_max_position_embeddings=32",
    "scheme=rope dim=128 base=10000 scaling=dynamic factor=10 seq_len=2049 "
    "original_max_position_embeddings=2048",
    "scheme=rope dim=128 base=10000 scaling=dynamic_constant factor=4",
    "scheme=rope dim=128 base=10000 scaling=dynamic_alpha original_max_position_embeddings=2048",
    "scheme=rope dim=64 base=10000 scaling=dynamic_linear factor=4 "
    "original_max_position_embeddings=512",
    "scheme=rope dim=128 base=10000 scaling=ntk_fixed factor=8",
    "scheme=rope dim=128 base=10000 scaling=ntk_mixed factor=8 mixed_b=0.625",
    "scheme=rope dim=16 base=10000 scaling=longrope factor=32 "
    "original_max_position_embeddings=2048 "
    "short_factor=1,1.05,1.1,1.25,1.4,2,2.35,3.05 "
    "long_factor=1.0299999713897705,1.23,1.9,5.49,15.77,32.35,57.95,64.81",
};
#define N_SPECS (sizeof specs / sizeof *specs)

static const double position_sets[][8] = {
    {0, 1, 2, 3, 17, 31, 40, 63},
    {255, 256, 257, 511, 1023, 2047, 2048, 2049},
    {-1, -2, -17, 4095, 4096, 4097, -4095, 8191},
    {16384, 32767, 32768, 32769, 40961, 65535, 131071, 131072},
    {262143, 524287, 1048575, 1048576, -1048575, -131071, 2097151, 16777216},
    {16777217, 33554433, 100000007, 2147483647, -2147483647, 5, 0.5, 1000.25},
};
#define N_SETS (sizeof position_sets / sizeof *position_sets)

struct fixture {
    struct posref_heap *heap;
    struct posref_arena arena;
    struct posref_spec spec;
    struct posref_tensors in, golden;
    double *x;
    const double *positions;
};

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static struct posref_tensor tensor(const char *name, int rank, const int64_t *shape, double *data)
{
    struct posref_tensor out = {.dtype = POSREF_F64, .rank = rank, .data = data};
    snprintf(out.name, sizeof out.name, "%s", name);
    memcpy(out.shape, shape, (size_t)rank * sizeof *shape);
    return out;
}

static void set_up(struct fixture *f, const char *text, const double positions[8])
{
    struct posref_error err = {"", ""};
    f->heap = posref_heap_new(0);
    ck_assert_ptr_nonnull(f->heap);
    f->arena = posref_heap_arena(f->heap);
    posref_spec_init(&f->spec);
    ck_assert_int_eq(posref_spec_parse(&f->spec, text, &err), POSREF_OK);
    ck_assert_msg(posref_spec_complete(&f->spec, &err) == POSREF_OK, "%s: %s", err.key, err.text);
    const int64_t count = 8 * HEADS * f->spec.dim;
    f->x = f->arena.alloc(f->arena.ctx, (size_t)count * sizeof(double));
    uint64_t state = 20261129;
    for (int64_t k = 0; k < count; k++) {
        double value = (double)(1 + next_random(&state) % 127) / 64;
        f->x[k] = next_random(&state) % 2 ? value : -value;
    }
    double *copy = f->arena.alloc(f->arena.ctx, 8 * sizeof(double));
    memcpy(copy, positions, 8 * sizeof(double));
    f->positions = copy;
    const struct posref_tensors at = {.n = 1,
                                      .item = {tensor("positions", 1, (const int64_t[]){8}, copy)}};
    ck_assert_int_eq(posref_spec_settle(&f->spec, &at, &err), POSREF_OK);
    f->in.n = 2;
    f->in.item[0] = tensor("positions", 1, (const int64_t[]){8}, copy);
    f->in.item[1] = tensor("x", 3, (const int64_t[]){8, HEADS, f->spec.dim}, f->x);
    ck_assert_msg(posref_eval(&f->golden, &f->spec, POSREF_OP_ROTATE, &f->in, &f->arena, &err) ==
                      POSREF_OK, "%s: %s", err.key, err.text);
}

/* The values as a tensor of the dtype. */
static struct posref_tensor packed(struct fixture *f, const struct posref_tensor *like,
                                   const double *values, enum posref_dtype dtype)
{
    struct posref_tensor out = *like;
    int64_t count = posref_tensor_count(like);
    size_t size = posref_dtype_size(dtype);
    unsigned char *data = f->arena.alloc(f->arena.ctx, (size_t)count * size);
    for (int64_t k = 0; k < count; k++) {
        uint32_t bits = dtype == POSREF_F64 ? 0 : posref_narrow(values[k], dtype);
        uint16_t half = (uint16_t)bits;
        if (dtype == POSREF_F64)
            memcpy(data + (size_t)k * size, &values[k], 8);
        else if (size == 4)
            memcpy(data + (size_t)k * size, &bits, 4);
        else
            memcpy(data + (size_t)k * size, &half, 2);
    }
    out.dtype = dtype;
    out.data = data;
    return out;
}

static struct posref_judgement judge(struct fixture *f, enum posref_dtype dtype,
                                     enum arithmetic arithmetic, enum kernel_fault fault)
{
    struct posref_error err = {"", ""};
    struct posref_judgement out;
    struct posref_tensors actual = {.n = 1};
    int64_t count = posref_tensor_count(&f->golden.item[0]);
    double *y = f->arena.alloc(f->arena.ctx, (size_t)count * sizeof *y);
    kernel_rotate(y, &f->spec, f->x, f->positions, 8, HEADS, dtype, arithmetic, fault);
    actual.item[0] = packed(f, &f->golden.item[0], y, dtype);
    ck_assert_msg(posref_judge(&out, &f->spec, POSREF_OP_ROTATE, &f->in, &f->golden, &actual, dtype,
                               posref_grade_default(dtype), &f->arena, &err) == POSREF_OK,
                  "%s: %s", err.key, err.text);
    return out;
}

/* The worst grade that an honest kernel of this arithmetic may get in this dtype. */
static enum posref_grade deserved(enum arithmetic arithmetic, enum posref_dtype dtype)
{
    switch (arithmetic) {
    case ARITHMETIC_DOUBLE: return dtype == POSREF_F64 ? POSREF_GRADE_EXACT : POSREF_GRADE_FLOAT32;
    case ARITHMETIC_FLOAT32:
    case ARITHMETIC_EXPF: return POSREF_GRADE_FLOAT32;
    case ARITHMETIC_RECURRENCE: return POSREF_GRADE_RECURRENCE;
    case ARITHMETIC_HARDWARE: return POSREF_GRADE_FAST;
    default: return POSREF_GRADE_LOW;
    }
}

static const enum posref_dtype dtypes[] = {POSREF_F64, POSREF_F32, POSREF_F16, POSREF_BF16};

START_TEST(honest_kernels_are_not_accused)
{
    for (size_t s = 0; s < N_SPECS; s++)
        for (size_t set = 0; set < N_SETS; set++) {
            struct fixture f;
            set_up(&f, specs[s], position_sets[set]);
            for (int d = 0; d < 4; d++)
                for (int a = 0; a < N_ARITHMETICS; a++) {
                    /* ggml divides by llama3's factors and changes ntk's base before the call. */
                    if (a == ARITHMETIC_RECURRENCE && (f.spec.scaling == POSREF_SCALING_LLAMA3))
                        continue;
                    if (a == ARITHMETIC_LOW && d < 2)
                        continue;
                    struct posref_judgement j =
                        judge(&f, dtypes[d], (enum arithmetic)a, FAULT_NONE);
                    ck_assert_msg(j.grade <= deserved((enum arithmetic)a, dtypes[d]),
                                  "%s, positions %zu, %s, arithmetic %d: grade %s, %s; "
                                  "pair %d at %.17g: got %.17g want %.17g, %g u, %g limits, "
                                  "bias %g norm bias %g",
                                  specs[s], set, posref_dtype_name(dtypes[d]), a,
                                  posref_grade_name(j.grade), posref_breach_text(j.breach), j.pair,
                                  j.position, j.got, j.want, j.error_u, j.error_limits, j.bias_u,
                                  j.norm_bias_u);
                }
            posref_heap_free(f.heap);
        }
}
END_TEST

/* Better than deserved, on at least one case, would make the grades empty words. */
START_TEST(grades_tell_arithmetics_apart)
{
    struct fixture f;
    set_up(&f, specs[0], position_sets[3]);
    ck_assert_int_eq(judge(&f, POSREF_F64, ARITHMETIC_DOUBLE, FAULT_NONE).grade,
                     POSREF_GRADE_EXACT);
    ck_assert_int_eq(judge(&f, POSREF_F64, ARITHMETIC_FLOAT32, FAULT_NONE).grade,
                     POSREF_GRADE_FLOAT32);
    ck_assert_int_eq(judge(&f, POSREF_F32, ARITHMETIC_RECURRENCE, FAULT_NONE).grade,
                     POSREF_GRADE_RECURRENCE);
    ck_assert_int_eq(judge(&f, POSREF_F32, ARITHMETIC_HARDWARE, FAULT_NONE).grade,
                     POSREF_GRADE_FAST);
    ck_assert_int_eq(judge(&f, POSREF_BF16, ARITHMETIC_LOW, FAULT_NONE).grade, POSREF_GRADE_LOW);
    posref_heap_free(f.heap);
}
END_TEST

/* A kernel that computes another spec, honestly, in float32. */
static const struct {
    const char *right, *wrong;
} other_specs[] = {
    {"dim=64 pairing=interleaved_to_half", "dim=64 pairing=interleaved"},
    {"dim=64 pairing=interleaved_to_half", "dim=64 pairing=half"},
    {"dim=64 pairing=mismatched", "dim=64 pairing=interleaved"},
    {"dim=64 pairing=interleaved", "dim=64 pairing=mismatched"},
    {"dim=64 rotary_dim=32 partial=trailing", "dim=64 rotary_dim=32"},
    {"dim=64 rotary_dim=32", "dim=64 rotary_dim=32 partial=trailing"},
    {"dim=96 partial=proportional partial_rotary_factor=0.25", "dim=96 rotary_dim=24"},
    {"dim=96 partial=proportional partial_rotary_factor=0.25", "dim=96"},
    {"dim=96 partial=proportional partial_rotary_factor=0.25",
     "dim=96 partial=proportional partial_rotary_factor=0.2709"},
    {"dim=64 scaling=dynamic factor=4 seq_len=5000 original_max_position_embeddings=4096",
     "dim=64"},
    {"dim=64 scaling=dynamic factor=4 seq_len=8192 original_max_position_embeddings=4096",
     "dim=64 scaling=dynamic_constant factor=4"},
    {"dim=64 scaling=dynamic_alpha seq_len=4097 original_max_position_embeddings=2048",
     "dim=64 scaling=dynamic_alpha seq_len=4096 original_max_position_embeddings=2048"},
    {"dim=64 scaling=dynamic_linear factor=4 seq_len=9000 original_max_position_embeddings=2048",
     "dim=64 scaling=linear factor=4"},
    {"dim=64 scaling=ntk_fixed factor=4", "dim=64 scaling=ntk factor=4"},
    {"dim=64 scaling=ntk_mixed factor=4 mixed_b=0.625", "dim=64 scaling=ntk_fixed factor=4"},
    {"dim=64 scaling=ntk_by_parts factor=4 original_max_position_embeddings=4096",
     "dim=64 scaling=yarn factor=4 original_max_position_embeddings=4096 attention_factor=1"},
    {"dim=8 scaling=longrope factor=32 original_max_position_embeddings=4096 seq_len=4096 "
     "short_factor=1,1.05,2,3 long_factor=1,1.25,4,9",
     "dim=8 scaling=longrope factor=32 original_max_position_embeddings=4096 seq_len=4097 "
     "short_factor=1,1.05,2,3 long_factor=1,1.25,4,9"},
};

START_TEST(other_specs_fail)
{
    for (size_t k = 0; k < sizeof other_specs / sizeof *other_specs; k++)
        for (size_t set = 0; set < 4; set++) {
            struct fixture right, wrong;
            set_up(&right, other_specs[k].right, position_sets[set]);
            set_up(&wrong, other_specs[k].wrong, position_sets[set]);
            for (int d = 1; d < 4; d++) {
                struct posref_error err = {"", ""};
                struct posref_judgement out;
                struct posref_tensors actual = {.n = 1};
                const struct posref_tensor *want = &right.golden.item[0];
                double *y = right.arena.alloc(right.arena.ctx, (size_t)posref_tensor_count(want) *
                                                                   sizeof *y);
                kernel_rotate(y, &wrong.spec, right.x, right.positions, 8, HEADS, dtypes[d],
                              ARITHMETIC_FLOAT32, FAULT_NONE);
                actual.item[0] = packed(&right, want, y, dtypes[d]);
                ck_assert_int_eq(posref_judge(&out, &right.spec, POSREF_OP_ROTATE, &right.in,
                                              &right.golden, &actual, dtypes[d],
                                              posref_grade_default(dtypes[d]), &right.arena, &err),
                                 POSREF_OK);
                ck_assert_msg(!out.pass, "%s passes for %s, positions %zu, %s",
                              other_specs[k].wrong, other_specs[k].right, set,
                              posref_dtype_name(dtypes[d]));
            }
            posref_heap_free(right.heap);
            posref_heap_free(wrong.heap);
        }
}
END_TEST

/* Kill table: for each fault, in each dtype, how many of the position sets of dim 128 catch it at
 * the default gate (16-bit also at gate fast, which asks for float32 tables). */
START_TEST(seeded_faults_are_killed)
{
    int killed[N_FAULTS][5] = {{0}};
    for (size_t set = 0; set < 5; set++) {
        struct fixture f;
        set_up(&f, specs[0], position_sets[set]);
        for (int fault = 0; fault < N_FAULTS; fault++)
            for (int d = 0; d < 5; d++) {
                enum posref_dtype dtype = d < 4 ? dtypes[d] : POSREF_BF16;
                enum arithmetic honest = dtype == POSREF_F64 ? ARITHMETIC_DOUBLE
                                                             : ARITHMETIC_FLOAT32;
                struct posref_judgement j = judge(&f, dtype, honest, (enum kernel_fault)fault);
                killed[fault][d] += d == 4 ? j.grade > POSREF_GRADE_FAST : !j.pass;
            }
        posref_heap_free(f.heap);
    }
    if (getenv("POSREF_SHOW"))
        for (int fault = 0; fault < N_FAULTS; fault++)
            printf("%-26s f64 %d  f32 %d  f16 %d  bf16 %d  bf16 at fast %d\n",
                   kernel_fault_names[fault], killed[fault][0], killed[fault][1], killed[fault][2],
                   killed[fault][3], killed[fault][4]);
    for (int fault = 1; fault < N_FAULTS; fault++) {
        /* A recipe of ggml's, and hardware's sine: recognised by their grades, not killed. */
        if (fault == FAULT_RECURRENCE)
            continue;
        int most = 0;
        for (int d = 0; d < 5; d++)
            most = killed[fault][d] > most ? killed[fault][d] : most;
        ck_assert_msg(most > 0, "%s lives", kernel_fault_names[fault]);
    }
    for (int d = 0; d < 5; d++)
        ck_assert_int_eq(killed[FAULT_NONE][d], 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("judge");
    TCase *tests = tcase_create("rotate");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, honest_kernels_are_not_accused);
    tcase_add_test(tests, grades_tell_arithmetics_apart);
    tcase_add_test(tests, other_specs_fail);
    tcase_add_test(tests, seeded_faults_are_killed);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
