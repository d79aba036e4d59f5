/* SPDX-License-Identifier: Apache-2.0 */
/* posref eval KEY=VALUE...: evaluates one encoding; JSON on stdout. */
#include "vectors/commands.h"
#include "vectors/request.h"
#include "vectors/safetensors.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ANSWER_BYTES ((size_t)1 << 30)

static void print_help(void)
{
    printf("usage: posref eval KEY=VALUE...\n\n"
           "Evaluates one positional encoding and prints {\"spec\": ..., \"outputs\": ...}.\n"
           "Spec keys (docs/schemes.md says which scheme takes which):\n");
    for (int f = 0; f < POSREF_N_FIELDS; f++) {
        const struct posref_field_def *def = posref_field_def((enum posref_field)f);
        printf("  %-32s %s", def->name, def->meaning);
        for (int i = 0; def->choices && def->choices[i]; i++)
            printf("%s%s", i ? ", " : ": ", def->choices[i]);
        printf("%s%s\n", def->default_text ? "; default " : "",
               def->default_text ? def->default_text : "");
    }
    printf("  %-32s %s\n  %-32s %s\n", "model",
           "a preset's fields (posref models); others replace them", "allow_unverified",
           "take also what nobody verified of a preset");
    puts("Inputs:");
    for (int i = 0; posref_input_def(i); i++)
        printf("  %-32s %s\n", posref_input_def(i)->name, posref_input_def(i)->meaning);
    printf("Positions are typed 0,1,7  0..15  0..60/4  1:2:3,4:5:6  grid:2:3:4, and as\n"
           "docs/positions.md says (mrope:text=3,image=2x2,text=1); other inputs are flat values,\n"
           "row major.\n"
           "  KEY=@FILE[:TENSOR]                    from a safetensors file\n"
           "  op                                    only this op's outputs\n"
           "Numbers: decimals, hex floats (0x1.8p1), bits (3ff0000000000000; all-decimal digits\n"
           "need the prefix bits:).\n"
           "Limits: %d positions, dim %d, %d heads, %d output elements,\n"
           "|position| <= 2147483647.\n\n"
           "Example:\n"
           "  posref eval scheme=rope dim=4 pairing=interleaved positions=1 x=1,0.5,-0.5,1.5\n",
           POSREF_MAX_POSITIONS, POSREF_MAX_DIM, POSREF_MAX_HEADS, POSREF_MAX_OUTPUT_ELEMENTS);
}

/* KEY=@FILE: a tensor from a file. A field of the spec is no tensor. */
static enum posref_status add_file(struct posref_request *request, const char *key,
                                   const char *reference, const struct posref_arena *arena,
                                   struct posref_error *err)
{
    struct posref_tensor tensor;
    if (posref_field_find(key) >= 0 || strcmp(key, "op") == 0)
        return posref_fail(err, POSREF_BAD_INPUT, key, "is no tensor, and takes no @FILE");
    if (posref_input_find(key) < 0)
        return posref_unknown_key(key, err);
    if (reference[0] == '\0' || reference[0] == ':')
        return posref_fail(err, POSREF_BAD_INPUT, key, "no file is named after @");
    enum posref_status status = posref_safetensors_read_input(&tensor, key, reference, arena, err);
    return status == POSREF_OK ? posref_request_add(request, &tensor, err) : status;
}

static enum posref_status set_argument(struct posref_request *request, char *argument,
                                       const struct posref_arena *arena, struct posref_error *err)
{
    char *equals = strchr(argument, '=');
    if (!equals || equals == argument)
        return posref_fail(err, POSREF_BAD_INPUT, argument, "not KEY=VALUE");
    *equals = '\0';
    if (equals[1] != '@')
        return posref_request_set(request, argument, equals + 1, arena, err);
    return add_file(request, argument, equals + 2, arena, err);
}

static enum posref_status answer(struct posref_buffer *out, int argc, char **argv,
                                 const struct posref_arena *arena, struct posref_error *err)
{
    struct posref_request request;
    posref_request_init(&request);
    for (int i = 1; i < argc; i++) {
        enum posref_status status = set_argument(&request, argv[i], arena, err);
        if (status != POSREF_OK)
            return status;
    }
    return posref_request_answer(out, &request, arena, err);
}

int posref_cmd_eval(int argc, char **argv)
{
    if (posref_wants_help(argc, argv)) {
        print_help();
        return POSREF_EXIT_OK;
    }
    struct posref_error err = {{0}, {0}};
    struct posref_heap *heap = posref_heap_new(0);
    if (!heap)
        return posref_report_error("eval", POSREF_NO_MEMORY, &err);
    struct posref_arena arena = posref_heap_arena(heap);
    struct posref_buffer out;
    posref_buffer_init(&out, MAX_ANSWER_BYTES);
    enum posref_status status = answer(&out, argc, argv, &arena, &err);
    int exit_code = status == POSREF_OK ? posref_write_out("eval", &out)
                                        : posref_report_error("eval", status, &err);
    posref_buffer_clear(&out);
    posref_heap_free(heap);
    return exit_code;
}
