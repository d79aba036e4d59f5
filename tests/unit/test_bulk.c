/* SPDX-License-Identifier: Apache-2.0 */
/* posref_eval_bulk gives the bytes and the errors of posref_eval. */
#include "tests/unit/suite.h"
#include "vectors/vectors.h"

#include <check.h>
#include <math.h>
#include <string.h>

#define N_POSITIONS 1111

struct fixture {
    struct posref_heap *heap;
    struct posref_arena arena;
    struct posref_spec spec;
    struct posref_tensors in;
    double *positions;
};

static void set_up(struct fixture *f, const char *text, const char *rows, int64_t heads)
{
    struct posref_error err = {"", ""};
    f->heap = posref_heap_new(0);
    f->arena = posref_heap_arena(f->heap);
    posref_spec_init(&f->spec);
    ck_assert_int_eq(posref_spec_parse(&f->spec, text, &err), POSREF_OK);
    ck_assert_int_eq(posref_spec_complete(&f->spec, &err), POSREF_OK);
    f->positions = f->arena.alloc(f->arena.ctx, N_POSITIONS * sizeof(double));
    for (int k = 0; k < N_POSITIONS; k++)
        f->positions[k] = k % 3 ? k * 1931.0 : -k;
    f->in = (struct posref_tensors){.n = 1};
    f->in.item[0] = (struct posref_tensor){.name = "positions", .dtype = POSREF_F64, .rank = 1,
                                           .shape = {N_POSITIONS}, .data = f->positions};
    if (!rows)
        return;
    int64_t count = N_POSITIONS * heads * f->spec.dim;
    double *x = f->arena.alloc(f->arena.ctx, (size_t)count * sizeof(double));
    for (int64_t k = 0; k < count; k++)
        x[k] = (double)(k % 251 - 125) / 64;
    struct posref_tensor *tensor = &f->in.item[f->in.n++];
    *tensor = (struct posref_tensor){.dtype = POSREF_F64, .rank = 3,
                                     .shape = {N_POSITIONS, heads, f->spec.dim}, .data = x};
    snprintf(tensor->name, sizeof tensor->name, "%s", rows);
}

static void expect_same(const struct posref_tensors *a, const struct posref_tensors *b)
{
    ck_assert_int_eq(a->n, b->n);
    for (int k = 0; k < a->n; k++) {
        ck_assert_str_eq(a->item[k].name, b->item[k].name);
        ck_assert_int_eq(a->item[k].rank, b->item[k].rank);
        ck_assert_mem_eq(a->item[k].shape, b->item[k].shape,
                         (size_t)a->item[k].rank * sizeof a->item[k].shape[0]);
        ck_assert_mem_eq(a->item[k].data, b->item[k].data,
                         (size_t)posref_tensor_count(&a->item[k]) * sizeof(double));
    }
}

START_TEST(same_bytes)
{
    static const struct {
        const char *spec;
        const char *rows; /* an input, or NULL */
        enum posref_op op;
    } cases[] = {
        {"scheme=rope dim=128", NULL, POSREF_OP_TABLE},
        {"scheme=rope dim=64 rotary_dim=48 pairing=interleaved direction=inverse", "x",
         POSREF_OP_ALL},
        {"scheme=rope dim=64 scaling=yarn factor=4 original_max_position_embeddings=4096", "x",
         POSREF_OP_ROTATE},
        {"scheme=sinusoidal dim=64 order=concat", "x", POSREF_OP_ALL},
        {"scheme=rope dim=64", NULL, POSREF_OP_FREQUENCIES},
        {"scheme=rope dim=2", NULL, POSREF_OP_TABLE},
        {"scheme=rope dim=64 pairing=interleaved_to_half", "dy", POSREF_OP_ROTATE_BACKWARD},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct fixture f;
        struct posref_tensors bulk, whole;
        set_up(&f, cases[c].spec, cases[c].rows, 2);
        ck_assert_int_eq(posref_eval_bulk(&bulk, &f.spec, cases[c].op, &f.in, &f.arena, NULL),
                         POSREF_OK);
        ck_assert_int_eq(posref_eval(&whole, &f.spec, cases[c].op, &f.in, &f.arena, NULL),
                         POSREF_OK);
        expect_same(&bulk, &whole);
        posref_heap_free(f.heap);
    }
}
END_TEST

START_TEST(same_errors)
{
    struct fixture f;
    struct posref_tensors out = {.n = 77};
    struct posref_error bulk = {"", ""}, whole = {"", ""};
    set_up(&f, "scheme=rope dim=128", "x", 1);
    f.positions[N_POSITIONS - 2] = 3e9; /* in the last part, told by its place in the whole */
    ck_assert_int_eq(posref_eval_bulk(&out, &f.spec, POSREF_OP_ALL, &f.in, &f.arena, &bulk),
                     POSREF_BAD_INPUT);
    ck_assert_int_eq(posref_eval(&out, &f.spec, POSREF_OP_ALL, &f.in, &f.arena, &whole),
                     POSREF_BAD_INPUT);
    ck_assert_str_eq(bulk.key, whole.key);
    ck_assert_str_eq(bulk.text, whole.text);
    ck_assert_int_eq(out.n, 77);
    f.positions[N_POSITIONS - 2] = 3;
    f.in.item[1].shape[0]--; /* x of another length */
    ck_assert_int_eq(posref_eval_bulk(&out, &f.spec, POSREF_OP_ALL, &f.in, &f.arena, &bulk),
                     POSREF_BAD_INPUT);
    ck_assert_str_eq(bulk.key, "x");
    posref_heap_free(f.heap);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bulk");
    TCase *tests = tcase_create("bulk");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, same_bytes);
    tcase_add_test(tests, same_errors);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
