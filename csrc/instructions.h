/* instructions.h -- the instructions beyond plain C that the kernels use.
 *
 *     FF_SSE2, FF_SSE4_1   sixteen bytes at a time (shared.h, row.h, column.h)
 *     FF_BMI2              bits spread over a mask (group.h, index.c)
 *
 * The compiler says which of them the machine has.  Where one is missing, plain C
 * does the same; FF_SCALAR leaves them all out, so that this machine can check what
 * others run.
 */
#ifndef FF_INSTRUCTIONS_H
#define FF_INSTRUCTIONS_H

#ifndef FF_SCALAR

#ifdef __SSE2__
#define FF_SSE2 1
#include <emmintrin.h>
#endif

#ifdef __SSE4_1__
#define FF_SSE4_1 1
#include <smmintrin.h>
#endif

#ifdef __BMI2__
#define FF_BMI2 1
#include <immintrin.h>
#endif

#endif

#endif
