#include "results_messages.h"

/* ---- settling group by group --------------------------------------------------- */

/* The group's cells are b1 .. bh a1 .. ah. */
FF_INLINE void settle_group(ff_settling *settling, const uint8_t *at, const ff_run *run,
                            const ff_block_pieces *pieces, const int half, const int rows) {
    const ff_results_solve *solve = settling->solve;
    const uint8_t *cells = run->cells;
    const ff_group_columns columns = columns_at(solve, at);
    const ff_winning winning = ff_winning_before(&columns, rows);
    if (!ff_may_lose(winning.none)) return;
    const ff_line_cells lines = line_cells(solve, pieces, run);
    uint8_t free[FF_MAX_CELLS];
    uint32_t rest = lines.free;
    for (int r = 0; r < rows; r++, rest &= rest - 1) free[r] = (uint8_t)__builtin_ctz(rest);
    for (int r = 0; r < rows; r++) {
        const uint32_t missing = ff_missing(&winning, r);
        if (missing & (missing - 1) || lines.mover >> r & 1) continue;
        uint32_t lost = ff_lost_parents(missing, r, lines.every, lines.opponent);
        for (; lost; lost &= lost - 1)
            send_lost(settling, cells, half, free[r], free[__builtin_ctz(lost)]);
        if (missing == 0) send_won_before(settling, cells, half, free[r]);
    }
    if (winning.none == 0)
        send(settling, rank_before(solve->index, cells + half, cells, half),
             FF_MESSAGE_POSITION, FF_MESSAGE_LOST);
}

FF_INLINE void settle_block(ff_settling *settling, const ff_blocks *blocks, ff_run *run,
                            const int half, const int rows) {
    const ff_results_solve *solve = settling->solve;
    if (solve->in_block && !solve->touched[solve->blocks + block_of(solve, run->first)]) return;
    const uint8_t *at = group_at(solve, run->first);
    const uint64_t count = run->end - run->first, step = (uint64_t)solve->group_bytes;
    uint64_t i = next_flagged(solve, at, 0, count, FF_FRESH);
    if (i == count) return;
    const ff_block_pieces pieces = pieces_of(solve, run);
    enter_block(settling, run, half);
    for (; i < count; i = next_flagged(solve, at, i + 1, count, FF_FRESH)) {
        ff_read_block_group(blocks, run, run->first + i);
        settle_group(settling, at + i * step, run, &pieces, half, rows);
    }
}

/* ---- settling many groups together ------------------------------------------- */

/* The cells a(h-2) .. of a group that neither the beginning of its block nor its last two say. */
static inline int between(int half) { return half - half / 2 - 2; }

/* Boards whose groups are settled together; elsewhere message by message. */
FF_INLINE int gathers(const ff_results_solve *solve, int half) {
    return solve->index->rules.cells <= FF_GATHER_BOARD && half >= 3;
}

FF_INLINE void add_waiting(ff_settling *settling, unsigned number, int rows) {
    const ff_waiting_addition *waiting = &settling->additions[number % WAITING];
    add_to_group(settling->solve, waiting->group, &waiting->addition, rows);
}

/* Row b0, the r-th of the group's free cells: its lost parents, or that it is won throughout. */
FF_INLINE void gather_row(ff_gathered *gathered, int b0, int last, int ah, int bh,
                          uint32_t in_play, uint32_t lost, int is_complete) {
    if (lost) ff_gather_row(gathered, b0, last, ah, bh, by_cell(lost, in_play));
    if (is_complete) {
        gathered->won[last][ah] |= (uint16_t)ff_bit(b0);
        gathered->any_won = 1;
    }
}

