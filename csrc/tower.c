#include "tower.h"

#include <string.h>

/* ---- sizes ------------------------------------------------------------------ */

typedef struct {
    size_t cells, lanes, pairs;
    size_t plane_pairs;
    size_t policy_rows; /* of a place */
    size_t outputs;     /* of W and S, padded */
} sizes;

static int within(int number, int least, int most) { return least <= number && number <= most; }

static int is_tower(const ff_tower_shape *shape) {
    return within(shape->rows, 1, FF_TOWER_MOST_SIDE) &&
           within(shape->columns, 1, FF_TOWER_MOST_SIDE) &&
           within(shape->planes, 1, FF_TOWER_MOST_PLANES) &&
           within(shape->seen_planes, 1, shape->planes) &&
           within(shape->stone_planes, 1, shape->seen_planes) &&
           within(shape->width, 1, FF_TOWER_MOST_WIDTH) &&
           within(shape->blocks, 0, FF_TOWER_MOST_BLOCKS) &&
           within(shape->max_plies, 1, FF_TOWER_MOST_PLIES) &&
           (shape->actions == shape->rows * shape->columns || shape->actions == shape->columns);
}

static size_t less(size_t a, size_t b) { return a < b ? a : b; }

static sizes sizes_of(const ff_tower_shape *shape) {
    sizes size;
    size.cells = (size_t)shape->rows * (size_t)shape->columns;
    size.lanes = (size_t)ff_lanes(shape->width);
    size.pairs = (size_t)(shape->width + 1) / 2;
    size.plane_pairs = (size_t)(shape->seen_planes + 1) / 2;
    size.policy_rows = (size_t)shape->actions == size.cells ? 1 : (size_t)shape->rows;
    size.outputs = (size_t)ff_lanes(3 + shape->max_plies);
    return size;
}

size_t ff_tower_floats(const ff_tower_shape *shape) {
    if (!is_tower(shape)) return 0;
    sizes size = sizes_of(shape);
    size_t planes = (size_t)shape->seen_planes, width = (size_t)shape->width;
    size_t features = FF_REDUCED * size.cells, plies = (size_t)shape->max_plies;
    return (9 * planes + 1) * width + (size_t)shape->blocks * (18 * width + 4) * width +
           (width + 1) * FF_REDUCED + FF_REDUCED * size.policy_rows + 1 +
           (features + 1) * (3 + plies);
}

/* A part of memory that is handed out piece by piece, each at a multiple of 64. */
typedef struct {
    uint8_t *next;
} pieces;

static size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

static pieces pieces_of(const uint8_t *memory) {
    pieces rest = {(uint8_t *)memory + (64 - (uintptr_t)memory % 64) % 64};
    return rest;
}

static void *take(pieces *rest, size_t count, size_t bytes) {
    void *piece = rest->next;
    rest->next += padded(count * bytes);
    return piece;
}

static float *take_floats(pieces *rest, size_t count) { return take(rest, count, sizeof(float)); }

static ff_bfloat *take_halves(pieces *rest, size_t count) {
    return take(rest, count, sizeof(ff_bfloat));
}

/* In the order in which ff_tower_pack takes them. */
size_t ff_tower_packed_bytes(const ff_tower_shape *shape) {
    if (!is_tower(shape)) return 0;
    sizes size = sizes_of(shape);
    size_t half = sizeof(ff_bfloat), biases = size.lanes * sizeof(float);
    size_t first = 18 * size.plane_pairs * size.lanes * half + biases;
    size_t block = 2 * biases + 2 * (18 * size.pairs * size.lanes * half + biases);
    size_t reduce = 2 * size.pairs * FF_REDUCED * half + FF_REDUCED * sizeof(float);
    size_t policy = size.policy_rows * FF_REDUCED * half + 64;
    size_t heads = FF_REDUCED * size.cells * size.outputs * half + size.outputs * sizeof(float);
    return 64 + first + (size_t)shape->blocks * block + reduce + policy + heads;
}

/* In the order in which ff_tower_run takes them. */
size_t ff_tower_memory_bytes(const ff_tower_shape *shape) {
    if (!is_tower(shape)) return 0;
    sizes size = sizes_of(shape);
    size_t half = sizeof(ff_bfloat), channels = size.cells * size.lanes;
    return 64 + padded(FF_TOWER_BOARDS * size.cells * FF_REDUCED * half) +
           padded(FF_TOWER_BOARDS * size.outputs * sizeof(float)) +
           padded(size.cells * 2 * size.plane_pairs * half) +
           padded(channels * sizeof(float)) + 2 * padded(channels * half);
}

