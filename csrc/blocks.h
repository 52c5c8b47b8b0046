/* blocks.h -- the groups of the full slice, block by block, in the order of their numbers.
 *
 * A block is a run of tiles.h: the groups that agree in the first queue and in the first half
 * of the second one.  Its groups are neighbours, and the blocks follow each other.
 */
#ifndef FF_BLOCKS_H
#define FF_BLOCKS_H

#include "tiles.h"

enum { FF_MOST_ENDINGS = 18 * 17 * 16 }; /* 5 x 5, m = 6 */

typedef struct {
    const ff_index *index;
    ff_cursor cursor;
    int length, given;
    /* The ways to choose the last cells among the free ones of a block, in rising order. */
    uint8_t ending[FF_MOST_ENDINGS][3];
} ff_blocks;

/* The cells that the groups of a block have in common; half: cells of each queue. */
static inline int ff_block_cells(int half) { return half + ff_fixed_second(half); }

static inline void ff_blocks_init(ff_blocks *blocks, const ff_index *index) {
    const int half = index->rules.m - 1;
    blocks->index = index;
    blocks->length = 2 * half;
    blocks->given = ff_block_cells(half);
    ff_cursor_init(&blocks->cursor, index, blocks->given);
    const int free = index->rules.cells - blocks->given, missing = blocks->length - blocks->given;
    const int seconds = missing > 1 ? free : 1, thirds = missing > 2 ? free : 1;
    int count = 0;
    for (int i = 0; i < free; i++)
        for (int j = 0; j < seconds; j++)
            for (int k = 0; k < thirds; k++) {
                if ((missing > 1 && j == i) || (missing > 2 && (k == i || k == j))) continue;
                blocks->ending[count][0] = (uint8_t)i;
                blocks->ending[count][1] = (uint8_t)j;
                blocks->ending[count++][2] = (uint8_t)k;
            }
}

static inline uint64_t ff_most_in_block(const ff_index *index) {
    const int half = index->rules.m - 1, given = ff_block_cells(half);
    return index->falling[index->rules.cells - given][2 * half - given];
}

static inline void ff_read_block(ff_blocks *blocks, uint64_t number, ff_run *run) {
    const int given = blocks->given, length = blocks->length;
    ff_cursor_seek(&blocks->cursor, number);
    memcpy(run->cells, blocks->cursor.cells, (size_t)given);
    run->given = given;
    run->first = ff_rank_of_beginning(blocks->index, run->cells, given, length, &run->stabiliser);
    run->end = run->first + ff_continuations_of(blocks->index, run->stabiliser, given, length);
    ff_free_cells(blocks->index, ff_cells_mask(run->cells, given), run->free);
}

/* Completes the cells of this group of the block, and returns its stabiliser. */
static inline unsigned ff_read_block_group(const ff_blocks *blocks, ff_run *run, uint64_t group) {
    const int length = blocks->length, given = run->given;
    if (run->stabiliser != FF_IDENTITY_ONLY) {
        unsigned stabiliser = FF_ALL_TRANSFORMS;
        ff_sequence_unrank(blocks->index, group, length, run->cells);
        for (int i = 0; i < length; i++)
            stabiliser &= blocks->index->symmetry.stabiliser[run->cells[i]];
        return stabiliser;
    }
    const uint8_t *ending = blocks->ending[group - run->first];
    for (int i = given; i < length; i++) run->cells[i] = run->free[ending[i - given]];
    return FF_IDENTITY_ONLY;
}

#endif
