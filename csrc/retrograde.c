#include "retrograde.h"

#include "group.h"
#include "row.h"
#include "tiles.h"

int ff_retrograde_init(ff_retrograde *solve, const ff_index *index, uint8_t *full,
                       uint8_t *fresh_even, uint8_t *fresh_odd) {
    const int group_length = 2 * index->rules.m - 2;
    memset(solve, 0, sizeof *solve);
    solve->index = index;
    solve->groups = index->sequences[group_length];
    solve->rows = index->rules.cells - group_length;
    solve->columns = solve->rows - 1;
    solve->tiles = ff_tile_count(index, group_length / 2, group_length / 2);
    solve->full = full;
    solve->fresh[0] = fresh_even;
    solve->fresh[1] = fresh_odd;
    return FF_OK;
}

/* A set of rows as `fresh` keeps it, and back: rows that share a bit are then all
 * in the set. */
static inline uint8_t folded(uint32_t rows) {
    return (uint8_t)(rows | rows >> 8 | rows >> 16 | rows >> 24);
}

static inline uint32_t unfolded(uint8_t fresh, int rows) {
    return fresh * 0x01010101u & ((1u << rows) - 1);
}

static inline uint8_t *group_entries(const ff_retrograde *solve, uint64_t group) {
    return solve->full + group * (uint64_t)(solve->rows * solve->columns);
}

static inline void start_tiles(const ff_retrograde *solve, ff_tiles *tiles) {
    const int half = solve->index->rules.m - 1;
    ff_tiles_init(tiles, solve->index, half, half, 0);
}

/* Writes go all over the table, so each is prefetched, and delayed until this many
 * later ones have been prefetched. */
enum { WAITING = 32, CACHE_LINE = 64 };

/* ---- finished and impossible positions ---------------------------------- */

static int64_t begin_group(ff_retrograde *solve, uint64_t group, uint32_t used,
                           uint32_t mover_lines, uint32_t opponent_lines) {
    const int rows = solve->rows, columns = solve->columns;
    uint8_t free[FF_MAX_CELLS];
    ff_free_cells(solve->index, used, free);
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
    solve->fresh[0][group] = folded(fresh);
    return finished;
}

static int64_t begin_run(ff_retrograde *solve, const ff_tiles *tiles, ff_run *run) {
    const ff_rules *rules = &solve->index->rules;
    const int half = rules->m - 1;
    const uint32_t mover = ff_cells_mask(run->cells, half);
    const uint32_t mover_lines = ff_completing(rules, mover);
    uint32_t known = 0; /* all of the opponent's pieces but the last */
    ff_rules in_reach = *rules;
    int64_t finished = 0;
    for (uint64_t group = run->first; group < run->end; group++) {
        ff_read_group(tiles, run, group);
        const uint32_t opponent = ff_cells_mask(run->cells + half, half);
        if (ff_cells_mask(run->cells + half, half - 1) != known) {
            known = ff_cells_mask(run->cells + half, half - 1);
            in_reach = ff_lines_in_reach(rules, known, 2);
        }
        const uint32_t opponent_lines = ff_completing(&in_reach, opponent);
        if (((mover_lines | opponent_lines) & ~(mover | opponent)) == 0) continue;
        finished += begin_group(solve, group, mover | opponent, mover_lines, opponent_lines);
    }
    return finished;
}

int64_t ff_begin(ff_retrograde *solve, ff_work *work) {
    ff_tiles tiles;
    ff_run run;
    start_tiles(solve, &tiles);
    int64_t finished = 0;
    while (ff_take_run(&tiles, work, &run)) finished += begin_run(solve, &tiles, &run);
    return finished;
}

/* ---- one ply of depth ---------------------------------------------------- */

/* Which parents a row decides now: none, all of them, all but one, or exactly one.
 * `entry` is that one's entry in the row. */
typedef enum { NO_PARENT, EVERY_PARENT, ALL_BUT_ONE, ONE_PARENT } ff_decided;

