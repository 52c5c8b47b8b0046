/* random.h -- random numbers from one word of state.
 *
 * SplitMix64: the state counts up by an odd constant and each number is a hash
 * of the count.  Every search tree has a state of its own, so that what it
 * draws depends on its seed and its own past, never on the trees beside it.
 */
#ifndef FF_RANDOM_H
#define FF_RANDOM_H

#include <math.h>
#include <stdint.h>

static inline uint64_t ff_random_word(uint64_t *state) {
    uint64_t word = *state += UINT64_C(0x9E3779B97F4A7C15);
    word = (word ^ word >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    word = (word ^ word >> 27) * UINT64_C(0x94D049BB133111EB);
    return word ^ word >> 31;
}

/* Hashed once more: neighbouring seeds must not give shifted sequences. */
static inline uint64_t ff_random_seeded(uint64_t seed) {
    uint64_t state = seed ^ UINT64_C(0xD1B54A32D192ED03);
    return ff_random_word(&state);
}

/* In (0, 1): neither 0 nor 1, so that its logarithm is finite. */
static inline double ff_random_unit(uint64_t *state) {
    return ((double)(ff_random_word(state) >> 12) + 0.5) * 0x1p-52;
}

/* Box and Muller; the second number is not kept, to have one word of state. */
static inline double ff_random_normal(uint64_t *state) {
    double radius = sqrt(-2.0 * log(ff_random_unit(state)));
    return radius * cos(6.283185307179586 * ff_random_unit(state));
}

/* The logarithm of a Gamma(shape, 1) number: Marsaglia and Tsang for shape + 1,
 * then Gamma(shape) = Gamma(shape + 1) * U^(1 / shape).  As a logarithm, for a
 * small shape gives numbers below the least double. */
static inline double ff_random_log_gamma(uint64_t *state, double shape) {
    const double d = shape + 1.0 - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    for (;;) {
        double normal = ff_random_normal(state), cube = 1.0 + c * normal;
        if (cube <= 0.0) continue;
        cube = cube * cube * cube;
        if (log(ff_random_unit(state)) < 0.5 * normal * normal + d - d * cube + d * log(cube))
            return log(d * cube) + log(ff_random_unit(state)) / shape;
    }
}

#endif
