#include "audit_places.h"

#include <string.h>

/* ---- what successors imply ------------------------------------------------ */

/* The results of a set of successors, with enough detail to leave one of them out. */
typedef struct {
    int entries, lost, won;
    int soonest_loss, second_loss, soonest_at;
    int latest_win, second_win, latest_at;
} summary;

static inline void note(summary *all, int value, int at) {
    all->entries++;
    if (value & 1) {
        all->lost++;
        if (all->lost == 1 || value < all->soonest_loss) {
            all->second_loss = all->soonest_loss;
            all->soonest_loss = value;
            all->soonest_at = at;
        } else if (all->lost == 2 || value < all->second_loss) {
            all->second_loss = value;
        }
    } else if (value) {
        all->won++;
        if (value > all->latest_win) {
            all->second_win = all->latest_win;
            all->latest_win = value;
            all->latest_at = at;
        } else if (value > all->second_win) {
            all->second_win = value;
        }
    }
}

/* The value of a node with these successors; `without` is the place of one that it
 * does not have, whose value follows, or -1. */
static inline int implied(const summary *all, int without, int value) {
    int lost = all->lost, won = all->won, entries = all->entries;
    int loss = all->soonest_loss, win = all->latest_win;
    if (without >= 0) {
        entries--;
        if (value & 1) {
            lost--;
            if (without == all->soonest_at) loss = all->second_loss;
        } else if (value) {
            won--;
            if (without == all->latest_at) win = all->second_win;
        }
    }
    if (lost > 0) return loss + 1;
    return won == entries ? win + 1 : FF_UNDECIDED;
}

static void judge(ff_audit_count *count, uint64_t node, int value, int expected) {
    if (value == expected) {
        count->right[value]++;
        return;
    }
    if (count->wrong < FF_AUDIT_SHOWN) {
        count->wrong_node[count->wrong] = node;
        count->expected[count->wrong] = (uint8_t)expected;
    }
    count->wrong++;
}

/* ---- the nodes of one slice ------------------------------------------------ */

/* The queues behind a sequence a1.. b0.. a0 b-last, as in index.h. */
typedef struct {
    int movers, opponents;
    uint8_t mover[FF_MAX_PIECES + 4], opponent[FF_MAX_PIECES + 4];
} queues;

static void set_group(const ff_audit *audit, const uint8_t *cells, queues *node) {
    node->movers = audit->slice / 2;
    node->opponents = audit->slice - node->movers;
    int at = 0;
    for (int i = 1; i < node->movers; i++) node->mover[i] = cells[at++];
    for (int i = 0; i + 1 < node->opponents; i++) node->opponent[i] = cells[at++];
}

/* The cells that all successors share, in the next slice's order: the
 * opponent's queue moves first there; its oldest piece comes last. */
static int successor_row(const ff_audit *audit, const queues *node, uint8_t *cells) {
    int count = 0, leaves = node->movers == audit->rules.m;
    for (int i = 1; i < node->opponents; i++) cells[count++] = node->opponent[i];
    for (int i = leaves; i < node->movers; i++) cells[count++] = node->mover[i];
    if (node->opponents) cells[count++] = node->opponent[0];
    return count;
}

static uint32_t occupied(const queues *node) {
    uint32_t cells = 0;
    for (int i = 0; i < node->movers; i++) cells |= ff_bit(node->mover[i]);
    for (int i = 0; i < node->opponents; i++) cells |= ff_bit(node->opponent[i]);
    return cells;
}

static uint32_t pieces_of(const uint8_t *queue, int count) {
    uint32_t cells = 0;
    for (int i = 0; i < count; i++) cells |= ff_bit(queue[i]);
    return cells;
}

/* One node, move by move. */
static int expected_value(const ff_audit *audit, const uint8_t *table, const queues *node) {
    if (ff_has_line(&audit->rules, pieces_of(node->mover, node->movers))) return FF_IMPOSSIBLE;
    if (ff_has_line(&audit->rules, pieces_of(node->opponent, node->opponents)))
        return FF_FINISHED;
    uint8_t cells[FF_MAX_PIECES + 1];
    int count = successor_row(audit, node, cells), transform;
    uint32_t taken = occupied(node);
    summary all = {0};
    for (int cell = 0; cell < audit->rules.cells; cell++) {
        if (taken & ff_bit(cell)) continue;
        cells[count] = (uint8_t)cell;
        const ff_audit_place successor = ff_audit_locate(audit, cells, count + 1, &transform);
        note(&all, table[audit->next_base + successor.rank], cell);
    }
    return implied(&all, -1, 0);
}

