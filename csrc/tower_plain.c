/* The plain path of tower.h: it says what the fast one computes. */
#include "tower.h"

#include <math.h>

static float product(ff_bfloat a, ff_bfloat b) { return ff_from_bfloat(a) * ff_from_bfloat(b); }

static float pair_product(const ff_bfloat *inputs, const ff_bfloat *weights) {
    return product(inputs[0], weights[0]) + product(inputs[1], weights[1]);
}

static float relu(float value) { return value < 0 ? 0 : value; }

/* The sum of one output of one cell. */
static float convolved(const ff_convolution *layer, int row, int column, int output) {
    int group = output / 32 * 32, wide = layer->lanes - group < 32 ? layer->lanes - group : 32;
    const ff_bfloat *weights = layer->weights + (size_t)group * (size_t)layer->pairs * 18;
    float sum = layer->bias[output];
    for (int tap = 0; tap < 3; tap++) {
        int r = row + tap - 1;
        if (r < 0 || r >= layer->rows) continue;
        for (int pair = 0; pair < layer->pairs; pair++)
            for (int shift = 0; shift < 3; shift++) {
                int c = column + shift - 1;
                if (c < 0 || c >= layer->columns) continue;
                const ff_bfloat *cell = layer->input + (r * layer->columns + c) * layer->stride;
                size_t place = (size_t)((tap * layer->pairs + pair) * 3 + shift) * (size_t)wide;
                sum += pair_product(cell + 2 * pair,
                                    weights + 2 * (place + (size_t)(output - group)));
            }
    }
    return sum;
}

static void convolve(const ff_convolution *layer) {
    for (int cell = 0; cell < layer->rows * layer->columns; cell++) {
        int row = cell / layer->columns, column = cell % layer->columns;
        int place = cell * layer->lanes;
        for (int output = 0; output < layer->lanes; output++, place++) {
            float sum = convolved(layer, row, column, output);
            if (layer->ending == FF_TOWER_HIDDEN) layer->hidden[place] = ff_to_bfloat(relu(sum));
            else if (layer->ending == FF_TOWER_RESIDUAL) layer->x[place] += sum;
            else layer->x[place] = sum;
        }
    }
}

static void multiply(const ff_product *matrix) {
    const size_t outputs = (size_t)matrix->outputs, pairs = (size_t)matrix->pairs;
    for (size_t item = 0; item < (size_t)matrix->items; item++)
        for (size_t output = 0; output < outputs; output++) {
            size_t group = output / 32 * 32, wide = outputs - group < 32 ? outputs - group : 32;
            const ff_bfloat *weights = matrix->weights + 2 * (group * pairs + output - group);
            float sum = matrix->bias[output];
            for (size_t pair = 0; pair < pairs; pair++)
                sum += pair_product(matrix->input + item * matrix->stride + 2 * pair,
                                    weights + 2 * pair * wide);
            if (matrix->hidden) matrix->hidden[item * outputs + output] = ff_to_bfloat(relu(sum));
            else matrix->sums[item * outputs + output] = sum;
        }
}

static void normalize(const float *x, int cells, int width, const float *gamma, const float *beta,
                      ff_bfloat *output) {
    const int lanes = ff_lanes(width);
    double sum = 0, squares = 0;
    for (int place = 0; place < cells * lanes; place++) sum += x[place];
    const float count = (float)cells * (float)width, mean = (float)sum / count;
    for (int place = 0; place < cells * lanes; place++) {
        float apart = place % lanes < width ? x[place] - mean : 0;
        squares += apart * apart;
    }
    const float scale = 1 / sqrtf((float)squares / count + FF_NORM_EPSILON);
    for (int place = 0; place < cells * lanes; place++)
        output[place] = ff_to_bfloat((x[place] - mean) * (scale * gamma[place % lanes]) +
                                     beta[place % lanes]);
}

static void rectify(const float *x, size_t count, ff_bfloat *output) {
    for (size_t i = 0; i < count; i++) output[i] = ff_to_bfloat(relu(x[i]));
}

static float dot(const ff_bfloat *f, const ff_bfloat *weights) {
    float sum = 0;
    for (int i = 0; i < FF_REDUCED; i += 2) sum += pair_product(f + i, weights + i);
    return sum;
}

const ff_tower_path ff_tower_plain_path = {convolve, multiply, normalize, rectify, dot};
