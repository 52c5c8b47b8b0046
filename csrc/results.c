#include "nodes.h"
#include "results_groups.h"
#include "values.h"

/* ---- init ------------------------------------------------------------------- */

uint64_t ff_results_blocks(const ff_index *index) {
    return index->sequences[ff_block_cells(index->rules.m - 1)];
}

int ff_results_init(ff_results_solve *solve, const ff_index *index, uint8_t *states,
                    uint8_t *before, uint8_t *touched, uint16_t *completing,
                    uint64_t first_block) {
    const int half = index->rules.m - 1;
    memset(solve, 0, sizeof *solve);
    solve->index = index;
    solve->groups = index->sequences[2 * half];
    solve->rows = index->rules.cells - 2 * half;
    solve->group_bytes = solve->rows <= FF_WORD_COLUMNS     ? 4
                         : solve->rows <= FF_DOUBLE_COLUMNS ? 8
                                                            : solve->rows + 1;
    solve->tiles = ff_tile_count(index, half, half);
    solve->blocks = ff_results_blocks(index);
    solve->states = states;
    solve->before = before;
    solve->touched = touched;
    if (ff_block_cells(half) > index->rules.n) {
        solve->in_block = (uint32_t)ff_most_in_block(index);
        solve->in_block_inverse = UINT64_MAX / solve->in_block + 1;
    }
    if (index->rules.cells <= 16) {
        solve->completing = completing;
        for (uint32_t pieces = 0; pieces < 65536; pieces++)
            completing[pieces] = (uint16_t)ff_completing(&index->rules, pieces);
    }
    solve->first_block = first_block;
    solve->first_group = ff_results_first_group(solve, first_block);
    return FF_OK;
}

uint64_t ff_results_first_group(const ff_results_solve *solve, uint64_t block) {
    if (block >= solve->blocks) return solve->groups;
    ff_blocks blocks;
    ff_run run;
    ff_blocks_init(&blocks, solve->index);
    ff_read_block(&blocks, block, &run);
    return run.first;
}

/* ---- begin ------------------------------------------------------------------ */

/* The positions of a group that count: all of them, or, where a symmetry leaves the group in
 * place, one of each set of mirror images. */
typedef struct {
    uint32_t columns;                       /* for the positions with 2m - 1 pieces */
    uint32_t rows_of_column[FF_MAX_CELLS];  /* for the full ones */
    uint32_t columns_of_row[FF_MAX_CELLS];
} ff_counted;

static void count_all(const ff_results_solve *solve, ff_counted *counted) {
    counted->columns = ff_bit(solve->rows) - 1;
    for (int i = 0; i < solve->rows; i++)
        counted->rows_of_column[i] = counted->columns_of_row[i] = counted->columns & ~ff_bit(i);
}

static void count_unmirrored(const ff_results_solve *solve, const uint8_t *cells,
                             unsigned stabiliser, ff_counted *counted) {
    const ff_symmetry *symmetry = &solve->index->symmetry;
    uint8_t free[FF_MAX_CELLS];
    ff_free_cells(solve->index, ff_cells_mask(cells, 2 * half_of(solve)), free);
    memset(counted, 0, sizeof *counted);
    for (int r = 0; r < solve->rows; r++) {
        if (!ff_is_orbit_minimum(symmetry, stabiliser, free[r])) continue;
        const unsigned fixing = stabiliser & symmetry->stabiliser[free[r]];
        counted->columns |= ff_bit(r);
        for (int c = 0; c < solve->rows; c++) {
            if (c == r || !ff_is_orbit_minimum(symmetry, fixing, free[c])) continue;
            counted->columns_of_row[r] |= ff_bit(c);
            counted->rows_of_column[c] |= ff_bit(r);
        }
    }
}

/* What one thread has counted, by table byte. */
typedef struct {
    uint64_t last[4], full[4];
    ff_counted all; /* of a group without mirror images */
} ff_tally;

enum { TALLY_IMPOSSIBLE = 0, TALLY_FINISHED = 1, TALLY_WON = 2, TALLY_LOST = 3 };

static void add_tally(const ff_tally *tally, int what, int byte, ff_results_counts *counts) {
    __atomic_fetch_add(&counts->last[byte], tally->last[what], __ATOMIC_RELAXED);
    __atomic_fetch_add(&counts->full[byte], tally->full[what], __ATOMIC_RELAXED);
}

