/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: any bytes as what a program of exec:COMMAND writes. Each answer is read and checked
 * until the protocol breaks or the bytes end; outputs lie in memory of their exact size. */
#include "harness/exec_program.h"
#include "harness/posref_plugin.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void set_output(struct posref_tensor *out, const char *name, enum posref_dtype dtype,
                       int64_t rows, int64_t columns)
{
    *out = (struct posref_tensor){.dtype = dtype, .rank = 2, .shape = {rows, columns}};
    snprintf(out->name, sizeof out->name, "%s", name);
    out->data = malloc((size_t)(rows * columns) * posref_dtype_size(dtype));
    if (!out->data)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct exec_program program = {.to = -1, .from = memfd_create("replies", MFD_CLOEXEC)};
    struct posref_tensors out = {.n = 2};
    enum exec_answer answer;
    if (program.from < 0 || write(program.from, data, size) != (ssize_t)size ||
        lseek(program.from, 0, SEEK_SET) != 0)
        abort();
    set_output(&out.item[0], "y", POSREF_F32, 2, 4);
    set_output(&out.item[1], "buckets", POSREF_I64, 1, 3);
    do {
        struct posref_safetensors reply = {.n = 0};
        char why[64] = "";
        answer = exec_program_read(&program, &reply, why, sizeof why);
        if (answer == EXEC_ANSWERED) {
            int32_t status = exec_reply_take(&out, &reply, why, sizeof why);
            if (status != POSREF_PLUGIN_OK && status != POSREF_PLUGIN_ERROR &&
                status != POSREF_PLUGIN_UNSUPPORTED)
                abort();
        } else if (!why[0]) {
            abort();
        }
        posref_safetensors_close(&reply);
    } while (answer == EXEC_ANSWERED);
    exec_program_stop(&program);
    free(out.item[0].data);
    free(out.item[1].data);
    return 0;
}
