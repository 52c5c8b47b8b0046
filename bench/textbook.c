/* textbook.c - the textbook solver of drop-oldest tic-tac-toe D(n,m,k): speed baseline and second opinion.
 *
 *   gcc -O3 -march=native -std=c11 -Wall -Wextra -o textbook textbook.c
 *   ./textbook N M K [--records FILE]        N 3..5, M 1..5 with 2M < N*N, K 1..N
 *
 * Finds every position that X wins by force, and in how many plies. One JSON object goes to stdout; FILE receives
 * the records (layout at write_records). Errors: one line on stderr, exit 2.
 *
 * It has the form the historical program had: canonical codes by an eight-way minimum, one sorted array of codes,
 * binary search, a need counter per position, no stored edges. It shares no code with the product: only libc.
 *
 *   1. enumerate  every canonical code, in increasing order;
 *   2. need       for each position and side to move: the number of DISTINCT canonical successors;
 *   3. propagate  the X-wins backwards, one ply a level, over DISTINCT canonical predecessors.
 *
 * Distinct is counted against distinct. A symmetric position has several moves to one canonical successor; counting
 * moves in step 2 and predecessors in step 3 would leave its counter above zero for ever.
 *
 * Rules: a piece is placed on an empty cell; then, if the mover owns more than m, the mover's oldest leaves; then k in
 * a row wins. A position is two queues, oldest first, and a side to move. It is
 *   live        if neither side has a line;
 *   over        if only the side that has just moved has one: no successors;
 *   impossible  if the side to move has a line: never labelled, never a predecessor.
 * What is unlabelled at the fixpoint is not an X-win: a Y-win, a draw (endless) or impossible.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { X = 0, Y = 1 };
enum { MAX_N = 5, MAX_CELLS = MAX_N * MAX_N, MAX_M = 5, MAX_PIECES = 2 * MAX_M, MAX_LINES = 4 * MAX_CELLS };
enum { NO_WIN = UINT16_MAX }; /* in the depth array: not (yet) known to be an X-win */

typedef struct {
    int length;
    uint8_t cell[MAX_M + 1]; /* oldest first; one place more than m, for the piece just placed */
} Queue;

typedef struct {
    Queue queue[2]; /* X, Y */
} Position;

static int n, m, k, cells;
static uint8_t symmetry[8][MAX_CELLS]; /* symmetry[t][cell]: where t takes the cell */
static uint32_t line[MAX_LINES];       /* k in a row, as masks of cells */
static int line_count;

static uint64_t *codes;                      /* all canonical codes, increasing */
static uint64_t code_count, code_room;
static uint64_t slice_start[MAX_PIECES + 2]; /* codes with s pieces: slice_start[s] .. slice_start[s + 1] - 1 */

/* A node is a position with its side to move: 2 * (index into codes) + side. */
static uint8_t *need;   /* by node: distinct successors not yet known to be X-wins */
static uint16_t *depth; /* by node: plies to X's win, or NO_WIN */

static const char *records_path;
static char *unfinished_path; /* the records while they are written; NULL when there is nothing to clean up */

