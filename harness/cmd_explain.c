/* SPDX-License-Identifier: Apache-2.0 */
/* The command posref explain: saved inputs and outputs in, verdict and causes out. */
#include "check.h"
#include "command_words.h"
#include "commands.h"
#include "float8.h"
#include "probe.h"
#include "vectors/files.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: posref explain KEY=VALUE... --input FILE --output FILE [OPTION]...\n\n"
    "Judges and explains what any program saved. The keys are the spec that it was meant to\n"
    "follow (and op, or inputs, as posref eval takes them; they win over tensors). FILE is\n"
    "safetensors, its tensors named as posref eval names them: x, positions, q, k, v, ... in the\n"
    "input; y, cos, sin, inv_freq, table, slopes, bias, ... in the output.\n\n"
    "  --input FILE         may be left out where the keys say all\n"
    "  --output FILE        what came out\n"
    "  --dtype NAME         f64, f32, f16, bf16, f8e4m3 or f8e5m2: what it was computed in\n"
    "                       (default: the file's)\n"
    "  --min-grade GRADE    what passes: exact, float32, recurrence, fast or low\n"
    "  --format text|json   default text\n\n"
    "Exit codes: 0 conforms; 1 does not; 2 bad input; 3 posref failed.\n\n"
    "Example:\n  posref explain scheme=rope dim=64 --input in.safetensors --output y.safetensors\n";

struct arguments {
    const char *input, *output, *dtype, *min_grade, *format;
    bool json;
    struct posref_request request;
};

static enum posref_status read_arguments(struct arguments *a, int argc, char **argv,
                                         const struct posref_arena *arena,
                                         struct posref_error *err)
{
    const struct posref_option options[] = {{"--input", &a->input, NULL},
                                            {"--output", &a->output, NULL},
                                            {"--dtype", &a->dtype, NULL},
                                            {"--min-grade", &a->min_grade, NULL},
                                            {"--format", &a->format, NULL},
                                            {NULL, NULL, NULL}};
    a->format = "text";
    posref_request_init(&a->request);
    enum posref_status status = posref_options_read(options, &argc, argv, err);
    for (int i = 1; i < argc && status == POSREF_OK; i++) {
        char key[POSREF_WORD_KEY_SIZE];
        const char *value;
        status = posref_word_pair(key, &value, argv[i], err);
        if (status == POSREF_OK)
            status = posref_request_set(&a->request, key, value, arena, err);
    }
    if (status == POSREF_OK)
        status = posref_format_json(&a->json, a->format, err);
    if (status == POSREF_OK && !a->output)
        return posref_bad_word(err, "--output", "missing: the file with what came out");
    return status;
}

static enum posref_status load(struct posref_tensors *out, const char *path, bool as_f64,
                               const struct posref_arena *arena, struct posref_error *err)
{
    struct posref_safetensors st;
    enum posref_status status = posref_safetensors_open(&st, path, err);
    if (status != POSREF_OK)
        return status;
    status = posref_safetensors_load(out, &st, as_f64, arena, err);
    posref_safetensors_close(&st);
    if (status == POSREF_OK && out->n == 0)
        return posref_bad_word(err, path, "holds no tensor");
    return status;
}

/* Tensors that no key has given. */
static enum posref_status add_inputs(struct arguments *a, const struct posref_arena *arena,
                                     struct posref_error *err)
{
    struct posref_tensors in;
    enum posref_status status = load(&in, a->input, true, arena, err);
    const bool own = posref_tensors_find(&a->request.inputs, "q_positions") &&
                     posref_tensors_find(&a->request.inputs, "k_positions");
    for (int i = 0; i < in.n && status == POSREF_OK; i++) {
        const double *value = in.item[i].data;
        for (int64_t k = 0; k < posref_tensor_count(&in.item[i]); k++)
            if (!isfinite(value[k]))
                return posref_fail(err, POSREF_BAD_INPUT, in.item[i].name,
                                   "element %lld of the input is no finite number", (long long)k);
        if (!posref_tensors_find(&a->request.inputs, in.item[i].name) &&
            !(own && strcmp(in.item[i].name, "positions") == 0))
            status = posref_request_add(&a->request, &in.item[i], err);
    }
    return status;
}

static bool is_float(enum posref_dtype dtype)
{
    return dtype != POSREF_I32 && dtype != POSREF_I64;
}

