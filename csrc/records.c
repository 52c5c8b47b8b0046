#include "records.h"

typedef struct {
    uint64_t code;
    int8_t result[2];  /* by side to move: dp0, dp1 */
    uint16_t depth[2];
} ff_record;

static void store(uint8_t *bytes, const ff_record *record) {
    memcpy(bytes, &record->code, 8);
    memcpy(bytes + 8, record->result, 2);
    memcpy(bytes + 10, record->depth, 4);
}

static void load(const uint8_t *bytes, ff_record *record) {
    memcpy(&record->code, bytes, 8);
    memcpy(record->result, bytes + 8, 2);
    memcpy(record->depth, bytes + 10, 4);
}

static uint64_t code_at(const uint8_t *bytes) {
    uint64_t code;
    memcpy(&code, bytes, 8);
    return code;
}

/* ---- table to records ----------------------------------------------------- */

/* The first of the values first .. end - 1 that is not 0, or end; most are. */
static uint64_t next_decided(const uint8_t *values, uint64_t first, uint64_t end) {
    uint64_t eight;
    for (; first + 8 <= end; first += 8) {
        memcpy(&eight, values + first, sizeof eight);
        if (eight != 0) return first + (uint64_t)(__builtin_ctzll(eight) / 8);
    }
    while (first < end && values[first] == FF_UNDECIDED) first++;
    return first;
}

/* The record's result for a side to move whose node holds this value. */
static inline int result_of(int value, int y_to_move) {
    if (value == FF_UNDECIDED || value == FF_IMPOSSIBLE) return 0;
    return (value & 1) == y_to_move ? 1 : -1; /* even: the mover wins */
}

static inline int is_wanted(int result, int wanted) {
    return result > 0 ? wanted & FF_X_WINS : result < 0 ? wanted & FF_Y_WINS : 0;
}

uint64_t ff_count_records(const ff_index *index, const uint8_t *table, const uint8_t *swapped,
                          int wanted, uint64_t first, uint64_t end) {
    if (wanted & FF_EVERYTHING) return end - first;
    uint64_t records = 0;
    for (uint64_t node = first; node < end;) {
        const int pieces = ff_slice_of(index, node), full = pieces == 2 * index->rules.m;
        const uint64_t base = index->slice_base[pieces];
        for (; node < end && node < index->slice_base[pieces + 1]; node++) {
            int side = full ? 0 : pieces % 2;
            int any = is_wanted(result_of(table[node], side), wanted);
            if (full) any |= is_wanted(result_of(swapped[node - base], 1), wanted);
            records += any != 0;
        }
    }
    return records;
}

uint64_t ff_write_records(const ff_index *index, const uint8_t *table, const uint8_t *swapped,
                          int wanted, uint64_t first, uint64_t end, uint8_t *records,
                          uint64_t *counts) {
    const uint8_t *start = records;
    for (uint64_t node = first; node < end;) {
        const int pieces = ff_slice_of(index, node), full = pieces == 2 * index->rules.m;
        ff_reader reader;
        ff_reader_init(&reader, index, pieces, node - index->slice_base[pieces]);
        const uint64_t base = index->slice_base[pieces];
        const uint64_t slice_end = index->slice_base[pieces + 1];
        const uint64_t stop = end < slice_end ? end : slice_end;
        for (; node < stop; node++) {
            if (!(wanted & FF_EVERYTHING)) {
                uint64_t decided = next_decided(table, node, stop);
                if (full) {
                    uint64_t other = base + next_decided(swapped, node - base, stop - base);
                    decided = other < decided ? other : decided;
                }
                if ((node = decided) == stop) break;
            }
            int value[2] = {0, 0}, any = wanted & FF_EVERYTHING;
            ff_record record = {0, {0, 0}, {0, 0}};
            value[full ? 0 : pieces % 2] = table[node];
            if (full) value[1] = swapped[node - base];
            for (int side = 0; side < 2; side++) {
                int result = result_of(value[side], side);
                if (!is_wanted(result, wanted)) continue;
                record.result[side] = (int8_t)result;
                record.depth[side] = (uint16_t)(value[side] - 1);
                counts[side * 256 + value[side]]++;
                any = 1;
            }
            if (!any) continue;
            ff_reader_seek(&reader, node - base);
            record.code = ff_pack(reader.cells, pieces);
            store(records, &record);
            records += FF_RECORD_BYTES;
        }
    }
    return (uint64_t)(records - start) / FF_RECORD_BYTES;
}

/* ---- records to table ----------------------------------------------------- */

