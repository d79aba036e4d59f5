/* SPDX-License-Identifier: Apache-2.0 */
/* The database as the service holds it: one handle a thread, exchanged as a whole when the file
 * is replaced, while requests that run keep the old one. */
#ifndef POSREF_SERVER_STORE_H
#define POSREF_SERVER_STORE_H

#include "vectors/vectors.h"

#define POSREF_STORE_MAX_SUITES 8

struct posref_store;
struct posref_snapshot;

/* The file itself, for whoever wants all of it. */
struct posref_store_file {
    int fd; /* open for reading as long as the lease lasts */
    uint64_t size_bytes;
    char sha256[65];
};

/* A handle on loan to one request. The suites are those of the same file. */
struct posref_lease {
    struct posref_snapshot *snapshot;
    struct posref_db *db;
    const struct posref_suite_info *suites;
    size_t n_suites;
    const struct posref_store_file *file;
};

/* Opens the database `n_handles` times. `path` is copied; NULL: the default place, where a missing
 * database is generated. */
POSREF_MUST_USE enum posref_status posref_store_new(struct posref_store **out, const char *path,
                                                    size_t n_handles, struct posref_error *err);
void posref_store_free(struct posref_store *store); /* nothing may be on loan; NULL is fine */

/* Whether another file lies at the path than the one that is open. */
bool posref_store_stale(struct posref_store *store);

/* Counts the databases that have been in use; never 0. What is answered between two equal counts
 * comes from one of them. */
uint64_t posref_store_generation(const struct posref_store *store);

/* Opens the file anew. On failure the old one stays in use. */
POSREF_MUST_USE enum posref_status posref_store_reload(struct posref_store *store,
                                                       struct posref_error *err);

/* Thread-safe. False when every handle is on loan. */
bool posref_store_borrow(struct posref_store *store, struct posref_lease *lease);
void posref_store_return(struct posref_store *store, struct posref_lease *lease);

#endif
