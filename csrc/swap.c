#include "swap.h"

#include "tiles.h"

/* The first of the values first .. end - 1 that is not 0, or end; most values are 0. */
static inline uint64_t next_decided(const uint8_t *values, uint64_t first, uint64_t end) {
    uint64_t eight;
    for (; first + 8 <= end; first += 8) {
        memcpy(&eight, values + first, sizeof eight);
        if (eight != 0) return first + (uint64_t)(__builtin_ctzll(eight) / 8);
    }
    while (first < end && values[first] == 0) first++;
    return first;
}

/* ---- node by node --------------------------------------------------------- */

void ff_swap_nodes(const ff_index *index, const uint8_t *table, uint8_t *swapped, ff_work *work) {
    const int pieces = 2 * index->rules.m;
    const uint8_t *full = table + index->slice_base[pieces];
    for (uint64_t first, end; ff_take(work, &first, &end);) {
        ff_reader reader;
        ff_reader_init(&reader, index, pieces, first);
        for (uint64_t rank = first; (rank = next_decided(full, rank, end)) < end; rank++) {
            ff_reader_seek(&reader, rank);
            swapped[ff_swapped_rank(index, reader.cells)] = full[rank];
        }
    }
}

/* ---- group by group ------------------------------------------------------- */

enum { CACHE_LINE = 64, MOST_ENTRIES = FF_MAX_CELLS * FF_MAX_CELLS };

typedef struct {
    const ff_index *index;
    const uint8_t *full;
    uint8_t *swapped;
    int half; /* h = m - 1 */
    int rows; /* free cells of a group */
    uint8_t row[MOST_ENTRIES], column[MOST_ENTRIES]; /* of each entry of a group, by free cell */
} ff_swap;

static void start_swap(ff_swap *swap, const ff_index *index, const uint8_t *table,
                       uint8_t *swapped) {
    int entry = 0;
    swap->index = index;
    swap->full = table + index->slice_base[2 * index->rules.m];
    swap->swapped = swapped;
    swap->half = index->rules.m - 1;
    swap->rows = index->rules.cells - 2 * swap->half;
    for (int row = 0; row < swap->rows; row++) {
        for (int column = 0; column < swap->rows; column++) {
            if (column == row) continue;
            swap->row[entry] = (uint8_t)row;
            swap->column[entry++] = (uint8_t)column;
        }
    }
}

/* A group as it lies in the table: a1 .. ah b0 .. b(h-1), and where. */
typedef struct {
    uint8_t cells[FF_MAX_PIECES];
    const uint8_t *entries;
} ff_source;

/* Locates the group with this number in the order of visiting, and prefetches it. */
FF_INLINE void find_source(const ff_swap *swap, ff_cursor *visit, uint64_t number,
                           ff_source *source) {
    const int half = swap->half, length = 2 * half, size = swap->rows * (swap->rows - 1);
    uint8_t cells[FF_MAX_PIECES];
    ff_cursor_seek(visit, number);
    memcpy(cells, visit->cells + half - 1, (size_t)half + 1); /* a1 .. ah b0 */
    memcpy(cells + half + 1, visit->cells, (size_t)half - 1); /* b1 .. b(h-1) */
    const ff_place place = ff_place_of(swap->index, cells, length, length);
    for (int i = 0; i < length; i++)
        source->cells[i] = swap->index->symmetry.image[place.transform][cells[i]];
    source->entries = swap->full + place.rank * (uint64_t)size;
    for (int i = 0; i < size; i += CACHE_LINE) __builtin_prefetch(source->entries + i);
    __builtin_prefetch(source->entries + size - 1);
}

/* Where a column's entries go: b1 .. bh, a0 open, a1 .. a(h-1) b0 ah.  Returns 0
 * if b1 .. bh do not break the symmetry. */
FF_INLINE int open_column(const ff_swap *swap, const uint8_t *cells, uint8_t newest,
                          ff_open_place *place) {
    const int half = swap->half;
    uint8_t before[FF_MAX_M], behind[FF_MAX_M];
    memcpy(before, cells + half + 1, (size_t)half - 1);
    before[half - 1] = newest;
    memcpy(behind, cells, (size_t)half - 1);
    behind[half - 1] = cells[half];
    behind[half] = cells[half - 1];
    return ff_open_place_init(place, swap->index, before, half, behind, half + 1);
}

FF_INLINE void swap_group(const ff_swap *swap, const ff_source *source) {
    const int length = 2 * swap->half;
    const uint64_t size = (uint64_t)(swap->rows * (swap->rows - 1));
    uint8_t cells[FF_MAX_PIECES], free[FF_MAX_CELLS];
    ff_open_place places[FF_MAX_CELLS]; /* by column, once it is opened */
    uint32_t opened = 0, usable = 0;
    memcpy(cells, source->cells, (size_t)length);
    ff_free_cells(swap->index, ff_cells_mask(cells, length), free);
    for (uint64_t i = 0; (i = next_decided(source->entries, i, size)) < size; i++) {
        const int row = swap->row[i], column = swap->column[i];
        const ff_open_place *place = &places[column];
        if (!(opened >> column & 1)) {
            opened |= ff_bit(column);
            if (open_column(swap, cells, free[column], &places[column])) usable |= ff_bit(column);
        }
        if (usable >> column & 1) {
            swap->swapped[ff_open_rank(place, place->image[free[row]])] = source->entries[i];
        } else {
            cells[length] = free[row];
            cells[length + 1] = free[column];
            swap->swapped[ff_swapped_rank(swap->index, cells)] = source->entries[i];
        }
    }
}

FF_INLINE void swap_groups(const ff_swap *swap, ff_work *work) {
    enum { TOGETHER = 16 }; /* groups prefetched before they are read */
    ff_source sources[TOGETHER];
    ff_cursor visit;
    ff_cursor_init(&visit, swap->index, 2 * swap->half);
    for (uint64_t number, end; ff_take(work, &number, &end);) {
        while (number < end) {
            int count = 0;
            for (; number < end && count < TOGETHER; number++)
                find_source(swap, &visit, number, &sources[count++]);
            for (int i = 0; i < count; i++) swap_group(swap, &sources[i]);
        }
    }
}

void ff_swap_groups(const ff_index *index, const uint8_t *table, uint8_t *swapped, ff_work *work) {
    ff_swap swap;
    start_swap(&swap, index, table, swapped);
    if (swap.half == 3 && swap.rows == 10) { /* 4 x 4, m = 4 */
        swap.half = 3, swap.rows = 10;
        swap_groups(&swap, work);
    } else if (swap.half == 4 && swap.rows == 8) { /* 4 x 4, m = 5 */
        swap.half = 4, swap.rows = 8;
        swap_groups(&swap, work);
    } else {
        swap_groups(&swap, work);
    }
}
