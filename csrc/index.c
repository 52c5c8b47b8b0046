#include "index.h"

#include <string.h>

#include "instructions.h"

uint64_t ff_continuations(const ff_index *index, unsigned group, int used, int more) {
    uint64_t fixed_ways = 0;
    for (unsigned rest = group; rest; rest &= rest - 1) {
        int open = index->symmetry.fixed_cells[__builtin_ctz(rest)] - used;
        if (open >= more) fixed_ways += index->falling[open][more];
    }
    return fixed_ways / (uint64_t)__builtin_popcount(group);
}

/* The canonical sequences skipped by choosing `cell` next after a canonical
 * beginning of `given` cells with this stabiliser. */
static uint64_t skipped(const ff_index *index, unsigned stabiliser, uint32_t used, int given,
                        int length, int cell) {
    if (stabiliser == FF_IDENTITY_ONLY)
        return (uint64_t)ff_digit(used, cell) * index->weight[length][given];
    uint64_t before = 0;
    for (int smaller = 0; smaller < cell; smaller++) {
        if ((used >> smaller & 1) || !ff_is_orbit_minimum(&index->symmetry, stabiliser, smaller))
            continue;
        before += ff_continuations_of(index, stabiliser & index->symmetry.stabiliser[smaller],
                                      given + 1, length);
    }
    return before;
}

uint64_t ff_rank_of_beginning(const ff_index *index, const uint8_t *cells, int given, int length,
                              uint8_t *stabiliser) {
    unsigned group = FF_ALL_TRANSFORMS;
    uint32_t used = 0;
    uint64_t rank = 0;
    for (int i = 0; i < given; i++) {
        rank += skipped(index, group, used, i, length, cells[i]);
        group &= index->symmetry.stabiliser[cells[i]];
        used |= ff_bit(cells[i]);
    }
    *stabiliser = (uint8_t)group;
    return rank;
}

/* Of the `tied` transforms, those that carry `cell` lowest. */
static unsigned narrowed(const ff_symmetry *symmetry, unsigned tied, int cell) {
    unsigned best = 0;
    int lowest = FF_MAX_CELLS;
    for (int t = 0; t < FF_TRANSFORMS; t++) {
        if (!(tied >> t & 1)) continue;
        int image = symmetry->image[t][cell];
        if (image < lowest) {
            lowest = image;
            best = 0;
        }
        if (image == lowest) best |= 1u << t;
    }
    return best;
}

static int canonical_transform(const ff_index *index, const uint8_t *cells, int length) {
    unsigned tied = FF_ALL_TRANSFORMS;
    for (int i = 0; i < length && (tied & (tied - 1)); i++)
        tied = narrowed(&index->symmetry, tied, cells[i]);
    return __builtin_ctz(tied);
}

ff_place ff_place_by_walk(const ff_index *index, const uint8_t *cells, int given, int length) {
    uint8_t canonical[FF_MAX_PIECES];
    ff_place place;
    place.transform = (uint8_t)canonical_transform(index, cells, given);
    for (int i = 0; i < given; i++) canonical[i] = index->symmetry.image[place.transform][cells[i]];
    place.rank = ff_rank_of_beginning(index, canonical, given, length, &place.stabiliser);
    return place;
}

/* Finds the first `wanted` cells of the sequence with this rank; leaves the rank
 * within that beginning in *rank.  Returns its stabiliser. */
static unsigned descend(const ff_index *index, uint64_t *rank, int length, int wanted,
                        uint8_t *cells) {
    unsigned group = FF_ALL_TRANSFORMS;
    uint32_t used = 0;
    for (int i = 0; i < wanted; i++) {
        for (int cell = 0; cell < index->rules.cells; cell++) {
            if (used >> cell & 1) continue;
            if (!ff_is_orbit_minimum(&index->symmetry, group, cell)) continue;
            unsigned fixing = group & index->symmetry.stabiliser[cell];
            uint64_t inside = ff_continuations_of(index, fixing, i + 1, length);
            if (*rank < inside) {
                cells[i] = (uint8_t)cell;
                group = fixing;
                break;
            }
            *rank -= inside;
        }
        used |= ff_bit(cells[i]);
    }
    return group;
}

/* The cell with this many unused cells below it. */
static int cell_of_digit(uint32_t used, uint32_t digit) {
#ifdef FF_BMI2
    return __builtin_ctz(_pdep_u32((uint32_t)1 << digit, ~used));
#else
    uint32_t open = ~used;
    for (; digit; digit--) open &= open - 1;
    return __builtin_ctz(open);
#endif
}

/* The sequence of this rank, if its first two cells break the symmetry; 0 if they
 * do not. */
static int unrank_by_beginning(const ff_index *index, uint64_t rank, int length,
                               uint8_t *cells) {
    const uint64_t *first = index->beginning_rank[length], *weight = index->weight[length];
    int low = 0, high = index->beginnings;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (first[middle] <= rank) low = middle;
        else high = middle;
    }
    if (rank < first[low] || rank - first[low] >= weight[1]) return 0;
    uint64_t rest = rank - first[low];
    memcpy(cells, index->beginning[low], 2);
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

void ff_sequence_unrank(const ff_index *index, uint64_t rank, int length, uint8_t *cells) {
    if (length >= 2 && unrank_by_beginning(index, rank, length, cells)) return;
    descend(index, &rank, length, length, cells);
}

void ff_cursor_init(ff_cursor *cursor, const ff_index *index, int length) {
    memset(cursor, 0, sizeof *cursor);
    cursor->index = index;
    cursor->length = length;
    cursor->kept = length > 3 ? length - 3 : 0;
}

