#include "results_audit.h"

#include <string.h>

#include "audit_places.h"

enum { DRAWN = 0, LOST = 1, WON = 2, IMPOSSIBLE = 3 };

/* ---- the columns of a file --------------------------------------------------- */

/* A group of the file: where it is, and how its cells are numbered there. */
typedef struct {
    uint64_t bit; /* of the file, where its columns begin */
    int transform;
    uint32_t used;
} located;

static int rows_of(const ff_audit *groups) { return groups->rules.cells - 2 * groups->rules.m + 2; }

static int bits_of(int rows) { return rows <= 6 ? 3 : rows <= 14 ? 4 : 5; }

/* The group with these queues, m - 1 cells each. */
static located locate(const ff_audit *groups, const uint8_t *first, const uint8_t *second) {
    const int half = groups->rules.m - 1, rows = rows_of(groups);
    uint8_t cells[FF_MAX_PIECES];
    memcpy(cells, first, (size_t)half);
    memcpy(cells + half, second, (size_t)half);
    ff_audit_place place = {0, 0, 0, 0};
    const int transform = ff_audit_transform(groups, cells, 2 * half);
    for (int i = 0; i < 2 * half; i++)
        ff_audit_extend(groups, &groups->own, &place, groups->image[transform][cells[i]]);
    return (located){place.rank * (uint64_t)(rows * bits_of(rows)), transform, place.used};
}

/* The number, from 1, of a free cell in a group. */
static int number_in(const ff_audit *groups, const located *group, int cell) {
    const int image = groups->image[group->transform][cell];
    return image - __builtin_popcount(group->used & (ff_bit(image) - 1)) + 1;
}

static int stored_column(const ff_audit *groups, const uint8_t *file, const located *group,
                         int number) {
    const int bits = bits_of(rows_of(groups));
    const uint64_t bit = group->bit + (uint64_t)((number - 1) * bits);
    unsigned near = file[bit / 8];
    if (bit % 8 + (unsigned)bits > 8) near |= (unsigned)file[bit / 8 + 1] << 8;
    return (int)(near >> bit % 8 & ((1u << bits) - 1));
}

/* Whether every entry of the row of `oldest` is won, but for the one on `except` (or -1): the
 * positions (oldest first.. ; second.. g). */
static int row_is_won(const ff_audit *groups, const uint8_t *file, const located *group,
                      int oldest, int except, uint32_t free) {
    const int row = number_in(groups, group, oldest);
    for (uint32_t rest = free & ~ff_bit(oldest); rest; rest &= rest - 1) {
        const int cell = __builtin_ctz(rest);
        if (cell == except) continue;
        const int column =
            stored_column(groups, file, group, number_in(groups, group, cell));
        if (column == 0 || column == row) return 0;
    }
    return 1;
}

static uint32_t set_of(const uint8_t *cells, int count) {
    uint32_t set = 0;
    for (int i = 0; i < count && i < FF_MAX_M; i++) set |= ff_bit(cells[i]);
    return set;
}

static void note_wrong(ff_results_audit_count *count, uint64_t place) {
    if (count->wrong < FF_AUDIT_SHOWN) count->wrong_place[count->wrong] = place;
    count->wrong++;
}

/* ---- all canonical sequences of a slice --------------------------------------- */

typedef struct visit visit;
struct visit {
    const ff_audit *audit, *groups;
    const uint8_t *file;
    uint64_t columns_bytes;
    ff_results_audit_count *count;
    void (*check)(const visit *, const uint8_t *cells, const ff_audit_place *place);
};

static int may_follow(const ff_audit *audit, const ff_audit_place *beginning, int cell) {
    if (beginning->used & ff_bit(cell)) return 0;
    return beginning->at < 0 ||
           ff_audit_is_lowest(audit, audit->own.branch[beginning->at].group, cell);
}

static void visit_below(const visit *now, uint8_t *cells, const ff_audit_place *beginning) {
    const ff_audit *audit = now->audit;
    if (beginning->given == audit->slice) {
        now->check(now, cells, beginning);
        return;
    }
    for (int cell = 0; cell < audit->rules.cells; cell++) {
        if (!may_follow(audit, beginning, cell)) continue;
        ff_audit_place longer = *beginning;
        ff_audit_extend(audit, &audit->own, &longer, cell);
        cells[beginning->given] = (uint8_t)cell;
        visit_below(now, cells, &longer);
    }
}

/* An item of work is a beginning of audit->split cells, canonical or not. */
static void visit_item(const visit *now, uint64_t item) {
    const ff_audit *audit = now->audit;
    uint8_t cells[FF_MAX_PIECES];
    ff_audit_place beginning = {0, 0, 0, 0};
    for (int i = audit->split - 1; i >= 0; i--) {
        cells[i] = (uint8_t)(item % (uint64_t)audit->rules.cells);
        item /= (uint64_t)audit->rules.cells;
    }
    for (int i = 0; i < audit->split; i++) {
        if (!may_follow(audit, &beginning, cells[i])) return;
        ff_audit_extend(audit, &audit->own, &beginning, cells[i]);
    }
    visit_below(now, cells, &beginning);
}

