/* SPDX-License-Identifier: Apache-2.0 */
/* Making vectors on several threads, handed over in the order of the case list. */
#include "vectors/make.h"

#include "vectors/sha256.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define N_SLOTS 64 /* how far the workers may run ahead of the writer */
#define MAX_WORKERS 64
#define MAX_DOCUMENT_BYTES ((size_t)1 << 26)

struct slot {
    struct posref_made made;
    bool ready;
};

/* Guarded by the mutex, except a slot's contents while its worker fills it or the writer reads. */
struct line {
    pthread_mutex_t mutex;
    pthread_cond_t moved;
    const struct posref_case_list *list;
    size_t n_claimed, n_taken;
    enum posref_status status; /* the first failure; workers stop on it */
    struct posref_error err;
    struct slot slot[N_SLOTS];
};

/* The last spec a worker met: neighbours in the list often share it, and compiling it costs more
 * than evaluating a few positions. */
struct memory {
    struct posref_heap *heap;
    const char *spec; /* its text; NULL: none yet */
    struct posref_prepared *prepared;
};

static enum posref_status recall(struct memory *memory, const struct posref_case *item,
                                 const struct posref_spec *spec, struct posref_error *err)
{
    if (memory->spec && strcmp(memory->spec, item->spec) == 0)
        return POSREF_OK;
    memory->spec = NULL;
    posref_heap_reset(memory->heap);
    struct posref_arena arena = posref_heap_arena(memory->heap);
    enum posref_status status = posref_prepare(&memory->prepared, spec, &arena, err);
    if (status == POSREF_OK)
        memory->spec = item->spec;
    return status;
}

/* The JSON with answers, and what makes the prompt of it; false: no memory. */
static bool add_documents(struct posref_made *made, const struct posref_vector *vector)
{
    struct posref_buffer *document = &made->document;
    document->length = 0;
    posref_vector_json(document, vector, false, POSREF_NUMBERS_DECIMAL);
    if (document->failed)
        return false;
    made->prompt_bytes = document->length - strlen("}\n");
    posref_sha256_hex(made->prompt_sha256, document->data, document->length);
    document->length = 0;
    posref_vector_json(document, vector, true, POSREF_NUMBERS_DECIMAL);
    if (document->failed)
        return false;
    posref_sha256_hex(made->document_sha256, document->data, document->length);
    return true;
}

static enum posref_status make_one(struct posref_made *made, struct memory *memory,
                                   const struct posref_case_list *list,
                                   const struct posref_case *item, struct posref_error *err)
{
    struct posref_vector *vector = &made->vector;
    posref_heap_reset(made->heap);
    struct posref_arena arena = posref_heap_arena(made->heap);
    made->item = item;
    enum posref_status status = posref_case_vector(vector, list, item, &arena, err);
    if (status == POSREF_OK)
        status = recall(memory, item, &vector->spec, err);
    if (status == POSREF_OK)
        status = posref_eval_prepared(&vector->outputs, memory->prepared, vector->op,
                                      &vector->inputs, &arena, err);
    if (status != POSREF_OK)
        return status;
    made->canonical.length = 0;
    posref_canonical_text(&made->canonical, vector);
    bool failed = made->canonical.failed;
    posref_sha256_hex(made->sha256, made->canonical.data, made->canonical.length);
    failed = failed || !add_documents(made, vector);
    made->summary.length = 0;
    posref_vector_summary_json(&made->summary, vector);
    failed = failed || made->summary.failed;
    return failed ? posref_fail(err, POSREF_NO_MEMORY, item->id, "no memory") : POSREF_OK;
}

/* The next case, once its slot is free; false when there is none, or after a failure. */
static bool claim(struct line *line, size_t *index)
{
    pthread_mutex_lock(&line->mutex);
    while (line->status == POSREF_OK && line->n_claimed < line->list->n &&
           line->n_claimed >= line->n_taken + N_SLOTS)
        pthread_cond_wait(&line->moved, &line->mutex);
    bool any = line->status == POSREF_OK && line->n_claimed < line->list->n;
    *index = any ? line->n_claimed++ : 0;
    pthread_mutex_unlock(&line->mutex);
    return any;
}

