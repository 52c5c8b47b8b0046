/* results.h -- who wins, without the plies of each position, in less than a bit a position.
 *
 * winning.h has the idea: a column of the full slice is nothing but its winning cells.  A
 * pass takes two plies at once.  Let the columns hold the wins of up to d - 1 plies, d even.
 *
 *   settle   Row b0 of group b1 .. bh a1 .. ah, with at most one entry missing, has lost
 *            parents, in d plies: all of them, or the one whose oldest piece stands on the
 *            missing entry.  A lost parent (f a1 .. ah ; b0 .. bh) is itself a successor of
 *            the column ah of group b0 .. b(h-1) f a1 .. a(h-1): there bh is a winning cell.
 *   commit   The columns that gained a winning cell hold the wins of d + 1 plies; what
 *            changed is counted, and so are the losses in d + 2 that follow from it.
 *
 * What a pass finds is applied to the state after it only (winning.h), so all depths are
 * exact although none is stored.  The order of a pass changes nothing: adding a winning cell
 * is idempotent and commutative.
 *
 * Of positions with 2m - 2 pieces a byte is kept as in a table (values.h): (x1 .. xh ;
 * y1 .. yh) is lost once every column of group y1 .. yh x1 .. xh has a winning cell, and won
 * once some row x1 of group x2 .. xh e y1 .. yh is won throughout.  What has still fewer
 * pieces is filled from there (fill.h).
 *
 * A message says what a settled row adds, and where.  In one process messages are applied as
 * they arise (ff_results_settle); where the groups lie in several, they are listed, sent to
 * whoever has the target, and applied there (ff_results_list, ff_results_apply):
 *
 *     63      16 15     8 7     0
 *     [ target ] [column ] [ cell ]     target: a group; cell as in winning.h
 *     [ target ] [ 0xFF  ] [result]     target: rank of a position with 2m - 2 pieces;
 *                                       result: FF_MESSAGE_WON or FF_MESSAGE_LOST
 *
 * Order.  Groups are settled tile by tile (tiles.h).  All messages for one group come from
 * one tile, so that no group has two writers in a pass; and a thread reads only the part of a
 * column that others do not change, what it was before the pass.  Blocks are the groups that
 * agree in all but the last cells of the opponent's queue: neighbours, and the runs of a tile.
 */
#ifndef FF_RESULTS_H
#define FF_RESULTS_H

#include "index.h"
#include "work.h"

/* cdef */
enum { FF_MESSAGE_POSITION = 0xFF, FF_MESSAGE_WON = 1, FF_MESSAGE_LOST = 2 };

typedef struct {
    const ff_index *index;
    uint64_t groups;
    uint64_t tiles, blocks;   /* items of work, of settle and of the other passes */
    uint64_t first_block, first_group; /* where `states` begins; 0 unless it is a part */
    int rows;                 /* free cells of a group: its columns */
    int group_bytes;          /* 4 or 8 if a group is one word (winning.h), else rows + 1 */
    uint8_t *states;          /* [groups][group_bytes], 32 readable bytes behind it */
    uint8_t *before;          /* of slice 2m - 2: a table byte for each position */
    /* [2][blocks]: has something changed in this block since the last pass; must it be settled?
     * Used if all blocks are of one size, `in_block` groups, else 0. */
    uint8_t *touched;
    uint32_t in_block;
    uint64_t in_block_inverse; /* 2^64 / in_block, rounded up: a division costs more than the rest */
    uint16_t *completing;     /* [65536]: ff_completing by pieces, if there are 16 cells or less */
} ff_results_solve;

/* `completing` has 65536 entries, which are filled in, or is not used.  A part of the groups,
 * from those of `first_block` on, can be solved together with other parts: then `states` holds
 * that part only, `blocks` is still the number of all. */
uint64_t ff_results_blocks(const ff_index *index);
int ff_results_init(ff_results_solve *solve, const ff_index *index, uint8_t *states,
                    uint8_t *before, uint8_t *touched, uint16_t *completing,
                    uint64_t first_block);

/* The first group of a block; of the block behind the last, the number of groups. */
uint64_t ff_results_first_group(const ff_results_solve *solve, uint64_t block);

/* How many positions of slices 2m - 1 and 2m have each table byte (values.h), without those
 * that are not decided. */
typedef struct {
    uint64_t last[256], full[256];
} ff_results_counts;

/* The passes below take items from `work`, all of them between their threads; they add what
 * they count to `counts`. */

/* Writes the wins in one ply, as changes of the first pass, into zeroed groups; counts what is
 * finished or impossible.  Work: blocks. */
void ff_results_begin(const ff_results_solve *solve, ff_results_counts *counts, ff_work *work);

/* Writes what the rules alone say of slice 2m - 2: finished, impossible, won in one ply.
 * Work: positions of that slice. */
void ff_results_begin_before(const ff_results_solve *solve, ff_work *work);

/* Finds the losses in `depth` plies, and applies what follows.  Work: tiles. */
void ff_results_settle(const ff_results_solve *solve, int depth, ff_work *work);

/* The same for the groups of some blocks, but lists the messages.  Stops before the list
 * overflows: returns the first block that is not settled yet.  No block has more than
 * ff_results_most messages. */
uint64_t ff_results_most(const ff_results_solve *solve);
uint64_t ff_results_list(const ff_results_solve *solve, uint64_t block, uint64_t end,
                         uint64_t *messages, uint64_t room, uint64_t *count);

/* Applies messages for the groups that `states` holds, and for positions of `before`; for one
 * thread at a time. */
void ff_results_apply(const ff_results_solve *solve, int depth, const uint64_t *messages,
                      uint64_t count);

/* Ends the pass of this depth, 0 after ff_results_begin.  Returns how many groups have to be
 * settled next, or FF_TOO_DEEP.  Work: blocks. */
int64_t ff_results_commit(const ff_results_solve *solve, int depth, ff_results_counts *counts,
                          ff_work *work);
/* end cdef */

#endif