FF_INLINE void begin_group(const ff_results_solve *solve, uint64_t group, const uint8_t *cells,
                           unsigned stabiliser, ff_line_cells lines, const int rows,
                           ff_tally *tally) {
    ff_counted mirrored;
    const ff_counted *counted = &tally->all;
    if (stabiliser != FF_IDENTITY_ONLY) {
        count_unmirrored(solve, cells, stabiliser, &mirrored);
        counted = &mirrored;
    }
    const int has_line = lines.mover_line;
    const uint32_t finished = has_line ? 0 : lines.opponent;
    tally->last[TALLY_IMPOSSIBLE] +=
        has_line ? (unsigned)__builtin_popcount(counted->columns) : 0u;
    tally->last[TALLY_FINISHED] += (unsigned)__builtin_popcount(counted->columns & finished);
    uint8_t columns[FF_MAX_CELLS], *at = group_at(solve, group);
    int any = 0;
    for (int c = 0; c < rows; c++) {
        const uint32_t in_play = counted->rows_of_column[c] & ~lines.mover;
        tally->full[TALLY_IMPOSSIBLE] +=
            (unsigned)__builtin_popcount(counted->rows_of_column[c] & lines.mover);
        columns[c] = 0;
        if (lines.opponent >> c & 1) {
            tally->full[TALLY_FINISHED] += (unsigned)__builtin_popcount(in_play);
            continue;
        }
        const uint32_t wins = has_line ? 0 : lines.mover & ~ff_bit(c);
        if (wins == 0) continue;
        columns[c] = wins & (wins - 1) ? FF_WIN_SEVERAL : (uint8_t)(__builtin_ctz(wins) + 1);
        any = 1;
    }
    if (!any) return;
    if (is_word(solve) || is_double(solve)) {
        uint64_t bytes = 0;
        for (int c = 0; c < rows; c++) bytes |= (uint64_t)columns[c] << 8 * c;
        if (is_double(solve))
            store_double(at, bytes | double_flags(FF_TOUCHED));
        else
            store_word(at, ff_gather_word(bytes) | (uint32_t)FF_TOUCHED << FF_FLAGS_SHIFT);
    } else {
        memcpy(at, columns, (size_t)rows);
        at[rows] = FF_TOUCHED;
    }
}

FF_INLINE void begin(const ff_results_solve *solve, ff_results_counts *counts, ff_work *work,
                     const int rows) {
    ff_blocks blocks;
    ff_run run;
    ff_tally tally;
    ff_blocks_init(&blocks, solve->index);
    memset(&tally, 0, sizeof tally);
    count_all(solve, &tally.all);
    for (uint64_t block, end; ff_take(work, &block, &end);)
        for (; block < end; block++) {
            ff_read_block(&blocks, block, &run);
            const ff_block_pieces pieces = pieces_of(solve, &run);
            for (uint64_t group = run.first; group < run.end; group++) {
                const unsigned stabiliser = ff_read_block_group(&blocks, &run, group);
                const ff_line_cells lines = line_cells(solve, &pieces, &run);
                if (lines.mover | lines.opponent)
                    begin_group(solve, group, run.cells, stabiliser, lines, rows, &tally);
            }
            solve->touched[block] = 1;
        }
    add_tally(&tally, TALLY_IMPOSSIBLE, FF_IMPOSSIBLE, counts);
    add_tally(&tally, TALLY_FINISHED, FF_FINISHED, counts);
}

void ff_results_begin(const ff_results_solve *solve, ff_results_counts *counts, ff_work *work) {
    ff_results_solve known = *solve;
    switch (solve->rows) {
    case 6: /* 4 x 4, m = 6 */
        known.rows = 6, known.group_bytes = 4;
        begin(&known, counts, work, 6);
        return;
    case 8: /* 4 x 4, m = 5 */
        known.rows = 8, known.group_bytes = 8;
        begin(&known, counts, work, 8);
        return;
    default:
        begin(&known, counts, work, solve->rows);
    }
}

void ff_results_begin_before(const ff_results_solve *solve, ff_work *work) {
    const ff_index *index = solve->index;
    const int half = half_of(solve);
    for (uint64_t rank, end; ff_take(work, &rank, &end);) {
        ff_reader reader;
        ff_reader_init(&reader, index, 2 * half, rank);
        uint64_t group = reader.group + 1;
        uint32_t movers = 0, opponents = 0; /* without the pieces that come last in the order */
        for (; rank < end; rank++, ff_reader_next(&reader)) {
            if (group != reader.group) {
                group = reader.group;
                movers = ff_cells_mask(reader.cells, half - 1);
                opponents = ff_cells_mask(reader.cells + half - 1, half - 1);
            }
            const uint32_t mover = movers | ff_bit(reader.cells[2 * half - 2]);
            const uint32_t opponent = opponents | ff_bit(reader.cells[2 * half - 1]);
            uint8_t value = FF_UNDECIDED;
            if (cells_completing(solve, mover) & ~(mover | opponent)) value = FF_FINISHED + 1;
            if (cells_completing(solve, opponent) & opponent) value = FF_FINISHED;
            if (cells_completing(solve, mover) & mover) value = FF_IMPOSSIBLE;
            if (value != FF_UNDECIDED) solve->before[rank] = value;
        }
    }
}

