/* table.c -- whatever a table holds: the audit, labels and positions looked up in it.
 *
 * A solved table with any bytes changed.  The audit finds nothing wrong exactly if the
 * table is the one that plain retrograde analysis gives, and counts every node right or
 * wrong once.  Labels say what the bytes say.  Arrays of positions are taken exactly if
 * the plain rules have them, and lead to the node of the plain list.
 */
#include "plain_solved.h"

#include "audit.h"
#include "labels.h"

enum { VARIANTS = 2, MOST_PATCHES = 24, MOST_POSITIONS = 8, CELLS = 9 };

static const int RULES[VARIANTS][3] = {{3, 2, 2}, {3, 2, 3}};

typedef struct {
    plain_graph graph;
    ff_index index;
    ff_audit *audits; /* of each slice */
    uint8_t *solved, *table;
} variant;

static int slices(const variant *v) { return 2 * v->graph.plain.m + 1; }

static ff_audit_count audit(const variant *v) {
    ff_audit_count count = {.wrong = 0};
    for (int slice = 0; slice < slices(v); slice++) {
        ff_work work = {0, v->audits[slice].items, 1};
        ff_audit_slice(&v->audits[slice], v->table, &work, &count);
    }
    return count;
}

static variant *variant_of(int number) {
    static variant made[VARIANTS];
    variant *v = &made[number];
    if (v->graph.plain.codes) return v;
    const int n = RULES[number][0], m = RULES[number][1], k = RULES[number][2];
    v->graph = plain_graph_of(n, m, k);
    EXPECT(ff_index_init(&v->index, n, m, k) == FF_OK);
    v->audits = malloc(sizeof *v->audits * (size_t)slices(v));
    for (int slice = 0; slice < slices(v); slice++)
        EXPECT(ff_audit_init(&v->audits[slice], n, m, k, slice) == FF_OK);
    v->solved = malloc(v->graph.plain.count);
    v->table = malloc(v->graph.plain.count);
    plain_solve(&v->graph, v->solved);
    memcpy(v->table, v->solved, v->graph.plain.count);
    EXPECT(audit(v).wrong == 0);
    return v;
}

/* ---- the laws ------------------------------------------------------------------ */

/* What a node should be is defined unless a move leads to a byte that says impossible, or
 * to a depth beyond the last; such a byte is wrong itself. */
static int is_defined(const variant *v, uint64_t number) {
    const plain_moves *moves = &v->graph.moves[number];
    for (int i = 0; i < moves->moves; i++)
        if (v->table[moves->after[i]] >= 254) return 0;
    return 1;
}

static void check_audit(const variant *v) {
    const ff_audit_count count = audit(v);
    uint64_t right = 0, wrong = 0, undefined = 0, all = count.wrong;
    for (uint64_t number = 0; number < v->graph.plain.count; number++) {
        if (!is_defined(v, number)) undefined++;
        else if (v->table[number] == plain_value(&v->graph, v->table, number)) right++;
        else wrong++;
    }
    for (int value = 0; value < 256; value++) all += count.right[value];
    EXPECT(all == v->graph.plain.count);
    EXPECT(count.wrong >= wrong && count.wrong <= wrong + undefined);
    EXPECT((count.wrong == 0) == !memcmp(v->table, v->solved, v->graph.plain.count));
    for (uint64_t i = 0; i < count.wrong && i < FF_AUDIT_SHOWN; i++) {
        const uint64_t number = count.wrong_node[i];
        EXPECT(number < v->graph.plain.count);
        if (is_defined(v, number))
            EXPECT(count.expected[i] == plain_value(&v->graph, v->table, number));
    }
}

