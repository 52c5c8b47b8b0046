/* gomoku_board.h -- a Gomoku board by its windows: where five can still be made.
 *
 * A window is five cells in a row, in a column or on a diagonal.  There are five
 * or more stones of one side in a row exactly if a window is full of them.  The
 * level of a window for a side is the number of that side's stones in it, as
 * long as the other side has none there; a window with stones of both is dead.
 * The board keeps the set of windows of every side and level, so that what a
 * stone changes is at most 20 windows:
 *
 *   level 5   the side has five: the game is over
 *   level 4   the empty cell of the window completes five: a completing cell
 *   level 3   two empty cells, partners: a stone on one makes the other completing
 *   level 2   a stone makes it a window of level 3
 *
 * Cells are row * size + column.  There are 2 (n - 4) (2 n - 4) windows on n
 * lines: 12 on 5 x 5, 572 on 15 x 15, 1020 on 19 x 19.
 */
#ifndef FF_GOMOKU_BOARD_H
#define FF_GOMOKU_BOARD_H

#include <stdint.h>

#include "rules.h"

/* cdef */
enum {
    FF_GOMOKU_SMALLEST = 5,
    FF_GOMOKU_LARGEST = 19
};

typedef struct {
    int size, cells, windows, words; /* words of a set of windows */
    uint16_t window_cell[1020][5];
    uint16_t cell_window[361][20]; /* the windows that a cell is in */
    uint8_t cell_windows[361];     /* how many */

    uint8_t stone[361];    /* 0 empty, 1 the first player's, 2 the second's */
    int empty;             /* cells */
    uint64_t bits[2][6];   /* each side's stones, bit cell % 64 of word cell / 64 */
    uint64_t hash;         /* of the stones */
    uint8_t count[2][1020]; /* each side's stones in each window */
    uint64_t level[2][6][16]; /* sets of windows; level 0 is not kept */
} ff_gomoku_board;
/* end cdef */

/* For each cell its partners of one side, as far as they matter. */
typedef struct {
    uint8_t count[361]; /* different ones; 3 stands for three or more */
    uint16_t partner[361][2];
    uint16_t cell[361]; /* those that have one, */
    int cells;          /* and how many they are */
} ff_gomoku_partners;

/* An empty board.  FF_BAD_RULES: there is no board of this size. */
int ff_gomoku_board_init(ff_gomoku_board *board, int size);

/* Puts a stone of side 0 or 1 on an empty cell, and takes it back. */
void ff_gomoku_place(ff_gomoku_board *board, int side, int cell);
void ff_gomoku_take(ff_gomoku_board *board, int side, int cell);

/* Is a window of this level left to the side? */
int ff_gomoku_any(const ff_gomoku_board *board, int side, int level);

/* Completing cells of a side: how many different ones, at most 2, and which. */
int ff_gomoku_completing(const ff_gomoku_board *board, int side, int cell[2]);

void ff_gomoku_find_partners(const ff_gomoku_board *board, int side,
                             ff_gomoku_partners *partners);

/* The empty cells of a window of this level, 5 - level of them. */
void ff_gomoku_empty_cells(const ff_gomoku_board *board, int window, uint16_t *cell);

/* For each window of a set: FF_GOMOKU_EACH(window, set, words) { .. } */
#define FF_GOMOKU_EACH(window, set, words)                                        \
    for (int word_ = 0, window; word_ < (words); word_++)                         \
        for (uint64_t rest_ = (set)[word_];                                       \
             rest_ && (window = word_ * 64 + __builtin_ctzll(rest_), 1);          \
             rest_ &= rest_ - 1)

#endif
