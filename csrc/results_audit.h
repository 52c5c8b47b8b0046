/* results_audit.h -- does every stored result follow from those of the next moves?
 *
 * For files of results without plies (results_file.h).  Like audit.h it goes forwards, with
 * its own numbering (audit_places.h) and its own reading of the file, and shares only the
 * rules with the solver.
 *
 *   groups   Each column is derived again: e is one of its winning cells if the successor with
 *            the new piece on e is finished, or if all that follows on it is won, by the columns
 *            that the file holds for it.
 *   small    A position of slices 0 .. 2m - 2 is derived from its successors; those with
 *            2m - 1 pieces are read off the columns.
 *
 * What this proves: the file contradicts itself nowhere.  Every claimed win has a move to a
 * claimed loss, every claimed loss has none to anything but claimed wins, and where neither is
 * claimed neither follows; so a player who avoids what is lost is never beaten in what is called
 * a draw.  What it does not prove: that wins are reached in the end.  They could rest on each
 * other in a circle, which only depths rule out.
 */
#ifndef FF_RESULTS_AUDIT_H
#define FF_RESULTS_AUDIT_H

#include "audit.h"

/* cdef */
typedef struct {
    /* What was derived, by slice: drawn, lost (finished ones included), won, impossible. */
    uint64_t results[13][4];
    uint64_t checked; /* columns, or positions */
    uint64_t wrong;
    uint64_t wrong_place[16]; /* the first that this thread met: a group, or a node */
} ff_results_audit_count;

/* audit: of slice 2m - 2.  Work: audit->items. */
void ff_results_audit_groups(const ff_audit *audit, const uint8_t *file, ff_work *work,
                             ff_results_audit_count *count);

/* audit: of any slice up to 2m - 2.  groups: of slice 2m - 2.  columns_bytes: where the second
 * part of the file begins. */
void ff_results_audit_small(const ff_audit *audit, const ff_audit *groups, const uint8_t *file,
                            uint64_t columns_bytes, ff_work *work,
                            ff_results_audit_count *count);
/* end cdef */

#endif
