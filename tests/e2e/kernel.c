/* SPDX-License-Identifier: Apache-2.0 */
/* The reference itself as a program for exec:, each answer rounded once: right for every scheme, op
 * and dtype. `kernel FAULT` is wrong in one way that a property is there to see. */
#include "harness/trial.h"
#include "vectors/files.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BYTES ((size_t)64 << 20)

static struct posref_error err;

static void need(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "kernel: %s: %s %s\n", what, err.key, err.text);
    exit(3);
}

static bool read_all(void *to, size_t size)
{
    for (size_t n = 0; n < size;) {
        const ssize_t more = read(STDIN_FILENO, (char *)to + n, size - n);
        if (more <= 0)
            return false;
        n += (size_t)more;
    }
    return true;
}

static void answer(const struct posref_tensors *set, const char *const *metadata)
{
    struct posref_buffer document;
    posref_buffer_init(&document, MAX_BYTES);
    posref_safetensors_add(&document, set, metadata);
    const uint64_t length = document.length;
    need(!document.failed, "answer");
    need(fwrite(&length, sizeof length, 1, stdout) == 1 &&
             fwrite(document.data, document.length, 1, stdout) == 1 && fflush(stdout) == 0,
         "stdout");
    posref_buffer_clear(&document);
}

/* ---- faults ---- */

static double *data_of(const struct posref_tensors *set, const char *name, int64_t *n)
{
    const struct posref_tensor *tensor = posref_tensors_find(set, name);
    *n = tensor ? posref_tensor_count(tensor) : 0;
    return tensor ? tensor->data : NULL;
}

/* Of the question. */
static void bend_question(struct posref_spec *spec, struct posref_tensors *in, enum posref_op op,
                          const char *fault)
{
    int64_t n;
    double *value;
    if (strcmp(fault, "gradient_forward") == 0 && op == POSREF_OP_ROTATE_BACKWARD)
        spec->direction = POSREF_DIRECTION_INVERSE;
    if (strcmp(fault, "threshold_large") == 0)
        spec->threshold = 1e6;
    if (strcmp(fault, "threshold_one") == 0)
        spec->threshold = 1;
    if (strcmp(fault, "entry_shared") == 0 && (value = data_of(in, "weights", &n))) {
        const int64_t width = n / posref_tensors_find(in, "weights")->shape[0];
        memcpy(value + width, value, (size_t)width * sizeof *value);
    }
}

/* What is added to element (..., i, j) of an answer; first: the first position. */
static double column(int64_t i, int64_t j, double first)
{
    return (void)i, (void)first, 128.0 * (double)j;
}
static double row(int64_t i, int64_t j, double first)
{
    return (void)j, (void)first, 128.0 * (double)i;
}
static double one(int64_t i, int64_t j, double first) { return (void)i, (void)j, (void)first, 128; }
static double far(int64_t i, int64_t j, double first) { return (void)i, (void)j, first; }

static void add_to_grid(struct posref_tensor *out, double (*by)(int64_t, int64_t, double),
                        double first)
{
    const int64_t n_k = out->shape[out->rank - 1];
    const int64_t n_q = out->rank > 1 ? out->shape[out->rank - 2] : 1;
    for (int64_t e = 0; e < posref_tensor_count(out); e++) {
        const double more = by(e / n_k % n_q, e % n_k, first);
        if (out->dtype == POSREF_I64)
            ((int64_t *)out->data)[e] += (int64_t)more;
        else
            ((double *)out->data)[e] += more;
    }
}

