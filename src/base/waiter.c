/* Owns how a thread waits in a list until it is called; see waiter.h. */
#include "base/waiter.h"

bool lanepool_i_waiter_init(lanepool_i_waiter *waiter, uint64_t deadline_ns)
{
    waiter->called = false;
    waiter->deadline_ns = deadline_ns;
    waiter->driver = NULL;
    return lanepool_i_semaphore_init(&waiter->semaphore);
}

void lanepool_i_waiter_fini(lanepool_i_waiter *waiter)
{
    lanepool_i_semaphore_fini(&waiter->semaphore);
}

void lanepool_i_waiter_enter_locked(lanepool_i_waiter *waiter, lanepool_i_list *list)
{
    waiter->called = false;
    lanepool_i_list_add(list, &waiter->link);
}

void lanepool_i_waiter_call_locked(lanepool_i_waiter *waiter)
{
    lanepool_i_unlink(&waiter->link);
    waiter->called = true;
    lanepool_i_semaphore_post(&waiter->semaphore);
}

bool lanepool_i_waiter_call_first_locked(lanepool_i_list *list)
{
    lanepool_i_waiter *first = LANEPOOL_I_FIRST(list, lanepool_i_waiter, link);
    if (first != NULL)
        lanepool_i_waiter_call_locked(first);
    return first != NULL;
}

/* A thread that is called just after its deadline takes the post, so that the next sleep does not
 * find it. */
bool lanepool_i_waiter_sleep(lanepool_i_waiter *waiter, lanepool_i_mutex *lock)
{
    if (lanepool_i_driver_wait(waiter->driver, &waiter->semaphore, waiter->deadline_ns))
        return true;
    lanepool_i_mutex_lock(lock);
    bool called = waiter->called;
    if (!called)
        lanepool_i_unlink(&waiter->link);
    lanepool_i_mutex_unlock(lock);
    if (called)
        lanepool_i_semaphore_wait(&waiter->semaphore);
    return called;
}
