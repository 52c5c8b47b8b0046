#include "moves.h"

/* After the move the mover's queue is the opponent's: the same row for every
 * choice of cell, only the newest piece differs. */
static int row_after_move(const ff_rules *rules, const ff_queues *node, uint8_t *cells) {
    ff_queues next;
    int leaves = node->movers == rules->m;
    next.movers = node->opponents;
    memcpy(next.mover, node->opponent, sizeof next.mover);
    next.opponents = node->movers - leaves + 1;
    memcpy(next.opponent, node->mover + leaves, (size_t)(node->movers - leaves));
    next.opponent[next.opponents - 1] = 0; /* the new piece, to be filled in */
    return ff_sequence(&next, cells);
}

uint32_t ff_successors(const ff_index *index, const ff_queues *node, uint64_t *successor) {
    uint8_t cells[FF_MAX_PIECES + 1];
    const int board = index->rules.cells;
    uint32_t occupied = ff_cells_mask(node->mover, node->movers) |
                        ff_cells_mask(node->opponent, node->opponents);
    uint32_t moves = ~occupied & (uint32_t)((UINT64_C(1) << board) - 1);
    int pieces = row_after_move(&index->rules, node, cells);
    uint64_t base = index->slice_base[pieces];
    ff_place row = ff_place_of(index, cells, pieces - 1, pieces);
    if (row.stabiliser == FF_IDENTITY_ONLY) {
        const uint8_t *image = index->symmetry.image[row.transform];
        uint32_t used = 0;
        for (int i = 0; i + 1 < pieces; i++) used |= ff_bit(image[cells[i]]);
        for (uint32_t rest = moves; rest; rest &= rest - 1) {
            int cell = __builtin_ctz(rest);
            successor[cell] = base + row.rank + (uint64_t)ff_digit(used, image[cell]);
        }
    } else {
        for (uint32_t rest = moves; rest; rest &= rest - 1) {
            int cell = __builtin_ctz(rest);
            cells[pieces - 1] = (uint8_t)cell;
            successor[cell] = base + ff_place_of(index, cells, pieces, pieces).rank;
        }
    }
    return moves;
}
