/* The fast path of tower.h, whatever processor the rest is compiled for. */
#include "tower.h"

#if defined(__x86_64__) && !defined(FF_SCALAR) && (defined(__clang__) || __GNUC__ >= 10)

#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
#define FAST static TARGET
#define FAST_INLINE static inline __attribute__((always_inline)) TARGET

/* Everything about a tile is known when it is compiled: its sums must stay in registers. */
#define UNROLLED _Pragma("GCC unroll 16")

/* vdpbf16ps takes six cycles, and two begin in each: twelve sums or more keep it busy.  Of the
 * 32 registers a tile of nine cells needs 18 for sums, 9 for inputs, 2 for weights; with
 * neighbours on both sides eight cells are as many as fit. */
enum { MOST_CELLS = 9, MOST_INNER_CELLS = 8, MOST_ITEMS = 12 };

FAST_INLINE __m512 pair_to_all(const ff_bfloat *pair) {
    int both;
    memcpy(&both, pair, sizeof both);
    return (__m512)_mm512_set1_epi32(both);
}

FAST_INLINE __m512 add_products(__m512 sums, __m512 inputs, __m512 weights) {
    return _mm512_dpbf16_ps(sums, (__m512bh)inputs, (__m512bh)weights);
}

/* What is not a number stays so. */
FAST_INLINE __m512 relu(__m512 values) { return _mm512_max_ps(_mm512_setzero_ps(), values); }

FAST_INLINE void store_halves(ff_bfloat *output, __m512 values) {
    _mm256_storeu_si256((__m256i *)output, (__m256i)_mm512_cvtneps_pbh(values));
}

/* Of `vectors` * 16 outputs, `width` cells from `column` on; left, right: are there neighbours? */
FAST_INLINE void tile(const int width, const int vectors, const ff_convolution *layer, int row,
                      int column, int output, const int left, const int right) {
    const int stride = layer->stride, pairs = layer->pairs;
    __m512 sums[MOST_CELLS][2], inputs[MOST_CELLS + 2];
    UNROLLED for (int v = 0; v < vectors; v++) {
        __m512 bias = _mm512_loadu_ps(layer->bias + output + 16 * v);
        UNROLLED for (int c = 0; c < width; c++) sums[c][v] = bias;
    }
    const ff_bfloat *weights = layer->weights + (size_t)output * (size_t)pairs * 18;
    for (int tap = row ? -1 : 0; tap <= (row + 1 < layer->rows); tap++) {
        const ff_bfloat *input = layer->input + ((row + tap) * layer->columns + column) * stride;
        const ff_bfloat *next = weights + (size_t)(tap + 1) * (size_t)pairs * 3 * vectors * 32;
        for (int p = 0; p < pairs; p++, input += 2) {
            UNROLLED for (int c = 0; c < width; c++)
                inputs[c + 1] = pair_to_all(input + c * stride);
            if (left) inputs[0] = pair_to_all(input - stride);
            if (right) inputs[width + 1] = pair_to_all(input + width * stride);
            UNROLLED for (int shift = 0; shift < 3; shift++) {
                UNROLLED for (int v = 0; v < vectors; v++, next += 32) {
                    __m512 weight = _mm512_loadu_ps(next);
                    UNROLLED for (int c = 0; c < width; c++) {
                        if ((c + shift == 0 && !left) || (c + shift == width + 1 && !right))
                            continue;
                        sums[c][v] = add_products(sums[c][v], inputs[c + shift], weight);
                    }
                }
            }
        }
    }
    size_t place = (size_t)(row * layer->columns + column) *
                       (size_t)layer->lanes + (size_t)output;
    UNROLLED for (int c = 0; c < width; c++, place += (size_t)layer->lanes) {
        UNROLLED for (int v = 0; v < vectors; v++) {
            float *x = layer->x + place + 16 * v;
            if (layer->ending == FF_TOWER_HIDDEN)
                store_halves(layer->hidden + place + 16 * v, relu(sums[c][v]));
            else if (layer->ending == FF_TOWER_RESIDUAL)
                _mm512_storeu_ps(x, _mm512_add_ps(_mm512_loadu_ps(x), sums[c][v]));
            else
                _mm512_storeu_ps(x, sums[c][v]);
        }
    }
}

/* A row of up to MOST_CELLS cells is one tile; a longer one is cut into equal parts. */
FAST_INLINE void convolve_row(const int vectors, const ff_convolution *layer, int row, int output) {
#define WHOLE(width) \
    case width: tile(width, vectors, layer, row, 0, output, 0, 0); return;
    switch (layer->columns) {
        WHOLE(1) WHOLE(2) WHOLE(3) WHOLE(4) WHOLE(5) WHOLE(6) WHOLE(7) WHOLE(8) WHOLE(9)
    }
    int parts = (layer->columns + MOST_INNER_CELLS - 1) / MOST_INNER_CELLS;
    for (int column = 0; parts; parts--) {
        int width = (layer->columns - column + parts - 1) / parts;
        int left = column > 0, right = parts > 1;
#define PART(width) \
    case width: tile(width, vectors, layer, row, column, output, left, right); break;
        switch (width) { PART(5) PART(6) PART(7) PART(8) }
        column += width;
    }
}

FAST void convolve(const ff_convolution *layer) {
    for (int output = 0; output < layer->lanes; output += 32)
        for (int row = 0; row < layer->rows; row++) {
            if (layer->lanes - output > 16) convolve_row(2, layer, row, output);
            else convolve_row(1, layer, row, output);
        }
}

