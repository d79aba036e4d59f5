/* SPDX-License-Identifier: Apache-2.0 */
/* The generator: cases to vectors to a database file. */
#include "vectors/atomic_file.h"
#include "vectors/canonical.h"
#include "vectors/embedded.h"
#include "vectors/make.h"

#include <string.h>
#include <unistd.h>

struct generation {
    struct posref_case_list list;
    struct posref_writer *writer;
    struct posref_sha256 sha[POSREF_MAX_SUITES];
    int64_t n_vectors[POSREF_MAX_SUITES];
    posref_progress *progress;
    void *progress_ctx;
    size_t n_done;
};

static enum posref_status take(void *ctx, const struct posref_made *made, struct posref_error *err)
{
    struct generation *generation = ctx;
    for (int suite = made->item->suite; suite < generation->list.n_suites; suite++) {
        posref_suite_digest_add(&generation->sha[suite], made->item->id, made->sha256);
        generation->n_vectors[suite]++;
    }
    if (generation->progress)
        generation->progress(generation->progress_ctx, ++generation->n_done, generation->list.n);
    return generation->writer ? posref_writer_add(generation->writer, made, err) : POSREF_OK;
}

/* Leaves only the cases of the named suite. */
static enum posref_status keep_suite(struct posref_case_list *list, const char *suite,
                                     struct posref_error *err)
{
    int index = 0;
    while (index < list->n_suites && strcmp(list->suite[index].name, suite) != 0)
        index++;
    if (index == list->n_suites)
        return posref_fail(err, POSREF_BAD_INPUT, "suite", "there is no suite '%.40s'", suite);
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++)
        if (list->item[i].suite <= index)
            list->item[kept++] = list->item[i];
    list->n = kept;
    list->n_suites = index + 1;
    return POSREF_OK;
}

/* Makes everything; info[] receives what is known of each suite. */
static enum posref_status make_suites(struct generation *generation,
                                      struct posref_suite_info info[POSREF_MAX_SUITES],
                                      int n_workers, struct posref_error *err)
{
    const struct posref_case_list *list = &generation->list;
    if (n_workers < 1) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        n_workers = cores < 1 ? 1 : (int)cores;
    }
    for (int i = 0; i < list->n_suites; i++)
        posref_suite_digest_init(&generation->sha[i], list->suite[i].name, list->suite[i].version);
    enum posref_status status = posref_make_all(list, n_workers, take, generation, err);
    for (int i = 0; i < list->n_suites && status == POSREF_OK; i++) {
        memcpy(info[i].name, list->suite[i].name, sizeof info[i].name);
        memcpy(info[i].version, list->suite[i].version, sizeof info[i].version);
        posref_sha256_finish(info[i].digest, &generation->sha[i]);
        info[i].n_vectors = generation->n_vectors[i];
    }
    return status;
}

/* The tombstones, from lines "OLD NEW" and comments. */
static enum posref_status add_retired(struct posref_writer *writer, struct posref_error *err)
{
    enum posref_status status = POSREF_OK;
    const char *at = posref_embedded_find("retired.txt");
    while (at && *at && status == POSREF_OK) {
        size_t line = strcspn(at, "\n"), old = strcspn(at, " \n");
        char id[POSREF_MAX_ID + 1], successor[POSREF_MAX_ID + 1];
        if (*at != '#' && old < line && old < sizeof id && line - old - 1 < sizeof successor) {
            snprintf(id, sizeof id, "%.*s", (int)old, at);
            snprintf(successor, sizeof successor, "%.*s", (int)(line - old - 1), at + old + 1);
            status = posref_writer_retired(writer, id, successor, err);
        }
        at += line + (at[line] == '\n');
    }
    return status;
}

static enum posref_status write_file(struct generation *generation, const char *path,
                                     int n_workers, struct posref_error *err)
{
    struct posref_suite_info info[POSREF_MAX_SUITES];
    enum posref_status status = posref_writer_create(&generation->writer, path, err);
    if (status != POSREF_OK)
        return status;
    status = make_suites(generation, info, n_workers, err);
    for (int i = 0; i < generation->list.n_suites && status == POSREF_OK; i++)
        status = posref_writer_suite(generation->writer, i, &info[i], err);
    if (status == POSREF_OK)
        status = add_retired(generation->writer, err);
    if (status == POSREF_OK)
        return posref_writer_finish(generation->writer, err);
    posref_writer_abandon(generation->writer);
    return status;
}

static enum posref_status generate(struct generation *generation, const char *path,
                                   const char *suite, int n_workers,
                                   const struct posref_arena *arena, struct posref_error *err)
{
    enum posref_status status = posref_suites_load(&generation->list, suite, arena, err);
    if (status == POSREF_OK)
        status = keep_suite(&generation->list, suite, err);
    struct posref_atomic_file file;
    if (status == POSREF_OK)
        status = posref_atomic_begin(&file, path, err);
    if (status != POSREF_OK)
        return status;
    status = write_file(generation, file.temporary, n_workers, err);
    if (status == POSREF_OK)
        return posref_atomic_commit(&file, err);
    posref_atomic_abandon(&file);
    return status;
}

enum posref_status posref_generate(const char *path, const char *suite, int n_workers,
                                   posref_progress *progress, void *ctx, struct posref_error *err)
{
    struct generation generation = {.progress = progress, .progress_ctx = ctx};
    struct posref_heap *heap = posref_heap_new(0);
    if (!heap)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    struct posref_arena arena = posref_heap_arena(heap);
    enum posref_status status = generate(&generation, path, suite, n_workers, &arena, err);
    posref_heap_free(heap);
    return status;
}
