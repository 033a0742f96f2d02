/* Owns the list of waits inside tasks, and how all waiters are woken; see waiters.h. */
#include "route/waiters.h"

#include "route/pool.h"

bool lanepool_i_waits_init(lanepool_i_waits *waits)
{
    lanepool_i_list_init(&waits->waiters);
    lanepool_i_list_init(&waits->inside);
    lanepool_i_list_init(&waits->pumps);
    atomic_init(&waits->caller_count, 0);
    atomic_init(&waits->sleeping, 0);
    atomic_init(&waits->rechecks, false);
    return lanepool_i_mutex_init(&waits->lock, LANEPOOL_I_LOCK_WAITS);
}

void lanepool_i_waits_fini(lanepool_i_waits *waits)
{
    lanepool_i_mutex_fini(&waits->lock);
}

/* --- one waiter --- */

bool lanepool_i_pool_waiter_enter(lanepool_i_pool_waiter *waiter, lanepool_pool *pool,
                                  lanepool_i_thread_record *record, uint64_t deadline_ns)
{
    lanepool_i_waits *waits = &pool->waits;
    waiter->pool = pool;
    waiter->record = record;
    atomic_init(&waiter->wants_role, false);
    atomic_init(&waiter->awaits_nodes, false);
    if (!lanepool_i_waiter_init(&waiter->waiter, deadline_ns))
        return false;
    waiter->waiter.driver = pool->driver;
    lanepool_i_mutex_lock(&waits->lock);
    lanepool_i_list_add(&waits->waiters, &waiter->waiter.link);
    lanepool_i_waits_count_caller_locked(waits, waiter->own_task != NULL);
    lanepool_i_mutex_unlock(&waits->lock);
    return true;
}

bool lanepool_i_pool_waiter_leave(lanepool_i_pool_waiter *waiter)
{
    lanepool_i_waits *waits = &waiter->pool->waits;
    lanepool_i_mutex_lock(&waits->lock);
    lanepool_i_unlink(&waiter->waiter.link);
    lanepool_i_waits_count_caller_locked(waits, -(waiter->own_task != NULL));
    bool called = waiter->waiter.called;
    lanepool_i_mutex_unlock(&waits->lock);
    return called;
}

bool lanepool_i_pool_waiter_is_called(lanepool_i_pool_waiter *waiter)
{
    lanepool_i_waits *waits = &waiter->pool->waits;
    lanepool_i_mutex_lock(&waits->lock);
    bool called = waiter->waiter.called;
    lanepool_i_mutex_unlock(&waits->lock);
    return called;
}

bool lanepool_i_pool_waiter_wait(lanepool_i_pool_waiter *waiter,
                                 bool (*is_over)(lanepool_i_pool_waiter *waiter),
                                 bool (*act)(lanepool_i_pool_waiter *waiter))
{
    lanepool_i_waits *waits = &waiter->pool->waits;
    uint64_t deadline_ns = waiter->waiter.deadline_ns;
    bool in_time = true;
    while (!is_over(waiter)) {
        if (!in_time)
            return false;
        fetch_add_seq(&waits->sleeping, 1);
        if (act(waiter))
            in_time = lanepool_i_driver_now(waiter->waiter.driver) < deadline_ns;
        else if (!is_over(waiter))
            in_time = lanepool_i_driver_wait(waiter->waiter.driver, &waiter->waiter.semaphore,
                                             deadline_ns);
        fetch_sub_seq(&waits->sleeping, 1);
    }
    return true;
}

/* `wants_role` is set before the holder is asked. A holder that finds ASKED when it gives the role
 * back also sees `wants_role`. */
bool lanepool_i_pool_waiter_take_role(lanepool_i_pool_waiter *waiter)
{
    store_relaxed(&waiter->wants_role, true);
    if (!lanepool_i_role_try_or_ask(&waiter->pool->router))
        return false;
    store_relaxed(&waiter->wants_role, false);
    return true;
}

bool lanepool_i_pool_waiter_has_more(lanepool_i_pool_waiter *waiter)
{
    bool more = lanepool_i_inbox_more(&waiter->pool->router.inbox);
    store_relaxed(&waiter->awaits_nodes, !more);
    return more;
}

bool lanepool_i_pool_waiter_route(lanepool_i_pool_waiter *waiter)
{
    if (!lanepool_i_pool_waiter_take_role(waiter))
        return false;
    lanepool_i_router_route(waiter->pool, waiter->record);
    bool more = lanepool_i_pool_waiter_has_more(waiter);
    lanepool_i_role_give_back(waiter->pool, waiter->record);
    return more;
}

static bool is_waiter_meant(const lanepool_i_pool_waiter *waiter, lanepool_i_whom whom)
{
    if (whom == LANEPOOL_I_EVERYONE)
        return true;
    return load_relaxed(whom == LANEPOOL_I_ROLE_WAITERS ? &waiter->wants_role
                                                        : &waiter->awaits_nodes);
}

void lanepool_i_pool_waiter_post_locked(lanepool_i_pool_waiter *waiter)
{
    store_relaxed(&waiter->wants_role, false);
    store_relaxed(&waiter->awaits_nodes, false);
    lanepool_i_semaphore_post(&waiter->waiter.semaphore);
}

void lanepool_i_waits_wake_slowly(lanepool_i_waits *waits, lanepool_i_whom whom)
{
    lanepool_i_mutex_lock(&waits->lock);
    LANEPOOL_I_EACH(lanepool_i_pool_waiter, waiter, &waits->waiters, waiter.link)
        if (is_waiter_meant(waiter, whom))
            lanepool_i_pool_waiter_post_locked(waiter);
    lanepool_i_mutex_unlock(&waits->lock);
}

/* --- waits inside tasks --- */

void lanepool_i_wait_drop(lanepool_i_wait *wait)
{
    if (fetch_sub_acq_rel(&wait->references, 1) != 1)
        return;
    lanepool_i_waiter_fini(&wait->waiter.waiter);
    lanepool_i_memory_free(wait);
}

void lanepool_i_wait_unlink_locked(lanepool_i_wait *wait)
{
    wait->left = true;
    lanepool_i_unlink(&wait->inside);
    lanepool_i_unlink(&wait->waiter.waiter.link);
}

/* Removes all waits of the thread before the first of its tasks ends: a wait also points at the
 * task above it, in `helping`. The listener of each wait stays with its future, and gives its
 * reference back when the future completes. */
void lanepool_i_waits_abandon(lanepool_i_waits *waits, lanepool_i_thread_record *record)
{
    lanepool_i_mutex_lock(&waits->lock);
    LANEPOOL_I_EACH(lanepool_i_wait, wait, &waits->inside, inside)
        if (wait->waiter.record == record) {
            lanepool_i_wait_unlink_locked(wait);
            lanepool_i_wait_drop(wait);
        }
    lanepool_i_mutex_unlock(&waits->lock);
    record->waits = 0;
}

void lanepool_i_waits_end_help(lanepool_i_waits *waits, lanepool_i_wait *wait)
{
    lanepool_i_mutex_lock(&waits->lock);
    wait->helping = NULL;
    lanepool_i_mutex_unlock(&waits->lock);
}

int lanepool_i_run_nothing(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    return 0;
}
