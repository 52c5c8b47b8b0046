/* game.h -- what the search, the self-play and the training know of a game.
 *
 * A game is for two players who move in turn, zero-sum, with everything in
 * view.  An ff_game is a table of its sizes, symmetries and functions; a state
 * is `state_bytes` plain bytes, a multiple of 8 and aligned to 8, that may be
 * copied with memcpy; equal positions have equal bytes.  Search and training
 * use nothing else, so a further game is one file with an init function.
 *
 * What every game promises:
 *   - actions are 0 .. actions - 1, and `legal` lists them in rising order;
 *   - a state in which play goes on has at least one legal action;
 *   - `play` takes a legal action of a state in which play goes on, and leaves
 *     the other side to move;
 *   - planes speak of "mover" and "opponent", never of colours, so that one
 *     network plays both sides;
 *   - the first `stone_planes` planes show the pieces, so that a cell is empty
 *     where all of these are 0.  Planes after them show threats: what the rules
 *     say about the empty cells, and a network may do without.  In both parts
 *     planes of the mover and of the opponent are equally many.
 *
 * Symmetry.  Transform t carries what stands on cell c to cell_image[t][c],
 * and action a to action_image[t][a]; planes, legal moves and policies are
 * carried together, and t.play(s, a) = play(t.s, action_image[t][a]).
 * Transform 0 is the identity.  On a square board the eight transforms are
 * numbered as in symmetry.h: t = 4 f + q transposes if f = 1, then turns the
 * board q quarters, (row, column) -> (column, n - 1 - row).
 *
 * Code.  int8 [code_length], the same on every machine: what Python builds
 * positions from and what files may hold.  Its layout is beside each game's
 * init function below.  The last entry is always the side to move.
 */
#ifndef FF_GAME_H
#define FF_GAME_H

#include <stddef.h>
#include <stdint.h>

#include "rules.h"

/* cdef */
enum {
    FF_MAX_ACTIONS = 361, /* Gomoku 19 x 19 */
    FF_MAX_GAME_CELLS = 361,
    FF_MAX_STATE_BYTES = 384,
    FF_MAX_PLANE_FLOATS = 2304, /* 19 x 19 x 6 = 2166; 5 x 5 x 10 = 250 */
    FF_MAX_SYMMETRIES = 8
};

/* The result of a state; play() returns it for the state it has made. */
enum {
    FF_GOING_ON = 0,
    FF_MOVER_WON = 1, /* the player who moved last has won */
    FF_DRAWN = 2
};

enum { FF_BAD_ACTION = -16 }; /* not a legal action of this state */

typedef struct ff_game ff_game;
struct ff_game {
    char name[32]; /* as in "drop-4-4-4", "connect4", "gomoku-15" */
    int actions;
    int state_bytes;
    int code_length;
    int planes, rows, columns; /* features are float32 [planes][rows][columns] */
    int stone_planes;          /* the first of them */
    int symmetries;
    int max_plies;     /* the default ply cap */
    int typical_moves; /* legal moves in the middle of a game: sets the noise's alpha */
    uint16_t cell_image[8][361];
    uint16_t action_image[8][361];

    void (*start)(const ff_game *game, void *state);
    int (*to_move)(const ff_game *game, const void *state); /* 0 or 1 */
    int (*result)(const ff_game *game, const void *state);
    int (*legal)(const ff_game *game, const void *state, uint16_t *actions); /* how many */
    int (*play)(const ff_game *game, void *state, int action); /* the result */
    void (*fill_planes)(const ff_game *game, const void *state, float *planes);
    /* Does some code give these bytes?  The only function that takes arbitrary bytes;
     * for the others, bytes that are not a state are undefined behaviour. */
    int (*is_state)(const ff_game *game, const void *state);
    void (*encode)(const ff_game *game, const void *state, int8_t *code);
    int (*decode)(const ff_game *game, const int8_t *code, void *state); /* or FF_BAD_POSITION */

    uint64_t own[48]; /* tables of the game itself */
};

/* Drop-oldest D(n, m, k).  Code: X's queue [m], Y's queue [m], oldest first, -1
 * for no piece; side to move.  Planes: m of the mover's, then m of the
 * opponent's; plane i of an owner shows the piece that the owner's (i + 1)-th
 * move from now on removes: the newest piece is always on plane m - 1, and the
 * oldest is on plane 0 once the queue is full. */
int ff_drop_oldest_init(ff_game *game, int n, int m, int k);

/* Connect Four on 7 columns of 6; an action is a column, row 0 is the lowest.
 * Code: +1 first player, -1 second, 0 empty, by row * 7 + column; side to move.
 * Planes: the mover's pieces, the opponent's; the empty cells that would complete a
 * four of the mover, of the opponent. */
int ff_connect4_init(ff_game *game);

/* Free-style Gomoku, five or more in a row, on 9, 11, 13, 15 or 19 lines; an
 * action is a cell, row * size + column.  Code: as Connect Four's.  Planes: the mover's
 * pieces, the opponent's; the empty cells that would complete five, by side; those that
 * would make a four, by side: another cell would then complete five. */
int ff_gomoku_init(ff_game *game, int size);

/* The place of the first that is not a state of the game, or `count`.  The functions
 * below and the search trust the states that they are given. */
size_t ff_check_states(const ff_game *game, const uint8_t *states, size_t count);

/* Many states at once: states [count][state_bytes], codes int8 [count][code_length]. */
void ff_legal_masks(const ff_game *game, const uint8_t *states, size_t count, uint8_t *masks);
void ff_results(const ff_game *game, const uint8_t *states, size_t count, int8_t *results);
void ff_sides(const ff_game *game, const uint8_t *states, size_t count, int8_t *sides);
void ff_encode_states(const ff_game *game, const uint8_t *states, size_t count, int8_t *codes);

/* Returns the number of states that could be built: less than `count` if the
 * next code is not a position of the game. */
size_t ff_decode_states(const ff_game *game, const int8_t *codes, size_t count,
                        uint8_t *states);

/* Plays one action in each state, in place.  Stops at the first that is not
 * legal there; returns how many were played. */
size_t ff_play_actions(const ff_game *game, uint8_t *states, const int32_t *actions,
                       size_t count, int8_t *results);

/* Planes of each state, carried by its transform if `transforms` is given. */
void ff_fill_planes(const ff_game *game, const uint8_t *states, size_t count,
                    const uint8_t *transforms, float *planes);
/* end cdef */

/* For init functions: zeroes the game and names it. */
void ff_game_begin(ff_game *game, const char *name);

/* The eight transforms of a square board whose actions are its cells. */
void ff_game_square(ff_game *game, int size);

int ff_is_legal(const ff_game *game, const void *state, int action);

/* The features of one plane set, as the games write them. */
static inline size_t ff_plane_floats(const ff_game *game) {
    return (size_t)game->planes * (size_t)game->rows * (size_t)game->columns;
}

#endif
