/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4), without a library: the program that computes the suites' digests links
 * libc and libm only. */
#include "vectors/sha256.h"

#include <string.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate_right(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static void expand_block(uint32_t w[64], const unsigned char block[64])
{
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | (uint32_t)block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate_right(a, 7) ^ rotate_right(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate_right(b, 17) ^ rotate_right(b, 19) ^ b >> 10);
    }
}

static void add_block_plain(uint32_t state[8], const unsigned char block[64])
{
    uint32_t w[64];
    expand_block(w, block);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i++) {
        uint32_t t1 = h + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) +
                      ((e & f) ^ (~e & g)) + round_constant[i] + w[i];
        uint32_t t2 = (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) +
                      ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + t2;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

static void add_blocks(struct posref_sha256 *sha, const unsigned char *data, size_t n_blocks)
{
    if (sha->fast) {
        posref_sha256_fast(sha->state, data, n_blocks, round_constant);
        return;
    }
    for (; n_blocks > 0; n_blocks--, data += 64)
        add_block_plain(sha->state, data);
}

void posref_sha256_init(struct posref_sha256 *sha)
{
    *sha = (struct posref_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
                                  .fast = posref_sha256_has_fast()};
}

void posref_sha256_add(struct posref_sha256 *sha, const void *data, size_t size_bytes)
{
    const unsigned char *at = data;
    size_t filled = (size_t)(sha->length_bytes % 64);
    sha->length_bytes += size_bytes;
    if (filled) {
        size_t part = size_bytes < 64 - filled ? size_bytes : 64 - filled;
        memcpy(sha->block + filled, at, part);
        at += part;
        size_bytes -= part;
        if (filled + part < 64)
            return;
        add_blocks(sha, sha->block, 1);
    }
    add_blocks(sha, at, size_bytes / 64);
    if (size_bytes % 64)
        memcpy(sha->block, at + size_bytes / 64 * 64, size_bytes % 64);
}

void posref_sha256_finish(char out[65], struct posref_sha256 *sha)
{
    static const unsigned char padding[64] = {0x80};
    uint64_t length_bits = sha->length_bytes * 8;
    size_t filled = (size_t)(sha->length_bytes % 64);
    posref_sha256_add(sha, padding, filled < 56 ? 56 - filled : 120 - filled);
    unsigned char tail[8];
    for (int i = 0; i < 8; i++)
        tail[i] = (unsigned char)(length_bits >> (56 - 8 * i));
    posref_sha256_add(sha, tail, sizeof tail);
    for (int i = 0; i < 64; i++)
        out[i] = "0123456789abcdef"[sha->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    out[64] = '\0';
}

void posref_sha256_hex(char out[65], const void *data, size_t size_bytes)
{
    struct posref_sha256 sha;
    posref_sha256_init(&sha);
    posref_sha256_add(&sha, data, size_bytes);
    posref_sha256_finish(out, &sha);
}
