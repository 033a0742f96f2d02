/* Owns SHA-256 with the instructions that x86 processors have for it. */
#include "base/sha256_blocks.h"

#if SHA256_HAS_X86

#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>

enum usable { UNKNOWN, USABLE, UNUSABLE };

static enum usable ask_processor(void)
{
    unsigned a, b, c, d;
    bool has_sse = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSSE3) && (c & bit_SSE4_1);
    bool has_sha = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
    return has_sse && has_sha ? USABLE : UNUSABLE;
}

/* A virtual machine can take long to answer, so the answer is kept. All threads find the same one,
 * so no order is needed. */
bool sha256_x86_is_usable(void)
{
    static _Atomic enum usable answer = UNKNOWN;
    enum usable known = atomic_load_explicit(&answer, memory_order_relaxed);
    if (known == UNKNOWN) {
        known = ask_processor();
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return known == USABLE;
}

#define WITH_SHA __attribute__((target("sha,sse4.1,ssse3")))

WITH_SHA static inline __m128i load(const void *at)
{
    return _mm_loadu_si128(at);
}

/* Computes four more words of the schedule from the 16 before, of which `w` has the oldest first.
 */
WITH_SHA static inline __m128i next_words(const __m128i w[4], unsigned oldest)
{
    __m128i before7 = _mm_alignr_epi8(w[(oldest + 3) % 4], w[(oldest + 2) % 4], 4);
    __m128i words = _mm_sha256msg1_epu32(w[oldest % 4], w[(oldest + 1) % 4]);
    return _mm_sha256msg2_epu32(_mm_add_epi32(words, before7), w[(oldest + 3) % 4]);
}

/* Hashes one block. The state is in the order of the instructions: a, b, e, f and c, d, g, h. */
WITH_SHA static inline void hash_block(__m128i *abef, __m128i *cdgh, const uint8_t *block)
{
    const __m128i bytes = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i w[4];
    __m128i x = *abef;
    __m128i y = *cdgh;
    for (unsigned i = 0; i < 4; i++) {
        w[i] = _mm_shuffle_epi8(load(block + (size_t)16 * i), bytes);
    }
    for (unsigned i = 0; i < 16; i++) {
        __m128i sum = _mm_add_epi32(w[i % 4], load(&sha256_constants[(size_t)4 * i]));
        y = _mm_sha256rnds2_epu32(y, x, sum);
        x = _mm_sha256rnds2_epu32(x, y, _mm_shuffle_epi32(sum, 0x0e));
        if (i < 12) {
            w[i % 4] = next_words(w, i);
        }
    }
    *abef = _mm_add_epi32(*abef, x);
    *cdgh = _mm_add_epi32(*cdgh, y);
}

WITH_SHA void sha256_blocks_x86(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    __m128i badc = _mm_shuffle_epi32(load(state), 0xb1);
    __m128i efgh = _mm_shuffle_epi32(load(state + 4), 0x1b);
    __m128i abef = _mm_alignr_epi8(badc, efgh, 8);
    __m128i cdgh = _mm_blend_epi16(efgh, badc, 0xf0);
    for (; count > 0; count--, blocks += 64) {
        hash_block(&abef, &cdgh, blocks);
    }
    __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
    __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

#endif
