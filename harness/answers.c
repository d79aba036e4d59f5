/* SPDX-License-Identifier: Apache-2.0 */
/* Prompts and answers as files: see answers.h. */
#include "answers.h"

#include "batch.h"
#include "exec_program.h"
#include "posref_plugin.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_PATH_BYTES 8192

void posref_answers_path(struct posref_buffer *out, const char *dir, const char *id,
                         enum posref_dtype dtype)
{
    posref_buffer_printf(out, "%s/%s.%s.safetensors", dir, id, posref_dtype_name(dtype));
    posref_buffer_add(out, "", 1);
}

enum posref_status posref_answers_prompt(const char *dir, const char *id, enum posref_dtype dtype,
                                         const struct posref_trial *trial,
                                         struct posref_error *err)
{
    struct posref_buffer path, outputs;
    posref_buffer_init(&path, MAX_PATH_BYTES);
    posref_buffer_init(&outputs, 1 << 16);
    posref_answers_path(&path, dir, id, dtype);
    exec_outputs_text(&outputs, &trial->out);
    const char *const metadata[] = {"id",      id,           "op",    trial->op,
                                    "spec",    trial->spec,  "dtype", posref_dtype_name(dtype),
                                    "outputs", outputs.data, NULL};
    enum posref_status status = POSREF_OK;
    if (path.failed || outputs.failed)
        status = posref_fail(err, POSREF_NO_MEMORY, "", "no memory, or too long a path");
    if (status == POSREF_OK)
        status = posref_directories_make(path.data, err);
    if (status == POSREF_OK)
        status = posref_safetensors_save(path.data, &trial->in, metadata, err);
    posref_buffer_clear(&path);
    posref_buffer_clear(&outputs);
    return status;
}

static void read_document(struct posref_trial *trial, const char *path)
{
    struct posref_safetensors answer = {.n = 0};
    struct posref_error err = {{0}, {0}};
    trial->verdict = POSREF_VERDICT_ERROR;
    if (posref_safetensors_open(&answer, path, &err) != POSREF_OK) {
        snprintf(trial->why, sizeof trial->why, "the answer is no safetensors document: %.140s",
                 err.text);
        return;
    }
    if (exec_reply_outputs(&trial->out, &answer, trial->why, sizeof trial->why) ==
        POSREF_PLUGIN_OK) {
        trial->verdict = POSREF_VERDICT_PASS;
        posref_trial_look(trial);
    }
    posref_safetensors_close(&answer);
}

void posref_answers_read(struct posref_trial *trial, const char *dir, const char *id,
                         enum posref_dtype dtype)
{
    struct posref_buffer path;
    posref_buffer_init(&path, MAX_PATH_BYTES);
    posref_answers_path(&path, dir, id, dtype);
    if (path.failed) {
        trial->verdict = POSREF_VERDICT_ERROR;
        snprintf(trial->why, sizeof trial->why, "too long a path");
    } else if (access(path.data, F_OK) != 0) {
        trial->verdict = POSREF_VERDICT_UNSUPPORTED;
        snprintf(trial->why, sizeof trial->why, "there is no answer");
    } else {
        read_document(trial, path.data);
    }
    posref_buffer_clear(&path);
}