static void check_labels(const variant *v, fuzz_input *input) {
    enum { ROOM = MOST_POSITIONS * CELLS };
    uint64_t nodes[MOST_POSITIONS];
    uint8_t values[MOST_POSITIONS], legal[ROOM], move_values[ROOM], optimal[ROOM], keeping[ROOM];
    float policy[ROOM];
    for (int i = 0; i < MOST_POSITIONS; i++) nodes[i] = fuzz_below(input, v->graph.plain.count);
    const ff_labels labels = {.values = values, .legal = legal, .move_values = move_values,
                              .optimal = optimal, .keeping = keeping, .policy = policy,
                              .policy_keeps = fuzz_byte(input) & 1};
    ff_label_nodes(&v->index, v->table, nodes, NULL, MOST_POSITIONS, &labels);
    for (int i = 0; i < MOST_POSITIONS; i++) {
        uint8_t at[PLAIN_PIECES];
        const int pieces = plain_sequence(&v->graph.plain, v->graph.plain.codes[nodes[i]], at);
        const int in_play = values[i] != 1 && values[i] != 255;
        int moves = 0;
        EXPECT(values[i] == v->table[nodes[i]]);
        for (int cell = 0; cell < CELLS; cell++) {
            const int place = i * CELLS + cell, is_empty = !plain_owns(at, pieces, cell);
            EXPECT(legal[place] == (in_play && is_empty));
            EXPECT(optimal[place] <= legal[place] && keeping[place] <= legal[place]);
            EXPECT(policy[place] >= 0 && policy[place] <= 1);
            if (legal[place] && !v->graph.moves[nodes[i]].by_lines)
                EXPECT(move_values[place] == v->table[v->graph.moves[nodes[i]].after[moves++]]);
        }
    }
}

static void check_positions(const variant *v, fuzz_input *input) {
    const plain_variant *plain = &v->graph.plain;
    const int m = plain->m, any = fuzz_byte(input) & 1;
    int8_t x[5], y[5], side = (int8_t)fuzz_byte(input);
    for (int i = 0; i < m; i++) { /* cells about the board's, or any bytes */
        x[i] = (int8_t)fuzz_byte(input);
        y[i] = (int8_t)fuzz_byte(input);
        if (!any) x[i] = (int8_t)(x[i] % 12 - 1), y[i] = (int8_t)(y[i] % 12 - 1);
    }
    if (!any) side &= 1;
    plain_node node = {.movers = 0};
    int is_position = side == 0 || side == 1, gap[2] = {0, 0};
    for (int i = 0; i < m; i++)
        for (int owner = 0; owner < 2; owner++) {
            const int cell = (owner ? y : x)[i], is_mover = owner == side;
            gap[owner] |= cell == -1;
            if (cell == -1) continue;
            is_position &= !gap[owner] && cell >= 0 && cell < plain->n * plain->n;
            is_position &= !plain_owns(node.mover, node.movers, cell);
            is_position &= !plain_owns(node.opponent, node.opponents, cell);
            if (is_mover) node.mover[node.movers++] = (uint8_t)cell;
            else node.opponent[node.opponents++] = (uint8_t)cell;
        }
    const int full = node.movers == m && node.opponents == m;
    is_position &= full || node.opponents - node.movers == side;
    is_position &= !plain_has_line(plain, node.mover, node.movers);
    uint64_t number;
    uint8_t transform;
    EXPECT(ff_find_nodes(&v->index, x, y, &side, 1, &number, &transform) == (uint64_t)is_position);
    if (!is_position) return;
    EXPECT(number == plain_number(plain, &node) && transform < 8);
    int8_t again_x[5], again_y[5], again_side;
    uint64_t code;
    ff_look_up_codes(&v->index, &number, 1, &code);
    EXPECT(code == plain->codes[number]);
    ff_look_up_positions(&v->index, &number, 1, again_x, again_y, &again_side);
    EXPECT(ff_find_nodes(&v->index, again_x, again_y, &again_side, 1, &number, &transform) == 1);
    EXPECT(plain->codes[number] == code && (full || again_side == side));
    fuzz_accept();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input input = fuzz_begin(data, size);
    variant *v = variant_of((int)fuzz_below(&input, VARIANTS));
    memcpy(v->table, v->solved, v->graph.plain.count);
    check_positions(v, &input);
    fuzz_input nodes = input;
    for (int i = 0; i < MOST_PATCHES && input.size; i++) {
        const uint64_t number = fuzz_below(&input, v->graph.plain.count);
        v->table[number] = fuzz_byte(&input);
    }
    check_labels(v, &nodes);
    check_audit(v);
    return 0;
}
