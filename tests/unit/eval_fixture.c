/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluations for tests; see eval_fixture.h. */
#include "eval_fixture.h"
#include "tests/unit/suite.h"

#include <math.h>
#include <string.h>

void evaluation_open(struct evaluation *e, const char *spec_text)
{
    memset(e, 0, sizeof *e);
    e->heap = posref_heap_new(0);
    ck_assert_ptr_nonnull(e->heap);
    e->arena = posref_heap_arena(e->heap);
    posref_spec_init(&e->spec);
    bool ok = posref_spec_parse(&e->spec, spec_text, &e->err) == POSREF_OK &&
              posref_spec_complete(&e->spec, &e->err) == POSREF_OK;
    ck_assert_msg(ok, "%s: %s: %s", spec_text, e->err.key, e->err.text);
}

void evaluation_close(struct evaluation *e)
{
    posref_heap_free(e->heap);
    e->heap = NULL;
}

void evaluation_input(struct evaluation *e, const char *name, const double *data, int rank,
                      const int64_t *shape)
{
    struct posref_tensor *tensor = &e->in.item[e->in.n++];
    *tensor = (struct posref_tensor){.dtype = POSREF_F64, .rank = rank};
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    for (int axis = 0; axis < rank; axis++)
        tensor->shape[axis] = shape[axis];
    size_t size_bytes = (size_t)posref_tensor_count(tensor) * sizeof *data;
    tensor->data = e->arena.alloc(e->arena.ctx, size_bytes);
    ck_assert_ptr_nonnull(tensor->data);
    memcpy(tensor->data, data, size_bytes);
}

void evaluation_positions(struct evaluation *e, const double *positions, int64_t n)
{
    evaluation_input(e, "positions", positions, 1, &n);
}

const double *evaluation_output(const struct evaluation *e, const char *name)
{
    const struct posref_tensor *tensor = posref_tensors_find(&e->out, name);
    ck_assert_msg(tensor != NULL, "no output %s", name);
    return tensor->data;
}

const double *evaluation_run(struct evaluation *e, enum posref_op op, const char *output,
                             int64_t *count)
{
    enum posref_status status = posref_eval(&e->out, &e->spec, op, &e->in, &e->arena, &e->err);
    ck_assert_msg(status == POSREF_OK, "%s: %s", e->err.key, e->err.text);
    const double *value = evaluation_output(e, output);
    if (count)
        *count = posref_tensor_count(posref_tensors_find(&e->out, output));
    return value;
}

void evaluation_refused(struct evaluation *e, enum posref_op op, const char *key)
{
    e->out.n = -1;
    enum posref_status status = posref_eval(&e->out, &e->spec, op, &e->in, &e->arena, &e->err);
    ck_assert_msg(status == POSREF_BAD_INPUT, "status %d, wanted a refusal of %s", (int)status,
                  key);
    ck_assert_str_eq(e->err.key, key);
    ck_assert_int_eq(e->out.n, -1);
}

void rotate_rows(double *y, const char *spec_text, const double *positions, const double *x,
                 int64_t n)
{
    struct evaluation e;
    evaluation_open(&e, spec_text);
    evaluation_positions(&e, positions, n);
    evaluation_input(&e, "x", x, 2, (const int64_t[]){n, e.spec.dim});
    const double *got = evaluation_run(&e, POSREF_OP_ROTATE, "y", NULL);
    memcpy(y, got, (size_t)(n * e.spec.dim) * sizeof *y);
    evaluation_close(&e);
}

double next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    double mantissa = (double)(int64_t)((*seed >> 33) % 2048) - 1024; /* [-1024, 1023] */
    return mantissa / 512;
}

int run_evaluations(const char *name, const TTest *const *tests, size_t n_tests)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    for (size_t k = 0; k < n_tests; k++)
        tcase_add_test(tcase, tests[k]);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
