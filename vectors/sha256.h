/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 in pieces. Private to vectors/; others call posref_sha256_hex. */
#ifndef POSREF_SHA256_H
#define POSREF_SHA256_H

#include "vectors/vectors.h"

struct posref_sha256 {
    uint32_t state[8];
    uint64_t length_bytes;
    unsigned char block[64];
    bool fast; /* by the processor's instructions; false is always right */
};

void posref_sha256_init(struct posref_sha256 *sha);
void posref_sha256_add(struct posref_sha256 *sha, const void *data, size_t size_bytes);
/* 64 hex digits and a NUL. The state is spent afterwards. */
void posref_sha256_finish(char out[65], struct posref_sha256 *sha);

/* Whether this processor has the instructions that posref_sha256_fast needs. */
bool posref_sha256_has_fast(void);
/* Adds n_blocks of 64 bytes to the state. */
void posref_sha256_fast(uint32_t state[8], const unsigned char *data, size_t n_blocks,
                        const uint32_t round_constant[64]);

#endif
