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

/* What a position is worth whose successors are the whole row. */
static inline int ff_row_value(const uint8_t *row, int columns) {
    uint32_t lost = ff_lost_entries(row, columns);
    int best = 0;
    if (lost) { /* the soonest of the opponent's losses */
        best = row[__builtin_ctz(lost)];
        for (lost &= lost - 1; lost; lost &= lost - 1)
            if (row[__builtin_ctz(lost)] < best) best = row[__builtin_ctz(lost)];
        return best + 1;
    }
    if (ff_entries_equal(row, columns, 0)) return 0;
    for (int i = 0; i < columns; i++)
        if (row[i] > best) best = row[i]; /* the latest of the opponent's wins */
    return best + 1;
}

#endif
