/* row.h -- a row of a table: the values of all successors of one position.
 *
 * Values are bytes (values.h): 0 undecided, odd lost, even won.  A set of
 * entries is a bit mask, bit i for entry i.  Sixteen bytes are looked at
 * together, so as many behind the table must be readable.
 */
#ifndef FF_ROW_H
#define FF_ROW_H

#include <stdint.h>
#include <string.h>

#include "values.h"

enum { FF_ROW_STEP = 16 };

static inline uint32_t ff_every_entry(int columns) { return (1u << columns) - 1; }

#ifdef __SSE2__

#include <emmintrin.h>

static inline __m128i ff_sixteen(const uint8_t *bytes) {
    return _mm_loadu_si128((const __m128i *)(const void *)bytes);
}

static inline uint32_t ff_odd_bytes(const uint8_t *bytes) {
    return (uint32_t)_mm_movemask_epi8(_mm_slli_epi16(ff_sixteen(bytes), 7));
}

static inline uint32_t ff_bytes_equal(const uint8_t *bytes, int value) {
    __m128i wanted = _mm_set1_epi8((char)value);
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(ff_sixteen(bytes), wanted));
}

#else /* the same, a byte at a time */

static inline uint32_t ff_odd_bytes(const uint8_t *bytes) {
    uint32_t odd = 0;
    for (int i = 0; i < FF_ROW_STEP; i++) odd |= (uint32_t)(bytes[i] & 1) << i;
    return odd;
}

static inline uint32_t ff_bytes_equal(const uint8_t *bytes, int value) {
    uint32_t equal = 0;
    for (int i = 0; i < FF_ROW_STEP; i++) equal |= (uint32_t)(bytes[i] == value) << i;
    return equal;
}

#endif

static inline uint32_t ff_lost_entries(const uint8_t *row, int columns) {
    uint32_t lost = ff_odd_bytes(row);
    if (columns > FF_ROW_STEP) lost |= ff_odd_bytes(row + FF_ROW_STEP) << FF_ROW_STEP;
    return lost & ff_every_entry(columns);
}

/* Entries that hold exactly this value. */
static inline uint32_t ff_entries_equal(const uint8_t *row, int columns, int value) {
    uint32_t equal = ff_bytes_equal(row, value);
    if (columns > FF_ROW_STEP) equal |= ff_bytes_equal(row + FF_ROW_STEP, value) << FF_ROW_STEP;
    return equal & ff_every_entry(columns);
}

/* Entries that are not won: lost or undecided. */
static inline uint32_t ff_entries_not_won(const uint8_t *row, int columns) {
    return ff_lost_entries(row, columns) | ff_entries_equal(row, columns, 0);
}

/* The value of a position whose successors are the whole row: the least merit
 * among them, one ply further from the end. */
static inline int ff_row_value_bytewise(const uint8_t *row, int columns) {
    uint8_t least = 255;
    for (int i = 0; i < columns; i++) {
        const uint8_t merit = ff_merit(row[i]);
        least = merit < least ? merit : least;
    }
    return ff_value_before(ff_value_of_merit(least));
}

#ifdef __SSE4_1__

#include <smmintrin.h>

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

static inline int ff_row_value(const uint8_t *row, int columns) {
    if (columns > FF_ROW_STEP) return ff_row_value_bytewise(row, columns);
    const __m128i places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m128i outside = _mm_cmpgt_epi8(places, _mm_set1_epi8((char)(columns - 1)));
    const __m128i merits = _mm_or_si128(ff_sixteen_merits(ff_sixteen(row)), outside);
    return ff_value_before(ff_value_of_merit((uint8_t)ff_least_byte(merits)));
}

#else

static inline int ff_row_value(const uint8_t *row, int columns) {
    return ff_row_value_bytewise(row, columns);
}

#endif

#endif
