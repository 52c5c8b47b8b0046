#include "audit_places.h"

#include <string.h>

typedef struct ff_tree tree;
typedef struct ff_branch branch;

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

/* Adds the branch for a beginning of `given` cells that `group` leaves in
 * ff_audit_place; counts the canonical sequences below it one choice at a time.  Returns
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
        if (given == length || (used & ff_bit(cell))) continue;
        if (!ff_audit_is_lowest(audit, group, cell)) continue;
        unsigned left = ff_audit_fixing(audit, group, cell);
        if (left == 1) {
            total += audit->ways[board - given - 1][length - given - 1];
            continue;
        }
        total += grow(audit, grown, left, used | ff_bit(cell), given + 1, &added->next[cell]);
        if (added->next[cell] < 0) *position = -1;
    }
    return given == length ? 1 : total;
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
