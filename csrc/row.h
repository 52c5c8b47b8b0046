/* row.h -- a row of a table: the results of all successors of one position.
 *
 * Results are bytes (rules.h): 0 undecided, odd lost, even won.  A set of
 * entries is a bit mask, bit i for entry i.  Sixteen bytes are looked at
 * together, so as many behind the table must be readable.
 */
#ifndef FF_ROW_H
#define FF_ROW_H

#include <stdint.h>
#include <string.h>

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

/* What a position is worth whose successors are the whole row: one more than
 * the soonest of the opponent's losses, or else the latest of the wins. */
static inline int ff_row_value_bytewise(const uint8_t *row, int columns) {
    int soonest = 256, latest = 0, undecided = 0;
    for (int i = 0; i < columns; i++) {
        if (row[i] % 2 == 1 && row[i] < soonest) soonest = row[i];
        if (row[i] > latest) latest = row[i];
        undecided |= row[i] == 0;
    }
    return soonest < 256 ? soonest + 1 : undecided ? 0 : latest + 1;
}

#ifdef __SSE4_1__

#include <smmintrin.h>

/* The smallest of sixteen bytes. */
static inline int ff_least_byte(__m128i bytes) {
    __m128i pairs = _mm_min_epu8(bytes, _mm_srli_epi16(bytes, 8));
    return _mm_cvtsi128_si32(_mm_minpos_epu16(pairs)) & 0xFF;
}

static inline int ff_row_value(const uint8_t *row, int columns) {
    if (columns > FF_ROW_STEP) return ff_row_value_bytewise(row, columns);
    const __m128i every = _mm_set1_epi8(-1);
    const __m128i places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m128i outside = _mm_cmpgt_epi8(places, _mm_set1_epi8((char)(columns - 1)));
    const __m128i bytes = ff_sixteen(row);
    const __m128i lost = _mm_sub_epi8(_mm_setzero_si128(), _mm_and_si128(bytes, _mm_set1_epi8(1)));
    const __m128i losses = _mm_or_si128(bytes, _mm_andnot_si128(lost, every));
    const int soonest = ff_least_byte(_mm_or_si128(losses, outside));
    if (soonest != 255) return soonest + 1;
    if (ff_least_byte(_mm_or_si128(bytes, outside)) == 0) return 0;
    return 256 - ff_least_byte(_mm_or_si128(_mm_xor_si128(bytes, every), outside));
}

#else

static inline int ff_row_value(const uint8_t *row, int columns) {
    return ff_row_value_bytewise(row, columns);
}

#endif

#endif
