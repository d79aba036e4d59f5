/* SPDX-License-Identifier: Apache-2.0 */
/* Workers and their queue: its bound, its order, and its end. */
#include "server/jobs.h"
#include "tests/unit/suite.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>

enum { N = 200 };

static struct job {
    struct posref_job job;
    int place; /* in which it was done, from 1 */
} job[N];
static atomic_int done;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* held: nobody gets any further */

static void run(struct posref_job *one)
{
    pthread_mutex_lock(&gate);
    ((struct job *)one)->place = atomic_fetch_add(&done, 1) + 1;
    pthread_mutex_unlock(&gate);
}

/* Queues jobs until one is refused; returns how many were not. */
static int fill(struct posref_jobs *jobs)
{
    int n = 0;
    while (n < N && posref_jobs_add(jobs, &job[n].job))
        n++;
    return n;
}

START_TEST(bound_order_and_end)
{
    struct posref_jobs *jobs;
    struct posref_error err;
    ck_assert_int_eq(posref_jobs_new(&jobs, run, 1, 10, &err), POSREF_OK);
    pthread_mutex_lock(&gate);
    int n = fill(jobs);
    ck_assert_int_ge(n, 10); /* one more when the worker has taken one by now */
    ck_assert_int_le(n, 11);
    ck_assert_uint_ge(posref_jobs_waiting(jobs), 9);
    pthread_mutex_unlock(&gate);
    posref_jobs_stop(jobs);
    ck_assert_int_eq(atomic_load(&done), n);
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(job[i].place, i + 1);
    ck_assert(!posref_jobs_add(jobs, &job[0].job));
    ck_assert_uint_eq(posref_jobs_waiting(jobs), 0);
    posref_jobs_free(jobs);
}
END_TEST

START_TEST(several_workers)
{
    struct posref_jobs *jobs;
    struct posref_error err;
    atomic_store(&done, 0);
    ck_assert_int_eq(posref_jobs_new(&jobs, run, 3, N, &err), POSREF_OK);
    ck_assert_int_eq(fill(jobs), N);
    posref_jobs_stop(jobs);
    ck_assert_int_eq(atomic_load(&done), N);
    posref_jobs_free(jobs);
    posref_jobs_free(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jobs");
    TCase *tests = tcase_create("jobs");
    tcase_add_test(tests, bound_order_and_end);
    tcase_add_test(tests, several_workers);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
