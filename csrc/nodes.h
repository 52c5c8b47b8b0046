/* nodes.h -- positions, nodes and sequences: from one to the other.
 *
 * ff_sequence writes a node's queues as the sequence of index.h, ff_queues_of
 * reads them back; ff_reader lists the nodes of a slice in order.
 */
#ifndef FF_NODES_H
#define FF_NODES_H

#include <string.h>

#include "index.h"
#include "work.h"

/* cdef */
/* Arrays of positions: queues are int8 [count][m], oldest first, -1 where there
 * is no piece; to_move int8 [count], 0 for X.  On a position that these rules
 * do not have, or that cannot occur, ff_find_nodes stops and returns its place
 * in the array; otherwise `count`. */
uint64_t ff_find_nodes(const ff_index *index, const int8_t *x, const int8_t *y,
                       const int8_t *to_move, uint64_t count, uint64_t *nodes,
                       uint8_t *transforms);

/* The canonical positions of nodes, a full one with X to move. */
void ff_look_up_positions(const ff_index *index, const uint64_t *nodes, uint64_t count,
                          int8_t *x, int8_t *y, int8_t *to_move);

/* The state codes of nodes. */
void ff_look_up_codes(const ff_index *index, const uint64_t *nodes, uint64_t count,
                      uint64_t *codes);

/* How many of the given table bytes hold each value; adds to histogram[256]. */
void ff_count_values(const uint8_t *values, uint64_t *histogram, ff_work *work);
/* end cdef */

/* A node's pieces: mover[0 .. movers-1] and opponent[0 .. opponents-1]. */
typedef struct {
    int movers, opponents;
    uint8_t mover[FF_MAX_M + 2], opponent[FF_MAX_M + 2];
} ff_queues;

/* FF_BAD_POSITION if the rules have no such position, or if it cannot occur. */
int ff_read_position(const ff_index *index, const int8_t *x, const int8_t *y, int to_move,
                     ff_queues *node);

/* Writes a node as a position, as the arrays above hold it: a full one with X to
 * move. */
void ff_write_position(const ff_rules *rules, const ff_queues *node, int8_t *x, int8_t *y,
                       int8_t *to_move);

static inline int ff_sequence(const ff_queues *node, uint8_t *cells) {
    int length = 0;
    for (int i = 1; i < node->movers; i++) cells[length++] = node->mover[i];
    for (int i = 0; i + 1 < node->opponents; i++) cells[length++] = node->opponent[i];
    if (node->movers) cells[length++] = node->mover[0];
    if (node->opponents) cells[length++] = node->opponent[node->opponents - 1];
    return length;
}

static inline ff_queues ff_queues_of(const uint8_t *cells, int pieces) {
    ff_queues node = {.movers = pieces / 2, .opponents = pieces - pieces / 2};
    int at = 0;
    for (int i = 1; i < node.movers; i++) node.mover[i] = cells[at++];
    for (int i = 0; i + 1 < node.opponents; i++) node.opponent[i] = cells[at++];
    if (node.movers) node.mover[0] = cells[at++];
    if (node.opponents) node.opponent[node.opponents - 1] = cells[at];
    return node;
}

/* The same position with the other side to move; for full nodes. */
static inline void ff_swap_sides(const uint8_t *cells, int pieces, uint8_t *swapped) {
    const ff_queues node = ff_queues_of(cells, pieces);
    ff_queues other;
    other.movers = node.opponents;
    other.opponents = node.movers;
    memcpy(other.mover, node.opponent, sizeof other.mover);
    memcpy(other.opponent, node.mover, sizeof other.opponent);
    ff_sequence(&other, swapped);
}

/* Lists the canonical sequences of one slice in rising order. */
typedef struct {
    const ff_index *index;
    int pieces;
    uint64_t rank;       /* of the node in `cells` */
    uint8_t cells[FF_MAX_PIECES];
    ff_cursor groups;
    uint64_t group;
    uint64_t group_code;   /* the state code of the group's cells alone */
    int rows, row, column; /* by free cell of the group */
    uint8_t free[FF_MAX_CELLS];
} ff_reader;

void ff_reader_init(ff_reader *reader, const ff_index *index, int pieces, uint64_t rank);
void ff_reader_enter_group(ff_reader *reader, uint64_t group);
void ff_reader_next_row(ff_reader *reader);

static inline void ff_reader_next(ff_reader *reader) {
    reader->rank++;
    if (reader->pieces >= 2 && reader->groups.stabiliser == FF_IDENTITY_ONLY) {
        reader->column += 1 + (reader->column + 1 == reader->row);
        if (reader->column < reader->rows) {
            reader->cells[reader->pieces - 1] = reader->free[reader->column];
            return;
        }
    }
    ff_reader_next_row(reader);
}

/* The state code of the node in `cells`. */
static inline uint64_t ff_reader_code(const ff_reader *reader) {
    const int pieces = reader->pieces;
    if (pieces < 2) return ff_pack(reader->cells, pieces);
    return reader->group_code | ff_code_of_cell(reader->cells[pieces - 2], pieces - 2, pieces) |
           ff_code_of_cell(reader->cells[pieces - 1], pieces - 1, pieces);
}

/* Moves forward to this rank; in one step where no group has a symmetry. */
static inline void ff_reader_seek(ff_reader *reader, uint64_t rank) {
    const int pieces = reader->pieces;
    if (pieces - 2 <= reader->index->rules.n) {
        while (reader->rank < rank) ff_reader_next(reader);
        return;
    }
    const uint32_t columns = (uint32_t)reader->rows - 1, size = (columns + 1) * columns;
    uint64_t inside = rank - reader->group * size;
    if (inside >= size) {
        ff_reader_enter_group(reader, rank / size);
        inside = rank - reader->group * size;
    }
    const uint32_t row = (uint32_t)inside / columns, column = (uint32_t)inside - row * columns;
    reader->rank = rank;
    reader->row = (int)row;
    reader->column = (int)(column + (column >= row));
    reader->cells[pieces - 2] = reader->free[reader->row];
    reader->cells[pieces - 1] = reader->free[reader->column];
}

/* The slice that holds this node; nearly all are in the last ones. */
static inline int ff_slice_of(const ff_index *index, uint64_t node) {
    int slice = 2 * index->rules.m;
    while (node < index->slice_base[slice]) slice--;
    return slice;
}

/* The sequence of a node; returns its number of pieces. */
static inline int ff_node_unrank(const ff_index *index, uint64_t node, uint8_t *cells) {
    const int pieces = ff_slice_of(index, node);
    ff_sequence_unrank(index, node - index->slice_base[pieces], pieces, cells);
    return pieces;
}

#endif
