/* results_messages.h -- what a settled row says, message by message (results.h).
 *
 * A thread's settling: the places that it has prepared, the messages that wait for their targets
 * to arrive in the cache or are listed, and what is gathered for many targets (results_gather.h).
 *
 * Included by results_settle.c only.
 */
#ifndef FF_RESULTS_MESSAGES_H
#define FF_RESULTS_MESSAGES_H

#include "results_gather.h"
#include "values.h"

/* Where the parents of the lost parents lie, for those rows that have b1 .. b(h-1) and the
 * first a's in common: one entry for each b0 and f.  The target group is b0 .. b(h-1) f a1 ..
 * a(h-1); `rank` is that of the first group with the beginning up to the first a's, `place`
 * numbers the cells outside of it, as they lie there. */
typedef struct {
    uint64_t rank;
    uint32_t stamp; /* of the beginning it was made for */
    uint8_t usable; /* 0: a symmetry leaves the beginning in place */
    uint8_t place[FF_MAX_CELLS + 7];
} ff_target;

enum {
    WAITING = 32,
    MOST_RUNS = 16,
    CACHE_LINE = 64,
    ASKED_BYTES = 1024 /* of a run that is collected: a block of 4 x 4 with m = 5 has 720 */
};

/* What waits for its target. */
typedef struct {
    uint64_t group;
    ff_addition addition;
} ff_waiting_addition;

/* A thread's settling: what it has prepared, and messages that wait for their targets to
 * arrive in the cache, or the list that takes them. */
typedef struct {
    const ff_results_solve *solve;
    int depth;
    uint32_t stamp;
    uint8_t beginning[FF_MAX_PIECES]; /* b1 .. b(h-1) a1 .. that `stamp` stands for */
    uint64_t *list;                   /* NULL: messages are applied */
    uint64_t listed;
    uint64_t waiting[WAITING];
    unsigned taken;
    /* Runs with the same beginning, to be settled together (results_gather.h). */
    ff_run runs[MOST_RUNS];
    int run_count;
    ff_waiting_addition additions[WAITING];
    unsigned added;
    ff_gathered gathered;
    ff_target target[FF_MAX_CELLS * FF_MAX_CELLS];
} ff_settling;

FF_INLINE void apply_message(const ff_results_solve *solve, int depth, uint64_t message) {
    const uint64_t target = message >> 16;
    const int column = (int)(message >> 8 & 0xFF), cell = (int)(message & 0xFF);
    if (column != FF_MESSAGE_POSITION) {
        add_winning_cell(solve, target, column, cell);
        return;
    }
    uint8_t *value = solve->before + target;
    if (ff_shared_load(value) == FF_UNDECIDED)
        ff_shared_store(value, (uint8_t)(depth + (cell == FF_MESSAGE_WON ? 2 : 1)));
}

FF_INLINE void send(ff_settling *settling, uint64_t target, int column, int cell) {
    const ff_results_solve *solve = settling->solve;
    const uint64_t message = target << 16 | (uint64_t)column << 8 | (uint64_t)cell;
    if (settling->list != NULL) {
        settling->list[settling->listed++] = message;
        return;
    }
    const unsigned place = settling->taken % WAITING;
    if (settling->taken >= WAITING) apply_message(solve, settling->depth, settling->waiting[place]);
    __builtin_prefetch(
        column == FF_MESSAGE_POSITION ? solve->before + target : group_at(solve, target), 1);
    settling->waiting[place] = message;
    settling->taken++;
}

static void apply_waiting(ff_settling *settling) {
    const unsigned left = settling->taken < WAITING ? settling->taken : WAITING;
    for (unsigned i = settling->taken - left; i != settling->taken; i++)
        apply_message(settling->solve, settling->depth, settling->waiting[i % WAITING]);
    settling->taken = 0;
}

/* The first a's of a block, and those behind them. */
static inline int known_a(const ff_results_solve *solve) {
    return ff_block_cells(half_of(solve)) - half_of(solve);
}

static void make_target(const ff_settling *settling, int b0, int f, ff_target *target) {
    const ff_results_solve *solve = settling->solve;
    const ff_index *index = solve->index;
    const int half = half_of(solve), known = known_a(solve), given = half + 1 + known;
    uint8_t cells[FF_MAX_PIECES + 1];
    int at = 0;
    cells[at++] = (uint8_t)b0;
    for (int i = 0; i < half - 1; i++) cells[at++] = settling->beginning[i];
    cells[at++] = (uint8_t)f;
    for (int i = 0; i < known && at < 2 * half; i++)
        cells[at++] = settling->beginning[half - 1 + i];
    const ff_place place = ff_place_of(index, cells, at, 2 * half);
    const uint8_t *image = index->symmetry.image[place.transform];
    uint32_t used = 0;
    for (int i = 0; i < at; i++) used |= ff_bit(image[cells[i]]);
    target->rank = place.rank;
    target->stamp = settling->stamp;
    target->usable = place.stabiliser == FF_IDENTITY_ONLY && at == given;
    for (int cell = 0; cell < index->rules.cells; cell++)
        target->place[cell] = (uint8_t)ff_digit(used, image[cell]);
}

