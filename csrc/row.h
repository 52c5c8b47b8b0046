/* row.h -- a row of a table: the results of all successors of one position.
 *
 * Results are bytes (rules.h): 0 undecided, odd lost, even won.  A set of
 * entries is a bit mask, bit i for entry i.  Eight bytes are looked at together.
 */
#ifndef FF_ROW_H
#define FF_ROW_H

#include <stdint.h>
#include <string.h>

#define FF_LOW_BITS UINT64_C(0x0101010101010101)
#define FF_LOW_SEVEN UINT64_C(0x7F7F7F7F7F7F7F7F)

/* Bytes first .. first + 7 of the row; zero where the row has ended. */
static inline uint64_t ff_row_word(const uint8_t *row, int columns, int first) {
    uint64_t word;
    memcpy(&word, row + first, sizeof word);
    int left = columns - first;
    return left >= 8 ? word : word & ((UINT64_C(1) << 8 * left) - 1);
}

/* Gathers bit 0 of each byte: byte i gives bit i. */
static inline uint32_t ff_gather(uint64_t low_bits) {
    return (uint32_t)(low_bits * UINT64_C(0x0102040810204080) >> 56);
}

static inline uint64_t ff_nonzero_bytes(uint64_t word) {
    return (((word & FF_LOW_SEVEN) + FF_LOW_SEVEN) | word) >> 7 & FF_LOW_BITS;
}

static inline uint32_t ff_lost_entries(const uint8_t *row, int columns) {
    uint32_t lost = 0;
    for (int i = 0; i < columns; i += 8)
        lost |= ff_gather(ff_row_word(row, columns, i) & FF_LOW_BITS) << i;
    return lost;
}

static inline uint32_t ff_won_entries(const uint8_t *row, int columns) {
    uint32_t won = 0;
    for (int i = 0; i < columns; i += 8) {
        uint64_t word = ff_row_word(row, columns, i);
        won |= ff_gather(ff_nonzero_bytes(word) & ~word & FF_LOW_BITS) << i;
    }
    return won;
}

/* Entries that hold exactly this value, which is not 0. */
static inline uint32_t ff_entries_equal(const uint8_t *row, int columns, int value) {
    uint32_t equal = 0;
    for (int i = 0; i < columns; i += 8) {
        uint64_t differing = ff_row_word(row, columns, i) ^ FF_LOW_BITS * (uint64_t)value;
        equal |= ff_gather(~ff_nonzero_bytes(differing) & FF_LOW_BITS) << i;
    }
    return equal;
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
    if (ff_won_entries(row, columns) != (1u << columns) - 1) return 0;
    for (int i = 0; i < columns; i++)
        if (row[i] > best) best = row[i]; /* the latest of the opponent's wins */
    return best + 1;
}

#endif
