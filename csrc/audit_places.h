/* audit_places.h -- the audit's own numbering of canonical sequences.
 *
 * index.c ranks by closed formulas; the audit finds the same numbers by counting.
 * A tree has a branch for every beginning that some symmetry leaves in place, and
 * each branch counts the canonical sequences that begin with a smaller cell.
 * Once symmetry is broken every continuation is canonical, and their number is
 * that of the ordered choices among the cells left.
 *
 * Included by audit.c and audit_places.c only.
 */
#ifndef FF_AUDIT_PLACES_H
#define FF_AUDIT_PLACES_H

#include "audit.h"

/* A beginning of a canonical sequence: where its continuations start. */
typedef struct {
    uint64_t rank;
    int at; /* its branch, -1 once symmetry is broken */
    uint32_t used;
    int given;
} ff_audit_place;

/* Whether no symmetry of the group carries this cell lower. */
static inline int ff_audit_is_lowest(const ff_audit *audit, unsigned group, int cell) {
    for (int t = 0; t < 8; t++)
        if ((group >> t & 1) && audit->image[t][cell] < cell) return 0;
    return 1;
}

/* Those symmetries of the group that leave this cell in place. */
static inline unsigned ff_audit_fixing(const ff_audit *audit, unsigned group, int cell) {
    unsigned fixed = 0;
    for (int t = 0; t < 8; t++)
        if ((group >> t & 1) && audit->image[t][cell] == cell) fixed |= 1u << t;
    return fixed;
}

/* The beginning with one cell more. */
static inline void ff_audit_extend(const ff_audit *audit, const struct ff_tree *known,
                                   ff_audit_place *beginning, int cell) {
    if (beginning->at >= 0) {
        const struct ff_branch *here = &known->branch[beginning->at];
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

/* The transform that carries these cells to their canonical form. */
static inline int ff_audit_transform(const ff_audit *audit, const uint8_t *cells, int count) {
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
static inline ff_audit_place ff_audit_locate(const ff_audit *audit, const uint8_t *cells,
                                             int count, int *transform) {
    ff_audit_place located = {0, 0, 0, 0};
    *transform = ff_audit_transform(audit, cells, count);
    for (int i = 0; i < count; i++)
        ff_audit_extend(audit, &audit->next, &located, audit->image[*transform][cells[i]]);
    return located;
}

#endif
