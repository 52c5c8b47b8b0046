#include "audit.h"

#include <string.h>

typedef struct ff_tree tree;
typedef struct ff_branch branch;

/* ---- symmetries and the tree of symmetric beginnings ----------------------- */

static void fill_images(ff_audit *audit) {
    const int n = audit->rules.n;
    for (int cell = 0; cell < n * n; cell++) {
        int r = cell / n, c = cell % n, far_r = n - 1 - r, far_c = n - 1 - c;
        const int rows[8] = {r, r, far_r, far_r, c, c, far_c, far_c};
        const int columns[8] = {c, far_c, c, far_c, r, far_r, r, far_r};
        int lowest = n * n;
        for (int t = 0; t < 8; t++) {
            int image = rows[t] * n + columns[t];
            audit->image[t][cell] = (uint8_t)image;
            if (image < lowest) {
                lowest = image;
                audit->lowest[cell] = 0;
            }
            if (image == lowest) audit->lowest[cell] |= (uint8_t)(1 << t);
        }
    }
}

static int is_lowest(const ff_audit *audit, unsigned group, int cell) {
    for (int t = 0; t < 8; t++)
        if ((group >> t & 1) && audit->image[t][cell] < cell) return 0;
    return 1;
}

static unsigned fixing(const ff_audit *audit, unsigned group, int cell) {
    unsigned fixed = 0;
    for (int t = 0; t < 8; t++)
        if ((group >> t & 1) && audit->image[t][cell] == cell) fixed |= 1u << t;
    return fixed;
}

/* Adds the branch for a beginning of `given` cells that `group` leaves in
 * place; counts the canonical sequences below it one choice at a time.  Returns
 * that count; *position is the new branch, or -1 when there is no room. */
static uint64_t grow(const ff_audit *audit, tree *grown, unsigned group, uint32_t used, int given,
                     int16_t *position) {
    if (grown->size == (int)(sizeof grown->branch / sizeof grown->branch[0])) {
        *position = -1;
        return 0;
    }
    int16_t here = (int16_t)grown->size++;
    branch *added = &grown->branch[here];
    const int board = audit->rules.cells, length = grown->length;
    uint64_t total = 0;
    *position = here;
    added->group = (uint8_t)group;
    for (int cell = 0; cell < board; cell++) {
        added->before[cell] = total;
        added->next[cell] = -1;
        if (given == length || (used & ff_bit(cell)) || !is_lowest(audit, group, cell)) continue;
        unsigned left = fixing(audit, group, cell);
        if (left == 1) {
            total += audit->ways[board - given - 1][length - given - 1];
            continue;
        }
        total += grow(audit, grown, left, used | ff_bit(cell), given + 1, &added->next[cell]);
        if (added->next[cell] < 0) *position = -1;
    }
    return given == length ? 1 : total;
}

/* A beginning of a canonical sequence: where its continuations start. */
typedef struct {
    uint64_t rank;
    int at; /* its branch, -1 once symmetry is broken */
    uint32_t used;
    int given;
} place;

static inline void extend(const ff_audit *audit, const tree *known, place *beginning, int cell) {
    if (beginning->at >= 0) {
        const branch *here = &known->branch[beginning->at];
        beginning->rank += here->before[cell];
        beginning->at = here->next[cell];
    } else {
        int smaller_unused =
            cell - __builtin_popcount(beginning->used & (ff_bit(cell) - 1));
        beginning->rank +=
            (uint64_t)smaller_unused * audit->ways[audit->rules.cells - beginning->given - 1]
                                                  [known->length - beginning->given - 1];
    }
    beginning->used |= ff_bit(cell);
    beginning->given++;
}

static inline int canonical_transform(const ff_audit *audit, const uint8_t *cells, int count) {
    unsigned tied = 0xFF;
    if (count > 0) tied = audit->lowest[cells[0]];
    for (int i = 1; i < count && (tied & (tied - 1)); i++) {
        unsigned best = 0;
        int lowest = FF_MAX_CELLS;
        for (unsigned rest = tied; rest; rest &= rest - 1) {
            int t = __builtin_ctz(rest), image = audit->image[t][cells[i]];
            if (image < lowest) best = 0, lowest = image;
            if (image == lowest) best |= 1u << t;
        }
        tied = best;
    }
    return __builtin_ctz(tied);
}

/* Finds the place of these cells' canonical form among the sequences of the next slice. */
static inline place locate(const ff_audit *audit, const uint8_t *cells, int count,
                           int *transform) {
    place located = {0, 0, 0, 0};
    *transform = canonical_transform(audit, cells, count);
    for (int i = 0; i < count; i++)
        extend(audit, &audit->next, &located, audit->image[*transform][cells[i]]);
    return located;
}

