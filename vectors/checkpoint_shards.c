/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of several files: safetensors shards under an index, and split GGUF files. */
#include "vectors/checkpoint_parts.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INDEX_BYTES (UINT64_C(64) << 20)
#define MAX_FILES 9999

static enum posref_status bad(const char *path, const char *text, const char *detail,
                              struct posref_error *err)
{
    return posref_fail(err, POSREF_BAD_INPUT, posref_path_tail(path), "%s%.100s", text, detail);
}

/* The shard's place among the open files; it is opened when new. */
static enum posref_status shard_number(size_t *out, struct posref_checkpoint *checkpoint,
                                       const char *name, struct posref_error *err)
{
    char *path = checkpoint_join(checkpoint->directory, name);
    if (!path)
        return posref_fail(err, POSREF_NO_MEMORY, name, "no memory");
    enum posref_status status = POSREF_OK;
    for (*out = 0; *out < checkpoint->n_files; ++*out)
        if (strcmp(checkpoint->file[*out].path, path) == 0)
            break;
    if (*out == checkpoint->n_files)
        status = checkpoint_add_file(checkpoint, path, err);
    free(path);
    return status;
}

static enum posref_status add_shards(struct posref_checkpoint *checkpoint, json_t *map,
                                     const char *path, struct posref_error *err)
{
    const char *name;
    json_t *value;
    json_object_foreach(map, name, value) {
        const char *shard = json_string_value(value);
        size_t number = 0;
        /* A shard lies beside its index: a name with a slash could lead anywhere. */
        if (!shard || strchr(shard, '/') || shard[0] == '.' || shard[0] == '\0')
            return bad(path, "no plain file name for tensor ", name, err);
        if (checkpoint->n_files > MAX_FILES)
            return bad(path, "too many shards", "", err);
        enum posref_status status = shard_number(&number, checkpoint, shard, err);
        if (status != POSREF_OK)
            return status;
        if (checkpoint->format != POSREF_FORMAT_SAFETENSORS)
            return bad(path, "a shard is no safetensors file: ", shard, err);
        if (!posref_safetensors_find(&checkpoint->file[number].safetensors, name))
            return posref_fail(err, POSREF_BAD_INPUT,
                               posref_path_tail(checkpoint->file[number].path),
                               "has no tensor %.100s, which the index puts there", name);
    }
    return checkpoint->n_files > 0 ? POSREF_OK : bad(path, "weight_map is empty", "", err);
}

enum posref_status checkpoint_add_index(struct posref_checkpoint *checkpoint, const char *path,
                                        struct posref_error *err)
{
    struct posref_mapping bytes;
    json_error_t error;
    enum posref_status status = posref_mapping_open(&bytes, path, err);
    if (status != POSREF_OK)
        return status;
    json_t *index = NULL;
    if (bytes.size_bytes <= MAX_INDEX_BYTES)
        index = json_loadb((const char *)bytes.data, (size_t)bytes.size_bytes,
                           JSON_REJECT_DUPLICATES, &error);
    else
        snprintf(error.text, sizeof error.text, "larger than 64 MiB");
    posref_mapping_close(&bytes);
    if (!index)
        return bad(path, "", error.text, err);
    json_t *map = json_object_get(index, "weight_map");
    if (json_is_object(map))
        status = add_shards(checkpoint, map, path, err);
    else
        status = bad(path, "has no weight_map", "", err);
    json_decref(index);
    if (status == POSREF_OK && !(checkpoint->index_path = strdup(path)))
        status = posref_fail(err, POSREF_NO_MEMORY, posref_path_tail(path), "no memory");
    return status;
}

/* "dir/name-00002-of-00003.gguf" -> the length of "dir/name-"; 0 when it is spelt otherwise. */
static size_t split_prefix(const char *path)
{
    static const char pattern[] = "00000-of-00000.gguf";
    size_t length = strlen(path), n = sizeof pattern - 1;
    if (length <= n || path[length - n - 1] != '-')
        return 0;
    for (size_t i = 0; i < n; i++) {
        char c = path[length - n + i];
        if (pattern[i] == '0' ? c < '0' || c > '9' : c != pattern[i])
            return 0;
    }
    return length - n;
}

static enum posref_status check_part(const struct posref_checkpoint *checkpoint, int64_t number,
                                     int64_t count, struct posref_error *err)
{
    const struct posref_checkpoint_file *file = &checkpoint->file[checkpoint->n_files - 1];
    int64_t own_count, own_number;
    if (checkpoint->format != POSREF_FORMAT_GGUF ||
        !posref_gguf_integer(&own_count, &file->gguf, "split.count", 0) || own_count != count ||
        !posref_gguf_integer(&own_number, &file->gguf, "split.no", 0) || own_number != number)
        return bad(file->path, "split.no or split.count do not fit its name", "", err);
    return POSREF_OK;
}

enum posref_status checkpoint_add_split(struct posref_checkpoint *checkpoint,
                                        struct posref_error *err)
{
    struct posref_checkpoint parts = {0};
    int64_t count = 0, n_tensors;
    const char *given = checkpoint->file[0].path;
    size_t prefix = split_prefix(given);
    enum posref_status status = POSREF_OK;
    (void)posref_gguf_integer(&count, &checkpoint->file[0].gguf, "split.count", 0);
    if (prefix == 0 || count > MAX_FILES)
        return bad(given, "a part of a split GGUF is called NAME-00001-of-00002.gguf", "", err);
    for (int64_t i = 0; i < count && status == POSREF_OK; i++) {
        size_t room = prefix + 32;
        char *path = malloc(room);
        if (!path) {
            status = posref_fail(err, POSREF_NO_MEMORY, posref_path_tail(given), "no memory");
            break;
        }
        snprintf(path, room, "%.*s%05lld-of-%05lld.gguf", (int)prefix, given, (long long)i + 1,
                 (long long)count);
        status = checkpoint_add_file(&parts, path, err);
        if (status == POSREF_OK)
            status = check_part(&parts, i, count, err);
        free(path);
    }
    if (status == POSREF_OK &&
        posref_gguf_integer(&n_tensors, &parts.file[0].gguf, "split.tensors.count", 0) &&
        n_tensors != (int64_t)parts.n)
        status = bad(given, "the parts do not hold split.tensors.count tensors", "", err);
    parts.directory = checkpoint->directory;
    checkpoint->directory = NULL;
    posref_checkpoint_close(checkpoint);
    *checkpoint = parts;
    return status;
}
