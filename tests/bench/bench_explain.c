/* SPDX-License-Identifier: Apache-2.0 */
/* What explaining costs beyond judging, on one core: a plugin whose every output in core is wrong,
 * with a cause that the registry has and without one, in one dtype and in all four.
 *
 * The median of RUNS, and the least, as other programs' load is in all of them.
 *
 *   bench_explain DATABASE */
#include "harness/explain.h"
#include "harness/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_IDS 20000
#define RUNS 5
#define GOAL_S 1.0

struct ids {
    char *id[MAX_IDS];
    size_t n;
};

static bool keep(void *ctx, const char *id)
{
    struct ids *ids = ctx;
    if (ids->n == MAX_IDS)
        return false;
    ids->id[ids->n] = strdup(id);
    return ids->id[ids->n++] != NULL;
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Wrong everywhere: times 1.25, or by a factor of each element that no fault has. */
static double spoiled(double x, int64_t k, bool known)
{
    return known ? 1.25 * x : x * (1.3 + 0.2 * sin(1 + 0.7 * (double)k)) + 0.05;
}

static bool spoil(struct posref_tensors *out, const struct posref_vector *v,
                  enum posref_dtype dtype, bool known, const struct posref_arena *arena)
{
    out->n = 0;
    for (int i = 0; i < v->outputs.n; i++) {
        struct posref_tensor wrong = v->outputs.item[i];
        const int64_t n = posref_tensor_count(&wrong);
        if (wrong.dtype != POSREF_F64)
            return false;
        double *value = arena->alloc(arena->ctx, (size_t)n * sizeof *value + 1);
        if (!value)
            return false;
        for (int64_t k = 0; k < n; k++)
            value[k] = spoiled(((const double *)v->outputs.item[i].data)[k], k, known);
        wrong.data = value;
        if (posref_tensor_narrow(&out->item[out->n++], &wrong, dtype, arena, NULL) != POSREF_OK)
            return false;
    }
    return true;
}

/* Seconds of the processor for explaining all of core; how many outputs that were. */
static double explain(size_t *n_outputs, size_t *n_open, struct posref_db *db,
                      const struct ids *ids, int n_dtypes, bool known)
{
    static const enum posref_dtype dtypes[] = {POSREF_F32, POSREF_F64, POSREF_F16, POSREF_BF16};
    struct posref_explainer *explainer = posref_explainer_new();
    struct posref_heap *heap = posref_heap_new(0);
    double took = 0, begin;
    *n_outputs = 0;
    for (size_t k = 0; k < ids->n && explainer && heap; k++) {
        struct posref_vector vector;
        struct posref_tensors wrong;
        bool found = false;
        posref_heap_reset(heap);
        const struct posref_arena arena = posref_heap_arena(heap);
        if (posref_db_get(db, ids->id[k], &vector, &found, &arena, NULL) != POSREF_OK || !found)
            exit(2);
        for (int d = 0; d < n_dtypes; d++) {
            if (!spoil(&wrong, &vector, dtypes[d], known, &arena))
                continue;
            begin = cpu_seconds();
            if (posref_explainer_add(explainer, &vector, &wrong, dtypes[d], NULL) != POSREF_OK)
                exit(2);
            took += cpu_seconds() - begin;
            ++*n_outputs;
        }
    }
    struct posref_buffer text;
    posref_buffer_init(&text, (size_t)1 << 26);
    begin = cpu_seconds();
    if (!explainer || posref_explainer_search(explainer, NULL) != POSREF_OK)
        exit(2);
    posref_explainer_json(&text, n_open, explainer);
    posref_explainer_describe(&text, explainer);
    took += cpu_seconds() - begin;
    posref_buffer_clear(&text);
    posref_heap_free(heap);
    posref_explainer_free(explainer);
    return took;
}

static int by_value(const void *a, const void *b)
{
    const double *first = a, *second = b;
    return *first < *second ? -1 : *first > *second;
}

int main(int argc, char **argv)
{
    struct posref_error err = {{0}, {0}};
    struct posref_db *db;
    struct ids *ids = calloc(1, sizeof *ids);
    if (!ids || argc < 2 || posref_db_open(&db, argv[1], &err) != POSREF_OK ||
        posref_db_ids(db, NULL, "core", NULL, -1, keep, ids, &err) != POSREF_OK) {
        fprintf(stderr, "bench_explain: %s: %s\n", err.key, err.text);
        return 2;
    }
    for (int known = 1; known >= 0; known--)
        for (int n_dtypes = 1; n_dtypes <= 4; n_dtypes += 3) {
            size_t n, n_open;
            double took[RUNS];
            for (int run = 0; run < RUNS; run++)
                took[run] = explain(&n, &n_open, db, ids, n_dtypes, known);
            qsort(took, RUNS, sizeof *took, by_value);
            printf("explain  %zu wrong outputs of core in %s, %s: %.2f s of one core (least %.2f, "
                   "goal %.0f), %zu open\n",
                   n, n_dtypes == 1 ? "f32" : "four dtypes",
                   known ? "one known cause" : "no known cause", took[RUNS / 2], took[0], GOAL_S,
                   n_open);
            fflush(stdout);
        }
    posref_db_close(db);
    return 0;
}
