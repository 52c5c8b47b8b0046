#include "retrograde.h"

#include "row.h"

int ff_retrograde_init(ff_retrograde *solve, const ff_index *index, uint8_t *full,
                       uint32_t *fresh_even, uint32_t *fresh_odd) {
    const int group_length = 2 * index->rules.m - 2;
    memset(solve, 0, sizeof *solve);
    solve->index = index;
    solve->groups = index->sequences[group_length];
    solve->rows = index->rules.cells - group_length;
    solve->columns = solve->rows - 1;
    solve->full = full;
    solve->fresh[0] = fresh_even;
    solve->fresh[1] = fresh_odd;
    return FF_OK;
}

static inline uint8_t *group_entries(const ff_retrograde *solve, uint64_t group) {
    return solve->full + group * (uint64_t)(solve->rows * solve->columns);
}

/* ---- finished and impossible positions ---------------------------------- */

static int64_t begin_group(ff_retrograde *solve, uint64_t group, const uint8_t *cells) {
    const ff_index *index = solve->index;
    const int half = index->rules.m - 1, rows = solve->rows, columns = solve->columns;
    const uint32_t mover = ff_cells_mask(cells, half), opponent = ff_cells_mask(cells + half, half);
    const uint32_t mover_lines = ff_completing(&index->rules, mover);
    const uint32_t opponent_lines = ff_completing(&index->rules, opponent);
    if (((mover_lines | opponent_lines) & ~(mover | opponent)) == 0) return 0;

    uint8_t free[FF_MAX_CELLS];
    ff_free_cells(index, mover | opponent, free);
    uint8_t *entries = group_entries(solve, group);
    uint32_t fresh = 0;
    int64_t finished = 0;
    for (int r = 0; r < rows; r++) {
        uint8_t *row = entries + r * columns;
        if (mover_lines >> free[r] & 1) {
            memset(row, FF_IMPOSSIBLE, (size_t)columns);
            continue;
        }
        for (int c = 0; c < columns; c++) {
            if (!(opponent_lines >> free[c + (c >= r)] & 1)) continue;
            row[c] = FF_FINISHED;
            fresh |= 1u << r;
            finished++;
        }
    }
    solve->fresh[0][group] = fresh;
    return finished;
}

int64_t ff_begin(ff_retrograde *solve, ff_work *work) {
    ff_cursor cursor;
    ff_cursor_init(&cursor, solve->index, 2 * solve->index->rules.m - 2);
    int64_t finished = 0;
    for (uint64_t first, end; ff_take(work, &first, &end);) {
        for (uint64_t group = first; group < end; group++) {
            ff_cursor_seek(&cursor, group);
            finished += begin_group(solve, group, cursor.cells);
        }
    }
    return finished;
}

/* ---- one ply of depth ---------------------------------------------------- */

/* Which parents a row decides now: none, all of them, all but one, or one
 * alone.  `entry` names the one by its entry in the row. */
typedef enum { NO_PARENT, EVERY_PARENT, ALL_BUT_ONE, ONE_PARENT } ff_decided;

static inline ff_decided parents_that_win(const uint8_t *row, int columns, int depth, int *entry) {
    uint32_t lost = ff_lost_entries(row, columns);
    uint32_t before = lost & ~ff_entries_equal(row, columns, depth + 1);
    if (before & (before - 1)) return NO_PARENT; /* two lost entries decided all parents */
    if ((lost & (lost - 1)) == 0) {
        *entry = __builtin_ctz(lost);
        return ALL_BUT_ONE;
    }
    if (before == 0) return EVERY_PARENT;
    *entry = __builtin_ctz(before);
    return ONE_PARENT;
}

static inline ff_decided parents_that_lose(const uint8_t *row, int columns, int *entry) {
    uint32_t missing = ff_entries_not_won(row, columns);
    if (missing & (missing - 1)) return NO_PARENT;
    if (missing == 0) return EVERY_PARENT;
    *entry = __builtin_ctz(missing);
    return ONE_PARENT;
}

