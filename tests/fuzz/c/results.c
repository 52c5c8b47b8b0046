/* results.c -- results without plies: whatever their file holds, read and audited.
 *
 * A file packed from a plain solve by the drawing in results_file.h, with any bytes
 * changed.  The right file says of every node what the plain solve says, and the audit
 * finds nothing wrong in it.  Of any file: values are those that results have, no byte
 * outside is read, the audit counts every position once, and if it finds nothing wrong
 * then every result follows from those of the next moves.
 */
#include "plain_solved.h"

#include "results_audit.h"
#include "results_file.h"

enum { VARIANTS = 3, SMALL = 2, MOST_PATCHES = 16, SOME_NODES = 8, MOST_SLICES = 13 };

static const int RULES[VARIANTS][3] = {{3, 2, 2}, {3, 2, 3}, {3, 3, 3}};

typedef struct {
    plain_graph graph;
    ff_index index;
    ff_audit *audits;            /* of slices 0 .. 2m - 2 */
    uint8_t *expected;           /* of each node, as results are read */
    uint8_t *right, *file;       /* the second with no byte behind it */
    uint64_t bytes, columns_bytes;
} variant;

/* ---- packed plainly ------------------------------------------------------------ */

static uint8_t result_of(uint8_t value) {
    if (value == 0 || value == 1 || value == 255) return value;
    return value % 2 ? FF_RESULT_LOST : FF_RESULT_WON;
}

/* Column `newest` of the group a1 .. ah b0 .. b(h-1): its winning cells. */
static int plain_column(const variant *v, const uint8_t *solved, const uint8_t *group,
                        int newest) {
    const plain_variant *plain = &v->graph.plain;
    const int half = plain->m - 1;
    plain_node after = {.movers = plain->m, .opponents = plain->m};
    memcpy(after.opponent, group, (size_t)half);
    memcpy(after.mover, group + half, (size_t)half);
    after.mover[half] = (uint8_t)newest;
    if (plain_has_line(plain, group, half)) return 0;
    if (plain_has_line(plain, after.mover, after.movers)) return 0;
    int winning = 0, number = 0, lone = 0;
    for (int cell = 0; cell < plain->n * plain->n; cell++) {
        if (plain_owns(group, 2 * half, cell)) continue;
        number++;
        if (cell == newest) continue;
        after.opponent[half] = (uint8_t)cell;
        if (solved[plain_number(plain, &after)] % 2 == 0) continue;
        winning++;
        lone = number;
    }
    return winning == 0 ? 0 : winning == 1 ? lone : number + 1;
}

static void put_bits(uint8_t *file, uint64_t at, int bits, int value) {
    for (int i = 0; i < bits; i++, at++) file[at / 8] |= (uint8_t)((value >> i & 1) << at % 8);
}

static void plain_pack(variant *v, const uint8_t *solved) {
    const plain_variant *plain = &v->graph.plain;
    const int length = 2 * plain->m - 2, rows = plain->n * plain->n - length;
    const int bits = rows <= 6 ? 3 : rows <= 14 ? 4 : 5;
    uint64_t at = 0, small = 0;
    for (uint64_t node = 0; node < plain->count; node++) {
        uint8_t cells[PLAIN_PIECES];
        const int pieces = plain_sequence(plain, plain->codes[node], cells);
        small += pieces <= length;
        for (int cell = 0; pieces == length && cell < plain->n * plain->n; cell++) {
            if (plain_owns(cells, length, cell)) continue;
            put_bits(v->right, at, bits, plain_column(v, solved, cells, cell));
            at += (uint64_t)bits;
        }
    }
    EXPECT((at + 7) / 8 == v->columns_bytes && v->bytes == v->columns_bytes + (small + 3) / 4);
    for (uint64_t node = 0; node < small; node++) {
        const uint8_t value = solved[node];
        const int result = value == 0 ? 0 : value == 255 ? 3 : value % 2 ? 1 : 2;
        put_bits(v->right, 8 * v->columns_bytes + 2 * node, 2, result);
    }
}

static int small_slices(const variant *v) { return 2 * v->graph.plain.m - 1; }

static variant *variant_of(int number) {
    static variant made[VARIANTS];
    variant *v = &made[number];
    if (v->right) return v;
    const int n = RULES[number][0], m = RULES[number][1], k = RULES[number][2];
    v->graph = plain_graph_of(n, m, k);
    EXPECT(ff_index_init(&v->index, n, m, k) == FF_OK);
    v->audits = malloc(sizeof *v->audits * (size_t)small_slices(v));
    for (int slice = 0; slice < small_slices(v); slice++)
        EXPECT(ff_audit_init(&v->audits[slice], n, m, k, slice) == FF_OK);
    ff_results_file format;
    ff_results_file_init(&format, &v->index, NULL);
    v->bytes = format.bytes;
    v->columns_bytes = format.columns_bytes;
    v->right = calloc(v->bytes, 1);
    v->file = malloc(v->bytes);
    v->expected = malloc(v->graph.plain.count);
    plain_solve(&v->graph, v->expected);
    plain_pack(v, v->expected);
    for (uint64_t node = 0; node < v->graph.plain.count; node++)
        v->expected[node] = result_of(v->expected[node]);
    return v;
}

