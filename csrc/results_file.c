#include "results_file.h"

#include "nodes.h"
#include "values.h"
#include "winning.h"

enum { DRAWN = 0, LOST = 1, WON = 2, IMPOSSIBLE = 3, ROOM = 16 };

void ff_results_file_init(ff_results_file *results, const ff_index *index, const uint8_t *file) {
    const int length = 2 * index->rules.m - 2;
    memset(results, 0, sizeof *results);
    results->index = index;
    results->rows = index->rules.cells - length;
    results->bits = results->rows <= 6 ? 3 : results->rows <= 14 ? 4 : 5;
    const uint64_t group_bits = (uint64_t)(results->rows * results->bits);
    results->columns_bytes = (index->sequences[length] * group_bits + 7) / 8;
    results->bytes = results->columns_bytes + (index->slice_base[length + 1] + 3) / 4;
    results->file = file;
}

/* ---- writing ---------------------------------------------------------------- */

/* A column that is committed, as the file has it. */
static inline uint32_t packed_column(uint8_t column, int rows) {
    return column & FF_WIN_SEVERAL ? (uint32_t)rows + 1 : column & FF_WIN_CELL;
}

uint64_t ff_results_pack(const ff_results_solve *solve, uint64_t first, uint64_t end,
                         uint8_t *packed) {
    ff_results_file format;
    ff_results_file_init(&format, solve->index, NULL);
    const int rows = solve->rows;
    const uint8_t *at =
        solve->states + (first - solve->first_group) * (uint64_t)solve->group_bytes;
    uint64_t held = 0, bytes = 0;
    int count = 0;
    for (uint64_t group = first; group < end; group++, at += solve->group_bytes) {
        uint64_t word_columns = 0;
        if (solve->group_bytes == 4) {
            uint32_t word;
            memcpy(&word, at, sizeof word);
            word_columns = ff_spread_word(word);
        }
        for (int c = 0; c < rows; c++) {
            const uint8_t column =
                solve->group_bytes == 4 ? (uint8_t)(word_columns >> 8 * c) : at[c];
            held |= (uint64_t)packed_column(column, rows) << count;
            count += format.bits;
            if (count < 32) continue;
            memcpy(packed + bytes, &held, 4);
            bytes += 4;
            count -= 32;
            held >>= 32;
        }
    }
    for (; count >= 8; count -= 8, held >>= 8) packed[bytes++] = (uint8_t)held;
    if (count) packed[bytes++] = (uint8_t)held;
    return bytes;
}

void ff_results_pack_small(const uint8_t *values, uint64_t count, uint8_t *packed) {
    for (uint64_t i = 0; i < count; i += 4) {
        unsigned four = 0;
        for (uint64_t j = i; j < i + 4 && j < count; j++) {
            const uint8_t value = values[j];
            const unsigned result = value == FF_UNDECIDED    ? DRAWN
                                    : value == FF_IMPOSSIBLE ? IMPOSSIBLE
                                    : value & 1              ? LOST
                                                             : WON;
            four |= result << 2 * (j - i);
        }
        packed[i / 4] = (uint8_t)four;
    }
}

/* ---- reading ---------------------------------------------------------------- */

/* The columns of a group; adds the places of its first and last byte to *read. */
static void read_columns(const ff_results_file *results, uint64_t group, uint8_t *columns,
                         uint64_t **read) {
    const int bits = results->bits, rows = results->rows;
    const uint64_t bit = group * (uint64_t)(rows * bits), byte = bit / 8;
    const uint64_t last = (bit + (uint64_t)(rows * bits) - 1) / 8;
    uint8_t near[ROOM + 8] = {0};
    memcpy(near, results->file + byte, (size_t)(last - byte + 1));
    *(*read)++ = byte;
    *(*read)++ = last;
    for (int c = 0; c < rows; c++) {
        const unsigned at = (unsigned)(bit % 8) + (unsigned)(c * bits);
        const unsigned two = near[at / 8] | (unsigned)near[at / 8 + 1] << 8;
        columns[c] = (uint8_t)(two >> at % 8 & ((1u << bits) - 1));
    }
}

/* A group's place, and the numbers that its free cells have there. */
typedef struct {
    uint64_t rank;
    const uint8_t *image;
    uint32_t used;
} ff_found_group;

static ff_found_group find_group(const ff_index *index, const uint8_t *first,
                                 const uint8_t *second) {
    const int half = index->rules.m - 1;
    uint8_t cells[FF_MAX_PIECES];
    memcpy(cells, first, (size_t)half);
    memcpy(cells + half, second, (size_t)half);
    const ff_place place = ff_place_of(index, cells, 2 * half, 2 * half);
    ff_found_group found = {place.rank, index->symmetry.image[place.transform], 0};
    for (int i = 0; i < 2 * half; i++) found.used |= ff_bit(found.image[cells[i]]);
    return found;
}

static int number_of(const ff_found_group *group, int cell) {
    return ff_digit(group->used, group->image[cell]);
}

/* A position with 2m or 2m - 1 pieces in which play goes on.  `kept`: a1 .. ah. */
static uint8_t large_value(const ff_results_file *results, const ff_queues *node,
                           uint64_t *read) {
    const ff_index *index = results->index;
    const int half = index->rules.m - 1, rows = results->rows, is_full = node->movers > half;
    const uint8_t *kept = node->mover + is_full, *opponent = node->opponent;
    uint8_t columns[FF_MAX_CELLS];

    const ff_found_group own = find_group(index, kept, opponent);
    read_columns(results, own.rank, columns, &read);
    const int column = columns[number_of(&own, opponent[half])];
    const int oldest = is_full ? 1 + number_of(&own, node->mover[0]) : 0;
    if (column != 0 && column != oldest) return FF_RESULT_WON;

    const ff_found_group after = find_group(index, opponent + 1, kept);
    read_columns(results, after.rank, columns, &read);
    const int row = number_of(&after, opponent[0]);
    const int left_out = is_full ? number_of(&after, node->mover[0]) : row;
    for (int c = 0; c < rows; c++) {
        if (c == row || c == left_out) continue;
        if (columns[c] == 0 || columns[c] == row + 1) return FF_UNDECIDED;
    }
    return FF_RESULT_LOST;
}

static uint8_t value_of(const ff_results_file *results, uint64_t node, uint64_t *read) {
    const ff_index *index = results->index;
    const ff_rules *rules = &index->rules;
    uint8_t cells[FF_MAX_PIECES];
    const int pieces = ff_node_unrank(index, node, cells);
    const ff_queues queues = ff_queues_of(cells, pieces);
    if (ff_has_line(rules, ff_cells_mask(queues.mover, queues.movers))) return FF_IMPOSSIBLE;
    if (ff_has_line(rules, ff_cells_mask(queues.opponent, queues.opponents))) return FF_FINISHED;
    if (pieces > 2 * rules->m - 2) return large_value(results, &queues, read);
    read[0] = results->columns_bytes + node / 4;
    static const uint8_t values[4] = {FF_UNDECIDED, FF_RESULT_LOST, FF_RESULT_WON, FF_IMPOSSIBLE};
    return values[results->file[read[0]] >> 2 * (node % 4) & 3];
}

void ff_results_values(const ff_results_file *results, const uint64_t *nodes, uint64_t count,
                       uint8_t *values, uint64_t *read) {
    for (uint64_t i = 0; i < count; i++, read += 4) {
        read[0] = read[1] = read[2] = read[3] = 0;
        values[i] = value_of(results, nodes[i], read);
    }
}
