/* moves.h -- where the moves of a node lead. */
#ifndef FF_MOVES_H
#define FF_MOVES_H

#include "nodes.h"

/* The nodes that a node's moves lead to, by cell; returns the mask of moves. */
uint32_t ff_successors(const ff_index *index, const ff_queues *node, uint64_t *successor);

#endif
