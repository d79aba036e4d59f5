/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and compares rows, by hash or by value. */
#include "harness/weights_rows.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TASK_BYTES (INT64_C(2) << 20)
#define CHUNK 1024 /* elements decoded at a time: a whole number of any type's blocks */

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

void posref_weights_touch(const unsigned char *data, int64_t size_bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)data / page * page;
    uintptr_t end = (uintptr_t)data + (uintptr_t)size_bytes;
    if (size_bytes > 65536) /* where the kernel is too old this fails, and faults do the work */
        (void)!madvise((void *)begin, end - begin, MADV_POPULATE_READ);
}

/* Root mean square errors of the types, with room for importance-weighted quantisation. Distinct
 * rows are 1.4 apart. */
double posref_weights_type_tolerance(enum posref_stored_type type)
{
    switch (type) {
    case POSREF_STORED_BF16: return 0x1p-8;
    case POSREF_STORED_F16: return 0x1p-10;
    case POSREF_STORED_F8_E4M3: return 0.08;
    case POSREF_STORED_F8_E5M2: return 0.15;
    case POSREF_STORED_Q8_0:
    case POSREF_STORED_Q8_K: return 0.02;
    case POSREF_STORED_Q6_K: return 0.05;
    case POSREF_STORED_Q5_K:
    case POSREF_STORED_Q5_0:
    case POSREF_STORED_Q5_1: return 0.12;
    case POSREF_STORED_Q4_K:
    case POSREF_STORED_Q4_0:
    case POSREF_STORED_Q4_1: return 0.22;
    case POSREF_STORED_Q3_K: return 0.35;
    case POSREF_STORED_Q2_K: return 0.6;
    default: return 0x1p-20;
    }
}

static double pair_tolerance(enum posref_stored_type a, enum posref_stored_type b)
{
    return fmax(posref_weights_type_tolerance(a), posref_weights_type_tolerance(b));
}

/* The error that the smallest step of a type's float16 leaves in one element: below it a relative
 * error means nothing. A block type multiplies its float16 scale by that many levels (K quants: of
 * the block's own scale as well), and scales under half a step round to 0. */
static double type_floor(enum posref_stored_type type)
{
    switch (type) {
    case POSREF_STORED_F16: return 0x1p-24;
    case POSREF_STORED_Q8_0: return 0x1p-24 * 127;
    case POSREF_STORED_Q5_0:
    case POSREF_STORED_Q5_1: return 0x1p-24 * 32;
    case POSREF_STORED_Q4_0:
    case POSREF_STORED_Q4_1: return 0x1p-24 * 16;
    case POSREF_STORED_Q6_K: return 0x1p-24 * 128 * 32;
    case POSREF_STORED_Q5_K: return 0x1p-24 * 63 * 32;
    case POSREF_STORED_Q4_K: return 0x1p-24 * 63 * 16;
    case POSREF_STORED_Q3_K: return 0x1p-24 * 32 * 4;
    case POSREF_STORED_Q2_K: return 0x1p-24 * 15 * 4;
    default: return 0;
    }
}

static double pair_floor(enum posref_stored_type a, enum posref_stored_type b)
{
    return fmax(type_floor(a), type_floor(b));
}

struct reading {
    struct posref_weights_rows *rows;
    int64_t per_task;
};

static const unsigned char *row_data(const struct posref_weights_part *part, int64_t i)
{
    return part->tensor->data + posref_weights_row(part, i) * part->row_bytes;
}

/* Rows of a head lie together: one request maps most of a task's. */
static void touch_rows(const struct posref_weights_part *part, int64_t begin, int64_t n)
{
    const unsigned char *first = row_data(part, begin);
    int64_t size = n * part->row_bytes;
    int64_t left = (int64_t)part->tensor->size_bytes - (first - part->tensor->data);
    posref_weights_touch(first, size < left ? size : left);
}

/* Task i reads rows of both parts. */
static void read_task(void *ctx, int64_t task)
{
    const struct reading *r = ctx;
    struct posref_weights_rows *rows = r->rows;
    const struct posref_weights_part *before = rows->before, *after = rows->after;
    int64_t begin = task * r->per_task, end = begin + r->per_task;
    if (end > rows->n)
        end = rows->n;
    if (rows->old_hash) {
        touch_rows(before, begin, end - begin);
        touch_rows(after, begin, end - begin);
    }
    for (int64_t i = begin; i < end; i++) {
        if (rows->old_hash) {
            rows->old_hash[i] = posref_weights_hash(row_data(before, i), before->row_bytes);
            rows->new_hash[i] = posref_weights_hash(row_data(after, i), after->row_bytes);
        } else {
            posref_decode(rows->old_value + i * rows->columns, before->tensor->type,
                          row_data(before, i), rows->columns);
            posref_decode(rows->new_value + i * rows->columns, after->tensor->type,
                          row_data(after, i), rows->columns);
        }
    }
}

