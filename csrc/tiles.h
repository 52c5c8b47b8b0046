/* tiles.h -- an order of visiting groups in which what is written lies together.
 *
 * A pass reads rows and writes what follows for their parents.  What row b0 of
 * group b1 b2 .. bh a1 a2 .. ah writes lies in group a1 a2 .. ah b0 b1 .. (see
 * retrograde.h).  Visiting the groups in numerical order would write all over the
 * table: every write would miss the cache, and the TLB as well.
 *
 * A tile is the set of groups that agree, up to symmetry, in the first cells of
 * both queues, say b1 b2 and a1 a2.  What a tile reads and what it writes is a
 * few hundred kilobytes, and the tiles with the same a1 a2, visited one after
 * the other, write to the same pages.  The rows that write to one group differ
 * in bh alone, so all of them are in one tile: if a tile is visited by one
 * thread, no group is written to by two threads in a pass.
 *
 * Tiles are numbered as the canonical sequences a1 a2 b1 b2, the runs in them as
 * the canonical sequences a1 a2 b1 b2 b3 .. bh.  The orbits of such sequences
 * and those of b1 .. bh a1 a2 correspond one to one; so the runs are just the
 * ways in which a group can begin, and the groups of a run are neighbours.
 */
#ifndef FF_TILES_H
#define FF_TILES_H

#include <string.h>

#include "index.h"
#include "work.h"

typedef struct {
    const ff_index *index;
    int length;                       /* cells of a group */
    uint8_t order[FF_MAX_PIECES];     /* the place in its group of each cell of a run */
    uint64_t count;                   /* tiles */
    uint64_t next_tile, end_of_tiles; /* of those taken */
    uint64_t next_run, end_of_runs;   /* of the current tile */
    ff_cursor tile, run;
} ff_tiles;

/* The groups that share a beginning. */
typedef struct {
    uint8_t cells[FF_MAX_PIECES]; /* the canonical beginning; then the rest of a group */
    int given;                    /* cells of the beginning */
    uint8_t stabiliser;
    uint8_t free[FF_MAX_CELLS]; /* cells outside the beginning */
    uint64_t first, end;
} ff_run;

/* How many cells of the two queues a tile agrees in.  The first queue's last
 * cell must not be among them. */
static inline int ff_fixed_first(int queue) { return queue > 1 ? (queue + 1) / 2 : 0; }
static inline int ff_fixed_second(int queue) { return queue / 2; }

static inline uint64_t ff_tile_count(const ff_index *index, int first_queue, int second_queue) {
    return index->sequences[ff_fixed_first(first_queue) + ff_fixed_second(second_queue)];
}

/* Tiles that agree in the first `fixed` cells of `order`, which is set, and runs in
 * the first `given`, which are the places that a group begins with. */
static inline void ff_tiles_start(ff_tiles *tiles, const ff_index *index, int fixed, int given,
                                  int length) {
    tiles->index = index;
    tiles->length = length;
    tiles->count = index->sequences[fixed];
    tiles->next_tile = tiles->end_of_tiles = 0;
    tiles->next_run = tiles->end_of_runs = 0;
    ff_cursor_init(&tiles->tile, index, fixed);
    ff_cursor_init(&tiles->run, index, given);
}

/* `late` cells of the second queue are put behind those of the first that a tile
 * agrees in: the later a cell, the sooner it changes. */
static inline void ff_tiles_init(ff_tiles *tiles, const ff_index *index, int first_queue,
                                 int second_queue, int late) {
    const int first = ff_fixed_first(first_queue), second = ff_fixed_second(second_queue);
    int place = 0;
    for (int i = late; i < second; i++) tiles->order[place++] = (uint8_t)(first_queue + i);
    for (int i = 0; i < first; i++) tiles->order[place++] = (uint8_t)i;
    for (int i = 0; i < late && i < second; i++) tiles->order[place++] = (uint8_t)(first_queue + i);
    for (int i = first; i < first_queue; i++) tiles->order[place++] = (uint8_t)i;
    ff_tiles_start(tiles, index, first + second, first_queue + second, first_queue + second_queue);
}

static inline void ff_enter_tile(ff_tiles *tiles, uint64_t tile) {
    const int fixed = tiles->tile.length, length = tiles->run.length;
    uint8_t stabiliser;
    ff_cursor_seek(&tiles->tile, tile);
    tiles->next_run =
        ff_rank_of_beginning(tiles->index, tiles->tile.cells, fixed, length, &stabiliser);
    tiles->end_of_runs =
        tiles->next_run + ff_continuations_of(tiles->index, stabiliser, fixed, length);
}

