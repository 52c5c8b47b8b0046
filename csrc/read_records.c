#include "read_records.h"

#include "shared.h"
#include "swap.h"

/* The node value that a record's field claims, or -1 if no solve claims that. */
static int claimed_value(int result, int depth, int y_to_move) {
    if (result == 0) return depth == 0 ? FF_UNDECIDED : -1;
    if ((result != 1 && result != -1) || depth + 1 > FF_DEEPEST) return -1;
    int mover_wins = (result == 1) != y_to_move;
    return mover_wins == depth % 2 ? depth + 1 : -1;
}

/* The node of a code, and what it shares with the node of the next code. */
typedef struct {
    uint64_t group_code;    /* the code without its last two cells; FF_NO_CODE: none yet */
    ff_place group;         /* among the sequences of as many cells as the code has */
    uint32_t used;          /* the group's cells */
    uint32_t completing[2]; /* where one more piece gives the mover, the opponent a line */
    uint64_t rank;          /* of the node, in its slice */
    int line[2];            /* has the mover, the opponent a line? */
} ff_subject;

/* Reads the first `given` cells of a code and finds their place among sequences
 * of `length` cells; 0 unless they are canonical. */
static int find_canonical(const ff_index *index, uint64_t code, int given, int length,
                          uint8_t *cells, ff_place *place) {
    uint32_t used = 0;
    ff_unpack(code, cells);
    for (int i = 0; i < given; i++) {
        if (cells[i] >= index->rules.cells || (used >> cells[i] & 1)) return 0;
        used |= ff_bit(cells[i]);
    }
    *place = ff_place_of(index, cells, given, length);
    for (int i = 0; i < given; i++)
        if (index->symmetry.image[place->transform][cells[i]] != cells[i]) return 0;
    return 1;
}

static int enter_group(const ff_index *index, uint64_t code, ff_subject *subject) {
    const int pieces = (int)(code >> 60), movers = pieces / 2, group = pieces - 2;
    uint8_t cells[FF_MAX_PIECES];
    subject->group_code = FF_NO_CODE;
    if (!find_canonical(index, code, group, pieces, cells, &subject->group)) return 0;
    subject->group_code = code;
    subject->used = ff_cells_mask(cells, group);
    const uint32_t mover = ff_cells_mask(cells, movers - 1);
    subject->completing[0] = ff_completing(&index->rules, mover);
    subject->completing[1] = ff_completing(&index->rules, subject->used & ~mover);
    return 1;
}

/* Reads the whole code, where the group alone is not enough. */
static int read_alone(const ff_index *index, uint64_t code, ff_subject *subject) {
    const int pieces = (int)(code >> 60);
    uint8_t cells[FF_MAX_PIECES];
    ff_place place;
    if (!find_canonical(index, code, pieces, pieces, cells, &place)) return 0;
    const ff_queues node = ff_queues_of(cells, pieces);
    subject->rank = place.rank;
    subject->line[0] = ff_has_line(&index->rules, ff_cells_mask(node.mover, node.movers));
    subject->line[1] = ff_has_line(&index->rules, ff_cells_mask(node.opponent, node.opponents));
    return 1;
}

/* Reads a code; 0 if it is not the code of a canonical sequence. */
static int read_code(const ff_index *index, uint64_t code, ff_subject *subject) {
    const int pieces = (int)(code >> 60), unused = 60 - 6 * pieces;
    if (pieces > 2 * index->rules.m || (code & (((uint64_t)1 << unused) - 1))) return 0;
    if (pieces < 2) return read_alone(index, code, subject);
    const uint64_t group_code = code >> (unused + 12) << (unused + 12);
    if (group_code != subject->group_code && !enter_group(index, group_code, subject)) return 0;
    if (subject->group.stabiliser != FF_IDENTITY_ONLY) return read_alone(index, code, subject);
    const int row = (int)(code >> (unused + 6) & 63), column = (int)(code >> unused & 63);
    const uint32_t used = subject->used;
    if (row >= index->rules.cells || column >= index->rules.cells || row == column) return 0;
    if ((used >> row | used >> column) & 1) return 0;
    subject->rank = subject->group.rank + (uint64_t)ff_digit(used | ff_bit(row), column) +
                    (uint64_t)ff_digit(used, row) * index->weight[pieces][pieces - 2];
    subject->line[0] = subject->completing[0] >> row & 1;
    subject->line[1] = subject->completing[1] >> column & 1;
    return 1;
}

