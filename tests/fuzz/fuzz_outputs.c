/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: bodies that carry outputs, JSON or safetensors, read and judged as check and explain
 * do it. Input: a byte of switches, the body. The answer must be JSON with a verdict, or an error
 * that says something. A failure takes half a second to explain, so most inputs are judged by
 * themselves; switches from EXPLAIN on are for those that are not. */
#include "server/outputs.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXPLAIN 0xf8
#define N_POSITIONS 3
#define DIM 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

/* The vector that outputs are judged by: a rotation of three positions. */
static void make_vector(struct posref_vector *out, const struct posref_arena *arena)
{
    static const char spec[] = "scheme=rope dim=4 pairing=interleaved";
    static const char *const inputs[][2] = {{"positions", "0,5,4097"},
                                            {"x", "1,0.5,-0.5,1.5,1,2,3,4,5,6,7,8"}};
    struct posref_request request;
    struct posref_tensors y = {.n = 1};
    struct posref_error err;
    posref_request_init(&request);
    must(posref_spec_parse(&request.spec, spec, &err) == POSREF_OK);
    for (size_t i = 0; i < 2; i++)
        must(posref_request_set(&request, inputs[i][0], inputs[i][1], arena, &err) == POSREF_OK);
    must(posref_request_complete(&request, &err) == POSREF_OK);
    snprintf(y.item[0].name, sizeof y.item[0].name, "y");
    must(posref_check_vector(out, &request, &y, arena, &err) == POSREF_OK);
}

/* Makes what was sent the golden output, so that there is nothing to explain; false where that
 * cannot be: an infinity. */
static bool agree(struct posref_vector *vector, const struct posref_tensors *outputs)
{
    const struct posref_tensor *y = posref_tensors_find(outputs, "y");
    if (!y || posref_tensor_count(y) != N_POSITIONS * DIM)
        return true;
    const double *sent = y->data;
    double *golden = vector->outputs.item[0].data;
    bool possible = true;
    for (int i = 0; i < N_POSITIONS * DIM; i++) {
        possible = possible && !isinf(sent[i]);
        if (isfinite(sent[i]))
            golden[i] = sent[i];
    }
    return possible;
}

static void check_answer(struct posref_buffer *out)
{
    posref_buffer_text(out, "}");
    must(!out->failed);
    json_t *answer = json_loadb(out->data, out->length, JSON_REJECT_DUPLICATES, NULL);
    must(json_is_string(json_object_get(answer, "verdict")));
    must(json_is_array(json_object_get(answer, "explanations")));
    json_decref(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const targets[] = {"/", "/?dtype=f32", "/?dtype=f16",
                                          "/?dtype=bf16&min_grade=float32"};
    if (size == 0)
        return 0;
    struct posref_http_request http = {.body = (const char *)data + 1, .body_length = size - 1};
    struct posref_uri uri;
    struct posref_call call = {.http = &http, .uri = &uri, .body_form = data[0] & 1};
    struct posref_error err = {{0}, {0}};
    struct posref_heap *heap = posref_heap_new((size_t)64 << 20);
    struct posref_arena arena = posref_heap_arena(heap);
    struct posref_outputs outputs;
    struct posref_vector vector;
    must(posref_uri_parse(&uri, targets[data[0] >> 1 & 3], &err) == POSREF_OK);
    make_vector(&vector, &arena);
    enum posref_status status = posref_outputs_read(&outputs, &call, &arena, &err);
    if (status == POSREF_OK && (data[0] >= EXPLAIN || agree(&vector, &outputs.tensors))) {
        struct posref_buffer out;
        posref_buffer_init(&out, (size_t)1 << 20);
        status = posref_check_outputs(&out, &vector, &outputs.tensors, NULL, outputs.dtype,
                                      outputs.gate, &arena, &err);
        if (status == POSREF_OK)
            check_answer(&out);
        posref_buffer_clear(&out);
    }
    must(status == POSREF_OK || ((status == POSREF_BAD_INPUT || status == POSREF_NO_MEMORY) &&
                                 err.text[0]));
    posref_heap_free(heap);
    return 0;
}
