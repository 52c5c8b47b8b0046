#include "sampler.h"

#ifdef __BMI2__
#include <immintrin.h>
#endif

#include "random.h"

/* Items are taken through the stages together: while one waits for the table's
 * memory, the next is computed. */
enum { TOGETHER = 32 };

/* A source that has found nothing after so many draws has nothing: the rarest
 * thing asked for, a held-out node of the 4 x 4 opening, takes hundreds. */
enum { MOST_DRAWS = 1000000 };

typedef struct {
    uint64_t node;
    uint64_t random; /* the item's own sequence */
    uint8_t source, transform;
    int pieces;
    uint8_t cells[FF_MAX_PIECES]; /* the canonical sequence */
    uint8_t value;
    ff_queues queues;
    uint32_t moves;
    uint64_t successor[FF_MAX_CELLS];
} drawn;

static uint64_t below(uint64_t *random, uint64_t limit) {
    return (uint64_t)((unsigned __int128)ff_random_word(random) * limit >> 64);
}

static int is_in_play(uint8_t value) { return value != FF_FINISHED && value != FF_IMPOSSIBLE; }

/* ---- unranking -------------------------------------------------------------- */

void ff_beginnings_init(ff_beginnings *beginnings, const ff_index *index) {
    const int cells = index->rules.cells;
    memset(beginnings, 0, sizeof *beginnings);
    for (int length = 2; length <= 2 * index->rules.m; length++) {
        int count = 0;
        for (int pair = 0; pair < cells * cells; pair++) {
            if (index->pair_transform[pair] != 0) continue; /* 0: canonical as it is */
            beginnings->first[length][count] = index->pair_rank[length][pair];
            beginnings->cells[length][count][0] = (uint8_t)(pair / cells);
            beginnings->cells[length][count++][1] = (uint8_t)(pair % cells);
        }
        beginnings->count[length] = count;
    }
}

/* The cell with this many unused cells below it. */
static int cell_of_digit(uint32_t used, uint32_t digit) {
#ifdef __BMI2__
    return __builtin_ctz(_pdep_u32((uint32_t)1 << digit, ~used));
#else
    uint32_t open = ~used;
    for (; digit; digit--) open &= open - 1;
    return __builtin_ctz(open);
#endif
}

static int unrank_fast(const ff_index *index, const ff_beginnings *beginnings, uint64_t rank,
                       int length, uint8_t *cells) {
    const uint64_t *first = beginnings->first[length], *weight = index->weight[length];
    int low = 0, high = beginnings->count[length];
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (first[middle] <= rank) low = middle;
        else high = middle;
    }
    if (high == 0 || rank < first[low] || rank - first[low] >= weight[1]) return 0;
    uint64_t rest = rank - first[low];
    memcpy(cells, beginnings->cells[length][low], 2);
    uint32_t used = ff_bit(cells[0]) | ff_bit(cells[1]);
    for (int i = 2; i < length; i++) {
        /* Halving the width of a division makes it several times as fast. */
        uint64_t wide = (rest | weight[i]) >> 32;
        uint64_t digit = wide ? rest / weight[i] : (uint32_t)rest / (uint32_t)weight[i];
        rest -= digit * weight[i];
        cells[i] = (uint8_t)cell_of_digit(used, (uint32_t)digit);
        used |= ff_bit(cells[i]);
    }
    return 1;
}

static void unrank(const ff_index *index, const ff_beginnings *beginnings, drawn *item) {
    int pieces = 2 * index->rules.m;
    while (item->node < index->slice_base[pieces]) pieces--;
    uint64_t rank = item->node - index->slice_base[pieces];
    if (!unrank_fast(index, beginnings, rank, pieces, item->cells))
        ff_sequence_unrank(index, rank, pieces, item->cells);
    item->pieces = pieces;
}

/* ---- nodes ------------------------------------------------------------------ */