/* Checks what a record says of its subject; fills in the values it claims. */
static int read_claims(const ff_index *index, const ff_record *record, int wanted,
                       const ff_subject *subject, int *value) {
    const int pieces = (int)(record->code >> 60), full = pieces == 2 * index->rules.m;
    int any = wanted & FF_EVERYTHING;
    for (int side = 0; side < 2; side++) {
        value[side] = claimed_value(record->result[side], record->depth[side], side);
        if (value[side] < 0) return 0;
        if (value[side] == FF_UNDECIDED) continue;
        if (!ff_is_wanted(record->result[side], wanted)) return 0;
        any = 1;
        if (!full && side != pieces % 2) return 0;
        /* Finished means exactly that the opponent has a line and the mover has
         * none.  A full code speaks of X to move. */
        const int swap = full && side == 1;
        if (subject->line[swap]) return 0;
        if (subject->line[!swap] != (value[side] == FF_FINISHED)) return 0;
    }
    return any;
}

uint64_t ff_read_records(const ff_index *index, const uint8_t *records, uint64_t count,
                         int wanted, uint64_t *last_code, uint64_t *counts, uint8_t *table) {
    const int full_pieces = 2 * index->rules.m;
    ff_subject subject = {.group_code = FF_NO_CODE};
    for (uint64_t i = 0; i < count; i++) {
        ff_record record;
        int value[2];
        ff_load_record(records + i * FF_RECORD_BYTES, &record);
        if (*last_code != FF_NO_CODE && record.code <= *last_code) return i;
        if (!read_code(index, record.code, &subject)) return i;
        if (!read_claims(index, &record, wanted, &subject, value)) return i;
        *last_code = record.code;
        for (int side = 0; side < 2; side++)
            if (value[side]) counts[side * 256 + value[side]]++;
        if (table == NULL) continue;
        const int pieces = (int)(record.code >> 60);
        const int claimed = value[pieces == full_pieces ? 0 : pieces % 2];
        /* Of a file that is not sorted, two parts may hold the same code. */
        if (claimed)
            ff_shared_store(&table[index->slice_base[pieces] + subject.rank], (uint8_t)claimed);
    }
    return count;
}

/* The node with the colours of a full pair swapped. */
static uint64_t swapped_node(const ff_index *index, uint64_t code) {
    uint8_t cells[FF_MAX_PIECES];
    const int pieces = ff_unpack(code, cells);
    return index->slice_base[pieces] + ff_swapped_rank(index, cells);
}

/* What a record should say of a side whose node holds this value. */
static int wanted_value(uint8_t value, int y_to_move, int wanted) {
    return ff_is_wanted(ff_record_result(value, y_to_move), wanted) ? value : FF_UNDECIDED;
}

uint64_t ff_compare_records(const ff_index *index, const uint8_t *records, uint64_t count,
                            int wanted, const uint8_t *table, ff_disagreement *first) {
    const int full_pieces = 2 * index->rules.m;
    ff_subject subject = {.group_code = FF_NO_CODE};
    for (uint64_t i = 0; i < count; i++) {
        ff_record record;
        ff_load_record(records + i * FF_RECORD_BYTES, &record);
        if (!read_code(index, record.code, &subject)) return i;
        const int pieces = (int)(record.code >> 60), full = pieces == full_pieces;
        const uint64_t node = index->slice_base[pieces] + subject.rank;
        for (int side = 0; side < 2; side++) {
            if (!full && side != pieces % 2) continue;
            const uint64_t speaks_of =
                full && side == 1 ? swapped_node(index, record.code) : node;
            const int claimed = claimed_value(record.result[side], record.depth[side], side);
            if (claimed == wanted_value(table[speaks_of], side, wanted)) continue;
            *first = (ff_disagreement){node, side, (uint8_t)claimed, table[speaks_of]};
            return i;
        }
    }
    return count;
}

void ff_mark_impossible(const ff_index *index, uint8_t *table, uint64_t first, uint64_t end) {
    for (uint64_t node = first; node < end;) {
        const int pieces = ff_slice_of(index, node);
        ff_reader reader;
        ff_reader_init(&reader, index, pieces, node - index->slice_base[pieces]);
        for (; node < end && node < index->slice_base[pieces + 1]; node++) {
            if (table[node] == FF_UNDECIDED) {
                const ff_queues queues = ff_queues_of(reader.cells, pieces);
                uint32_t mover = ff_cells_mask(queues.mover, queues.movers);
                if (ff_has_line(&index->rules, mover)) table[node] = FF_IMPOSSIBLE;
            }
            ff_reader_next(&reader);
        }
    }
}
