/* SPDX-License-Identifier: Apache-2.0 */
/* The program behind exec:COMMAND: its process, its pipes, one document each way. Private to
 * harness/. */
#ifndef POSREF_EXEC_PROGRAM_H
#define POSREF_EXEC_PROGRAM_H

#include "vectors/files.h"
#include "vectors/vectors.h"

#include <sys/types.h>

struct exec_program {
    const char *command;
    pid_t pid;             /* 0: does not run */
    int to, from;          /* pipes: its stdin, its stdout */
    int wait_status;       /* once it has ended */
    unsigned char *reply;  /* the last one */
    size_t reply_room;
};

enum exec_answer {
    EXEC_ANSWERED, /* *reply is a document, valid until the next question */
    EXEC_ENDED,    /* the program ended; exec_program_follow says how */
    EXEC_BROKEN    /* it broke the protocol, `why` says how; it has been stopped */
};

/* false: it cannot be started; why says so. */
bool exec_program_start(struct exec_program *program, char *why, size_t why_size_bytes);
bool exec_program_runs(const struct exec_program *program);
/* Sends tensors and metadata as one document, and reads the answer. */
enum exec_answer exec_program_ask(struct exec_program *program, struct posref_safetensors *reply,
                                  const struct posref_tensors *tensors,
                                  const char *const *metadata, char *why, size_t why_size_bytes);
/* Reads one answer. */
enum exec_answer exec_program_read(struct exec_program *program, struct posref_safetensors *reply,
                                   char *why, size_t why_size_bytes);
/* Checks an answer and copies its tensors into the data of `out`, each of which must be there in
 * its dtype and shape, and no other. Returns what a plugin's run returns (posref_plugin.h), with
 * the reason in why. */
int32_t exec_reply_take(const struct posref_tensors *out, const struct posref_safetensors *reply,
                        char *why, size_t why_size_bytes);
/* The same for an answer without a status: POSREF_PLUGIN_OK or POSREF_PLUGIN_ERROR. */
int32_t exec_reply_outputs(const struct posref_tensors *out,
                           const struct posref_safetensors *reply, char *why,
                           size_t why_size_bytes);
/* The outputs that an answer must hold, as JSON: [{"name": "y", "dtype": "F32", "shape": [4, 8]},
 * ...], with a NUL at the end. */
void exec_outputs_text(struct posref_buffer *text, const struct posref_tensors *out);
/* Closes its input, and waits for it to end. */
void exec_program_stop(struct exec_program *program);
/* Ends this process as the program ended: by its signal, else by exiting with its status. */
_Noreturn void exec_program_follow(const struct exec_program *program);

#endif
