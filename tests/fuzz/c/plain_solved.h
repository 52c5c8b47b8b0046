/* plain_solved.h -- a variant solved by plain retrograde analysis over its plain nodes.
 */
#ifndef FUZZ_PLAIN_SOLVED_H
#define FUZZ_PLAIN_SOLVED_H

#include "plain_nodes.h"

enum { PLAIN_MOVES = 9 };

/* Where a node's moves lead, and its value if the game is over or it cannot occur. */
typedef struct {
    uint32_t after[PLAIN_MOVES];
    uint8_t moves, by_lines;
} plain_moves;

typedef struct {
    plain_variant plain;
    plain_moves *moves; /* of each node */
} plain_graph;

static inline plain_moves plain_find_moves(const plain_variant *v, uint64_t number) {
    uint8_t cells[PLAIN_PIECES];
    const int pieces = plain_sequence(v, v->codes[number], cells);
    const plain_node node = plain_node_of(cells, pieces);
    plain_moves found = {.moves = 0};
    if (plain_has_line(v, node.mover, node.movers)) found.by_lines = 255;
    else if (plain_has_line(v, node.opponent, node.opponents)) found.by_lines = 1;
    for (int cell = 0; cell < v->n * v->n && !found.by_lines; cell++) {
        if (plain_owns(cells, pieces, cell)) continue;
        const plain_node after = plain_play(v, &node, cell);
        found.after[found.moves++] = (uint32_t)plain_number(v, &after);
    }
    return found;
}

/* Of a board of 3 x 3. */
static inline plain_graph plain_graph_of(int n, int m, int k) {
    plain_graph graph = {.plain = plain_variant_of(n, m, k)};
    EXPECT(n * n <= PLAIN_MOVES);
    graph.moves = malloc(sizeof *graph.moves * graph.plain.count);
    for (uint64_t node = 0; node < graph.plain.count; node++)
        graph.moves[node] = plain_find_moves(&graph.plain, node);
    return graph;
}

/* The value by the values of the moves, as values.h states it; 0 if it is not known. */
static inline uint8_t plain_value(const plain_graph *g, const uint8_t *table, uint64_t number) {
    const plain_moves *moves = &g->moves[number];
    if (moves->by_lines) return moves->by_lines;
    int wins = 0, soonest_loss = 255, latest_win = 0;
    for (int i = 0; i < moves->moves; i++) {
        const int value = table[moves->after[i]];
        if (value % 2 && value < soonest_loss) soonest_loss = value;
        if (value && value % 2 == 0) wins++;
        if (value % 2 == 0 && value > latest_win) latest_win = value;
    }
    if (soonest_loss < 255) return (uint8_t)(soonest_loss + 1);
    return wins == moves->moves ? (uint8_t)(latest_win + 1) : 0;
}

/* Depth by depth: what follows from the depths before is never revised. */
static inline void plain_solve(const plain_graph *g, uint8_t *table) {
    const uint64_t count = g->plain.count;
    uint8_t *next = malloc(count);
    memset(table, 0, count);
    for (int depth = 0, settled = 1; settled; depth++) {
        settled = 0;
        memcpy(next, table, count);
        for (uint64_t number = 0; number < count; number++) {
            if (table[number]) continue;
            const uint8_t value = plain_value(g, table, number);
            if (value != 255 && value != depth + 1) continue;
            next[number] = value;
            settled = 1;
        }
        memcpy(table, next, count);
    }
    free(next);
}

#endif
