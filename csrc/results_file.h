/* results_file.h -- results as a file keeps them: packed columns, and what has fewer pieces.
 *
 *     columns   group after group, without gaps: `bits` for each column, lowest first,
 *               0 no winning cell, 1 + c: only the free cell c, rows + 1: several (winning.h);
 *               then zeros up to a whole byte
 *     small     two bits for each position of slices 0 .. 2m - 2, in node order, lowest
 *               first: 0 draw, 1 lost or finished, 2 won, 3 impossible
 *
 * Bit i of the file is bit i % 8 of byte i / 8.  Positions with 2m - 1 and 2m pieces are read
 * off one group, or two: the columns that they belong to, and the row of their successors.
 */
#ifndef FF_RESULTS_FILE_H
#define FF_RESULTS_FILE_H

#include "results.h"

/* cdef */
/* What the byte of a position says where plies are not known (values.h has the others). */
enum { FF_RESULT_WON = 2, FF_RESULT_LOST = 3 };

typedef struct {
    const ff_index *index;
    int rows;
    int bits;               /* of a column */
    uint64_t columns_bytes; /* of the first part */
    uint64_t bytes;         /* of both */
    const uint8_t *file;
} ff_results_file;

void ff_results_file_init(ff_results_file *results, const ff_index *index, const uint8_t *file);

/* Packs groups of a solve that is done, from a multiple of 8 on; returns the bytes written. */
uint64_t ff_results_pack(const ff_results_solve *solve, uint64_t first, uint64_t end,
                         uint8_t *packed);

/* Packs table bytes of small slices, from a multiple of 4 on. */
void ff_results_pack_small(const uint8_t *values, uint64_t count, uint8_t *packed);

/* The table bytes of nodes: FF_UNDECIDED, FF_FINISHED, FF_IMPOSSIBLE, FF_RESULT_WON or
 * FF_RESULT_LOST.  `read` [count][4] are the places of bytes of the file that they rest on. */
void ff_results_values(const ff_results_file *results, const uint64_t *nodes, uint64_t count,
                       uint8_t *values, uint64_t *read);
/* end cdef */

#endif
