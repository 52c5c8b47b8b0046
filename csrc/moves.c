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

/* Orders values from the mover's point of view, higher is better: soonest win,
 * draw, latest loss. */
static int preference(int value) {
    if (value == FF_UNDECIDED) return 0;
    return value & 1 ? 256 - value : value - 256;
}

static int sign(int number) { return (number > 0) - (number < 0); }

void ff_label_moves(const ff_index *index, const uint8_t *table, const uint64_t *nodes,
                    uint64_t count, uint32_t *optimal, uint32_t *keeping) {
    for (uint64_t i = 0; i < count; i++) {
        optimal[i] = keeping[i] = 0;
        uint8_t value = table[nodes[i]];
        if (value == FF_FINISHED || value == FF_IMPOSSIBLE) continue;
        uint8_t cells[FF_MAX_PIECES];
        uint64_t successor[FF_MAX_CELLS];
        ff_queues node;
        int pieces = ff_slice_of(index, nodes[i]), best = -1000;
        ff_sequence_unrank(index, nodes[i] - index->slice_base[pieces], pieces, cells);
        ff_queues_of(cells, pieces, &node);
        uint32_t moves = ff_successors(index, &node, successor);
        for (uint32_t rest = moves; rest; rest &= rest - 1) {
            int liking = preference(table[successor[__builtin_ctz(rest)]]);
            best = liking > best ? liking : best;
        }
        for (uint32_t rest = moves; rest; rest &= rest - 1) {
            int cell = __builtin_ctz(rest), liking = preference(table[successor[cell]]);
            if (liking == best) optimal[i] |= ff_bit(cell);
            if (sign(liking) == sign(best)) keeping[i] |= ff_bit(cell);
        }
    }
}

int ff_move_values(const ff_index *index, const uint8_t *table, const int8_t *x,
                   const int8_t *y, int to_move, int16_t *values) {
    ff_queues node;
    uint8_t cells[FF_MAX_PIECES + 1];
    uint64_t successor[FF_MAX_CELLS];
    if (ff_read_position(index, x, y, to_move, &node) != FF_OK) return FF_BAD_POSITION;
    int pieces = ff_sequence(&node, cells);
    int value = table[index->slice_base[pieces] + ff_place_of(index, cells, pieces, pieces).rank];
    uint32_t moves = value == FF_FINISHED ? 0 : ff_successors(index, &node, successor);
    for (int cell = 0; cell < index->rules.cells; cell++)
        values[cell] = moves >> cell & 1 ? table[successor[cell]] : -1;
    return value;
}
