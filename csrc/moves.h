/* moves.h -- what each move of a position leads to, read from a solved table.
 *
 * A move's value is the byte of the position it leads to (the opponent is to
 * move there): odd, the opponent is lost, so the move wins; even, the move
 * loses; 0, a draw.  An optimal move is a soonest win, or a draw, or a latest
 * loss; a keeping move has the position's result, whatever its depth.
 */
#ifndef FF_MOVES_H
#define FF_MOVES_H

#include "nodes.h"

/* cdef */
/* For nodes of one list (uint64 [count]): optimal and keeping moves as bit masks
 * over the canonical position's cells.  A finished or impossible node has none. */
void ff_label_moves(const ff_index *index, const uint8_t *table, const uint64_t *nodes,
                    uint64_t count, uint32_t *optimal, uint32_t *keeping);

/* The values of one position's moves, by cell of the board as given; -1 where
 * there is no move.  Returns the position's own value, or FF_BAD_POSITION. */
int ff_move_values(const ff_index *index, const uint8_t *table, const int8_t *x,
                   const int8_t *y, int to_move, int16_t *values);
/* end cdef */

/* The nodes that a node's moves lead to, by cell; returns the mask of moves. */
uint32_t ff_successors(const ff_index *index, const ff_queues *node, uint64_t *successor);

#endif