/* ---- packing ---------------------------------------------------------------- */

/* `floats`: PyTorch's weight [outputs][inputs][taps], then its bias [outputs]; returns what
 * follows them.  Taps are 9, or 1. */
static const float *pack_layer(const float *floats, size_t outputs, size_t inputs, size_t taps,
                               pieces *packed) {
    size_t lanes = (size_t)ff_lanes((int)outputs), pairs = (inputs + 1) / 2;
    size_t side = taps == 9 ? 3 : 1;
    ff_bfloat *next = take_halves(packed, lanes * pairs * taps * 2);
    for (size_t group = 0; group < lanes; group += 32)
        for (size_t row = 0; row < side; row++)
            for (size_t pair = 0; pair < pairs; pair++)
                for (size_t column = 0; column < side; column++)
                    for (size_t o = group; o < less(group + 32, lanes); o++)
                        for (size_t i = 2 * pair; i < 2 * pair + 2; i++) {
                            size_t tap = row * side + column;
                            int is_weight = o < outputs && i < inputs;
                            *next++ = is_weight
                                          ? ff_to_bfloat(floats[(o * inputs + i) * taps + tap])
                                          : 0;
                        }
    floats += outputs * inputs * taps;
    float *bias = take_floats(packed, lanes);
    memset(bias, 0, lanes * sizeof(float));
    memcpy(bias, floats, outputs * sizeof(float));
    return floats + outputs;
}

static const float *pack_floats(const float *floats, size_t count, size_t lanes, pieces *packed) {
    float *piece = take_floats(packed, lanes);
    memset(piece, 0, lanes * sizeof(float));
    memcpy(piece, floats, count * sizeof(float));
    return floats + count;
}

/* One place: [32][rows] to [rows][32]. */
static const float *pack_policy(const float *floats, size_t rows, pieces *packed) {
    ff_bfloat *weights = take_halves(packed, rows * FF_REDUCED);
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < FF_REDUCED; i++)
            weights[row * FF_REDUCED + i] = ff_to_bfloat(floats[i * rows + row]);
    return pack_floats(floats + rows * FF_REDUCED, 1, 1, packed);
}

/* W and S as one matrix, its inputs [cell][32] instead of [32][cell]. */
static void pack_heads(const float *floats, size_t plies, size_t cells, size_t lanes,
                       pieces *packed) {
    size_t features = FF_REDUCED * cells;
    const float *wdl_bias = floats + 3 * features, *steps = wdl_bias + 3;
    ff_bfloat *next = take_halves(packed, features * lanes);
    for (size_t group = 0; group < lanes; group += 32)
        for (size_t pair = 0; pair < features / 2; pair++)
            for (size_t o = group; o < less(group + 32, lanes); o++)
                for (size_t k = 2 * pair; k < 2 * pair + 2; k++) {
                    size_t feature = k % FF_REDUCED * cells + k / FF_REDUCED;
                    *next++ = o < 3           ? ff_to_bfloat(floats[o * features + feature])
                              : o < 3 + plies ? ff_to_bfloat(steps[(o - 3) * features + feature])
                                              : 0;
                }
    float *bias = take_floats(packed, lanes);
    memset(bias, 0, lanes * sizeof(float));
    memcpy(bias, wdl_bias, 3 * sizeof(float));
    memcpy(bias + 3, steps + plies * features, plies * sizeof(float));
}

int ff_tower_pack(const ff_tower_shape *shape, const float *floats, uint8_t *memory) {
    if (!is_tower(shape)) return FF_BAD_TOWER;
    sizes size = sizes_of(shape);
    size_t width = (size_t)shape->width;
    pieces packed = pieces_of(memory);
    floats = pack_layer(floats, width, (size_t)shape->seen_planes, 9, &packed);
    for (int block = 0; block < shape->blocks; block++) {
        floats = pack_floats(floats, width, size.lanes, &packed); /* gamma */
        floats = pack_floats(floats, width, size.lanes, &packed); /* beta */
        floats = pack_layer(floats, width, width, 9, &packed);
        floats = pack_layer(floats, width, width, 9, &packed);
    }
    floats = pack_layer(floats, FF_REDUCED, width, 1, &packed);
    floats = pack_policy(floats, size.policy_rows, &packed);
    pack_heads(floats, (size_t)shape->max_plies, size.cells, size.outputs, &packed);
    return 0;
}

