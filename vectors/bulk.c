/* SPDX-License-Identifier: Apache-2.0 */
/* Bulk evaluation on several threads: the rows of tables and rotations are independent, so the
 * positions are cut into as many parts as there are threads. */
#include "vectors/vectors.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* Elements that make a thread worth its start (some 50 us). */
#define MIN_ELEMENTS_OF_A_THREAD 16384
#define MAX_THREADS 64

struct part {
    const struct posref_prepared *prepared;
    enum posref_op op;
    struct posref_tensors in, out;
    struct posref_heap *heap;
    enum posref_status status;
    bool started;
    pthread_t thread;
};

static void *run(void *of)
{
    struct part *part = of;
    struct posref_arena arena = posref_heap_arena(part->heap);
    part->status = posref_eval_prepared(&part->out, part->prepared, part->op, &part->in, &arena,
                                        NULL);
    return NULL;
}

/* Rows first ... first + n of each input, without a copy. */
static void cut(struct posref_tensors *out, const struct posref_tensors *in, int64_t first,
                int64_t n)
{
    *out = *in;
    for (int k = 0; k < in->n; k++) {
        struct posref_tensor *tensor = &out->item[k];
        int64_t row = posref_tensor_count(tensor) / tensor->shape[0];
        tensor->data = (double *)in->item[k].data + first * row;
        tensor->shape[0] = n;
    }
}

/* How many threads the request keeps busy; 1: it has no independent rows, or is small. */
static int threads_for(const struct posref_spec *spec, const struct posref_tensors *in,
                       int64_t n_rows)
{
    const struct posref_tensor *x = posref_tensors_find(in, "x");
    const struct posref_tensor *positions = posref_tensors_find(in, "positions");
    if (!spec->given[POSREF_FIELD_DIM] || !positions || positions->rank != 1 ||
        (x && (x->rank < 2 || x->shape[0] != n_rows)) || in->n > 1 + (x != NULL))
        return 1;
    int64_t elements = x ? posref_tensor_count(x) : n_rows * spec->dim;
    int64_t most = elements / MIN_ELEMENTS_OF_A_THREAD;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (most > cores)
        most = cores;
    if (most > n_rows)
        most = n_rows;
    return most > MAX_THREADS ? MAX_THREADS : most < 1 ? 1 : (int)most;
}

/* Outputs whose rows are positions are put together; the others are the same in every part. */
static enum posref_status join(struct posref_tensors *out, const struct part *parts, int n_parts,
                               const struct posref_arena *arena, struct posref_error *err)
{
    struct posref_tensors joined = parts[0].out;
    for (int k = 0; k < joined.n; k++) {
        struct posref_tensor *tensor = &joined.item[k];
        const bool by_row = tensor->rank > 1;
        int64_t count = 0;
        for (int p = 0; p < (by_row ? n_parts : 1); p++)
            count += posref_tensor_count(&parts[p].out.item[k]);
        double *data = arena->alloc(arena->ctx, (size_t)count * sizeof *data);
        if (!data)
            return posref_fail(err, POSREF_NO_MEMORY, "", "out of memory");
        tensor->data = data;
        if (by_row)
            tensor->shape[0] = 0;
        for (int p = 0; p < (by_row ? n_parts : 1); p++) {
            const struct posref_tensor *piece = &parts[p].out.item[k];
            memcpy(data, piece->data, (size_t)posref_tensor_count(piece) * sizeof *data);
            data += posref_tensor_count(piece);
            if (by_row)
                tensor->shape[0] += piece->shape[0];
        }
    }
    *out = joined;
    return POSREF_OK;
}

/* false: some part failed, or could not be started. */
static bool run_parts(struct part *parts, int n)
{
    bool all = true;
    for (int p = 0; p < n; p++) {
        parts[p].heap = posref_heap_new(0);
        parts[p].started = parts[p].heap && pthread_create(&parts[p].thread, NULL, run,
                                                           &parts[p]) == 0;
    }
    for (int p = 0; p < n; p++) {
        if (parts[p].started)
            pthread_join(parts[p].thread, NULL);
        all = all && parts[p].started && parts[p].status == POSREF_OK;
    }
    return all;
}

enum posref_status posref_eval_bulk(struct posref_tensors *out, const struct posref_spec *spec,
                                    enum posref_op op, const struct posref_tensors *in,
                                    const struct posref_arena *arena, struct posref_error *err)
{
    const struct posref_tensor *positions = posref_tensors_find(in, "positions");
    const int64_t n_rows = positions && positions->rank == 1 ? positions->shape[0] : 0;
    const int n_parts = n_rows ? threads_for(spec, in, n_rows) : 1;
    struct posref_prepared *prepared;
    if (n_parts == 1 || n_rows > POSREF_MAX_POSITIONS)
        return posref_eval(out, spec, op, in, arena, err);
    enum posref_status status = posref_prepare(&prepared, spec, arena, err);
    if (status != POSREF_OK)
        return status;
    struct part parts[MAX_THREADS];
    memset(parts, 0, sizeof parts);
    for (int p = 0; p < n_parts; p++) {
        int64_t first = n_rows * p / n_parts, end = n_rows * (p + 1) / n_parts;
        parts[p].prepared = prepared;
        parts[p].op = op;
        cut(&parts[p].in, in, first, end - first);
    }
    /* A failure is told by the whole evaluation, which names the element as the caller counts. */
    bool all = run_parts(parts, n_parts);
    status = all ? join(out, parts, n_parts, arena, err)
                 : posref_eval_prepared(out, prepared, op, in, arena, err);
    for (int p = 0; p < n_parts; p++)
        posref_heap_free(parts[p].heap);
    return status;
}
