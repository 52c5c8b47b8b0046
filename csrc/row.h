/* row.h -- a row of a table: the values of all successors of one position.
 *
 * Values are bytes (values.h): 0 undecided, odd lost, even won.  Sixteen bytes are
 * read together, so as many must be readable after the table; another thread may
 * be writing to them (shared.h).
 */
#ifndef FF_ROW_H
#define FF_ROW_H

#include <stdint.h>
#include <string.h>

#include "shared.h"
#include "values.h"

enum { FF_ROW_STEP = 16 };

/* Sets of entries, bit i for entry i.  Each byte is read once: an entry that is
 * written meanwhile is in the sets of its old value or in those of its new one,
 * never in neither. */
typedef struct {
    uint64_t lost, undecided;
    uint64_t equal; /* entries that hold the value asked for */
} ff_entries;

#ifdef FF_SSE2

static inline uint64_t ff_bytes_equal(__m128i sixteen, int value) {
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(sixteen, _mm_set1_epi8((char)value)));
}

static inline ff_entries ff_sixteen_entries(const uint8_t *entries, int value) {
    const __m128i sixteen = ff_shared_sixteen(entries);
    return (ff_entries){.lost = (uint32_t)_mm_movemask_epi8(_mm_slli_epi16(sixteen, 7)),
                        .undecided = ff_bytes_equal(sixteen, FF_UNDECIDED),
                        .equal = ff_bytes_equal(sixteen, value)};
}

#else /* the same, a byte at a time */

static inline ff_entries ff_sixteen_entries(const uint8_t *entries, int value) {
    ff_entries sets = {0, 0, 0};
    for (int i = 0; i < FF_ROW_STEP; i++) {
        const uint64_t entry = ff_shared_load(entries + i);
        sets.lost |= (entry & 1) << i;
        sets.undecided |= (uint64_t)(entry == FF_UNDECIDED) << i;
        sets.equal |= (uint64_t)(entry == (uint64_t)value) << i;
    }
    return sets;
}

#endif

/* At most 63 entries. */
static inline ff_entries ff_entries_of(const uint8_t *entries, int count, int value) {
    const uint64_t every = ((uint64_t)1 << count) - 1;
    ff_entries sets = {0, 0, 0};
    for (int i = 0; i < count; i += FF_ROW_STEP) {
        const ff_entries part = ff_sixteen_entries(entries + i, value);
        sets.lost |= part.lost << i;
        sets.undecided |= part.undecided << i;
        sets.equal |= part.equal << i;
    }
    return (ff_entries){sets.lost & every, sets.undecided & every, sets.equal & every};
}

#ifdef FF_SSE4_1

/* ff_merit of sixteen values. */
static inline __m128i ff_sixteen_merits(__m128i values) {
    const __m128i zero = _mm_setzero_si128();
    const __m128i odd = _mm_sub_epi8(zero, _mm_and_si128(values, _mm_set1_epi8(1)));
    const __m128i draw = _mm_and_si128(_mm_cmpeq_epi8(values, zero), _mm_set1_epi8(-128));
    const __m128i half = _mm_and_si128(_mm_srli_epi16(values, 1), _mm_set1_epi8(127));
    const __m128i merits = _mm_sub_epi8(zero, _mm_xor_si128(_mm_or_si128(half, draw), odd));
    return _mm_andnot_si128(_mm_cmpeq_epi8(values, _mm_set1_epi8(-1)), merits);
}

/* The smallest of sixteen bytes. */
static inline int ff_least_byte(__m128i bytes) {
    __m128i pairs = _mm_min_epu8(bytes, _mm_srli_epi16(bytes, 8));
    return _mm_cvtsi128_si32(_mm_minpos_epu16(pairs)) & 0xFF;
}

/* The value of a position whose successors are the whole row: the least merit
 * among them, one ply further from the end. */
static inline int ff_row_value(const uint8_t *row, int columns) {
    const __m128i places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m128i least = _mm_set1_epi8(-1);
    for (int i = 0; i < columns; i += FF_ROW_STEP) {
        const __m128i outside = _mm_cmpgt_epi8(places, _mm_set1_epi8((char)(columns - 1 - i)));
        const __m128i merits = ff_sixteen_merits(ff_shared_sixteen(row + i));
        least = _mm_min_epu8(least, _mm_or_si128(merits, outside));
    }
    return ff_value_before(ff_value_of_merit((uint8_t)ff_least_byte(least)));
}

#else

static inline int ff_row_value(const uint8_t *row, int columns) {
    uint8_t least = 255;
    for (int i = 0; i < columns; i++) {
        const uint8_t merit = ff_merit(row[i]);
        least = merit < least ? merit : least;
    }
    return ff_value_before(ff_value_of_merit(least));
}

#endif

#endif