/* ---- running ---------------------------------------------------------------- */

typedef struct {
    const ff_tower_shape *shape;
    const ff_tower_path *path;
    sizes size;
    const uint8_t *packed;
    /* of FF_TOWER_BOARDS boards */
    ff_bfloat *features;
    float *sums;
    /* of one board */
    ff_bfloat *planes;
    float *x;
    ff_bfloat *input, *hidden;
} tower_run;

/* [plane][cell] to [cell][plane]. */
static void turn_planes(const tower_run *run, const float *planes) {
    size_t count = (size_t)run->shape->seen_planes, cells = run->size.cells;
    ff_bfloat *next = run->planes;
    for (size_t cell = 0; cell < cells; cell++)
        for (size_t plane = 0; plane < 2 * run->size.plane_pairs; plane++)
            *next++ = plane < count ? ff_to_bfloat(planes[plane * cells + cell]) : 0;
}

static void convolve(const tower_run *run, pieces *packed, int ending) {
    int first = ending == FF_TOWER_FIRST;
    size_t pairs = first ? run->size.plane_pairs : run->size.pairs;
    const ff_bfloat *weights = take_halves(packed, 18 * pairs * run->size.lanes);
    const float *bias = take_floats(packed, run->size.lanes);
    ff_convolution layer = {
        .rows = run->shape->rows,
        .columns = run->shape->columns,
        .pairs = (int)pairs,
        .stride = (int)(first ? 2 * pairs : run->size.lanes),
        .lanes = (int)run->size.lanes,
        .ending = ending,
        .weights = weights,
        .bias = bias,
        .input = first ? run->planes : ending == FF_TOWER_HIDDEN ? run->input : run->hidden,
        .hidden = run->hidden,
        .x = run->x,
    };
    run->path->convolve(&layer);
}

/* A board's planes to its features, through all layers; to take many boards through one layer
 * after another is not faster.  Returns what follows in the packed network: the policy. */
static pieces run_body(const tower_run *run, const float *planes, ff_bfloat *features) {
    size_t lanes = run->size.lanes, cells = run->size.cells;
    pieces packed = pieces_of(run->packed);
    turn_planes(run, planes);
    convolve(run, &packed, FF_TOWER_FIRST);
    for (int block = 0; block < run->shape->blocks; block++) {
        const float *gamma = take_floats(&packed, lanes), *beta = take_floats(&packed, lanes);
        run->path->normalize(run->x, (int)cells, run->shape->width, gamma, beta, run->input);
        convolve(run, &packed, FF_TOWER_HIDDEN);
        convolve(run, &packed, FF_TOWER_RESIDUAL);
    }
    run->path->rectify(run->x, cells * lanes, run->input);
    const ff_bfloat *weights = take_halves(&packed, 2 * run->size.pairs * FF_REDUCED);
    const float *bias = take_floats(&packed, FF_REDUCED);
    ff_product reduce = {
        .items = (int)cells,
        .pairs = (int)run->size.pairs,
        .outputs = FF_REDUCED,
        .stride = lanes,
        .weights = weights,
        .bias = bias,
        .input = run->input,
        .hidden = features,
    };
    run->path->multiply(&reduce);
    return packed;
}

static void rate_moves(const tower_run *run, const float *planes, const ff_bfloat *features,
                       const ff_bfloat *weights, float bias, float *policy) {
    size_t cells = run->size.cells, actions = (size_t)run->shape->actions;
    for (size_t action = 0; action < actions; action++) {
        float occupied = 0;
        for (int plane = 0; plane < run->shape->stone_planes; plane++)
            occupied += planes[(size_t)plane * cells + cells - actions + action];
        float logit = bias;
        for (size_t row = 0; row < run->size.policy_rows; row++)
            logit += run->path->dot(features + (row * actions + action) * FF_REDUCED,
                                    weights + row * FF_REDUCED);
        policy[action] = occupied == 0 ? logit : FF_ILLEGAL;
    }
}

/* e^x for x <= 0, to about 2e-7 of it: 2^n times a polynomial of |f| <= log(2) / 2.
 * Our own, so that every C library gives the same; NaN stays NaN. */
