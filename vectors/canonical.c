/* SPDX-License-Identifier: Apache-2.0 */
/* The canonical content of vectors and the digests of suites. Nothing here depends on the locale,
 * the compiler, libm, or the byte order of memory. */
#include "vectors/canonical.h"

#include <string.h>

static uint64_t bits_of(const struct posref_tensor *tensor, int64_t i)
{
    uint64_t bits = 0;
    size_t size = posref_dtype_size(tensor->dtype);
    if (size == 8) {
        memcpy(&bits, (const char *)tensor->data + i * 8, 8);
    } else if (size == 4) {
        uint32_t half;
        memcpy(&half, (const char *)tensor->data + i * 4, 4);
        bits = half;
    } else {
        uint16_t quarter;
        memcpy(&quarter, (const char *)tensor->data + i * 2, 2);
        bits = quarter;
    }
    /* The sign and payload of a NaN differ between machines. */
    if (tensor->dtype == POSREF_F64 && (bits & 0x7fffffffffffffffu) > 0x7ff0000000000000u)
        bits = 0x7ff8000000000000u;
    return bits;
}

static void add_tensor(struct posref_buffer *out, const char *role,
                       const struct posref_tensor *tensor)
{
    posref_buffer_printf(out, "%s %s %s [", role, tensor->name, posref_dtype_name(tensor->dtype));
    for (int axis = 0; axis < tensor->rank; axis++)
        posref_buffer_printf(out, "%s%lld", axis ? "," : "", (long long)tensor->shape[axis]);
    posref_buffer_text(out, "]");
    int digits = (int)posref_dtype_size(tensor->dtype) * 2;
    int64_t count = posref_tensor_count(tensor);
    if (!posref_buffer_reserve(out, (size_t)count * (size_t)(digits + 1) + 1))
        return;
    char *at = out->data + out->length;
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = bits_of(tensor, i);
        *at++ = ' ';
        for (int shift = 4 * digits - 4; shift >= 0; shift -= 4)
            *at++ = "0123456789abcdef"[bits >> shift & 15];
    }
    *at++ = '\n';
    *at = '\0';
    out->length = (size_t)(at - out->data);
}

void posref_canonical_text(struct posref_buffer *out, const struct posref_vector *vector)
{
    posref_buffer_printf(out, "id %s\nop %s\nspec ", vector->id, posref_op_name(vector->op));
    posref_spec_text(out, &vector->spec);
    posref_buffer_printf(out, "\nflags %s\nsource %s\n", vector->flags, vector->source);
    for (int i = 0; i < vector->inputs.n; i++)
        add_tensor(out, "input", &vector->inputs.item[i]);
    for (int i = 0; i < vector->outputs.n; i++)
        add_tensor(out, "output", &vector->outputs.item[i]);
}

void posref_suite_digest_init(struct posref_sha256 *sha, const char *name, const char *version)
{
    posref_sha256_init(sha);
    posref_sha256_add(sha, "posref suite ", 13);
    posref_sha256_add(sha, name, strlen(name));
    posref_sha256_add(sha, " ", 1);
    posref_sha256_add(sha, version, strlen(version));
    posref_sha256_add(sha, "\n", 1);
}

void posref_suite_digest_add(struct posref_sha256 *sha, const char *id, const char vector_sha[65])
{
    posref_sha256_add(sha, vector_sha, 64);
    posref_sha256_add(sha, "  ", 2);
    posref_sha256_add(sha, id, strlen(id));
    posref_sha256_add(sha, "\n", 1);
}
