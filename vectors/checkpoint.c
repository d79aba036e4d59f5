/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a checkpoint: finds its files, tells their format, and lists all tensors. */
#include "vectors/checkpoint_parts.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *checkpoint_join(const char *directory, const char *name)
{
    size_t room = strlen(directory) + strlen(name) + 2;
    char *path = malloc(room);
    if (path)
        snprintf(path, room, "%s/%s", directory, name);
    return path;
}

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), n = strlen(ending);
    return length >= n && strcmp(text + length - n, ending) == 0;
}

static enum posref_status no_memory(const char *path, struct posref_error *err)
{
    return posref_fail(err, POSREF_NO_MEMORY, posref_path_tail(path), "no memory");
}

/* The length of what a split GGUF's parts share: all before "-00001-of-00002.gguf"; else 0. */
static size_t split_stem(const char *name)
{
    static const char shape[] = "-#####-of-#####.gguf";
    size_t length = strlen(name), n = sizeof shape - 1;
    for (size_t i = 0; i < n && length > n; i++) {
        char is = name[length - n + i];
        if (shape[i] == '#' ? is < '0' || is > '9' : is != shape[i])
            return 0;
    }
    return length > n ? length - n : 0;
}

/* Whether two names are parts of one split GGUF: any of them opens all. */
static bool same_split(const char *a, const char *b)
{
    size_t stem = split_stem(a);
    return stem > 0 && stem == split_stem(b) && strncmp(a, b, stem) == 0 &&
           strcmp(strrchr(a, '-'), strrchr(b, '-')) == 0;
}

/* Which entry of a directory is the checkpoint: by name, else the only file of a known ending, or
 * the only split one. */
static enum posref_status choose_entry(char **out, const char *directory, struct posref_error *err)
{
    static const char *const preferred[] = {"model.safetensors.index.json", "model.safetensors",
                                            "adapter_model.safetensors"};
    for (size_t i = 0; i < sizeof preferred / sizeof *preferred; i++) {
        *out = checkpoint_join(directory, preferred[i]);
        if (!*out)
            return no_memory(directory, err);
        if (access(*out, F_OK) == 0)
            return POSREF_OK;
        free(*out);
    }
    *out = NULL;
    DIR *entries = opendir(directory);
    if (!entries)
        return posref_fail(err, POSREF_BAD_INPUT, posref_path_tail(directory), "%s",
                           posref_errno_text(errno));
    int n_found = 0;
    const struct dirent *entry;
    while ((entry = readdir(entries))) {
        if (!ends_with(entry->d_name, ".safetensors") && !ends_with(entry->d_name, ".gguf") &&
            !ends_with(entry->d_name, ".safetensors.index.json"))
            continue;
        if (*out && same_split(strrchr(*out, '/') + 1, entry->d_name))
            continue;
        if (n_found++ == 0)
            *out = checkpoint_join(directory, entry->d_name);
    }
    closedir(entries);
    if (n_found == 1 && *out)
        return POSREF_OK;
    free(*out);
    *out = NULL;
    return posref_fail(err, POSREF_BAD_INPUT, posref_path_tail(directory),
                       n_found == 0 ? "holds no .safetensors and no .gguf file"
                                    : "holds several checkpoint files: name one");
}

static enum posref_status open_handle(struct posref_checkpoint_file *file,
                                      enum posref_format *format, const char *path,
                                      struct posref_error *err)
{
    struct posref_mapping peek;
    enum posref_status status = posref_mapping_open(&peek, path, err);
    if (status != POSREF_OK)
        return status;
    bool gguf = peek.size_bytes >= 4 && memcmp(peek.data, "GGUF", 4) == 0;
    bool npy = peek.size_bytes >= 6 && memcmp(peek.data, "\x93NUMPY", 6) == 0;
    posref_mapping_close(&peek);
    if (gguf) {
        *format = POSREF_FORMAT_GGUF;
        status = posref_gguf_open(&file->gguf, path, err);
        file->bytes = file->gguf.mapping;
    } else if (npy) {
        *format = POSREF_FORMAT_NPY;
        status = posref_npy_open(&file->npy, path, err);
        file->bytes = file->npy.mapping;
    } else {
        *format = POSREF_FORMAT_SAFETENSORS;
        status = posref_safetensors_open(&file->safetensors, path, err);
        file->bytes = file->safetensors.mapping;
    }
    return status;
}

static bool append_items(struct posref_checkpoint *checkpoint, const struct posref_stored *items,
                         size_t n, size_t file)
{
    struct posref_stored *grown = realloc(checkpoint->item,
                                          (checkpoint->n + n + 1) * sizeof *grown);
    if (!grown)
        return false;
    checkpoint->item = grown;
    for (size_t i = 0; i < n; i++) {
        grown[checkpoint->n] = items[i];
        grown[checkpoint->n++].file = (int)file;
    }
    return true;
}

