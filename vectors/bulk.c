/* SPDX-License-Identifier: Apache-2.0 */
/* Bulk evaluation on several threads: the rows of tables and rotations are independent, so the
 * positions are cut into blocks that the threads take one after the other. A block is small enough
 * to be computed in a cache and copied to its place from there. */
#include "vectors/vectors.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_ELEMENTS 16384
#define MIN_BLOCKS_OF_A_THREAD 2 /* fewer do not pay for the start of a thread */
#define MAX_THREADS 64

struct bulk {
    const struct posref_prepared *prepared;
    enum posref_op op;
    const struct posref_tensors *in;
    struct posref_tensors out; /* whole outputs */
    int64_t n_rows, block_rows;
    _Atomic int64_t next_row;
    _Atomic bool failed;
};

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

/* Rows of this request are positions; outputs of rank 0 and 1 do not depend on them. */
static bool is_by_row(const struct posref_tensor *tensor)
{
    return tensor->rank > 1;
}

static enum posref_status eval_block(struct posref_tensors *out, const struct bulk *bulk,
                                     int64_t first, const struct posref_arena *arena)
{
    struct posref_tensors in;
    int64_t rows = bulk->n_rows - first;
    cut(&in, bulk->in, first, rows < bulk->block_rows ? rows : bulk->block_rows);
    return posref_eval_prepared(out, bulk->prepared, bulk->op, &in, arena, NULL);
}

static void copy_block(const struct bulk *bulk, const struct posref_tensors *block, int64_t first)
{
    for (int k = 0; k < block->n; k++) {
        const struct posref_tensor *from = &block->item[k], *to = &bulk->out.item[k];
        int64_t count = posref_tensor_count(from);
        int64_t offset = is_by_row(from) ? first * (count / from->shape[0]) : 0;
        if (first == 0 || is_by_row(from))
            memcpy((double *)to->data + offset, from->data, (size_t)count * sizeof(double));
    }
}

static void *run(void *of)
{
    struct bulk *bulk = of;
    struct posref_heap *heap = posref_heap_new(0);
    struct posref_tensors block;
    for (;;) {
        int64_t first = atomic_fetch_add(&bulk->next_row, bulk->block_rows);
        if (first >= bulk->n_rows || atomic_load(&bulk->failed))
            break;
        struct posref_arena arena = heap ? posref_heap_arena(heap) : (struct posref_arena){0};
        if (!heap || eval_block(&block, bulk, first, &arena) != POSREF_OK) {
            atomic_store(&bulk->failed, true);
            break;
        }
        copy_block(bulk, &block, first);
        posref_heap_reset(heap);
    }
    posref_heap_free(heap);
    return NULL;
}

/* The outputs' shapes, from the first block, and memory for them. */
static bool allocate(struct bulk *bulk, const struct posref_arena *arena)
{
    struct posref_tensors first;
    if (eval_block(&first, bulk, 0, arena) != POSREF_OK)
        return false;
    bulk->out = first;
    for (int k = 0; k < first.n; k++) {
        struct posref_tensor *tensor = &bulk->out.item[k];
        if (!is_by_row(tensor))
            continue;
        tensor->shape[0] = bulk->n_rows;
        int64_t count = posref_tensor_count(tensor);
        if (count > POSREF_MAX_OUTPUT_ELEMENTS)
            return false;
        tensor->data = arena->alloc(arena->ctx, (size_t)count * sizeof(double));
        if (!tensor->data)
            return false;
    }
    copy_block(bulk, &first, 0);
    bulk->next_row = bulk->block_rows;
    return true;
}

/* Runs on this thread too, so that one is enough. */
static void run_threads(struct bulk *bulk, int n_threads)
{
    pthread_t thread[MAX_THREADS];
    int n_started = 0;
    while (n_started < n_threads - 1 &&
           pthread_create(&thread[n_started], NULL, run, bulk) == 0)
        n_started++;
    run(bulk);
    for (int k = 0; k < n_started; k++)
        pthread_join(thread[k], NULL);
}

/* Rows of a block; 0: the request has no independent rows, or is small. */
static int64_t rows_of_block(const struct posref_spec *spec, const struct posref_tensors *in)
{
    const struct posref_tensor *x = posref_tensors_find(in, "x");
    x = x ? x : posref_tensors_find(in, "dy");
    const struct posref_tensor *positions = posref_tensors_find(in, "positions");
    if (!spec->given[POSREF_FIELD_DIM] || !positions || positions->rank != 1 ||
        in->n > 1 + (x != NULL))
        return 0;
    int64_t n_rows = positions->shape[0];
    if (n_rows < 1 || n_rows > POSREF_MAX_POSITIONS)
        return 0;
    if (x && (x->rank < 2 || x->shape[0] != n_rows))
        return 0;
    int64_t row = x ? posref_tensor_count(x) / n_rows : spec->dim;
    int64_t rows = row < BLOCK_ELEMENTS ? BLOCK_ELEMENTS / row : 1;
    return n_rows / rows < 2 * MIN_BLOCKS_OF_A_THREAD ? 0 : rows;
}

enum posref_status posref_eval_bulk(struct posref_tensors *out, const struct posref_spec *spec,
                                    enum posref_op op, const struct posref_tensors *in,
                                    const struct posref_arena *arena, struct posref_error *err)
{
    struct bulk bulk = {.op = op, .in = in, .block_rows = rows_of_block(spec, in)};
    struct posref_prepared *prepared;
    if (bulk.block_rows == 0)
        return posref_eval(out, spec, op, in, arena, err);
    enum posref_status status = posref_prepare(&prepared, spec, arena, err);
    if (status != POSREF_OK)
        return status;
    bulk.prepared = prepared;
    bulk.n_rows = posref_tensors_find(in, "positions")->shape[0];
    int64_t n_threads = bulk.n_rows / bulk.block_rows / MIN_BLOCKS_OF_A_THREAD;
    const int64_t cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (n_threads > cores)
        n_threads = cores;
    if (allocate(&bulk, arena))
        run_threads(&bulk, n_threads > MAX_THREADS ? MAX_THREADS : (int)n_threads);
    else
        bulk.failed = true;
    /* A failure is told by the whole evaluation, which counts elements as the caller does. */
    if (bulk.failed)
        return posref_eval_prepared(out, prepared, op, in, arena, err);
    *out = bulk.out;
    return POSREF_OK;
}