static void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("textbook: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    if (unfinished_path) remove(unfinished_path);
    exit(2);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *resize(void *memory, uint64_t count, size_t size) {
    void *resized = realloc(memory, (count ? count : 1) * size);
    if (!resized) die("out of memory asking for %" PRIu64 " x %zu bytes; try a smaller board or M", count, size);
    return resized;
}

/* ---- board ------------------------------------------------------------------------------------------------------ */

static void build_board(void) {
    cells = n * n;
    for (int t = 0; t < 8; t++)
        for (int cell = 0; cell < cells; cell++) {
            int row = cell / n, column = cell % n;
            if (t & 1) row = n - 1 - row;
            if (t & 2) column = n - 1 - column;
            symmetry[t][cell] = (uint8_t)(t & 4 ? column * n + row : row * n + column);
        }
    static const int direction[4][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
    for (int cell = 0; cell < cells; cell++)
        for (int d = 0; d < 4; d++) {
            int row_step = direction[d][0], column_step = direction[d][1];
            int last_row = cell / n + (k - 1) * row_step, last_column = cell % n + (k - 1) * column_step;
            if (last_row >= n || last_column >= n || last_column < 0) continue;
            uint32_t mask = 0;
            for (int i = 0; i < k; i++) mask |= UINT32_C(1) << (cell + i * (row_step * n + column_step));
            line[line_count++] = mask;
        }
}

static uint32_t cells_of(const Queue *queue) {
    uint32_t mask = 0;
    for (int i = 0; i < queue->length; i++) mask |= UINT32_C(1) << queue->cell[i];
    return mask;
}

static bool has_line(const Queue *queue) {
    uint32_t mask = cells_of(queue);
    for (int i = 0; i < line_count; i++)
        if ((mask & line[i]) == line[i]) return true;
    return false;
}

static bool is_live(const Position *position) {
    return !has_line(&position->queue[X]) && !has_line(&position->queue[Y]);
}

static uint32_t occupied_cells(const Position *position) {
    return cells_of(&position->queue[X]) | cells_of(&position->queue[Y]);
}

/* Do positions with these numbers of pieces and this side to move belong to the game? */
static bool exists(int x_pieces, int y_pieces, int to_move) {
    if (x_pieces == m && y_pieces == m) return true;
    return to_move == X ? x_pieces == y_pieces : x_pieces == y_pieces + 1;
}

/* ---- state code --------------------------------------------------------------------------------------------------
 *
 *   bit 63..60   59..54        53..48         ...                                        0
 *      +------+-------------+--------------+-----+------------------------------------+----+
 *      |  s   | first piece | second piece | ... | last of s pieces                   | 0s |
 *      +------+-------------+--------------+-----+------------------------------------+----+
 *
 * The pieces are listed as a[1..p-1], b[0..o-2], a[0], b[o-1], where a is the mover's queue and b the opponent's.
 * X is the mover if s is even, Y if s is odd; a full position, s = 2m, is written with X as the mover whoever moves.
 * A symmetry acts on each piece by itself, so it is applied to a code without knowing whose piece is whose.
 */
static int pieces_of(uint64_t code) { return (int)(code >> 60); }

static uint64_t at(int place, int cell) { return (uint64_t)cell << (54 - 6 * place); }

static int cell_at(uint64_t code, int place) { return (int)(code >> (54 - 6 * place) & 63); }

static uint64_t encode(const Position *position) {
    int s = position->queue[X].length + position->queue[Y].length, place = 0;
    const Queue *a = &position->queue[s & 1], *b = &position->queue[1 - (s & 1)];
    uint64_t code = (uint64_t)s << 60;
    for (int i = 1; i < a->length; i++) code |= at(place++, a->cell[i]);
    for (int i = 0; i < b->length - 1; i++) code |= at(place++, b->cell[i]);
    if (a->length) code |= at(place++, a->cell[0]);
    if (b->length) code |= at(place++, b->cell[b->length - 1]);
    return code;
}

static Position decode(uint64_t code) {
    int s = pieces_of(code), place = 0;
    Position position = {0};
    Queue *a = &position.queue[s & 1], *b = &position.queue[1 - (s & 1)];
    a->length = s / 2;
    b->length = s - s / 2;
    for (int i = 1; i < a->length; i++) a->cell[i] = (uint8_t)cell_at(code, place++);
    for (int i = 0; i < b->length - 1; i++) b->cell[i] = (uint8_t)cell_at(code, place++);
    if (a->length) a->cell[0] = (uint8_t)cell_at(code, place++);
    if (b->length) b->cell[b->length - 1] = (uint8_t)cell_at(code, place++);
    return position;
}

/* The eight-way minimum. */
static uint64_t canonical(uint64_t code) {
    int s = pieces_of(code);
    uint64_t smallest = code;
    for (int t = 1; t < 8; t++) {
        uint64_t image = (uint64_t)s << 60;
        for (int place = 0; place < s; place++) image |= at(place, symmetry[t][cell_at(code, place)]);
        if (image < smallest) smallest = image;
    }
    return smallest;
}

static uint64_t index_of(uint64_t code) {
    uint64_t low = slice_start[pieces_of(code)], high = slice_start[pieces_of(code) + 1];
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (codes[middle] < code) low = middle + 1;
        else high = middle;
    }
    if (low == slice_start[pieces_of(code) + 1] || codes[low] != code)
        die("internal error: canonical code %016" PRIx64 " was not enumerated", code);
    return low;
}

/* ---- moves and un-moves ----------------------------------------------------------------------------------------- */

/* Distinct canonical codes of the positions one move, or one un-move, away. */
typedef struct {
    int count;
    uint64_t code[MAX_CELLS + 1];
} Neighbours;

static void add_distinct(Neighbours *neighbours, const Position *position) {
    uint64_t code = canonical(encode(position));
    for (int i = 0; i < neighbours->count; i++)
        if (neighbours->code[i] == code) return;
    neighbours->code[neighbours->count++] = code;
}

static Neighbours successors(const Position *position, int mover) {
    Neighbours found = {.count = 0};
    if (!is_live(position)) return found;
    uint32_t occupied = occupied_cells(position);
    for (int cell = 0; cell < cells; cell++) {
        if (occupied >> cell & 1) continue;
        Position after = *position;
        Queue *queue = &after.queue[mover];
        queue->cell[queue->length++] = (uint8_t)cell;
        if (queue->length > m) memmove(queue->cell, queue->cell + 1, (size_t)--queue->length);
        add_distinct(&found, &after);
    }
    return found;
}

/* The live positions from which `mover` has just moved to `position`. Only a full position with X to move has
 * predecessors of both kinds. */
static Neighbours predecessors(const Position *position, int mover) {
    Neighbours found = {.count = 0};
    if (position->queue[mover].length == 0) return found;
    Position before = *position;
    Queue *queue = &before.queue[mover];
    uint32_t occupied = occupied_cells(position);

    /* The mover owned fewer than m pieces: the newest simply leaves. */
    queue->length--;
    if (exists(before.queue[X].length, before.queue[Y].length, mover) && is_live(&before))
        add_distinct(&found, &before);

    /* The mover owned m: the newest leaves and an oldest comes back. It stood neither on a cell occupied now nor on
     * the cell of the newest, which was empty; the newest still stands in `position`, so one test covers both. */
    memmove(queue->cell + 1, queue->cell, (size_t)queue->length);
    queue->length++;
    if (queue->length == m && exists(before.queue[X].length, before.queue[Y].length, mover))
        for (int cell = 0; cell < cells; cell++) {
            if (occupied >> cell & 1) continue;
            queue->cell[0] = (uint8_t)cell;
            if (is_live(&before)) add_distinct(&found, &before);
        }
    return found;
}

/* ---- step 1: enumerate ------------------------------------------------------------------------------------------ */

/* Visits all ways to fill places place..s-1 of `code`, smallest cell first, hence in increasing order of code. */
static void enumerate_from(uint64_t code, int place, uint32_t occupied) {
    if (place == pieces_of(code)) {
        if (canonical(code) != code) return;
        if (code_count == code_room) {
            code_room += code_room / 2 + 1024;
            codes = resize(codes, code_room, sizeof *codes);
        }
        codes[code_count++] = code;
        return;
    }
    for (int cell = 0; cell < cells; cell++)
        if (!(occupied >> cell & 1)) enumerate_from(code | at(place, cell), place + 1, occupied | UINT32_C(1) << cell);
}

static void enumerate(void) {
    for (int s = 0; s <= 2 * m; s++) {
        slice_start[s] = code_count;
        enumerate_from((uint64_t)s << 60, 0, 0);
    }
    slice_start[2 * m + 1] = code_count;
    codes = resize(codes, code_count, sizeof *codes);
}

/* ---- step 2: need ----------------------------------------------------------------------------------------------- */

static void count_needs(void) {
    need = resize(NULL, 2 * code_count, sizeof *need);
    for (uint64_t i = 0; i < code_count; i++) {
        Position position = decode(codes[i]);
        for (int side = X; side <= Y; side++) {
            bool there = exists(position.queue[X].length, position.queue[Y].length, side);
            need[2 * i + side] = there ? (uint8_t)successors(&position, side).count : 0;
        }
    }
}

/* ---- step 3: propagate ------------------------------------------------------------------------------------------ */

typedef struct {
    uint64_t *node;
    uint64_t count, room;
} Frontier;

static void label(uint64_t node, int plies, Frontier *frontier) {
    depth[node] = (uint16_t)plies;
    if (frontier->count == frontier->room) {
        frontier->room += frontier->room / 2 + 1024;
        frontier->node = resize(frontier->node, frontier->room, sizeof *frontier->node);
    }
    frontier->node[frontier->count++] = node;
}

/* Depth 0: X has just completed a line. */
static void label_finished_games(Frontier *frontier) {
    for (uint64_t i = 0; i < code_count; i++) {
        Position position = decode(codes[i]);
        if (exists(position.queue[X].length, position.queue[Y].length, Y) && has_line(&position.queue[X]) &&
            !has_line(&position.queue[Y]))
            label(2 * i + Y, 0, frontier);
    }
}

/* `node` has become an X-win in plies - 1: tell the positions that lead to it. The first X-win among its successors
 * decides a position with X to move, the last one a position with Y to move; levels come in order of depth, so these
 * are the shortest win and the longest defence. */
static void tell_predecessors(uint64_t node, int plies, Frontier *next) {
    Position position = decode(codes[node / 2]);
    int mover = node % 2 == X ? Y : X;
    Neighbours before = predecessors(&position, mover);
    for (int i = 0; i < before.count; i++) {
        uint64_t parent = 2 * index_of(before.code[i]) + (uint64_t)mover;
        if (need[parent] == 0)
            die("internal error: %016" PRIx64 " has more predecessor links than successors", before.code[i]);
        need[parent]--;
        if (mover == X ? depth[parent] == NO_WIN : need[parent] == 0) label(parent, plies, next);
    }
}

static void propagate(void) {
    depth = resize(NULL, 2 * code_count, sizeof *depth);
    for (uint64_t node = 0; node < 2 * code_count; node++) depth[node] = NO_WIN;
    Frontier current = {0}, next = {0};
    label_finished_games(&current);
    for (int plies = 1; current.count; plies++) {
        if (plies == NO_WIN) die("internal error: depth %d does not fit the records", plies);
        next.count = 0;
        for (uint64_t i = 0; i < current.count; i++) tell_predecessors(current.node[i], plies, &next);
        Frontier done = current;
        current = next;
        next = done;
    }
    free(current.node);
    free(next.node);
}

/* ---- output ----------------------------------------------------------------------------------------------------- */

static FILE *open_records(void) {
    unfinished_path = resize(NULL, strlen(records_path) + sizeof ".part", 1);
    strcat(strcpy(unfinished_path, records_path), ".part");
    FILE *file = fopen(unfinished_path, "wb");
    if (!file) die("cannot write %s: %s", unfinished_path, strerror(errno));
    return file;
}

static void put_little_endian(FILE *file, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) putc((int)(value >> 8 * i & 255), file);
}

