/*
 * The locks of futures and groups in a child of fork(). These objects belong to no pool. A child
 * inherits their locks as they were, perhaps held by a thread that does not exist in the child.
 *
 * Each of these objects records the process that has made it, its *creator*. A thread that finds
 * such a lock taken checks where it runs. In the creator it can wait: the holder will release the
 * lock. In another process the holder may be a live thread, too, but a live thread holds such a
 * lock for a few instructions only. So the thread tries for a while, then gives the lock up as
 * lost.
 *
 * If the lock is free, the fields beside it are consistent. They are on one page with it, at the
 * front of the same block, and a child has each page as it was at one moment. This does not hold
 * for a group's list, if a member was added or has ended while the system copied the memory.
 */
#ifndef LANEPOOL_SRC_BASE_FORK_H
#define LANEPOOL_SRC_BASE_FORK_H

#include "platform/platform.h"

/* Guard: I immutable. */
typedef struct lanepool_i_creator {
    uint32_t process; /* I: its process number */
} lanepool_i_creator;

static inline lanepool_i_creator lanepool_i_creator_self(void)
{
    return (lanepool_i_creator){ lanepool_i_process() };
}

/* Returns true if the lock may be waited for; false if this is a child of fork() in which the
 * lock's holder does not exist. Any thread that does not hold the lock. Calls the system only if
 * the lock is taken. */
bool lanepool_i_creator_is_here(lanepool_i_creator creator, lanepool_i_mutex *lock);
/* Returns true if a lock of one word may be waited for, as above. */
bool lanepool_i_creator_of_word_is_here(lanepool_i_creator creator, lanepool_i_word_lock *lock);

#endif