/* The place of `number` in sums[0 .. count-1], which rise: the first above it. */
static uint64_t place_in_sums(const double *sums, uint64_t count, double number) {
    uint64_t low = 0, high = count - 1;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (sums[middle] > number) high = middle;
        else low = middle + 1;
    }
    return low;
}

static uint64_t node_by_byte(const ff_sampler *sampler, uint64_t *random) {
    double number = ff_random_unit(random);
    int byte = 0, last = 0;
    for (; byte < 256; byte++) {
        if (sampler->byte_share[byte] <= 0) continue;
        last = byte;
        number -= sampler->byte_share[byte];
        if (number < 0) break;
    }
    const uint64_t *first = sampler->byte_first + last;
    if (first[1] > first[0]) return sampler->by_byte[first[0] + below(random, first[1] - first[0])];
    /* Not listed, because common. */
    const uint64_t nodes = sampler->index->slice_base[2 * sampler->index->rules.m + 1];
    uint64_t node = below(random, nodes);
    while (sampler->table[node] != last) node = below(random, nodes);
    return node;
}

static uint64_t candidate(const ff_sampler *sampler, int source, uint64_t *random) {
    const uint64_t *base = sampler->index->slice_base;
    if (source == FF_LISTED)
        return sampler->listed[place_in_sums(sampler->listed_sum, sampler->listed_count,
                                             ff_random_unit(random))];
    if (source == FF_BALANCED) return node_by_byte(sampler, random);
    int low = sampler->fewest, high = sampler->most;
    if (source == FF_OPENING)
        low = high = low + (int)below(random, (uint64_t)(high - low + 1));
    return base[low] + below(random, base[high + 1] - base[low]);
}

/* How many transforms leave the position as it is. */
static int stabiliser_size(const ff_index *index, const uint8_t *cells, int pieces) {
    if (pieces > index->rules.n) return 1; /* symmetry.h */
    unsigned group = FF_ALL_TRANSFORMS;
    for (int i = 0; i < pieces; i++) group &= index->symmetry.stabiliser[cells[i]];
    return __builtin_popcount(group);
}

static int is_of_part(const ff_sampler *sampler, const drawn *item) {
    if (sampler->part == FF_WHOLE) return 1;
    uint64_t state = ff_pack(item->cells, item->pieces); /* hashed as in solver/export.py */
    return (ff_random_word(&state) < sampler->held_below) == (sampler->part == FF_HELD_OUT);
}

static void find_moves(const ff_index *index, drawn *item) {
    ff_queues queues;
    ff_queues_of(item->cells, item->pieces, &queues);
    item->queues = queues;
    item->moves = is_in_play(item->value) ? ff_successors(index, &item->queues, item->successor)
                                          : 0;
}

/* A move keeps the result if the opponent's result is the opposite: bytes say
 * draw (0), lost (odd), won (even). */
static int result_of(uint8_t value) { return value == 0 ? 0 : value & 1 ? -1 : 1; }

static int is_critical(const uint8_t *table, const drawn *item) {
    int result = result_of(item->value);
    for (uint32_t rest = item->moves; rest; rest &= rest - 1)
        if (result_of(table[item->successor[__builtin_ctz(rest)]]) != -result) return 1;
    return 0;
}

static void fetch_moves(const uint8_t *table, const drawn *item) {
    /* Successors lie side by side: the first and the last show the row's memory. */
    if (!item->moves) return;
    __builtin_prefetch(table + item->successor[__builtin_ctz(item->moves)]);
    __builtin_prefetch(table + item->successor[31 - __builtin_clz(item->moves)]);
}

/* Stage 1 of a draw: a node, and its byte on the way from memory. */
static void propose(const ff_sampler *sampler, drawn *item) {
    item->node = candidate(sampler, item->source, &item->random);
    __builtin_prefetch(sampler->table + item->node);
}

/* Stage 2: refused by what the node itself tells, or else its moves' bytes on
 * the way. */
