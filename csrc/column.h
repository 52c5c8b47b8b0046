/* column.h -- a column of a full group: the results of all parents of one row.
 *
 * The merit of a result is a byte that grows with what the mover prefers:
 *
 *     impossible 0 < lost soon .. lost late 1..127 < draw 128 < won late .. won soon 129..255
 *
 * so the best of several results is the greatest merit.  With h = result / 2, the
 * merit of a loss is h + 1, that of a win 256 - h.
 */
#ifndef FF_COLUMN_H
#define FF_COLUMN_H

#include "row.h"
#include "rules.h"

static inline int ff_merit(int result) {
    if (result == FF_UNDECIDED) return 128;
    if (result == FF_IMPOSSIBLE) return 0;
    return result % 2 == 1 ? result / 2 + 1 : 256 - result / 2;
}

static inline uint8_t ff_result_of_merit(int merit) {
    return (uint8_t)(merit < 128 ? 2 * merit - 1 : -2 * merit);
}

#define FF_COLUMNS_ROOM 32 /* columns of any group, in whole vectors */

/* Writes the best result of each column of a group, columns numbered by free cell
 * as rows are: row r has no entry in column r. */
static inline void ff_best_of_columns_bytewise(const uint8_t *entries, int rows, uint8_t *best) {
    memset(best, 0, (size_t)rows);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < rows; c++) {
            if (c == r) continue;
            const int merit = ff_merit(*entries++);
            if (merit > best[c]) best[c] = (uint8_t)merit;
        }
    for (int c = 0; c < rows; c++) best[c] = ff_result_of_merit(best[c]);
}

#ifdef __SSE4_1__

static inline __m128i ff_sixteen_merits(__m128i results) {
    const __m128i zero = _mm_setzero_si128();
    const __m128i odd = _mm_sub_epi8(zero, _mm_and_si128(results, _mm_set1_epi8(1)));
    const __m128i draw = _mm_and_si128(_mm_cmpeq_epi8(results, zero), _mm_set1_epi8(-128));
    const __m128i half = _mm_and_si128(_mm_srli_epi16(results, 1), _mm_set1_epi8(127));
    const __m128i merits = _mm_sub_epi8(zero, _mm_xor_si128(_mm_or_si128(half, draw), odd));
    return _mm_andnot_si128(_mm_cmpeq_epi8(results, _mm_set1_epi8(-1)), merits);
}

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
        const __m128i merits = ff_sixteen_merits(ff_sixteen(entries + r * (rows - 1)));
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
