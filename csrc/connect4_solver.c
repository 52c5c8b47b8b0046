#include "connect4_solver.h"

#include <string.h>

#include "connect4_board.h"

enum {
    COLUMNS = FF_C4_COLUMNS,
    COLUMN_BITS = FF_C4_COLUMN_BITS,
    CELLS = FF_C4_CELLS,
    NO_MOVE_YET = -64,
    /* Mirror images share an entry up to here.  Deeper ones meet only below a
     * pair of mirror images, of which one was cut off already. */
    MIRRORED_PLIES = 12,
    /* Positions are marked as being searched up to here; deeper ones take no time. */
    MARKED_PLIES = 26,
    KEY_BITS = COLUMNS * COLUMN_BITS
};

#define BOTTOM FF_C4_BOTTOM
#define BOARD FF_C4_BOARD
#define ROWS_024 (BOTTOM * 21)
#define COLUMN(column) (UINT64_C(63) << (column) * COLUMN_BITS)
#define KEY_MASK ((UINT64_C(1) << KEY_BITS) - 1)

static int several(uint64_t bits) { return (bits & (bits - 1)) != 0; }

static uint64_t playable_cells(uint64_t stones) { return (stones + BOTTOM) & BOARD; }

/* ---- table -------------------------------------------------------------- */

static uint64_t mirror(uint64_t key) {
    uint64_t image = 0;
    for (int column = 0; column < COLUMNS; column++)
        image |= (key >> column * COLUMN_BITS & 127) << (COLUMNS - 1 - column) * COLUMN_BITS;
    return image;
}

static uint64_t mixed_key(uint64_t mover, uint64_t stones, int plies) {
    uint64_t key = mover + stones;
    if (plies <= MIRRORED_PLIES) {
        uint64_t image = mirror(key);
        if (image < key) key = image;
    }
    /* Odd factors and a shift by more than half: each step can be undone. */
    key = key * UINT64_C(0x9E3779B97F4A7C15) & KEY_MASK;
    key ^= key >> 25;
    return key * UINT64_C(0xBF58476D1CE4E5B9) & KEY_MASK;
}

static uint64_t *bucket_of(const ff_connect4_solver *solver, uint64_t key) {
    return solver->table + (key >> (KEY_BITS - solver->bits)) * FF_C4_WAYS;
}

static uint64_t rest_of(const ff_connect4_solver *solver, uint64_t key) {
    return key & ((UINT64_C(1) << (KEY_BITS - solver->bits)) - 1);
}

static int low_of(uint64_t entry) { return (int)(entry & 63) - 32; }
static int high_of(uint64_t entry) { return (int)(entry >> 6 & 63) - 32; }
static int work_of(uint64_t entry) { return (int)(entry >> 12 & 63); }

/* Other solvers may write to the table meanwhile: see "Sharing" in the header. */
static uint64_t entry_at(const uint64_t *place) {
    return __atomic_load_n(place, __ATOMIC_RELAXED);
}

static void put_at(uint64_t *place, uint64_t entry) {
    __atomic_store_n(place, entry, __ATOMIC_RELAXED);
}

static uint64_t look_up(const ff_connect4_solver *solver, uint64_t key) {
    const uint64_t *bucket = bucket_of(solver, key), rest = rest_of(solver, key);
    for (int i = 0; i < FF_C4_WAYS; i++) {
        const uint64_t entry = entry_at(bucket + i);
        if (entry != 0 && entry >> 18 == rest) return entry;
    }
    return 0;
}

