/*
 * The locks of what is no pool's, futures and groups, in a child of fork(): it has inherited them
 * as they were, perhaps held by a thread that is not there. So each of these things knows in which
 * process it was last asked for, its *origin*. Whoever comes to it first in another process tries
 * its lock, while all others there wait to be told: who holds it then will never give it back, and
 * the thing cannot be used in this process. Otherwise it is this process's own from then on, and
 * its lock one like any other.
 *
 * A lock that is free says of what stands beside it that it is whole: both are in front of the same
 * block of memory, on one page, and a child has each page as it was at one moment. That does not go
 * for what a group lists, if a member was entered or ended while the system copied the memory.
 */
#ifndef LANEPOOL_SRC_ORIGIN_H
#define LANEPOOL_SRC_ORIGIN_H

#include "atomic.h"
#include "platform/platform.h"

/* Guard: A atomic. */
typedef struct lanepool_i_origin {
    _Atomic uint32_t process; /* A: its number, and whether its lock was found held */
} lanepool_i_origin;

static inline void lanepool_i_origin_init(lanepool_i_origin *origin)
{
    atomic_init(&origin->process, lanepool_i_process());
}

bool lanepool_i_origin_adopt(lanepool_i_origin *origin, lanepool_i_mutex *lock);

/* Any thread that does not hold the lock: whether the lock may be waited for; false: this is a
 * child of fork(), and whoever holds it is not there. */
static inline bool lanepool_i_origin_is_here(lanepool_i_origin *origin, lanepool_i_mutex *lock)
{
    return __builtin_expect(load_acquire(&origin->process) == lanepool_i_process(), 1) ||
           lanepool_i_origin_adopt(origin, lock);
}

#endif
