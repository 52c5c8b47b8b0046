/* winning.h -- the winning cells of a column: all that a solve for results must remember.
 *
 * A column is the set of full positions (f a1 .. ah ; b0 .. bh), h = m - 1, that differ in
 * the mover's oldest piece f alone: column bh of group a1 .. ah b0 .. b(h-1) (index.h).
 * They share one row of successors (b0 .. bh ; a1 .. ah e), and f may play every e but f.
 * Call e a winning cell of the column if that successor is lost for its mover.  Then
 *
 *     (f a1 .. ah ; b0 .. bh) is won   <=>   the column has a winning cell other than f
 *
 * so a column of w positions has w + 2 states, whatever it holds: no winning cell, exactly
 * one, and which, or several.  That is less than a bit a position.  Losses need no memory:
 *
 *     (f a1 .. ah ; b0 .. bh) is lost  <=>   every entry but f of row b0 of group
 *                                            b1 .. bh a1 .. ah is won
 *
 * and whether entry e of that row is won is read off column e of the same group: one group
 * holds the whole row.  Nor do the positions with 2m - 1 pieces: (a1 .. ah ; b0 .. bh) is
 * won if its column has a winning cell, and lost if its row is won throughout.
 *
 * While a variant is being solved, a column also knows its state before the current pass, so
 * that the passes stay apart and depths are exact.  States only grow, none < one < several,
 * and a lone winning cell stays the same one; so both fit into a byte:
 *
 *        7     6     5    4       0
 *     [free] [now] [old] [  cell  ]      cell: 1 + free cell of the group, 0 for none
 *
 *     old 0   there was none before.       now 0: none, or one on `cell`; now 1: several
 *     old 1   there was one, on `cell`, or several if `cell` is 0.   now 1: several
 *
 * The free cells of a group number its columns and its rows, as in retrograde.h.  A column
 * in which the opponent has a line (finished) or of a group whose mover has one (impossible)
 * stays 0.
 *
 * Three ways to store a group.  Up to six columns (4 x 4 with m = 6, 3 x 3 with m = 3 and 4)
 * take one word:
 *
 *     31      30        29 .. 25        ...       4    3   2   0
 *     [fresh] [touched] [column 5]      ...      [now][old][cell]
 *
 * seven or eight (4 x 4 with m = 5) a double word, a byte a column, whose bits 7 and 15, which
 * no column needs, are `fresh` and `touched`; larger groups a byte a column and a byte of flags.
 */
#ifndef FF_WINNING_H
#define FF_WINNING_H

#include <string.h>

#include "index.h"
#include "shared.h"
#include "work.h"

enum {
    FF_WIN_CELL = 0x1F,
    FF_WIN_OLD = 0x20,
    FF_WIN_SEVERAL = 0x40,
    FF_WORD_COLUMNS = 6,
    FF_DOUBLE_COLUMNS = 8,
    FF_COLUMN_BITS = 5,
    FF_TOUCHED = 1, /* flags of a group: a column changed in this pass */
    FF_FRESH = 2,   /* a row of it has parents that are known to be lost since the last pass */
    FF_FLAGS_SHIFT = 30,
    FF_GROUP_ROOM = 32 /* bytes that are readable behind the groups */
};

/* The column with one more winning cell, numbered from 1. */
static inline uint8_t ff_with_winning_cell(uint8_t column, int cell) {
    const int known = column & FF_WIN_CELL;
    if (column & FF_WIN_SEVERAL || known == cell) return column;
    if (known == 0) return (uint8_t)cell;
    return (uint8_t)(FF_WIN_SEVERAL | (column & FF_WIN_OLD ? column : 0));
}

/* The column at the beginning of the next pass. */
static inline uint8_t ff_column_committed(uint8_t column) {
    if (column & FF_WIN_SEVERAL) return FF_WIN_SEVERAL | FF_WIN_OLD;
    return column & FF_WIN_CELL ? (uint8_t)(column | FF_WIN_OLD) : 0;
}

/* ---- all columns of a group ------------------------------------------------ */

/* A byte for each column; what is behind the last is arbitrary. */
typedef struct {
#ifdef FF_SSE2
    __m128i low, high;
#else
    uint8_t column[32];
#endif
} ff_group_columns;

