/* index.h -- a perfect index of the nodes up to symmetry: rank <-> node.
 *
 * Order of the pieces.  A node of slice s, mover queue a[0..p-1], opponent
 * queue b[0..o-1], oldest first, is written as one sequence of s cells:
 *
 *     a[1] ... a[p-1]  b[0] ... b[o-2]   a[0]   b[o-1]
 *     '----------- group -----------'   row    column
 *
 * The two pieces that the game treats specially come last: the mover's oldest,
 * which the next move removes, and the opponent's newest, which the last move
 * placed.  What that buys, for a full node A = (a0..a3; b0..b3):
 *
 *   - all its successors (b0..b3; a1 a2 a3 e) lie in one row of the table: same
 *     group, same mover's oldest b0, only the column e differs;
 *   - all the parents of a row (they differ in a0 alone) lie in one column of
 *     one group.  Rows and columns correspond one to one, so the retrograde
 *     analysis ranks once per row, never once per position.
 *
 * Canonical.  Of the eight images of a sequence the lexicographically smallest
 * is canonical.  Reading the sequence from the left, the transforms that still
 * give the smallest beginning are `tied`; they are a coset of the stabiliser of
 * the canonical beginning, so the choice narrows exactly as symmetry breaks.
 *
 * Rank.  The number of canonical sequences of the same length that are
 * smaller.  Where the stabiliser H of a beginning is trivial every
 * continuation is canonical, and the rest of the rank is mixed radix: digit =
 * unused cells below this one.  Elsewhere continuations are counted by
 * Burnside: with u cells used and r to come,
 *     |orbits| = 1/|H| * sum over t in H of (fixed(t) - u)(fixed(t) - u - 1)...
 * (r factors), for the u cells used are fixed by all of H.
 *
 * Two pieces nearly always break the symmetry; a table over the first two (or
 * three, if two are on one axis) gives transform and partial rank at once, and a
 * walk does what is left.  Unranking looks for the first two in a sorted list.
 *
 * Node numbers.  Slices follow each other, s = 0 .. 2m; within a slice the
 * number is the rank.  A state code spells the sequence out, so that code
 * order is node order:
 *
 *     63   60 59     54 53     48              5       0
 *     [pieces] [cell 0 ] [cell 1 ]    ...      [cell 9 ]    unused cells: 0
 *
 * With eleven or twelve pieces a cell has five bits instead of six, cell 0 in bits
 * 55 to 59.
 */
#ifndef FF_INDEX_H
#define FF_INDEX_H

#include "symmetry.h"

enum { FF_UNRESOLVED = 0xFF };

/* cdef */
typedef struct {
    ff_rules rules;
    ff_symmetry symmetry;
    uint64_t falling[26][13];       /* [c][r]: c (c-1) ... (c-r+1) */
    uint64_t weight[13][12];        /* [length][i]: continuations after i + 1 cells */
    uint64_t sequences[13];         /* canonical sequences of each length */
    uint64_t slice_base[14];        /* first node of each slice; [2m+1]: all nodes */
    /* By the first two cells, where they break the symmetry: the transform, and
     * for each length the rank of the beginning. */
    uint8_t pair_transform[625];
    uint64_t pair_rank[13][625];
    /* Two cells on one axis do not: those pairs are numbered, and the third cell
     * is looked up too. */
    uint8_t pair_on_axis[625];
    uint8_t third_transform[80][25];
    uint64_t third_rank[13][80][25];
    /* The canonical pairs that break the symmetry, in rising order, for unranking:
     * behind one of them a rank is mixed radix. */
    int beginnings;
    uint8_t beginning[80][2];
    uint64_t beginning_rank[13][80]; /* for each length, the first rank behind it */
} ff_index;

int ff_index_init(ff_index *index, int n, int m, int k);
/* end cdef */

void ff_sequence_unrank(const ff_index *index, uint64_t rank, int length, uint8_t *cells);

/* Where the cell in this place of a sequence stands in a state code. */
static inline int ff_code_shift(int place, int pieces) {
    return pieces <= 10 ? 54 - 6 * place : 55 - 5 * place;
}

/* What one cell, in this place of the sequence, adds to a state code. */
static inline uint64_t ff_code_of_cell(int cell, int place, int pieces) {
    return (uint64_t)cell << ff_code_shift(place, pieces);
}

/* The state code of a sequence. */
static inline uint64_t ff_pack(const uint8_t *cells, int pieces) {
    uint64_t code = (uint64_t)pieces << 60;
    for (int i = 0; i < pieces; i++) code |= ff_code_of_cell(cells[i], i, pieces);
    return code;
}

