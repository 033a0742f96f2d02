/* Owns the check of a lock that was found taken; see fork.h. */
#include "base/fork.h"

#define TRIES 10000 /* some milliseconds: a live thread holds the lock for less */

bool lanepool_i_creator_retry_lock(lanepool_i_creator creator, lanepool_i_mutex *lock)
{
    bool is_free = false;
    if (creator.process == lanepool_i_process())
        return true;
    for (unsigned tries = 0; tries < TRIES && !is_free; tries++) {
        lanepool_i_yield();
        is_free = lanepool_i_mutex_try(lock);
    }
    if (is_free)
        lanepool_i_mutex_unlock(lock);
    return is_free;
}
