/* labels.h -- what a solved table says of positions.
 *
 * The value of a position is its own byte (values.h); the value of a move is the
 * byte of the position it leads to, in which the opponent is to move.  An optimal
 * move leads to the least merit; a keeping move has the position's result, however
 * many plies it takes.
 *
 * A transform t carries the canonical position to the board shown; cells and moves
 * are carried together, so a label of cell c belongs to cell image[t][c].
 */
#ifndef FF_LABELS_H
#define FF_LABELS_H

#include "moves.h"
#include "values.h"

/* cdef */
/* What is wanted of each position; a null pointer is skipped. */
typedef struct {
    uint64_t *nodes;        /* [count] */
    uint8_t *transforms;    /* [count]: canonical position -> the board shown */
    int8_t *x, *y;          /* [count][m]: the queues, as in nodes.h */
    int8_t *to_move;        /* [count]; x, y and to_move are wanted together or not at all */
    uint8_t *pieces;        /* [count][2m]: the cell of plane p's piece, n * n for none */
    float *planes;          /* [count][2m][n][n]: as drop_oldest.c fills them */
    uint8_t *legal;         /* [count][n * n]: 0 or 1 */
    uint8_t *optimal;       /* [count][n * n]: 0 or 1 */
    uint8_t *keeping;       /* [count][n * n]: 0 or 1 */
    uint32_t *optimal_mask; /* [count]: bit c for cell c */
    uint32_t *keeping_mask; /* [count] */
    uint8_t *values;        /* [count]: table bytes */
    uint8_t *move_values;   /* [count][n * n]: table bytes of the moves, 255 for no move */
    float *policy;          /* [count][n * n]: even over the optimal (or keeping) moves */
    int policy_keeps;       /* 1: over all moves that keep the result */
} ff_labels;

/* Labels of given nodes, carried by the given transforms (null: as canonical).
 * Finished and impossible nodes have no moves. */
void ff_label_nodes(const ff_index *index, const uint8_t *table, const uint64_t *nodes,
                    const uint8_t *transforms, uint64_t count, const ff_labels *labels);
/* end cdef */

/* A node on its way to its labels.  The stages are taken for many nodes at a time:
 * while one waits for the table's memory, the next is computed. */
typedef struct {
    uint64_t node;
    uint8_t value, transform;
    int pieces;
    uint8_t cells[FF_MAX_PIECES]; /* the canonical sequence */
    ff_queues queues;
    uint32_t moves;
    uint64_t successor[FF_MAX_CELLS];
} ff_labelled;

enum { FF_LABELLED_TOGETHER = 32 };

/* Finds the moves of a node whose value and cells are known, and asks for the
 * memory of the positions they lead to. */
void ff_find_moves(const ff_index *index, const uint8_t *table, ff_labelled *item);

/* Has the node a move that does not keep its result? */
int ff_is_critical(const uint8_t *table, const ff_labelled *item);

/* Writes the labels of a node whose moves are found, in this place of the arrays. */
void ff_write_labels(const ff_index *index, const uint8_t *table, const ff_labelled *item,
                     uint64_t place, const ff_labels *labels);

#endif
