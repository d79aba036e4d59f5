/* SPDX-License-Identifier: Apache-2.0 */
/* Reads .npy files: a magic, a version, a length, and a Python dict {'descr': '<f4',
 * 'fortran_order': False, 'shape': (2, 3), }. */
#include "vectors/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADER_BYTES 65535

struct reading {
    const char *label;
    struct posref_error *err;
    struct posref_npy npy;
    char text[MAX_HEADER_BYTES + 1]; /* the dict */
};

static enum posref_status bad(const struct reading *r, const char *what, const char *detail)
{
    return posref_fail(r->err, POSREF_BAD_INPUT, posref_path_tail(r->label), "%s%.60s", what,
                       detail);
}

static enum posref_status read_text(struct reading *r)
{
    const struct posref_mapping *file = &r->npy.mapping;
    if (file->size_bytes < 10 || memcmp(file->data, "\x93NUMPY", 6) != 0)
        return bad(r, "byte 0: no npy file", "");
    int wide = file->data[6] >= 2;
    if (file->data[6] < 1 || file->data[6] > 3 || (wide && file->size_bytes < 12))
        return bad(r, "byte 6: unknown version of the npy format", "");
    uint64_t length = file->data[8] | (uint64_t)file->data[9] << 8, start = 10;
    if (wide) {
        length |= (uint64_t)file->data[10] << 16 | (uint64_t)file->data[11] << 24;
        start = 12;
    }
    if (length > MAX_HEADER_BYTES || length > file->size_bytes - start)
        return bad(r, "byte 8: the header is longer than the file, or than 65535 bytes", "");
    memcpy(r->text, file->data + start, (size_t)length);
    r->text[length] = '\0';
    if (strlen(r->text) != length)
        return bad(r, "the header holds a NUL", "");
    r->npy.item.offset = start + length;
    return POSREF_OK;
}

/* What follows 'key': in the dict, or NULL. */
static const char *value_of(const struct reading *r, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s':", key);
    const char *at = strstr(r->text, quoted);
    if (!at)
        return NULL;
    at += strlen(quoted);
    return at + strspn(at, " ");
}

static enum posref_status read_descr(struct reading *r)
{
    static const struct { const char *descr; enum posref_stored_type type; } known[] = {
        {"'<f4'", POSREF_STORED_F32}, {"'<f2'", POSREF_STORED_F16}, {"'<f8'", POSREF_STORED_F64},
        {"'|i1'", POSREF_STORED_I8}, {"'|u1'", POSREF_STORED_U8}, {"'|b1'", POSREF_STORED_BOOL},
        {"'<i2'", POSREF_STORED_I16}, {"'<u2'", POSREF_STORED_U16}, {"'<i4'", POSREF_STORED_I32},
        {"'<u4'", POSREF_STORED_U32}, {"'<i8'", POSREF_STORED_I64}, {"'<u8'", POSREF_STORED_U64},
    };
    const char *value = value_of(r, "descr");
    for (size_t i = 0; value && i < sizeof known / sizeof *known; i++)
        if (strncmp(value, known[i].descr, strlen(known[i].descr)) == 0) {
            const struct posref_stored_def *def = posref_stored_def(known[i].type);
            r->npy.item.type = known[i].type;
            r->npy.item.type_name = def->name;
            r->npy.item.block_elements = def->block_elements;
            r->npy.item.block_bytes = def->block_bytes;
            return POSREF_OK;
        }
    return bad(r, "descr is none of the little-endian numbers: ", value ? value : "(missing)");
}

static enum posref_status read_shape(struct reading *r)
{
    struct posref_stored *item = &r->npy.item;
    const char *at = value_of(r, "shape");
    if (!at || *at != '(')
        return bad(r, "shape is missing", "");
    at += 1 + strspn(at + 1, " ");
    while (*at != ')') {
        char *end;
        if (*at < '0' || *at > '9' || item->rank == POSREF_MAX_RANK)
            return bad(r, "shape is no list of at most 8 sizes: ", at);
        unsigned long long extent = strtoull(at, &end, 10);
        if (extent > INT64_MAX)
            return bad(r, "shape overflows: ", at);
        item->shape[item->rank++] = (int64_t)extent;
        at = end + strspn(end, " ");
        if (*at == ',')
            at += 1 + strspn(at + 1, " ");
        else if (*at != ')')
            return bad(r, "shape is no list of sizes: ", at);
    }
    return POSREF_OK;
}

static enum posref_status read_data(struct reading *r)
{
    struct posref_stored *item = &r->npy.item;
    uint64_t n_elements;
    char text[96];
    const char *order = value_of(r, "fortran_order");
    if (!order || strncmp(order, "False", 5) != 0)
        return bad(r, "fortran_order is not False: only C order is read", "");
    if (!posref_stored_size(&n_elements, &item->size_bytes, item->shape, item->rank,
                            item->block_elements, item->block_bytes))
        return bad(r, "the size of its shape overflows", "");
    uint64_t room = r->npy.mapping.size_bytes - item->offset;
    if (item->size_bytes != room) {
        snprintf(text, sizeof text, "its shape needs %llu bytes, the file has %llu",
                 (unsigned long long)item->size_bytes, (unsigned long long)room);
        return bad(r, "", text);
    }
    item->data = r->npy.mapping.data + item->offset;
    return POSREF_OK;
}

static bool set_name(struct reading *r)
{
    const char *base = strrchr(r->label, '/');
    r->npy.name = strdup(base ? base + 1 : r->label);
    if (!r->npy.name)
        return false;
    size_t length = strlen(r->npy.name);
    if (length > 4 && strcmp(r->npy.name + length - 4, ".npy") == 0)
        r->npy.name[length - 4] = '\0';
    r->npy.item.name = r->npy.name;
    return true;
}

static enum posref_status parse(struct posref_npy *out, struct posref_mapping mapping,
                                const char *label, struct posref_error *err)
{
    struct reading *r = calloc(1, sizeof *r);
    if (!r) {
        posref_mapping_close(&mapping);
        return posref_fail(err, POSREF_NO_MEMORY, posref_path_tail(label), "no memory");
    }
    r->label = label;
    r->err = err;
    r->npy.mapping = mapping;
    enum posref_status status = read_text(r);
    if (status == POSREF_OK)
        status = read_descr(r);
    if (status == POSREF_OK)
        status = read_shape(r);
    if (status == POSREF_OK)
        status = read_data(r);
    if (status == POSREF_OK && !set_name(r))
        status = posref_fail(err, POSREF_NO_MEMORY, posref_path_tail(label), "no memory");
    if (status == POSREF_OK)
        *out = r->npy;
    else
        posref_npy_close(&r->npy);
    free(r);
    return status;
}

enum posref_status posref_npy_open(struct posref_npy *out, const char *path,
                                   struct posref_error *err)
{
    struct posref_mapping mapping;
    enum posref_status status = posref_mapping_open(&mapping, path, err);
    return status == POSREF_OK ? parse(out, mapping, path, err) : status;
}

enum posref_status posref_npy_parse(struct posref_npy *out, const void *data, uint64_t size_bytes,
                                    const char *label, struct posref_error *err)
{
    struct posref_mapping memory = {.data = data, .size_bytes = size_bytes};
    return parse(out, memory, label, err);
}

void posref_npy_close(struct posref_npy *npy)
{
    free(npy->name);
    posref_mapping_close(&npy->mapping);
    *npy = (struct posref_npy){0};
}