/* A group: the sequences that share all but the last two cells. */
typedef struct {
    const ff_audit *audit;
    const uint8_t *table;
    ff_audit_count *count;
    uint64_t first; /* node number of the group's first sequence */
    uint32_t used;
    uint32_t mover_lines, opponent_lines; /* cells that give the side a line */
    int rows;
    uint8_t free[FF_MAX_CELLS];
    queues node;
} group;

/* A row of successors: located and prefetched first, read a little later, because
 * it may lie anywhere in the table. */
typedef struct {
    ff_audit_place start;
    int transform;
    const uint8_t *entries;
} row_of_successors;

static void find_row(group *in, row_of_successors *row) {
    uint8_t cells[FF_MAX_PIECES];
    int count = successor_row(in->audit, &in->node, cells);
    row->start = ff_audit_locate(in->audit, cells, count, &row->transform);
    row->entries = in->table + in->audit->next_base + row->start.rank;
    __builtin_prefetch(row->entries);
}

/* Notes all entries, quickly where they are all draws, as in most rows. */
static summary summarise(const uint8_t *entries, int columns) {
    summary all = {0};
    uint8_t any = 0;
    for (int i = 0; i < columns; i++) any |= entries[i];
    if (any)
        for (int i = 0; i < columns; i++) note(&all, entries[i], i);
    else
        all.entries = columns;
    return all;
}

/* What a whole group should hold, [row][column] as the table has it. */
typedef struct {
    int any; /* is anything in it decided? */
    uint8_t value[FF_MAX_CELLS * FF_MAX_CELLS];
} expectation;

static void expect_lines(const group *in, expectation *all) {
    const int columns = in->rows - 1;
    const uint32_t both = in->mover_lines | in->opponent_lines;
    all->any = (both & ~in->used) != 0;
    memset(all->value, FF_UNDECIDED, (size_t)(in->rows * columns));
    if (!all->any) return;
    for (int r = 0; r < in->rows; r++) {
        uint8_t *row = all->value + r * columns;
        for (int c = 0; c < columns; c++) {
            if (in->mover_lines >> in->free[r] & 1) row[c] = FF_IMPOSSIBLE;
            else if (in->opponent_lines >> in->free[c + (c >= r)] & 1) row[c] = FF_FINISHED;
        }
    }
}

static void expect(const group *in, expectation *all, int r, int c, int value) {
    uint8_t *entry = all->value + r * (in->rows - 1) + c - (c > r);
    if (*entry == FF_UNDECIDED) *entry = (uint8_t)value; /* lines come first */
    all->any |= value;
}

static void judge_group(const group *in, const expectation *all) {
    const uint64_t size = (uint64_t)(in->rows * (in->rows - 1));
    if (!all->any && memcmp(all->value, in->table + in->first, size) == 0) {
        in->count->right[FF_UNDECIDED] += size;
        return;
    }
    for (uint64_t i = 0; i < size; i++)
        judge(in->count, in->first + i, in->table[in->first + i], all->value[i]);
}

/* Full nodes of one column differ in the oldest piece alone, which leaves: they
 * share one row of successors, each without the entry on its own oldest cell. */
static void check_full_group(group *in) {
    row_of_successors rows[FF_MAX_CELLS];
    expectation all;
    for (int c = 0; c < in->rows; c++) {
        in->node.opponent[in->node.opponents - 1] = in->free[c];
        find_row(in, &rows[c]);
    }
    expect_lines(in, &all);
    for (int c = 0; c < in->rows; c++) {
        const uint8_t *image = in->audit->image[rows[c].transform], *entries = rows[c].entries;
        const summary successors = summarise(entries, in->rows - 1);
        if (successors.lost + successors.won == 0) continue;
        for (int r = 0; r < in->rows; r++) {
            if (r == c) continue;
            int cell = image[in->free[r]];
            int at = cell - __builtin_popcount(rows[c].start.used & (ff_bit(cell) - 1));
            expect(in, &all, r, c, implied(&successors, at, entries[at]));
        }
    }
    judge_group(in, &all);
}

/* A node that loses no piece has a row of successors of its own. */
static void check_partial_group(group *in) {
    row_of_successors rows[FF_MAX_CELLS];
    expectation all;
    const int columns = in->audit->rules.cells - in->audit->slice;
    expect_lines(in, &all);
    for (int c = 0; c < in->rows; c++) {
        in->node.opponent[in->node.opponents - 1] = in->free[c];
        for (int r = 0; r < in->rows; r++) {
            if (r == c) continue;
            in->node.mover[0] = in->free[r];
            find_row(in, &rows[r]);
        }
        for (int r = 0; r < in->rows; r++) {
            if (r == c) continue;
            const summary successors = summarise(rows[r].entries, columns);
            if (successors.lost + successors.won)
                expect(in, &all, r, c, implied(&successors, -1, 0));
        }
    }
    judge_group(in, &all);
}

