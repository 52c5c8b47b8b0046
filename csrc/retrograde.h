/* retrograde.h -- who wins, and in how many plies, by need counters on rows.
 *
 * The full slice is a graph with cycles.  It is solved backwards from the
 * finished positions, one ply of depth at a time; what is still undecided when
 * nothing new follows is a draw (endless).  Nothing here assumes that the graph
 * is acyclic.
 *
 * Table of the full slice: [group][row][column], see index.h.  A group is a
 * canonical sequence of 2m - 2 cells.  The C - 2m + 2 cells it leaves free
 * number its rows (where the mover's oldest piece stands) and, without the
 * row's own cell, its columns (where the opponent's newest piece stands).
 *
 * The need counter belongs to a row, not to a position.  A row holds exactly
 * the positions that its parents can move to; the parent whose oldest piece
 * stands on cell f can reach all of them but the one with the new piece on f,
 * for a cell that is only just being vacated cannot be chosen.  So
 *
 *     parent f wins   <=>  the row has a lost entry other than f
 *     parent f loses  <=>  every entry but f is won
 *
 * with depth one more than the first lost, or the last won, entry.  The counter
 * (how many entries are lost, or won, so far) is read off the row's own bytes,
 * so counter and parents cannot disagree about multiplicities.
 *
 * Where a group has a stabiliser (it takes at most n pieces, so never for
 * 2m - 2 > n), mirror images of an entry are all kept and all written: the
 * table is "unfolded", every cell has its own column, and the rule above needs
 * no exception.  ff_fold drops the copies afterwards.
 *
 * Order.  Rows are read where the groups lie, but what they decide lies all over
 * the table, so the passes go through the groups tile by tile (tiles.h); a write
 * then lands where the writes shortly before it did.
 *
 * Threads share the work of one call to begin or propagate.  All rows that write
 * to a group are in one tile and a tile has one thread, so neither an entry nor a
 * byte of `fresh` has two writers in a pass.  A pass at an even depth writes only
 * wins and looks only for losses, and the other way round at an odd depth; so a
 * row may be read while another thread settles entries in it: what that read finds
 * there, undecided or settled just now, decides nothing.  Both sides are relaxed
 * atomics (shared.h).
 */
#ifndef FF_RETROGRADE_H
#define FF_RETROGRADE_H

#include "index.h"
#include "values.h"
#include "work.h"

/* cdef */
typedef struct {
    const ff_index *index;
    uint64_t groups;
    uint64_t tiles;     /* items of work in a pass, see tiles.h */
    int rows;           /* free cells of a group */
    int columns;        /* rows - 1 */
    uint8_t *full;      /* [groups][rows][columns], 16 readable bytes behind it */
    /* [groups], by parity of depth.  Bit r % 8: row r gained an entry, or another row
     * with the same bit did; examining a row needlessly does no harm. */
    uint8_t *fresh[2];
} ff_retrograde;

int ff_retrograde_init(ff_retrograde *solve, const ff_index *index, uint8_t *full,
                       uint8_t *fresh_even, uint8_t *fresh_odd);

/* The passes below take tiles from `work`, all of them between their threads, and
 * return this thread's count, or an error.  Items after the last tile are ignored. */

/* Marks finished and impossible positions in a zeroed table; counts the
 * finished ones. */
int64_t ff_begin(ff_retrograde *solve, ff_work *work);

/* Settles every position of depth + 1, and counts them. */
int64_t ff_propagate(ff_retrograde *solve, int depth, ff_work *work);

/* Rebuilds `fresh` for a table in which everything up to `depth` is settled;
 * counts the positions of that depth. */
int64_t ff_resume(ff_retrograde *solve, int depth, ff_work *work);

/* Drops mirror images from the full slice, in place.  Returns the entries kept. */
int64_t ff_fold(ff_retrograde *solve);
/* end cdef */

#endif