static void *work(void *argument)
{
    struct line *line = argument;
    struct memory memory = {.heap = posref_heap_new(0)};
    size_t index;
    while (claim(line, &index)) {
        struct slot *slot = &line->slot[index % N_SLOTS];
        const struct posref_case *item = &line->list->item[index];
        struct posref_error err = {{0}, {0}};
        enum posref_status status =
            memory.heap ? make_one(&slot->made, &memory, line->list, item, &err)
                        : posref_fail(&err, POSREF_NO_MEMORY, item->id, "no memory");
        pthread_mutex_lock(&line->mutex);
        slot->ready = true;
        if (status != POSREF_OK && line->status == POSREF_OK)
            line->status = posref_fail(&line->err, status, item->id, "%.60s: %.180s", err.key,
                                       err.text);
        pthread_cond_broadcast(&line->moved);
        pthread_mutex_unlock(&line->mutex);
    }
    posref_heap_free(memory.heap);
    return NULL;
}

/* Waits for the vector with that index; NULL after a failure. */
static struct slot *wait_for(struct line *line, size_t index)
{
    struct slot *slot = &line->slot[index % N_SLOTS];
    pthread_mutex_lock(&line->mutex);
    while (line->status == POSREF_OK && !slot->ready)
        pthread_cond_wait(&line->moved, &line->mutex);
    bool good = line->status == POSREF_OK;
    pthread_mutex_unlock(&line->mutex);
    return good ? slot : NULL;
}

static void release(struct line *line, struct slot *slot, enum posref_status status,
                    const struct posref_error *err)
{
    pthread_mutex_lock(&line->mutex);
    slot->ready = false;
    line->n_taken++;
    if (status != POSREF_OK) {
        line->status = status;
        line->err = *err;
    }
    pthread_cond_broadcast(&line->moved);
    pthread_mutex_unlock(&line->mutex);
}

static struct line *line_new(const struct posref_case_list *list)
{
    struct line *line = calloc(1, sizeof *line);
    if (!line)
        return NULL;
    line->list = list;
    pthread_mutex_init(&line->mutex, NULL);
    pthread_cond_init(&line->moved, NULL);
    for (int i = 0; i < N_SLOTS; i++) {
        struct posref_made *made = &line->slot[i].made;
        made->heap = posref_heap_new(0);
        posref_buffer_init(&made->canonical, MAX_DOCUMENT_BYTES);
        posref_buffer_init(&made->summary, MAX_DOCUMENT_BYTES);
        posref_buffer_init(&made->document, MAX_DOCUMENT_BYTES);
        if (!made->heap)
            line->status = posref_fail(&line->err, POSREF_NO_MEMORY, "", "no memory");
    }
    return line;
}

static void line_free(struct line *line)
{
    for (int i = 0; i < N_SLOTS; i++) {
        struct posref_made *made = &line->slot[i].made;
        posref_heap_free(made->heap);
        posref_buffer_clear(&made->canonical);
        posref_buffer_clear(&made->summary);
        posref_buffer_clear(&made->document);
    }
    pthread_cond_destroy(&line->moved);
    pthread_mutex_destroy(&line->mutex);
    free(line);
}

enum posref_status posref_make_all(const struct posref_case_list *list, int n_workers,
                                   enum posref_status (*take)(void *ctx,
                                                              const struct posref_made *made,
                                                              struct posref_error *err),
                                   void *ctx, struct posref_error *err)
{
    pthread_t thread[MAX_WORKERS];
    int n_threads = 0;
    struct line *line = line_new(list);
    if (!line)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    n_workers = n_workers > MAX_WORKERS ? MAX_WORKERS : n_workers;
    while (line->status == POSREF_OK && n_threads < n_workers &&
           pthread_create(&thread[n_threads], NULL, work, line) == 0)
        n_threads++;
    if (n_threads == 0 && line->status == POSREF_OK)
        line->status = posref_fail(&line->err, POSREF_IO, "", "no thread could be started");
    for (size_t index = 0; index < list->n; index++) {
        struct slot *slot = wait_for(line, index);
        if (!slot)
            break;
        struct posref_error take_err = {{0}, {0}};
        enum posref_status taken = take(ctx, &slot->made, &take_err);
        release(line, slot, taken, &take_err);
    }
    for (int i = 0; i < n_threads; i++)
        pthread_join(thread[i], NULL);
    enum posref_status status = line->status;
    if (status != POSREF_OK && err)
        *err = line->err;
    line_free(line);
    return status;
}
