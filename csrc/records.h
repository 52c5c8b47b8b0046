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
#include "values.h"

/* cdef */
enum { FF_RECORD_BYTES = 14, FF_X_WINS = 1, FF_Y_WINS = 2, FF_EVERYTHING = 4 };

/* How many of the nodes first .. end - 1 have one of the wanted results, for
 * either side to move. */
uint64_t ff_count_records(const ff_index *index, const uint8_t *table, const uint8_t *swapped,
                          int wanted, uint64_t first, uint64_t end);

/* Writes their records.  Adds to counts[side to move][value] what it writes. */
void ff_write_records(const ff_index *index, const uint8_t *table, const uint8_t *swapped,
                      int wanted, uint64_t first, uint64_t end, uint8_t *records,
                      uint64_t *counts);

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

typedef struct {
    uint64_t code;
    int8_t result[2]; /* by side to move: dp0, dp1 */
    uint16_t depth[2];
} ff_record;

static inline void ff_store_record(uint8_t *bytes, const ff_record *record) {
    memcpy(bytes, &record->code, 8);
    memcpy(bytes + 8, record->result, 2);
    memcpy(bytes + 10, record->depth, 4);
}

static inline void ff_load_record(const uint8_t *bytes, ff_record *record) {
    memcpy(&record->code, bytes, 8);
    memcpy(record->result, bytes + 8, 2);
    memcpy(record->depth, bytes + 10, 4);
}

static inline uint64_t ff_code_at(const uint8_t *bytes) {
    uint64_t code;
    memcpy(&code, bytes, 8);
    return code;
}

/* What a record says of a side to move whose node holds this value. */
static inline int ff_record_result(uint8_t value, int y_to_move) {
    return y_to_move ? -ff_result(value) : ff_result(value);
}

static inline int ff_is_wanted(int result, int wanted) {
    return result > 0 ? wanted & FF_X_WINS : result < 0 ? wanted & FF_Y_WINS : 0;
}

#endif