/* The node value that a record's field claims, or -1 if no solve claims that. */
static int claimed_value(int result, int depth, int y_to_move) {
    if (result == 0) return depth == 0 ? FF_UNDECIDED : -1;
    if ((result != 1 && result != -1) || depth + 1 > FF_DEEPEST) return -1;
    int mover_wins = (result == 1) != y_to_move;
    return mover_wins == depth % 2 ? depth + 1 : -1;
}

/* Does the value fit the lines on the board?  Finished means exactly that the
 * opponent has a line and the mover has none. */
static int fits_lines(const ff_rules *rules, uint32_t mover, uint32_t opponent, int value) {
    if (value == FF_UNDECIDED) return 1;
    if (ff_has_line(rules, mover)) return 0;
    return ff_has_line(rules, opponent) == (value == FF_FINISHED);
}

static int is_canonical(const ff_index *index, uint64_t code, const uint8_t *cells, int pieces,
                        ff_place *place) {
    if (pieces > 2 * index->rules.m) return 0;
    for (int i = 0; i < pieces; i++)
        if (cells[i] >= index->rules.cells) return 0;
    if (__builtin_popcount(ff_cells_mask(cells, pieces)) != pieces) return 0;
    *place = ff_place_of(index, cells, pieces, pieces);
    uint8_t canonical[FF_MAX_PIECES];
    for (int i = 0; i < pieces; i++)
        canonical[i] = index->symmetry.image[place->transform][cells[i]];
    return ff_pack(canonical, pieces) == code;
}

/* Checks one record; fills in its node and the values it claims. */
static int read_record(const ff_index *index, const ff_record *record, int wanted,
                       ff_place *place, int *value) {
    uint8_t cells[FF_MAX_PIECES];
    ff_queues node;
    int pieces = ff_unpack(record->code, cells);
    if (!is_canonical(index, record->code, cells, pieces, place)) return 0;
    ff_queues_of(cells, pieces, &node);
    const int full = pieces == 2 * index->rules.m;
    uint32_t mover = ff_cells_mask(node.mover, node.movers);
    uint32_t opponent = ff_cells_mask(node.opponent, node.opponents);
    int any = wanted & FF_EVERYTHING;
    for (int side = 0; side < 2; side++) {
        value[side] = claimed_value(record->result[side], record->depth[side], side);
        if (value[side] < 0) return 0;
        if (value[side] == FF_UNDECIDED) continue;
        if (!is_wanted(record->result[side], wanted)) return 0;
        any = 1;
        if (!full && side != pieces % 2) return 0;
        int swap = full && side == 1; /* a full code speaks of X to move */
        if (!fits_lines(&index->rules, swap ? opponent : mover, swap ? mover : opponent,
                        value[side]))
            return 0;
    }
    return any;
}

uint64_t ff_read_records(const ff_index *index, const uint8_t *records, uint64_t count,
                         int wanted, uint64_t *last_code, uint64_t *counts, uint8_t *table,
                         uint8_t *swapped) {
    const int full_pieces = 2 * index->rules.m;
    for (uint64_t i = 0; i < count; i++) {
        ff_record record;
        ff_place place;
        int value[2];
        load(records + i * FF_RECORD_BYTES, &record);
        if (record.code == FF_NO_CODE) return i;
        if (*last_code != FF_NO_CODE && record.code <= *last_code) return i;
        if (!read_record(index, &record, wanted, &place, value)) return i;
        *last_code = record.code;
        int pieces = (int)(record.code >> 60), full = pieces == full_pieces;
        for (int side = 0; side < 2; side++)
            if (value[side]) counts[side * 256 + value[side]]++;
        if (table == 0) continue;
        table[index->slice_base[pieces] + place.rank] =
            (uint8_t)value[full ? 0 : pieces % 2];
        if (full) swapped[place.rank] = (uint8_t)value[1];
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
                ff_queues queues;
                ff_queues_of(reader.cells, pieces, &queues);
                uint32_t mover = ff_cells_mask(queues.mover, queues.movers);
                if (ff_has_line(&index->rules, mover)) table[node] = FF_IMPOSSIBLE;
            }
            ff_reader_next(&reader);
        }
    }
}

/* ---- records and records -------------------------------------------------- */

/* One record from two with the same code; 0 if they contradict each other. */
static int join(const uint8_t *left, const uint8_t *right, uint8_t *joined) {
    ff_record a, b;
    load(left, &a);
    load(right, &b);
    for (int side = 0; side < 2; side++) {
        if (b.result[side] == 0) continue;
        if (a.result[side] != 0) return 0;
        a.result[side] = b.result[side];
        a.depth[side] = b.depth[side];
    }
    store(joined, &a);
    return 1;
}