/* u64 count, then per position with an X-win, sorted by code, little endian, packed:
 *   u64 state_code | i8 dp0 | i8 dp1 | u16 depth0 | u16 depth1       0: X to move, 1: Y to move; dp is +1 or 0 */
static void write_records(FILE *file) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < code_count; i++) count += depth[2 * i + X] != NO_WIN || depth[2 * i + Y] != NO_WIN;
    put_little_endian(file, count, 8);
    for (uint64_t i = 0; i < code_count; i++) {
        bool x_to_move = depth[2 * i + X] != NO_WIN, y_to_move = depth[2 * i + Y] != NO_WIN;
        if (!x_to_move && !y_to_move) continue;
        put_little_endian(file, codes[i], 8);
        put_little_endian(file, x_to_move, 1);
        put_little_endian(file, y_to_move, 1);
        put_little_endian(file, x_to_move ? depth[2 * i + X] : 0, 2);
        put_little_endian(file, y_to_move ? depth[2 * i + Y] : 0, 2);
    }
    if (fflush(file) || ferror(file) || fsync(fileno(file)) || fclose(file) || rename(unfinished_path, records_path))
        die("cannot write %s: %s", records_path, strerror(errno));
    free(unfinished_path);
    unfinished_path = NULL;
}

static void print_wins_by_depth(const char *name, int side) {
    static uint64_t wins[NO_WIN];
    memset(wins, 0, sizeof wins);
    for (uint64_t i = 0; i < code_count; i++)
        if (depth[2 * i + side] != NO_WIN) wins[depth[2 * i + side]]++;
    const char *separator = "";
    printf("\"%s\":{", name);
    for (int plies = 0; plies < NO_WIN; plies++) {
        if (!wins[plies]) continue;
        printf("%s\"%d\":%" PRIu64, separator, plies, wins[plies]);
        separator = ",";
    }
    printf("}");
}

