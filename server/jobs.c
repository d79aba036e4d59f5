/* SPDX-License-Identifier: Apache-2.0 */
/* Worker threads behind a queue with a bound: see jobs.h. */
#include "jobs.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* Beside endless long requests on one CPU, short answers were 0.8, 1.1 and 1.5 times nginx's with
 * 5, 10 and 13 (docs/http.md). With 19 a long request beside other busy programs gets a seventieth
 * of a CPU, and its time runs out. */
#define NICENESS 10

struct posref_jobs {
    pthread_mutex_t lock; /* guards what follows, but not the threads */
    pthread_cond_t any;   /* a job waits, or the end has come */
    struct posref_job *first, **last;
    size_t n_waiting, max_waiting;
    bool stopped;
    posref_job_function *run;
    unsigned n_threads;
    pthread_t thread[];
};

/* Waits for a job and takes it; NULL: there will be none. */
static struct posref_job *take(struct posref_jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    while (!jobs->first && !jobs->stopped)
        pthread_cond_wait(&jobs->any, &jobs->lock);
    struct posref_job *job = jobs->first;
    if (job) {
        jobs->first = job->next;
        if (!jobs->first)
            jobs->last = &jobs->first;
        jobs->n_waiting--;
    }
    pthread_mutex_unlock(&jobs->lock);
    return job;
}

static void *work(void *ctx)
{
    struct posref_jobs *jobs = ctx;
    /* On Linux a thread has a niceness of its own. */
    const id_t self = (id_t)gettid();
    setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + NICENESS);
    for (struct posref_job *job; (job = take(jobs));)
        jobs->run(job);
    return NULL;
}

enum posref_status posref_jobs_new(struct posref_jobs **out, posref_job_function *run,
                                   unsigned n_threads, size_t max_waiting,
                                   struct posref_error *err)
{
    struct posref_jobs *jobs = calloc(1, sizeof *jobs + n_threads * sizeof *jobs->thread);
    if (!jobs)
        return posref_fail(err, POSREF_NO_MEMORY, "", "out of memory");
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_cond_init(&jobs->any, NULL);
    jobs->last = &jobs->first;
    jobs->max_waiting = max_waiting;
    jobs->run = run;
    while (jobs->n_threads < n_threads &&
           pthread_create(&jobs->thread[jobs->n_threads], NULL, work, jobs) == 0)
        jobs->n_threads++;
    if (jobs->n_threads < n_threads) {
        posref_jobs_stop(jobs);
        posref_jobs_free(jobs);
        return posref_fail(err, POSREF_IO, "", "a thread did not start");
    }
    *out = jobs;
    return POSREF_OK;
}

bool posref_jobs_add(struct posref_jobs *jobs, struct posref_job *job)
{
    pthread_mutex_lock(&jobs->lock);
    bool room = !jobs->stopped && jobs->n_waiting < jobs->max_waiting;
    if (room) {
        job->next = NULL;
        *jobs->last = job;
        jobs->last = &job->next;
        jobs->n_waiting++;
        pthread_cond_signal(&jobs->any);
    }
    pthread_mutex_unlock(&jobs->lock);
    return room;
}

size_t posref_jobs_waiting(struct posref_jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    size_t n = jobs->n_waiting;
    pthread_mutex_unlock(&jobs->lock);
    return n;
}

void posref_jobs_stop(struct posref_jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    jobs->stopped = true;
    pthread_cond_broadcast(&jobs->any);
    pthread_mutex_unlock(&jobs->lock);
    while (jobs->n_threads)
        pthread_join(jobs->thread[--jobs->n_threads], NULL);
}

void posref_jobs_free(struct posref_jobs *jobs)
{
    if (!jobs)
        return;
    pthread_cond_destroy(&jobs->any);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
}
