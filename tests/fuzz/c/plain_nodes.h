/* plain_nodes.h -- D(n, m, k) and its nodes, written down as plainly as C allows.
 *
 * What the targets hold the kernels against: every line is looked at cell by cell,
 * every image of a sequence is made, and the nodes of a variant are listed by trying
 * every sequence.  Nothing here is taken from the kernels but the drawing of the
 * sequence and its code in index.h.
 */
#ifndef FUZZ_PLAIN_NODES_H
#define FUZZ_PLAIN_NODES_H

#include "fuzz.h"

enum { PLAIN_PIECES = 10 };

typedef struct {
    int n, m, k;
    uint64_t *codes; /* of all nodes, rising: the number of a node is its place here */
    uint64_t count;
} plain_variant;

typedef struct {
    uint8_t mover[PLAIN_PIECES], opponent[PLAIN_PIECES];
    int movers, opponents;
} plain_node;

static inline int plain_owns(const uint8_t *cells, int count, int cell) {
    for (int i = 0; i < count; i++)
        if (cells[i] == cell) return 1;
    return 0;
}

static inline int plain_has_line(const plain_variant *v, const uint8_t *cells, int count) {
    static const int steps[4][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
    for (int row = 0; row < v->n; row++)
        for (int column = 0; column < v->n; column++)
            for (int s = 0; s < 4; s++) {
                int length = 0, r = row, c = column;
                while (r < v->n && c >= 0 && c < v->n && plain_owns(cells, count, r * v->n + c)) {
                    length++;
                    r += steps[s][0];
                    c += steps[s][1];
                }
                if (length >= v->k) return 1;
            }
    return 0;
}

/* Image `t` of a cell: transposed if t is odd, then t / 2 quarter turns. */
static inline int plain_image(int n, int t, int cell) {
    int row = cell / n, column = cell % n;
    if (t & 1) {
        int swap = row;
        row = column;
        column = swap;
    }
    for (int turns = t / 2; turns; turns--) {
        int turned = n - 1 - row;
        row = column;
        column = turned;
    }
    return row * n + column;
}

/* Is no image of the sequence smaller? */
static inline int plain_is_least(int n, const uint8_t *cells, int length) {
    for (int t = 1; t < 8; t++)
        for (int i = 0; i < length; i++) {
            int image = plain_image(n, t, cells[i]);
            if (image < cells[i]) return 0;
            if (image > cells[i]) break;
        }
    return 1;
}

static inline uint64_t plain_code(const uint8_t *cells, int length) {
    uint64_t code = (uint64_t)length << 60;
    for (int i = 0; i < length; i++) code |= (uint64_t)cells[i] << (54 - 6 * i);
    return code;
}

/* The sequence of a code and its length, or -1 if no sequence of cells has this code. */
static inline int plain_sequence(const plain_variant *v, uint64_t code, uint8_t *cells) {
    const int length = (int)(code >> 60);
    if (length > 2 * v->m) return -1;
    for (int i = 0; i < length; i++) {
        cells[i] = code >> (54 - 6 * i) & 63;
        if (cells[i] >= v->n * v->n || plain_owns(cells, i, cells[i])) return -1;
    }
    return plain_code(cells, length) == code ? length : -1;
}

static inline plain_node plain_node_of(const uint8_t *cells, int length) {
    plain_node node = {.movers = length / 2, .opponents = length - length / 2};
    int at = 0;
    for (int i = 1; i < node.movers; i++) node.mover[i] = cells[at++];
    for (int i = 0; i < node.opponents - 1; i++) node.opponent[i] = cells[at++];
    if (node.movers) node.mover[0] = cells[at++];
    if (node.opponents) node.opponent[node.opponents - 1] = cells[at];
    return node;
}

/* The code of the least image of a node's sequence. */
static inline uint64_t plain_least_code(const plain_variant *v, const plain_node *node) {
    uint8_t cells[2 * PLAIN_PIECES], image[2 * PLAIN_PIECES];
    int length = 0;
    for (int i = 1; i < node->movers; i++) cells[length++] = node->mover[i];
    for (int i = 0; i < node->opponents - 1; i++) cells[length++] = node->opponent[i];
    if (node->movers) cells[length++] = node->mover[0];
    if (node->opponents) cells[length++] = node->opponent[node->opponents - 1];
    uint64_t least = UINT64_MAX;
    for (int t = 0; t < 8; t++) {
        for (int i = 0; i < length; i++) image[i] = (uint8_t)plain_image(v->n, t, cells[i]);
        const uint64_t code = plain_code(image, length);
        if (code < least) least = code;
    }
    return least;
}

/* The position after the mover plays an empty cell, seen by the opponent. */
static inline plain_node plain_play(const plain_variant *v, const plain_node *node, int cell) {
    plain_node after = {.movers = node->opponents, .opponents = node->movers};
    memcpy(after.mover, node->opponent, sizeof after.mover);
    memcpy(after.opponent, node->mover, sizeof after.opponent);
    after.opponent[after.opponents++] = (uint8_t)cell;
    if (after.opponents > v->m) memmove(after.opponent, after.opponent + 1, (size_t)--after.opponents);
    return after;
}

/* The first place whose code is not smaller. */
static inline uint64_t plain_find(const plain_variant *v, uint64_t code) {
    uint64_t place = 0;
    for (uint64_t end = v->count; place < end;) {
        const uint64_t middle = (place + end) / 2;
        if (v->codes[middle] < code) place = middle + 1;
        else end = middle;
    }
    return place;
}

static inline uint64_t plain_number(const plain_variant *v, const plain_node *node) {
    const uint64_t code = plain_least_code(v, node), place = plain_find(v, code);
    EXPECT(place < v->count && v->codes[place] == code);
    return place;
}

static inline void plain_list_from(plain_variant *v, uint8_t *cells, int given, int length,
                                   uint64_t *room) {
    if (given == length) {
        if (!plain_is_least(v->n, cells, length)) return;
        if (v->count == *room) {
            *room = *room ? 2 * *room : 1024;
            v->codes = realloc(v->codes, *room * sizeof *v->codes);
        }
        v->codes[v->count++] = plain_code(cells, length);
        return;
    }
    for (int cell = 0; cell < v->n * v->n; cell++) {
        if (plain_owns(cells, given, cell)) continue;
        cells[given] = (uint8_t)cell;
        plain_list_from(v, cells, given + 1, length, room);
    }
}

static inline plain_variant plain_variant_of(int n, int m, int k) {
    plain_variant v = {.n = n, .m = m, .k = k};
    uint8_t cells[2 * PLAIN_PIECES];
    uint64_t room = 0;
    for (int length = 0; length <= 2 * m; length++) plain_list_from(&v, cells, 0, length, &room);
    return v;
}

#endif
