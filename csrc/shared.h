/* shared.h -- bytes that one thread reads while another writes them.
 *
 * Such a byte is read and written as a relaxed atomic: a read gives the old value
 * or the new one, and the reader must be right with either.  No order between two
 * bytes is promised.
 *
 * Sixteen neighbours are read together.  C has no name for sixteen relaxed loads
 * in one instruction, but x86 has it: each byte of a vector load is atomic.  The load
 * is written in assembly, because a plain C load would be a data race.  On other
 * machines, and under a sanitizer, which must see what is read, the bytes are loaded
 * one by one.
 */
#ifndef FF_SHARED_H
#define FF_SHARED_H

#include <stdint.h>

#include "instructions.h"

static inline uint8_t ff_shared_load(const uint8_t *byte) {
    return __atomic_load_n(byte, __ATOMIC_RELAXED);
}

static inline void ff_shared_store(uint8_t *byte, uint8_t value) {
    __atomic_store_n(byte, value, __ATOMIC_RELAXED);
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define FF_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define FF_SANITIZED 1
#endif

#ifdef FF_SSE2

static inline __m128i ff_shared_sixteen(const uint8_t *bytes) {
#ifdef FF_SANITIZED
    uint8_t loaded[16];
    for (int i = 0; i < 16; i++) loaded[i] = ff_shared_load(bytes + i);
    return _mm_loadu_si128((const __m128i *)(const void *)loaded);
#else
    __m128i sixteen;
    __asm__("movdqu %1, %0" : "=x"(sixteen) : "m"(*(const uint8_t(*)[16])(const void *)bytes));
    return sixteen;
#endif
}

#endif

#endif
