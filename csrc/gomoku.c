/* gomoku.c -- free-style Gomoku: five or more in a row win, nothing is forbidden.
 *
 * A byte per cell: 0 empty, 1 the first player's, 2 the second's.  A state is
 * as long as its board needs.
 */
#include <stdio.h>
#include <string.h>

#include "game.h"

enum { LARGEST = 19, TO_WIN = 5 };

typedef struct {
    uint16_t plies; /* its lowest bit is the side to move */
    uint8_t result;
    uint8_t unused; /* stays 0: states are compared as bytes */
    uint8_t cell[LARGEST * LARGEST + 3]; /* of which the board's are used; the rest is 0 */
} gomoku_state;

_Static_assert(sizeof(gomoku_state) == 368, "the largest board's state, in words of 8");

static int to_move(const ff_game *game, const void *state) {
    (void)game;
    return ((const gomoku_state *)state)->plies & 1;
}

static int result(const ff_game *game, const void *state) {
    (void)game;
    return ((const gomoku_state *)state)->result;
}

static void start(const ff_game *game, void *state) {
    memset(state, 0, (size_t)game->state_bytes);
}

static int legal(const ff_game *game, const void *state, uint16_t *actions) {
    const gomoku_state *gomoku = state;
    if (gomoku->result != FF_GOING_ON) return 0;
    int count = 0;
    for (int cell = 0; cell < game->actions; cell++)
        if (!gomoku->cell[cell]) actions[count++] = (uint16_t)cell;
    return count;
}

/* How many pieces of one player follow each other from (row, column) in one direction. */
static int run_length(const gomoku_state *gomoku, int size, int row, int column, int down,
                      int right) {
    const int owner = gomoku->cell[row * size + column];
    int length = 0;
    while (row >= 0 && row < size && column >= 0 && column < size &&
           gomoku->cell[row * size + column] == owner) {
        length++;
        row += down;
        column += right;
    }
    return length;
}

