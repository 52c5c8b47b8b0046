/* connect4.c -- Connect Four, 7 columns of 6, four in a row, as a game for the search. */
#include <string.h>

#include "connect4_board.h"
#include "game.h"

enum {
    ROWS = FF_C4_ROWS,
    COLUMNS = FF_C4_COLUMNS,
    CELLS = ROWS * COLUMNS,
    COLUMN_BITS = FF_C4_COLUMN_BITS,
    PLANES = 4
};

typedef struct {
    uint64_t pieces[2];
    uint8_t height[COLUMNS];
    uint8_t plies; /* its lowest bit is the side to move */
    uint8_t result;
    uint8_t unused[7]; /* stays 0: states are compared as bytes */
} connect4_state;

_Static_assert(sizeof(connect4_state) == 32, "no hidden padding");

static uint64_t bit_of(int row, int column) {
    return UINT64_C(1) << (column * COLUMN_BITS + row);
}

static void start(const ff_game *game, void *state) {
    (void)game;
    memset(state, 0, sizeof(connect4_state));
}

static int to_move(const ff_game *game, const void *state) {
    (void)game;
    return ((const connect4_state *)state)->plies & 1;
}

static int result(const ff_game *game, const void *state) {
    (void)game;
    return ((const connect4_state *)state)->result;
}

static int legal(const ff_game *game, const void *state, uint16_t *actions) {
    (void)game;
    const connect4_state *connect4 = state;
    if (connect4->result != FF_GOING_ON) return 0;
    int count = 0;
    for (int column = 0; column < COLUMNS; column++)
        if (connect4->height[column] < ROWS) actions[count++] = (uint16_t)column;
    return count;
}

static int judge(const connect4_state *connect4) {
    if (ff_c4_has_four(connect4->pieces[!(connect4->plies & 1)])) return FF_MOVER_WON;
    return connect4->plies == CELLS ? FF_DRAWN : FF_GOING_ON;
}

static int play(const ff_game *game, void *state, int action) {
    (void)game;
    connect4_state *connect4 = state;
    connect4->pieces[connect4->plies & 1] |= bit_of(connect4->height[action]++, action);
    connect4->plies++;
    connect4->result = (uint8_t)judge(connect4);
    return connect4->result;
}

static void fill_planes(const ff_game *game, const void *state, float *planes) {
    (void)game;
    const connect4_state *connect4 = state;
    const uint64_t own = connect4->pieces[connect4->plies & 1];
    const uint64_t other = connect4->pieces[!(connect4->plies & 1)], stones = own | other;
    const uint64_t shown[PLANES] = {own, other, ff_c4_completing(own, stones),
                                    ff_c4_completing(other, stones)};
    for (int plane = 0; plane < PLANES; plane++)
        for (int row = 0; row < ROWS; row++)
            for (int column = 0; column < COLUMNS; column++)
                *planes++ = (float)(shown[plane] >> (column * COLUMN_BITS + row) & 1);
}

static int is_state(const ff_game *game, const void *state) {
    (void)game;
    static const uint8_t nothing[sizeof ((connect4_state *)0)->unused] = {0};
    const connect4_state *connect4 = state;
    const uint64_t first = connect4->pieces[0], second = connect4->pieces[1];
    const uint64_t stones = first | second;
    if (first & second || memcmp(connect4->unused, nothing, sizeof nothing)) return 0;
    uint64_t standing = 0; /* by the heights: no stone is above them, none below is missing */
    for (int column = 0; column < COLUMNS; column++) {
        if (connect4->height[column] > ROWS) return 0;
        standing |= bit_of(connect4->height[column], column) - bit_of(0, column);
    }
    const int plies = __builtin_popcountll(stones);
    if (stones != standing || connect4->plies != plies) return 0;
    if (__builtin_popcountll(second) != plies / 2) return 0;
    if (ff_c4_has_four(connect4->pieces[plies & 1])) return 0; /* over a move ago */
    return connect4->result == judge(connect4);
}

static void encode(const ff_game *game, const void *state, int8_t *code) {
    (void)game;
    const connect4_state *connect4 = state;
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++) {
            uint64_t bit = bit_of(row, column);
            code[row * COLUMNS + column] =
                (int8_t)(((connect4->pieces[0] & bit) != 0) - ((connect4->pieces[1] & bit) != 0));
        }
    code[CELLS] = (int8_t)(connect4->plies & 1);
}

static int decode(const ff_game *game, const int8_t *code, void *state) {
    (void)game;
    connect4_state connect4;
    memset(&connect4, 0, sizeof connect4);
    int balance = 0;
    for (int cell = 0; cell < CELLS; cell++) { /* by rows, the lowest first */
        const int row = cell / COLUMNS, column = cell % COLUMNS;
        if (code[cell] == 0) continue;
        if (code[cell] != 1 && code[cell] != -1) return FF_BAD_POSITION;
        if (connect4.height[column] != row) return FF_BAD_POSITION; /* it would fall */
        connect4.pieces[code[cell] < 0] |= bit_of(row, column);
        connect4.height[column]++;
        connect4.plies++;
        balance += code[cell];
    }
    if (balance != (connect4.plies & 1) || code[CELLS] != (connect4.plies & 1))
        return FF_BAD_POSITION;
    if (ff_c4_has_four(connect4.pieces[connect4.plies & 1])) return FF_BAD_POSITION;
    connect4.result = (uint8_t)judge(&connect4);
    memcpy(state, &connect4, sizeof connect4);
    return FF_OK;
}

int ff_connect4_init(ff_game *game) {
    ff_game_begin(game, "connect4");
    game->actions = COLUMNS;
    game->rows = ROWS;
    game->columns = COLUMNS;
    game->symmetries = 2; /* left and right */
    for (int cell = 0; cell < CELLS; cell++) {
        game->cell_image[0][cell] = (uint16_t)cell;
        game->cell_image[1][cell] =
            (uint16_t)(cell / COLUMNS * COLUMNS + COLUMNS - 1 - cell % COLUMNS);
    }
    for (int column = 0; column < COLUMNS; column++) {
        game->action_image[0][column] = (uint16_t)column;
        game->action_image[1][column] = (uint16_t)(COLUMNS - 1 - column);
    }
    game->state_bytes = (int)sizeof(connect4_state);
    game->code_length = CELLS + 1;
    game->planes = PLANES;
    game->stone_planes = 2;
    game->max_plies = CELLS;
    game->typical_moves = COLUMNS;
    game->start = start;
    game->to_move = to_move;
    game->result = result;
    game->legal = legal;
    game->play = play;
    game->fill_planes = fill_planes;
    game->is_state = is_state;
    game->encode = encode;
    game->decode = decode;
    return FF_OK;
}