static void visit_all(const visit *now, ff_work *work) {
    for (uint64_t item, end; ff_take(work, &item, &end);)
        for (; item < end; item++) visit_item(now, item);
}

/* ---- groups -------------------------------------------------------------------- */

/* A column (. a1 .. ah ; b0 .. bh) in which play goes on: its winning cells.  S is the
 * successor (b0 .. bh ; a1 .. ah e), with all that follows in row a1 of group a2 .. ah e
 * b1 .. bh. */
static uint32_t winning_cells(const visit *now, const uint8_t *a, const uint8_t *b, uint32_t free) {
    const ff_audit *groups = now->groups;
    const int half = groups->rules.m - 1;
    const uint32_t completing = ff_completing(&groups->rules, set_of(a, half));
    located after[FF_MAX_CELLS];
    uint8_t queue[FF_MAX_PIECES];
    memcpy(queue, a + 1, (size_t)(half - 1));
    for (uint32_t rest = free & ~completing; rest; rest &= rest - 1) {
        const int e = __builtin_ctz(rest);
        queue[half - 1] = (uint8_t)e;
        after[e] = locate(groups, queue, b + 1);
        __builtin_prefetch(now->file + after[e].bit / 8);
    }
    uint32_t winning = free & completing;
    for (uint32_t rest = free & ~completing; rest; rest &= rest - 1) {
        const int e = __builtin_ctz(rest);
        const uint32_t open = (free & ~ff_bit(e)) | ff_bit(a[0]);
        if (row_is_won(groups, now->file, &after[e], a[0], b[0], open)) winning |= ff_bit(e);
    }
    return winning;
}

static int state_of(const ff_audit *groups, const located *group, uint32_t winning) {
    if (winning == 0) return 0;
    if (winning & (winning - 1)) return rows_of(groups) + 1;
    return number_in(groups, group, __builtin_ctz(winning));
}

/* Counts the full positions of a column, by their oldest piece f, and the one with 2m - 1. */
static void count_column(const visit *now, const uint8_t *a, const uint8_t *b, uint32_t free,
                         uint32_t counted_f, int counted, uint32_t winning, int is_finished) {
    const ff_audit *groups = now->groups;
    const int m = groups->rules.m, half = m - 1;
    const uint32_t mover = set_of(a, half), completing = ff_completing(&groups->rules, mover);
    const int has_line = ff_has_line(&groups->rules, mover);
    uint64_t *full = now->count->results[2 * m], *last = now->count->results[2 * m - 1];
    const located row = locate(groups, b + 1, a);
    for (uint32_t rest = counted_f; rest; rest &= rest - 1) {
        const int f = __builtin_ctz(rest);
        int result = DRAWN;
        if (completing & ff_bit(f)) result = IMPOSSIBLE;
        else if (is_finished) result = LOST;
        else if (winning & ~ff_bit(f)) result = WON;
        else if (row_is_won(groups, now->file, &row, b[0], f, free | ff_bit(b[0]))) result = LOST;
        full[result]++;
    }
    if (!counted) return;
    int result = DRAWN;
    if (has_line) result = IMPOSSIBLE;
    else if (is_finished) result = LOST;
    else if (winning) result = WON;
    else if (row_is_won(groups, now->file, &row, b[0], -1, free | ff_bit(b[0]))) result = LOST;
    last[result]++;
}

static void check_group(const visit *now, const uint8_t *cells, const ff_audit_place *place) {
    const ff_audit *groups = now->groups;
    const int half = groups->rules.m - 1;
    const uint32_t board = ff_bit(groups->rules.cells) - 1, all_free = board & ~place->used;
    const unsigned stabiliser = place->at >= 0 ? groups->own.branch[place->at].group : 1;
    const int rows = rows_of(groups);
    const located here = {place->rank * (uint64_t)(rows * bits_of(rows)), 0, place->used};
    const int mover_line = ff_has_line(&groups->rules, set_of(cells, half));
    uint8_t b[FF_MAX_PIECES];
    memcpy(b, cells + half, (size_t)half);
    for (uint32_t rest = all_free; rest; rest &= rest - 1) {
        const int newest = __builtin_ctz(rest);
        const uint32_t free = all_free & ~ff_bit(newest);
        b[half] = (uint8_t)newest;
        const int is_finished = ff_has_line(&groups->rules, set_of(b, half + 1));
        uint32_t winning = 0;
        if (!mover_line && !is_finished) winning = winning_cells(now, cells, b, free);
        const int number = newest - __builtin_popcount(place->used & (ff_bit(newest) - 1)) + 1;
        /* The identity is transform 0 of fill_images, so that cells are numbered as they are. */
        const int stored = stored_column(groups, now->file, &here, number);
        now->count->checked++;
        if (stored != state_of(groups, &here, winning)) note_wrong(now->count, place->rank);
        /* Of mirror images one is counted: pairs (f, newest), the lowest f first. */
        uint32_t counted_f = 0;
        for (uint32_t f_rest = free; f_rest; f_rest &= f_rest - 1) {
            const int f = __builtin_ctz(f_rest);
            if (ff_audit_is_lowest(groups, stabiliser, f) &&
                ff_audit_is_lowest(groups, ff_audit_fixing(groups, stabiliser, f), newest))
                counted_f |= ff_bit(f);
        }
        count_column(now, cells, b, free, counted_f,
                     ff_audit_is_lowest(groups, stabiliser, newest), winning, is_finished);
    }
}