static void store(ff_connect4_solver *solver, uint64_t key, int low, int high, uint64_t nodes) {
    uint64_t *bucket = bucket_of(solver, key), rest = rest_of(solver, key);
    const int work = 64 - __builtin_clzll(nodes | 1);
    const uint64_t entry =
        rest << 18 | (uint64_t)work << 12 | (uint64_t)(high + 32) << 6 | (uint64_t)(low + 32);
    uint64_t cheapest = 0;
    int least = 0;
    for (int i = 0; i < FF_C4_WAYS; i++) {
        const uint64_t stored = entry_at(bucket + i);
        if (stored != 0 && stored >> 18 == rest) {
            put_at(bucket + i, entry);
            return;
        }
        if (i == 0 || (i < FF_C4_WAYS - 1 && work_of(stored) < work_of(cheapest))) {
            cheapest = stored;
            least = i;
        }
    }
    if (work >= work_of(cheapest)) {
        put_at(bucket + FF_C4_WAYS - 1, cheapest);
        put_at(bucket + least, entry);
    } else {
        put_at(bucket + FF_C4_WAYS - 1, entry);
    }
}

/* ---- nodes -------------------------------------------------------------- */

/* Follow-up (see the header): the first player, to move, can win against none. */
static int cannot_win_against_follow_up(uint64_t first, uint64_t stones) {
    return !ff_c4_has_four(first | (~stones & BOARD & ROWS_024) | playable_cells(stones));
}

static int follow_up_wins(uint64_t second, uint64_t stones) {
    return ff_c4_has_four(second | (~stones & BOARD & ~ROWS_024 & ~playable_cells(stones)));
}

/* The moves after which the opponent cannot win at once. */
static uint64_t safe_moves(uint64_t opponent, uint64_t stones) {
    const uint64_t playable = playable_cells(stones), wins = ff_c4_completing(opponent, stones);
    const uint64_t forced = wins & playable;
    if (several(forced)) return 0;
    return (forced ? forced : playable) & ~(wins >> 1); /* nor lift him to a winning cell */
}

static void insert_move(ff_connect4_frame *node, int *threats, uint64_t move, uint64_t key,
                        int made) {
    int at = node->count++;
    for (; at > 0 && threats[at - 1] < made; at--) {
        threats[at] = threats[at - 1];
        node->move[at] = node->move[at - 1];
        node->child_key[at] = node->child_key[at - 1];
    }
    threats[at] = made;
    node->move[at] = move;
    node->child_key[at] = key;
}

/* Orders the moves; 1 if one of them answers the question already. */
static int order_moves(const ff_connect4_solver *solver, ff_connect4_frame *node, uint64_t safe,
                       int *value) {
    static const int central_first[COLUMNS] = {3, 2, 4, 1, 5, 0, 6};
    const uint64_t opponent = node->stones ^ node->mover;
    int threats[COLUMNS];
    node->count = node->next = 0;
    for (int i = 0; i < COLUMNS; i++) {
        const uint64_t move = safe & COLUMN(central_first[i]);
        if (move == 0) continue;
        const uint64_t stones = node->stones | move;
        const uint64_t key = mixed_key(opponent, stones, node->plies + 1);
        __builtin_prefetch(bucket_of(solver, key));
        const uint64_t wins = ff_c4_completing(node->mover | move, stones);
        const uint64_t at_once = wins & playable_cells(stones);
        if (several(at_once) || (at_once & wins >> 1)) { /* two, or one above the other */
            *value = (CELLS - 1 - node->plies) / 2;
            return 1;
        }
        if (node->plies % 2 == 1 && node->above < 0 &&
            cannot_win_against_follow_up(opponent, stones)) {
            *value = 0;
            return 1;
        }
        insert_move(node, threats, move, key, __builtin_popcountll(wins));
    }
    return 0;
}

/* Opens a node in which the mover cannot win at once.  1: *value answers the
 * question, a lower bound of the score if it is above, else an upper one. */