static void bend_answer(struct posref_tensor *out, const struct posref_tensors *in,
                        const char *fault)
{
    static const struct {
        const char *name;
        double (*by)(int64_t, int64_t, double);
    } grids[] = {{"column", column}, {"row", row}, {"one", one}, {"far", far}};
    int64_t n;
    const double *q_at = data_of(in, "q_positions", &n), *at = data_of(in, "positions", &n);
    for (size_t k = 0; k < sizeof grids / sizeof *grids; k++)
        if (strcmp(fault, grids[k].name) == 0)
            add_to_grid(out, grids[k].by, q_at ? q_at[0] : at ? at[0] : 0);
    const double *v = data_of(in, "v", &n);
    const int64_t width = v ? n / posref_tensors_find(in, "v")->shape[0] : 0;
    for (int64_t e = 0; e < posref_tensor_count(out); e++)
        if (strcmp(fault, "index_halved") == 0 && out->dtype == POSREF_I64)
            ((int64_t *)out->data)[e] /= 2;
        else if (strcmp(fault, "last_key_twice") == 0 && v)
            ((double *)out->data)[e] += v[n - width + e % width];
}

/* ---- calls ---- */

static void run(const struct posref_safetensors *question, const char *fault)
{
    char text[8192];
    struct posref_heap *heap = posref_heap_new(0);
    need(heap != NULL, "memory");
    const struct posref_arena arena = posref_heap_arena(heap);
    struct posref_tensors in, out, narrow = {.n = 0};
    struct posref_spec spec;
    const enum posref_op op =
        (enum posref_op)posref_op_find(posref_safetensors_metadata(question, "op"));
    snprintf(text, sizeof text, "%s", posref_safetensors_metadata(question, "spec"));
    char *plus = strchr(text, '+'); /* what is newer than a plugin need know: call_spec.h */
    if (plus && strstr(text, " scaling="))
        memset(plus, ' ', strcspn(plus, " "));
    need(posref_spec_typed(&spec, text, " ", &err) == POSREF_OK, "spec");
    need(posref_safetensors_load(&in, question, true, &arena, &err) == POSREF_OK, "inputs");
    need(posref_spec_complete(&spec, &err) == POSREF_OK, "spec");
    bend_question(&spec, &in, op, fault);
    need(posref_eval(&out, &spec, op, &in, &arena, &err) == POSREF_OK, "eval");
    bend_answer(&out.item[0], &in, fault);
    json_t *wanted = json_loads(posref_safetensors_metadata(question, "outputs"), 0, NULL);
    for (size_t k = 0; k < json_array_size(wanted); k++) {
        const json_t *one_of = json_array_get(wanted, k);
        const char *name = json_string_value(json_object_get(one_of, "name"));
        const char *type = json_string_value(json_object_get(one_of, "dtype"));
        const struct posref_tensor *from = posref_tensors_find(&out, name);
        int dtype = 0;
        while (dtype < POSREF_N_DTYPES &&
               strcmp(posref_stored_name((enum posref_dtype)dtype), type) != 0)
            dtype++;
        need(from && dtype < POSREF_N_DTYPES, name);
        struct posref_tensor *to = &narrow.item[narrow.n++];
        *to = *from;
        if (from->dtype == POSREF_F64)
            need(posref_tensor_narrow(to, from, (enum posref_dtype)dtype, &arena,
                                      &err) == POSREF_OK, name);
    }
    answer(&narrow, (const char *const[]){"status", "ok", NULL});
    json_decref(wanted);
    posref_heap_free(heap);
}

int main(int argc, char **argv)
{
    const char *fault = argc > 1 ? argv[1] : "";
    uint64_t length;
    while (read_all(&length, sizeof length)) {
        struct posref_safetensors question = {.n = 0};
        void *document = length <= MAX_BYTES ? malloc(length) : NULL;
        need(document && read_all(document, length), "stdin");
        need(posref_safetensors_parse(&question, document, length, "question", &err) == POSREF_OK,
             "question");
        if (strcmp(posref_safetensors_metadata(&question, "call"), "open") == 0)
            answer(&(struct posref_tensors){.n = 0},
                   (const char *const[]){"status", "ok", "name", "kernel", "version", "1", NULL});
        else
            run(&question, fault);
        posref_safetensors_close(&question);
        free(document);
    }
    return 0;
}
