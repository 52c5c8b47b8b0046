#include "explore.h"

static uint8_t byte_of(const uint8_t *table, uint64_t node, ff_explored *explored) {
    if (explored->read) explored->read[explored->reads++] = node;
    return table[node];
}

/* The bytes after each move, by cell; returns the mask of moves, 0 once it is over. */
static uint32_t look(const ff_index *index, const uint8_t *table, const ff_queues *node,
                     uint8_t *after, ff_explored *explored) {
    uint64_t successor[FF_MAX_CELLS];
    if (ff_has_line(&index->rules, ff_cells_mask(node->opponent, node->opponents))) return 0;
    const uint32_t moves = ff_successors(index, node, successor);
    for (uint32_t rest = moves; rest; rest &= rest - 1) {
        const int cell = __builtin_ctz(rest);
        after[cell] = byte_of(table, successor[cell], explored);
    }
    return moves;
}

static ff_queues played(const ff_rules *rules, const ff_queues *node, int cell) {
    const int leaves = node->movers == rules->m;
    ff_queues next = {.movers = node->opponents, .opponents = node->movers - leaves + 1};
    memcpy(next.mover, node->opponent, sizeof next.mover);
    memcpy(next.opponent, node->mover + leaves, (size_t)(node->movers - leaves));
    next.opponent[next.opponents - 1] = (uint8_t)cell;
    return next;
}

/* The lowest of the best moves: they lead to the least merit. */
static int best_cell(uint32_t moves, const uint8_t *after) {
    int best = __builtin_ctz(moves);
    for (uint32_t rest = moves; rest; rest &= rest - 1) {
        const int cell = __builtin_ctz(rest);
        if (ff_merit(after[cell]) < ff_merit(after[best])) best = cell;
    }
    return best;
}

static int has_value_everywhere(uint32_t moves, const uint8_t *after) {
    for (uint32_t rest = moves; rest; rest &= rest - 1)
        if (after[__builtin_ctz(rest)] == FF_IMPOSSIBLE) return 0;
    return 1;
}

static int find_traps(const ff_index *index, const uint8_t *table, const ff_queues *node,
                      uint32_t moves, ff_explored *explored) {
    for (uint32_t rest = moves; rest; rest &= rest - 1) {
        const int cell = __builtin_ctz(rest), theirs = ff_result(explored->after[cell]);
        const ff_queues next = played(&index->rules, node, cell);
        uint8_t after[FF_MAX_CELLS];
        const uint32_t replies = look(index, table, &next, after, explored);
        if (!has_value_everywhere(replies, after)) return FF_BAD_RECORD;
        explored->replies[cell] = (uint8_t)__builtin_popcount(replies);
        explored->losing[cell] = 0;
        for (uint32_t left = replies; left; left &= left - 1)
            explored->losing[cell] += -ff_result(after[__builtin_ctz(left)]) < theirs;
    }
    return FF_OK;
}

static int comes_before(const ff_explored *explored, int cell, int other) {
    const int merit = ff_merit(explored->after[cell]), others = ff_merit(explored->after[other]);
    if (merit != others) return merit < others;
    return explored->losing[cell] > explored->losing[other];
}

/* Puts the moves in order, one after the other; the lowest cell is the first to come. */
static void put_in_order(uint32_t moves, ff_explored *explored) {
    explored->count = 0;
    for (uint32_t rest = moves; rest; rest &= rest - 1) {
        const int cell = __builtin_ctz(rest);
        int place = explored->count++;
        for (; place && comes_before(explored, cell, explored->order[place - 1]); place--)
            explored->order[place] = explored->order[place - 1];
        explored->order[place] = (uint8_t)cell;
    }
}

static int follow(const ff_index *index, const uint8_t *table, ff_queues node, uint32_t moves,
                  int longest, ff_explored *explored) {
    uint8_t after[FF_MAX_CELLS];
    memcpy(after, explored->after, sizeof after);
    for (explored->plies = 0; moves && explored->plies < longest; explored->plies++) {
        const int cell = best_cell(moves, after);
        explored->line[explored->plies] = (uint8_t)cell;
        if (explored->plies + 1 == longest) continue;
        node = played(&index->rules, &node, cell);
        moves = look(index, table, &node, after, explored);
        if (!has_value_everywhere(moves, after)) return FF_BAD_RECORD;
    }
    return FF_OK;
}

int ff_explore(const ff_index *index, const uint8_t *table, const int8_t *x, const int8_t *y,
               int to_move, int longest, int longest_drawn, ff_explored *explored) {
    ff_queues node;
    uint8_t cells[FF_MAX_PIECES + 1];
    const int status = ff_read_position(index, x, y, to_move, &node);
    if (status != FF_OK) return status;
    const int pieces = ff_sequence(&node, cells);
    const ff_place place = ff_place_of(index, cells, pieces, pieces);
    explored->reads = 0;
    explored->transform = place.transform;
    explored->value = byte_of(table, index->slice_base[pieces] + place.rank, explored);
    const uint32_t moves = look(index, table, &node, explored->after, explored);
    if (explored->value == FF_IMPOSSIBLE || !has_value_everywhere(moves, explored->after) ||
        find_traps(index, table, &node, moves, explored) != FF_OK)
        return FF_BAD_RECORD;
    put_in_order(moves, explored);
    if (explored->value == FF_UNDECIDED) longest = longest_drawn;
    return follow(index, table, node, moves, longest, explored);
}