static int open_node(ff_connect4_solver *solver, ff_connect4_frame *node, int *value) {
    const uint64_t opponent = node->stones ^ node->mover;
    const int plies = node->plies, above = node->above;
    const uint64_t safe = safe_moves(opponent, node->stones);
    solver->nodes++;
    if (safe == 0) {
        *value = -(CELLS - plies) / 2;
        return 1;
    }
    if (plies >= CELLS - 2) {
        *value = 0;
        return 1;
    }
    int low = -(CELLS - 2 - plies) / 2, high = (CELLS - 1 - plies) / 2;
    if (plies % 2 == 0 && cannot_win_against_follow_up(node->mover, node->stones)) {
        int most = follow_up_wins(opponent, node->stones) ? -1 : 0;
        if (most < high) high = most;
    }
    node->stored = (int8_t)several(safe);
    if (node->stored && low <= above && high > above) {
        const uint64_t entry = look_up(solver, node->key);
        if (entry != 0) {
            if (low_of(entry) > low) low = low_of(entry);
            if (high_of(entry) < high) high = high_of(entry);
        }
    }
    if (low > above || high <= above) {
        *value = low > above ? low : high;
        return 1;
    }
    node->low = (int8_t)low;
    node->high = (int8_t)high;
    node->best = NO_MOVE_YET;
    node->opened = solver->nodes;
    return order_moves(solver, node, safe, value);
}

static int close_node(ff_connect4_solver *solver, const ff_connect4_frame *node) {
    const int value = node->best, is_above = value > node->above;
    if (node->stored)
        store(solver, node->key, is_above ? value : node->low, is_above ? node->high : value,
              solver->nodes - node->opened);
    return value;
}

/* ---- solvers that search a position together -------------------------------- */

/* 0 for a node that is soon done: marking it would cost more than it saves. */
static uint64_t *mark_of(const ff_connect4_solver *solver, uint64_t key, int plies) {
    if (solver->at_work == NULL || plies > MARKED_PLIES) return NULL;
    return solver->at_work + (key & (FF_C4_MARKS - 1));
}

static void mark(const ff_connect4_solver *solver, const ff_connect4_frame *node) {
    uint64_t *place = mark_of(solver, node->key, node->plies);
    if (place != NULL) put_at(place, node->key);
}

static void unmark(const ff_connect4_solver *solver, const ff_connect4_frame *node) {
    uint64_t *place = mark_of(solver, node->key, node->plies);
    if (place != NULL && entry_at(place) == node->key) put_at(place, 0);
}

/* Brings a move to the front of those left whose position no other solver is at; the first one
 * of a node stays, for it often answers the question alone. */
static void prefer_unmarked(const ff_connect4_solver *solver, ff_connect4_frame *node) {
    if (node->next == 0 || node->plies >= MARKED_PLIES) return;
    for (int i = node->next; i < node->count; i++) {
        const uint64_t move = node->move[i], key = node->child_key[i];
        if (entry_at(mark_of(solver, key, node->plies + 1)) == key) continue;
        for (; i > node->next; i--) {
            node->move[i] = node->move[i - 1];
            node->child_key[i] = node->child_key[i - 1];
        }
        node->move[i] = move;
        node->child_key[i] = key;
        return;
    }
}

/* ---- search ----------------------------------------------------------------- */

/* Continues with the current question; 1 once *value answers it. */
static int search(ff_connect4_solver *solver, uint64_t last_node, int *value) {
    while (solver->nodes < last_node) {
        ff_connect4_frame *node = &solver->frames[solver->depth];
        int score;
        if (node->next == node->count || node->best > node->above) {
            score = close_node(solver, node);
            unmark(solver, node);
            if (--solver->depth < 0) {
                *value = score;
                return 1;
            }
            node--;
        } else {
            ff_connect4_frame *child = node + 1;
            if (solver->at_work != NULL) prefer_unmarked(solver, node);
            child->mover = node->stones ^ node->mover;
            child->stones = node->stones | node->move[node->next];
            child->key = node->child_key[node->next++];
            child->plies = (int8_t)(node->plies + 1);
            child->above = (int8_t)(-node->above - 1);
            if (!open_node(solver, child, &score)) {
                mark(solver, child);
                solver->depth++;
                continue;
            }
        }
        if (-score > node->best) node->best = (int8_t)-score;
    }
    return 0;
}