/* ---- commit ----------------------------------------------------------------- */

FF_INLINE uint8_t column_in(const ff_results_solve *solve, const uint8_t *at, int column) {
    if (!is_word(solve)) return at[column] & 0x7F;
    const uint32_t field = load_word(at) >> FF_COLUMN_BITS * column & 0x1F;
    return (uint8_t)((field & 7) | (field >> 3) << 5);
}

/* The rows that a column which changed in this pass wins now: with one winning cell all but that
 * one, with several all; and if there was one before, only that. */
static inline uint32_t newly_won(uint8_t column) {
    const uint32_t cell = column & FF_WIN_CELL, one = cell ? ff_bit((int)cell - 1) : 0;
    if (column & FF_WIN_OLD) return one;
    return column & FF_WIN_SEVERAL ? ~UINT32_C(0) : ~one;
}

FF_INLINE int commit_group(const ff_results_solve *solve, uint8_t *at, const ff_run *run,
                           unsigned stabiliser, ff_line_cells lines, const int rows,
                           ff_tally *tally) {
    ff_counted mirrored;
    const ff_counted *counted = &tally->all;
    if (stabiliser != FF_IDENTITY_ONLY) {
        count_unmirrored(solve, run->cells, stabiliser, &mirrored);
        counted = &mirrored;
    }
    const ff_group_columns columns = columns_at(solve, at);
    const ff_group_columns next = ff_columns_committed(&columns, rows);
    const uint32_t old_none = ff_none_before(&columns, rows);
    const uint32_t now_none = ff_none_before(&next, rows);
    const uint32_t gained = old_none & ~now_none;
    tally->last[TALLY_WON] += (unsigned)__builtin_popcount(gained & counted->columns);
    for (uint32_t rest = ff_columns_that_differ(&columns, &next, rows); rest; rest &= rest - 1) {
        const int c = __builtin_ctz(rest);
        const uint32_t won = newly_won(column_in(solve, at, c)) & counted->rows_of_column[c];
        tally->full[TALLY_WON] += (unsigned)__builtin_popcount(won & ~lines.mover);
    }

    int fresh = 0;
    if (ff_may_lose(now_none)) {
        const ff_winning old = ff_winning_before(&columns, rows);
        const ff_winning now = ff_winning_before(&next, rows);
        fresh = now.none == 0 && old.none != 0;
        for (int r = 0; r < rows; r++) {
            if (lines.mover >> r & 1) continue;
            const uint32_t missing = ff_missing(&now, r), before = ff_missing(&old, r);
            if (missing & (missing - 1) || missing == before) continue;
            const uint32_t lost = ff_lost_parents(missing, r, lines.every, lines.opponent) &
                                  ~ff_lost_parents(before, r, lines.every, lines.opponent);
            tally->full[TALLY_LOST] +=
                (unsigned)__builtin_popcount(lost & counted->columns_of_row[r]);
            tally->last[TALLY_LOST] += missing == 0 && (counted->columns >> r & 1);
            fresh |= missing == 0 || lost != 0;
        }
    }
    put_columns(solve, at, &next, fresh ? FF_FRESH : 0);
    return fresh;
}

