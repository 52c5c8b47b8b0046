#include "work.h"

uint64_t ff_work_taken(const ff_work *work) {
    const uint64_t next = __atomic_load_n(&work->next, __ATOMIC_RELAXED);
    return next < work->end ? next : work->end; /* threads look for more than there is */
}

void ff_work_stop(ff_work *work) { __atomic_store_n(&work->next, work->end, __ATOMIC_RELAXED); }