/* By the row's lost entries, and those of them lost at an earlier depth. */
static inline ff_decided parents_that_win(uint32_t lost, uint32_t before, int *entry) {
    if (lost == before || before & (before - 1)) return NO_PARENT; /* two decided all parents */
    if ((lost & (lost - 1)) == 0) {
        *entry = __builtin_ctz(lost);
        return ALL_BUT_ONE;
    }
    if (before == 0) return EVERY_PARENT;
    *entry = __builtin_ctz(before);
    return ONE_PARENT;
}

/* By the row's entries that are not won. */
static inline ff_decided parents_that_lose(uint32_t missing, int *entry) {
    if (missing & (missing - 1)) return NO_PARENT;
    if (missing == 0) return EVERY_PARENT;
    *entry = __builtin_ctz(missing);
    return ONE_PARENT;
}

/* Prefetches a group, to read or to write it. */
FF_INLINE void prefetch_group(const ff_retrograde *solve, uint64_t group, const int write) {
    const uint8_t *entries = group_entries(solve, group);
    const int size = solve->rows * solve->columns;
    for (int i = 0; i < size; i += CACHE_LINE) __builtin_prefetch(entries + i, write);
    __builtin_prefetch(entries + size - 1, write);
}

static inline int is_small(const ff_retrograde *solve) { return solve->rows <= FF_SMALL_ROWS; }

/* Columns that are decided but not yet written. */
typedef struct {
    struct {
        uint64_t group;
        uint64_t wanted; /* rows, or the packed entries of a small group (group.h) */
        int column;      /* numbered by free cell, as rows are; its own row has no entry */
    } columns[WAITING];
    uint64_t packed[FF_SMALL_ROWS]; /* the entries of each column of a small group */
    unsigned taken; /* columns ever taken in; the last WAITING of them wait */
    int value;
    int64_t settled;
} ff_waiting;

/* Where the entry of a column is in its group. */
static inline int entry_of(const ff_retrograde *solve, int row, int column) {
    return row * solve->columns + column - (column > row);
}

/* Write the value into the undecided entries of the column in this place. */
static inline void settle_column(ff_retrograde *solve, ff_waiting *waiting, unsigned place) {
    const uint64_t group = waiting->columns[place].group;
    const int column = waiting->columns[place].column, value = waiting->value;
    uint8_t *entries = group_entries(solve, group);
    uint32_t written = 0;
    for (uint32_t rest = (uint32_t)waiting->columns[place].wanted; rest; rest &= rest - 1) {
        const int r = __builtin_ctz(rest);
        uint8_t *entry = entries + entry_of(solve, r, column);
        const uint8_t before = *entry; /* no other thread writes to this group */
        const uint32_t undecided = before == FF_UNDECIDED;
        ff_shared_store(entry, before | (uint8_t)(value & -(int)undecided));
        written |= undecided << r;
    }
    solve->fresh[~value & 1][group] |= folded(written);
    waiting->settled += __builtin_popcount(written);
}

static inline void settle_packed(ff_retrograde *solve, ff_waiting *waiting, unsigned place) {
    const uint64_t group = waiting->columns[place].group;
    uint8_t *entries = group_entries(solve, group);
    const int size = solve->rows * solve->columns;
    const uint64_t undecided = ff_entries_of(entries, size, waiting->value).undecided;
    uint64_t written = undecided & waiting->columns[place].wanted;
    solve->fresh[~waiting->value & 1][group] |= written != 0;
    waiting->settled += __builtin_popcountll(written);
    for (; written; written &= written - 1)
        ff_shared_store(&entries[__builtin_ctzll(written)], (uint8_t)waiting->value);
}

static inline void settle(ff_retrograde *solve, ff_waiting *waiting, unsigned place) {
    if (is_small(solve))
        settle_packed(solve, waiting, place);
    else
        settle_column(solve, waiting, place);
}

/* Which parents a decision is about: all of a column but its own row, or all of
 * them but this one, or this one. */