/* Which columns had no winning cell, and which had just the one on free cell r. */
typedef struct {
    uint32_t none;
    uint32_t only[FF_MAX_CELLS];
} ff_winning;

#define FF_WORD_FIELDS UINT64_C(0x676767676767) /* a word's columns, spread to bytes */

static inline uint64_t ff_spread_word(uint32_t word) {
#ifdef FF_BMI2
    return _pdep_u64(word, FF_WORD_FIELDS);
#else
    uint64_t bytes = 0;
    for (int c = 0; c < FF_WORD_COLUMNS; c++) {
        const uint64_t field = word >> FF_COLUMN_BITS * c & 0x1F;
        bytes |= ((field & 7) | (field >> 3) << 5) << 8 * c;
    }
    return bytes;
#endif
}

static inline uint32_t ff_gather_word(uint64_t bytes) {
#ifdef FF_BMI2
    return (uint32_t)_pext_u64(bytes, FF_WORD_FIELDS);
#else
    uint32_t word = 0;
    for (int c = 0; c < FF_WORD_COLUMNS; c++) {
        const uint32_t byte = (uint32_t)(bytes >> 8 * c);
        word |= ((byte & 7) | (byte >> 5 & 3) << 3) << FF_COLUMN_BITS * c;
    }
    return word;
#endif
}

static inline ff_group_columns ff_columns_of_word(uint32_t word) {
    const uint64_t bytes = ff_spread_word(word);
    ff_group_columns columns;
#ifdef FF_SSE2
    columns.low = _mm_cvtsi64_si128((long long)bytes);
    columns.high = _mm_setzero_si128();
#else
    memset(&columns, 0, sizeof columns);
    for (int c = 0; c < FF_WORD_COLUMNS; c++) columns.column[c] = (uint8_t)(bytes >> 8 * c);
#endif
    return columns;
}

static inline ff_group_columns ff_columns_of_double(uint64_t group) {
    ff_group_columns columns;
#ifdef FF_SSE2
    columns.low = _mm_cvtsi64_si128((long long)group);
    columns.high = _mm_setzero_si128();
#else
    memset(&columns, 0, sizeof columns);
    for (int c = 0; c < FF_DOUBLE_COLUMNS; c++) columns.column[c] = (uint8_t)(group >> 8 * c);
#endif
    return columns;
}

static inline uint64_t ff_columns_to_double(const ff_group_columns *columns) {
#ifdef FF_SSE2
    return (uint64_t)_mm_cvtsi128_si64(columns->low);
#else
    uint64_t group = 0;
    for (int c = 0; c < FF_DOUBLE_COLUMNS; c++) group |= (uint64_t)columns->column[c] << 8 * c;
    return group;
#endif
}

/* Another thread may be writing to the bytes (shared.h). */
FF_INLINE ff_group_columns ff_columns_of_bytes(const uint8_t *bytes, int rows) {
    ff_group_columns columns;
#ifdef FF_SSE2
    columns.low = ff_shared_sixteen(bytes);
    columns.high = rows > 16 ? ff_shared_sixteen(bytes + 16) : _mm_setzero_si128();
#else
    memset(&columns, 0, sizeof columns);
    for (int c = 0; c < rows; c++) columns.column[c] = ff_shared_load(bytes + c);
#endif
    return columns;
}

FF_INLINE ff_group_columns ff_columns_committed(const ff_group_columns *columns, int rows) {
    ff_group_columns next;
#ifdef FF_SSE2
    const __m128i cell = _mm_set1_epi8(FF_WIN_CELL), old = _mm_set1_epi8(FF_WIN_OLD);
    const __m128i several = _mm_set1_epi8(FF_WIN_SEVERAL), zero = _mm_setzero_si128();
    const __m128i *from = &columns->low;
    __m128i *to = &next.low;
    for (int half = 0; half < 2; half++, from = &columns->high, to = &next.high) {
        const __m128i many = _mm_cmpeq_epi8(_mm_and_si128(*from, several), several);
        const __m128i cells = _mm_and_si128(*from, cell);
        const __m128i none = _mm_cmpeq_epi8(cells, zero);
        const __m128i lone = _mm_andnot_si128(none, _mm_or_si128(cells, old));
        *to = _mm_or_si128(_mm_and_si128(many, _mm_or_si128(several, old)),
                           _mm_andnot_si128(many, lone));
        if (rows <= 16) break;
    }
    if (rows <= 16) next.high = zero;
#else
    memset(&next, 0, sizeof next);
    for (int c = 0; c < rows; c++) next.column[c] = ff_column_committed(columns->column[c]);
#endif
    return next;
}

