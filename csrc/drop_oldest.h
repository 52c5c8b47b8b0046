/* drop_oldest.h -- states of the game D(n, m, k) from nodes of its table. */
#ifndef FF_DROP_OLDEST_H
#define FF_DROP_OLDEST_H

#include "game.h"
#include "index.h"

/* cdef */
/* The states [count][state_bytes] of nodes' canonical positions, a full one with X
 * to move.  `game` and `index` are of the same rules.  Returns the number of states
 * that could be built: less than `count` if the next node is impossible. */
uint64_t ff_drop_oldest_states(const ff_game *game, const ff_index *index, const uint64_t *nodes,
                               uint64_t count, uint8_t *states);
/* end cdef */

#endif
