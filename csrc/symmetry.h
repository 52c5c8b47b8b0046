/* symmetry.h -- the eight symmetries of the square, as permutations of cells.
 *
 * The group is the dihedral group of order 8: four rotations, and the same
 * after a reflection in the main diagonal (rows become columns).  Transform
 * t = 4 f + q transposes if f = 1, then turns the board q times a quarter:
 *
 *   (row, column) -> (column, row)            transpose
 *   (row, column) -> (column, n - 1 - row)    quarter turn
 *
 * Direction: transform t carries the piece standing on cell c to the cell
 * image[t][c]; t.s is s with every piece carried so.  Transform 0 is the
 * identity.  compose[s][t] is "t first, then s", and
 * image[inverse[t]][image[t][c]] = c.
 *
 * A set of transforms is a byte, bit t for transform t.  The transforms that
 * leave a cell where it is are its stabiliser; a reflection leaves n cells at
 * most, a rotation one, so n + 1 pieces have a trivial stabiliser: their orbit
 * has exactly 8 members.
 */
#ifndef FF_SYMMETRY_H
#define FF_SYMMETRY_H

#include "rules.h"

enum { FF_TRANSFORMS = 8, FF_ALL_TRANSFORMS = 0xFF, FF_IDENTITY_ONLY = 1 };

/* cdef */
typedef struct {
    uint8_t image[8][25];
    uint8_t inverse[8];
    uint8_t compose[8][8];
    uint8_t stabiliser[25]; /* the transforms that fix this cell */
    uint8_t fixed_cells[8]; /* how many cells this transform fixes */
} ff_symmetry;

int ff_symmetry_init(ff_symmetry *symmetry, int n);
/* end cdef */

/* image[transform][cell] on a board of any size n. */
static inline int ff_carried(int n, int transform, int cell) {
    int row = cell / n, column = cell % n;
    if (transform >= 4) {
        int swap = row;
        row = column;
        column = swap;
    }
    for (int quarter = transform % 4; quarter > 0; quarter--) {
        int old_row = row;
        row = column;
        column = n - 1 - old_row;
    }
    return row * n + column;
}

/* Is this the smallest cell that the transforms of `group` can carry it to? */
static inline int ff_is_orbit_minimum(const ff_symmetry *symmetry, unsigned group, int cell) {
    if (group == FF_IDENTITY_ONLY) return 1;
    for (int t = 1; t < FF_TRANSFORMS; t++)
        if ((group >> t & 1) && symmetry->image[t][cell] < cell) return 0;
    return 1;
}

#endif
