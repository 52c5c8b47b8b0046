/* rules.h -- the game family D(n, m, k), and nothing but the game.
 *
 * An n x n board, cell = row * n + column.  Each player owns a queue of at
 * most m pieces, oldest first.  A move places a piece on an empty cell; if the
 * mover then owns more than m pieces the mover's oldest one leaves; if the
 * mover's pieces then contain k in a row, the mover has won.
 *
 * A node is a position seen by the side to move: (mover queue; opponent
 * queue).  With s pieces on the board the mover owns s/2 of them (rounded
 * down) and the opponent the rest, so s alone tells the queue lengths, and
 * both colours share one set of nodes.  The nodes with s pieces are slice s;
 * slice 2m is the full one, the only one in which play can go on for ever.
 *
 *   finished     the opponent has a line, the mover has none: lost in 0 plies
 *   impossible   the mover has a line (the game ended before): no value
 */
#ifndef FF_RULES_H
#define FF_RULES_H

#include <stdint.h>

enum {
    FF_MAX_N = 5,
    FF_MAX_M = 6,
    FF_MAX_CELLS = FF_MAX_N * FF_MAX_N,
    FF_MAX_PIECES = 2 * FF_MAX_M,
    FF_MAX_LINES = 72 /* 5 x 5, two in a row */
};

/* cdef */
enum {
    FF_OK = 0,
    FF_BAD_RULES = -1,    /* n, m, k outside what the kernels are built for */
    FF_TOO_DEEP = -2,     /* a result needs more than one byte */
    FF_BAD_POSITION = -3, /* queues that no position of these rules has */
    FF_BAD_RECORD = -4,   /* a record that no solve could have written */
    FF_NO_ROOM = -5       /* the caller's buffer is too small */
};

typedef struct {
    int n, m, k;
    int cells;
    int line_count;
    uint32_t lines[72]; /* bit c set: cell c belongs to the line */
} ff_rules;

int ff_rules_init(ff_rules *rules, int n, int m, int k);
/* end cdef */

static inline uint32_t ff_bit(int cell) { return (uint32_t)1 << cell; }

static inline int ff_has_line(const ff_rules *rules, uint32_t pieces) {
    for (int i = 0; i < rules->line_count; i++)
        if ((pieces & rules->lines[i]) == rules->lines[i]) return 1;
    return 0;
}

/* The cells on which one more piece gives a line: every cell if there is a
 * line already. */
static inline uint32_t ff_completing(const ff_rules *rules, uint32_t pieces) {
    uint32_t cells = 0; /* no branches: the compiler takes several lines at once */
    for (int i = 0; i < rules->line_count; i++) {
        uint32_t missing = rules->lines[i] & ~pieces;
        cells |= (missing & (missing - 1)) == 0 ? missing : 0;
        cells |= missing == 0 ? ~(uint32_t)0 : 0;
    }
    return cells;
}

/* The rules with only those lines that `more` pieces can complete. */
static inline ff_rules ff_lines_in_reach(const ff_rules *rules, uint32_t pieces, int more) {
    ff_rules in_reach = *rules;
    in_reach.line_count = 0;
    for (int i = 0; i < rules->line_count; i++)
        if (__builtin_popcount(rules->lines[i] & ~pieces) <= more)
            in_reach.lines[in_reach.line_count++] = rules->lines[i];
    return in_reach;
}

#endif