static float exponential(float x) {
    if (x < -87) return 0;
    if (!(x <= 0)) return x;      /* not a number */
    const float whole = 12582912; /* 1.5 * 2^23: what is added to it is rounded */
    float n = (x * 1.44269504f + whole) - whole;
    float f = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float sum = 1.0f / 720;
    sum = sum * f + 1.0f / 120;
    sum = sum * f + 1.0f / 24;
    sum = sum * f + 1.0f / 6;
    sum = sum * f + 0.5f;
    sum = sum * f + 1;
    sum = sum * f + 1;
    union {
        uint32_t bits;
        float value;
    } power = {(uint32_t)((int)n + 127) << 23};
    return sum * power.value;
}

/* In place, not yet divided by their sum, which is returned. */
static float exponentials(float *logits, int count) {
    float most = logits[0], sum = 0;
    for (int k = 1; k < count; k++)
        if (logits[k] > most) most = logits[k];
    for (int k = 0; k < count; k++) sum += logits[k] = exponential(logits[k] - most);
    return sum;
}

static void read_values(float *logits, int max_plies, float *wdl, float *steps) {
    float sum = exponentials(logits, 3), plies = 0;
    for (int k = 0; k < 3; k++) wdl[k] = logits[k] / sum;
    sum = exponentials(logits + 3, max_plies);
    for (int k = 0; k < max_plies; k++) plies += (float)(k + 1) * logits[3 + k];
    *steps = plies / sum;
}

static void run_boards(const tower_run *run, const float *planes, size_t boards, float *policy,
                       float *wdl, float *steps) {
    const size_t floats = (size_t)run->shape->planes * run->size.cells;
    const size_t features = run->size.cells * FF_REDUCED;
    pieces packed = pieces_of(run->packed);
    for (size_t board = 0; board < boards; board++)
        packed = run_body(run, planes + board * floats, run->features + board * features);
    const ff_bfloat *weights = take_halves(&packed, run->size.policy_rows * FF_REDUCED);
    const float *policy_bias = take_floats(&packed, 1);
    for (size_t board = 0; board < boards; board++)
        rate_moves(run, planes + board * floats, run->features + board * features, weights,
                   *policy_bias, policy + board * (size_t)run->shape->actions);
    weights = take_halves(&packed, features * run->size.outputs);
    ff_product heads = {
        .items = (int)boards,
        .pairs = (int)(features / 2),
        .outputs = (int)run->size.outputs,
        .stride = features,
        .weights = weights,
        .bias = take_floats(&packed, run->size.outputs),
        .input = run->features,
        .sums = run->sums,
    };
    run->path->multiply(&heads);
    for (size_t board = 0; board < boards; board++)
        read_values(run->sums + board * run->size.outputs, run->shape->max_plies, wdl + 3 * board,
                    steps + board);
}

int ff_tower_fast(void) { return ff_tower_fast_path() != NULL; }

int ff_tower_run(const ff_tower_shape *shape, const uint8_t *packed, uint8_t *memory,
                 const float *planes, ff_work *work, int fast, float *policy, float *wdl,
                 float *steps) {
    const ff_tower_path *path = fast ? ff_tower_fast_path() : &ff_tower_plain_path;
    if (!is_tower(shape) || !path) return FF_BAD_TOWER;
    sizes size = sizes_of(shape);
    size_t channels = size.cells * size.lanes;
    pieces rest = pieces_of(memory);
    tower_run run = {.shape = shape, .path = path, .size = size, .packed = packed};
    run.features = take_halves(&rest, FF_TOWER_BOARDS * size.cells * FF_REDUCED);
    run.sums = take_floats(&rest, FF_TOWER_BOARDS * size.outputs);
    run.planes = take_halves(&rest, size.cells * 2 * size.plane_pairs);
    run.x = take_floats(&rest, channels);
    run.input = take_halves(&rest, channels);
    run.hidden = take_halves(&rest, channels);
    uint64_t first, end;
    while (ff_take(work, &first, &end))
        for (; first < end; first += FF_TOWER_BOARDS)
            run_boards(&run, planes + first * (size_t)shape->planes * size.cells,
                       less(FF_TOWER_BOARDS, end - first),
                       policy + first * (size_t)shape->actions, wdl + 3 * first, steps + first);
    return 0;
}