/* The op whose outputs the file has; with one given, that. */
static enum posref_status find_op(struct posref_vector *vector, const struct arguments *a,
                                  const struct posref_tensors *got,
                                  const struct posref_arena *arena, struct posref_error *err)
{
    int found = -1;
    for (int op = POSREF_OP_ALL + 1; op < POSREF_N_OPS; op++) {
        struct posref_tensors golden;
        if (!posref_op_applies((enum posref_op)op, &vector->spec) ||
            (a->request.op_given && a->request.op != (enum posref_op)op) ||
            posref_eval(&golden, &vector->spec, (enum posref_op)op, &vector->inputs, arena, err) !=
                POSREF_OK)
            continue;
        bool any = false;
        for (int i = 0; i < golden.n; i++)
            any = any || posref_tensors_find(got, golden.item[i].name);
        if (!any)
            continue;
        if (found >= 0)
            return posref_fail(err, POSREF_BAD_INPUT, a->output,
                               "holds outputs of op=%s and op=%s: say which",
                               posref_op_name((enum posref_op)found),
                               posref_op_name((enum posref_op)op));
        found = op;
        vector->outputs = golden;
    }
    if (found < 0 && a->request.op_given) /* why the reference would not */
        return posref_eval(&vector->outputs, &vector->spec, a->request.op, &vector->inputs, arena,
                           err) == POSREF_OK
                   ? posref_bad_word(err, a->output, "holds no output of this op")
                   : POSREF_BAD_INPUT;
    if (found < 0)
        return posref_fail(err, POSREF_BAD_INPUT, a->output,
                           "holds no output that the spec has with these inputs (its first tensor "
                           "is '%s')", got->item[0].name);
    vector->op = (enum posref_op)found;
    return POSREF_OK;
}

/* The outputs of the op as doubles; one that was not saved is taken as right. */
static enum posref_status take_outputs(struct posref_tensors *out, enum posref_dtype *dtype,
                                       const struct posref_vector *vector,
                                       const struct posref_tensors *got,
                                       const struct posref_arena *arena, struct posref_error *err)
{
    *out = (struct posref_tensors){.n = 0};
    for (int i = 0; i < vector->outputs.n; i++) {
        const struct posref_tensor *golden = &vector->outputs.item[i];
        const struct posref_tensor *saved = posref_tensors_find(got, golden->name);
        if (saved && is_float(golden->dtype) && !is_float(saved->dtype))
            return posref_fail(err, POSREF_BAD_INPUT, golden->name,
                               "holds integers (%s); a float dtype was expected",
                               posref_dtype_name(saved->dtype));
        if (saved && is_float(saved->dtype))
            *dtype = saved->dtype;
        enum posref_status status = posref_tensor_widen(&out->item[out->n++],
                                                        saved ? saved : golden, arena, err);
        if (status != POSREF_OK)
            return status;
    }
    return POSREF_OK;
}

static enum posref_status settle_gate(enum posref_grade *gate, enum posref_dtype *dtype,
                                      const struct posref_vector *vector, const struct arguments *a,
                                      struct posref_error *err)
{
    const int named = a->dtype ? posref_dtype_find(a->dtype) : (int)*dtype;
    if (named < 0 || !is_float((enum posref_dtype)named))
        return posref_bad_word(err, "--dtype",
                               "must be one of f64, f32, f16, bf16, f8e4m3, f8e5m2");
    if (posref_float8_excludes((enum posref_dtype)named, vector))
        return posref_fail(err, POSREF_BAD_INPUT, "--dtype", "%s is judged in rotations alone",
                           posref_dtype_name((enum posref_dtype)named));
    *dtype = (enum posref_dtype)named;
    return posref_word_gate(gate, *dtype, a->min_grade, err);
}

static enum posref_status answer(struct posref_buffer *out, struct arguments *a,
                                 const struct posref_arena *arena, struct posref_error *err)
{
    struct posref_vector *vector = arena->alloc(arena->ctx, sizeof *vector);
    struct posref_tensors got, outputs;
    enum posref_dtype dtype = POSREF_F64;
    enum posref_grade gate = POSREF_GRADE_FAIL;
    if (!vector)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    *vector = (struct posref_vector){.id = "saved", .suite_min = "", .flags = "", .source = ""};
    enum posref_status status = a->input ? add_inputs(a, arena, err) : POSREF_OK;
    if (status == POSREF_OK)
        status = posref_request_complete(&a->request, err);
    if (status == POSREF_OK)
        status = load(&got, a->output, false, arena, err);
    if (status != POSREF_OK)
        return status;
    vector->spec = a->request.spec;
    vector->inputs = a->request.inputs;
    status = find_op(vector, a, &got, arena, err);
    if (status == POSREF_OK)
        status = take_outputs(&outputs, &dtype, vector, &got, arena, err);
    if (status == POSREF_OK)
        status = settle_gate(&gate, &dtype, vector, a, err);
    if (status == POSREF_OK)
        status = posref_check_outputs(out, vector, &outputs, &got, dtype, gate, arena, err);
    posref_buffer_text(out, "}\n");
    return status;
}

