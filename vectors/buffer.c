/* SPDX-License-Identifier: Apache-2.0 */
/* A growable byte buffer with a maximum. The data always end with a NUL that length leaves out. */
#include "vectors/vectors.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void posref_buffer_init(struct posref_buffer *buffer, size_t max_bytes)
{
    *buffer = (struct posref_buffer){.max_bytes = max_bytes};
}

void posref_buffer_clear(struct posref_buffer *buffer)
{
    free(buffer->data);
    posref_buffer_init(buffer, buffer->max_bytes);
}

bool posref_buffer_reserve(struct posref_buffer *buffer, size_t size_bytes)
{
    if (buffer->failed)
        return false;
    if (size_bytes > buffer->max_bytes || buffer->length > buffer->max_bytes - size_bytes) {
        buffer->failed = true;
        return false;
    }
    if (size_bytes < buffer->capacity - buffer->length)
        return true;
    size_t capacity = buffer->capacity ? buffer->capacity : 256;
    while (capacity <= buffer->length + size_bytes)
        capacity *= 2;
    char *data = realloc(buffer->data, capacity);
    if (!data) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

void posref_buffer_add(struct posref_buffer *buffer, const void *data, size_t size_bytes)
{
    if (!posref_buffer_reserve(buffer, size_bytes))
        return;
    if (size_bytes)
        memcpy(buffer->data + buffer->length, data, size_bytes);
    buffer->length += size_bytes;
    buffer->data[buffer->length] = '\0';
}

void posref_buffer_text(struct posref_buffer *buffer, const char *text)
{
    posref_buffer_add(buffer, text, strlen(text));
}

void posref_buffer_number(struct posref_buffer *buffer, double x)
{
    if (!posref_buffer_reserve(buffer, POSREF_NUMBER_SIZE))
        return;
    buffer->length += posref_number_format(buffer->data + buffer->length, x);
}

void posref_buffer_printf(struct posref_buffer *buffer, const char *format, ...)
{
    va_list args, again;
    char *end = buffer->data ? buffer->data + buffer->length : NULL;
    const size_t room = buffer->capacity - buffer->length;
    va_start(args, format);
    va_copy(again, args);
    const int length = vsnprintf(end, room, format, args);
    va_end(args);
    if (length < 0 || !posref_buffer_reserve(buffer, (size_t)length + 1)) {
        buffer->failed = true;
        if (room)
            *end = '\0';
    } else {
        if ((size_t)length >= room)
            vsnprintf(buffer->data + buffer->length, (size_t)length + 1, format, again);
        buffer->length += (size_t)length;
    }
    va_end(again);
}

void posref_buffer_json_string(struct posref_buffer *buffer, const char *text)
{
    posref_buffer_add(buffer, "\"", 1);
    while (*text) {
        size_t plain = 0;
        while ((unsigned char)text[plain] >= 0x20 && text[plain] != '"' && text[plain] != '\\')
            plain++;
        posref_buffer_add(buffer, text, plain);
        text += plain;
        if (*text == '"' || *text == '\\')
            posref_buffer_printf(buffer, "\\%c", *text++);
        else if (*text)
            posref_buffer_printf(buffer, "\\u%04x", (unsigned)(unsigned char)*text++);
    }
    posref_buffer_add(buffer, "\"", 1);
}

bool posref_buffer_read(struct posref_buffer *buffer, FILE *file)
{
    char block[1 << 14];
    for (size_t n; !buffer->failed && (n = fread(block, 1, sizeof block, file)) > 0;)
        posref_buffer_add(buffer, block, n);
    return !buffer->failed && !ferror(file);
}
