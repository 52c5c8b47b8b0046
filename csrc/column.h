/* column.h -- a column of a full group: the values of all parents of one row. */
#ifndef FF_COLUMN_H
#define FF_COLUMN_H

#include "row.h"

#define FF_COLUMNS_ROOM 32 /* columns of any group, in whole vectors */

/* Writes the value of greatest merit in each column of a group, columns numbered by free cell
 * as rows are: row r has no entry in column r. */
static inline void ff_best_of_columns_bytewise(const uint8_t *entries, int rows, uint8_t *best) {
    memset(best, 0, (size_t)rows);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < rows; c++) {
            if (c == r) continue;
            const uint8_t merit = ff_merit(*entries++);
            if (merit > best[c]) best[c] = merit;
        }
    for (int c = 0; c < rows; c++) best[c] = ff_value_of_merit(best[c]);
}

#ifdef FF_SSE4_1

/* `best` has room for FF_COLUMNS_ROOM; up to sixteen are written where there are fewer. */
static inline void ff_best_of_columns(const uint8_t *entries, int rows, uint8_t *best) {
    if (rows > FF_ROW_STEP) {
        ff_best_of_columns_bytewise(entries, rows, best);
        return;
    }
    const __m128i places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m128i outside = _mm_cmpgt_epi8(places, _mm_set1_epi8((char)(rows - 1)));
    __m128i greatest = _mm_setzero_si128();
    for (int r = 0; r < rows; r++) {
        const __m128i row = _mm_set1_epi8((char)r);
        const __m128i from = _mm_add_epi8(places, _mm_cmpgt_epi8(places, row));
        const __m128i none = _mm_or_si128(outside, _mm_cmpeq_epi8(places, row));
        const __m128i merits = ff_sixteen_merits(ff_shared_sixteen(entries + r * (rows - 1)));
        greatest = _mm_max_epu8(greatest, _mm_shuffle_epi8(merits, _mm_or_si128(from, none)));
    }
    const __m128i twice = _mm_add_epi8(greatest, greatest);
    const __m128i wins = _mm_sub_epi8(_mm_setzero_si128(), twice);
    const __m128i losses = _mm_add_epi8(twice, _mm_set1_epi8(-1));
    _mm_storeu_si128((__m128i *)(void *)best, _mm_blendv_epi8(losses, wins, greatest));
}

#else

static inline void ff_best_of_columns(const uint8_t *entries, int rows, uint8_t *best) {
    ff_best_of_columns_bytewise(entries, rows, best);
}

#endif

#endif