int ff_audit_init(ff_audit *audit, int n, int m, int k, int slice) {
    memset(audit, 0, sizeof *audit);
    int status = ff_rules_init(&audit->rules, n, m, k);
    if (status != FF_OK) return status;
    if (slice < 0 || slice > 2 * m) return FF_BAD_RULES;
    const int board = n * n;
    fill_images(audit);
    for (int c = 0; c <= board; c++) {
        audit->ways[c][0] = 1;
        for (int r = 1; r <= 2 * m; r++)
            audit->ways[c][r] = c < r ? 0 : (uint64_t)(c - r + 1) * audit->ways[c][r - 1];
    }
    audit->slice = slice;
    int16_t root = 0;
    for (int s = 0; s <= 2 * m; s++) {
        /* Every slice is counted; the trees of `slice` and the next one are kept. */
        tree *grown = s == slice ? &audit->own : &audit->next;
        if (s > slice + 1) break;
        memset(grown, 0, sizeof *grown);
        grown->length = s;
        uint64_t nodes = grow(audit, grown, 0xFF, 0, 0, &root);
        if (root < 0) return FF_NO_ROOM;
        if (s < slice) audit->slice_base += nodes;
        if (s == slice) audit->node_count = nodes;
    }
    if (slice == 2 * m) {
        audit->next = audit->own;
        audit->next_base = audit->slice_base;
    } else {
        audit->next_base = audit->slice_base + audit->node_count;
    }
    audit->split = slice - 2 < 3 ? (slice - 2 > 0 ? slice - 2 : 0) : 3;
    audit->items = 1;
    for (int i = 0; i < audit->split; i++) audit->items *= (uint64_t)board;
    return FF_OK;
}

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
    uint8_t mover[FF_MAX_PIECES], opponent[FF_MAX_PIECES];
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
        const place successor = locate(audit, cells, count + 1, &transform);
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
    place start;
    int transform;
    const uint8_t *entries;
} row_of_successors;

static void find_row(group *in, row_of_successors *row) {
    uint8_t cells[FF_MAX_PIECES];
    int count = successor_row(in->audit, &in->node, cells);
    row->start = locate(in->audit, cells, count, &row->transform);
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
        if (!is_lowest(audit, stabiliser, in->free[r])) continue;
        unsigned left = fixing(audit, stabiliser, in->free[r]);
        for (int c = 0; c < in->rows; c++) {
            if (c == r || !is_lowest(audit, left, in->free[c])) continue;
            in->node.mover[0] = in->free[r];
            in->node.opponent[in->node.opponents - 1] = in->free[c];
            judge(in->count, node, in->table[node], expected_value(audit, in->table, &in->node));
            node++;
        }
    }
}

static void check_group(const ff_audit *audit, const uint8_t *table, const uint8_t *cells,
                        const place *beginning, ff_audit_count *count) {
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
                        const place *beginning, ff_audit_count *count) {
    if (beginning->given == audit->slice - 2) {
        check_group(audit, table, cells, beginning, count);
        return;
    }
    for (int cell = 0; cell < audit->rules.cells; cell++) {
        if (beginning->used & ff_bit(cell)) continue;
        if (beginning->at >= 0 &&
            !is_lowest(audit, audit->own.branch[beginning->at].group, cell))
            continue;
        place longer = *beginning;
        extend(audit, &audit->own, &longer, cell);
        cells[beginning->given] = (uint8_t)cell;
        check_below(audit, table, cells, &longer, count);
    }
}

/* The first cells that item number `item` stands for; 0 if they are not a
 * canonical beginning. */
static int begin_item(const ff_audit *audit, uint64_t item, uint8_t *cells, place *beginning) {
    memset(beginning, 0, sizeof *beginning);
    for (int i = audit->split - 1; i >= 0; i--) {
        cells[i] = (uint8_t)(item % (uint64_t)audit->rules.cells);
        item /= (uint64_t)audit->rules.cells;
    }
    for (int i = 0; i < audit->split; i++) {
        if (beginning->used & ff_bit(cells[i])) return 0;
        if (beginning->at >= 0 &&
            !is_lowest(audit, audit->own.branch[beginning->at].group, cells[i]))
            return 0;
        extend(audit, &audit->own, beginning, cells[i]);
    }
    return 1;
}

/* Slices 0 and 1 have no groups: the empty board, and one piece. */
static void check_first_slices(const ff_audit *audit, const uint8_t *table,
                               ff_audit_count *count) {
    uint64_t node = audit->slice_base;
    for (int cell = 0; cell < (audit->slice ? audit->rules.cells : 1); cell++) {
        if (audit->slice && !is_lowest(audit, 0xFF, cell)) continue;
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
            place beginning;
            if (audit->slice < 2) check_first_slices(audit, table, count);
            else if (begin_item(audit, item, cells, &beginning))
                check_below(audit, table, cells, &beginning, count);
        }
    }
}