/* ---- for people ---- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static void print_worst(const json_t *root)
{
    const json_t *worst = json_object_get(root, "worst");
    if (!worst || strcmp(text_of(root, "verdict"), "pass") == 0)
        return;
    printf("worst      %s, element %lld: got %.9g, want %.9g\n", text_of(worst, "tensor"),
           (long long)json_integer_value(json_object_get(worst, "element")),
           json_number_value(json_object_get(worst, "got")),
           json_number_value(json_object_get(worst, "want")));
}

static void print_text(const json_t *root)
{
    const json_t *list = json_object_get(root, "explanations");
    const json_t *nan = json_object_get(root, "nan");
    printf("%s, grade %s (%s, gate %s)\n", text_of(root, "verdict"), text_of(root, "grade"),
           text_of(root, "dtype"), text_of(root, "gate"));
    for (size_t k = 0; k < json_array_size(nan); k++)
        printf("NaN        %s, element %lld\n", text_of(json_array_get(nan, k), "tensor"),
               (long long)json_integer_value(json_object_get(json_array_get(nan, k), "element")));
    print_worst(root);
    for (size_t k = 0; k < json_array_size(list); k++) {
        const json_t *x = json_array_get(list, k);
        const char *after = text_of(x, "equivalent_after");
        const json_t *alike = json_object_get(x, "not_told_from");
        if (!json_is_true(json_object_get(x, "covers")))
            continue;
        printf("%-10s %s\n           %s\n", text_of(x, "fault"), text_of(x, "summary"),
               text_of(x, "advice"));
        for (size_t j = 0; j < json_array_size(alike); j++)
            printf("           these values do not tell it from %s (%s): look for both\n",
                   text_of(json_array_get(alike, j), "fault"),
                   text_of(json_array_get(alike, j), "formula"));
        if (*after)
            printf("           no fault where the other side has it too: equivalent after %s\n",
                   after);
    }
    if (json_is_object(json_object_get(root, "description")))
        printf("%s\n", text_of(json_object_get(root, "description"), "summary"));
}

static int print_answer(const struct posref_buffer *out, bool json)
{
    json_t *root = json_loadb(out->data, out->length, 0, NULL);
    const bool passes = strcmp(text_of(root, "verdict"), "pass") == 0;
    if (!root)
        return POSREF_EXIT_BROKEN;
    if (json)
        fwrite(out->data, 1, out->length, stdout);
    else
        print_text(root);
    json_decref(root);
    if (fflush(stdout) != 0)
        return POSREF_EXIT_BROKEN;
    return passes ? POSREF_EXIT_OK : POSREF_EXIT_FAIL;
}

int posref_cmd_explain(int argc, char **argv)
{
    if (posref_wants_help(argc, argv)) {
        fputs(help, stdout);
        return POSREF_EXIT_OK;
    }
    struct posref_error err = {{0}, {0}};
    struct arguments *a = calloc(1, sizeof *a);
    struct posref_heap *heap = posref_heap_new(0);
    if (!a || !heap) {
        posref_heap_free(heap);
        free(a);
        return posref_report_error("explain", POSREF_NO_MEMORY, &err);
    }
    const struct posref_arena arena = posref_heap_arena(heap);
    struct posref_buffer out;
    posref_buffer_init(&out, (size_t)64 << 20);
    enum posref_status status = read_arguments(a, argc, argv, &arena, &err);
    if (status == POSREF_OK)
        status = answer(&out, a, &arena, &err);
    if (status == POSREF_OK && out.failed)
        status = posref_fail(&err, POSREF_NO_MEMORY, "", "no memory");
    int code = status == POSREF_OK
                   ? print_answer(&out, a->json)
                   : posref_report_error("explain", status, &err);
    posref_buffer_clear(&out);
    posref_heap_free(heap);
    free(a);
    return code;
}
