/* drop_oldest.c -- D(n, m, k) as a game; rules.h states its rules.
 *
 * The state keeps queues for whose turn it is to lose a piece, and masks for
 * lines and empty cells: bit c of mask[side] is set iff c is in queue[side].
 */
#include "drop_oldest.h"

#include <stdio.h>
#include <string.h>

#include "nodes.h"

typedef struct {
    uint32_t mask[2];
    uint8_t queue[2][FF_MAX_M]; /* cells, oldest first; 0 where there is no piece */
    uint8_t pieces[2];
    uint8_t to_move;
    uint8_t result;
} drop_state;

_Static_assert(sizeof(drop_state) == 24, "no hidden padding");
_Static_assert(sizeof(ff_rules) <= sizeof ((ff_game *)0)->own, "the rules fit into the game");

static const ff_rules *rules_of(const ff_game *game) { return (const ff_rules *)game->own; }

static void start(const ff_game *game, void *state) {
    (void)game;
    memset(state, 0, sizeof(drop_state));
}

static int to_move(const ff_game *game, const void *state) {
    (void)game;
    return ((const drop_state *)state)->to_move;
}

static int result(const ff_game *game, const void *state) {
    (void)game;
    return ((const drop_state *)state)->result;
}

static int legal(const ff_game *game, const void *state, uint16_t *actions) {
    const drop_state *drop = state;
    if (drop->result != FF_GOING_ON) return 0;
    uint32_t empty = ~(drop->mask[0] | drop->mask[1]) & (ff_bit(rules_of(game)->cells) - 1);
    int count = 0;
    for (; empty; empty &= empty - 1) actions[count++] = (uint16_t)__builtin_ctz(empty);
    return count;
}

static void remove_oldest(drop_state *drop, int side) {
    uint8_t *queue = drop->queue[side];
    drop->mask[side] &= ~ff_bit(queue[0]);
    int left = --drop->pieces[side];
    for (int i = 0; i < left; i++) queue[i] = queue[i + 1];
    queue[left] = 0;
}

static int play(const ff_game *game, void *state, int action) {
    drop_state *drop = state;
    const ff_rules *rules = rules_of(game);
    const int side = drop->to_move;
    if (drop->pieces[side] == rules->m) remove_oldest(drop, side);
    drop->queue[side][drop->pieces[side]++] = (uint8_t)action;
    drop->mask[side] |= ff_bit(action);
    drop->to_move = (uint8_t)!side;
    drop->result = ff_has_line(rules, drop->mask[side]) ? FF_MOVER_WON : FF_GOING_ON;
    return drop->result;
}

static void fill_planes(const ff_game *game, const void *state, float *planes) {
    const drop_state *drop = state;
    const int m = rules_of(game)->m, cells = rules_of(game)->cells;
    memset(planes, 0, ff_plane_floats(game) * sizeof *planes);
    for (int opponent = 0; opponent < 2; opponent++) {
        const int side = drop->to_move ^ opponent, pieces = drop->pieces[side];
        for (int i = 0; i < pieces; i++) {
            int moves_left = m - pieces + i; /* before the move that removes it */
            planes[(opponent * m + moves_left) * cells + drop->queue[side][i]] = 1.0f;
        }
    }
}

/* The cells of a queue, or every bit if these rules have no such queue.  No
 * branches: the contents are unpredictable. */
static uint32_t cells_of_queue(const ff_rules *rules, const uint8_t *queue, int pieces) {
    uint32_t cells = 0, wrong = 0;
    for (int i = 0; i < FF_MAX_M; i++) {
        const uint32_t is_piece = i < pieces, bit = is_piece << (queue[i] & 31);
        wrong |= is_piece ? queue[i] >= rules->cells : queue[i] != 0;
        wrong |= (cells & bit) != 0;
        cells |= bit;
    }
    return wrong ? ~UINT32_C(0) : cells;
}

static int is_state(const ff_game *game, const void *state) {
    const drop_state *drop = state;
    const ff_rules *rules = rules_of(game);
    const int side = drop->to_move, m = rules->m, x = drop->pieces[0], y = drop->pieces[1];
    if (side > 1 || x > m || y > m) return 0;
    if (x - y != side && !(x == m && y == m)) return 0;
    const uint32_t x_cells = cells_of_queue(rules, drop->queue[0], x);
    const uint32_t y_cells = cells_of_queue(rules, drop->queue[1], y);
    if (x_cells != drop->mask[0] || y_cells != drop->mask[1]) return 0;
    if (x_cells & y_cells || (x_cells | y_cells) >> rules->cells) return 0;
    uint32_t line[2] = {0, 0};
    for (int i = 0; i < rules->line_count; i++) {
        line[0] |= (rules->lines[i] & ~x_cells) == 0;
        line[1] |= (rules->lines[i] & ~y_cells) == 0;
    }
    return !line[side] && drop->result == (line[!side] ? FF_MOVER_WON : FF_GOING_ON);
}