static bool allocate(struct posref_weights_rows *rows)
{
    size_t n = (size_t)rows->n;
    if (rows->before->tensor->type == rows->after->tensor->type &&
        strcmp(rows->before->tensor->type_name, rows->after->tensor->type_name) == 0 &&
        rows->shift == 0) {
        rows->old_hash = calloc(n + 1, sizeof *rows->old_hash);
        rows->new_hash = calloc(n + 1, sizeof *rows->new_hash);
        return rows->old_hash && rows->new_hash;
    }
    rows->columns = rows->before->row_elements;
    if (rows->columns > POSREF_WEIGHTS_COLUMNS)
        rows->columns = POSREF_WEIGHTS_COLUMNS;
    rows->old_value = calloc(n * (size_t)rows->columns + 1, sizeof *rows->old_value);
    rows->new_value = calloc(n * (size_t)rows->columns + 1, sizeof *rows->new_value);
    return rows->old_value && rows->new_value;
}

enum posref_status posref_weights_rows_read(struct posref_weights_rows *out,
                                            const struct posref_weights_part *before,
                                            const struct posref_weights_part *after, double shift,
                                            int n_threads, struct posref_error *err)
{
    struct posref_weights_rows rows = {
        .before = before, .after = after, .n = before->n_heads * before->head_rows,
        .tolerance = pair_tolerance(before->tensor->type, after->tensor->type),
        .floor = pair_floor(before->tensor->type, after->tensor->type),
        .shift = shift, .n_threads = n_threads};
    struct reading reading = {.rows = &rows};
    if (!allocate(&rows)) {
        posref_weights_rows_clear(&rows);
        return posref_fail(err, POSREF_NO_MEMORY, before->tensor->name, "no memory for its rows");
    }
    reading.per_task = TASK_BYTES / (before->row_bytes + after->row_bytes) + 1;
    int64_t n_tasks = (rows.n + reading.per_task - 1) / reading.per_task;
    enum posref_status status = posref_weights_run(read_task, &reading, n_tasks, n_threads, err);
    if (status == POSREF_OK)
        *out = rows;
    else
        posref_weights_rows_clear(&rows);
    return status;
}

void posref_weights_rows_clear(struct posref_weights_rows *rows)
{
    free(rows->old_hash);
    free(rows->new_hash);
    free(rows->old_value);
    free(rows->new_value);
    *rows = (struct posref_weights_rows){0};
}

/* Not a number on both sides, or the same infinity, is no difference; on one side it is all. */
static bool finite_squares(double *distance, double *size_new, double *size_old, const float *new,
                           const float *old, double shift, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double a = (double)new[i], b = (double)old[i] + shift;
        if ((isnan(a) && isnan(b)) || (isinf(a) && a == b))
            continue;
        if (!isfinite(a) || !isfinite(b))
            return false;
        *distance += (a - b) * (a - b);
        *size_new += a * a;
        *size_old += b * b;
    }
    return true;
}

bool posref_weights_rows_equal(const struct posref_weights_rows *rows, int64_t i, int64_t j,
                               double *square_error)
{
    if (rows->old_hash)
        return memcmp(&rows->new_hash[i], &rows->old_hash[j], sizeof *rows->old_hash) == 0;
    const float *a = rows->new_value + i * rows->columns;
    const float *b = rows->old_value + j * rows->columns;
    double distance = 0, size_a = 0, size_b = 0;
    for (int64_t c = 0; c < rows->columns; c++) {
        double old = (double)b[c] + rows->shift, difference = (double)a[c] - old;
        distance += difference * difference;
        size_a += (double)a[c] * (double)a[c];
        size_b += old * old;
    }
    if (!isfinite(distance + size_a + size_b)) {
        distance = size_a = size_b = 0;
        if (!finite_squares(&distance, &size_a, &size_b, a, b, rows->shift, rows->columns))
            return false;
    }
    if (square_error)
        *square_error += distance;
    double limit = rows->tolerance * rows->tolerance * fmax(size_a, size_b) +
                   (double)rows->columns * rows->floor * rows->floor;
    return distance <= limit;
}

#define LANES 16 /* sums that do not wait for each other */

