/* SPDX-License-Identifier: Apache-2.0 */
/* What is left behind: see worker_left.h. */
#include "worker_left.h"

#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <string.h>
#include <sys/stat.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#define FLUSH_BITS 0x8040u /* flush to zero, and denormals are zeros */
static unsigned control_word(void)
{
    return _mm_getcsr() & FLUSH_BITS;
}
#else
static unsigned control_word(void)
{
    return 0;
}
#endif

/* A directory has a link from each of its own, and two more; a kept descriptor saves the walk of a
 * few microseconds. */
int posref_left_threads(const struct posref_left_before *before)
{
    struct stat info;
    if (fstat(before->threads_fd, &info) != 0 || !S_ISDIR(info.st_mode) || info.st_nlink < 3)
        return 1;
    return (int)info.st_nlink - 2;
}

void posref_left_begin(struct posref_left_before *before)
{
    memset(before, 0, sizeof *before);
    for (int number = 1; number < POSREF_N_SIGNALS; number++)
        (void)sigaction(number, NULL, &before->handler[number]); /* some are the library's own */
    before->rounding = fegetround();
    before->control = control_word();
    before->threads_fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    before->n_threads = posref_left_threads(before);
}

static bool is_other(const struct sigaction *a, const struct sigaction *b)
{
    return a->sa_handler != b->sa_handler || a->sa_flags != b->sa_flags;
}

void posref_left_look(struct posref_wire *wire, const struct posref_left_before *before)
{
    const int n_threads = posref_left_threads(before) - before->n_threads;
    if (n_threads > (int)wire->left.n_threads)
        wire->left.n_threads = (uint32_t)n_threads;
    for (int number = 1; number < POSREF_N_SIGNALS; number++) {
        struct sigaction now;
        if (sigaction(number, NULL, &now) == 0 && is_other(&now, &before->handler[number]))
            wire->left.handlers |= (uint64_t)1 << (number - 1);
    }
    wire->left.rounding |= fegetround() != before->rounding;
    wire->left.flush |= control_word() != before->control;
    const char *locale = setlocale(LC_ALL, NULL); /* lint: allow setlocale: it asks only */
    wire->left.locale |= locale && strcmp(locale, "C") != 0;
}