static int is_eligible(const ff_sampler *sampler, drawn *item) {
    const ff_index *index = sampler->index;
    item->value = sampler->table[item->node];
    if (!is_in_play(item->value)) return 0;
    unrank(index, sampler->beginnings, item);
    if (!is_of_part(sampler, item)) return 0;
    if (item->source != FF_LISTED && item->source != FF_OPENING) {
        int stabiliser = stabiliser_size(index, item->cells, item->pieces);
        if (stabiliser > 1 && below(&item->random, (uint64_t)stabiliser) > 0) return 0;
    }
    find_moves(index, item);
    fetch_moves(sampler->table, item);
    return 1;
}

/* Stage 3: refused by what its moves lead to. */
static int is_accepted(const ff_sampler *sampler, const drawn *item) {
    return item->source != FF_CRITICAL || is_critical(sampler->table, item);
}

/* Draws until every item has a node. */
static int draw_together(const ff_sampler *sampler, drawn *items, int count) {
    int waiting[TOGETHER], eligible[TOGETHER];
    for (int i = 0; i < count; i++) waiting[i] = i;
    for (int draws = 0; count; draws++) {
        if (draws == MOST_DRAWS) return FF_NOTHING_TO_DRAW;
        int refused = 0;
        for (int i = 0; i < count; i++) propose(sampler, &items[waiting[i]]);
        for (int i = 0; i < count; i++) eligible[i] = is_eligible(sampler, &items[waiting[i]]);
        for (int i = 0; i < count; i++)
            if (!eligible[i] || !is_accepted(sampler, &items[waiting[i]]))
                waiting[refused++] = waiting[i];
        count = refused;
    }
    return FF_OK;
}

static int choose_source(const ff_sampler *sampler, uint64_t *random) {
    double number = ff_random_unit(random);
    int last = 0;
    for (int source = 0; source < FF_SOURCES; source++) {
        if (sampler->share[source] <= 0) continue;
        last = source;
        number -= sampler->share[source];
        if (number < 0) break;
    }
    return last;
}

/* ---- labels ----------------------------------------------------------------- */

/* As in moves.c: soonest win, draw, latest loss. */
static int preference(int value) {
    if (value == FF_UNDECIDED) return 0;
    return value & 1 ? 256 - value : value - 256;
}