/* Columns that are decided but not yet written.  A column lies anywhere in the
 * table, so its memory is asked for first and written a little later. */
enum { WAITING = 16, CACHE_LINE = 64 };

typedef struct {
    struct {
        uint64_t group;
        uint32_t wanted_rows;
        int column; /* numbered by free cell, as rows are; its own row has no entry */
    } columns[WAITING];
    unsigned taken; /* columns ever taken in; the last WAITING of them wait */
    int value;
    int64_t settled;
} ff_waiting;

/* Writes the value into the undecided entries of the column in this place. */
static inline void settle_column(ff_retrograde *solve, ff_waiting *waiting, unsigned place) {
    const uint64_t group = waiting->columns[place].group;
    const int column = waiting->columns[place].column, value = waiting->value;
    uint8_t *entries = group_entries(solve, group);
    uint32_t written = 0;
    for (uint32_t rest = waiting->columns[place].wanted_rows; rest; rest &= rest - 1) {
        int r = __builtin_ctz(rest);
        uint8_t *entry = entries + r * solve->columns + column - (column > r);
        if (*entry != FF_UNDECIDED) continue;
        *entry = (uint8_t)value;
        written |= 1u << r;
    }
    if (written) __atomic_fetch_or(&solve->fresh[~value & 1][group], written, __ATOMIC_RELAXED);
    waiting->settled += __builtin_popcount(written);
}

static inline void take_column(ff_retrograde *solve, ff_waiting *waiting, uint64_t group,
                               int column, uint32_t rows) {
    unsigned place = waiting->taken % WAITING;
    if (waiting->taken >= WAITING) settle_column(solve, waiting, place);
    const uint8_t *entries = group_entries(solve, group);
    for (int i = 0; i < solve->rows * solve->columns; i += CACHE_LINE)
        __builtin_prefetch(entries + i, 1);
    __builtin_prefetch(&solve->fresh[~waiting->value & 1][group], 1);
    waiting->columns[place].group = group;
    waiting->columns[place].wanted_rows = rows & ~(1u << column);
    waiting->columns[place].column = column;
    waiting->taken++;
}

static void settle_all(ff_retrograde *solve, ff_waiting *waiting) {
    unsigned left = waiting->taken < WAITING ? waiting->taken : WAITING;
    for (unsigned i = waiting->taken - left; i != waiting->taken; i++)
        settle_column(solve, waiting, i % WAITING);
    waiting->taken = 0;
}

typedef struct {
    const uint8_t *cells; /* the group's sequence */
    uint8_t free[FF_MAX_CELLS];
} ff_group;

/* Settles the decided parents of row r.  The row is (b0 b1 .. ; a1 a2 .. e),
 * its parents (f a1 a2 .. ; b0 b1 ..): group a1 .. b0 .., column the last b. */
static void settle_parents(ff_retrograde *solve, const ff_group *from, int r, ff_decided decided,
                           int entry, ff_waiting *waiting) {
    const ff_index *index = solve->index;
    const int half = index->rules.m - 1;
    uint8_t sequence[FF_MAX_PIECES];
    for (int i = 0; i < half; i++) sequence[i] = from->cells[half + i];
    sequence[half] = from->free[r];
    for (int i = 1; i < half; i++) sequence[half + i] = from->cells[i - 1];
    const ff_place group = ff_place_of(index, sequence, 2 * half, 2 * half);

    const uint8_t *image = index->symmetry.image[group.transform];
    uint32_t used = 0;
    for (int i = 0; i < 2 * half; i++) used |= ff_bit(image[sequence[i]]);
    const int column_cell = image[from->cells[half - 1]];
    const int oldest_cell = image[from->free[entry + (entry >= r)]];
    const uint32_t every_row = (1u << solve->rows) - 1;
    for (unsigned mirrors = group.stabiliser; mirrors; mirrors &= mirrors - 1) {
        const uint8_t *mirror = index->symmetry.image[__builtin_ctz(mirrors)];
        uint32_t one_row = 1u << ff_digit(used, mirror[oldest_cell]);
        uint32_t wanted = decided == EVERY_PARENT  ? every_row
                          : decided == ALL_BUT_ONE ? every_row & ~one_row
                                                   : one_row;
        take_column(solve, waiting, group.rank, ff_digit(used, mirror[column_cell]), wanted);
    }
}