/* A group that some symmetry leaves in place: only some pairs are canonical. */
static void check_symmetric_group(group *in, unsigned stabiliser) {
    const ff_audit *audit = in->audit;
    uint64_t node = in->first;
    for (int r = 0; r < in->rows; r++) {
        if (!ff_audit_is_lowest(audit, stabiliser, in->free[r])) continue;
        unsigned left = ff_audit_fixing(audit, stabiliser, in->free[r]);
        for (int c = 0; c < in->rows; c++) {
            if (c == r || !ff_audit_is_lowest(audit, left, in->free[c])) continue;
            in->node.mover[0] = in->free[r];
            in->node.opponent[in->node.opponents - 1] = in->free[c];
            judge(in->count, node, in->table[node], expected_value(audit, in->table, &in->node));
            node++;
        }
    }
}

static void check_group(const ff_audit *audit, const uint8_t *table, const uint8_t *cells,
                        const ff_audit_place *beginning, ff_audit_count *count) {
    group in;
    in.audit = audit;
    in.table = table;
    in.count = count;
    in.first = audit->slice_base + beginning->rank;
    in.used = beginning->used;
    in.rows = 0;
    set_group(audit, cells, &in.node);
    for (int cell = 0; cell < audit->rules.cells; cell++)
        if (!(in.used & ff_bit(cell))) in.free[in.rows++] = (uint8_t)cell;
    in.mover_lines =
        ff_completing(&audit->rules, pieces_of(in.node.mover + 1, in.node.movers - 1));
    in.opponent_lines =
        ff_completing(&audit->rules, pieces_of(in.node.opponent, in.node.opponents - 1));
    if (beginning->at >= 0) {
        check_symmetric_group(&in, audit->own.branch[beginning->at].group);
        return;
    }
    /* The group's symmetry is broken, so that of any row with its cells is. */
    if (audit->slice == 2 * audit->rules.m) check_full_group(&in);
    else check_partial_group(&in);
}

/* All groups that continue a canonical beginning. */
static void check_below(const ff_audit *audit, const uint8_t *table, uint8_t *cells,
                        const ff_audit_place *beginning, ff_audit_count *count) {
    if (beginning->given == audit->slice - 2) {
        check_group(audit, table, cells, beginning, count);
        return;
    }
    for (int cell = 0; cell < audit->rules.cells; cell++) {
        if (beginning->used & ff_bit(cell)) continue;
        if (beginning->at >= 0 &&
            !ff_audit_is_lowest(audit, audit->own.branch[beginning->at].group, cell))
            continue;
        ff_audit_place longer = *beginning;
        ff_audit_extend(audit, &audit->own, &longer, cell);
        cells[beginning->given] = (uint8_t)cell;
        check_below(audit, table, cells, &longer, count);
    }
}

/* The first cells that item number `item` stands for; 0 if they are not a
 * canonical beginning. */
static int begin_item(const ff_audit *audit, uint64_t item, uint8_t *cells,
                      ff_audit_place *beginning) {
    memset(beginning, 0, sizeof *beginning);
    for (int i = audit->split - 1; i >= 0; i--) {
        cells[i] = (uint8_t)(item % (uint64_t)audit->rules.cells);
        item /= (uint64_t)audit->rules.cells;
    }
    for (int i = 0; i < audit->split; i++) {
        if (beginning->used & ff_bit(cells[i])) return 0;
        if (beginning->at >= 0 &&
            !ff_audit_is_lowest(audit, audit->own.branch[beginning->at].group, cells[i]))
            return 0;
        ff_audit_extend(audit, &audit->own, beginning, cells[i]);
    }
    return 1;
}

/* Slices 0 and 1 have no groups: the empty board, and one piece. */
static void check_first_slices(const ff_audit *audit, const uint8_t *table,
                               ff_audit_count *count) {
    uint64_t node = audit->slice_base;
    for (int cell = 0; cell < (audit->slice ? audit->rules.cells : 1); cell++) {
        if (audit->slice && !ff_audit_is_lowest(audit, 0xFF, cell)) continue;
        const queues pieces = {0, audit->slice, {0}, {(uint8_t)cell}};
        judge(count, node, table[node], expected_value(audit, table, &pieces));
        node++;
    }
}

void ff_audit_slice(const ff_audit *audit, const uint8_t *table, ff_work *work,
                    ff_audit_count *count) {
    uint8_t cells[FF_MAX_PIECES];
    for (uint64_t first, end; ff_take(work, &first, &end);) {
        for (uint64_t item = first; item < end; item++) {
            ff_audit_place beginning;
            if (audit->slice < 2) check_first_slices(audit, table, count);
            else if (begin_item(audit, item, cells, &beginning))
                check_below(audit, table, cells, &beginning, count);
        }
    }
}
