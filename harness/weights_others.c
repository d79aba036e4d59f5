/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the tensors that hold no q or k rows: they should be the same before and after. */
#include "harness/weights_rows.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define TASK_ELEMENTS (INT64_C(1) << 20) /* a whole number of any type's blocks */

struct couple {
    const struct posref_stored *before, *after;
    char canonical[192];
    bool same_type;
    int64_t n_elements, first_task;
    atomic_bool differs;
    atomic_int error_ppm; /* worst chunk's relative error, in millionths, saturating */
};

struct comparing {
    struct couple *couple;
    size_t n;
};

static int by_canonical(const void *left, const void *right)
{
    const struct couple *a = left, *b = right;
    return strcmp(a->canonical, b->canonical);
}

static void compare_chunk(struct couple *couple, int64_t chunk)
{
    const struct posref_stored *a = couple->before, *b = couple->after;
    int64_t begin = chunk * TASK_ELEMENTS, n = couple->n_elements - begin;
    if (n > TASK_ELEMENTS)
        n = TASK_ELEMENTS;
    int64_t at_a = begin / a->block_elements * a->block_bytes;
    int64_t at_b = begin / b->block_elements * b->block_bytes;
    int64_t size_a = n / a->block_elements * a->block_bytes;
    int64_t size_b = n / b->block_elements * b->block_bytes;
    posref_weights_touch(a->data + at_a, size_a);
    posref_weights_touch(b->data + at_b, size_b);
    if (couple->same_type) {
        if (memcmp(a->data + at_a, b->data + at_b, (size_t)size_a) != 0)
            atomic_store(&couple->differs, true);
        return;
    }
    bool within;
    double error = posref_weights_row_error(&within, a, a->data + at_a, b, b->data + at_b, n, 0);
    int ppm = error < 2000 ? (int)(error * 1e6) : 2000000000;
    for (int old = atomic_load(&couple->error_ppm); old < ppm;)
        if (atomic_compare_exchange_weak(&couple->error_ppm, &old, ppm))
            break;
    if (!within)
        atomic_store(&couple->differs, true);
}

/* Task numbers run through all couples' chunks: the couple is found by its first one. */
static void compare_task(void *ctx, int64_t task)
{
    const struct comparing *c = ctx;
    size_t low = 0, high = c->n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (c->couple[middle].first_task <= task)
            low = middle;
        else
            high = middle;
    }
    compare_chunk(&c->couple[low], task - c->couple[low].first_task);
}

static bool comparable(struct couple *couple)
{
    const struct posref_stored *a = couple->before, *b = couple->after;
    uint64_t n_a, n_b, bytes;
    couple->same_type = a->type == b->type && strcmp(a->type_name, b->type_name) == 0;
    if (!couple->same_type && (!posref_decode_knows(a->type) || !posref_decode_knows(b->type)))
        return false;
    if (!posref_stored_size(&n_a, &bytes, a->shape, a->rank, a->block_elements, a->block_bytes) ||
        !posref_stored_size(&n_b, &bytes, b->shape, b->rank, b->block_elements, b->block_bytes))
        return false;
    couple->n_elements = (int64_t)n_a;
    return n_a == n_b && n_a > 0;
}

/* Couples tensors of one canonical name. */
static size_t make_couples(struct couple *couple, struct couple *all,
                           const struct posref_weights_side *before,
                           const struct posref_weights_side *after)
{
    struct posref_weights_name name;
    size_t n = 0;
    for (size_t i = 0; i < after->n_others; i++) {
        posref_weights_parse_name(&name, after->other[i]->name);
        all[i].after = after->other[i];
        memcpy(all[i].canonical, name.canonical, sizeof all[i].canonical);
    }
    qsort(all, after->n_others, sizeof *all, by_canonical);
    for (size_t i = 0; i < before->n_others; i++) {
        struct couple wanted = {.before = before->other[i]};
        posref_weights_parse_name(&name, before->other[i]->name);
        memcpy(wanted.canonical, name.canonical, sizeof wanted.canonical);
        const struct couple *found = bsearch(&wanted, all, after->n_others, sizeof *all,
                                             by_canonical);
        if (!found)
            continue;
        couple[n].before = wanted.before;
        couple[n].after = found->after;
        n += comparable(&couple[n]);
    }
    return n;
}

static enum posref_status collect(struct posref_weights_result *result,
                                  const struct comparing *c, struct posref_error *err)
{
    result->changed = calloc(c->n + 1, sizeof *result->changed);
    if (!result->changed)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    for (size_t i = 0; i < c->n; i++) {
        const struct couple *couple = &c->couple[i];
        double error = (double)atomic_load(&couple->error_ppm) * 1e-6;
        if (atomic_load(&couple->differs))
            result->changed[result->n_changed++] =
                (struct posref_weights_changed){couple->before, couple->after, error};
        else if (couple->same_type || error == 0)
            result->n_other_equal++;
        else
            result->n_other_within++;
    }
    return POSREF_OK;
}

enum posref_status posref_weights_compare_others(struct posref_weights_result *result,
                                                 const struct posref_weights_side *before,
                                                 const struct posref_weights_side *after,
                                                 int n_threads, struct posref_error *err)
{
    struct comparing c = {calloc(before->n_others + 1, sizeof *c.couple), 0};
    struct couple *all = calloc(after->n_others + 1, sizeof *all);
    enum posref_status status;
    if (c.couple && all) {
        int64_t n_tasks = 0;
        c.n = make_couples(c.couple, all, before, after);
        for (size_t i = 0; i < c.n; i++) {
            c.couple[i].first_task = n_tasks;
            n_tasks += (c.couple[i].n_elements + TASK_ELEMENTS - 1) / TASK_ELEMENTS;
        }
        status = posref_weights_run(compare_task, &c, n_tasks, n_threads, err);
        size_t larger = before->n_others > after->n_others ? before->n_others : after->n_others;
        result->n_other_skipped = larger - c.n;
        if (status == POSREF_OK)
            status = collect(result, &c, err);
    } else {
        status = posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    }
    free(c.couple);
    free(all);
    return status;
}
