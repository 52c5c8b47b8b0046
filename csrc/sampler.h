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
 *   uniform    every position (not every node) of the slices is as likely:
 *              a node is accepted with probability orbit / 8
 *   balanced   a table byte by the given weights, then a node that holds it
 *   critical   as uniform, but only nodes with a move that loses the result
 *   opening    a slice, each as likely, then a node of it, whatever its orbit:
 *              positions with few pieces are too few for the others to meet
 *   listed     a node of a given list by its weight; for mining mistakes
 *
 * Finished and impossible nodes are never drawn, and of the others only those
 * of one part: a position is held out if the hash of its state code is below
 * `held_below` (solver/export.py has the same function), so all its symmetric
 * images are held out with it.  A list is taken as it is, apart from that.
 *
 * Labels.  A random transform t carries the canonical position to the board
 * the network sees; cells and moves are carried together, so a label of cell c
 * belongs to cell image[t][c].
 */
#ifndef FF_SAMPLER_H
#define FF_SAMPLER_H

#include "moves.h"

/* cdef */
/* Unranking at speed: the beginnings of two cells that break all symmetry, in
 * rising order of rank; behind one of them a rank is mixed radix (index.h). */
typedef struct {
    int count[11]; /* [pieces] */
    uint64_t first[11][150];
    uint8_t cells[11][150][2];
} ff_beginnings;

void ff_beginnings_init(ff_beginnings *beginnings, const ff_index *index);

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
    const ff_beginnings *beginnings;
    const uint8_t *table;
    double share[5]; /* of the sources; they sum to 1 */
    int part;
    uint64_t held_below;
    int fewest, most;         /* pieces: the slices of uniform, critical and opening */
    double byte_share[256];   /* balanced: how often each table byte; they sum to 1 */
    const uint32_t *by_byte;  /* balanced: nodes sorted by table byte */
    uint64_t byte_first[257]; /* balanced: where each byte's nodes begin in by_byte; a byte
                                 without any is common, and met by drawing at random */
    const uint64_t *listed;   /* [listed_count] nodes, uint64 */
    const double *listed_sum; /* [listed_count] weights summed up; the last one is 1 */
    uint64_t listed_count;
} ff_sampler;

/* What is wanted of each position; a null pointer is skipped.  A table byte of
 * a move is that of the position it leads to, 255 where there is no move. */
typedef struct {
    uint64_t *nodes;      /* [count] */
    uint8_t *transforms;  /* [count]: canonical position -> the board shown */
    uint8_t *pieces;      /* [count][2m]: the cell of plane p's piece, n * n for none */
    float *planes;        /* [count][2m][n][n]: as drop_oldest.c fills them */
    uint8_t *legal;       /* [count][n * n]: 0 or 1 */
    uint8_t *optimal;     /* [count][n * n]: 0 or 1 */
    uint8_t *keeping;     /* [count][n * n]: 0 or 1 */
    uint8_t *values;      /* [count]: table bytes */
    uint8_t *move_values; /* [count][n * n]: table bytes of the moves */
    float *policy;        /* [count][n * n]: even over the optimal (or keeping) moves */
    int policy_keeps;     /* 1: over all moves that keep the result */
} ff_labels;

/* Items first .. first + count - 1 of a batch. */
int ff_sample(const ff_sampler *sampler, uint64_t seed, uint64_t batch, uint64_t first,
              uint64_t count, const ff_labels *labels);

/* Labels of given nodes, carried by the given transforms (null: as canonical).
 * Finished and impossible nodes have no moves. */
void ff_label_nodes(const ff_index *index, const ff_beginnings *beginnings,
                    const uint8_t *table, const uint64_t *nodes, const uint8_t *transforms,
                    uint64_t count, const ff_labels *labels);

/* Nodes [0, nodes) with these table bytes (wanted[256]), sorted by byte; first[257]
 * is filled in.  by_byte may be null: then it only counts. */
void ff_sort_by_byte(const uint8_t *table, uint64_t nodes, const uint8_t *wanted,
                     uint64_t *first, uint32_t *by_byte);
/* end cdef */

#endif
