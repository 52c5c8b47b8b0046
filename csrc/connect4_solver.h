/* connect4_solver.h -- exact scores of Connect Four positions, by alpha-beta.
 *
 * Board.  One bit per cell, columns of seven bits, as in connect4_board.h: bit =
 * column * 7 + row, row 0 the lowest, the seventh bit of a column always 0.  A
 * position is (mover, stones): the stones of the side to move, and all stones.
 * The number of stones tells whose move it is.
 *
 * Score, for the side to move: 0 a draw; positive, the mover wins, and it is 22
 * minus the stones the winner will have played when the game ends; negative,
 * the same for a loss.  So a sooner win and a later loss are the higher score.
 *
 * Search.  A search asks one question, "is the score above a?" (the window
 * a, a + 1), and answers with a bound; halving what is left between the bounds
 * gives the score.  Short wins are asked for first: those questions are cheap,
 * and their answers fill the table for the expensive ones.  No node is opened in
 * which the mover can win at once, because
 *   - a move is tried only if it leaves the opponent no immediate win;
 *   - a move that makes two threats at once wins on the mover's next turn, which
 *     is the best that a node can offer.
 * Of the others, those that make most threats come first, then the most central.
 *
 * Follow-up.  Let the first player be to move.  The empty cells are even in
 * number, so an even number of columns have an odd number of stones, and the
 * lowest empty cells of these, the bases, can be put into pairs.  All other
 * empty cells form pairs too: rows 0-1, 2-3, 4-5 of a column.  The second player
 * can answer each move with the other cell of its pair: that cell is always
 * playable then, and the pairs keep this shape.  So of the empty cells the first
 * player gets at most rows 0, 2, 4 and the bases.  If these, with the stones
 * that stand, hold no four, the first player cannot win, whatever the pairs of
 * the bases: the score is at most 0.  If besides the second player's share,
 * rows 1, 3, 5 above the bases, holds a four, it is at most -1.
 *
 * Table.  Bounds of positions by a bijective mixing of their 49-bit key
 * mover + stones (unique: above its topmost stone a column of the sum shows what
 * the mover has).  The high bits choose a bucket of FF_C4_WAYS entries, the
 * others are stored, so an entry never speaks for another position:
 *
 *     63                   18 17  12 11   6 5    0
 *     [ rest of mixed key   ] [work] [high] [low ]     bounds + 32; 0: no entry
 *
 * work is the bit length of the nodes spent.  A new entry drives out the least
 * work of all ways but the last, which takes what is driven out or too small.
 * Bounds stay valid, so a table may serve any number of searches.
 *
 * Sharing.  Any number of solvers may use one table at once, each in a thread of
 * its own.  An entry is one word, read and written as a relaxed atomic, so it is
 * always whole; it speaks for its position alone, and its bounds are true whoever
 * found them and whatever else is in the table.  So no lock is needed, and the score
 * does not depend on the threads (the nodes do).
 *
 * Solvers that search the same position together also share a list of marks: the
 * positions that one of them is searching now.  At a node each takes first what
 * none of the others is at, except that the first move of a node is tried before
 * all others in any case.  Where every move must be refuted, which is where the time
 * goes, they thus divide the moves, and find each other's answers in the table.  A
 * mark is a hint: to lose one, or to meet an old one, costs time and nothing else.
 *
 * Suspending.  The search keeps its own stack, so it can stop after any number
 * of nodes and continue later: ff_connect4_run(.., budget).
 */
#ifndef FF_CONNECT4_SOLVER_H
#define FF_CONNECT4_SOLVER_H

#include <stdint.h>

#include "rules.h"

/* cdef */
enum {
    FF_C4_CELLS = 42,
    FF_C4_WAYS = 4,
    FF_C4_FEWEST_BITS = 10, /* buckets are 2^bits */
    FF_C4_MOST_BITS = 32,
    FF_C4_MARKS = 1 << 12,
    FF_C4_UNFINISHED = 1 /* the budget is spent: run again */
};

typedef struct {
    uint64_t mover, stones;
    uint64_t key;     /* mixed */
    uint64_t opened;  /* nodes counted when it was */
    uint64_t move[7]; /* one bit each, best first */
    uint64_t child_key[7];
    int8_t count, next;
    int8_t plies;     /* stones on the board */
    int8_t above;     /* the question: is the score above this? */
    int8_t best;      /* of the moves tried */
    int8_t low, high; /* bounds known before */
    int8_t stored;    /* 0: the only move is played on without a table entry */
} ff_connect4_frame;

typedef struct {
    uint64_t *table; /* the caller's: at first zeroed, 2^bits * FF_C4_WAYS words */
    int bits;
    uint64_t *at_work; /* the caller's: FF_C4_MARKS words, zeroed; NULL: no company */
    uint64_t nodes;  /* opened since ff_connect4_begin */
    int low, high;   /* bounds of the position's score; equal once it is known */
    int depth;       /* of the frame at work; -1: no question is being asked */
    ff_connect4_frame frames[43];
} ff_connect4_solver;

/* Gives the solver its table, and the marks that it shares with others.  FF_NO_ROOM:
 * bits outside the limits above. */
int ff_connect4_init(ff_connect4_solver *solver, uint64_t *table, int bits, uint64_t *at_work);

/* Takes up a position.  The score is sought between the bounds: beyond them, the
 * nearer bound is what will be found.  FF_BAD_POSITION: stones in the air or
 * outside the board, too many of one side, a four of the side to move, fours of
 * the other that no one move completed, or low > high. */
int ff_connect4_begin(ff_connect4_solver *solver, uint64_t mover, uint64_t stones, int low,
                      int high);

/* Searches for at most about `budget` nodes.  FF_OK: low == high is the score. */
int ff_connect4_run(ff_connect4_solver *solver, uint64_t budget);
/* end cdef */

#endif
