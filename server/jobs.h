/* SPDX-License-Identifier: Apache-2.0 */
/* Worker threads for what takes long, behind a queue with a bound. They give way to the threads
 * that serve connections. */
#ifndef POSREF_SERVER_JOBS_H
#define POSREF_SERVER_JOBS_H

#include "vectors/vectors.h"

/* The first member of what the caller has done. */
struct posref_job {
    struct posref_job *next;
};

struct posref_jobs;

/* Does the job and hands it back to where it came from; called by a worker. */
typedef void posref_job_function(struct posref_job *job);

/* n_threads workers; as many jobs may wait as max_waiting says. Threads inherit the caller's signal
 * mask. */
POSREF_MUST_USE enum posref_status posref_jobs_new(struct posref_jobs **out,
                                                   posref_job_function *run, unsigned n_threads,
                                                   size_t max_waiting, struct posref_error *err);

/* Queues a job; thread-safe. False: too many wait, or the workers have been stopped. */
POSREF_MUST_USE bool posref_jobs_add(struct posref_jobs *jobs, struct posref_job *job);

size_t posref_jobs_waiting(struct posref_jobs *jobs); /* thread-safe */

/* Takes no more jobs and returns when those that were queued are done. */
void posref_jobs_stop(struct posref_jobs *jobs);

void posref_jobs_free(struct posref_jobs *jobs); /* after they were stopped; NULL is fine */

#endif
