/* group.h -- sets of entries of a group of the full slice.
 *
 * The entries of a small group, at most eight rows of seven, fit into a word:
 *
 *     packed    bit i: entry i, rows one behind the other
 *     by rows   byte r: row r, bit c of it: column c; bit 7 of a byte is spare
 *
 * so that all rows of a group are examined together.  The rows of a larger group are
 * examined one by one (row.h).
 */
#ifndef FF_GROUP_H
#define FF_GROUP_H

#include <stdint.h>

#include "instructions.h"

enum { FF_SMALL_ROWS = 8 };

static inline uint32_t ff_every_column(int columns) { return (1u << columns) - 1; }

#define FF_EVERY_BYTE(bits) ((uint64_t)(bits) * 0x0101010101010101u)

static inline uint64_t ff_by_rows(uint64_t packed, int columns) {
#ifdef FF_BMI2
    return _pdep_u64(packed, FF_EVERY_BYTE(ff_every_column(columns)));
#else
    uint64_t rows = 0;
    for (int r = 0; r < FF_SMALL_ROWS; r++)
        rows |= (packed >> r * columns & ff_every_column(columns)) << 8 * r;
    return rows;
#endif
}

/* The spare bits of the rows that have an entry in this set. */
static inline uint64_t ff_rows_with_any(uint64_t by_rows) {
    return (by_rows + FF_EVERY_BYTE(0x7F)) & FF_EVERY_BYTE(0x80);
}

/* The spare bits of the rows that have two or more. */
static inline uint64_t ff_rows_with_two(uint64_t by_rows) {
    return ff_rows_with_any(by_rows & ((by_rows | FF_EVERY_BYTE(0x80)) - FF_EVERY_BYTE(1)));
}

#endif