/* ---- the laws ------------------------------------------------------------------ */

static void read_values(const variant *v, const uint64_t *nodes, uint64_t count,
                        uint8_t *values) {
    ff_results_file results;
    ff_results_file_init(&results, &v->index, v->file);
    uint64_t *places = malloc(count * 4 * sizeof *places);
    ff_results_values(&results, nodes, count, values, places);
    for (uint64_t i = 0; i < 4 * count; i++) EXPECT(places[i] < v->bytes);
    free(places);
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t by_lines = v->graph.moves[nodes[i]].by_lines;
        EXPECT(values[i] == 0 || values[i] == 1 || values[i] == FF_RESULT_WON ||
               values[i] == FF_RESULT_LOST || values[i] == 255);
        if (by_lines) EXPECT(values[i] == by_lines);
        else EXPECT(values[i] != 1);
    }
}

/* By its results alone, every node follows from its moves. */
static void expect_consistent(const variant *v, const uint8_t *values) {
    for (uint64_t node = 0; node < v->graph.plain.count; node++) {
        const plain_moves *moves = &v->graph.moves[node];
        int lost = 0, won = 0;
        for (int i = 0; i < moves->moves; i++) {
            lost += values[moves->after[i]] % 2;
            won += values[moves->after[i]] == FF_RESULT_WON;
        }
        if (moves->by_lines) continue;
        const int follows = lost ? FF_RESULT_WON : won == moves->moves ? FF_RESULT_LOST : 0;
        EXPECT(values[node] == follows);
    }
}

static uint64_t audit(const variant *v) {
    const int last = small_slices(v) - 1;
    const ff_audit *groups = &v->audits[last];
    ff_results_audit_count count = {.wrong = 0};
    ff_work work = {0, groups->items, 1};
    ff_results_audit_groups(groups, v->file, &work, &count);
    for (int slice = 0; slice <= last; slice++) {
        work = (ff_work){0, v->audits[slice].items, 1};
        ff_results_audit_small(&v->audits[slice], groups, v->file, v->columns_bytes, &work, &count);
    }
    uint64_t sizes[MOST_SLICES] = {0};
    for (uint64_t node = 0; node < v->graph.plain.count; node++)
        sizes[v->graph.plain.codes[node] >> 60]++;
    for (int slice = 0; slice < MOST_SLICES; slice++) {
        uint64_t counted = 0;
        for (int result = 0; result < 4; result++) counted += count.results[slice][result];
        EXPECT(counted == sizes[slice]);
    }
    EXPECT(count.wrong <= count.checked);
    return count.wrong;
}

static void check_everything(const variant *v) {
    const uint64_t count = v->graph.plain.count;
    uint64_t *nodes = malloc(count * sizeof *nodes);
    uint8_t *values = malloc(count);
    for (uint64_t node = 0; node < count; node++) nodes[node] = node;
    read_values(v, nodes, count, values);
    const int is_right = !memcmp(v->file, v->right, v->bytes);
    const uint64_t wrong = audit(v);
    if (is_right) EXPECT(wrong == 0 && !memcmp(values, v->expected, count));
    if (wrong == 0) {
        expect_consistent(v, values);
        fuzz_accept();
    }
    free(values);
    free(nodes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input input = fuzz_begin(data, size);
    const int number = (int)fuzz_below(&input, VARIANTS), options = fuzz_byte(&input);
    const variant *v = variant_of(number);
    uint64_t nodes[SOME_NODES];
    uint8_t values[SOME_NODES];
    for (int i = 0; i < SOME_NODES; i++) nodes[i] = fuzz_below(&input, v->graph.plain.count);
    memcpy(v->file, v->right, v->bytes);
    for (int i = 0; i < MOST_PATCHES && input.size; i++) {
        const uint64_t place = fuzz_below(&input, v->bytes);
        const uint8_t byte = fuzz_byte(&input);
        v->file[place] = options & 1 ? byte : v->file[place] ^ byte;
    }
    if (options & 2) memset(v->file, (uint8_t)options, v->bytes);
    read_values(v, nodes, SOME_NODES, values);
    /* A larger variant takes as long as a hundred of the others. */
    if (number < SMALL || options >= 0xF8) check_everything(v);
    return 0;
}