static inline uint64_t wanted_entries(const ff_retrograde *solve, const ff_waiting *waiting,
                                      int column, ff_decided decided, int row) {
    uint64_t every = (1u << solve->rows) - 1 - (1u << column), single = (uint64_t)1 << row;
    if (is_small(solve)) {
        every = waiting->packed[column];
        single = (uint64_t)1 << entry_of(solve, row, column);
    }
    return decided == EVERY_PARENT ? every : decided == ALL_BUT_ONE ? every & ~single : single;
}

static inline void take_column(ff_retrograde *solve, ff_waiting *waiting, uint64_t group,
                               int column, ff_decided decided, int row) {
    unsigned place = waiting->taken % WAITING;
    if (waiting->taken >= WAITING) settle(solve, waiting, place);
    prefetch_group(solve, group, 1);
    __builtin_prefetch(&solve->fresh[~waiting->value & 1][group], 1);
    waiting->columns[place].group = group;
    waiting->columns[place].wanted = wanted_entries(solve, waiting, column, decided, row);
    waiting->columns[place].column = column;
    waiting->taken++;
}

static void start_waiting(const ff_retrograde *solve, ff_waiting *waiting, int value) {
    memset(waiting, 0, sizeof *waiting);
    waiting->value = value;
    if (!is_small(solve)) return;
    for (int c = 0; c < solve->rows; c++)
        for (int r = 0; r < solve->rows; r++)
            if (r != c) waiting->packed[c] |= (uint64_t)1 << entry_of(solve, r, c);
}

static void settle_all(ff_retrograde *solve, ff_waiting *waiting) {
    unsigned left = waiting->taken < WAITING ? waiting->taken : WAITING;
    for (unsigned i = waiting->taken - left; i != waiting->taken; i++)
        settle(solve, waiting, i % WAITING);
    waiting->taken = 0;
}

/* Where the parents of a group's rows lie.  Row r is (b0 b1 .. ; a1 a2 .. e), its
 * parents are (f a1 a2 .. ; b0 b1 ..): group a1 .. ah b0 b1 .., column bh. */
typedef struct {
    const uint8_t *cells; /* b1 .. bh a1 .. ah */
    uint8_t free[FF_MAX_CELLS];
    ff_open_place place; /* b0 open; usable if the a's break the symmetry */
    int usable;
} ff_parents;

static inline void locate_parents(const ff_index *index, const uint8_t *cells, ff_parents *to) {
    const int half = index->rules.m - 1;
    to->cells = cells;
    ff_free_cells(index, ff_cells_mask(cells, 2 * half), to->free);
    to->usable = ff_open_place_init(&to->place, index, cells + half, half, cells, half - 1);
}

/* Takes in the column of row r's parents. */
static inline void take_parents(ff_retrograde *solve, const ff_parents *to, int r,
                                ff_decided decided, int entry, ff_waiting *waiting) {
    const uint8_t *image = to->place.image;
    const int cell = image[to->free[r]];
    const uint32_t used = to->place.used | ff_bit(cell);
    const int oldest = ff_digit(used, image[to->free[entry + (entry >= r)]]);
    const int newest = ff_digit(used, image[to->cells[solve->index->rules.m - 2]]);
    take_column(solve, waiting, ff_open_rank(&to->place, cell), newest, decided, oldest);
}

/* The same where symmetry is not broken early, or not at all: then the column's
 * mirror images are taken in too. */
