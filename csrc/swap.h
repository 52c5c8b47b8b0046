/* swap.h -- the full slice with the other side to move.
 *
 * The node (a0 .. ah; b0 .. bh), h = m - 1, lies in the table at
 *
 *     a1 .. ah b0 .. b(h-1)   a0   bh      (group, row, column; see index.h)
 *
 * and the same pieces with the other side to move, (b0 .. bh; a0 .. ah), at
 *
 *     b1 .. bh a0 .. a(h-1)   b0   ah.
 *
 * Visiting the groups in numerical order would write all over the slice.  They are
 * visited in the order of b1 .. b(h-1) a1 .. ah b0 instead.  While all
 * but the last two of these stay the same, what is written lies in as many
 * groups as what is read: all those that begin with b1 .. b(h-1), then any cell,
 * any cell, a1 .. a(h-1); on 4 x 4 with m = 4 twelve kilobytes.
 *
 * The entries of a column differ in a0 alone, so there is one rank for a column
 * (ff_open_place in tiles.h).
 */
#ifndef FF_SWAP_H
#define FF_SWAP_H

#include "nodes.h"

/* cdef */
/* swapped[rank of (x; y)] = value of the node (y; x), both of the full slice;
 * swapped is zeroed before.  No two nodes write to the same place, so threads may
 * share the work in any way. */

/* By groups; needs groups that have no symmetry, 2m - 2 > n.  The items of `work`
 * are the canonical sequences of 2m - 2 cells. */
void ff_swap_groups(const ff_index *index, const uint8_t *table, uint8_t *swapped, ff_work *work);

/* Node by node, on any board.  The items of `work` are the slice's ranks. */
void ff_swap_nodes(const ff_index *index, const uint8_t *table, uint8_t *swapped, ff_work *work);
/* end cdef */

/* The rank of a full sequence with the sides swapped. */
static inline uint64_t ff_swapped_rank(const ff_index *index, const uint8_t *cells) {
    const int pieces = 2 * index->rules.m;
    uint8_t swapped[FF_MAX_PIECES];
    ff_swap_sides(cells, pieces, swapped);
    return ff_place_of(index, swapped, pieces, pieces).rank;
}

#endif