static void print_slice(int s) {
    uint64_t wins[2] = {0, 0};
    for (uint64_t i = slice_start[s]; i < slice_start[s + 1]; i++)
        for (int side = X; side <= Y; side++) wins[side] += depth[2 * i + side] != NO_WIN;
    printf("%s\"%d\":{\"positions\":%" PRIu64 ",\"x_to_move\":%" PRIu64 ",\"y_to_move\":%" PRIu64 "}", s ? "," : "", s,
           slice_start[s + 1] - slice_start[s], wins[X], wins[Y]);
}

/* ---- main ------------------------------------------------------------------------------------------------------- */

static int number(const char *text, int low, int high, const char *name) {
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < low || value > high)
        die("%s must be a whole number from %d to %d, not '%s'", name, low, high, text);
    return (int)value;
}

static void read_arguments(int argc, char **argv) {
    if (argc != 4 && !(argc == 6 && strcmp(argv[4], "--records") == 0))
        die("usage: textbook N M K [--records FILE]");
    n = number(argv[1], 3, MAX_N, "N");
    m = number(argv[2], 1, MAX_M, "M");
    k = number(argv[3], 1, n, "K");
    if (2 * m >= n * n) die("2M must be less than N*N, but M is %d and N is %d; choose a smaller M", m, n);
    if (argc == 6) records_path = argv[5];
}

