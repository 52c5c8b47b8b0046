/* records.c -- the record reader: arbitrary records of several variants.
 *
 * A record is taken exactly if a plain reader takes it; counts, table and comparison
 * say what the plain reader says; reading in two parts gives the same; what was
 * taken can be merged, searched and completed.
 */
#include "plain_nodes.h"

#include "read_records.h"

enum { VARIANTS = 5, MOST_RECORDS = 64, RECORD = FF_RECORD_BYTES };

static const int RULES[VARIANTS][3] = {{3, 2, 2}, {3, 3, 3}, {4, 2, 2}, {3, 2, 3}, {3, 3, 2}};

typedef struct {
    plain_variant plain;
    ff_index index;
    uint8_t *table, *expected;
} variant;

static variant *variant_of(int number) {
    static variant made[VARIANTS];
    variant *v = &made[number];
    if (!v->plain.codes) {
        const int *rules = RULES[number];
        v->plain = plain_variant_of(rules[0], rules[1], rules[2]);
        EXPECT(ff_index_init(&v->index, rules[0], rules[1], rules[2]) == FF_OK);
        EXPECT(v->index.slice_base[2 * rules[1] + 1] == v->plain.count);
        v->table = malloc(v->plain.count);
        v->expected = malloc(v->plain.count);
    }
    return v;
}

/* ---- the plain reader ------------------------------------------------------- */

/* Fills in what the record claims of X and of Y to move, as table bytes; 0 if no solve
 * writes such a record. */
static int plain_reads(const plain_variant *v, const ff_record *record, int wanted, int *value) {
    uint8_t cells[PLAIN_PIECES];
    const int pieces = plain_sequence(v, record->code, cells);
    if (pieces < 0 || !plain_is_least(v->n, cells, pieces)) return 0;
    const plain_node node = plain_node_of(cells, pieces);
    const int mover_line = plain_has_line(v, node.mover, node.movers);
    const int other_line = plain_has_line(v, node.opponent, node.opponents);
    const int mover = pieces % 2; /* the side that the code speaks of: 0 is X */
    int claims = 0;
    for (int side = 0; side < 2; side++) {
        const int result = record->result[side], depth = record->depth[side];
        value[side] = 0;
        if (result == 0 && depth == 0) continue;
        if ((result != 1 && result != -1) || depth > 253) return 0;
        if (!(wanted & (result == 1 ? FF_X_WINS : FF_Y_WINS))) return 0;
        if (side != mover && pieces < 2 * v->m) return 0;
        const int wins = result == (side == 0 ? 1 : -1);
        if (wins != depth % 2) return 0;
        const int own_line = side == mover ? mover_line : other_line;
        const int their_line = side == mover ? other_line : mover_line;
        if (own_line || their_line != (depth == 0)) return 0;
        value[side] = depth + 1;
        claims++;
    }
    return claims > 0 || wanted & FF_EVERYTHING;
}

/* The number of the node that a record speaks of with this side to move. */
static uint64_t node_spoken_of(const plain_variant *v, uint64_t code, int side) {
    uint8_t cells[PLAIN_PIECES];
    const int pieces = plain_sequence(v, code, cells);
    plain_node node = plain_node_of(cells, pieces);
    if (side != pieces % 2) {
        const plain_node same = node;
        memcpy(node.mover, same.opponent, sizeof node.mover);
        memcpy(node.opponent, same.mover, sizeof node.opponent);
    }
    return plain_number(v, &node);
}

/* ---- records from bytes ------------------------------------------------------ */

/* Records as they come, or a node's code with a bit changed now and then: random codes
 * are hardly ever good ones. */