/* The columns that had no winning cell before the current pass. */
FF_INLINE uint32_t ff_none_before(const ff_group_columns *columns, int rows) {
    uint32_t had = 0;
#ifdef FF_SSE2
    had = (uint32_t)_mm_movemask_epi8(_mm_slli_epi16(columns->low, 2));
    if (rows > 16) had |= (uint32_t)_mm_movemask_epi8(_mm_slli_epi16(columns->high, 2)) << 16;
#else
    for (int c = 0; c < rows; c++) had |= (uint32_t)(columns->column[c] >> 5 & 1) << c;
#endif
    return ~had & (ff_bit(rows) - 1);
}

/* The columns that differ. */
FF_INLINE uint32_t ff_columns_that_differ(const ff_group_columns *columns,
                                          const ff_group_columns *others, int rows) {
    uint32_t same = 0;
#ifdef FF_SSE2
    same = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(columns->low, others->low));
    if (rows > 16)
        same |= (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(columns->high, others->high)) << 16;
#else
    for (int c = 0; c < rows; c++)
        same |= (uint32_t)(columns->column[c] == others->column[c]) << c;
#endif
    return ~same & (ff_bit(rows) - 1);
}

/* What the columns were before the current pass. */
FF_INLINE ff_winning ff_winning_before(const ff_group_columns *columns, int rows) {
    ff_winning winning;
    const uint32_t every = ff_bit(rows) - 1;
#ifdef FF_SSE2
    const __m128i wanted = _mm_set1_epi8(FF_WIN_CELL | FF_WIN_OLD);
    const __m128i low = _mm_and_si128(columns->low, wanted);
    const __m128i high = _mm_and_si128(columns->high, wanted);
    winning.none = ff_none_before(columns, rows);
    for (int r = 0; r < rows; r++) {
        const __m128i lone = _mm_set1_epi8((char)(FF_WIN_OLD | (r + 1)));
        uint32_t equal = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(low, lone));
        if (rows > 16) equal |= (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(high, lone)) << 16;
        winning.only[r] = equal & every;
    }
#else
    winning.none = every;
    for (int r = 0; r < rows; r++) winning.only[r] = 0;
    for (int c = 0; c < rows; c++) {
        const uint8_t column = columns->column[c];
        if (!(column & FF_WIN_OLD)) continue;
        winning.none &= ~ff_bit(c);
        if (column & FF_WIN_CELL) winning.only[(column & FF_WIN_CELL) - 1] |= ff_bit(c);
    }
#endif
    return winning;
}

FF_INLINE void ff_columns_to_bytes(const ff_group_columns *columns, int rows, uint8_t *bytes) {
    uint8_t all[32];
#ifdef FF_SSE2
    _mm_storeu_si128((__m128i *)(void *)all, columns->low);
    if (rows > 16) _mm_storeu_si128((__m128i *)(void *)(all + 16), columns->high);
#else
    memcpy(all, columns->column, sizeof all);
#endif
    memcpy(bytes, all, (size_t)rows);
}

static inline uint32_t ff_columns_to_word(const ff_group_columns *columns) {
#ifdef FF_SSE2
    return ff_gather_word((uint64_t)_mm_cvtsi128_si64(columns->low));
#else
    uint64_t bytes = 0;
    for (int c = 0; c < FF_WORD_COLUMNS; c++) bytes |= (uint64_t)columns->column[c] << 8 * c;
    return ff_gather_word(bytes);
#endif
}

/* ---- up to eight columns at once --------------------------------------------- */

/* Columns as bytes of a double word, and sets of eight things by rows: bit 8 r + c. */

#define FF_EACH UINT64_C(0x0101010101010101)
#define FF_OFF_DIAGONAL (~UINT64_C(0x8040201008040201))

