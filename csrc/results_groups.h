/* results_groups.h -- the groups of a solve for results: how they lie in memory, and where the
 * lines are.
 *
 * Included by results.c and results_settle.c only.
 */
#ifndef FF_RESULTS_GROUPS_H
#define FF_RESULTS_GROUPS_H

#include "blocks.h"
#include "results.h"
#include "winning.h"

/* ---- how the groups lie in memory ------------------------------------------ */

static inline int half_of(const ff_results_solve *solve) { return solve->index->rules.m - 1; }
FF_INLINE int is_word(const ff_results_solve *solve) { return solve->group_bytes == 4; }
FF_INLINE int is_double(const ff_results_solve *solve) { return solve->group_bytes == 8; }

FF_INLINE uint8_t *group_at(const ff_results_solve *solve, uint64_t group) {
    return solve->states + (group - solve->first_group) * (uint64_t)solve->group_bytes;
}

static inline uint32_t load_word(const uint8_t *at) {
    return __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_RELAXED);
}

static inline void store_word(uint8_t *at, uint32_t word) {
    __atomic_store_n((uint32_t *)(void *)at, word, __ATOMIC_RELAXED);
}

static inline uint64_t load_double(const uint8_t *at) {
    return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_RELAXED);
}

static inline void store_double(uint8_t *at, uint64_t group) {
    __atomic_store_n((uint64_t *)(void *)at, group, __ATOMIC_RELAXED);
}

/* The columns of a double word, and where its flags are. */
#define DOUBLE_COLUMNS UINT64_C(0x7F7F7F7F7F7F7F7F)

static inline uint64_t double_flags(int flags) {
    return (uint64_t)(flags & FF_FRESH) << 6 | (uint64_t)(flags & FF_TOUCHED) << 15;
}

FF_INLINE int flags_at(const ff_results_solve *solve, const uint8_t *at) {
    if (is_word(solve)) return (int)(load_word(at) >> FF_FLAGS_SHIFT);
    if (is_double(solve)) {
        const uint64_t group = load_double(at);
        return (int)((group >> 6 & FF_FRESH) | (group >> 15 & FF_TOUCHED));
    }
    return ff_shared_load(at + solve->rows);
}

/* The first of `count` groups, from number i on, that has one of these flags; or `count`. */
FF_INLINE uint64_t next_flagged(const ff_results_solve *solve, const uint8_t *at, uint64_t i,
                                uint64_t count, int flags) {
    const uint64_t step = (uint64_t)solve->group_bytes;
    if (is_word(solve)) {
        const uint32_t wanted = (uint32_t)flags << FF_FLAGS_SHIFT;
        for (; i + 8 <= count; i += 8) {
            uint32_t any = 0;
            for (uint64_t j = 0; j < 8; j++) any |= load_word(at + (i + j) * step);
            if (any & wanted) break;
        }
    }
    if (is_double(solve)) {
        const uint64_t wanted = double_flags(flags);
        for (; i + 8 <= count; i += 8) {
            uint64_t any = 0;
            for (uint64_t j = 0; j < 8; j++) any |= load_double(at + (i + j) * step);
            if (any & wanted) break;
        }
    }
    while (i < count && !(flags_at(solve, at + i * step) & flags)) i++;
    return i;
}

FF_INLINE ff_group_columns columns_at(const ff_results_solve *solve, const uint8_t *at) {
    if (is_word(solve)) return ff_columns_of_word(load_word(at));
    if (is_double(solve)) return ff_columns_of_double(load_double(at) & DOUBLE_COLUMNS);
    return ff_columns_of_bytes(at, solve->rows);
}

/* For passes in which no other thread reads or writes the group. */
FF_INLINE void put_columns(const ff_results_solve *solve, uint8_t *at,
                           const ff_group_columns *columns, int flags) {
    if (is_word(solve)) {
        store_word(at, ff_columns_to_word(columns) | (uint32_t)flags << FF_FLAGS_SHIFT);
        return;
    }
    if (is_double(solve)) {
        store_double(at, ff_columns_to_double(columns) | double_flags(flags));
        return;
    }
    ff_columns_to_bytes(columns, solve->rows, at);
    at[solve->rows] = (uint8_t)flags;
}

/* Where all blocks are of one size: the block of a group. */
FF_INLINE uint64_t block_of(const ff_results_solve *solve, uint64_t group) {
    return (uint64_t)((unsigned __int128)group * solve->in_block_inverse >> 64);
}

/* Where all blocks are of one size, those that nothing happened to are known; elsewhere every
 * block is looked at. */
FF_INLINE void touch_block(const ff_results_solve *solve, uint64_t group) {
    if (solve->in_block) ff_shared_store(&solve->touched[block_of(solve, group)], 1);
}