FAST_INLINE void multiply_tile(const int count, const int vectors, const ff_product *matrix,
                               int item, int output) {
    __m512 sums[MOST_ITEMS][2];
    UNROLLED for (int v = 0; v < vectors; v++) {
        __m512 bias = _mm512_loadu_ps(matrix->bias + output + 16 * v);
        UNROLLED for (int i = 0; i < count; i++) sums[i][v] = bias;
    }
    const size_t stride = matrix->stride;
    const ff_bfloat *input = matrix->input + (size_t)item * stride;
    const ff_bfloat *weights = matrix->weights + (size_t)output * (size_t)matrix->pairs * 2;
    for (int p = 0; p < matrix->pairs; p++, input += 2, weights += 32 * vectors) {
        __m512 weight[2];
        UNROLLED for (int v = 0; v < vectors; v++) weight[v] = _mm512_loadu_ps(weights + 32 * v);
        UNROLLED for (int i = 0; i < count; i++) {
            __m512 inputs = pair_to_all(input + (size_t)i * stride);
            UNROLLED for (int v = 0; v < vectors; v++)
                sums[i][v] = add_products(sums[i][v], inputs, weight[v]);
        }
    }
    UNROLLED for (int i = 0; i < count; i++) {
        UNROLLED for (int v = 0; v < vectors; v++) {
            size_t place = (size_t)(item + i) * (size_t)matrix->outputs + (size_t)(output + 16 * v);
            if (matrix->hidden) store_halves(matrix->hidden + place, relu(sums[i][v]));
            else _mm512_storeu_ps(matrix->sums + place, sums[i][v]);
        }
    }
}

FAST_INLINE void multiply_outputs(const int vectors, const ff_product *matrix, int output) {
    int tiles = (matrix->items + MOST_ITEMS - 1) / MOST_ITEMS;
    for (int item = 0; tiles; tiles--) {
        int count = (matrix->items - item + tiles - 1) / tiles;
#define ITEMS(count) \
    case count: multiply_tile(count, vectors, matrix, item, output); break;
        switch (count) {
            ITEMS(1) ITEMS(2) ITEMS(3) ITEMS(4) ITEMS(5) ITEMS(6)
            ITEMS(7) ITEMS(8) ITEMS(9) ITEMS(10) ITEMS(11) ITEMS(12)
        }
        item += count;
    }
}

FAST void multiply(const ff_product *matrix) {
    for (int output = 0; output < matrix->outputs; output += 32) {
        if (matrix->outputs - output > 16) multiply_outputs(2, matrix, output);
        else multiply_outputs(1, matrix, output);
    }
}

/* Four sums, so that no addition waits for the one before. */
FAST_INLINE float total(const __m512 sums[4]) {
    return _mm512_reduce_add_ps(
        _mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3])));
}

FAST void normalize(const float *x, int cells, int width, const float *gamma, const float *beta,
                    ff_bfloat *output) {
    const int lanes = ff_lanes(width), vectors = cells * lanes / 16;
    const float count = (float)cells * (float)width;
    __m512 sums[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(),
                      _mm512_setzero_ps()};
    int v = 0;
    for (; v + 4 <= vectors; v += 4)
        UNROLLED for (int i = 0; i < 4; i++)
            sums[i] = _mm512_add_ps(sums[i], _mm512_loadu_ps(x + 16 * (v + i)));
    for (; v < vectors; v++) sums[0] = _mm512_add_ps(sums[0], _mm512_loadu_ps(x + 16 * v));
    const __m512 mean = _mm512_set1_ps(total(sums) / count);

    UNROLLED for (int i = 0; i < 4; i++) sums[i] = _mm512_setzero_ps();
    for (int lane = 0; lane < lanes; lane += 16) {
        const __mmask16 channels =
            width - lane >= 16 ? 0xffff : (__mmask16)((1u << (width - lane)) - 1);
        int cell = 0;
        for (; cell + 4 <= cells; cell += 4)
            UNROLLED for (int i = 0; i < 4; i++) {
                __m512 apart = _mm512_maskz_sub_ps(
                    channels, _mm512_loadu_ps(x + (cell + i) * lanes + lane), mean);
                sums[i] = _mm512_fmadd_ps(apart, apart, sums[i]);
            }
        for (; cell < cells; cell++) {
            __m512 apart =
                _mm512_maskz_sub_ps(channels, _mm512_loadu_ps(x + cell * lanes + lane), mean);
            sums[0] = _mm512_fmadd_ps(apart, apart, sums[0]);
        }
    }
    const __m512 variance = _mm512_set1_ps(total(sums) / count + FF_NORM_EPSILON);
    const __m512 scale = _mm512_div_ps(_mm512_set1_ps(1), _mm512_sqrt_ps(variance));
    for (int lane = 0; lane < lanes; lane += 16) {
        const __m512 factor = _mm512_mul_ps(scale, _mm512_loadu_ps(gamma + lane));
        const __m512 shift = _mm512_loadu_ps(beta + lane);
        for (int place = lane; place < cells * lanes; place += lanes) {
            __m512 apart = _mm512_sub_ps(_mm512_loadu_ps(x + place), mean);
            store_halves(output + place, _mm512_fmadd_ps(apart, factor, shift));
        }
    }
}

FAST void rectify(const float *x, size_t count, ff_bfloat *output) {
    for (size_t i = 0; i < count; i += 16)
        store_halves(output + i, relu(_mm512_loadu_ps(x + i)));
}

FAST float dot(const ff_bfloat *f, const ff_bfloat *weights) {
    return _mm512_reduce_add_ps(
        add_products(_mm512_setzero_ps(), _mm512_loadu_ps(f), _mm512_loadu_ps(weights)));
}

static const ff_tower_path fast_path = {convolve, multiply, normalize, rectify, dot};

const ff_tower_path *ff_tower_fast_path(void) {
    int able = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bf16");
    return able ? &fast_path : NULL;
}

#else

const ff_tower_path *ff_tower_fast_path(void) { return NULL; }

#endif
