/* values.h -- the byte that a table holds for a node, and which of two is better.
 *
 * A value speaks of the mover:
 *
 *     0          undecided; a draw (endless) once everything is solved
 *     1 .. 254   plies to the end + 1: odd, the mover loses; even, the mover wins;
 *                1 is a finished game
 *     255        impossible
 *
 * Merit is the one order of values, a byte that grows with what the mover prefers:
 *
 *     value     255   |  1    3  ..  253  |  0   | 254  ..   4    2
 *     merit       0   |  1    2  ..  127  | 128  | 129  .. 254  255
 *           impossible| lost soon .. late | draw | won late .. soon
 *
 * A move is worth to the player who makes it the opposite of what the position it
 * leads to is worth to the opponent.  So the best moves lead to the least merit:
 * the soonest win, else a draw, else the latest loss; and the position's own value
 * is that of the least merit, one ply further from the end.
 */
#ifndef FF_VALUES_H
#define FF_VALUES_H

#include <stdint.h>

/* cdef */
enum { FF_UNDECIDED = 0, FF_FINISHED = 1, FF_DEEPEST = 254, FF_IMPOSSIBLE = 255 };
/* end cdef */

enum { FF_MERIT_OF_DRAW = 128 };

/* With h = value / 2 the merit of a loss is h + 1, that of a win 256 - h.  No
 * branches: the compiler takes many values at once. */
static inline uint8_t ff_merit(uint8_t value) {
    const uint8_t odd = (uint8_t) - (value & 1), draw = value == FF_UNDECIDED ? 0x80 : 0;
    const uint8_t merit = (uint8_t) - ((value >> 1 | draw) ^ odd);
    return value == FF_IMPOSSIBLE ? 0 : merit;
}

static inline uint8_t ff_value_of_merit(uint8_t merit) {
    return (uint8_t)(merit < FF_MERIT_OF_DRAW ? 2 * merit - 1 : -2 * merit);
}

/* The value of a position whose best move leads to this one. */
static inline int ff_value_before(uint8_t value) {
    return value == FF_UNDECIDED ? FF_UNDECIDED : value + 1;
}

/* For the mover: 1 win, 0 draw or none, -1 loss. */
static inline int ff_result(uint8_t value) {
    return value == FF_UNDECIDED || value == FF_IMPOSSIBLE ? 0 : value & 1 ? -1 : 1;
}

/* Neither finished nor impossible: the mover has a move to choose. */
static inline int ff_is_in_play(uint8_t value) {
    return value != FF_FINISHED && value != FF_IMPOSSIBLE;
}

#endif