/* A set of rows as a byte of ones for each. */
static inline uint64_t ff_whole_rows(uint32_t rows) {
#ifdef FF_BMI2
    return _pdep_u64(rows, FF_EACH) * 0xFF;
#else
    uint64_t whole = 0;
    for (int r = 0; r < FF_DOUBLE_COLUMNS; r++) whole |= (uint64_t)(rows >> r & 1) * 0xFF << 8 * r;
    return whole;
#endif
}

/* Which columns have just the one winning cell r, by rows r: before the current pass. */
static inline uint64_t ff_only_before(uint64_t columns) {
    uint64_t only = 0;
#ifdef FF_SSE2
    const __m128i wanted = _mm_set1_epi8(FF_WIN_CELL | FF_WIN_OLD);
    const __m128i twice = _mm_and_si128(_mm_set1_epi64x((long long)columns), wanted);
    for (int r = 0; r < FF_DOUBLE_COLUMNS; r += 2) {
        const uint64_t first = FF_EACH * (uint64_t)(FF_WIN_OLD | (r + 1));
        const __m128i lone = _mm_set_epi64x((long long)(first + FF_EACH), (long long)first);
        only |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(twice, lone)) << 8 * r;
    }
#else
    for (int c = 0; c < FF_DOUBLE_COLUMNS; c++) {
        const uint8_t column = (uint8_t)(columns >> 8 * c);
        if (column & FF_WIN_OLD && column & FF_WIN_CELL)
            only |= UINT64_C(1) << (8 * ((column & FF_WIN_CELL) - 1) + c);
    }
#endif
    return only;
}

/* The columns with this bit, 5 for OLD or 6 for SEVERAL. */
static inline uint32_t ff_columns_with(uint64_t columns, int bit) {
#ifdef FF_BMI2
    return (uint32_t)_pext_u64(columns, FF_EACH << bit);
#else
    uint32_t set = 0;
    for (int c = 0; c < FF_DOUBLE_COLUMNS; c++) set |= (uint32_t)(columns >> (8 * c + bit) & 1) << c;
    return set;
#endif
}

/* A bit 8 r for each row r that is not empty. */
static inline uint64_t ff_rows_with_any(uint64_t rows) {
    rows |= rows >> 4;
    rows |= rows >> 2;
    return (rows | rows >> 1) & FF_EACH;
}

/* The entries by rows, bit 8 r + c, that are not known to be won: ff_missing for each row. */
static inline uint64_t ff_missing_by_rows(uint64_t columns, uint32_t none) {
    return (FF_EACH * none | ff_only_before(columns)) & FF_OFF_DIAGONAL;
}

/* All entries of the rows in play, which are those without a line of the mover. */
static inline uint64_t ff_other_rows(int rows, uint32_t lines) {
    const uint32_t every = ff_bit(rows) - 1;
    return ff_whole_rows(every & ~lines) & FF_EACH * every & FF_OFF_DIAGONAL;
}

/* The lost parents by rows, bit 8 r + f, as ff_lost_parents has them; `parents`: those that
 * count.  `complete` is set to a bit 8 r for each row in which nothing is missing. */
static inline uint64_t ff_lost_by_rows(uint64_t missing, uint64_t parents, uint32_t completing,
                                       uint64_t *complete) {
    const uint64_t some = ff_rows_with_any(missing);
    const uint64_t several = ff_rows_with_any(missing & (missing - some));
    *complete = FF_EACH & ~some;
    return parents & (*complete * 0xFF |
                      (missing & ~(FF_EACH * completing) & (some & ~several) * 0xFF));
}

/* ---- what a row says of its parents ---------------------------------------- */

/* The entries of row r that are not known to be won. */
static inline uint32_t ff_missing(const ff_winning *winning, int row) {
    return (winning->none | winning->only[row]) & ~ff_bit(row);
}

/* Whether any row of the group can have a lost parent, by the columns without a winning cell:
 * those are missing in every row but their own. */
static inline int ff_may_lose(uint32_t none) { return __builtin_popcount(none) <= 2; }

/* The parents of row r that are lost, by their oldest piece f.  `completing` are the f that
 * give the parent's mover a line, so that the parent is impossible. */
static inline uint32_t ff_lost_parents(uint32_t missing, int row, uint32_t every,
                                       uint32_t completing) {
    if (missing == 0) return every & ~ff_bit(row);
    return missing & (missing - 1) ? 0 : missing & ~completing;
}

#endif
