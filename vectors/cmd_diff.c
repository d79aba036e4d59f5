/* SPDX-License-Identifier: Apache-2.0 */
/* posref diff A.json B.json: where two specs part. */
#include "vectors/commands.h"
#include "vectors/stored.h"

#include <string.h>

#define MAX_SPEC_BYTES ((uint64_t)1 << 20)

static void print_help(void)
{
    puts("usage: posref diff A.json B.json\n"
         "\n"
         "Each file holds a spec as a JSON object ({\"scheme\": \"rope\", ...}, or an answer of\n"
         "posref eval, whose spec is taken). Prints, for each dtype, the first position and the\n"
         "pair there at which the two differ by more than the dtype's spacing at 1, and by how\n"
         "much; position null: they never do. A single KEY=VALUE,KEY=VALUE,... stands for a file.\n"
         "Over several axes, position p is p on the first axis, p + 1 on the second, and so on.\n"
         "\n"
         "Example:\n"
         "  posref diff dim=128,base=10000 dim=128,base=10000,scaling=linear,factor=4");
}

static enum posref_status read_spec(struct posref_spec *out, char *argument,
                                    struct posref_error *err)
{
    struct posref_mapping file = {0};
    struct posref_error no_file = {{0}, {0}};
    enum posref_status status = posref_mapping_open(&file, argument, &no_file);
    if (status != POSREF_OK && strchr(argument, '='))
        return posref_spec_typed(out, argument, ",", err); /* a list is typed in JSON */
    if (status != POSREF_OK) {
        *err = no_file;
        return status;
    }
    struct posref_error why = {{0}, {0}};
    if (file.size_bytes > MAX_SPEC_BYTES)
        status = posref_fail(&why, POSREF_BAD_INPUT, "", "larger than a megabyte");
    else
        status = posref_spec_json_read(out, (const char *)file.data, (size_t)file.size_bytes, &why);
    posref_mapping_close(&file);
    if (status == POSREF_OK)
        return POSREF_OK;
    return posref_fail(err, status, posref_path_tail(argument), "%.60s%s%.180s", why.key,
                       why.key[0] ? ": " : "", why.text);
}

int posref_cmd_diff(int argc, char **argv)
{
    struct posref_error err = {{0}, {0}};
    struct posref_spec a, b;
    struct posref_buffer out;
    if (posref_wants_help(argc, argv)) {
        print_help();
        return POSREF_EXIT_OK;
    }
    posref_buffer_init(&out, (size_t)1 << 20);
    struct posref_heap *heap = posref_heap_new(0);
    enum posref_status status = POSREF_OK;
    if (!heap)
        status = posref_fail(&err, POSREF_NO_MEMORY, "", "no memory");
    else if (argc != 3)
        status = posref_fail(&err, POSREF_BAD_INPUT, "", "two specs are needed; see --help");
    if (status == POSREF_OK)
        status = read_spec(&a, argv[1], &err);
    if (status == POSREF_OK)
        status = read_spec(&b, argv[2], &err);
    if (status == POSREF_OK) {
        struct posref_arena arena = posref_heap_arena(heap);
        status = posref_diff_answer(&out, &a, &b, &arena, &err);
    }
    int exit_code = status == POSREF_OK ? posref_write_out("diff", &out)
                                        : posref_report_error("diff", status, &err);
    posref_buffer_clear(&out);
    posref_heap_free(heap);
    return exit_code;
}