enum posref_status checkpoint_add_file(struct posref_checkpoint *checkpoint, const char *path,
                                       struct posref_error *err)
{
    struct posref_checkpoint_file *grown =
        realloc(checkpoint->file, (checkpoint->n_files + 1) * sizeof *grown);
    if (!grown)
        return no_memory(path, err);
    checkpoint->file = grown;
    struct posref_checkpoint_file *file = &grown[checkpoint->n_files];
    memset(file, 0, sizeof *file);
    enum posref_format format;
    enum posref_status status = open_handle(file, &format, path, err);
    if (status != POSREF_OK)
        return status;
    checkpoint->n_files++;
    file->path = strdup(path);
    if (checkpoint->n_files > 1 && format != checkpoint->format)
        return posref_fail(err, POSREF_BAD_INPUT, posref_path_tail(path),
                           "is of another format than the shards before it");
    checkpoint->format = format;
    const struct posref_stored *items = format == POSREF_FORMAT_GGUF ? file->gguf.item
                                        : format == POSREF_FORMAT_NPY ? &file->npy.item
                                                                      : file->safetensors.item;
    size_t n = format == POSREF_FORMAT_GGUF ? file->gguf.n
               : format == POSREF_FORMAT_NPY ? 1 : file->safetensors.n;
    if (!file->path || !append_items(checkpoint, items, n, checkpoint->n_files - 1))
        return no_memory(path, err);
    return POSREF_OK;
}

static int by_name(const void *left, const void *right)
{
    const struct posref_stored *const *a = left, *const *b = right;
    return strcmp((*a)->name, (*b)->name);
}

static enum posref_status check_unique(const struct posref_checkpoint *checkpoint,
                                       struct posref_error *err)
{
    if (checkpoint->n_files < 2)
        return POSREF_OK;
    const struct posref_stored **order = calloc(checkpoint->n + 1, sizeof *order);
    if (!order)
        return no_memory(checkpoint->file[0].path, err);
    for (size_t i = 0; i < checkpoint->n; i++)
        order[i] = &checkpoint->item[i];
    qsort(order, checkpoint->n, sizeof *order, by_name);
    enum posref_status status = POSREF_OK;
    for (size_t i = 1; i < checkpoint->n && status == POSREF_OK; i++)
        if (strcmp(order[i - 1]->name, order[i]->name) == 0)
            status = posref_fail(err, POSREF_BAD_INPUT,
                                 posref_path_tail(checkpoint->file[order[i]->file].path),
                                 "tensor %.100s: another shard holds it too", order[i]->name);
    free(order);
    return status;
}

static bool set_directory(struct posref_checkpoint *checkpoint, const char *path)
{
    const char *slash = strrchr(path, '/');
    checkpoint->directory = !slash ? strdup(".")
                            : slash == path ? strdup("/")
                                            : strndup(path, (size_t)(slash - path));
    return checkpoint->directory != NULL;
}

static enum posref_status open_path(struct posref_checkpoint *checkpoint, const char *path,
                                    struct posref_error *err)
{
    int64_t n_parts;
    if (!set_directory(checkpoint, path))
        return no_memory(path, err);
    enum posref_status status;
    if (ends_with(path, ".index.json"))
        status = checkpoint_add_index(checkpoint, path, err);
    else
        status = checkpoint_add_file(checkpoint, path, err);
    if (status == POSREF_OK && checkpoint->format == POSREF_FORMAT_GGUF &&
        posref_gguf_integer(&n_parts, &checkpoint->file[0].gguf, "split.count", 0) && n_parts > 1)
        status = checkpoint_add_split(checkpoint, err);
    return status == POSREF_OK ? check_unique(checkpoint, err) : status;
}

enum posref_status posref_checkpoint_open(struct posref_checkpoint *out, const char *path,
                                          struct posref_error *err)
{
    struct posref_checkpoint result = {0};
    struct stat info;
    char *entry = NULL;
    if (stat(path, &info) != 0)
        return posref_fail(err, POSREF_BAD_INPUT, posref_path_tail(path), "%s",
                           posref_errno_text(errno));
    enum posref_status status = POSREF_OK;
    if (S_ISDIR(info.st_mode))
        status = choose_entry(&entry, path, err);
    if (status == POSREF_OK)
        status = open_path(&result, entry ? entry : path, err);
    free(entry);
    if (status == POSREF_OK)
        *out = result;
    else
        posref_checkpoint_close(&result);
    return status;
}

void posref_checkpoint_close(struct posref_checkpoint *checkpoint)
{
    for (size_t i = 0; i < checkpoint->n_files; i++) {
        free(checkpoint->file[i].path);
        posref_safetensors_close(&checkpoint->file[i].safetensors);
        posref_gguf_close(&checkpoint->file[i].gguf);
        posref_npy_close(&checkpoint->file[i].npy);
    }
    free(checkpoint->file);
    free(checkpoint->item);
    free(checkpoint->directory);
    free(checkpoint->index_path);
    *checkpoint = (struct posref_checkpoint){0};
}

const struct posref_stored *posref_checkpoint_find(const struct posref_checkpoint *checkpoint,
                                                   const char *name)
{
    for (size_t i = 0; i < checkpoint->n; i++)
        if (strcmp(checkpoint->item[i].name, name) == 0)
            return &checkpoint->item[i];
    return NULL;
}