static void encode(const ff_game *game, const void *state, int8_t *code) {
    const drop_state *drop = state;
    const int m = rules_of(game)->m;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < m; i++)
            code[side * m + i] = i < drop->pieces[side] ? (int8_t)drop->queue[side][i] : -1;
    code[2 * m] = (int8_t)drop->to_move;
}

static int read_queue(const ff_rules *rules, const int8_t *code, drop_state *drop, int side) {
    int pieces = 0;
    while (pieces < rules->m && code[pieces] != -1) {
        int cell = code[pieces];
        if (cell < 0 || cell >= rules->cells) return FF_BAD_POSITION;
        if ((drop->mask[0] | drop->mask[1]) & ff_bit(cell)) return FF_BAD_POSITION;
        drop->mask[side] |= ff_bit(cell);
        drop->queue[side][pieces++] = (uint8_t)cell;
    }
    drop->pieces[side] = (uint8_t)pieces;
    for (int i = pieces; i < rules->m; i++)
        if (code[i] != -1) return FF_BAD_POSITION;
    return FF_OK;
}

/* The queues are in place: whose move is it, and is the game over? */
static int finish_state(const ff_rules *rules, drop_state *drop, int side) {
    if (ff_has_line(rules, drop->mask[side])) return FF_BAD_POSITION; /* over a move ago */
    drop->to_move = (uint8_t)side;
    drop->result = ff_has_line(rules, drop->mask[!side]) ? FF_MOVER_WON : FF_GOING_ON;
    return FF_OK;
}

static int decode(const ff_game *game, const int8_t *code, void *state) {
    const ff_rules *rules = rules_of(game);
    drop_state drop;
    memset(&drop, 0, sizeof drop);
    if (read_queue(rules, code, &drop, 0) || read_queue(rules, code + rules->m, &drop, 1))
        return FF_BAD_POSITION;
    const int side = code[2 * rules->m], x = drop.pieces[0], y = drop.pieces[1];
    if (side != 0 && side != 1) return FF_BAD_POSITION;
    if (x - y != side && !(x == rules->m && y == rules->m)) return FF_BAD_POSITION;
    if (finish_state(rules, &drop, side)) return FF_BAD_POSITION;
    memcpy(state, &drop, sizeof drop);
    return FF_OK;
}

static void place_queue(drop_state *drop, int side, const uint8_t *queue, int pieces) {
    for (int i = 0; i < pieces; i++) drop->queue[side][i] = queue[i];
    drop->pieces[side] = (uint8_t)pieces;
    drop->mask[side] = ff_cells_mask(queue, pieces);
}

uint64_t ff_drop_oldest_states(const ff_game *game, const ff_index *index, const uint64_t *nodes,
                               uint64_t count, uint8_t *states) {
    for (uint64_t i = 0; i < count; i++) {
        uint8_t cells[FF_MAX_PIECES];
        const int pieces = ff_node_unrank(index, nodes[i], cells), side = pieces % 2;
        const ff_queues node = ff_queues_of(cells, pieces);
        drop_state drop;
        memset(&drop, 0, sizeof drop);
        place_queue(&drop, side, node.mover, node.movers);
        place_queue(&drop, !side, node.opponent, node.opponents);
        if (finish_state(rules_of(game), &drop, side)) return i;
        memcpy(states + i * sizeof drop, &drop, sizeof drop);
    }
    return count;
}

int ff_drop_oldest_init(ff_game *game, int n, int m, int k) {
    ff_rules rules;
    int failed = ff_rules_init(&rules, n, m, k);
    if (failed) return failed;
    char name[sizeof game->name];
    snprintf(name, sizeof name, "drop-%d-%d-%d", n, m, k);
    ff_game_begin(game, name);
    ff_game_square(game, n);
    memcpy(game->own, &rules, sizeof rules);
    game->state_bytes = (int)sizeof(drop_state);
    game->code_length = 2 * m + 1;
    game->planes = 2 * m;
    game->stone_planes = game->planes;
    game->max_plies = 100; /* play can be endless; wins are far shorter than this */
    game->typical_moves = n * n - 2 * m;
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
