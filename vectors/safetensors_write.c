/* SPDX-License-Identifier: Apache-2.0 */
/* Writes safetensors documents, into a buffer or atomically into a file. */
#include "vectors/safetensors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_DOCUMENT_BYTES ((size_t)1 << 31)

static size_t data_bytes(const struct posref_tensor *tensor)
{
    return (size_t)posref_tensor_count(tensor) * posref_dtype_size(tensor->dtype);
}

/* Widest elements first, then names: keeps every tensor aligned without padding. */
static int by_layout(const void *left, const void *right)
{
    const struct posref_tensor *a = *(const struct posref_tensor *const *)left;
    const struct posref_tensor *b = *(const struct posref_tensor *const *)right;
    size_t width_a = posref_dtype_size(a->dtype), width_b = posref_dtype_size(b->dtype);
    if (width_a != width_b)
        return width_a > width_b ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void add_entry(struct posref_buffer *out, const struct posref_tensor *tensor, size_t begin)
{
    posref_buffer_json_string(out, tensor->name);
    posref_buffer_printf(out, ":{\"dtype\":\"%s\",\"shape\":[", posref_stored_name(tensor->dtype));
    for (int axis = 0; axis < tensor->rank; axis++)
        posref_buffer_printf(out, "%s%lld", axis > 0 ? "," : "", (long long)tensor->shape[axis]);
    posref_buffer_printf(out, "],\"data_offsets\":[%zu,%zu]}", begin, begin + data_bytes(tensor));
}

static void add_header(struct posref_buffer *out, const struct posref_tensor *const *order, int n,
                       const char *const *metadata)
{
    size_t begin = 0;
    const char *separator = "";
    posref_buffer_text(out, "{");
    if (metadata && metadata[0]) {
        posref_buffer_text(out, "\"__metadata__\":{");
        for (size_t i = 0; metadata[i]; i += 2) {
            posref_buffer_text(out, i > 0 ? "," : "");
            posref_buffer_json_string(out, metadata[i]);
            posref_buffer_text(out, ":");
            posref_buffer_json_string(out, metadata[i + 1]);
        }
        posref_buffer_text(out, "}");
        separator = ",";
    }
    for (int i = 0; i < n; i++) {
        posref_buffer_text(out, separator);
        add_entry(out, order[i], begin);
        begin += data_bytes(order[i]);
        separator = ",";
    }
    posref_buffer_text(out, "}");
}

void posref_safetensors_add(struct posref_buffer *buffer, const struct posref_tensors *set,
                            const char *const *metadata)
{
    const struct posref_tensor *order[POSREF_MAX_TENSORS] = {NULL};
    struct posref_buffer header;
    unsigned char length[8];
    posref_buffer_init(&header, MAX_DOCUMENT_BYTES);
    for (int i = 0; i < set->n; i++)
        order[i] = &set->item[i];
    qsort(order, (size_t)set->n, sizeof *order, by_layout);
    add_header(&header, order, set->n, metadata);
    while (header.length % 8 != 0 && !header.failed)
        posref_buffer_text(&header, " ");
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)header.length >> (8 * i));
    posref_buffer_add(buffer, length, sizeof length);
    posref_buffer_add(buffer, header.data, header.length);
    for (int i = 0; i < set->n; i++)
        if (data_bytes(order[i]) > 0)
            posref_buffer_add(buffer, order[i]->data, data_bytes(order[i]));
    buffer->failed = buffer->failed || header.failed;
    posref_buffer_clear(&header);
}

static enum posref_status write_and_rename(FILE *file, const char *temporary, const char *path,
                                           const struct posref_buffer *document,
                                           struct posref_error *err)
{
    bool ok = fwrite(document->data, 1, document->length, file) == document->length;
    ok = fclose(file) == 0 && ok;
    if (!ok || rename(temporary, path) != 0) {
        int reason = errno;
        unlink(temporary);
        return posref_fail(err, POSREF_IO, posref_path_tail(path), "%s", posref_errno_text(reason));
    }
    return POSREF_OK;
}

static enum posref_status save_document(const char *path, const struct posref_buffer *document,
                                        struct posref_error *err)
{
    size_t room = strlen(path) + 32;
    char *temporary = malloc(room);
    if (!temporary)
        return posref_fail(err, POSREF_NO_MEMORY, posref_path_tail(path), "no memory");
    snprintf(temporary, room, "%s.tmp.%ld", path, (long)getpid());
    FILE *file = fopen(temporary, "wbx");
    enum posref_status status =
        file ? write_and_rename(file, temporary, path, document, err)
             : posref_fail(err, POSREF_BAD_INPUT, posref_path_tail(path), "%s",
                           posref_errno_text(errno));
    free(temporary);
    return status;
}

enum posref_status posref_safetensors_save(const char *path, const struct posref_tensors *set,
                                           const char *const *metadata, struct posref_error *err)
{
    struct posref_buffer document;
    enum posref_status status;
    posref_buffer_init(&document, MAX_DOCUMENT_BYTES);
    posref_safetensors_add(&document, set, metadata);
    if (document.failed)
        status = posref_fail(err, POSREF_NO_MEMORY, posref_path_tail(path), "no memory");
    else
        status = save_document(path, &document, err);
    posref_buffer_clear(&document);
    return status;
}
