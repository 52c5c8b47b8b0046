#include "sampler.h"

#include "random.h"

/* A source that finds nothing in this many draws is empty: the rarest nodes, held
 * out and in the opening of 4 x 4, take hundreds. */
enum { MOST_DRAWS = 1000000 };

typedef struct {
    ff_labelled item;
    uint64_t random; /* the item's own sequence */
    uint8_t source;
} drawn;

static uint64_t below(uint64_t *random, uint64_t limit) {
    return (uint64_t)((unsigned __int128)ff_random_word(random) * limit >> 64);
}

/* ---- nodes ------------------------------------------------------------------ */

/* The first of the rising sums[0 .. count-1] that is above `number`. */
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
    /* Too common to be listed. */
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

static int is_of_part(const ff_sampler *sampler, const ff_labelled *item) {
    if (sampler->part == FF_WHOLE) return 1;
    uint64_t state = ff_pack(item->cells, item->pieces); /* hashed as in solver/labels.py */
    return (ff_random_word(&state) < sampler->held_below) == (sampler->part == FF_HELD_OUT);
}

/* Stage 1 of a draw: chooses a node and prefetches its byte. */
static void propose(const ff_sampler *sampler, drawn *draw) {
    draw->item.node = candidate(sampler, draw->source, &draw->random);
    __builtin_prefetch(sampler->table + draw->item.node);
}

/* Stage 2: rejects by the node itself, or else prefetches the bytes of its moves. */
static int is_eligible(const ff_sampler *sampler, drawn *draw) {
    const ff_index *index = sampler->index;
    ff_labelled *item = &draw->item;
    item->value = sampler->table[item->node];
    if (!ff_is_in_play(item->value)) return 0;
    item->pieces = ff_node_unrank(index, item->node, item->cells);
    if (!is_of_part(sampler, item)) return 0;
    if (draw->source != FF_LISTED && draw->source != FF_OPENING) {
        int stabiliser = stabiliser_size(index, item->cells, item->pieces);
        if (stabiliser > 1 && below(&draw->random, (uint64_t)stabiliser) > 0) return 0;
    }
    ff_find_moves(index, sampler->table, item);
    return 1;
}

/* Stage 3: rejects by what the moves lead to. */
static int is_accepted(const ff_sampler *sampler, const drawn *draw) {
    return draw->source != FF_CRITICAL || ff_is_critical(sampler->table, &draw->item);
}

/* Draws until every item has a node. */
static int draw_together(const ff_sampler *sampler, drawn *draws, int count) {
    int waiting[FF_LABELLED_TOGETHER], eligible[FF_LABELLED_TOGETHER];
    for (int i = 0; i < count; i++) waiting[i] = i;
    for (int round = 0; count; round++) {
        if (round == MOST_DRAWS) return FF_NOTHING_TO_DRAW;
        int rejected = 0;
        for (int i = 0; i < count; i++) propose(sampler, &draws[waiting[i]]);
        for (int i = 0; i < count; i++) eligible[i] = is_eligible(sampler, &draws[waiting[i]]);
        for (int i = 0; i < count; i++)
            if (!eligible[i] || !is_accepted(sampler, &draws[waiting[i]]))
                waiting[rejected++] = waiting[i];
        count = rejected;
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

/* ---- batches ---------------------------------------------------------------- */

int ff_sample(const ff_sampler *sampler, uint64_t seed, uint64_t batch, uint64_t first,
              uint64_t count, const ff_labels *labels) {
    drawn draws[FF_LABELLED_TOGETHER];
    const uint64_t origin = ff_random_seeded(ff_random_seeded(seed) + batch);
    for (uint64_t done = 0; done < count; done += FF_LABELLED_TOGETHER) {
        const uint64_t left = count - done;
        const int together = left < FF_LABELLED_TOGETHER ? (int)left : FF_LABELLED_TOGETHER;
        for (int i = 0; i < together; i++) {
            drawn *draw = &draws[i];
            draw->random = ff_random_seeded(origin + first + done + (uint64_t)i);
            draw->source = (uint8_t)choose_source(sampler, &draw->random);
            draw->item.transform = (uint8_t)below(&draw->random, FF_TRANSFORMS);
        }
        int status = draw_together(sampler, draws, together);
        if (status != FF_OK) return status;
        for (int i = 0; i < together; i++)
            ff_write_labels(sampler->index, sampler->table, &draws[i].item, done + (uint64_t)i,
                            labels);
    }
    return FF_OK;
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