void ff_cursor_seek(ff_cursor *cursor, uint64_t rank) {
    const ff_index *index = cursor->index;
    const int length = cursor->length, kept = cursor->kept;
    if (rank < cursor->first || rank >= cursor->end) {
        uint64_t inside = rank;
        unsigned group = descend(index, &inside, length, kept, cursor->cells);
        if (kept + 3 != length || group != FF_IDENTITY_ONLY) {
            /* Symmetry is not broken yet: no mixed radix, read it cell by cell. */
            cursor->first = cursor->end = 0;
            inside = rank;
            cursor->stabiliser =
                (uint8_t)descend(index, &inside, length, length, cursor->cells);
            return;
        }
        cursor->stabiliser = FF_IDENTITY_ONLY;
        cursor->first = rank - inside;
        cursor->end = cursor->first + index->weight[length][kept - 1];
        ff_free_cells(index, ff_cells_mask(cursor->cells, kept), cursor->free);
    }
    /* Three digits; each skips the free cells that the earlier ones took. */
    uint32_t inside = (uint32_t)(rank - cursor->first);
    uint32_t weight_0 = (uint32_t)index->weight[length][kept];
    uint32_t weight_1 = (uint32_t)index->weight[length][kept + 1];
    uint32_t first = inside / weight_0;
    inside -= first * weight_0;
    uint32_t second = inside / weight_1;
    uint32_t third = inside - second * weight_1;
    second += second >= first;
    uint32_t low = first < second ? first : second, high = first < second ? second : first;
    third += third >= low;
    third += third >= high;
    cursor->cells[kept] = cursor->free[first];
    cursor->cells[kept + 1] = cursor->free[second];
    cursor->cells[kept + 2] = cursor->free[third];
}

static void fill_counts(ff_index *index) {
    const int cells = index->rules.cells, pieces = 2 * index->rules.m;
    for (int c = 0; c <= cells; c++) {
        index->falling[c][0] = 1;
        for (int r = 1; r <= pieces; r++)
            index->falling[c][r] = c >= r ? index->falling[c - 1][r - 1] * (uint64_t)c : 0;
    }
    for (int length = 1; length <= pieces; length++)
        for (int i = 0; i < length; i++)
            index->weight[length][i] = index->falling[cells - i - 1][length - i - 1];
    index->slice_base[0] = 0;
    for (int length = 0; length <= pieces; length++) {
        index->sequences[length] = ff_continuations(index, FF_ALL_TRANSFORMS, 0, length);
        index->slice_base[length + 1] = index->slice_base[length] + index->sequences[length];
    }
}

/* The transform for a beginning, FF_UNRESOLVED if it leaves a symmetry; and the
 * beginning's rank for every length, rank[0], rank[step], ... */
static uint8_t rank_beginning(const ff_index *index, const uint8_t *cells, int given,
                              uint64_t *rank, size_t step) {
    uint8_t canonical[3], stabiliser = FF_ALL_TRANSFORMS;
    int t = canonical_transform(index, cells, given);
    for (int i = 0; i < given; i++) canonical[i] = index->symmetry.image[t][cells[i]];
    for (int length = given; length <= 2 * index->rules.m; length++)
        rank[(size_t)length * step] =
            ff_rank_of_beginning(index, canonical, given, length, &stabiliser);
    return stabiliser == FF_IDENTITY_ONLY ? (uint8_t)t : FF_UNRESOLVED;
}

static void fill_pairs(ff_index *index) {
    const size_t pair_step = sizeof index->pair_rank[0] / sizeof(uint64_t);
    const size_t third_step = sizeof index->third_rank[0] / sizeof(uint64_t);
    const uint8_t cells = (uint8_t)index->rules.cells;
    uint8_t axis_pairs = 0;
    for (uint8_t first = 0; first < cells; first++) {
        for (uint8_t second = 0; second < cells; second++) {
            int pair = first * cells + second;
            index->pair_transform[pair] = FF_UNRESOLVED;
            if (first == second) continue; /* not a pair, and never looked up */
            uint8_t begin[3] = {first, second, 0};
            index->pair_transform[pair] =
                rank_beginning(index, begin, 2, &index->pair_rank[0][pair], pair_step);
            if (index->pair_transform[pair] != FF_UNRESOLVED) continue;
            uint8_t number = index->pair_on_axis[pair] = axis_pairs++;
            for (uint8_t third = 0; third < cells; third++) {
                if (third == first || third == second) continue;
                begin[2] = third;
                index->third_transform[number][third] = rank_beginning(
                    index, begin, 3, &index->third_rank[0][number][third], third_step);
            }
        }
    }
}

static void list_beginnings(ff_index *index) {
    const int cells = index->rules.cells;
    for (int pair = 0; pair < cells * cells; pair++) {
        if (index->pair_transform[pair] != 0) continue; /* 0: canonical as it is */
        const int place = index->beginnings++;
        index->beginning[place][0] = (uint8_t)(pair / cells);
        index->beginning[place][1] = (uint8_t)(pair % cells);
        for (int length = 2; length <= 2 * index->rules.m; length++)
            index->beginning_rank[length][place] = index->pair_rank[length][pair];
    }
}

int ff_index_init(ff_index *index, int n, int m, int k) {
    memset(index, 0, sizeof *index);
    int status = ff_rules_init(&index->rules, n, m, k);
    if (status == FF_OK) status = ff_symmetry_init(&index->symmetry, n);
    if (status != FF_OK) return status;
    fill_counts(index);
    fill_pairs(index);
    list_beginnings(index);
    return FF_OK;
}
