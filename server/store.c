/* SPDX-License-Identifier: Apache-2.0 */
/* The database as the service holds it: see store.h. A snapshot is one opened file: its handles
 * and its suites. The store points to the newest; an older one lives until its last handle is
 * back. */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct posref_snapshot {
    struct posref_suite_info suites[POSREF_STORE_MAX_SUITES];
    size_t n_suites;
    struct stat stat;
    struct posref_store_file file;
    bool retired; /* no longer the store's: freed when its last handle is back */
    size_t n_idle, n_handles;
    struct posref_db *idle[]; /* n_handles of them, the first n_idle are here */
};

struct posref_store {
    pthread_mutex_t lock; /* guards current, and every snapshot's retired, idle and n_idle */
    struct posref_snapshot *current;
    atomic_uint_least64_t generation;
    size_t n_handles;
    char *path;
};

static void free_snapshot(struct posref_snapshot *snapshot)
{
    if (!snapshot)
        return;
    for (size_t i = 0; i < snapshot->n_idle; i++)
        posref_db_close(snapshot->idle[i]);
    if (snapshot->file.fd >= 0)
        close(snapshot->file.fd);
    free(snapshot);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static enum posref_status open_file(struct posref_store_file *out, const char *path,
                                    struct posref_error *err)
{
    struct stat info;
    out->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (out->fd < 0 || fstat(out->fd, &info) != 0)
        return posref_fail(err, POSREF_BAD_INPUT, path, "%s", strerrordesc_np(errno));
    out->size_bytes = (uint64_t)info.st_size;
    void *bytes = info.st_size > 0 && S_ISREG(info.st_mode)
                      ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, out->fd, 0)
                      : MAP_FAILED;
    if (bytes == MAP_FAILED)
        return posref_fail(err, POSREF_BAD_INPUT, path, "cannot be read");
    posref_sha256_hex(out->sha256, bytes, (size_t)info.st_size);
    munmap(bytes, (size_t)info.st_size);
    return POSREF_OK;
}

/* Opens the handles. *moved says that the file was replaced meanwhile. */
static enum posref_status open_handles(struct posref_snapshot *snapshot, const char *path,
                                       bool *moved, struct posref_error *err)
{
    *moved = false;
    if (stat(path, &snapshot->stat) != 0)
        return posref_fail(err, POSREF_BAD_INPUT, path, "%s", strerrordesc_np(errno));
    while (snapshot->n_idle < snapshot->n_handles) {
        struct posref_db *db;
        enum posref_status status = posref_db_open(&db, path, err);
        if (status != POSREF_OK)
            return status;
        snapshot->idle[snapshot->n_idle++] = db;
    }
    snapshot->n_suites = POSREF_STORE_MAX_SUITES;
    enum posref_status status =
        posref_db_suites(snapshot->idle[0], snapshot->suites, &snapshot->n_suites, err);
    if (status == POSREF_OK)
        status = open_file(&snapshot->file, path, err);
    if (status != POSREF_OK)
        return status;
    struct stat now;
    *moved = stat(path, &now) != 0 || !same_file(&now, &snapshot->stat);
    return POSREF_OK;
}

static enum posref_status open_snapshot(struct posref_snapshot **out,
                                        const struct posref_store *store, struct posref_error *err)
{
    for (int attempt = 0; attempt < 5; attempt++) {
        struct posref_snapshot *snapshot =
            calloc(1, sizeof *snapshot + store->n_handles * sizeof *snapshot->idle);
        if (!snapshot)
            return posref_fail(err, POSREF_NO_MEMORY, "", "out of memory");
        snapshot->n_handles = store->n_handles;
        snapshot->file.fd = -1;
        bool moved;
        enum posref_status status = open_handles(snapshot, store->path, &moved, err);
        if (status == POSREF_OK && !moved) {
            *out = snapshot;
            return POSREF_OK;
        }
        free_snapshot(snapshot);
        if (status != POSREF_OK)
            return status;
    }
    return posref_fail(err, POSREF_IO, store->path, "is replaced faster than it can be opened");
}

/* The path to serve, as --db's rule has it; a database that the rule makes exists afterwards. */
static enum posref_status find_path(char **out, const char *path, struct posref_error *err)
{
    struct posref_db *db = NULL;
    if (!path || !path[0])
        path = getenv("POSREF_DB");
    if (!path || !path[0]) {
        enum posref_status status =
            posref_db_open_progress(&db, NULL, posref_progress_terminal, NULL, err);
        if (status != POSREF_OK)
            return status;
        path = posref_db_path(db);
    }
    *out = strdup(path);
    posref_db_close(db);
    return *out ? POSREF_OK : posref_fail(err, POSREF_NO_MEMORY, "", "out of memory");
}

enum posref_status posref_store_new(struct posref_store **out, const char *path,
                                    size_t n_handles, struct posref_error *err)
{
    struct posref_store *store = calloc(1, sizeof *store);
    if (!store)
        return posref_fail(err, POSREF_NO_MEMORY, "", "out of memory");
    pthread_mutex_init(&store->lock, NULL);
    atomic_init(&store->generation, 1);
    store->n_handles = n_handles;
    enum posref_status status = find_path(&store->path, path, err);
    if (status == POSREF_OK)
        status = open_snapshot(&store->current, store, err);
    if (status == POSREF_OK)
        *out = store;
    else
        posref_store_free(store);
    return status;
}

void posref_store_free(struct posref_store *store)
{
    if (!store)
        return;
    free_snapshot(store->current);
    pthread_mutex_destroy(&store->lock);
    free(store->path);
    free(store);
}

bool posref_store_stale(struct posref_store *store)
{
    struct stat now;
    /* Only the thread that reloads asks, so `current` does not change meanwhile. A file that is
     * missing for a moment is no new database. */
    return stat(store->path, &now) == 0 && !same_file(&now, &store->current->stat);
}

uint64_t posref_store_generation(const struct posref_store *store)
{
    return atomic_load(&store->generation);
}

enum posref_status posref_store_reload(struct posref_store *store, struct posref_error *err)
{
    struct posref_snapshot *fresh;
    enum posref_status status = open_snapshot(&fresh, store, err);
    if (status != POSREF_OK)
        return status;
    pthread_mutex_lock(&store->lock);
    struct posref_snapshot *old = store->current;
    store->current = fresh;
    atomic_fetch_add(&store->generation, 1);
    old->retired = true;
    bool unused = old->n_idle == old->n_handles;
    pthread_mutex_unlock(&store->lock);
    if (unused)
        free_snapshot(old);
    return POSREF_OK;
}

bool posref_store_borrow(struct posref_store *store, struct posref_lease *lease)
{
    pthread_mutex_lock(&store->lock);
    struct posref_snapshot *snapshot = store->current;
    bool any = snapshot->n_idle > 0;
    if (any)
        *lease = (struct posref_lease){snapshot, snapshot->idle[--snapshot->n_idle],
                                       snapshot->suites, snapshot->n_suites, &snapshot->file};
    pthread_mutex_unlock(&store->lock);
    return any;
}

void posref_store_return(struct posref_store *store, struct posref_lease *lease)
{
    struct posref_snapshot *snapshot = lease->snapshot;
    pthread_mutex_lock(&store->lock);
    snapshot->idle[snapshot->n_idle++] = lease->db;
    bool last = snapshot->retired && snapshot->n_idle == snapshot->n_handles;
    pthread_mutex_unlock(&store->lock);
    if (last)
        free_snapshot(snapshot);
}