static void propagate_group(ff_retrograde *solve, uint64_t group, uint32_t fresh_rows,
                            ff_cursor *cursor, int depth, ff_waiting *waiting) {
    const int columns = solve->columns;
    const uint8_t *entries = group_entries(solve, group);
    ff_group from;
    from.cells = NULL;
    for (; fresh_rows; fresh_rows &= fresh_rows - 1) {
        int r = __builtin_ctz(fresh_rows), entry = 0;
        const uint8_t *row = entries + r * columns;
        ff_decided decided = depth % 2 == 0 ? parents_that_win(row, columns, depth, &entry)
                                            : parents_that_lose(row, columns, &entry);
        if (decided == NO_PARENT) continue;
        if (from.cells == NULL) {
            ff_cursor_seek(cursor, group);
            from.cells = cursor->cells;
            ff_free_cells(solve->index, ff_cells_mask(cursor->cells, cursor->length), from.free);
        }
        settle_parents(solve, &from, r, decided, entry, waiting);
    }
}

int64_t ff_propagate(ff_retrograde *solve, int depth, ff_work *work) {
    if (depth + 2 > FF_DEEPEST) return FF_TOO_DEEP;
    ff_cursor cursor;
    ff_cursor_init(&cursor, solve->index, 2 * solve->index->rules.m - 2);
    ff_waiting waiting;
    waiting.taken = 0;
    waiting.value = depth + 2;
    waiting.settled = 0;
    uint32_t *fresh = solve->fresh[depth & 1];
    for (uint64_t first, end; ff_take(work, &first, &end);) {
        for (uint64_t group = first; group < end; group++) {
            uint32_t rows = fresh[group];
            if (rows == 0) continue;
            fresh[group] = 0;
            propagate_group(solve, group, rows, &cursor, depth, &waiting);
        }
    }
    settle_all(solve, &waiting);
    return waiting.settled;
}

int64_t ff_resume(ff_retrograde *solve, int depth, ff_work *work) {
    int64_t found = 0;
    for (uint64_t first, end; ff_take(work, &first, &end);) {
        for (uint64_t group = first; group < end; group++) {
            const uint8_t *entries = group_entries(solve, group);
            uint32_t rows = 0;
            for (int r = 0; r < solve->rows; r++) {
                uint32_t equal =
                    ff_entries_equal(entries + r * solve->columns, solve->columns, depth + 1);
                if (equal) rows |= 1u << r;
                found += __builtin_popcount(equal);
            }
            solve->fresh[depth & 1][group] = rows;
        }
    }
    return found;
}

/* ---- after the fixpoint -------------------------------------------------- */

int64_t ff_fold(ff_retrograde *solve) {
    const ff_index *index = solve->index;
    const int length = 2 * index->rules.m - 2, columns = solve->columns;
    if (length > index->rules.n) return (int64_t)index->sequences[length + 2];
    ff_cursor cursor;
    ff_cursor_init(&cursor, index, length);
    uint8_t free[FF_MAX_CELLS], *kept = solve->full;
    for (uint64_t group = 0; group < solve->groups; group++) {
        ff_cursor_seek(&cursor, group);
        const uint8_t *entry = group_entries(solve, group);
        ff_free_cells(index, ff_cells_mask(cursor.cells, length), free);
        for (int r = 0; r < solve->rows; r++) {
            unsigned fixing = cursor.stabiliser & index->symmetry.stabiliser[free[r]];
            int row_kept = ff_is_orbit_minimum(&index->symmetry, cursor.stabiliser, free[r]);
            for (int c = 0; c < columns; c++, entry++)
                if (row_kept &&
                    ff_is_orbit_minimum(&index->symmetry, fixing, free[c + (c >= r)]))
                    *kept++ = *entry;
        }
    }
    return kept - solve->full;
}

