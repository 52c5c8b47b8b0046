/* explore.h -- what a solved table says of one position, its moves and best play.
 *
 * A move is worth what the position it leads to is worth to the opponent, the other
 * way round (values.h).  It sets a trap with every reply that loses the opponent's
 * result: after which the result is worse for the opponent than the position
 * offered.  Of moves that are worth the same, the one with most traps comes first.
 * The line is best play by both sides, the lowest cell of the best each time, until
 * the game ends or the caller's limit is reached.
 *
 * Which positions are over is decided by the rules, not by the table, so that no
 * byte of a damaged table can lead astray.  Every node whose byte was used is
 * listed, for a caller who checks the table's blocks when they are first read.
 */
#ifndef FF_EXPLORE_H
#define FF_EXPLORE_H

#include "moves.h"
#include "values.h"

/* cdef */
enum {
    FF_LONGEST_LINE = 256,
    FF_MOST_READ = 1 + 25 + 25 * 24 + 25 * 256 /* nodes that one question reads */
};

typedef struct {
    uint64_t *read;     /* the caller's [FF_MOST_READ], or null: nodes whose bytes were used */
    int reads;
    uint8_t transform;  /* makes the position canonical */
    uint8_t value;      /* the table byte of the position */
    int count;          /* of legal moves */
    uint8_t order[25];  /* their cells, best first; of equal ones most traps, then lowest first */
    uint8_t after[25];  /* by cell: the byte of the position after the move */
    uint8_t losing[25]; /* the replies to it that lose the opponent's result */
    uint8_t replies[25];
    int plies;          /* of the line */
    uint8_t line[256];  /* cells */
} ff_explored;

/* Explores a position, given as in nodes.h.  The line has at most `longest` plies,
 * or `longest_drawn` if the position is drawn; neither is above FF_LONGEST_LINE.
 * FF_BAD_POSITION: the rules have no such position, or it cannot occur.
 * FF_BAD_RECORD: the table has no value for a position that has one. */
int ff_explore(const ff_index *index, const uint8_t *table, const int8_t *x, const int8_t *y,
               int to_move, int longest, int longest_drawn, ff_explored *explored);
/* end cdef */

#endif
