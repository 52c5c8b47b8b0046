/* plain_games.h -- the rules of the games on their portable codes (game.h), as plainly
 * as C allows: nothing is incremental, every window of the board is looked at.
 */
#ifndef FUZZ_PLAIN_GAMES_H
#define FUZZ_PLAIN_GAMES_H

#include "plain_nodes.h"

typedef struct {
    int rows, columns, length; /* of a board, and of a winning line */
    int m;                     /* pieces of a queue; 0 where pieces stay for ever */
    int falls;                 /* pieces fall to the lowest free row */
} plain_game;

enum { PLAIN_GOING_ON = 0, PLAIN_MOVER_WON = 1, PLAIN_DRAWN = 2, PLAIN_CELLS = 361 };

static inline int plain_cells(const plain_game *g) { return g->rows * g->columns; }

static inline int plain_side(const plain_game *g, const int8_t *code) {
    return code[g->m ? 2 * g->m : plain_cells(g)];
}

/* Who stands on each cell: 0 nobody, 1 the first player, 2 the second.  Returns 0 if the
 * code puts a piece off the board or two on one cell. */
static inline int plain_board(const plain_game *g, const int8_t *code, uint8_t *board) {
    memset(board, 0, (size_t)plain_cells(g));
    if (!g->m) {
        for (int cell = 0; cell < plain_cells(g); cell++) {
            if (code[cell] < -1 || code[cell] > 1) return 0;
            board[cell] = code[cell] < 0 ? 2 : (uint8_t)code[cell];
        }
        return 1;
    }
    for (int i = 0; i < 2 * g->m; i++) {
        if (code[i] == -1) continue;
        if (code[i] < 0 || code[i] >= plain_cells(g) || board[code[i]]) return 0;
        board[code[i]] = (uint8_t)(1 + i / g->m);
    }
    return 1;
}

static inline int plain_wins(const plain_game *g, const uint8_t *board, int owner) {
    static const int steps[4][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
    for (int row = 0; row < g->rows; row++)
        for (int column = 0; column < g->columns; column++)
            for (int s = 0; s < 4; s++) {
                int length = 0, r = row, c = column;
                while (length < g->length && r < g->rows && c >= 0 && c < g->columns &&
                       board[r * g->columns + c] == owner) {
                    length++;
                    r += steps[s][0];
                    c += steps[s][1];
                }
                if (length == g->length) return 1;
            }
    return 0;
}

static inline int plain_count(const plain_game *g, const uint8_t *board, int owner) {
    int count = 0;
    for (int cell = 0; cell < plain_cells(g); cell++) count += board[cell] == owner;
    return count;
}

/* Is it the code of a position in which the side to move has no line yet? */
static inline int plain_is_position(const plain_game *g, const int8_t *code) {
    uint8_t board[PLAIN_CELLS];
    if (!plain_board(g, code, board)) return 0;
    for (int side = 0; side < 2; side++) /* a queue has no gaps */
        for (int i = 1; i < g->m; i++)
            if (code[side * g->m + i] != -1 && code[side * g->m + i - 1] == -1) return 0;
    for (int cell = g->columns; g->falls && cell < plain_cells(g); cell++)
        if (board[cell] && !board[cell - g->columns]) return 0;
    const int first = plain_count(g, board, 1), second = plain_count(g, board, 2);
    const int side = plain_side(g, code), full = g->m && first == g->m && second == g->m;
    if (side < 0 || side > 1 || (first - second != side && !full)) return 0;
    return !plain_wins(g, board, 1 + side);
}

static inline int plain_result(const plain_game *g, const int8_t *code) {
    uint8_t board[PLAIN_CELLS];
    plain_board(g, code, board);
    if (plain_wins(g, board, 2 - plain_side(g, code))) return PLAIN_MOVER_WON;
    return plain_count(g, board, 0) ? PLAIN_GOING_ON : PLAIN_DRAWN;
}

/* The cell that each action fills, -1 where it is not legal. */
static inline void plain_moves(const plain_game *g, const int8_t *code, int16_t *cells) {
    uint8_t board[PLAIN_CELLS];
    plain_board(g, code, board);
    const int over = plain_result(g, code) != PLAIN_GOING_ON;
    for (int action = 0; action < (g->falls ? g->columns : plain_cells(g)); action++) {
        int cell = action;
        while (g->falls && cell < plain_cells(g) && board[cell]) cell += g->columns;
        cells[action] = (int16_t)(over || cell >= plain_cells(g) || board[cell] ? -1 : cell);
    }
}

/* Fills a cell for the side to move, in place. */
static inline void plain_place(const plain_game *g, int8_t *code, int cell) {
    const int side = plain_side(g, code);
    if (!g->m) {
        code[cell] = side ? -1 : 1;
        code[plain_cells(g)] = (int8_t)!side;
        return;
    }
    int8_t *queue = code + side * g->m;
    int pieces = 0;
    while (pieces < g->m && queue[pieces] != -1) pieces++;
    if (pieces == g->m) memmove(queue, queue + 1, (size_t)--pieces);
    queue[pieces] = (int8_t)cell;
    code[2 * g->m] = (int8_t)!side;
}

#endif