FF_INLINE void gather_group(ff_settling *settling, const uint8_t *at, const ff_run *run,
                            const ff_block_pieces *pieces, const int half, const int rows) {
    const ff_results_solve *solve = settling->solve;
    ff_gathered *gathered = &settling->gathered;
    const uint8_t *cells = run->cells, *number = gathered->number;
    const ff_group_columns columns = columns_at(solve, at);
    const uint32_t none = ff_none_before(&columns, rows);
    if (!ff_may_lose(none)) return;
    const ff_line_cells lines = line_cells(solve, pieces, run);
    const int last = number[cells[2 * half - 2]], ah = number[cells[2 * half - 1]];
    const int bh = number[cells[half - 1]];
    const uint32_t in_play = by_free_cell(lines.free, gathered->cells);
    if (rows <= FF_DOUBLE_COLUMNS) {
        const uint64_t others = ff_other_rows(rows, lines.mover);
        uint64_t complete;
        uint64_t lost = ff_lost_by_rows(ff_missing_by_rows(ff_columns_to_double(&columns), none),
                                        others, lines.opponent, &complete);
        complete &= ff_whole_rows(lines.every & ~lines.mover);
        for (uint64_t rest = lost | complete; rest;) {
            const int r = __builtin_ctzll(rest) / 8;
            gather_row(gathered, __builtin_ctz(by_cell(ff_bit(r), in_play)), last, ah, bh, in_play,
                       (uint32_t)(lost >> 8 * r) & 0xFF, (int)(complete >> 8 * r & 1));
            rest &= ~(UINT64_C(0xFF) << 8 * r);
        }
    } else {
        const ff_winning winning = ff_winning_before(&columns, rows);
        uint32_t rest = in_play;
        for (int r = 0; r < rows; r++, rest &= rest - 1) {
            const uint32_t missing = ff_missing(&winning, r);
            if (missing & (missing - 1) || lines.mover >> r & 1) continue;
            gather_row(gathered, __builtin_ctz(rest), last, ah, bh, in_play,
                       ff_lost_parents(missing, r, lines.every, lines.opponent), missing == 0);
        }
    }
    if (none == 0)
        send(settling, rank_before(solve->index, cells + half, cells, half),
             FF_MESSAGE_POSITION, FF_MESSAGE_LOST);
}

/* All that was gathered for one target. */
FF_INLINE void add_gathered(ff_settling *settling, const ff_gather_target *target, int b0,
                            int last, int f, const int rows) {
    if (settling->added >= WAITING) add_waiting(settling, settling->added, rows);
    ff_waiting_addition *waiting = &settling->additions[settling->added % WAITING];
    waiting->group = target->first + target->place[last];
    __builtin_prefetch(group_at(settling->solve, waiting->group), 1);
    ff_addition_of(target, last, &settling->gathered.added[b0][last][f], rows,
                   &waiting->addition);
    settling->added++;
}

/* The same message by message, where b0 .. b(h-1) have mirror images. */
static void send_gathered(ff_settling *settling, uint8_t *cells, int half, int b0, int last,
                          int f) {
    const ff_gathered *gathered = &settling->gathered;
    const uint8_t *added = gathered->added[b0][last][f].column;
    cells[2 * half - 2] = gathered->cell[last];
    for (int ah = 0; ah < gathered->free; ah++) {
        if (added[ah] == 0) continue;
        cells[2 * half - 1] = gathered->cell[ah];
        /* Of several cells it is not known which they are; any two say the same. */
        int wanted = added[ah] == FF_WIN_SEVERAL ? 2 : 1;
        for (int bh = 0; wanted; bh++) {
            if (added[ah] == FF_WIN_SEVERAL ? bh == b0 || bh == last || bh == f || bh == ah
                                            : bh + 1 != added[ah])
                continue;
            cells[half - 1] = gathered->cell[bh];
            send_mirrored(settling, cells, gathered->cell[b0], gathered->cell[f]);
            wanted--;
        }
    }
}

/* The targets of one b0.  `cells` has b1 .. b(h-1) and a1 .. a(h-2) in their places. */
FF_INLINE void add_all_of(ff_settling *settling, uint8_t *cells, int b0, const int half,
                          const int rows) {
    const ff_gathered *gathered = &settling->gathered;
    uint8_t first[FF_MAX_M];
    ff_targets targets;
    uint32_t parents = 0;
    for (uint32_t rest = gathered->used[b0]; rest; rest &= rest - 1)
        parents |= gathered->parents[b0][__builtin_ctz(rest)];
    first[0] = gathered->cell[b0];
    memcpy(first + 1, cells, (size_t)(half - 1));
    const int usable =
        ff_targets_init(&targets, settling->solve->index, gathered, first, half, cells + half);
    for (; parents; parents &= parents - 1) {
        const int f = __builtin_ctz(parents);
        ff_gather_target target;
        if (usable) target = ff_target_of(&targets, f);
        for (uint32_t rest = gathered->used[b0]; rest; rest &= rest - 1) {
            const int last = __builtin_ctz(rest);
            if (!(gathered->parents[b0][last] >> f & 1)) continue;
            if (usable)
                add_gathered(settling, &target, b0, last, f, rows);
            else
                send_gathered(settling, cells, half, b0, last, f);
        }
    }
}