static inline int ff_unpack(uint64_t code, uint8_t *cells) {
    int pieces = (int)(code >> 60);
    for (int i = 0; i < pieces && i < FF_MAX_PIECES; i++)
        cells[i] = (uint8_t)(code >> ff_code_shift(i, pieces) & (pieces <= 10 ? 63 : 31));
    return pieces;
}

/* The number of unused cells below this one. */
static inline int ff_digit(uint32_t used, int cell) {
    return cell - __builtin_popcount(used & (ff_bit(cell) - 1));
}

/* What a beginning is: where its continuations start, the transform that makes
 * it canonical, and the stabiliser of the canonical beginning. */
typedef struct {
    uint64_t rank;
    uint8_t transform;
    uint8_t stabiliser;
} ff_place;

ff_place ff_place_by_walk(const ff_index *index, const uint8_t *cells, int given, int length);

/* The place of the first `given` cells of a sequence of `length` cells. */
static inline ff_place ff_place_of(const ff_index *index, const uint8_t *cells, int given,
                                   int length) {
    if (given < 2) return ff_place_by_walk(index, cells, given, length);
    int known = 2, pair = cells[0] * index->rules.cells + cells[1];
    int t = index->pair_transform[pair];
    ff_place place = {index->pair_rank[length][pair], (uint8_t)t, FF_IDENTITY_ONLY};
    if (t == FF_UNRESOLVED) {
        if (given < 3) return ff_place_by_walk(index, cells, given, length);
        int axis_pair = index->pair_on_axis[pair];
        t = index->third_transform[axis_pair][cells[2]];
        if (t == FF_UNRESOLVED) return ff_place_by_walk(index, cells, given, length);
        known = 3;
        place.rank = index->third_rank[length][axis_pair][cells[2]];
        place.transform = (uint8_t)t;
    }
    const uint8_t *image = index->symmetry.image[t];
    const uint64_t *weight = index->weight[length];
    uint32_t used = 0;
    for (int i = 0; i < known; i++) used |= ff_bit(image[cells[i]]);
    for (int i = known; i < given; i++) {
        int cell = image[cells[i]];
        place.rank += (uint64_t)ff_digit(used, cell) * weight[i];
        used |= ff_bit(cell);
    }
    return place;
}

/* How many canonical sequences of `length` come before the first one that
 * begins with these canonical `cells`, and the stabiliser of the beginning. */
uint64_t ff_rank_of_beginning(const ff_index *index, const uint8_t *cells, int given, int length,
                              uint8_t *stabiliser);

/* Orbits, under a group that fixes the `used` cells, of the ways to place
 * `more` further pieces. */
uint64_t ff_continuations(const ff_index *index, unsigned group, int used, int more);

/* How many canonical sequences of `length` begin with `given` cells that have
 * this stabiliser. */
static inline uint64_t ff_continuations_of(const ff_index *index, unsigned stabiliser, int given,
                                           int length) {
    if (stabiliser == FF_IDENTITY_ONLY && given > 0) return index->weight[length][given - 1];
    return ff_continuations(index, stabiliser, given, length - given);
}

/* A reader of canonical sequences in rising order.  It keeps all but the last
 * three cells while they stay the same, so that stepping is cheap. */
typedef struct {
    const ff_index *index;
    int length;
    int kept;             /* cells before the last three */
    uint64_t first, end;  /* ranks that share them; empty if not usable */
    uint8_t free[FF_MAX_CELLS];
    uint8_t cells[FF_MAX_PIECES];
    uint8_t stabiliser; /* of all the cells */
} ff_cursor;

void ff_cursor_init(ff_cursor *cursor, const ff_index *index, int length);
void ff_cursor_seek(ff_cursor *cursor, uint64_t rank);

static inline uint32_t ff_cells_mask(const uint8_t *cells, int count) {
    uint32_t mask = 0;
    for (int i = 0; i < count; i++) mask |= ff_bit(cells[i]);
    return mask;
}

/* Lists the cells outside `used`, in rising order; returns how many. */
static inline int ff_free_cells(const ff_index *index, uint32_t used, uint8_t *free) {
    int count = 0;
    for (uint32_t rest = (ff_bit(index->rules.cells) - 1) & ~used; rest; rest &= rest - 1)
        free[count++] = (uint8_t)__builtin_ctz(rest);
    return count;
}

#endif