void ff_results_audit_groups(const ff_audit *audit, const uint8_t *file, ff_work *work,
                             ff_results_audit_count *count) {
    const visit now = {audit, audit, file, 0, count, check_group};
    visit_all(&now, work);
}

/* ---- positions with fewer pieces ------------------------------------------------ */

/* The result of (y1 .. yh ; x1 .. xh e), which has 2m - 1 pieces. */
static int result_of_last(const visit *now, const uint8_t *y, const uint8_t *x, int e) {
    const ff_audit *groups = now->groups;
    const int half = groups->rules.m - 1;
    uint8_t longer[FF_MAX_PIECES + 4];
    memcpy(longer, x, (size_t)half);
    longer[half] = (uint8_t)e;
    if (ff_has_line(&groups->rules, set_of(longer, half + 1))) return LOST;
    const located own = locate(groups, y, x);
    if (stored_column(groups, now->file, &own, number_in(groups, &own, e))) return WON;
    const located row = locate(groups, longer + 1, y);
    const uint32_t board = ff_bit(groups->rules.cells) - 1;
    const uint32_t open = board & ~(set_of(longer + 1, half) | set_of(y, half));
    return row_is_won(groups, now->file, &row, longer[0], -1, open) ? LOST : DRAWN;
}

static int stored_small(const visit *now, uint64_t node) {
    return now->file[now->columns_bytes + node / 4] >> 2 * (node % 4) & 3;
}

/* The result of the position in which the mover, with this queue, has placed a piece on e. */
static int result_after(const visit *now, const uint8_t *mover, int movers,
                        const uint8_t *opponent, int opponents, int e) {
    const ff_audit *audit = now->audit;
    if (audit->slice == 2 * audit->rules.m - 2) return result_of_last(now, opponent, mover, e);
    uint8_t cells[FF_MAX_PIECES + 1];
    int count = 0, transform;
    /* The next slice's order: the opponent moves there. */
    for (int i = 1; i < opponents; i++) cells[count++] = opponent[i];
    for (int i = 0; i < movers; i++) cells[count++] = mover[i];
    if (opponents) cells[count++] = opponent[0];
    cells[count++] = (uint8_t)e;
    const ff_audit_place place = ff_audit_locate(audit, cells, count, &transform);
    return stored_small(now, audit->next_base + place.rank);
}

static void check_small(const visit *now, const uint8_t *cells, const ff_audit_place *place) {
    const ff_audit *audit = now->audit;
    const ff_rules *rules = &audit->rules;
    const int movers = audit->slice / 2, opponents = audit->slice - movers;
    uint8_t mover[FF_MAX_PIECES + 4], opponent[FF_MAX_PIECES + 4];
    int at = 0;
    for (int i = 1; i < movers; i++) mover[i] = cells[at++];
    for (int i = 0; i + 1 < opponents; i++) opponent[i] = cells[at++];
    if (movers) mover[0] = cells[at++];
    if (opponents) opponent[opponents - 1] = cells[at];
    int expected = LOST;
    if (ff_has_line(rules, set_of(mover, movers))) {
        expected = IMPOSSIBLE;
    } else if (!ff_has_line(rules, set_of(opponent, opponents))) {
        const uint32_t board = ff_bit(rules->cells) - 1;
        for (uint32_t rest = board & ~place->used; rest && expected != WON; rest &= rest - 1) {
            const int after = result_after(now, mover, movers, opponent, opponents,
                                           __builtin_ctz(rest));
            if (after == LOST) expected = WON;
            if (after == DRAWN) expected = DRAWN;
        }
    }
    const uint64_t node = audit->slice_base + place->rank;
    now->count->checked++;
    now->count->results[audit->slice][expected]++;
    if (stored_small(now, node) != expected) note_wrong(now->count, node);
}

void ff_results_audit_small(const ff_audit *audit, const ff_audit *groups, const uint8_t *file,
                            uint64_t columns_bytes, ff_work *work,
                            ff_results_audit_count *count) {
    const visit now = {audit, groups, file, columns_bytes, count, check_small};
    visit_all(&now, work);
}
