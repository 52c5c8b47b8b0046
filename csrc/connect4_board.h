/* connect4_board.h -- the cells of Connect Four as bits: 7 columns of 6, four in a row.
 *
 * One bit per cell, columns of seven bits; the bit above each column stays
 * empty, so that a shift never joins two columns:
 *
 *      6 13 20 27 34 41 48      always 0
 *      5 12 19 26 33 40 47      row 5
 *      . .  .  .  .  .  .
 *      0  7 14 21 28 35 42      row 0, the lowest
 */
#ifndef FF_CONNECT4_BOARD_H
#define FF_CONNECT4_BOARD_H

#include <stdint.h>

enum { FF_C4_ROWS = 6, FF_C4_COLUMNS = 7, FF_C4_COLUMN_BITS = FF_C4_ROWS + 1 };

#define FF_C4_BOTTOM UINT64_C(0x0040810204081) /* row 0 */
#define FF_C4_BOARD (FF_C4_BOTTOM * 63)

static inline int ff_c4_has_four(uint64_t stones) {
    static const int directions[4] = {1, FF_C4_COLUMN_BITS, FF_C4_COLUMN_BITS - 1,
                                      FF_C4_COLUMN_BITS + 1};
    uint64_t fours = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t pairs = stones & stones >> directions[i];
        fours |= pairs & pairs >> 2 * directions[i];
    }
    return fours != 0;
}

/* The empty cells that would complete a four of `own`, playable now or later. */
static inline uint64_t ff_c4_completing(uint64_t own, uint64_t stones) {
    uint64_t cells = own << 1 & own << 2 & own << 3;
    for (int step = FF_C4_COLUMN_BITS - 1; step <= FF_C4_COLUMN_BITS + 1; step++) {
        uint64_t two_above = own >> step & own >> 2 * step;
        uint64_t two_below = own << step & own << 2 * step;
        cells |= two_above & (own << step | own >> 3 * step);
        cells |= two_below & (own >> step | own << 3 * step);
    }
    return cells & (FF_C4_BOARD ^ stones);
}

#endif