static void take_mirrored_parents(ff_retrograde *solve, const ff_parents *to, int r,
                                  ff_decided decided, int entry, ff_waiting *waiting) {
    const ff_index *index = solve->index;
    const int half = index->rules.m - 1;
    uint8_t sequence[FF_MAX_PIECES];
    memcpy(sequence, to->cells + half, (size_t)half);
    sequence[half] = to->free[r];
    memcpy(sequence + half + 1, to->cells, (size_t)(half - 1));
    const ff_place group = ff_place_of(index, sequence, 2 * half, 2 * half);

    const uint8_t *image = index->symmetry.image[group.transform];
    uint32_t used = 0;
    for (int i = 0; i < 2 * half; i++) used |= ff_bit(image[sequence[i]]);
    const int newest_cell = image[to->cells[half - 1]];
    const int oldest_cell = image[to->free[entry + (entry >= r)]];
    for (unsigned mirrors = group.stabiliser; mirrors; mirrors &= mirrors - 1) {
        const uint8_t *mirror = index->symmetry.image[__builtin_ctz(mirrors)];
        const int oldest = ff_digit(used, mirror[oldest_cell]);
        take_column(solve, waiting, group.rank, ff_digit(used, mirror[newest_cell]), decided,
                    oldest);
    }
}

/* Takes in the column that row r decides; the first row of a group to decide any
 * locates the parents. */
FF_INLINE void take_decided(ff_retrograde *solve, uint64_t group, const ff_tiles *tiles,
                            ff_run *run, ff_parents *to, int r, ff_decided decided, int entry,
                            ff_waiting *waiting) {
    if (decided == NO_PARENT) return;
    if (to->cells == NULL) {
        ff_read_group(tiles, run, group);
        locate_parents(solve->index, run->cells, to);
    }
    if (to->usable)
        take_parents(solve, to, r, decided, entry, waiting);
    else
        take_mirrored_parents(solve, to, r, decided, entry, waiting);
}

FF_INLINE void propagate_group(ff_retrograde *solve, uint64_t group, uint32_t fresh_rows,
                               const ff_tiles *tiles, ff_run *run, int depth,
                               ff_waiting *waiting) {
    const int columns = solve->columns;
    const uint8_t *entries = group_entries(solve, group);
    ff_parents to;
    to.cells = NULL;
    for (; fresh_rows; fresh_rows &= fresh_rows - 1) {
        int r = __builtin_ctz(fresh_rows), entry = 0;
        const ff_entries row = ff_entries_of(entries + r * columns, columns, depth + 1);
        const uint32_t lost = (uint32_t)row.lost, undecided = (uint32_t)row.undecided;
        const ff_decided decided =
            depth % 2 == 0 ? parents_that_win(lost, lost & ~(uint32_t)row.equal, &entry)
                           : parents_that_lose(lost | undecided, &entry);
        take_decided(solve, group, tiles, run, &to, r, decided, entry, waiting);
    }
}

/* The same for all rows of a small group together: of most rows that gained an
 * entry the parents are decided already, or not yet. */
FF_INLINE void propagate_small_group(ff_retrograde *solve, uint64_t group, const ff_tiles *tiles,
                                     ff_run *run, int depth, ff_waiting *waiting) {
    const int columns = solve->columns, size = solve->rows * columns;
    const uint8_t *entries = group_entries(solve, group);
    const ff_entries all = ff_entries_of(entries, size, depth + 1);
    const uint64_t hindering = depth % 2 == 0 ? all.lost & ~all.equal : all.lost | all.undecided;
    const uint64_t lost_by_rows = ff_by_rows(all.lost, columns);
    const uint64_t hindering_by_rows = ff_by_rows(hindering, columns);
    uint64_t rows = ff_rows_with_any(ff_by_rows(all.equal, columns)) &
                    ~ff_rows_with_two(hindering_by_rows);
    ff_parents to;
    to.cells = NULL;
    for (; rows; rows &= rows - 1) {
        const int bit = __builtin_ctzll(rows) & ~7;
        const uint32_t hindering_row = hindering_by_rows >> bit & 0x7F;
        int entry = 0;
        const ff_decided decided =
            depth % 2 == 0 ? parents_that_win(lost_by_rows >> bit & 0x7F, hindering_row, &entry)
                           : parents_that_lose(hindering_row, &entry);
        take_decided(solve, group, tiles, run, &to, bit / 8, decided, entry, waiting);
    }
}

