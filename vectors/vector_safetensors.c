/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors as safetensors documents: tensors bit for bit, everything else as metadata. */
#include "vectors/safetensors.h"
#include "vectors/vectors.h"

void posref_vector_safetensors(struct posref_buffer *out, const struct posref_vector *vector,
                               bool answers)
{
    struct posref_buffer spec;
    struct posref_tensors all = vector->inputs;
    for (int i = 0; answers && i < vector->outputs.n && all.n < POSREF_MAX_TENSORS; i++)
        all.item[all.n++] = vector->outputs.item[i];
    posref_buffer_init(&spec, 1 << 16);
    posref_spec_text(&spec, &vector->spec);
    const char *const metadata[] = {"id",    vector->id,    "op",     posref_op_name(vector->op),
                                    "spec",  spec.data,     "suite",  vector->suite_min,
                                    "flags", vector->flags, "source", vector->source, NULL};
    if (spec.failed)
        out->failed = true;
    else
        posref_safetensors_add(out, &all, metadata);
    posref_buffer_clear(&spec);
}
