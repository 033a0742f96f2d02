/* Owns the list of waits inside tasks, and how all waiters are woken; see waiters.h. */
#include "route/waiters.h"

#include "future/pump.h"
#include "route/pool.h"

bool lanepool_i_waits_init(lanepool_i_waits *waits)
{
    waits->first = NULL;
    waits->callers = NULL;
    waits->pumps = NULL;
    atomic_init(&waits->caller_count, 0);
    atomic_init(&waits->sleeping, 0);
    return lanepool_i_mutex_init(&waits->lock, LANEPOOL_I_LOCK_WAITS);
}

void lanepool_i_waits_fini(lanepool_i_waits *waits)
{
    lanepool_i_mutex_fini(&waits->lock);
}

/* --- one waiter --- */

bool lanepool_i_waiter_init(lanepool_i_waiter *waiter)
{
    atomic_init(&waiter->wants_role, false);
    atomic_init(&waiter->awaits_nodes, false);
    return lanepool_i_semaphore_init(&waiter->semaphore);
}

void lanepool_i_waiter_fini(lanepool_i_waiter *waiter)
{
    lanepool_i_semaphore_fini(&waiter->semaphore);
}

/* `wants_role` is set before the holder is asked. A holder that finds ASKED when it gives the role
 * back also sees `wants_role`. */
bool lanepool_i_waiter_take_role(lanepool_i_waiter *waiter, lanepool_i_router *router)
{
    store_relaxed(&waiter->wants_role, true);
    if (!lanepool_i_role_try_or_ask(router))
        return false;
    store_relaxed(&waiter->wants_role, false);
    return true;
}

bool lanepool_i_waiter_has_more(lanepool_i_waiter *waiter, const lanepool_i_router *router)
{
    bool more = lanepool_i_inbox_more(&router->inbox);
    store_relaxed(&waiter->awaits_nodes, !more);
    return more;
}

bool lanepool_i_waiter_route(lanepool_i_waiter *waiter, lanepool_pool *pool,
                             lanepool_i_thread_record *record)
{
    if (!lanepool_i_waiter_take_role(waiter, &pool->router))
        return false;
    lanepool_i_router_route(pool, record);
    bool more = lanepool_i_waiter_has_more(waiter, &pool->router);
    lanepool_i_role_give_back(pool, record);
    return more;
}

static bool is_waiter_meant(const lanepool_i_waiter *waiter, lanepool_i_whom whom)
{
    if (whom == LANEPOOL_I_EVERYONE)
        return true;
    return load_relaxed(whom == LANEPOOL_I_ROLE_WAITERS ? &waiter->wants_role
                                                        : &waiter->awaits_nodes);
}

void lanepool_i_waiter_post_locked(lanepool_i_waiter *waiter, lanepool_i_whom whom)
{
    if (!is_waiter_meant(waiter, whom))
        return;
    store_relaxed(&waiter->wants_role, false);
    store_relaxed(&waiter->awaits_nodes, false);
    lanepool_i_semaphore_post(&waiter->semaphore);
}

static void post_pumps_locked(const lanepool_i_waits *waits, lanepool_i_whom whom)
{
    for (const lanepool_pump *pump = waits->pumps; pump != NULL; pump = pump->next)
        for (lanepool_i_pump_waiter *pumper = pump->pumpers; pumper != NULL; pumper = pumper->next)
            lanepool_i_waiter_post_locked(&pumper->waiter, whom);
}

/* Posts callers, and threads that wait in pumps. */
static void post_callers_locked(lanepool_i_waits *waits, lanepool_i_whom whom)
{
    for (lanepool_i_caller *caller = waits->callers; caller != NULL; caller = caller->next)
        lanepool_i_waiter_post_locked(&caller->waiter, whom);
    post_pumps_locked(waits, whom);
}

void lanepool_i_waits_wake_slowly(lanepool_i_waits *waits, lanepool_i_whom whom)
{
    lanepool_i_mutex_lock(&waits->lock);
    for (lanepool_i_wait *wait = waits->first; wait != NULL; wait = wait->next)
        lanepool_i_waiter_post_locked(&wait->waiter, whom);
    post_callers_locked(waits, whom);
    lanepool_i_mutex_unlock(&waits->lock);
}

/* --- one wait --- */

void lanepool_i_wait_drop(lanepool_i_wait *wait)
{
    if (fetch_sub_acq_rel(&wait->references, 1) != 1)
        return;
    lanepool_i_waiter_fini(&wait->waiter);
    lanepool_i_memory_free(wait);
}

static bool is_task_running_on(const lanepool_i_thread_record *record, const lanepool_i_task *task)
{
    const lanepool_i_task *running = load_relaxed(&record->running);
    while (running != NULL && running != task)
        running = load_relaxed(&running->next);
    return running != NULL;
}

/* Removes all waits of the thread before the first of its tasks ends: a wait also points at the
 * task above it, in `helping`. The listener of each wait stays with its future, and gives its
 * reference back when the future completes. */
void lanepool_i_waits_abandon(lanepool_i_waits *waits, lanepool_i_thread_record *record)
{
    lanepool_i_wait *abandoned = NULL;
    lanepool_i_mutex_lock(&waits->lock);
    for (lanepool_i_wait **at = &waits->first; *at != NULL;) {
        lanepool_i_wait *wait = *at;
        if (!is_task_running_on(record, wait->task)) {
            at = &wait->next;
            continue;
        }
        *at = wait->next;
        wait->left = true;
        wait->next = abandoned;
        abandoned = wait;
    }
    lanepool_i_mutex_unlock(&waits->lock);
    record->waits = 0;
    while (abandoned != NULL) {
        lanepool_i_wait *next = abandoned->next;
        lanepool_i_wait_drop(abandoned);
        abandoned = next;
    }
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