/* Prefetches a run's part of `fresh`, a run ahead of its use. */
static inline void prefetch_fresh(const ff_retrograde *solve, const ff_run *run, int depth) {
    const uint8_t *fresh = solve->fresh[depth & 1];
    for (uint64_t group = run->first; group < run->end; group += CACHE_LINE)
        __builtin_prefetch(&fresh[group]);
    __builtin_prefetch(&fresh[run->end - 1]);
}

/* The next group of the run with a fresh row, from this one on; or the end. */
static inline uint64_t next_fresh(const uint8_t *fresh, uint64_t group, uint64_t end) {
    uint64_t eight;
    for (; group + sizeof eight <= end; group += sizeof eight) {
        memcpy(&eight, &fresh[group], sizeof eight);
        if (eight) break;
    }
    while (group < end && fresh[group] == 0) group++;
    return group;
}

/* Collects and prefetches groups with fresh rows, then processes them together. */
FF_INLINE void propagate_run(ff_retrograde *solve, const ff_tiles *tiles, ff_run *run, int depth,
                             ff_waiting *waiting) {
    enum { TOGETHER = 64 };
    uint8_t *fresh = solve->fresh[depth & 1];
    uint64_t groups[TOGETHER], group = next_fresh(fresh, run->first, run->end);
    while (group < run->end) {
        int count = 0;
        while (group < run->end && count < TOGETHER) {
            prefetch_group(solve, group, 0);
            groups[count++] = group;
            group = next_fresh(fresh, group + 1, run->end);
        }
        for (int i = 0; i < count; i++) {
            const uint32_t rows = unfolded(fresh[groups[i]], solve->rows);
            fresh[groups[i]] = 0;
            if (is_small(solve))
                propagate_small_group(solve, groups[i], tiles, run, depth, waiting);
            else
                propagate_group(solve, groups[i], rows, tiles, run, depth, waiting);
        }
    }
}

FF_INLINE int64_t propagate(ff_retrograde *solve, int depth, ff_work *work) {
    ff_waiting waiting;
    start_waiting(solve, &waiting, depth + 2);
    ff_tiles tiles;
    ff_run runs[2];
    start_tiles(solve, &tiles);
    int left = ff_take_run(&tiles, work, &runs[0]);
    for (int now = 0; left; now = !now) {
        left = ff_take_run(&tiles, work, &runs[!now]);
        if (left) prefetch_fresh(solve, &runs[!now], depth);
        propagate_run(solve, &tiles, &runs[now], depth, &waiting);
    }
    settle_all(solve, &waiting);
    return waiting.settled;
}

int64_t ff_propagate(ff_retrograde *solve, int depth, ff_work *work) {
    if (depth + 2 > FF_DEEPEST) return FF_TOO_DEEP;
    ff_retrograde known = *solve;
    switch (known.rows) {
    case 8: /* 4 x 4, m = 5 */
        known.rows = 8, known.columns = 7;
        return propagate(&known, depth, work);
    case 10: /* 4 x 4, m = 4 */
        known.rows = 10, known.columns = 9;
        return propagate(&known, depth, work);
    default:
        return propagate(&known, depth, work);
    }
}

static int64_t resume_group(ff_retrograde *solve, uint64_t group, int depth) {
    const uint8_t *entries = group_entries(solve, group);
    int64_t settled = 0;
    uint32_t rows = 0;
    for (int r = 0; r < solve->rows; r++) {
        const uint8_t *row = entries + r * solve->columns;
        const uint64_t equal = ff_entries_of(row, solve->columns, depth + 1).equal;
        if (equal) rows |= 1u << r;
        settled += __builtin_popcountll(equal);
    }
    solve->fresh[depth & 1][group] = folded(rows);
    return settled;
}

int64_t ff_resume(ff_retrograde *solve, int depth, ff_work *work) {
    ff_tiles tiles;
    ff_run run;
    start_tiles(solve, &tiles);
    int64_t settled = 0;
    while (ff_take_run(&tiles, work, &run))
        for (uint64_t group = run.first; group < run.end; group++)
            settled += resume_group(solve, group, depth);
    return settled;
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