static inline void ff_read_run(ff_tiles *tiles, uint64_t number, ff_run *run) {
    const int given = tiles->run.length, length = tiles->length;
    uint8_t cells[FF_MAX_PIECES];
    ff_cursor_seek(&tiles->run, number);
    for (int i = 0; i < given; i++) cells[tiles->order[i]] = tiles->run.cells[i];
    const ff_place place = ff_place_of(tiles->index, cells, given, length);
    const uint8_t *image = tiles->index->symmetry.image[place.transform];
    for (int i = 0; i < given; i++) run->cells[i] = image[cells[i]];
    run->given = given;
    run->stabiliser = place.stabiliser;
    run->first = place.rank;
    run->end = place.rank + ff_continuations_of(tiles->index, place.stabiliser, given, length);
    ff_free_cells(tiles->index, ff_cells_mask(run->cells, given), run->free);
}

/* Takes the next run from `work`, whose items are tiles; items after the last tile
 * are ignored.  Returns 0 when all are taken. */
static inline int ff_take_run(ff_tiles *tiles, ff_work *work, ff_run *run) {
    while (tiles->next_run == tiles->end_of_runs) {
        if (tiles->next_tile == tiles->end_of_tiles &&
            !ff_take(work, &tiles->next_tile, &tiles->end_of_tiles))
            return 0;
        if (tiles->end_of_tiles > tiles->count) tiles->end_of_tiles = tiles->count;
        if (tiles->next_tile >= tiles->end_of_tiles) return 0;
        ff_enter_tile(tiles, tiles->next_tile++);
    }
    ff_read_run(tiles, tiles->next_run++, run);
    return 1;
}

/* Completes the cells of this group of the run, and returns its stabiliser. */
static inline unsigned ff_read_group(const ff_tiles *tiles, ff_run *run, uint64_t group) {
    const int length = tiles->length, missing = length - run->given;
    if (missing == 0) return run->stabiliser;
    if (run->stabiliser != FF_IDENTITY_ONLY || missing > 2) {
        unsigned stabiliser = FF_ALL_TRANSFORMS;
        ff_sequence_unrank(tiles->index, group, length, run->cells);
        for (int i = 0; i < length; i++)
            stabiliser &= tiles->index->symmetry.stabiliser[run->cells[i]];
        return stabiliser;
    }
    uint32_t last = (uint32_t)(group - run->first);
    if (missing == 2) {
        const uint32_t choices = (uint32_t)(tiles->index->rules.cells - run->given - 1);
        const uint32_t before = last / choices;
        last -= before * choices;
        last += last >= before;
        run->cells[run->given] = run->free[before];
    }
    run->cells[length - 1] = run->free[last];
    return FF_IDENTITY_ONLY;
}

/* The ranks of sequences that differ in one cell, the open one.  The cells before
 * it must break the symmetry; then all that changes is that a cell behind it has one
 * unused cell fewer below it if the open cell is below it. */
typedef struct {
    const uint8_t *image; /* of the transform that makes the sequences canonical */
    uint64_t rank;        /* as if the open cell used no cell and had digit 0 */
    uint32_t before;      /* images of the cells before the open one */
    uint32_t used;        /* and of those behind it too */
    int behind;           /* how many there are */
    uint64_t weight;
    uint64_t weight_behind[FF_MAX_PIECES];
    int cell_behind[FF_MAX_PIECES];
} ff_open_place;

/* Of sequences of `length` cells that begin with these; the rank is that of the first of them.
 * Returns 0 if the cells before do not break the symmetry. */
static inline int ff_open_beginning_init(ff_open_place *place, const ff_index *index,
                                         const uint8_t *before, int before_count,
                                         const uint8_t *behind, int behind_count, int length) {
    const ff_place beginning = ff_place_of(index, before, before_count, length);
    if (beginning.stabiliser != FF_IDENTITY_ONLY) return 0;
    const uint8_t *image = index->symmetry.image[beginning.transform];
    const uint64_t *weight = &index->weight[length][before_count];
    uint32_t used = 0;
    for (int i = 0; i < before_count; i++) used |= ff_bit(image[before[i]]);
    place->image = image;
    place->rank = beginning.rank;
    place->before = used;
    place->behind = behind_count;
    place->weight = weight[0];
    for (int i = 0; i < behind_count; i++) {
        const int cell = image[behind[i]];
        place->rank += (uint64_t)ff_digit(used, cell) * weight[i + 1];
        place->cell_behind[i] = cell;
        place->weight_behind[i] = weight[i + 1];
        used |= ff_bit(cell);
    }
    place->used = used;
    return 1;
}

/* The same with no cell behind those. */
static inline int ff_open_place_init(ff_open_place *place, const ff_index *index,
                                     const uint8_t *before, int before_count,
                                     const uint8_t *behind, int behind_count) {
    return ff_open_beginning_init(place, index, before, before_count, behind, behind_count,
                                  before_count + 1 + behind_count);
}

/* The rank with this image of the open cell. */
static inline uint64_t ff_open_rank(const ff_open_place *place, int cell) {
    uint64_t rank = place->rank + (uint64_t)ff_digit(place->before, cell) * place->weight;
    for (int i = 0; i < place->behind; i++)
        rank -= place->weight_behind[i] & -(uint64_t)(cell < place->cell_behind[i]);
    return rank;
}

#endif