/* Adds the squares of new - old - shift, of new, and of old + shift. */
static void add_squares(double *distance, double *size_new, double *size_old, const float *new,
                        const float *old, float shift, int64_t n)
{
    float d[LANES] = {0}, sn[LANES] = {0}, so[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++) {
            float a = new[i + j], b = old[i + j] + shift;
            d[j] += (a - b) * (a - b);
            sn[j] += a * a;
            so[j] += b * b;
        }
    for (int j = 0; i < n; i++, j++) {
        float a = new[i], b = old[i] + shift;
        d[j] += (a - b) * (a - b);
        sn[j] += a * a;
        so[j] += b * b;
    }
    for (int j = 0; j < LANES; j++) {
        *distance += (double)d[j];
        *size_new += (double)sn[j];
        *size_old += (double)so[j];
    }
}

double posref_weights_row_error(bool *within, const struct posref_stored *old_tensor,
                                const unsigned char *old_row,
                                const struct posref_stored *new_tensor,
                                const unsigned char *new_row, int64_t n_elements, double shift)
{
    float a[CHUNK], b[CHUNK];
    double distance = 0, size_a = 0, size_b = 0;
    *within = false;
    for (int64_t at = 0; at < n_elements; at += CHUNK) {
        int64_t n = n_elements - at < CHUNK ? n_elements - at : CHUNK;
        posref_decode(a, new_tensor->type, new_row + at / new_tensor->block_elements *
                      new_tensor->block_bytes, n);
        posref_decode(b, old_tensor->type, old_row + at / old_tensor->block_elements *
                      old_tensor->block_bytes, n);
        double d = 0, sa = 0, sb = 0;
        add_squares(&d, &sa, &sb, a, b, (float)shift, n);
        if (!isfinite(d + sa + sb)) {
            d = sa = sb = 0;
            if (!finite_squares(&d, &sa, &sb, a, b, shift, n))
                return (double)INFINITY;
        }
        distance += d;
        size_a += sa;
        size_b += sb;
    }
    double tolerance = pair_tolerance(old_tensor->type, new_tensor->type);
    double floor = pair_floor(old_tensor->type, new_tensor->type);
    double size = fmax(size_a, size_b);
    *within = distance <= tolerance * tolerance * size + (double)n_elements * floor * floor;
    return distance == 0 ? 0 : sqrt(distance / size);
}

struct verifying {
    const struct posref_weights_rows *rows;
    int64_t (*source)(const void *ctx, int64_t i);
    const void *ctx;
    double *worst;   /* one per task */
    int64_t per_task;
    _Atomic int64_t bad; /* the first row known to differ; n: none */
};

/* Rows behind one that differs are of no interest; those before it still are. */
static void verify_task(void *ctx, int64_t task)
{
    struct verifying *v = ctx;
    const struct posref_weights_rows *rows = v->rows;
    int64_t end = (task + 1) * v->per_task;
    for (int64_t i = task * v->per_task; i < end && i < atomic_load(&v->bad); i++) {
        bool within;
        double error = posref_weights_row_error(
            &within, rows->before->tensor, row_data(rows->before, v->source(v->ctx, i)),
            rows->after->tensor, row_data(rows->after, i), rows->before->row_elements, rows->shift);
        v->worst[task] = within ? fmax(v->worst[task], error) : error;
        if (within)
            continue;
        for (int64_t first = atomic_load(&v->bad); i < first;)
            if (atomic_compare_exchange_weak(&v->bad, &first, i))
                break;
        return;
    }
}

int64_t posref_weights_rows_verify(const struct posref_weights_rows *rows,
                                   int64_t (*source)(const void *ctx, int64_t i), const void *ctx,
                                   double *worst)
{
    int64_t per_task = TASK_BYTES / (rows->before->row_bytes + rows->after->row_bytes) + 1;
    int64_t n_tasks = (rows->n + per_task - 1) / per_task;
    struct verifying v = {rows, source, ctx, calloc((size_t)n_tasks + 1, sizeof(double)), per_task,
                          rows->n};
    *worst = 0;
    if (!v.worst ||
        posref_weights_run(verify_task, &v, n_tasks, rows->n_threads, NULL) != POSREF_OK) {
        free(v.worst);
        return 0; /* not verified is not equal */
    }
    int64_t bad = atomic_load(&v.bad);
    if (bad < rows->n)
        *worst = v.worst[bad / per_task];
    for (int64_t task = 0; task < n_tasks && bad == rows->n; task++)
        *worst = fmax(*worst, v.worst[task]);
    free(v.worst);
    return bad < rows->n ? bad : -1;
}
