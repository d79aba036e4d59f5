/* SPDX-License-Identifier: Apache-2.0 */
/* A loop over independent tasks on all cores, and the hash of a row's bytes. */
#include "harness/weights.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define MAX_THREADS 64

struct loop {
    void (*task)(void *ctx, int64_t i);
    void *ctx;
    int64_t n;
    atomic_llong next;
};

static void *work(void *argument)
{
    struct loop *loop = argument;
    for (;;) {
        int64_t i = atomic_fetch_add_explicit(&loop->next, 1, memory_order_relaxed);
        if (i >= loop->n)
            return NULL;
        loop->task(loop->ctx, i);
    }
}

enum posref_status posref_weights_run(void (*task)(void *ctx, int64_t i), void *ctx, int64_t n,
                                      int n_threads, struct posref_error *err)
{
    struct loop loop = {.task = task, .ctx = ctx, .n = n};
    pthread_t thread[MAX_THREADS];
    long cores = n_threads > 0 ? n_threads : sysconf(_SC_NPROCESSORS_ONLN);
    int n_started = 0;
    (void)err;
    atomic_init(&loop.next, 0);
    if (cores > MAX_THREADS)
        cores = MAX_THREADS;
    /* This thread works too: when none can be started the loop still ends. */
    while (n_started < cores - 1 && n_started + 1 < n &&
           pthread_create(&thread[n_started], NULL, work, &loop) == 0)
        n_started++;
    work(&loop);
    for (int i = 0; i < n_started; i++)
        pthread_join(thread[i], NULL);
    return POSREF_OK;
}

__extension__ typedef unsigned __int128 wide;

static inline uint64_t load_u64(const unsigned char *data)
{
    uint64_t word;
    memcpy(&word, data, sizeof word);
    return word;
}

static inline uint64_t fold(uint64_t a, uint64_t b)
{
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Odd constants: the fractional parts of pi in hexadecimal. */
static const uint64_t key[6] = {
    UINT64_C(0x243F6A8885A308D3), UINT64_C(0x13198A2E03707345), UINT64_C(0xA4093822299F31D1),
    UINT64_C(0x082EFA98EC4E6C89), UINT64_C(0x452821E638D01377), UINT64_C(0xBE5466CF34E90C6D)};

/* Four independent chains, so that multiplications overlap; 32 bytes a step. */
struct posref_weights_hash posref_weights_hash(const unsigned char *data, int64_t size_bytes)
{
    unsigned char tail[32] = {0};
    uint64_t a = key[0] ^ (uint64_t)size_bytes, b = key[1], c = key[2], d = key[3];
    int64_t i = 0;
    for (; i + 32 <= size_bytes; i += 32) {
        uint64_t w0 = load_u64(data + i), w1 = load_u64(data + i + 8);
        uint64_t w2 = load_u64(data + i + 16), w3 = load_u64(data + i + 24);
        a = fold(a ^ w0, key[4] ^ w1) + w3;
        b = fold(b ^ w2, key[5] ^ w3) + w1;
        c ^= w0 + (w2 << 32 | w2 >> 32);
        d += w1 ^ (w3 << 32 | w3 >> 32);
        c = (c << 29 | c >> 35) * key[1];
        d = (d << 31 | d >> 33) * key[2];
    }
    memcpy(tail, data + i, (size_t)(size_bytes - i));
    a = fold(a ^ load_u64(tail), key[4] ^ load_u64(tail + 8));
    b = fold(b ^ load_u64(tail + 16), key[5] ^ load_u64(tail + 24));
    struct posref_weights_hash hash = {{fold(a ^ c, key[2] ^ d) ^ b, fold(b ^ d, key[3] ^ c) + a}};
    return hash;
}