int64_t ff_merge_records(const uint8_t *left, uint64_t left_count, int left_ended,
                         const uint8_t *right, uint64_t right_count, int right_ended,
                         uint8_t *merged, uint64_t room, uint64_t *left_used,
                         uint64_t *right_used) {
    uint64_t l = 0, r = 0, written = 0;
    int status = FF_OK;
    while (written < room) {
        int have_left = l < left_count, have_right = r < right_count;
        if ((!have_left && !left_ended) || (!have_right && !right_ended)) break;
        if (!have_left && !have_right) break;
        const uint8_t *a = left + l * FF_RECORD_BYTES, *b = right + r * FF_RECORD_BYTES;
        uint8_t *out = merged + written * FF_RECORD_BYTES;
        uint64_t left_code = have_left ? code_at(a) : UINT64_MAX;
        uint64_t right_code = have_right ? code_at(b) : UINT64_MAX;
        if (left_code == right_code) {
            if (!join(a, b, out)) {
                status = FF_BAD_RECORD;
                break;
            }
            l++;
            r++;
        } else if (left_code < right_code) {
            memcpy(out, a, FF_RECORD_BYTES);
            l++;
        } else {
            memcpy(out, b, FF_RECORD_BYTES);
            r++;
        }
        written++;
    }
    *left_used = l;
    *right_used = r;
    return status == FF_OK ? (int64_t)written : status;
}

uint64_t ff_count_common(const uint8_t *left, uint64_t left_count, const uint8_t *right,
                         uint64_t right_count) {
    const uint8_t *left_end = left + left_count * FF_RECORD_BYTES;
    const uint8_t *right_end = right + right_count * FF_RECORD_BYTES;
    uint64_t common = 0;
    while (left < left_end && right < right_end) {
        uint64_t a = code_at(left), b = code_at(right);
        common += a == b;
        left += a <= b ? FF_RECORD_BYTES : 0;
        right += b <= a ? FF_RECORD_BYTES : 0;
    }
    return common;
}

uint64_t ff_complete_records(const ff_index *index, uint64_t first, uint64_t end,
                             const uint8_t *known, uint64_t known_count, uint8_t *records) {
    uint64_t used = 0;
    for (uint64_t node = first; node < end;) {
        const int pieces = ff_slice_of(index, node);
        ff_reader reader;
        ff_reader_init(&reader, index, pieces, node - index->slice_base[pieces]);
        for (; node < end && node < index->slice_base[pieces + 1]; node++) {
            ff_record record = {ff_pack(reader.cells, pieces), {0, 0}, {0, 0}};
            if (used < known_count && code_at(known + used * FF_RECORD_BYTES) == record.code)
                memcpy(records, known + used++ * FF_RECORD_BYTES, FF_RECORD_BYTES);
            else
                store(records, &record);
            records += FF_RECORD_BYTES;
            ff_reader_next(&reader);
        }
    }
    return used;
}

void ff_record_codes(const ff_index *index, const int8_t *x, const int8_t *y, uint64_t count,
                     uint64_t *codes) {
    const int m = index->rules.m;
    for (uint64_t i = 0; i < count; i++, x += m, y += m) {
        ff_queues node = {0, 0, {0}, {0}};
        uint8_t cells[FF_MAX_PIECES + 1];
        int xs = 0, ys = 0;
        while (xs < m && x[xs] >= 0) xs++;
        while (ys < m && y[ys] >= 0) ys++;
        int y_moves = xs > ys;
        node.movers = y_moves ? ys : xs;
        node.opponents = y_moves ? xs : ys;
        memcpy(node.mover, y_moves ? y : x, (size_t)node.movers);
        memcpy(node.opponent, y_moves ? x : y, (size_t)node.opponents);
        int pieces = ff_sequence(&node, cells);
        ff_place place = ff_place_of(index, cells, pieces, pieces);
        for (int c = 0; c < pieces; c++)
            cells[c] = index->symmetry.image[place.transform][cells[c]];
        codes[i] = ff_pack(cells, pieces);
    }
}

void ff_find_records(const uint8_t *records, uint64_t count, const uint64_t *codes,
                     uint64_t wanted_count, uint64_t *places) {
    for (uint64_t i = 0; i < wanted_count; i++) {
        uint64_t low = 0, high = count;
        while (low < high) {
            uint64_t middle = low + (high - low) / 2;
            if (code_at(records + middle * FF_RECORD_BYTES) < codes[i]) low = middle + 1;
            else high = middle;
        }
        places[i] = low;
    }
}
