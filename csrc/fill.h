/* fill.h -- the slices with fewer than 2m pieces, once the full slice is solved.
 *
 * They have no cycles: a position of slice s moves to slice s + 1.  So they are
 * filled from the slice above, one after the other.
 */
#ifndef FF_FILL_H
#define FF_FILL_H

#include "index.h"
#include "work.h"

/* cdef */
/* Decides slice s, 0 < s < 2m, from slice s + 1.  `table` holds all slices,
 * folded, and 16 readable bytes behind them; the items of `work` are the
 * ff_fill_tiles of the slice. */
uint64_t ff_fill_tiles(const ff_index *index, int slice);
int64_t ff_fill_slice(const ff_index *index, uint8_t *table, int slice, ff_work *work);

/* Decides the start position from slice 1. */
void ff_fill_root(const ff_index *index, uint8_t *table);
/* end cdef */

#endif
