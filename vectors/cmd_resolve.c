/* SPDX-License-Identifier: Apache-2.0 */
/* posref resolve FILE|-: a model's config.json, or a GGUF header, to the specs that it implies. */
#include "vectors/commands.h"
#include "vectors/stored.h"

#include <errno.h>
#include <string.h>

#define MAX_ANSWER_BYTES ((size_t)64 << 20)
#define MAX_INPUT_BYTES ((size_t)16 << 20) /* from a pipe; files are mapped */

static void print_help(void)
{
    puts("usage: posref resolve FILE|-\n"
         "\n"
         "Reads a Hugging Face config.json as it is found in the wild, or the header of a GGUF\n"
         "file, and prints {\"layers\": [{\"applies_to\", \"spec\", \"inv_freq\",\n"
         "\"attention_factor\", \"regimes\", \"notes\"}, ...], \"unused_keys\": [...]}: for each\n"
         "layer type a spec that posref eval takes as it stands, what it amounts to, what was\n"
         "taken for granted, and where Hugging Face, vLLM, llama.cpp and MLX read the same config\n"
         "differently, with the two values side by side. docs/resolve.md explains the notes.\n"
         "\n"
         "Example:\n"
         "  posref resolve config.json");
}

static enum posref_status read_pipe(struct posref_buffer *in, struct posref_error *err)
{
    if (posref_buffer_read(in, stdin))
        return POSREF_OK;
    return in->failed
               ? posref_fail(err, POSREF_BAD_INPUT, "-", "more than %zu bytes", MAX_INPUT_BYTES)
               : posref_fail(err, POSREF_IO, "-", "%s", posref_errno_text(errno));
}

static enum posref_status answer(struct posref_buffer *out, const char *path,
                                 struct posref_buffer *pipe, struct posref_error *err)
{
    struct posref_mapping file = {.data = (const unsigned char *)""};
    struct posref_error why = {{0}, {0}};
    bool is_pipe = strcmp(path, "-") == 0;
    enum posref_status status = is_pipe ? read_pipe(pipe, err) : posref_mapping_open(&file, path,
                                                                                     err);
    if (status != POSREF_OK)
        return status;
    struct posref_heap *heap = posref_heap_new(0);
    if (heap) {
        struct posref_arena arena = posref_heap_arena(heap);
        const void *data = !is_pipe ? (const void *)file.data : pipe->data ? pipe->data : "";
        size_t size = is_pipe ? pipe->length : (size_t)file.size_bytes;
        status = posref_resolve(out, data, size, &arena, &why);
    } else {
        status = posref_fail(&why, POSREF_NO_MEMORY, "", "no memory");
    }
    posref_heap_free(heap);
    posref_mapping_close(&file);
    if (status == POSREF_OK)
        return POSREF_OK;
    return posref_fail(err, status, posref_path_tail(path), "%s%s%.190s", why.key,
                       why.key[0] ? ": " : "", why.text);
}

int posref_cmd_resolve(int argc, char **argv)
{
    struct posref_error err = {{0}, {0}};
    struct posref_buffer out, pipe;
    const struct posref_option options[] = {{NULL, NULL, NULL}};
    if (posref_wants_help(argc, argv)) {
        print_help();
        return POSREF_EXIT_OK;
    }
    posref_buffer_init(&out, MAX_ANSWER_BYTES);
    posref_buffer_init(&pipe, MAX_INPUT_BYTES);
    enum posref_status status = posref_options_read(options, &argc, argv, &err);
    if (status == POSREF_OK && argc != 2)
        status = posref_fail(&err, POSREF_BAD_INPUT, "", "one file is needed, or -; see --help");
    if (status == POSREF_OK)
        status = answer(&out, argv[1], &pipe, &err);
    int exit_code = status == POSREF_OK ? posref_write_out("resolve", &out)
                                        : posref_report_error("resolve", status, &err);
    posref_buffer_clear(&pipe);
    posref_buffer_clear(&out);
    return exit_code;
}
