/* SPDX-License-Identifier: Apache-2.0 */
/* From a safetensors document to the tensors of reference/: whole sets, and KEY=@FILE inputs. */
#include "vectors/safetensors.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum posref_status posref_safetensors_load(struct posref_tensors *out,
                                           const struct posref_safetensors *st, bool as_f64,
                                           const struct posref_arena *arena,
                                           struct posref_error *err)
{
    struct posref_tensors *set;
    if (st->n > POSREF_MAX_TENSORS)
        return posref_fail(err, POSREF_BAD_INPUT, st->item[POSREF_MAX_TENSORS].name,
                           "one tensor too many: %zu, the limit is %d", st->n, POSREF_MAX_TENSORS);
    set = arena->alloc(arena->ctx, sizeof *set);
    if (!set)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory for tensors");
    set->n = 0;
    for (size_t i = 0; i < st->n; i++) {
        enum posref_status status = posref_stored_load(&set->item[i], &st->item[i],
                                                       st->item[i].name, as_f64, arena, err);
        if (status != POSREF_OK)
            return status;
        set->n++;
    }
    *out = *set;
    return POSREF_OK;
}

static enum posref_status load_one(struct posref_tensor *out, const char *key, const char *path,
                                   const char *name, const struct posref_arena *arena,
                                   struct posref_error *err)
{
    struct posref_safetensors st;
    enum posref_status status = posref_safetensors_open(&st, path, err);
    if (status != POSREF_OK)
        return status;
    const struct posref_stored *tensor = posref_safetensors_find(&st, name ? name : key);
    if (!tensor && !name && st.n == 1)
        tensor = st.item;
    if (tensor)
        status = posref_stored_load(out, tensor, key, true, arena, err);
    else
        status = posref_fail(err, POSREF_BAD_INPUT, posref_path_tail(path),
                             "has no tensor called %.100s", name ? name : key);
    posref_safetensors_close(&st);
    return status;
}

enum posref_status posref_safetensors_read_input(struct posref_tensor *out, const char *key,
                                                 const char *reference,
                                                 const struct posref_arena *arena,
                                                 struct posref_error *err)
{
    const char *colon = strrchr(reference, ':');
    if (!colon || access(reference, F_OK) == 0)
        return load_one(out, key, reference, NULL, arena, err);
    char *path = strndup(reference, (size_t)(colon - reference));
    if (!path)
        return posref_fail(err, POSREF_NO_MEMORY, key, "no memory");
    enum posref_status status = load_one(out, key, path, colon + 1, arena, err);
    free(path);
    return status;
}