/* The same for up to eight columns, where no two positions are mirror images. */
FF_INLINE int commit_small_group(const ff_results_solve *solve, uint8_t *at, ff_line_cells lines,
                                 const int rows, ff_tally *tally) {
    const uint32_t every = ff_bit(rows) - 1, in_play = every & ~lines.mover;
    const ff_group_columns columns = columns_at(solve, at);
    const ff_group_columns next = ff_columns_committed(&columns, rows);
    const uint64_t then = ff_columns_to_double(&columns), now = ff_columns_to_double(&next);
    const uint32_t old = ff_columns_with(then, 5) & every;
    const uint32_t several = ff_columns_with(then, 6) & every;
    const uint32_t known = ff_columns_with(now, 5) & every, gained = known & ~old;
    /* Rows that a lone cell leaves out, or that a second cell adds: one for each column whose lone
     * cell is in play. */
    const uint64_t lone = ff_only_before(then | FF_EACH * FF_WIN_OLD) & ff_whole_rows(in_play);
    const uint64_t left_out = lone & FF_EACH * (gained & ~several);
    const uint64_t added = lone & FF_EACH * (old & several);
    tally->last[TALLY_WON] += (unsigned)__builtin_popcount(gained);
    tally->full[TALLY_WON] +=
        (uint64_t)(__builtin_popcount(gained) * __builtin_popcount(in_play)) -
        (unsigned)__builtin_popcount(gained & in_play) -
        (unsigned)__builtin_popcountll(left_out) + (unsigned)__builtin_popcountll(added);

    int fresh = 0;
    const uint32_t none = every & ~known, none_then = every & ~old;
    if (ff_may_lose(none)) {
        const uint64_t others = ff_other_rows(rows, lines.mover);
        const uint64_t missing = ff_missing_by_rows(now, none);
        const uint64_t missing_then = ff_missing_by_rows(then, none_then);
        uint64_t complete, complete_then;
        uint64_t lost = ff_lost_by_rows(missing, others, lines.opponent, &complete);
        lost &= ~ff_lost_by_rows(missing_then, others, lines.opponent, &complete_then);
        complete &= ~complete_then & ff_whole_rows(in_play);
        tally->full[TALLY_LOST] += (unsigned)__builtin_popcountll(lost);
        tally->last[TALLY_LOST] += (unsigned)__builtin_popcountll(complete);
        fresh = (lost | complete) != 0 || (none == 0 && none_then != 0);
    }
    put_columns(solve, at, &next, fresh ? FF_FRESH : 0);
    return fresh;
}

FF_INLINE int64_t commit_block(const ff_results_solve *solve, const ff_blocks *blocks, ff_run *run,
                               const int rows, ff_tally *tally) {
    int64_t fresh = 0;
    uint8_t *at = group_at(solve, run->first);
    const ff_block_pieces pieces = pieces_of(solve, run);
    const uint64_t count = run->end - run->first;
    const int either = FF_TOUCHED | FF_FRESH;
    for (uint64_t i = next_flagged(solve, at, 0, count, either); i < count;
         i = next_flagged(solve, at, i + 1, count, either)) {
        uint8_t *group = at + i * (uint64_t)solve->group_bytes;
        if (flags_at(solve, group) & FF_TOUCHED) {
            const unsigned stabiliser = ff_read_block_group(blocks, run, run->first + i);
            const ff_line_cells lines = line_cells(solve, &pieces, run);
            if (rows <= FF_DOUBLE_COLUMNS && stabiliser == FF_IDENTITY_ONLY)
                fresh += commit_small_group(solve, group, lines, rows, tally);
            else
                fresh += commit_group(solve, group, run, stabiliser, lines, rows, tally);
        } else {
            const ff_group_columns columns = columns_at(solve, group);
            put_columns(solve, group, &columns, 0);
        }
    }
    return fresh;
}

FF_INLINE int64_t commit(const ff_results_solve *solve, int depth, ff_results_counts *counts,
                         ff_work *work, const int rows) {
    ff_blocks blocks;
    ff_run run;
    ff_tally tally;
    int64_t fresh = 0;
    ff_blocks_init(&blocks, solve->index);
    memset(&tally, 0, sizeof tally);
    count_all(solve, &tally.all);
    for (uint64_t block, end; ff_take(work, &block, &end);)
        for (; block < end; block++) {
            uint8_t *touched = &solve->touched[block], *to_settle = touched + solve->blocks;
            if (solve->in_block && !(*touched | *to_settle)) continue;
            ff_read_block(&blocks, block, &run);
            const int64_t in_block = commit_block(solve, &blocks, &run, rows, &tally);
            *touched = 0;
            *to_settle = in_block != 0;
            fresh += in_block;
        }
    add_tally(&tally, TALLY_WON, depth + 2, counts);
    add_tally(&tally, TALLY_LOST, depth + 3, counts);
    return fresh;
}

int64_t ff_results_commit(const ff_results_solve *solve, int depth, ff_results_counts *counts,
                          ff_work *work) {
    if (depth + 4 > FF_DEEPEST) return FF_TOO_DEEP;
    ff_results_solve known = *solve;
    switch (solve->rows) {
    case 6: /* 4 x 4, m = 6 */
        known.rows = 6, known.group_bytes = 4;
        return commit(&known, depth, counts, work, 6);
    case 8: /* 4 x 4, m = 5 */
        known.rows = 8, known.group_bytes = 8;
        return commit(&known, depth, counts, work, 8);
    case 10: /* 4 x 4, m = 4 */
        known.rows = 10, known.group_bytes = 11;
        return commit(&known, depth, counts, work, 10);
    default:
        return commit(&known, depth, counts, work, solve->rows);
    }
}