static void show_pieces(const ff_rules *rules, const uint8_t *image, const drawn *item,
                        uint8_t *pieces) {
    const ff_queues *queues = &item->queues;
    memset(pieces, rules->cells, (size_t)(2 * rules->m));
    uint8_t *mover = pieces + rules->m - queues->movers;
    for (int i = 0; i < queues->movers; i++) mover[i] = image[queues->mover[i]];
    uint8_t *opponent = pieces + 2 * rules->m - queues->opponents;
    for (int i = 0; i < queues->opponents; i++) opponent[i] = image[queues->opponent[i]];
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

typedef struct {
    uint32_t legal, optimal, keeping;
} move_sets;

/* The moves by what they lead to, on the board shown; their bytes, if wanted. */
static move_sets weigh_moves(const uint8_t *table, const uint8_t *image, const drawn *item,
                             uint8_t *move_values) {
    move_sets sets = {0, 0, 0};
    int best = -1000, result = result_of(item->value);
    for (uint32_t rest = item->moves; rest; rest &= rest - 1) {
        int cell = __builtin_ctz(rest);
        uint8_t value = table[item->successor[cell]];
        uint32_t shown = ff_bit(image[cell]);
        int liking = preference(value);
        if (move_values) move_values[image[cell]] = value;
        sets.legal |= shown;
        if (result_of(value) == -result) sets.keeping |= shown;
        if (liking > best) sets.optimal = 0;
        if (liking >= best) sets.optimal |= shown, best = liking;
    }
    return sets;
}

static void write_labels(const ff_index *index, const uint8_t *table, const drawn *item,
                         uint64_t at, const ff_labels *labels) {
    const ff_rules *rules = &index->rules;
    const uint64_t cells = (uint64_t)rules->cells, planes = 2 * (uint64_t)rules->m;
    const uint8_t *image = index->symmetry.image[item->transform];
    uint8_t pieces[FF_MAX_PIECES];
    uint8_t *move_values = labels->move_values ? labels->move_values + at * cells : 0;
    if (move_values) memset(move_values, FF_IMPOSSIBLE, cells);
    move_sets sets = weigh_moves(table, image, item, move_values);
    show_pieces(rules, image, item, pieces);
    if (labels->nodes) labels->nodes[at] = item->node;
    if (labels->transforms) labels->transforms[at] = item->transform;
    if (labels->pieces) memcpy(labels->pieces + at * planes, pieces, planes);
    if (labels->planes) fill_planes(rules, pieces, labels->planes + at * planes * cells);
    if (labels->legal) fill_mask(rules, sets.legal, labels->legal + at * cells);
    if (labels->optimal) fill_mask(rules, sets.optimal, labels->optimal + at * cells);
    if (labels->keeping) fill_mask(rules, sets.keeping, labels->keeping + at * cells);
    if (labels->values) labels->values[at] = item->value;
    if (labels->policy)
        fill_policy(rules, labels->policy_keeps ? sets.keeping : sets.optimal,
                    labels->policy + at * cells);
}

/* ---- batches ---------------------------------------------------------------- */

int ff_sample(const ff_sampler *sampler, uint64_t seed, uint64_t batch, uint64_t first,
              uint64_t count, const ff_labels *labels) {
    drawn items[TOGETHER];
    const uint64_t origin = ff_random_seeded(ff_random_seeded(seed) + batch);
    for (uint64_t done = 0; done < count; done += TOGETHER) {
        const int together = count - done < TOGETHER ? (int)(count - done) : TOGETHER;
        for (int i = 0; i < together; i++) {
            drawn *item = &items[i];
            item->random = ff_random_seeded(origin + first + done + (uint64_t)i);
            item->source = (uint8_t)choose_source(sampler, &item->random);
            item->transform = (uint8_t)below(&item->random, FF_TRANSFORMS);
        }
        int status = draw_together(sampler, items, together);
        if (status != FF_OK) return status;
        for (int i = 0; i < together; i++)
            write_labels(sampler->index, sampler->table, &items[i], done + (uint64_t)i, labels);
    }
    return FF_OK;
}

void ff_label_nodes(const ff_index *index, const ff_beginnings *beginnings,
                    const uint8_t *table, const uint64_t *nodes, const uint8_t *transforms,
                    uint64_t count, const ff_labels *labels) {
    drawn items[TOGETHER];
    for (uint64_t done = 0; done < count; done += TOGETHER) {
        const int together = count - done < TOGETHER ? (int)(count - done) : TOGETHER;
        for (int i = 0; i < together; i++) {
            drawn *item = &items[i];
            item->node = nodes[done + (uint64_t)i];
            item->transform = transforms ? transforms[done + (uint64_t)i] : 0;
            item->value = table[item->node];
            unrank(index, beginnings, item);
            find_moves(index, item);
            fetch_moves(table, item);
        }
        for (int i = 0; i < together; i++)
            write_labels(index, table, &items[i], done + (uint64_t)i, labels);
    }
}

void ff_sort_by_byte(const uint8_t *table, uint64_t nodes, const uint8_t *wanted,
                     uint64_t *first, uint32_t *by_byte) {
    if (!by_byte) {
        uint64_t counts[256] = {0};
        for (uint64_t node = 0; node < nodes; node++) counts[table[node]]++;
        first[0] = 0;
        for (int byte = 0; byte < 256; byte++)
            first[byte + 1] = first[byte] + (wanted[byte] ? counts[byte] : 0);
        return;
    }
    uint64_t next[256];
    memcpy(next, first, sizeof next);
    for (uint64_t node = 0; node < nodes; node++)
        if (wanted[table[node]]) by_byte[next[table[node]]++] = (uint32_t)node;
}