/* A lost parent whose target group, or the beginning of it, has mirror images: all of them
 * take it in. */
static void send_mirrored(ff_settling *settling, const uint8_t *cells, int b0, int f) {
    const ff_index *index = settling->solve->index;
    const int half = half_of(settling->solve);
    uint8_t target[FF_MAX_PIECES];
    target[0] = (uint8_t)b0;
    memcpy(target + 1, cells, (size_t)(half - 1));
    target[half] = (uint8_t)f;
    memcpy(target + half + 1, cells + half, (size_t)(half - 1));
    const ff_place place = ff_place_of(index, target, 2 * half, 2 * half);
    const uint8_t *image = index->symmetry.image[place.transform];
    uint32_t used = 0;
    for (int i = 0; i < 2 * half; i++) used |= ff_bit(image[target[i]]);
    const int column = image[cells[2 * half - 1]], cell = image[cells[half - 1]];
    for (unsigned mirrors = place.stabiliser; mirrors; mirrors &= mirrors - 1) {
        const uint8_t *mirror = index->symmetry.image[__builtin_ctz(mirrors)];
        send(settling, place.rank, ff_digit(used, mirror[column]),
             1 + ff_digit(used, mirror[cell]));
    }
}

/* The lost parent (f a1 .. ah ; b0 .. bh): bh is a winning cell of column ah of its target. */
FF_INLINE void send_lost(ff_settling *settling, const uint8_t *cells, int half, int b0, int f) {
    const ff_results_solve *solve = settling->solve;
    const int known = half / 2, board = solve->index->rules.cells;
    ff_target *target = &settling->target[b0 * board + f];
    if (target->stamp != settling->stamp) make_target(settling, b0, f, target);
    if (!target->usable) {
        send_mirrored(settling, cells, b0, f);
        return;
    }
    const uint8_t *place = target->place, *open = cells + half + known;
    uint64_t group = target->rank;
    int column = place[cells[2 * half - 1]], cell = place[cells[half - 1]];
    if (half - known == 3) { /* two a's behind the known ones, and ah */
        const int first = place[open[0]], second = place[open[1]];
        group += (uint64_t)(first * (board - half - known - 2) + second - (second > first));
        column -= (column > first) + (column > second);
        cell -= (cell > first) + (cell > second);
    } else if (half - known == 2) {
        const int first = place[open[0]];
        group += (uint64_t)first;
        column -= column > first;
        cell -= cell > first;
    }
    send(settling, group, column, cell + 1);
}

/* A position of slice 2m - 2: its rank. */
static uint64_t rank_before(const ff_index *index, const uint8_t *mover, const uint8_t *opponent,
                            int half) {
    uint8_t cells[FF_MAX_PIECES];
    memcpy(cells, mover + 1, (size_t)(half - 1));
    memcpy(cells + half - 1, opponent, (size_t)(half - 1));
    cells[2 * half - 2] = mover[0];
    cells[2 * half - 1] = opponent[half - 1];
    return ff_place_of(index, cells, 2 * half, 2 * half).rank;
}

/* Row b0 is won throughout: so (b0 .. b(h-1) ; a1 .. ah), which can move there, is won. */
static void send_won_before(ff_settling *settling, const uint8_t *cells, int half, int b0) {
    uint8_t mover[FF_MAX_M];
    mover[0] = (uint8_t)b0;
    memcpy(mover + 1, cells, (size_t)(half - 1));
    send(settling, rank_before(settling->solve->index, mover, cells + half, half),
         FF_MESSAGE_POSITION, FF_MESSAGE_WON);
}

/* Whether the targets that are prepared serve this block too. */
static int begins_as_before(const ff_settling *settling, const ff_run *run, int half) {
    const size_t known = (size_t)known_a(settling->solve), first = (size_t)(half - 1);
    return settling->stamp != 0 && memcmp(settling->beginning, run->cells, first) == 0 &&
           memcmp(settling->beginning + first, run->cells + half, known) == 0;
}

static void enter_block(ff_settling *settling, const ff_run *run, int half) {
    if (begins_as_before(settling, run, half)) return;
    memcpy(settling->beginning, run->cells, (size_t)(half - 1));
    memcpy(settling->beginning + half - 1, run->cells + half, (size_t)known_a(settling->solve));
    settling->stamp++;
}

#endif
