/* read_records.h -- from records back to results; nothing in a record is trusted.
 *
 * A code is good if it is the code of a canonical sequence.  Codes are sorted, so
 * neighbours mostly have the same group, all but the last two cells.  The group is
 * examined once: is it canonical, and on which cells would one more piece give a
 * line?  If it has no symmetry, any two free cells may follow, and the rank, the
 * lines and the canonical form of its records take a few instructions.
 */
#ifndef FF_READ_RECORDS_H
#define FF_READ_RECORDS_H

#include "records.h"

#define FF_NO_CODE UINT64_MAX

/* cdef */
/* Checks everything, record by record: canonical code above *last_code, results
 * among the wanted ones, depth of the right parity and range, nothing said of a
 * side that cannot be to move or of an impossible position, finished exactly where
 * there is a line.  Returns how many are good before the first bad one; stores the
 * last code (UINT64_MAX, which is not a code, before the first record).  Where `table`
 * is given, enters the results of the side that the code speaks of: X in the full
 * slice. */
uint64_t ff_read_records(const ff_index *index, const uint8_t *records, uint64_t count,
                         int wanted, uint64_t *last_code, uint64_t *counts, uint8_t *table);

/* A record that does not say what a table has. */
typedef struct {
    uint64_t node;    /* that the code names */
    int side;         /* to move: 0 is X */
    uint8_t claimed;  /* value, by the record */
    uint8_t expected; /* value, by the table */
} ff_disagreement;

/* Compares records, all of them good, with a table: of either side to move a record
 * says what the table has, as far as that is wanted.  The value of a full pair with
 * Y to move is that of the node with the colours swapped.  Returns how many records
 * agree before the first one that does not, which `first` describes. */
uint64_t ff_compare_records(const ff_index *index, const uint8_t *records, uint64_t count,
                            int wanted, const uint8_t *table, ff_disagreement *first);

/* Marks the impossible nodes first .. end - 1 in a table made from records. */
void ff_mark_impossible(const ff_index *index, uint8_t *table, uint64_t first, uint64_t end);
/* end cdef */

#endif
