#include "fill.h"

#include "column.h"
#include "row.h"
#include "tiles.h"
#include "values.h"

/* Writes go all over the table, so each is prefetched, and delayed until this many
 * later ones have been prefetched. */
enum { WAITING = 32 };

/* ---- by rows of the slice above ------------------------------------------- */

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

/* What the rows of a group have in common. */
typedef struct {
    const uint8_t *cells;
    uint8_t free[FF_MAX_CELLS];
    uint8_t behind[FF_MAX_PIECES]; /* of the position's order, what follows b0 */
    uint32_t finished;             /* rows b0 in which the opponent has a line */
    int impossible;                /* the mover has a line */
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

/* ---- by columns of the full slice ----------------------------------------- */

/* A position (a1 .. ah; b0 .. bh) of slice 2m - 1 has the same row of successors as
 * its full relatives (f a1 .. ah; b0 .. bh), whatever f is; but f cannot move to f.
 * At most one of them cannot reach the best successor, so of any two the better one
 * has the position's value.  They are a column, bh, of group a1 .. ah b0 .. of the
 * full slice; and the positions of the group's columns are neighbours,
 * a2 .. ah b0 .. a1 bh.  So a group needs one rank.
 *
 * Relatives in which f completes the mover's line are impossible and tell nothing.
 * Where fewer than two others remain, the row itself is evaluated. */
typedef struct {
    const ff_index *index;
    int half; /* h */
    int rows;
    uint8_t *positions;  /* slice 2m - 1 */
    const uint8_t *full; /* slice 2m, nothing in it has a mirror image in its group */
} ff_column_filling;

static int fills_by_columns(const ff_index *index, int slice) {
    return slice == 2 * index->rules.m - 1 && slice - 1 > index->rules.n;
}

/* The cells of a run are a1 .. ah b0 .. without the last two; a tile agrees in all
 * but a1. */
static int cells_of_a_run(int half) { return 2 * half - 2; }

static void start_columns(const ff_column_filling *filling, ff_tiles *tiles) {
    const int given = cells_of_a_run(filling->half);
    for (int i = 0; i < given; i++) tiles->order[i] = (uint8_t)((i + 1) % given);
    ff_tiles_start(tiles, filling->index, given - 1, given, 2 * filling->half);
}

/* The value of the position with bh on this cell, by its row. */
static uint8_t result_by_row(const ff_column_filling *filling, const uint8_t *group, int newest) {
    const ff_index *index = filling->index;
    const int half = filling->half;
    const uint32_t opponent = ff_cells_mask(group + half, half) | ff_bit(newest);
    if (ff_has_line(&index->rules, opponent)) return FF_FINISHED;
    uint8_t row[FF_MAX_PIECES]; /* b1 .. bh a1 .. ah b0 */
    memcpy(row, group + half + 1, (size_t)(half - 1));
    row[half - 1] = (uint8_t)newest;
    memcpy(row + half, group, (size_t)half);
    row[2 * half] = group[half];
    const ff_place place = ff_place_of(index, row, 2 * half + 1, 2 * half + 2);
    return (uint8_t)ff_row_value(filling->full + place.rank, filling->rows - 1);
}

/* Fills the positions of a group's columns; returns how many are decided. */
FF_INLINE int fill_columns(const ff_column_filling *filling, const int half, const int rows,
                           const uint8_t *group, const uint8_t *entries, int by_rows) {
    const ff_index *index = filling->index;
    uint8_t sequence[FF_MAX_PIECES], free[FF_MAX_CELLS], best[FF_COLUMNS_ROOM];
    memcpy(sequence, group + 1, (size_t)(2 * half - 1));
    sequence[2 * half - 1] = group[0];
    const ff_place place = ff_place_of(index, sequence, 2 * half, 2 * half + 1);
    const uint8_t *image = index->symmetry.image[place.transform];
    uint32_t used = 0;
    for (int i = 0; i < 2 * half; i++) used |= ff_bit(image[group[i]]);
    ff_free_cells(index, ff_cells_mask(group, 2 * half), free);
    if (by_rows)
        for (int c = 0; c < rows; c++) best[c] = result_by_row(filling, group, free[c]);
    else
        ff_best_of_columns(entries, rows, best);
    int decided = 0;
    for (int c = 0; c < rows; c++) {
        filling->positions[place.rank + (uint64_t)ff_digit(used, image[free[c]])] = best[c];
        decided += best[c] != FF_UNDECIDED;
    }
    return decided;
}

FF_INLINE int64_t fill_from_columns(const ff_column_filling *filling, const int half,
                                    const int rows, ff_work *work) {
    const ff_rules *rules = &filling->index->rules;
    ff_tiles tiles;
    ff_run run;
    int64_t decided = 0;
    start_columns(filling, &tiles);
    while (ff_take_run(&tiles, work, &run)) {
        const uint32_t mover = ff_cells_mask(run.cells, half);
        const int impossible = __builtin_popcount(ff_completing(rules, mover) & ~mover);
        const int by_rows = rows - 1 - impossible < 2 && !ff_has_line(rules, mover);
        for (uint64_t number = run.first; number < run.end; number++) {
            ff_read_group(&tiles, &run, number);
            const uint8_t *entries = filling->full + number * (uint64_t)(rows * (rows - 1));
            decided += fill_columns(filling, half, rows, run.cells, entries, by_rows);
        }
    }
    return decided;
}

/* With constants for 4 x 4, m = 5 and m = 4. */
static int64_t fill_last_slice(const ff_index *index, uint8_t *table, int slice, ff_work *work) {
    ff_column_filling filling = {.index = index,
                                 .half = slice / 2,
                                 .rows = index->rules.cells - slice + 1,
                                 .positions = table + index->slice_base[slice],
                                 .full = table + index->slice_base[slice + 1]};
    if (filling.half == 4 && filling.rows == 8) return fill_from_columns(&filling, 4, 8, work);
    if (filling.half == 3 && filling.rows == 10) return fill_from_columns(&filling, 3, 10, work);
    return fill_from_columns(&filling, filling.half, filling.rows, work);
}

/* ---- the slices ------------------------------------------------------------ */

uint64_t ff_fill_tiles(const ff_index *index, int slice) {
    if (fills_by_columns(index, slice)) return index->sequences[cells_of_a_run(slice / 2) - 1];
    return ff_tile_count(index, slice - slice / 2 - 1, slice / 2);
}

int64_t ff_fill_slice(const ff_index *index, uint8_t *table, int slice, ff_work *work) {
    if (fills_by_columns(index, slice)) return fill_last_slice(index, table, slice, work);
    const int movers = slice / 2;
    ff_filling filling = {.index = index,
                          .slice = slice,
                          .movers = movers,
                          .others = slice - movers - 1,
                          .rows = index->rules.cells - slice + 1,
                          .decided = table + index->slice_base[slice],
                          .next_slice = table + index->slice_base[slice + 1]};
    switch (slice * 100 + filling.rows) {
    case 809: /* 4 x 4, m = 5 */
        filling.slice = 8, filling.movers = 4, filling.others = 3, filling.rows = 9;
        return fill_slice(&filling, work);
    default:
        return fill_slice(&filling, work);
    }
}

void ff_fill_root(const ff_index *index, uint8_t *table) {
    table[0] = (uint8_t)ff_row_value(table + index->slice_base[1], (int)index->sequences[1]);
}