static uint64_t make_records(const plain_variant *v, fuzz_input *input, uint8_t *records) {
    const int by_node = fuzz_byte(input) & 1;
    uint64_t count = 0;
    for (; count < MOST_RECORDS && input->size; count++) {
        uint8_t *bytes = records + count * RECORD;
        if (!by_node) {
            for (int i = 0; i < RECORD; i++) bytes[i] = fuzz_byte(input);
            continue;
        }
        ff_record record = {.code = v->codes[fuzz_below(input, v->count)]};
        const int claim = fuzz_byte(input);
        if (claim & 0x80) record.code ^= (uint64_t)1 << (fuzz_byte(input) & 63);
        for (int side = 0; side < 2; side++) {
            record.result[side] = (int8_t)((claim >> 2 * side & 3) - 1);
            if (record.result[side]) record.depth[side] = fuzz_byte(input);
        }
        if (claim & 0x40) record.depth[0] = (uint16_t)(record.depth[0] << 8 | fuzz_byte(input));
        ff_store_record(bytes, &record);
    }
    return count;
}

static int by_code(const void *left, const void *right) {
    const uint64_t a = ff_code_at(left), b = ff_code_at(right);
    return a < b ? -1 : a > b;
}

/* ---- the laws ---------------------------------------------------------------- */

static uint64_t check_reading(variant *v, const uint8_t *records, uint64_t count, int wanted,
                              uint64_t part) {
    uint64_t counts[512] = {0}, expected_counts[512] = {0}, last = FF_NO_CODE;
    memset(v->table, 0, v->plain.count);
    memset(v->expected, 0, v->plain.count);
    uint64_t good = ff_read_records(&v->index, records, part, wanted, &last, counts, v->table);
    if (good == part)
        good += ff_read_records(&v->index, records + part * RECORD, count - part, wanted, &last,
                                counts, v->table);
    uint64_t expected = 0, before = 0;
    for (; expected < count; expected++) {
        ff_record record;
        int value[2];
        ff_load_record(records + expected * RECORD, &record);
        if (expected && record.code <= before) break;
        if (!plain_reads(&v->plain, &record, wanted, value)) break;
        before = record.code;
        for (int side = 0; side < 2; side++)
            if (value[side]) expected_counts[side * 256 + value[side]]++;
        const int pieces = (int)(record.code >> 60), mover = pieces % 2;
        if (value[mover])
            v->expected[node_spoken_of(&v->plain, record.code, mover)] = (uint8_t)value[mover];
    }
    EXPECT(good == expected);
    EXPECT(last == (good ? before : FF_NO_CODE));
    EXPECT(!memcmp(counts, expected_counts, sizeof counts));
    EXPECT(!memcmp(v->table, v->expected, v->plain.count));
    return good;
}

/* Against the table that was read, with some bytes of full nodes changed. */
static void check_comparing(variant *v, const uint8_t *records, uint64_t count, int wanted) {
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *bytes = records + i * RECORD;
        const uint64_t code = ff_code_at(bytes);
        if (code >> 60 == (uint64_t)(2 * v->plain.m))
            v->table[node_spoken_of(&v->plain, code, bytes[12] & 1)] ^= bytes[12] & 0x82;
    }
    ff_disagreement first;
    const uint64_t agreeing =
        ff_compare_records(&v->index, records, count, wanted, v->table, &first);
    for (uint64_t i = 0; i < count; i++) {
        ff_record record;
        int value[2];
        ff_load_record(records + i * RECORD, &record);
        EXPECT(plain_reads(&v->plain, &record, wanted, value));
        const int pieces = (int)(record.code >> 60);
        for (int side = 0; side < 2; side++) {
            if (pieces < 2 * v->plain.m && side != pieces % 2) continue;
            const uint8_t stored = v->table[node_spoken_of(&v->plain, record.code, side)];
            const int mover_wins = stored % 2 == 0, x_wins = mover_wins == (side == 0);
            const int is_result = stored != 0 && stored != 255;
            const int listed = is_result && wanted & (x_wins ? FF_X_WINS : FF_Y_WINS);
            if (value[side] == (listed ? stored : 0)) continue;
            EXPECT(agreeing == i && first.side == side);
            EXPECT(first.claimed == value[side] && first.expected == stored);
            EXPECT(v->plain.codes[first.node] == record.code);
            return;
        }
    }
    EXPECT(agreeing == count);
}

