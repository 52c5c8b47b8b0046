#include "labels.h"

/* ---- moves ------------------------------------------------------------------ */

void ff_find_moves(const ff_index *index, const uint8_t *table, ff_labelled *item) {
    item->queues = ff_queues_of(item->cells, item->pieces);
    item->moves = 0;
    if (!ff_is_in_play(item->value)) return;
    item->moves = ff_successors(index, &item->queues, item->successor);
    /* Successors lie side by side: the first and the last show the row's memory. */
    __builtin_prefetch(table + item->successor[__builtin_ctz(item->moves)]);
    __builtin_prefetch(table + item->successor[31 - __builtin_clz(item->moves)]);
}

int ff_is_critical(const uint8_t *table, const ff_labelled *item) {
    const int result = ff_result(item->value);
    for (uint32_t rest = item->moves; rest; rest &= rest - 1)
        if (ff_result(table[item->successor[__builtin_ctz(rest)]]) != -result) return 1;
    return 0;
}

typedef struct {
    uint32_t legal, optimal, keeping;
} move_sets;

/* The moves by what they lead to, on the board shown; their values, if wanted. */
static move_sets weigh_moves(const uint8_t *table, const uint8_t *image, const ff_labelled *item,
                             uint8_t *move_values) {
    move_sets sets = {0, 0, 0};
    const int result = ff_result(item->value);
    int least = 256;
    for (uint32_t rest = item->moves; rest; rest &= rest - 1) {
        const int cell = __builtin_ctz(rest);
        const uint8_t value = table[item->successor[cell]];
        const uint32_t shown = ff_bit(image[cell]);
        const int merit = ff_merit(value);
        if (move_values) move_values[image[cell]] = value;
        sets.legal |= shown;
        if (ff_result(value) == -result) sets.keeping |= shown;
        if (merit < least) sets.optimal = 0;
        if (merit <= least) sets.optimal |= shown, least = merit;
    }
    return sets;
}

/* ---- what is shown of a position --------------------------------------------- */

static void show_pieces(const ff_rules *rules, const uint8_t *image, const ff_queues *queues,
                        uint8_t *pieces) {
    memset(pieces, rules->cells, (size_t)(2 * rules->m));
    uint8_t *mover = pieces + rules->m - queues->movers;
    for (int i = 0; i < queues->movers; i++) mover[i] = image[queues->mover[i]];
    uint8_t *opponent = pieces + 2 * rules->m - queues->opponents;
    for (int i = 0; i < queues->opponents; i++) opponent[i] = image[queues->opponent[i]];
}

static void show_position(const ff_rules *rules, const uint8_t *image, ff_queues queues,
                          uint64_t place, const ff_labels *labels) {
    const uint64_t m = (uint64_t)rules->m;
    for (int i = 0; i < queues.movers; i++) queues.mover[i] = image[queues.mover[i]];
    for (int i = 0; i < queues.opponents; i++) queues.opponent[i] = image[queues.opponent[i]];
    ff_write_position(rules, &queues, labels->x + place * m, labels->y + place * m,
                      labels->to_move + place);
}

static void fill_planes(const ff_rules *rules, const uint8_t *pieces, float *planes) {
    const int cells = rules->cells, count = 2 * rules->m;
    memset(planes, 0, (size_t)(count * cells) * sizeof *planes);
    for (int plane = 0; plane < count; plane++)
        if (pieces[plane] < cells) planes[plane * cells + pieces[plane]] = 1.0f;
}

static void fill_mask(const ff_rules *rules, uint32_t moves, uint8_t *mask) {
    for (int cell = 0; cell < rules->cells; cell++) mask[cell] = moves >> cell & 1;
}

static void fill_policy(const ff_rules *rules, uint32_t moves, float *policy) {
    float each = moves ? 1.0f / (float)__builtin_popcount(moves) : 0.0f;
    for (int cell = 0; cell < rules->cells; cell++) policy[cell] = moves >> cell & 1 ? each : 0.0f;
}

void ff_write_labels(const ff_index *index, const uint8_t *table, const ff_labelled *item,
                     uint64_t place, const ff_labels *labels) {
    const ff_rules *rules = &index->rules;
    const uint64_t cells = (uint64_t)rules->cells, planes = 2 * (uint64_t)rules->m;
    const uint8_t *image = index->symmetry.image[item->transform];
    uint8_t pieces[FF_MAX_PIECES];
    uint8_t *move_values = labels->move_values ? labels->move_values + place * cells : NULL;
    if (move_values) memset(move_values, FF_IMPOSSIBLE, cells);
    const move_sets sets = weigh_moves(table, image, item, move_values);
    show_pieces(rules, image, &item->queues, pieces);
    if (labels->nodes) labels->nodes[place] = item->node;
    if (labels->transforms) labels->transforms[place] = item->transform;
    if (labels->x) show_position(rules, image, item->queues, place, labels);
    if (labels->pieces) memcpy(labels->pieces + place * planes, pieces, planes);
    if (labels->planes) fill_planes(rules, pieces, labels->planes + place * planes * cells);
    if (labels->legal) fill_mask(rules, sets.legal, labels->legal + place * cells);
    if (labels->optimal) fill_mask(rules, sets.optimal, labels->optimal + place * cells);
    if (labels->keeping) fill_mask(rules, sets.keeping, labels->keeping + place * cells);
    if (labels->optimal_mask) labels->optimal_mask[place] = sets.optimal;
    if (labels->keeping_mask) labels->keeping_mask[place] = sets.keeping;
    if (labels->values) labels->values[place] = item->value;
    if (labels->policy)
        fill_policy(rules, labels->policy_keeps ? sets.keeping : sets.optimal,
                    labels->policy + place * cells);
}

/* ---- given nodes -------------------------------------------------------------- */

void ff_label_nodes(const ff_index *index, const uint8_t *table, const uint64_t *nodes,
                    const uint8_t *transforms, uint64_t count, const ff_labels *labels) {
    ff_labelled items[FF_LABELLED_TOGETHER];
    for (uint64_t first = 0; first < count; first += FF_LABELLED_TOGETHER) {
        const uint64_t left = count - first;
        const int together = left < FF_LABELLED_TOGETHER ? (int)left : FF_LABELLED_TOGETHER;
        for (int i = 0; i < together; i++) {
            items[i].node = nodes[first + (uint64_t)i];
            items[i].transform = transforms ? transforms[first + (uint64_t)i] : 0;
            __builtin_prefetch(table + items[i].node);
            items[i].pieces = ff_node_unrank(index, items[i].node, items[i].cells);
        }
        for (int i = 0; i < together; i++) {
            items[i].value = table[items[i].node];
            ff_find_moves(index, table, &items[i]);
        }
        for (int i = 0; i < together; i++)
            ff_write_labels(index, table, &items[i], first + (uint64_t)i, labels);
    }
}
