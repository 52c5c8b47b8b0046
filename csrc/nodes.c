#include "nodes.h"

/* ---- reading a slice in order -------------------------------------------- */

void ff_reader_enter_group(ff_reader *reader, uint64_t group) {
    reader->group = group;
    ff_cursor_seek(&reader->groups, group);
    memcpy(reader->cells, reader->groups.cells, (size_t)reader->groups.length);
    reader->group_code = (uint64_t)reader->pieces << 60;
    for (int i = 0; i < reader->groups.length; i++)
        reader->group_code |= ff_code_of_cell(reader->groups.cells[i], i, reader->pieces);
    reader->rows = ff_free_cells(reader->index,
                                 ff_cells_mask(reader->groups.cells, reader->groups.length),
                                 reader->free);
}

void ff_reader_init(ff_reader *reader, const ff_index *index, int pieces, uint64_t rank) {
    memset(reader, 0, sizeof *reader);
    reader->index = index;
    reader->pieces = pieces;
    reader->rank = rank;
    uint8_t cells[FF_MAX_PIECES] = {0};
    ff_sequence_unrank(index, rank, pieces, cells);
    memcpy(reader->cells, cells, sizeof cells);
    if (pieces < 2) return;
    ff_cursor_init(&reader->groups, index, pieces - 2);
    ff_reader_enter_group(reader, ff_place_of(index, cells, pieces - 2, pieces - 2).rank);
    uint32_t used = ff_cells_mask(cells, pieces - 2);
    reader->row = ff_digit(used, cells[pieces - 2]);
    reader->column = ff_digit(used, cells[pieces - 1]);
    memcpy(reader->cells, cells, sizeof cells);
}

/* Steps to the next canonical (row, column), in this group or the next ones.
 * The column may stand anywhere in the current row. */
void ff_reader_next_row(ff_reader *reader) {
    const ff_index *index = reader->index;
    const ff_symmetry *symmetry = &index->symmetry;
    const int pieces = reader->pieces;
    if (reader->rank >= index->sequences[pieces]) return;
    if (pieces < 2) {
        ff_sequence_unrank(index, reader->rank, pieces, reader->cells);
        return;
    }
    for (;;) {
        for (; reader->row < reader->rows; reader->row++, reader->column = -1) {
            int row_cell = reader->free[reader->row];
            unsigned group = reader->groups.stabiliser;
            if (!ff_is_orbit_minimum(symmetry, group, row_cell)) continue;
            unsigned fixing = group & symmetry->stabiliser[row_cell];
            while (++reader->column < reader->rows) {
                int column_cell = reader->free[reader->column];
                if (reader->column == reader->row) continue;
                if (!ff_is_orbit_minimum(symmetry, fixing, column_cell)) continue;
                reader->cells[pieces - 2] = (uint8_t)row_cell;
                reader->cells[pieces - 1] = (uint8_t)column_cell;
                return;
            }
        }
        ff_reader_enter_group(reader, reader->group + 1);
        reader->row = 0;
        reader->column = -1;
    }
}

/* ---- positions to nodes and back ------------------------------------------ */

static int read_queue(const int8_t *cells, int m, int board, uint8_t *queue, uint32_t *used) {
    int pieces = 0;
    for (int i = 0; i < m; i++) {
        if (cells[i] == -1) continue;
        if (pieces != i || cells[i] < 0 || cells[i] >= board || (*used >> cells[i] & 1)) return -1;
        queue[pieces++] = (uint8_t)cells[i];
        *used |= ff_bit(cells[i]);
    }
    return pieces;
}

int ff_read_position(const ff_index *index, const int8_t *x, const int8_t *y, int to_move,
                     ff_queues *node) {
    const int m = index->rules.m, board = index->rules.cells;
    if (to_move != 0 && to_move != 1) return FF_BAD_POSITION;
    uint32_t used = 0;
    node->movers = read_queue(to_move ? y : x, m, board, node->mover, &used);
    if (node->movers < 0) return FF_BAD_POSITION;
    uint32_t mover = used;
    node->opponents = read_queue(to_move ? x : y, m, board, node->opponent, &used);
    if (node->opponents < 0) return FF_BAD_POSITION;
    int full = node->movers == m && node->opponents == m;
    if (!full && node->opponents - node->movers != to_move) return FF_BAD_POSITION;
    return ff_has_line(&index->rules, mover) ? FF_BAD_POSITION : FF_OK;
}

uint64_t ff_find_nodes(const ff_index *index, const int8_t *x, const int8_t *y,
                       const int8_t *to_move, uint64_t count, uint64_t *nodes,
                       uint8_t *transforms) {
    const int m = index->rules.m;
    for (uint64_t i = 0; i < count; i++) {
        ff_queues node;
        uint8_t cells[FF_MAX_PIECES + 1];
        if (ff_read_position(index, x + i * (uint64_t)m, y + i * (uint64_t)m, to_move[i], &node))
            return i;
        int pieces = ff_sequence(&node, cells);
        ff_place place = ff_place_of(index, cells, pieces, pieces);
        nodes[i] = index->slice_base[pieces] + place.rank;
        transforms[i] = place.transform;
    }
    return count;
}

void ff_write_position(const ff_rules *rules, const ff_queues *node, int8_t *x, int8_t *y,
                       int8_t *to_move) {
    const int mover_is_y = node->opponents > node->movers;
    int8_t *mover = mover_is_y ? y : x, *opponent = mover_is_y ? x : y;
    for (int i = 0; i < rules->m; i++) {
        mover[i] = i < node->movers ? (int8_t)node->mover[i] : -1;
        opponent[i] = i < node->opponents ? (int8_t)node->opponent[i] : -1;
    }
    *to_move = (int8_t)mover_is_y;
}

void ff_look_up_positions(const ff_index *index, const uint64_t *nodes, uint64_t count,
                          int8_t *x, int8_t *y, int8_t *to_move) {
    const uint64_t m = (uint64_t)index->rules.m;
    for (uint64_t i = 0; i < count; i++) {
        uint8_t cells[FF_MAX_PIECES];
        const int pieces = ff_node_unrank(index, nodes[i], cells);
        const ff_queues node = ff_queues_of(cells, pieces);
        ff_write_position(&index->rules, &node, x + i * m, y + i * m, to_move + i);
    }
}

void ff_look_up_codes(const ff_index *index, const uint64_t *nodes, uint64_t count,
                      uint64_t *codes) {
    for (uint64_t i = 0; i < count; i++) {
        uint8_t cells[FF_MAX_PIECES];
        int pieces = ff_node_unrank(index, nodes[i], cells);
        codes[i] = ff_pack(cells, pieces);
    }
}

void ff_count_values(const uint8_t *values, uint64_t *histogram, ff_work *work) {
    /* Four tables, so that runs of one value do not wait for each other. */
    uint64_t counts[4][256] = {{0}};
    for (uint64_t first, end; ff_take(work, &first, &end);) {
        uint64_t i = first;
        for (; i + 8 <= end; i += 8) {
            uint64_t eight;
            memcpy(&eight, values + i, sizeof eight);
            if (eight == 0) { /* most of a table is draws */
                counts[0][0] += 8;
                continue;
            }
            for (int lane = 0; lane < 8; lane++) counts[lane % 4][values[i + (uint64_t)lane]]++;
        }
        for (; i < end; i++) counts[0][values[i]]++;
    }
    for (int value = 0; value < 256; value++) {
        uint64_t sum = 0;
        for (int lane = 0; lane < 4; lane++) sum += counts[lane][value];
        if (sum) __atomic_fetch_add(&histogram[value], sum, __ATOMIC_RELAXED);
    }
}
