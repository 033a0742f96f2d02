/*
 * The locks of what is no pool's, futures and groups, in a child of fork(): it has inherited them
 * as they were, perhaps held by a thread that is not there. So each of these things knows in which
 * process it was made, its *origin*, and whoever finds such a lock taken looks where he is. At its
 * origin the lock will be free in time. Elsewhere the holder may be a thread of this process, too;
 * but none holds such a lock for longer than some instructions. So it is tried for a while, and
 * then given up for lost.
 *
 * A lock that is free says of what stands beside it that it is whole: both are in front of the same
 * block of memory, on one page, and a child has each page as it was at one moment. That does not go
 * for what a group lists, if a member was entered or ended while the system copied the memory.
 */
#ifndef LANEPOOL_SRC_BASE_FORK_H
#define LANEPOOL_SRC_BASE_FORK_H

#include "platform/platform.h"

/* Guard: I immutable. */
typedef struct lanepool_i_creator {
    uint32_t process; /* I: its number */
} lanepool_i_creator;

static inline lanepool_i_creator lanepool_i_creator_self(void)
{
    return (lanepool_i_creator){ lanepool_i_process() };
}

bool lanepool_i_creator_has_lock(lanepool_i_creator creator, lanepool_i_mutex *lock);

/* Any thread that does not hold the lock: whether the lock may be waited for; false: this is a
 * child of fork(), and whoever holds it is not there. Asks the system only if the lock is taken. */
static inline bool lanepool_i_creator_is_here(lanepool_i_creator creator, lanepool_i_mutex *lock)
{
    if (!lanepool_i_mutex_try(lock))
        return lanepool_i_creator_has_lock(creator, lock);
    lanepool_i_mutex_unlock(lock);
    return true;
}

#endif
