/* SPDX-License-Identifier: Apache-2.0 */
/* print-generated spec|schemes|faults|ops: the JSON Schema of a spec, the answer of GET /v1/schemes
 * or GET /v1/faults, or the names of ops one a line, from which `make generated` makes the
 * committed files. */
#include "server/route.h"

#include <string.h>

int main(int argc, char **argv)
{
    struct posref_reply reply;
    memset(&reply, 0, sizeof reply);
    posref_buffer_init(&reply.body, 1 << 24);
    if (argc == 2 && strcmp(argv[1], "spec") == 0)
        posref_spec_schema(&reply.body);
    else if (argc == 2 && strcmp(argv[1], "schemes") == 0)
        posref_handle_schemes(NULL, &reply);
    else if (argc == 2 && strcmp(argv[1], "ops") == 0)
        for (int op = 0; op < POSREF_N_OPS; op++)
            posref_buffer_printf(&reply.body, "%s\n", posref_op_name((enum posref_op)op));
    else if (argc == 2 && strcmp(argv[1], "faults") == 0)
        posref_handle_faults(NULL, &reply);
    else
        return POSREF_EXIT_USAGE;
    bool good = !reply.body.failed &&
                fwrite(reply.body.data, 1, reply.body.length, stdout) == reply.body.length &&
                fflush(stdout) == 0;
    posref_buffer_clear(&reply.body);
    return good ? POSREF_EXIT_OK : POSREF_EXIT_BROKEN;
}