/* Adds what was gathered to its targets, and forgets it. */
FF_INLINE void add_all_gathered(ff_settling *settling, uint8_t *cells, const int half,
                                const int rows) {
    ff_gathered *gathered = &settling->gathered;
    const size_t line = (size_t)gathered->free * sizeof gathered->added[0][0][0];
    for (int b0 = 0; b0 < gathered->free; b0++) {
        if (gathered->used[b0] == 0) continue;
        add_all_of(settling, cells, b0, half, rows);
        for (uint32_t rest = gathered->used[b0]; rest; rest &= rest - 1) {
            const int last = __builtin_ctz(rest);
            gathered->parents[b0][last] = 0;
            memset(gathered->added[b0][last], 0, line);
        }
        gathered->used[b0] = 0;
    }
    if (!gathered->any_won) return;
    gathered->any_won = 0;
    for (int last = 0; last < gathered->free; last++)
        for (int ah = 0; ah < gathered->free; ah++) {
            uint32_t won = gathered->won[last][ah];
            if (won == 0) continue;
            cells[2 * half - 2] = gathered->cell[last];
            cells[2 * half - 1] = gathered->cell[ah];
            for (; won; won &= won - 1)
                send_won_before(settling, cells, half, gathered->cell[__builtin_ctz(won)]);
            gathered->won[last][ah] = 0;
        }
}

/* Gathers the flagged groups among these of the run. */
FF_INLINE void gather_part(ff_settling *settling, const ff_blocks *blocks, ff_run *run,
                           uint64_t i, uint64_t end, const int half, const int rows) {
    const ff_results_solve *solve = settling->solve;
    const uint8_t *at = group_at(solve, run->first);
    i = next_flagged(solve, at, i, end, FF_FRESH);
    if (i == end) return;
    const ff_block_pieces pieces = pieces_of(solve, run);
    for (; i < end; i = next_flagged(solve, at, i + 1, end, FF_FRESH)) {
        ff_read_block_group(blocks, run, run->first + i);
        gather_group(settling, at + i * (uint64_t)solve->group_bytes, run, &pieces, half, rows);
    }
}

/* Settles the runs that have been collected: all at once or, where a group has one cell more
 * between the beginning and its last two, once for each such cell. */
FF_INLINE void settle_collected(ff_settling *settling, const ff_blocks *blocks, const int half,
                                const int rows) {
    if (settling->run_count == 0) return;
    const ff_results_solve *solve = settling->solve;
    ff_gathered *gathered = &settling->gathered;
    const int known = half / 2, more = between(half);
    const uint32_t board = ff_bit(solve->index->rules.cells) - 1;
    uint8_t cells[FF_MAX_PIECES];
    memcpy(cells, settling->beginning, (size_t)(half - 1));
    memcpy(cells + half, settling->beginning + half - 1, (size_t)known);
    const uint32_t beginning = ff_cells_mask(settling->beginning, half - 1 + known);
    for (uint32_t choices = more ? board & ~beginning : 1; choices; choices &= choices - 1) {
        const int chosen = __builtin_ctz(choices);
        if (more) cells[half + known] = (uint8_t)chosen;
        ff_gather_begin(gathered, board & ~(more ? beginning | ff_bit(chosen) : beginning));
        for (int i = 0; i < settling->run_count; i++) {
            ff_run *run = &settling->runs[i];
            uint64_t first = 0, count = run->end - run->first;
            if (more) {
                const uint32_t used = beginning | ff_bit(run->cells[half - 1]);
                if (used >> chosen & 1) continue;
                count /= (uint64_t)(solve->index->rules.cells - run->given);
                first = count * (uint64_t)ff_digit(used, chosen);
            }
            gather_part(settling, blocks, run, first, first + count, half, rows);
        }
        add_all_gathered(settling, cells, half, rows);
    }
    settling->run_count = 0;
}

/* Takes a run into the collection, after the one before it is settled if this one begins
 * differently. */
