/* gomoku_board.c -- see gomoku_board.h. */
#include "gomoku_board.h"

#include <string.h>

enum { TO_WIN = 5 };

/* Bits that depend on every bit of (side, cell): the finaliser of splitmix64. */
static uint64_t mixed(int side, int cell) {
    uint64_t x = ((uint64_t)(cell * 2 + side) + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void add_window(ff_gomoku_board *board, int first, int step) {
    const int window = board->windows++;
    for (int i = 0; i < TO_WIN; i++) {
        const int cell = first + i * step;
        board->window_cell[window][i] = (uint16_t)cell;
        board->cell_window[cell][board->cell_windows[cell]++] = (uint16_t)window;
    }
}

int ff_gomoku_board_init(ff_gomoku_board *board, int size) {
    if (size < FF_GOMOKU_SMALLEST || size > FF_GOMOKU_LARGEST) return FF_BAD_RULES;
    memset(board, 0, sizeof *board);
    board->size = size;
    board->cells = board->empty = size * size;
    for (int row = 0; row < size; row++)
        for (int column = 0; column < size; column++) {
            const int cell = row * size + column;
            const int right = column + TO_WIN <= size, up = row + TO_WIN <= size;
            if (right) add_window(board, cell, 1);
            if (up) add_window(board, cell, size);
            if (right && up) add_window(board, cell, size + 1);
            if (up && column >= TO_WIN - 1) add_window(board, cell, size - 1);
        }
    board->words = (board->windows + 63) / 64;
    return FF_OK;
}

static inline void toggle(uint64_t *set, int window) {
    set[window / 64] ^= (uint64_t)1 << window % 64;
}

static void toggle_stone(ff_gomoku_board *board, int side, int cell) {
    board->bits[side][cell / 64] ^= (uint64_t)1 << cell % 64;
    board->hash ^= mixed(side, cell);
}

void ff_gomoku_place(ff_gomoku_board *board, int side, int cell) {
    board->stone[cell] = (uint8_t)(1 + side);
    board->empty--;
    toggle_stone(board, side, cell);
    for (int i = 0; i < board->cell_windows[cell]; i++) {
        const int window = board->cell_window[cell][i];
        const int own = board->count[side][window]++, others = board->count[!side][window];
        if (!others) {
            toggle(board->level[side][own], window);
            toggle(board->level[side][own + 1], window);
        } else if (!own) { /* the other side's until now */
            toggle(board->level[!side][others], window);
        }
    }
}

void ff_gomoku_take(ff_gomoku_board *board, int side, int cell) {
    board->stone[cell] = 0;
    board->empty++;
    toggle_stone(board, side, cell);
    for (int i = 0; i < board->cell_windows[cell]; i++) {
        const int window = board->cell_window[cell][i];
        const int own = --board->count[side][window], others = board->count[!side][window];
        if (!others) {
            toggle(board->level[side][own], window);
            toggle(board->level[side][own + 1], window);
        } else if (!own) {
            toggle(board->level[!side][others], window);
        }
    }
}

int ff_gomoku_any(const ff_gomoku_board *board, int side, int level) {
    uint64_t any = 0;
    for (int word = 0; word < board->words; word++) any |= board->level[side][level][word];
    return any != 0;
}

void ff_gomoku_empty_cells(const ff_gomoku_board *board, int window, uint16_t *cell) {
    for (int i = 0, count = 0; i < TO_WIN; i++) {
        const uint16_t at = board->window_cell[window][i];
        if (!board->stone[at]) cell[count++] = at;
    }
}

int ff_gomoku_completing(const ff_gomoku_board *board, int side, int cell[2]) {
    int count = 0;
    FF_GOMOKU_EACH(window, board->level[side][TO_WIN - 1], board->words) {
        uint16_t empty[TO_WIN];
        ff_gomoku_empty_cells(board, window, empty);
        if (count && empty[0] == cell[0]) continue;
        cell[count++] = empty[0];
        if (count == 2) return 2;
    }
    return count;
}

static void add_partner(ff_gomoku_partners *partners, uint16_t cell, uint16_t partner) {
    uint16_t *known = partners->partner[cell];
    const int count = partners->count[cell];
    if (count == 3 || (count > 0 && known[0] == partner) || (count > 1 && known[1] == partner))
        return;
    if (count < 2) known[count] = partner;
    if (count == 0) partners->cell[partners->cells++] = cell;
    partners->count[cell]++;
}

void ff_gomoku_find_partners(const ff_gomoku_board *board, int side,
                             ff_gomoku_partners *partners) {
    memset(partners->count, 0, sizeof partners->count);
    partners->cells = 0;
    FF_GOMOKU_EACH(window, board->level[side][TO_WIN - 2], board->words) {
        uint16_t empty[TO_WIN];
        ff_gomoku_empty_cells(board, window, empty);
        add_partner(partners, empty[0], empty[1]);
        add_partner(partners, empty[1], empty[0]);
    }
}