static int is_in_five(const gomoku_state *gomoku, int size, int cell) {
    static const int directions[4][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
    const int row = cell / size, column = cell % size;
    for (int i = 0; i < 4; i++) {
        const int down = directions[i][0], right = directions[i][1];
        if (run_length(gomoku, size, row, column, down, right) +
                run_length(gomoku, size, row, column, -down, -right) - 1 >= TO_WIN)
            return 1;
    }
    return 0;
}

/* The stones of both players, row by row: bit c of row[side][r] for column c. */
typedef struct {
    uint32_t row[2][LARGEST];
    int stones[2];
} gomoku_rows;

/* Returns 0 if a byte is none of 0, 1, 2. */
static int read_rows(const gomoku_state *gomoku, int size, gomoku_rows *rows) {
    unsigned other = 0;
    rows->stones[0] = rows->stones[1] = 0;
    for (int r = 0; r < size; r++) {
        uint32_t first = 0, second = 0;
        for (int c = 0; c < size; c++) {
            const unsigned stone = gomoku->cell[r * size + c];
            first |= (uint32_t)(stone == 1) << c;
            second |= (uint32_t)(stone == 2) << c;
            other |= stone > 2;
        }
        rows->row[0][r] = first;
        rows->row[1][r] = second;
        rows->stones[0] += __builtin_popcount(first);
        rows->stones[1] += __builtin_popcount(second);
    }
    return !other;
}

static int has_five(const uint32_t *row, int size) {
    uint32_t five = 0; /* bit c: five in a row begin in column c */
    for (int r = 0; r < size; r++)
        five |= row[r] & row[r] >> 1 & row[r] >> 2 & row[r] >> 3 & row[r] >> 4;
    for (int r = 0; r + TO_WIN <= size; r++, row++) {
        five |= row[0] & row[1] & row[2] & row[3] & row[4];
        five |= row[0] & row[1] >> 1 & row[2] >> 2 & row[3] >> 3 & row[4] >> 4;
        five |= row[0] & row[1] << 1 & row[2] << 2 & row[3] << 3 & row[4] << 4;
    }
    return five != 0;
}

/* The result of these stones, or FF_BAD_POSITION if no game leads to them. */
static int judge_rows(const ff_game *game, const gomoku_rows *rows) {
    const int plies = rows->stones[0] + rows->stones[1], side = plies & 1;
    if (rows->stones[1] != plies / 2) return FF_BAD_POSITION;
    if (has_five(rows->row[side], game->rows)) return FF_BAD_POSITION; /* over a move ago */
    if (has_five(rows->row[!side], game->rows)) return FF_MOVER_WON;
    return plies == game->actions ? FF_DRAWN : FF_GOING_ON;
}

static int play(const ff_game *game, void *state, int action) {
    gomoku_state *gomoku = state;
    gomoku->cell[action] = (uint8_t)(1 + (gomoku->plies & 1));
    gomoku->plies++;
    if (is_in_five(gomoku, game->rows, action)) gomoku->result = FF_MOVER_WON;
    else if (gomoku->plies == game->actions) gomoku->result = FF_DRAWN;
    return gomoku->result;
}

/* Bits of one row of the board; a row beyond the edge has none. */
static uint32_t bits_of(const uint32_t *row, int size, int r, int shift) {
    if (r < 0 || r >= size) return 0;
    return shift < 0 ? row[r] << -shift : row[r] >> shift;
}

/* The empty cells x of row r that lie in a window of five without stones of the other side: with
 * four stones of `own` (x completes five), and with three (x makes a four). */
static void threats_in_row(const uint32_t *own, const uint32_t *empty, int size, int r,
                           uint32_t *completing, uint32_t *fours) {
    static const int directions[4][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
    *completing = *fours = 0;
    for (int i = 0; i < 4; i++) {
        const int down = directions[i][0], right = directions[i][1];
        uint32_t ours[2 * TO_WIN - 1], free[2 * TO_WIN - 1]; /* the cells around x, itself TO_WIN - 1 */
        for (int j = 0; j < 2 * TO_WIN - 1; j++) {
            const int away = j - TO_WIN + 1;
            ours[j] = bits_of(own, size, r + away * down, away * right);
            free[j] = bits_of(empty, size, r + away * down, away * right);
        }
        for (int first = 0; first < TO_WIN; first++) { /* the window's first cell */
            uint32_t all = ~UINT32_C(0), but_one = 0;  /* of its other four */
            for (int j = first; j < first + TO_WIN; j++) {
                if (j == TO_WIN - 1) continue;
                but_one = (but_one & ours[j]) | (all & free[j]);
                all &= ours[j];
            }
            *completing |= all;
            *fours |= but_one;
        }
    }
    *completing &= empty[r];
    *fours &= empty[r];
}

static void show_row(const ff_game *game, uint32_t bits, int plane, int r, float *planes) {
    float *cell = planes + plane * game->actions + r * game->rows;
    for (int c = 0; c < game->rows; c++) cell[c] = (float)(bits >> c & 1);
}

static void fill_planes(const ff_game *game, const void *state, float *planes) {
    const gomoku_state *gomoku = state;
    const int size = game->rows, mover = gomoku->plies & 1;
    const uint32_t board = (UINT32_C(1) << size) - 1;
    gomoku_rows rows;
    uint32_t empty[LARGEST];
    read_rows(gomoku, size, &rows);
    for (int r = 0; r < size; r++) empty[r] = board & ~(rows.row[0][r] | rows.row[1][r]);
    for (int r = 0; r < size; r++)
        for (int whose = 0; whose < 2; whose++) {
            const uint32_t *own = rows.row[whose ? !mover : mover];
            uint32_t completing, fours;
            threats_in_row(own, empty, size, r, &completing, &fours);
            show_row(game, own[r], whose, r, planes);
            show_row(game, completing, 2 + whose, r, planes);
            show_row(game, fours, 4 + whose, r, planes);
        }
}

static int is_state(const ff_game *game, const void *state) {
    const gomoku_state *gomoku = state;
    const int room = game->state_bytes - (int)offsetof(gomoku_state, cell);
    gomoku_rows rows;
    if (gomoku->unused || !read_rows(gomoku, game->rows, &rows)) return 0;
    for (int i = game->actions; i < room; i++)
        if (gomoku->cell[i]) return 0;
    return gomoku->plies == rows.stones[0] + rows.stones[1] &&
           gomoku->result == judge_rows(game, &rows);
}

static void encode(const ff_game *game, const void *state, int8_t *code) {
    const gomoku_state *gomoku = state;
    for (int cell = 0; cell < game->actions; cell++)
        code[cell] = (int8_t)((gomoku->cell[cell] == 1) - (gomoku->cell[cell] == 2));
    code[game->actions] = (int8_t)(gomoku->plies & 1);
}

static int decode(const ff_game *game, const int8_t *code, void *state) {
    gomoku_state gomoku;
    memset(&gomoku, 0, sizeof gomoku);
    for (int cell = 0; cell < game->actions; cell++) {
        if (code[cell] < -1 || code[cell] > 1) return FF_BAD_POSITION;
        gomoku.cell[cell] = code[cell] < 0 ? 2 : (uint8_t)code[cell];
    }
    gomoku_rows rows;
    read_rows(&gomoku, game->rows, &rows);
    const int result = judge_rows(game, &rows);
    gomoku.plies = (uint16_t)(rows.stones[0] + rows.stones[1]);
    if (result == FF_BAD_POSITION || code[game->actions] != (gomoku.plies & 1))
        return FF_BAD_POSITION;
    gomoku.result = (uint8_t)result;
    memcpy(state, &gomoku, (size_t)game->state_bytes);
    return FF_OK;
}

int ff_gomoku_init(ff_game *game, int size) {
    if (size < 9 || size > LARGEST || size % 2 == 0 || size == 17) return FF_BAD_RULES;
    char name[sizeof game->name];
    snprintf(name, sizeof name, "gomoku-%d", size);
    ff_game_begin(game, name);
    ff_game_square(game, size);
    game->state_bytes = ((int)offsetof(gomoku_state, cell) + size * size + 7) / 8 * 8;
    game->code_length = size * size + 1;
    game->planes = 6;
    game->stone_planes = 2;
    game->max_plies = size * size;
    game->typical_moves = size * size;
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
