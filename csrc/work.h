/* work.h -- a range of items that several threads share.
 *
 * Each thread calls the same kernel with the same ff_work and takes the next
 * run of items until none is left; there is no other coordination, and which
 * thread takes which run never changes a result.  While threads are at work,
 * `next` is touched by the functions below alone.
 */
#ifndef FF_WORK_H
#define FF_WORK_H

#include <stdint.h>

/* For the hot loops: they are compiled once more for each set of constants that
 * ff_propagate, ff_fill_slice and ff_swap_groups name. */
#define FF_INLINE static inline __attribute__((always_inline))

/* cdef */
typedef struct {
    uint64_t next; /* the first item not taken yet */
    uint64_t end;
    uint64_t step; /* items taken at a time */
} ff_work;

/* How many items have been taken. */
uint64_t ff_work_taken(const ff_work *work);

/* Threads find nothing more to take. */
void ff_work_stop(ff_work *work);
/* end cdef */

static inline int ff_take(ff_work *work, uint64_t *first, uint64_t *end) {
    *first = __atomic_fetch_add(&work->next, work->step, __ATOMIC_RELAXED);
    if (*first >= work->end) return 0;
    *end = work->end - *first > work->step ? *first + work->step : work->end;
    return 1;
}

#endif
