/*
 * Owns the pool's state word, how a call enters the pool, and when the role's holder checks the
 * pool's counters; see lifecycle.h. The check itself is in pool_shutdown.c.
 */
#include "route/lifecycle.h"

#include "route/pool.h"

bool lanepool_i_lifecycle_init(lanepool_i_lifecycle *lifecycle, size_t worker_count)
{
    lifecycle->state = lanepool_i_pages_alloc(LANEPOOL_I_PAGE_SIZE);
    if (lifecycle->state == NULL)
        return false;
    lanepool_i_pages_wipe_on_fork(lifecycle->state, LANEPOOL_I_PAGE_SIZE);
    atomic_init(lifecycle->state, LANEPOOL_I_RUNNING);
    atomic_init(&lifecycle->attention, 0);
    atomic_init(&lifecycle->workers_left, worker_count);
    atomic_init(&lifecycle->cancels, 0);
    lifecycle->handed_back = false;
    atomic_init(&lifecycle->stopped, false);
    lifecycle->handback = NULL;
    lifecycle->handback_context = NULL;
    lanepool_i_list_init(&lifecycle->end_waiters);
    lifecycle->joining = false;
    lifecycle->joined = false;
    atomic_init(&lifecycle->pins, 0);
    lifecycle->unpinned = NULL;
    if (lanepool_i_mutex_init(&lifecycle->lock, LANEPOOL_I_LOCK_LIFECYCLE))
        return true;
    lanepool_i_pages_free(lifecycle->state, LANEPOOL_I_PAGE_SIZE);
    return false;
}

void lanepool_i_lifecycle_fini(lanepool_i_lifecycle *lifecycle)
{
    lanepool_i_mutex_fini(&lifecycle->lock);
    lanepool_i_pages_free(lifecycle->state, LANEPOOL_I_PAGE_SIZE);
}

/* --- pins --- */

enum { AWAITED = 1, ONE_PIN = 2 };

/* Relaxed: the end of the task that keeps the pool alive makes the pin visible to the thread that
 * destroys the pool. */
void lanepool_i_lifecycle_pin(lanepool_i_lifecycle *lifecycle)
{
    fetch_add_relaxed(&lifecycle->pins, ONE_PIN);
}

/* Only the last pin's end finds AWAITED without another pin. Then no thread frees the pool before
 * the post. */
void lanepool_i_lifecycle_unpin(lanepool_i_lifecycle *lifecycle)
{
    if (fetch_sub_acq_rel(&lifecycle->pins, ONE_PIN) == (AWAITED | ONE_PIN))
        lanepool_i_semaphore_post(lifecycle->unpinned);
}

/* No thread can pin the pool any more, since all tasks have ended. */
bool lanepool_i_lifecycle_await_unpinned(lanepool_i_lifecycle *lifecycle)
{
    if (load_acquire(&lifecycle->pins) == 0)
        return true;
    lanepool_i_semaphore unpinned;
    if (!lanepool_i_semaphore_init(&unpinned))
        return false;
    lifecycle->unpinned = &unpinned;
    if (fetch_or_acq_rel(&lifecycle->pins, AWAITED) != 0)
        lanepool_i_semaphore_wait(&unpinned);
    lanepool_i_semaphore_fini(&unpinned);
    return true;
}

/* --- entering the pool --- */

lanepool_i_thread_record *lanepool_i_pool_thread_record_slowly(lanepool_pool *pool)
{
    return lanepool_i_pool_is_forked(pool) ? NULL
                                           : lanepool_i_thread_record_create(pool, &pool->records);
}

lanepool_status lanepool_i_pool_entry_error(const lanepool_pool *pool)
{
    return lanepool_i_pool_is_forked(pool) ? LANEPOOL_FORKED : LANEPOOL_NOMEM;
}

lanepool_status lanepool_i_pool_enter(lanepool_pool *pool, lanepool_i_thread_record **record)
{
    *record = lanepool_i_pool_is_forked(pool) ? NULL : lanepool_i_pool_thread_record(pool);
    return *record != NULL ? LANEPOOL_OK : lanepool_i_pool_entry_error(pool);
}

/* --- attention --- */

/*
 * Checks the counters again if a thread has asked during the check. A check may take long, and a
 * thread that asked may have wanted to route. It might find the role taken at every try. So this
 * thread routes on its behalf before the next check.
 */
void lanepool_i_lifecycle_attend(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    bool was_asked = false;
    while (lanepool_i_lifecycle_wants_attention(&pool->lifecycle)) {
        if (!lanepool_i_role_try_or_ask(&pool->router))
            return;
        if (was_asked)
            lanepool_i_router_route(pool, record);
        pool->host->check_counters(pool, record);
        if (!lanepool_i_role_give_back_quietly(pool, record))
            return;
        was_asked = true;
        lanepool_i_waits_wake(&pool->waits, LANEPOOL_I_ROLE_WAITERS);
    }
}

void lanepool_i_lifecycle_begin_cancel(lanepool_i_lifecycle *lifecycle)
{
    fetch_add_seq(&lifecycle->cancels, 1);
}

void lanepool_i_lifecycle_end_cancel(lanepool_i_lifecycle *lifecycle)
{
    fetch_sub_seq(&lifecycle->cancels, 1);
}

void lanepool_i_lifecycle_count_out(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    if (fetch_sub_seq(&pool->lifecycle.workers_left, 1) == 1)
        lanepool_i_lifecycle_attend(pool, record);
}
