/* SPDX-License-Identifier: Apache-2.0 */
/* Certifies every stored value of a database: each is the correct rounding of the exact value of
 * the paper's formula, or is listed. Workers are processes, each with its own connection.
 *
 *   certify DATABASE [SUITE] [-j N] [-i ID]
 *
 * Exit status 0: everything certified; 1: not; 3: could not run. */
#include "oracle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_WORKERS 64

struct options {
    const char *path, *suite, *id;
    int n_workers;
};

struct worker {
    pid_t pid;
    int from;
};

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool write_all(int fd, const void *data, size_t size)
{
    for (const char *at = data; size > 0;) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static bool read_all(int fd, void *data, size_t size)
{
    for (char *at = data; size > 0;) {
        ssize_t n = read(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* Every n-th vector, from the k-th on. */
static int work(const struct options *o, int k, int to)
{
    char error[256];
    struct oracle_tally tally;
    struct oracle_db *db = oracle_db_open(o->path, o->suite, o->id, error);
    if (!db)
        return 3;
    oracle_tally_init(&tally);
    for (int64_t at = k; at < oracle_db_count(db); at += o->n_workers) {
        struct oracle_case c;
        oracle_case_init(&c, "?");
        oracle_db_case(db, at, &c);
        oracle_case_judge(&tally, &c);
        if (!c.error[0] && !oracle_db_json(db, at, &c))
            oracle_tally_mismatch(&tally, "%s: %s", c.id, c.error);
        oracle_case_clear(&c);
    }
    oracle_db_close(db);
    flint_cleanup();
    return write_all(to, &tally, sizeof tally) ? 0 : 3;
}

static bool start(struct worker *w, const struct options *o, int k)
{
    int ends[2];
    if (pipe(ends) != 0)
        return false;
    w->from = ends[0];
    w->pid = fork();
    if (w->pid == 0) {
        close(ends[0]);
        _exit(work(o, k, ends[1]));
    }
    close(ends[1]);
    return w->pid > 0;
}

/* Adds the worker's tally; a worker that died certifies nothing. */
static bool join(struct oracle_tally *sum, const struct worker *w)
{
    struct oracle_tally part;
    int status = 0;
    bool ok = read_all(w->from, &part, sizeof part);
    close(w->from);
    ok = waitpid(w->pid, &status, 0) == w->pid && WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
         ok;
    if (ok)
        oracle_tally_join(sum, &part);
    return ok;
}

static void report(const struct oracle_tally *t, const struct options *o, double seconds)
{
    for (int64_t i = 0; i < t->n_mismatches && i < ORACLE_MAX_SHOWN; i++)
        printf("MISMATCH %s\n", t->shown[i]);
    if (t->n_mismatches > ORACLE_MAX_SHOWN)
        printf("... and %lld more\n", (long long)t->n_mismatches - ORACLE_MAX_SHOWN);
    printf("suite       %s\nvectors     %lld\nvalues      %lld (", o->suite ? o->suite : "all",
           (long long)t->n_cases, (long long)t->n_values);
    for (int i = 0; oracle_schemes[i]; i++)
        printf("%s%s %lld", i ? ", " : "", oracle_schemes[i]->name,
               (long long)t->n_scheme_values[i]);
    printf(")\nexact       %lld stored exactly, %lld ties\n", (long long)t->n_exact,
           (long long)t->n_ties);
    printf("precision   %lld bits at most; %lld values needed more than %d\n",
           (long long)t->largest_prec, (long long)t->n_raised, ORACLE_FIRST_PREC);
    printf("nearest     %.3g ulp from a rounding boundary: %s\n", t->nearest_ulp, t->nearest_at);
    printf("compound    %lld within their bound but not correctly rounded\n",
           (long long)t->n_within);
    printf("mismatches  %lld\nseconds     %.1f with %d workers\n", (long long)t->n_mismatches,
           seconds, o->n_workers);
}

static bool read_options(struct options *o, int argc, char **argv)
{
    int n_words = 0;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *o = (struct options){.n_workers = (int)(cores < 1 ? 1 : cores > 16 ? 16 : cores)};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-j") == 0 && i + 1 < argc)
            o->n_workers = (int)strtol(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "-i") == 0 && i + 1 < argc)
            o->id = argv[++i];
        else if (n_words++ == 0)
            o->path = argv[i];
        else
            o->suite = argv[i];
    }
    return n_words >= 1 && n_words <= 2 && o->n_workers >= 1 && o->n_workers <= MAX_WORKERS;
}

int main(int argc, char **argv)
{
    struct options o;
    struct worker worker[MAX_WORKERS];
    struct oracle_tally sum;
    char error[256];
    if (!read_options(&o, argc, argv)) {
        fputs("usage: certify DATABASE [SUITE] [-j N] [-i ID]\n", stderr);
        return 2;
    }
    double began = seconds_now();
    struct oracle_db *db = oracle_db_open(o.path, o.suite, o.id, error);
    if (!db) {
        fprintf(stderr, "certify: %s\n", error);
        return 3;
    }
    int64_t count = oracle_db_count(db);
    oracle_db_close(db);
    oracle_tally_init(&sum);
    bool ok = true;
    int n_started = 0;
    while (n_started < o.n_workers && start(&worker[n_started], &o, n_started))
        n_started++;
    for (int k = 0; k < n_started; k++)
        ok = join(&sum, &worker[k]) && ok;
    report(&sum, &o, seconds_now() - began);
    if (!ok || n_started < o.n_workers || sum.n_cases != count || count == 0) {
        fprintf(stderr, "certify: %lld of %lld vectors were judged\n", (long long)sum.n_cases,
                (long long)count);
        return 3;
    }
    return sum.n_mismatches ? 1 : 0;
}
