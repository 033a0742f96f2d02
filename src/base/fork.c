/* Owns the check of a lock that was found taken; see fork.h. */
#include "base/fork.h"

#define TRIES 10000 /* some milliseconds: a live thread holds the lock for less */

static bool is_mutex_free(void *lock)
{
    bool is_free = lanepool_i_mutex_try(lock);
    if (is_free)
        lanepool_i_mutex_unlock(lock);
    return is_free;
}

static bool is_word_free(void *lock)
{
    bool is_free = lanepool_i_word_lock_try(lock);
    if (is_free)
        lanepool_i_word_lock_unlock(lock);
    return is_free;
}

static bool is_lock_here(lanepool_i_creator creator, bool (*is_free)(void *lock), void *lock)
{
    if (is_free(lock) || creator.process == lanepool_i_process())
        return true;
    for (unsigned tries = 0; tries < TRIES; tries++) {
        lanepool_i_yield();
        if (is_free(lock))
            return true;
    }
    return false;
}

bool lanepool_i_creator_is_here(lanepool_i_creator creator, lanepool_i_mutex *lock)
{
    return is_lock_here(creator, is_mutex_free, lock);
}

bool lanepool_i_creator_of_word_is_here(lanepool_i_creator creator, lanepool_i_word_lock *lock)
{
    return is_lock_here(creator, is_word_free, lock);
}
