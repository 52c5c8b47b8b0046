#include "records.h"

/* ---- table to records ----------------------------------------------------- */

/* Nodes first .. end - 1 of one slice, seen by both sides to move: X, then Y. */
typedef struct {
    int pieces;
    uint64_t first, end;      /* ranks in the slice */
    const uint8_t *values[2]; /* [rank] */
    int wanted[2];            /* 0 for a side that cannot be to move; its values are any bytes */
} ff_part;

/* The part of first .. end - 1 that lies in the slice of `first`. */
static ff_part part_of_slice(const ff_index *index, const uint8_t *table, const uint8_t *swapped,
                             int wanted, uint64_t first, uint64_t end) {
    const int pieces = ff_slice_of(index, first), full = pieces == 2 * index->rules.m;
    const uint64_t base = index->slice_base[pieces], next = index->slice_base[pieces + 1];
    return (ff_part){
        .pieces = pieces,
        .first = first - base,
        .end = (end < next ? end : next) - base,
        .values = {table + base, full ? swapped : table + base},
        .wanted = {full || pieces % 2 == 0 ? wanted : 0, full || pieces % 2 == 1 ? wanted : 0},
    };
}

/* This many nodes are examined together, without a branch on any of them: which
 * nodes are wanted is unpredictable. */
enum { TOGETHER = 2048 };

/* Marks with 1 the nodes from `first` on that have a wanted result; returns how many. */
static uint32_t mark_wanted(const ff_part *part, uint64_t first, uint32_t count, uint8_t *marks) {
    uint32_t marked = 0;
    memset(marks, 0, count);
    for (int side = 0; side < 2; side++) {
        const uint8_t *values = part->values[side] + first;
        const uint8_t even = ff_is_wanted(ff_record_result(2, side), part->wanted[side]) != 0;
        const uint8_t odd = ff_is_wanted(ff_record_result(1, side), part->wanted[side]) != 0;
        for (uint32_t i = 0; i < count; i++) {
            const uint8_t value = values[i], by_parity = value & 1 ? odd : even;
            marks[i] |= value == FF_UNDECIDED || value == FF_IMPOSSIBLE ? 0 : by_parity;
        }
    }
    for (uint32_t i = 0; i < count; i++) marked += marks[i];
    return marked;
}

static uint32_t at_most(uint64_t count, uint32_t most) {
    return count < most ? (uint32_t)count : most;
}

uint64_t ff_count_records(const ff_index *index, const uint8_t *table, const uint8_t *swapped,
                          int wanted, uint64_t first, uint64_t end) {
    uint8_t marks[TOGETHER];
    uint64_t records = 0;
    while (first < end) {
        const ff_part part = part_of_slice(index, table, swapped, wanted, first, end);
        for (uint64_t rank = part.first; rank < part.end; rank += TOGETHER)
            records += mark_wanted(&part, rank, at_most(part.end - rank, TOGETHER), marks);
        first += part.end - part.first;
    }
    return records;
}

/* The six bytes that a record has behind its code, as one word, for each value
 * that a side to move can have; 0 for what is not wanted. */
static void list_claims(const ff_part *part, uint64_t claims[2][256]) {
    for (int side = 0; side < 2; side++) {
        for (int value = 0; value < 256; value++) {
            const int result = ff_record_result((uint8_t)value, side);
            const uint64_t dp = (uint8_t)result, depth = (uint64_t)(value - 1);
            claims[side][value] = ff_is_wanted(result, part->wanted[side])
                                      ? dp << 8 * side | depth << (16 + 16 * side)
                                      : 0;
        }
    }
}

static uint8_t *write_part(const ff_index *index, const ff_part *part, uint8_t *records,
                           uint64_t *counts) {
    uint8_t marks[TOGETHER + 8]; /* eight are read together */
    uint64_t claims[2][256];
    ff_reader reader;
    list_claims(part, claims);
    ff_reader_init(&reader, index, part->pieces, part->first);
    for (uint64_t first = part->first; first < part->end; first += TOGETHER) {
        const uint32_t count = at_most(part->end - first, TOGETHER);
        memset(marks + count, 0, 8);
        mark_wanted(part, first, count, marks);
        for (uint32_t i = 0; i < count; i += 8) {
            uint64_t marked;
            for (memcpy(&marked, marks + i, 8); marked; marked &= marked - 1) {
                const uint64_t rank = first + i + (uint64_t)__builtin_ctzll(marked) / 8;
                const uint8_t x = part->values[0][rank], y = part->values[1][rank];
                const uint64_t claim = claims[0][x] | claims[1][y];
                ff_reader_seek(&reader, rank);
                const uint64_t code = ff_reader_code(&reader);
                memcpy(records, &code, 8);
                memcpy(records + 8, &claim, FF_RECORD_BYTES - 8);
                records += FF_RECORD_BYTES;
                counts[x] += claims[0][x] != 0;
                counts[256 + y] += claims[1][y] != 0;
            }
        }
    }
    return records;
}

void ff_write_records(const ff_index *index, const uint8_t *table, const uint8_t *swapped,
                      int wanted, uint64_t first, uint64_t end, uint8_t *records,
                      uint64_t *counts) {
    while (first < end) {
        const ff_part part = part_of_slice(index, table, swapped, wanted, first, end);
        records = write_part(index, &part, records, counts);
        first += part.end - part.first;
    }
}

/* ---- records and records -------------------------------------------------- */

/* One record from two with the same code; 0 if they contradict each other. */
static int join(const uint8_t *left, const uint8_t *right, uint8_t *joined) {
    ff_record a, b;
    ff_load_record(left, &a);
    ff_load_record(right, &b);
    for (int side = 0; side < 2; side++) {
        if (b.result[side] == 0) continue;
        if (a.result[side] != 0) return 0;
        a.result[side] = b.result[side];
        a.depth[side] = b.depth[side];
    }
    ff_store_record(joined, &a);
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
        uint64_t left_code = have_left ? ff_code_at(a) : UINT64_MAX;
        uint64_t right_code = have_right ? ff_code_at(b) : UINT64_MAX;
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
        uint64_t a = ff_code_at(left), b = ff_code_at(right);
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
            ff_record record = {ff_reader_code(&reader), {0, 0}, {0, 0}};
            if (used < known_count && ff_code_at(known + used * FF_RECORD_BYTES) == record.code)
                memcpy(records, known + used++ * FF_RECORD_BYTES, FF_RECORD_BYTES);
            else
                ff_store_record(records, &record);
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
            if (ff_code_at(records + middle * FF_RECORD_BYTES) < codes[i]) low = middle + 1;
            else high = middle;
        }
        places[i] = low;
    }
}
