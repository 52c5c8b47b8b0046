/* tower.h -- what a tower network says about many boards: azfit/network.py's
 * ConvolutionBody with PlainHeads and PlacePolicy, read as a player reads it.
 *
 *     x   = C_first(planes)                            planes -> width channels
 *     x  += C_second(relu(C_first'(norm(x))))          once per block
 *     f   = relu(R relu(x))                            width -> 32 channels, cell by cell
 *     policy(place) = p . f(place) + b                 a place is a cell, or a column
 *     wdl   = softmax(W f + b)                         win, draw, loss
 *     steps = sum over k of k * softmax(S f + b)[k],   k = 1 .. max_plies
 *
 * C are 3 x 3 convolutions with zeros around the board, norm is over all cells and
 * channels of a board: (x - mean) / sqrt(variance + 1e-5) * gamma + beta, by channel.
 * A move is legal where none of the first `stone_planes` planes has a piece (a column's
 * top cell decides for it); the logit of any other is FF_ILLEGAL.
 *
 * Rounding.  One rule: both factors of every product of C, R, p, W and S are rounded
 * to bfloat16 (float32 cut to 8 bits of precision, to nearest, ties to even), and
 * their sum is float32, begun with the bias.  All else, x and the norm above all, is
 * float32.  Nothing of a board's sums depends on what other boards are in the call,
 * nor on how many: its answers are the same bit for bit.
 *
 * Two paths compute this.  The fast one needs AVX-512 with bfloat16 products
 * (vdpbf16ps) and is part of every x86 build; the plain one is C and much slower,
 * the check of the other.  They add in slightly different orders, so that now
 * and then a factor is rounded the other way: logits of size 1 agree to about 0.01.
 *
 * Layout.  Boards are [cell][channel], with the channels padded by zeros to `lanes`,
 * the next multiple of 16.  vdpbf16ps takes two inputs at a time to 16 outputs, so a
 * convolution's weights are
 *
 *     [32 outputs][row of taps][pair of inputs][column of taps][16 outputs][of 16][of the pair]
 *
 * (the last 32 outputs may be 16), and those of a product (R; W and S together) are
 * [32 outputs][pair of inputs][16 outputs][of 16][of the pair].  A convolution computes
 * all outputs of up to nine cells of one row at a time, 32 outputs by 32:
 *
 *     row r - 1   . a b c d e f g .      three rows of inputs, each of which is
 *     row r       . a b c d e f g .      used by three cells; what is beyond the
 *     row r + 1   . a b c d e f g .      edges is skipped
 *
 * The packed network is, each padded to 64 bytes: C_first, its biases; for each block
 * gamma, beta, C_first', biases, C_second, biases; R, biases; p, b; W and S, biases.
 */
#ifndef FF_TOWER_H
#define FF_TOWER_H

#include <stddef.h>
#include <stdint.h>

#include "work.h"

/* cdef */
enum {
    FF_REDUCED = 32,      /* channels of f */
    FF_TOWER_BOARDS = 24, /* that share a pass over W and S: the step of an ff_work */
    FF_TOWER_MOST_SIDE = 19,
    FF_TOWER_MOST_WIDTH = 8192,
    FF_TOWER_MOST_BLOCKS = 100,
    FF_TOWER_MOST_PLANES = 1024,
    FF_TOWER_MOST_PLIES = 1000
};

enum { FF_BAD_TOWER = -20 }; /* not a shape of these, or no fast path here */

typedef struct {
    int rows, columns;
    int planes;       /* that are given: the network sees the first ones, */
    int seen_planes;  /* this many */
    int stone_planes; /* and of them these show pieces */
    int width, blocks;
    int actions; /* rows * columns, or columns */
    int max_plies;
} ff_tower_shape;

/* Does this processor have the fast path? */
int ff_tower_fast(void);

/* Sizes; 0: FF_BAD_TOWER. */
size_t ff_tower_floats(const ff_tower_shape *shape); /* what ff_tower_pack reads */
size_t ff_tower_packed_bytes(const ff_tower_shape *shape);
size_t ff_tower_memory_bytes(const ff_tower_shape *shape); /* for one thread's ff_tower_run */

/* The weights as PyTorch lists the parameters of body and heads: body.first, of each block
 * norm, first, second; body.reduce; heads.policy, heads.wdl, heads.steps; each weight, bias. */
int ff_tower_pack(const ff_tower_shape *shape, const float *floats, uint8_t *packed);

/* Takes boards from `work` until none is left: planes float32 [boards][planes][rows][columns]
 * to policy [boards][actions], wdl [boards][3], steps [boards].  Packed network and
 * memory may begin at any address; several threads need memories of their own. */
int ff_tower_run(const ff_tower_shape *shape, const uint8_t *packed, uint8_t *memory,
                 const float *planes, ff_work *work, int fast, float *policy, float *wdl,
                 float *steps);
/* end cdef */

#define FF_ILLEGAL (-1e9f)
#define FF_NORM_EPSILON (1e-5f)

typedef uint16_t ff_bfloat; /* the upper half of a float32 */

/* What becomes of a convolution's sums. */
enum { FF_TOWER_FIRST, FF_TOWER_HIDDEN, FF_TOWER_RESIDUAL };

/* One convolution of a board: bfloat16 [cell][2 * pairs or more: stride] to
 *   FIRST     x  = sum
 *   HIDDEN    hidden = bfloat16(relu(sum))
 *   RESIDUAL  x += sum
 * x and hidden are [cell][lanes]. */
typedef struct {
    int rows, columns;
    int pairs, stride, lanes;
    int ending;
    const ff_bfloat *weights;
    const float *bias;
    const ff_bfloat *input;
    ff_bfloat *hidden;
    float *x;
} ff_convolution;

/* One matrix: inputs bfloat16 [item][stride], of which 2 * pairs count, to outputs (a
 * multiple of 16) as float32, or as bfloat16(relu(sum)) if `hidden` is given. */
typedef struct {
    int items, pairs, outputs;
    size_t stride;
    const ff_bfloat *weights;
    const float *bias;
    const ff_bfloat *input;
    ff_bfloat *hidden;
    float *sums;
} ff_product;

/* What the two paths implement. */
typedef struct {
    void (*convolve)(const ff_convolution *layer);
    void (*multiply)(const ff_product *matrix);
    /* A board's norm to bfloat16; the channels from `width` on are 0 and stay so. */
    void (*normalize)(const float *x, int cells, int width, const float *gamma,
                      const float *beta, ff_bfloat *output);
    void (*rectify)(const float *x, size_t count, ff_bfloat *output); /* count: of 16 */
    float (*dot)(const ff_bfloat *f, const ff_bfloat *weights); /* of FF_REDUCED */
} ff_tower_path;

extern const ff_tower_path ff_tower_plain_path;

/* NULL: not compiled, or the processor cannot run it. */
const ff_tower_path *ff_tower_fast_path(void);

static inline ff_bfloat ff_to_bfloat(float value) {
    union {
        float value;
        uint32_t bits;
    } number = {value};
    if ((number.bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0; /* not a number */
    return (ff_bfloat)((number.bits + 0x7fffu + (number.bits >> 16 & 1)) >> 16);
}

static inline float ff_from_bfloat(ff_bfloat half) {
    union {
        uint32_t bits;
        float value;
    } number = {(uint32_t)half << 16};
    return number.value;
}

static inline int ff_lanes(int channels) { return (channels + 15) / 16 * 16; }

#endif
