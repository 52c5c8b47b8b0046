/* sampler.h -- labelled positions for training, drawn from a solved table.
 *
 * A batch is a pure function of (sampler, seed, batch number): item i has a
 * random sequence of its own, hashed from these three numbers, so that neither
 * earlier batches nor the split into threads can change it, and a training
 * run resumes at batch b by asking for batch b.
 *
 * Draws.  Each item first chooses a source by the shares, then draws nodes
 * until one is accepted:
 *
 *   uniform    every position (not every node) of the slices is equally likely:
 *              a node is accepted with probability orbit / 8
 *   balanced   a table byte by the given weights, then a node that holds it
 *   critical   as uniform, but only nodes with a move that loses the result
 *   opening    a slice, each equally likely, then a node of it, whatever its orbit:
 *              positions with few pieces are too rare for the other sources
 *   listed     a node of a given list by its weight; for mining mistakes
 *
 * Finished and impossible nodes are never drawn, and of the others only those
 * of one part: a position is held out if the hash of its state code is below
 * `held_below` (solver/labels.py has the same function), so all its symmetric
 * images are held out with it.  A list is taken as it is, apart from that.
 *
 * Labels are those of labels.h, carried by a random transform.
 */
#ifndef FF_SAMPLER_H
#define FF_SAMPLER_H

#include "labels.h"

/* cdef */
enum {
    FF_UNIFORM = 0,
    FF_BALANCED = 1,
    FF_CRITICAL = 2,
    FF_OPENING = 3,
    FF_LISTED = 4,
    FF_SOURCES = 5
};

enum { FF_TRAINING = 0, FF_HELD_OUT = 1, FF_WHOLE = 2 };

enum { FF_NOTHING_TO_DRAW = -32 }; /* a source has no node of this part */

typedef struct {
    const ff_index *index;
    const uint8_t *table;
    double share[5]; /* of the sources; they sum to 1 */
    int part;
    uint64_t held_below;
    int fewest, most;         /* pieces: the slices of uniform, critical and opening */
    double byte_share[256];   /* balanced: how often each table byte; they sum to 1 */
    const uint32_t *by_byte;  /* balanced: nodes sorted by table byte */
    uint64_t byte_first[257]; /* balanced: where each byte's nodes begin in by_byte; a byte
                                 without any is common, and drawn by trial */
    const uint64_t *listed;   /* [listed_count] nodes, uint64 */
    const double *listed_sum; /* [listed_count] weights summed up; the last one is 1 */
    uint64_t listed_count;
} ff_sampler;

/* Items first .. first + count - 1 of a batch. */
int ff_sample(const ff_sampler *sampler, uint64_t seed, uint64_t batch, uint64_t first,
              uint64_t count, const ff_labels *labels);

/* Nodes [0, nodes) with these table bytes (wanted[256]), sorted by byte; first[257]
 * is filled in.  by_byte may be null: then it only counts. */
void ff_sort_by_byte(const uint8_t *table, uint64_t nodes, const uint8_t *wanted,
                     uint64_t *first, uint32_t *by_byte);
/* end cdef */

#endif
