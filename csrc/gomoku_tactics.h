/* gomoku_tactics.h -- forced wins in free-style Gomoku, proved.
 *
 * Words.  Two sides, the attacker and the defender; gomoku_board.h has windows.
 *
 *   completing cell   an empty cell on which a stone of the side makes five
 *   four              a move that leaves its side a completing cell
 *   double four       a move that leaves two: an open four is one, two fours in
 *                     different lines are another
 *   three             a move that is no four and leaves a cell on which the side
 *                     would make a double four: an open three is one; so is a
 *                     three that meets another line of three in that cell
 *
 * Attack.  The attacker may play five; or a move after which the defender has no
 * completing cell and the attacker has one (a four), or, if threes are allowed,
 * a cell for a double four (a three).  A move that stops a four of the defender
 * counts as a three also if the cell for the double four was there before.
 *
 * Defence.  Every legal move.  Of these few have to be tried:
 *   - against two completing cells nothing helps, against one only that cell;
 *   - against a three let e be a cell for a double four and F(e) the completing
 *     cells after it.  A reply r that is no four leaves the attacker free to play
 *     e, which still wins unless r = e, or r is in F(e) and F(e) has only two
 *     members (a reply elsewhere is in none of the windows that make F(e)).  So r
 *     is a four of the defender, or lies in the intersection, over all e, of
 *     {e} + F(e) if |F(e)| = 2, {e} if |F(e)| > 2.
 * The defender's fours are all tried: the attacker then has to stop them, and
 * the next attacking move may be only that.
 *
 * What is exact.  A win is a proof: some attacking move wins against every legal
 * reply, down to five on the board.  It is the shortest by such moves: the search
 * asks for a win with 1 attacking move, then 2, and so on; with n of them it takes
 * 2 n - 1 plies.  FF_GOMOKU_NONE is a proof, too: no sequence of such moves, of
 * any length, wins.  FF_GOMOKU_NOT_WITHIN says so of at most `bound` attacking
 * moves, and leaves open whether more would.  Neither says that the side cannot
 * win by quieter moves.  Of equally short wins the first that is met is given.
 *
 * Table.  What is known of a position with the attacker to move: within how many
 * attacking moves it wins, within how many it does not.  An entry holds all
 * stones, so it never speaks for another position, and stays valid for any
 * number of searches on boards of this size:
 *
 *     12 words   the stones, six words for each side
 *     1 word     [ unused | move | searched | kind | none | won ]
 *                  63  48  47 32  31     24 23 16 15  8 7   0
 *
 * won: wins within this many moves, 0 unknown, by `move`; none: does not within
 * this many, 255 for any number; kind: 1 + attacker + 2 with threes, 0 no entry.
 * Of the two ways of a bucket the first keeps what was searched deepest.
 *
 * Suspending.  The search keeps its own stack, so it can stop after any number
 * of nodes and continue later: ff_gomoku_tactics_run(.., budget).
 */
#ifndef FF_GOMOKU_TACTICS_H
#define FF_GOMOKU_TACTICS_H

#include <stdint.h>

#include "gomoku_board.h"
#include "rules.h"

/* cdef */
enum {
    FF_GOMOKU_ENTRY_WORDS = 13,
    FF_GOMOKU_FEWEST_BITS = 4, /* entries are 2^bits */
    FF_GOMOKU_MOST_BITS = 28,
    FF_GOMOKU_UNFINISHED = 1, /* the budget is spent: run again */

    /* Answers. */
    FF_GOMOKU_UNDECIDED = 0,
    FF_GOMOKU_WIN = 1,
    FF_GOMOKU_NONE = 2,
    FF_GOMOKU_NOT_WITHIN = 3
};

typedef struct {
    uint16_t move[361];
    uint16_t count, next;
    uint16_t best;   /* the move that wins */
    uint8_t attacks; /* whose turn it is */
    uint8_t left;    /* moves that the attacker has left */
    uint8_t cut;     /* a move failed only for want of moves */
} ff_gomoku_frame;

typedef struct {
    ff_gomoku_board board;
    uint64_t *table; /* the caller's: zeroed, FF_GOMOKU_ENTRY_WORDS << bits words */
    int bits;
    int attacker;       /* 0 or 1 */
    int attacker_moves; /* at the root? */
    int threes;         /* allowed? */
    int bound;          /* attacking moves */
    int limit;          /* of the search at work */
    int answer;
    int best;       /* FF_GOMOKU_WIN with the attacker to move: the move; else -1 */
    uint64_t nodes; /* moves tried since ff_gomoku_tactics_begin */
    int depth;      /* of the frame at work; -1: the next limit is to be begun */
    uint16_t refutation[361]; /* the reply that last stopped a move here, plus 1 */
    ff_gomoku_frame frames[362];
} ff_gomoku_tactics;

/* A board of this size and a table.  FF_BAD_RULES, FF_NO_ROOM: size or bits outside
 * the limits. */
int ff_gomoku_tactics_init(ff_gomoku_tactics *tactics, int size, uint64_t *table, int bits);

/* Takes up a question.  cells: int8 [size * size], +1 first player, -1 second, 0 empty.
 * attacker_moves: is it the attacker's turn?  If not, the question is whether the
 * defender's every move loses.  bound: attacking moves, at least 1.  FF_BAD_POSITION:
 * other numbers, or five on the board. */
int ff_gomoku_tactics_begin(ff_gomoku_tactics *tactics, const int8_t *cells, int attacker,
                    int attacker_moves, int threes, int bound);

/* Searches for at most about `budget` nodes.  FF_OK: `answer` is decided; for a win
 * `limit` is the number of attacking moves. */
int ff_gomoku_tactics_run(ff_gomoku_tactics *tactics, uint64_t budget);

/* end cdef */

#endif