FF_INLINE void add_winning_cell(const ff_results_solve *solve, uint64_t group, int column,
                                int cell) {
    uint8_t *at = group_at(solve, group);
    if (is_word(solve)) {
        const uint32_t word = load_word(at), shift = (uint32_t)(FF_COLUMN_BITS * column);
        const uint32_t field = word >> shift & 0x1F;
        const uint8_t known = (uint8_t)((field & 7) | (field >> 3) << 5);
        const uint8_t now = ff_with_winning_cell(known, cell);
        if (now == known) return;
        const uint32_t changed = field ^ (uint32_t)((now & 7) | (now >> 5 & 3) << 3);
        store_word(at, (word ^ changed << shift) | (uint32_t)FF_TOUCHED << FF_FLAGS_SHIFT);
        touch_block(solve, group);
        return;
    }
    if (is_double(solve)) {
        const uint64_t group_now = load_double(at);
        const uint8_t known = (uint8_t)(group_now >> 8 * column & 0x7F);
        const uint8_t now = ff_with_winning_cell(known, cell);
        if (now == known) return;
        store_double(at, (group_now ^ (uint64_t)(known ^ now) << 8 * column) |
                             double_flags(FF_TOUCHED));
        touch_block(solve, group);
        return;
    }
    const uint8_t known = at[column], now = ff_with_winning_cell(known, cell);
    if (now == known) return;
    ff_shared_store(at + column, now);
    ff_shared_store(at + solve->rows, at[solve->rows] | FF_TOUCHED);
    touch_block(solve, group);
}

/* ---- lines ------------------------------------------------------------------ */

static inline uint32_t cells_completing(const ff_results_solve *solve, uint32_t pieces) {
    if (solve->completing != NULL) return solve->completing[pieces];
    return ff_completing(&solve->index->rules, pieces);
}

/* A set of cells as a set of the free cells outside `used`. */
static inline uint32_t by_free_cell(uint32_t cells, uint32_t free) {
#ifdef FF_BMI2
    return _pext_u32(cells, free);
#else
    uint32_t set = 0;
    for (int i = 0; free; free &= free - 1, i++) set |= (cells >> __builtin_ctz(free) & 1) << i;
    return set;
#endif
}

/* The other way round. */
static inline uint32_t by_cell(uint32_t set, uint32_t free) {
#ifdef FF_BMI2
    return _pdep_u32(set, free);
#else
    uint32_t cells = 0;
    for (int i = 0; free; free &= free - 1, i++) cells |= (set >> i & 1) * (free & -free);
    return cells;
#endif
}

/* The free cells of a group that give its mover, or its opponent, a line. */
typedef struct {
    uint32_t every;
    uint32_t free; /* as cells, the others by their numbers */
    uint32_t mover, opponent;
    int mover_line; /* there is one already */
} ff_line_cells;

static ff_line_cells line_cells_of(const ff_results_solve *solve, const uint8_t *cells) {
    const int half = half_of(solve);
    const uint32_t mover = ff_cells_mask(cells, half);
    const uint32_t opponent = ff_cells_mask(cells + half, half);
    const uint32_t free = (ff_bit(solve->index->rules.cells) - 1) & ~(mover | opponent);
    return (ff_line_cells){.every = ff_bit(solve->rows) - 1,
                           .free = free,
                           .mover = by_free_cell(cells_completing(solve, mover), free),
                           .opponent = by_free_cell(cells_completing(solve, opponent), free),
                           .mover_line = (cells_completing(solve, mover) & mover) != 0};
}

/* What the groups of a block have in common: its first queue, and the beginning of the second. */
typedef struct {
    uint32_t mover, mover_completing, opponent;
} ff_block_pieces;

static inline ff_block_pieces pieces_of(const ff_results_solve *solve, const ff_run *run) {
    const int half = half_of(solve);
    const uint32_t mover = ff_cells_mask(run->cells, half);
    return (ff_block_pieces){.mover = mover,
                             .mover_completing = cells_completing(solve, mover),
                             .opponent = ff_cells_mask(run->cells + half, run->given - half)};
}

static inline ff_line_cells line_cells(const ff_results_solve *solve,
                                       const ff_block_pieces *block, const ff_run *run) {
    const int length = 2 * half_of(solve);
    uint32_t opponent = block->opponent;
    if (run->stabiliser != FF_IDENTITY_ONLY) /* the cells were read anew */
        return line_cells_of(solve, run->cells);
    for (int i = run->given; i < length; i++) opponent |= ff_bit(run->cells[i]);
    const uint32_t used = block->mover | opponent;
    const uint32_t free = (ff_bit(solve->index->rules.cells) - 1) & ~used;
    const uint32_t opponent_completing = cells_completing(solve, opponent);
    ff_line_cells lines = {.every = ff_bit(solve->rows) - 1, .free = free};
    lines.mover_line = (block->mover_completing & block->mover) != 0;
    if (block->mover_completing & free) lines.mover = by_free_cell(block->mover_completing, free);
    if (opponent_completing & free) lines.opponent = by_free_cell(opponent_completing, free);
    return lines;
}

#endif