/* A row of slice s + 1 holds the successors (b0 b1 .. ; a0 a1 .. e) of one
 * position (a0 a1 .. ; b0 b1 ..) of slice s; its cells are b1 .. a0 a1 .. b0.
 * Puts the position's cells in their own order: a1 .. b0 b1 .. a0 b-last. */
static void parent_of_row(const uint8_t *row_cells, int slice, uint8_t *sequence) {
    const int movers = slice / 2, opponents = slice - movers;
    const uint8_t *mover = row_cells + opponents - 1, *later_opponents = row_cells;
    const uint8_t first_opponent = row_cells[slice - 1];
    int length = 0;
    for (int i = 1; i < movers; i++) sequence[length++] = mover[i];
    if (opponents > 1) {
        sequence[length++] = first_opponent;
        for (int i = 0; i + 2 < opponents; i++) sequence[length++] = later_opponents[i];
    }
    if (movers > 0) sequence[length++] = mover[0];
    sequence[length] = opponents > 1 ? later_opponents[opponents - 2] : first_opponent;
}

int64_t ff_fill_slice(const ff_index *index, uint8_t *table, int slice, ff_work *work) {
    const ff_symmetry *symmetry = &index->symmetry;
    const int group_length = slice - 1, opponents = slice - slice / 2;
    uint8_t *decided = table + index->slice_base[slice];
    const uint8_t *next_slice = table + index->slice_base[slice + 1];
    ff_cursor cursor;
    ff_cursor_init(&cursor, index, group_length);
    int64_t count = 0;
    for (uint64_t first, end; ff_take(work, &first, &end);) {
        ff_cursor_seek(&cursor, first);
        uint8_t ignored;
        const uint8_t *row = next_slice + ff_rank_of_beginning(index, cursor.cells, group_length,
                                                               slice + 1, &ignored);
        for (uint64_t group = first; group < end; group++) {
            ff_cursor_seek(&cursor, group);
            uint8_t row_cells[FF_MAX_PIECES], free[FF_MAX_CELLS];
            memcpy(row_cells, cursor.cells, (size_t)group_length);
            const uint32_t used = ff_cells_mask(cursor.cells, group_length);
            const uint32_t opponent = ff_cells_mask(cursor.cells, opponents - 1);
            const uint32_t opponent_lines = ff_completing(&index->rules, opponent);
            const int impossible = ff_has_line(&index->rules, used & ~opponent);
            const int rows = ff_free_cells(index, used, free);
            for (int r = 0; r < rows; r++) {
                if (!ff_is_orbit_minimum(symmetry, cursor.stabiliser, free[r])) continue;
                unsigned fixing = cursor.stabiliser & symmetry->stabiliser[free[r]];
                int columns = rows - 1;
                if (fixing != FF_IDENTITY_ONLY) {
                    columns = 0;
                    for (int c = 0; c < rows; c++)
                        columns += c != r && ff_is_orbit_minimum(symmetry, fixing, free[c]);
                }
                int value = impossible                         ? FF_IMPOSSIBLE
                            : opponent_lines >> free[r] & 1 ? FF_FINISHED
                                                               : ff_row_value(row, columns);
                row += columns;
                if (value == FF_UNDECIDED) continue;
                uint8_t sequence[FF_MAX_PIECES];
                row_cells[slice - 1] = free[r];
                parent_of_row(row_cells, slice, sequence);
                decided[ff_place_of(index, sequence, slice, slice).rank] = (uint8_t)value;
                count++;
            }
        }
    }
    return count;
}

void ff_fill_root(const ff_index *index, uint8_t *table) {
    table[0] = (uint8_t)ff_row_value(table + index->slice_base[1], (int)index->sequences[1]);
}