FF_INLINE void collect_run(ff_settling *settling, const ff_blocks *blocks, const ff_run *run,
                           const int half, const int rows) {
    const ff_results_solve *solve = settling->solve;
    if (solve->in_block && !solve->touched[solve->blocks + block_of(solve, run->first)]) return;
    if (!begins_as_before(settling, run, half) || settling->run_count == MOST_RUNS) {
        settle_collected(settling, blocks, half, rows);
        enter_block(settling, run, half);
    }
    settling->runs[settling->run_count++] = *run;
    /* It is read when all of them are there. */
    const uint8_t *at = group_at(solve, run->first);
    const uint64_t bytes = (run->end - run->first) * (uint64_t)solve->group_bytes;
    for (uint64_t i = 0; i < bytes && i < ASKED_BYTES; i += CACHE_LINE) __builtin_prefetch(at + i);
}

static void start_settling(ff_settling *settling, const ff_results_solve *solve, int depth,
                           uint64_t *list) {
    memset(settling, 0, sizeof *settling);
    settling->solve = solve;
    settling->depth = depth;
    settling->list = list;
}

FF_INLINE void settle(const ff_results_solve *solve, int depth, ff_work *work, const int half,
                      const int rows) {
    ff_settling settling;
    ff_blocks blocks;
    ff_tiles tiles;
    ff_run run;
    start_settling(&settling, solve, depth, NULL);
    ff_blocks_init(&blocks, solve->index);
    ff_tiles_init(&tiles, solve->index, half, half, 0);
    while (ff_take_run(&tiles, work, &run)) {
        if (gathers(solve, half) && run.stabiliser == FF_IDENTITY_ONLY) {
            collect_run(&settling, &blocks, &run, half, rows);
        } else {
            settle_collected(&settling, &blocks, half, rows);
            settle_block(&settling, &blocks, &run, half, rows);
        }
    }
    settle_collected(&settling, &blocks, half, rows);
    const unsigned left = settling.added < WAITING ? settling.added : WAITING;
    for (unsigned i = settling.added - left; i != settling.added; i++)
        add_waiting(&settling, i, rows);
    apply_waiting(&settling);
}

void ff_results_settle(const ff_results_solve *solve, int depth, ff_work *work) {
    ff_results_solve known = *solve;
    switch (half_of(solve) * 100 + solve->rows) {
    case 506: /* 4 x 4, m = 6 */
        known.rows = 6, known.group_bytes = 4;
        settle(&known, depth, work, 5, 6);
        return;
    case 408: /* 4 x 4, m = 5 */
        known.rows = 8, known.group_bytes = 8;
        settle(&known, depth, work, 4, 8);
        return;
    case 310: /* 4 x 4, m = 4 */
        known.rows = 10, known.group_bytes = 11;
        settle(&known, depth, work, 3, 10);
        return;
    default:
        settle(&known, depth, work, half_of(solve), solve->rows);
    }
}

uint64_t ff_results_most(const ff_results_solve *solve) {
    const int half = half_of(solve), rows = solve->rows;
    const uint64_t in_block = ff_most_in_block(solve->index);
    /* Each lost parent in up to eight mirror images, a won position for each row, a lost one. */
    const int mirrors = 2 * half <= solve->index->rules.n ? FF_TRANSFORMS : 1;
    return in_block * (uint64_t)(rows * (rows - 1) * mirrors + rows + 1);
}

uint64_t ff_results_list(const ff_results_solve *solve, uint64_t block, uint64_t end,
                         uint64_t *messages, uint64_t room, uint64_t *count) {
    const uint64_t most = ff_results_most(solve);
    ff_settling settling;
    ff_blocks blocks;
    ff_run run;
    start_settling(&settling, solve, 0, messages);
    ff_blocks_init(&blocks, solve->index);
    for (; block < end && settling.listed + most <= room; block++) {
        ff_read_block(&blocks, block, &run);
        settle_block(&settling, &blocks, &run, half_of(solve), solve->rows);
    }
    *count = settling.listed;
    return block;
}

void ff_results_apply(const ff_results_solve *solve, int depth, const uint64_t *messages,
                      uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        if (i + WAITING < count) {
            const uint64_t later = messages[i + WAITING];
            const int is_position = (later >> 8 & 0xFF) == FF_MESSAGE_POSITION;
            __builtin_prefetch(
                is_position ? solve->before + (later >> 16) : group_at(solve, later >> 16), 1);
        }
        apply_message(solve, depth, messages[i]);
    }
}
