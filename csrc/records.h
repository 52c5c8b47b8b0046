/* records.h -- the interchange records: state code, results, depths.
 *
 * A record speaks of one canonical pair of queues (X's, Y's), with X to move
 * and with Y to move.  Little endian, packed, 14 bytes:
 *
 *     0        8     9     10       12       14
 *     [state code] [dp0] [dp1] [depth0] [depth1]
 *
 * dp0, depth0: X to move; dp1, depth1: Y to move.  dp +1: X wins, -1: Y wins,
 * 0: neither is proven, and depth is 0 then.  With fewer than 2m pieces only
 * one side can be to move; the other's fields are 0.
 *
 * The state code spells the sequence of the side to move; of a full pair, the
 * one with X to move.  So record order is node order.  The result with Y to
 * move is another node, elsewhere in the table: `swapped` is the full slice in
 * the order of the records, seen by the other side.
 */
#ifndef FF_RECORDS_H
#define FF_RECORDS_H

#include "nodes.h"

#define FF_NO_CODE UINT64_MAX

/* cdef */
enum { FF_RECORD_BYTES = 14, FF_X_WINS = 1, FF_Y_WINS = 2, FF_EVERYTHING = 4 };

/* How many records ff_write_records would write. */
uint64_t ff_count_records(const ff_index *index, const uint8_t *table, const uint8_t *swapped,
                          int wanted, uint64_t first, uint64_t end);

/* Writes the records of nodes first .. end - 1 that have one of the wanted
 * results (FF_EVERYTHING: also the undecided ones).  Adds to counts[side to
 * move][value] what it writes.  Returns the number of records. */
uint64_t ff_write_records(const ff_index *index, const uint8_t *table, const uint8_t *swapped,
                          int wanted, uint64_t first, uint64_t end, uint8_t *records,
                          uint64_t *counts);

/* Checks everything, record by record: canonical code above *last_code, results among the
 * wanted ones, depth of the right parity and range, nothing said of a side that
 * cannot be to move or of an impossible position, finished exactly where there
 * is a line.  Returns how many are good before the first bad one; stores the
 * last code (UINT64_MAX, which is no code, before the first record).  Where `table` is given, enters the results: table[node] for the
 * side that the code speaks of, swapped[rank] for Y to move in the full slice. */
uint64_t ff_read_records(const ff_index *index, const uint8_t *records, uint64_t count,
                         int wanted, uint64_t *last_code, uint64_t *counts, uint8_t *table,
                         uint8_t *swapped);

/* Marks the impossible nodes first .. end - 1 in a table made from records. */
void ff_mark_impossible(const ff_index *index, uint8_t *table, uint64_t first, uint64_t end);

/* Two-pointer merge of sorted records, as far as both inputs reach (one that
 * has `ended` is taken as infinitely large).  Records with the same code become
 * one.  Advances the counts of records used; returns the number written, or
 * FF_BAD_RECORD if both claim a result for the same side. */
int64_t ff_merge_records(const uint8_t *left, uint64_t left_count, int left_ended,
                         const uint8_t *right, uint64_t right_count, int right_ended,
                         uint8_t *merged, uint64_t room, uint64_t *left_used,
                         uint64_t *right_used);

/* How many codes two sorted lists of records have in common. */
uint64_t ff_count_common(const uint8_t *left, uint64_t left_count, const uint8_t *right,
                         uint64_t right_count);

/* Writes records of all nodes first .. end - 1, with the results of those that
 * are among the sorted `known` ones.  Returns how many known ones it used. */
uint64_t ff_complete_records(const ff_index *index, uint64_t first, uint64_t end,
                             const uint8_t *known, uint64_t known_count, uint8_t *records);

/* The codes under which positions are filed, from queues as in nodes.h (checked
 * before); a full one under X to move. */
void ff_record_codes(const ff_index *index, const int8_t *x, const int8_t *y, uint64_t count,
                     uint64_t *codes);

/* For each code the first of `count` sorted records whose code is not smaller. */
void ff_find_records(const uint8_t *records, uint64_t count, const uint64_t *codes,
                     uint64_t wanted_count, uint64_t *places);
/* end cdef */

#endif
