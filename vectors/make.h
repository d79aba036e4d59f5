/* SPDX-License-Identifier: Apache-2.0 */
/* Making vectors in parallel and writing them to the database. Private to vectors/. */
#ifndef POSREF_MAKE_H
#define POSREF_MAKE_H

#include "vectors/case.h"

/* A finished vector with everything that is stored of it. Lives until its slot is used again. */
struct posref_made {
    const struct posref_case *item;
    struct posref_vector vector;
    char sha256[65];                 /* of the canonical text */
    struct posref_buffer document;   /* the JSON with answers */
    char document_sha256[65];
    size_t prompt_bytes;             /* of these, before the outputs; "}" and a newline follow */
    char prompt_sha256[65];          /* of that */
    struct posref_buffer summary;
    struct posref_heap *heap;
    struct posref_buffer canonical;
};

/* Makes the vectors of all cases up to `suite` (an index) on n_workers threads and hands them to
 * take(), in order, on the calling thread. Stops at the first failure. */
POSREF_MUST_USE enum posref_status
posref_make_all(const struct posref_case_list *list, int n_workers,
                enum posref_status (*take)(void *ctx, const struct posref_made *made,
                                           struct posref_error *err),
                void *ctx, struct posref_error *err);
/* A database being written. One transaction from create to finish. */
struct posref_writer;
POSREF_MUST_USE enum posref_status posref_writer_create(struct posref_writer **out,
                                                        const char *path,
                                                        struct posref_error *err);
POSREF_MUST_USE enum posref_status posref_writer_add(struct posref_writer *writer,
                                                     const struct posref_made *made,
                                                     struct posref_error *err);
POSREF_MUST_USE enum posref_status posref_writer_suite(struct posref_writer *writer, int rank,
                                                       const struct posref_suite_info *info,
                                                       struct posref_error *err);
/* A tombstone; nothing when the database does not hold the successor. */
POSREF_MUST_USE enum posref_status posref_writer_retired(struct posref_writer *writer,
                                                         const char *id, const char *successor,
                                                         struct posref_error *err);
/* Commits and closes. */
POSREF_MUST_USE enum posref_status posref_writer_finish(struct posref_writer *writer,
                                                        struct posref_error *err);
void posref_writer_abandon(struct posref_writer *writer); /* NULL is fine */

#endif
