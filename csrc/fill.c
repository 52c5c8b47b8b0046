#include "fill.h"

#include "row.h"
#include "tiles.h"

/* A write may go anywhere in the table, so its memory is asked for first and it
 * waits until this many later ones have been asked for. */
enum { WAITING = 32 };

/* A row of slice s + 1 holds the successors (b0 b1 .. ; a0 a1 .. e) of one
 * position (a0 a1 .. ; b0 b1 ..) of slice s; its cells are b1 .. a0 a1 .. b0.
 * The position's own order is a1 .. b0 b1 .. a0 b-last; without a b1 the last is
 * b0. */
typedef struct {
    const ff_index *index;
    int slice, movers, others; /* a0 .. and b1 .. */
    int rows;
    uint8_t *decided;
    const uint8_t *next_slice;
    int64_t count; /* positions decided */
    uint64_t waiting[WAITING]; /* positions decided but not yet written */
    uint8_t waiting_values[WAITING];
} ff_filling;

/* What the cells of a group tell about its rows. */
typedef struct {
    const uint8_t *cells;
    uint8_t free[FF_MAX_CELLS];
    uint8_t behind[FF_MAX_PIECES]; /* of the position's order, what follows b0 */
    uint32_t finished;             /* rows b0 in which the opponent has a line */
    int impossible;                /* the mover has one */
} ff_filled;

static inline void decide(ff_filling *filling, uint64_t position, int value) {
    const unsigned place = filling->count++ % WAITING;
    if (filling->count > WAITING)
        filling->decided[filling->waiting[place]] = filling->waiting_values[place];
    __builtin_prefetch(&filling->decided[position], 1);
    filling->waiting[place] = position;
    filling->waiting_values[place] = (uint8_t)value;
}

/* b1 .. without the last, a0, and the last. */
static inline void put_behind(const ff_filling *filling, const uint8_t *cells, uint8_t *behind) {
    const int others = filling->others;
    int length = 0;
    for (int i = 0; i + 1 < others; i++) behind[length++] = cells[i];
    if (filling->movers > 0) behind[length++] = cells[others];
    if (others > 0) behind[length] = cells[others - 1];
}

static inline int row_result(const ff_filled *group, int r, const uint8_t *row, int columns) {
    return group->impossible                            ? FF_IMPOSSIBLE
           : group->finished >> group->free[r] & 1 ? FF_FINISHED
                                                        : ff_row_value(row, columns);
}

/* Fills the rows of a group, b0 open. */
static inline void fill_rows(ff_filling *filling, const ff_filled *group,
                             const ff_open_place *place, const uint8_t *row) {
    const int rows = filling->rows;
    for (int r = 0; r < rows; r++, row += rows - 1) {
        const int value = row_result(group, r, row, rows - 1);
        if (value == FF_UNDECIDED) continue;
        decide(filling, ff_open_rank(place, place->image[group->free[r]]), value);
    }
}

/* The same where the cells before b0 do not break the symmetry, and where rows
 * may have mirror images.  Returns the row behind the group. */
static const uint8_t *fill_mirrored_rows(ff_filling *filling, const ff_filled *group,
                                         unsigned stabiliser, const uint8_t *row) {
    const ff_symmetry *symmetry = &filling->index->symmetry;
    const int before = filling->movers > 0 ? filling->movers - 1 : 0, slice = filling->slice;
    const uint8_t *free = group->free;
    uint8_t sequence[FF_MAX_PIECES];
    memcpy(sequence, group->cells + filling->others + 1, (size_t)before);
    for (int r = 0; r < filling->rows; r++) {
        if (!ff_is_orbit_minimum(symmetry, stabiliser, free[r])) continue;
        const unsigned fixing = stabiliser & symmetry->stabiliser[free[r]];
        int columns = 0;
        for (int c = 0; c < filling->rows; c++)
            columns += c != r && ff_is_orbit_minimum(symmetry, fixing, free[c]);
        const int value = row_result(group, r, row, columns);
        row += columns;
        if (value == FF_UNDECIDED) continue;
        sequence[before] = free[r];
        memcpy(sequence + before + 1, group->behind, (size_t)(slice - before - 1));
        if (filling->others == 0 && filling->movers > 0) { /* a0 b0, the one case without b1 */
            sequence[0] = group->behind[0];
            sequence[1] = free[r];
        }
        decide(filling, ff_place_of(filling->index, sequence, slice, slice).rank, value);
    }
    return row;
}

FF_INLINE void fill_run(ff_filling *filling, const ff_tiles *tiles, ff_run *run) {
    const ff_rules *rules = &filling->index->rules;
    const int others = filling->others, movers = filling->movers, rows = filling->rows;
    const uint32_t opponent = ff_cells_mask(run->cells, others);
    const ff_rules in_reach = ff_lines_in_reach(
        rules, ff_cells_mask(run->cells + others, run->given - others), tiles->length - run->given);
    ff_filled group;
    group.cells = run->cells;
    group.finished = ff_completing(rules, opponent);
    const uint8_t *row = filling->next_slice + ff_place_of(filling->index, run->cells, run->given,
                                                           filling->slice + 1).rank;
    for (uint64_t number = run->first; number < run->end; number++) {
        const unsigned stabiliser = ff_read_group(tiles, run, number);
        const uint32_t mover = ff_cells_mask(run->cells + others, movers);
        group.impossible = ff_has_line(&in_reach, mover);
        ff_free_cells(filling->index, opponent | mover, group.free);
        put_behind(filling, run->cells, group.behind);
        ff_open_place place;
        if (stabiliser == FF_IDENTITY_ONLY && movers > 0 &&
            ff_open_place_init(&place, filling->index, run->cells + others + 1, movers - 1,
                               group.behind, others + 1)) {
            fill_rows(filling, &group, &place, row);
            row += rows * (rows - 1);
        } else {
            row = fill_mirrored_rows(filling, &group, stabiliser, row);
        }
    }
}

FF_INLINE int64_t fill_slice(ff_filling *filling, ff_work *work) {
    ff_tiles tiles;
    ff_run run;
    ff_tiles_init(&tiles, filling->index, filling->others, filling->movers, 1);
    while (ff_take_run(&tiles, work, &run)) fill_run(filling, &tiles, &run);
    for (int i = 0; i < WAITING && i < filling->count; i++)
        filling->decided[filling->waiting[i]] = filling->waiting_values[i];
    return filling->count;
}

uint64_t ff_fill_tiles(const ff_index *index, int slice) {
    return ff_tile_count(index, slice - slice / 2 - 1, slice / 2);
}

int64_t ff_fill_slice(const ff_index *index, uint8_t *table, int slice, ff_work *work) {
    const int movers = slice / 2;
    ff_filling filling = {.index = index,
                          .slice = slice,
                          .movers = movers,
                          .others = slice - movers - 1,
                          .rows = index->rules.cells - slice + 1,
                          .decided = table + index->slice_base[slice],
                          .next_slice = table + index->slice_base[slice + 1]};
    switch (slice * 100 + filling.rows) {
    case 908: /* 4 x 4, m = 5 */
        filling.slice = 9, filling.movers = 4, filling.others = 4, filling.rows = 8;
        return fill_slice(&filling, work);
    case 710: /* 4 x 4, m = 4 or 5 */
        filling.slice = 7, filling.movers = 3, filling.others = 3, filling.rows = 10;
        return fill_slice(&filling, work);
    default:
        return fill_slice(&filling, work);
    }
}

void ff_fill_root(const ff_index *index, uint8_t *table) {
    table[0] = (uint8_t)ff_row_value(table + index->slice_base[1], (int)index->sequences[1]);
}