/* ---- the position to solve ----------------------------------------------- */

/* The next question, low <= a < high: halfway to the farther bound, or in the
 * middle once it is known who wins. */
static int next_question(int low, int high) {
    int above;
    if (low >= 0)
        above = low + (high - low) / 2;
    else if (high <= 0)
        above = low + (high - low - 1) / 2;
    else
        above = high >= -low ? high / 2 : low / 2 - 1;
    if (above < low) above = low;
    return above < high ? above : high - 1;
}

int ff_connect4_init(ff_connect4_solver *solver, uint64_t *table, int bits,
                     uint64_t *at_work) {
    if (bits < FF_C4_FEWEST_BITS || bits > FF_C4_MOST_BITS) return FF_NO_ROOM;
    memset(solver, 0, sizeof *solver);
    solver->at_work = at_work;
    solver->table = table;
    solver->bits = bits;
    solver->depth = -1;
    return FF_OK;
}

static int is_position(uint64_t mover, uint64_t stones) {
    const int plies = __builtin_popcountll(stones);
    if ((stones & ~BOARD) || (mover & ~stones) || __builtin_popcountll(mover) != plies / 2)
        return 0;
    if (stones & (stones + BOTTOM) & BOARD) return 0; /* a stone in the air */
    if (ff_c4_has_four(mover)) return 0;
    const uint64_t opponent = stones ^ mover;
    if (!ff_c4_has_four(opponent)) return 1;
    for (int column = 0; column < COLUMNS; column++) { /* one last stone made them all */
        uint64_t top = (((stones & COLUMN(column)) + BOTTOM) & COLUMN(column) << 1) >> 1;
        if ((top & opponent) && !ff_c4_has_four(opponent ^ top)) return 1;
    }
    return 0;
}

static int clipped(int score, int low, int high) {
    return score < low ? low : score > high ? high : score;
}

int ff_connect4_begin(ff_connect4_solver *solver, uint64_t mover, uint64_t stones, int low,
                      int high) {
    if (!is_position(mover, stones) || low > high) return FF_BAD_POSITION;
    const int plies = __builtin_popcountll(stones);
    int least = -(CELLS - plies) / 2, most = (CELLS - 1 - plies) / 2;
    if (ff_c4_has_four(stones ^ mover))
        least = most = -(FF_C4_CELLS / 2 + 1 - (plies + 1) / 2);
    else if (ff_c4_completing(mover, stones) & playable_cells(stones))
        least = most = (CELLS + 1 - plies) / 2;
    else if (plies == CELLS)
        least = most = 0;
    solver->nodes = 0;
    solver->depth = -1;
    solver->low = clipped(least, low, high);
    solver->high = clipped(most, low, high);
    ff_connect4_frame *root = &solver->frames[0];
    root->mover = mover;
    root->stones = stones;
    root->plies = (int8_t)plies;
    root->key = mixed_key(mover, stones, plies);
    return FF_OK;
}

static void narrow(ff_connect4_solver *solver, int value) {
    if (value > solver->frames[0].above)
        solver->low = clipped(value, solver->low, solver->high);
    else
        solver->high = clipped(value, solver->low, solver->high);
}

int ff_connect4_run(ff_connect4_solver *solver, uint64_t budget) {
    const uint64_t last_node = solver->nodes + budget;
    while (solver->low < solver->high) {
        ff_connect4_frame *root = &solver->frames[0];
        int value;
        if (solver->depth < 0) {
            root->above = (int8_t)next_question(solver->low, solver->high);
            if (!open_node(solver, root, &value)) {
                solver->depth = 0;
                continue;
            }
        } else if (!search(solver, last_node, &value)) {
            return FF_C4_UNFINISHED;
        }
        narrow(solver, value);
    }
    return FF_OK;
}