/* Good records, shared out between two files, come together again. */
static void check_merging(const uint8_t *records, uint64_t count, fuzz_input choice) {
    uint8_t file[2][MOST_RECORDS * RECORD], merged[MOST_RECORDS * RECORD];
    uint64_t size[2] = {0, 0}, used[2] = {0, 0};
    for (uint64_t i = 0; i < count; i++) {
        const int side = fuzz_byte(&choice) & 1;
        memcpy(file[side] + size[side]++ * RECORD, records + i * RECORD, RECORD);
    }
    EXPECT(ff_count_common(file[0], size[0], file[1], size[1]) == 0);
    EXPECT(ff_count_common(records, count, file[0], size[0]) == size[0]);
    const int64_t written = ff_merge_records(file[0], size[0], 1, file[1], size[1], 1, merged,
                                             MOST_RECORDS, &used[0], &used[1]);
    EXPECT(written == (int64_t)count && used[0] == size[0] && used[1] == size[1]);
    EXPECT(!memcmp(merged, records, count * RECORD));
}

/* A table of records is searched before it is checked. */
static void check_searching(const uint8_t *records, uint64_t count, const uint64_t *codes) {
    uint64_t places[4];
    ff_find_records(records, count, codes, 4, places);
    int is_sorted = 1;
    for (uint64_t i = 1; i < count; i++)
        is_sorted &= ff_code_at(records + (i - 1) * RECORD) <= ff_code_at(records + i * RECORD);
    for (int i = 0; i < 4; i++) {
        EXPECT(places[i] <= count);
        if (!is_sorted) continue;
        uint64_t first = 0;
        while (first < count && ff_code_at(records + first * RECORD) < codes[i]) first++;
        EXPECT(places[i] == first);
    }
}

static void check_completing(variant *v, const uint8_t *records, uint64_t count) {
    const uint64_t nodes = v->plain.count;
    uint8_t *all = malloc(nodes * RECORD);
    EXPECT(ff_complete_records(&v->index, 0, nodes, records, count, all) == count);
    uint64_t known = 0;
    for (uint64_t node = 0; node < nodes; node++) {
        const uint8_t *bytes = all + node * RECORD;
        EXPECT(ff_code_at(bytes) == v->plain.codes[node]);
        if (known < count && ff_code_at(records + known * RECORD) == v->plain.codes[node]) {
            EXPECT(!memcmp(bytes, records + known++ * RECORD, RECORD));
        } else {
            for (int i = 8; i < RECORD; i++) EXPECT(bytes[i] == 0);
        }
    }
    EXPECT(known == count);
    free(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input input = fuzz_begin(data, size);
    const fuzz_input whole = input;
    variant *v = variant_of((int)fuzz_below(&input, VARIANTS));
    const int wanted = fuzz_byte(&input) & 7, options = fuzz_byte(&input);
    uint8_t *records = malloc(MOST_RECORDS * RECORD);
    const uint64_t count = make_records(&v->plain, &input, records);
    /* No byte behind the last record may be read: give it memory of its own. */
    uint8_t *tight = malloc(count * RECORD + 1), *exact = tight + 1;
    if (options & 1) qsort(records, count, RECORD, by_code);
    memcpy(exact, records, count * RECORD);
    free(records);
    uint64_t codes[4] = {0, UINT64_MAX, count ? ff_code_at(exact) : 1, v->plain.codes[options]};
    check_searching(exact, count, codes);
    const uint64_t part = count ? (uint64_t)(options >> 1) % (count + 1) : 0;
    const uint64_t good = check_reading(v, exact, count, wanted, part);
    check_comparing(v, exact, good, wanted);
    check_merging(exact, good, whole);
    /* It takes longer than all the rest. */
    if (options >= 0xE0 && v->plain.count < 2000) check_completing(v, exact, good);
    free(tight);
    if (good && good == count) fuzz_accept();
    return 0;
}