/* Says so at once, instead of after an hour, when the tables cannot fit: there are at least (sequences / 8) codes. */
static void check_memory(void) {
    double sequences = 1, total = 1;
    for (int s = 1; s <= 2 * m; s++) total += sequences *= cells - s + 1;
    double bytes = total / 8 * (double)(sizeof *codes + 2 * sizeof *need + 2 * sizeof *depth);
    double physical = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (bytes > physical)
        die("D(%d,%d,%d) needs at least %.0f GB of memory, this machine has %.0f GB; try a smaller board or M", n, m, k,
            bytes / 1e9, physical / 1e9);
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    build_board();
    check_memory();
    FILE *records = records_path ? open_records() : NULL;

    double started = now();
    enumerate();
    double enumerated = now();
    count_needs();
    double counted = now();
    propagate();
    double finished = now();

    if (records) write_records(records);
    printf("{\"rules\":\"drop-oldest n=%d m=%d k=%d\",\"positions\":%" PRIu64 ",", n, m, k, code_count);
    printf("\"seconds\":{\"enumerate\":%.3f,\"need\":%.3f,\"propagate\":%.3f,\"total\":%.3f},", enumerated - started,
           counted - enumerated, finished - counted, finished - started);
    printf("\"xwin\":{");
    print_wins_by_depth("x_to_move", X);
    printf(",");
    print_wins_by_depth("y_to_move", Y);
    printf("},\"by_slice\":{");
    for (int s = 0; s <= 2 * m; s++) print_slice(s);
    printf("}}\n");
    if (fflush(stdout)) die("cannot write to stdout: %s", strerror(errno));
    free(codes);
    free(need);
    free(depth);
    return 0;
}
