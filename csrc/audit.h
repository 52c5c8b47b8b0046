/* audit.h -- does every result follow from the results of its successors?
 *
 * The audit goes forwards where the solver goes backwards, and shares nothing
 * with it but the rules.  It has its own symmetries, its own enumeration of
 * canonical sequences and its own way to find a sequence in the table (a tree
 * over the beginnings that some symmetry leaves in place, where index.c has
 * closed formulas); what the two agree on is only the order of the table that
 * index.h describes.
 *
 * A table is right if and only if, for every node,
 *     impossible   the mover has a line;
 *     finished     else, if the opponent has one;
 *     win in d+1   else, if the soonest lost successor is lost in d;
 *     loss in d+1  else, if all successors are won, the latest in d;
 *     draw         else.
 * Depths rule out circular reasoning: a win or loss in d + 1 rests on nodes of
 * depth d, so by induction every claimed result is forced.  And a draw has a
 * drawn successor and none that is lost, so a player who follows drawn
 * successors is never beaten.
 */
#ifndef FF_AUDIT_H
#define FF_AUDIT_H

#include "rules.h"
#include "values.h"
#include "work.h"

/* cdef */
enum { FF_AUDIT_SHOWN = 16 };

typedef struct {
    uint64_t right[256]; /* nodes whose stored value is right, by value */
    uint64_t wrong;
    uint64_t wrong_node[16]; /* the first of them that this thread met */
    uint8_t expected[16];
} ff_audit_count;

typedef struct {
    ff_rules rules;
    int slice;       /* the slice whose nodes are checked */
    int split;       /* cells in the beginning that an item of work fixes */
    uint64_t items;  /* for ff_work: every beginning of `split` cells, canonical or not */
    uint64_t node_count, slice_base, next_base;
    uint8_t image[8][25];
    uint8_t lowest[25]; /* the transforms that carry this cell lowest */
    uint64_t ways[26][13];
    struct ff_tree {
        int length, size;
        struct ff_branch {
            uint8_t group;
            uint64_t before[25]; /* canonical sequences skipped by taking this cell */
            int16_t next[25];    /* the branch that follows; -1: symmetry is broken */
        } branch[512];
    } own, next; /* for the slice itself, and for the slice its moves lead to */
} ff_audit;

int ff_audit_init(ff_audit *audit, int n, int m, int k, int slice);
void ff_audit_slice(const ff_audit *audit, const uint8_t *table, ff_work *work,
                    ff_audit_count *count);
/* end cdef */

#endif
