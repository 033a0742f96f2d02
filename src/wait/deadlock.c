/* Owns two decisions about a wait inside a task: whether it would be a deadlock, and which ready
 * task it needs; see deadlock.h. */
#include "wait/deadlock.h"

#include "feature/failures.h"
#include "feature/pump.h"
#include "future/pump.h"
#include "route/pool.h"

/* --- the verdict --- */

/* Returns false if the future is complete. The task's block cannot be given back while the future's
 * lock is held, since the task completes its future first. */
static bool find_awaited(lanepool_i_wait *wait)
{
    lanepool_future *future = wait->future;
    lanepool_i_word_lock_lock(&future->lock);
    wait->awaited = lanepool_i_future_task_locked(future);
    if (wait->awaited != NULL)
        wait->awaited_ticket = lanepool_i_task_ticket(wait->awaited);
    lanepool_i_word_lock_unlock(&future->lock);
    return wait->awaited != NULL;
}

/* If the future completes during the walk, the verdict is MAY_WAIT, whatever the walk has found:
 * the awaited block may have been reused. */
static uint32_t check_deadlock_locked(lanepool_pool *pool, lanepool_i_wait *wait,
                                      lanepool_i_grants *grants)
{
    if (!find_awaited(wait))
        return LANEPOOL_I_MAY_WAIT;
    lanepool_i_walk walk;
    lanepool_i_walk_begin(&walk, pool, wait->awaited, wait->awaited_ticket);
    bool reached = lanepool_i_walk_from(&walk, wait->task);
    lanepool_i_walk_end(&walk, grants);
    fetch_and_acq_rel(&wait->task->word, ~LANEPOOL_I_VISITED);
    if (!find_awaited(wait))
        return LANEPOOL_I_MAY_WAIT;
    if (reached)
        return LANEPOOL_I_WOULD_DEADLOCK;
    return pool->predicate.lacking > 0 ? LANEPOOL_I_OUT_OF_MEMORY : LANEPOOL_I_MAY_WAIT;
}

/* Because of the checked wait, another wait inside a pump's task may need a ready task of that
 * pump, which no other thread runs. For ready tasks of workers, the checked wait looks itself. */
static void post_pump_waits_locked(const lanepool_pool *pool, const lanepool_i_wait *checked)
{
    LANEPOOL_I_EACH(lanepool_i_wait, wait, &pool->waits.inside, inside)
        if (wait != checked && wait->waiter.pump != NULL && wait->waiter.pump->ready.count > 0)
            lanepool_i_pool_waiter_post_locked(&wait->waiter);
}

static void allow_wait_locked(lanepool_pool *pool, const lanepool_i_wait *wait)
{
    for (size_t i = 0; pool->slots.wait_inside[i] != NULL; i++)
        pool->slots.wait_inside[i]->wait_inside(pool);
    if (!lanepool_i_list_is_empty(&pool->waits.pumps))
        post_pump_waits_locked(pool, wait);
}

void lanepool_i_wait_check_deadlock(lanepool_pool *pool, lanepool_i_thread_record *record,
                                    lanepool_i_message *message, lanepool_i_grants *grants)
{
    (void)record;
    lanepool_i_wait *wait = LANEPOOL_I_ITEM(message, lanepool_i_wait, message);
    lanepool_i_mutex_lock(&pool->waits.lock);
    if (!wait->left) {
        uint32_t verdict = check_deadlock_locked(pool, wait, grants);
        if (verdict != LANEPOOL_I_MAY_WAIT)
            wait->awaited = NULL;
        else
            allow_wait_locked(pool, wait);
        store_release(&wait->verdict, verdict);
        lanepool_i_semaphore_post(&wait->waiter.waiter.semaphore);
    }
    lanepool_i_mutex_unlock(&pool->waits.lock);
    lanepool_i_wait_drop(wait);
}

/* The first wait that closes a cycle answers DEADLOCK, and so ends the cycle. */
static void recheck_locked(lanepool_pool *pool, lanepool_i_wait *wait, lanepool_i_grants *grants)
{
    if (load_relaxed(&wait->verdict) != LANEPOOL_I_MAY_WAIT ||
        check_deadlock_locked(pool, wait, grants) != LANEPOOL_I_WOULD_DEADLOCK)
        return;
    wait->awaited = NULL;
    store_release(&wait->verdict, LANEPOOL_I_WOULD_DEADLOCK);
    lanepool_i_semaphore_post(&wait->waiter.waiter.semaphore);
}

static void carry_out_recheck(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_message *message, lanepool_i_grants *grants)
{
    (void)record;
    (void)message;
    lanepool_i_failures_sent(pool);
    (void)exchange_seq(&pool->waits.rechecks, false);
    lanepool_i_mutex_lock(&pool->waits.lock);
    LANEPOOL_I_EACH(lanepool_i_wait, wait, &pool->waits.inside, inside)
        recheck_locked(pool, wait, grants);
    if (!lanepool_i_list_is_empty(&pool->waits.pumps))
        post_pump_waits_locked(pool, NULL);
    lanepool_i_mutex_unlock(&pool->waits.lock);
}

/* If the message is in the inbox already, it is carried out after the exchange, and so finds what
 * the caller has changed. A pool that ends ends the waits. */
void lanepool_i_waits_recheck(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_waits *waits = &pool->waits;
    if (exchange_seq(&waits->rechecks, true))
        return;
    waits->recheck.carry_out = carry_out_recheck;
    (void)lanepool_i_failures_send(pool, record, &waits->recheck);
}

/* --- helping --- */

/* Takes the first ready task from which the walk reaches the awaited one, and leaves the others. */
static void choose_needed_locked(lanepool_pool *pool, lanepool_i_wait *wait,
                                 lanepool_i_tasks *ready, lanepool_i_grants *grants)
{
    lanepool_i_tasks others = { NULL, NULL, 0 };
    lanepool_i_tasks tried = { NULL, NULL, 0 };
    lanepool_i_task *chosen = NULL;
    lanepool_i_task *task;
    lanepool_i_walk walk;
    lanepool_i_walk_begin(&walk, pool, wait->awaited, wait->awaited_ticket);
    while (chosen == NULL && (task = lanepool_i_tasks_take(ready)) != NULL) {
        bool earlier = lanepool_i_ticket_before(lanepool_i_task_ticket(task), walk.limit);
        if (earlier && lanepool_i_walk_from(&walk, task))
            chosen = task;
        else
            lanepool_i_tasks_add(earlier ? &tried : &others, task);
    }
    lanepool_i_walk_end(&walk, grants);
    if (chosen != NULL)
        fetch_and_acq_rel(&chosen->word, ~LANEPOOL_I_VISITED);
    while ((task = lanepool_i_tasks_take(&tried)) != NULL) {
        fetch_and_acq_rel(&task->word, ~LANEPOOL_I_VISITED);
        lanepool_i_tasks_add(&others, task);
    }
    while ((task = lanepool_i_tasks_take(ready)) != NULL)
        lanepool_i_tasks_add(&others, task);
    *ready = others;
    wait->helping = chosen;
}

static size_t worker_index_of(const lanepool_i_thread_record *record)
{
    return record->worker != NULL ? record->worker->index : 0;
}

void lanepool_i_wait_find_needed(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 lanepool_i_wait *wait)
{
    lanepool_i_tasks ready = { NULL, NULL, 0 };
    lanepool_i_grants grants = lanepool_i_no_grants(record->ring);
    lanepool_pump *pump = wait->waiter.pump;
    lanepool_i_workers_take_all(&pool->workers, &ready);
    lanepool_i_mutex_lock(&pool->waits.lock);
    /* Check for a stop only now: a task that became ready after a stop must not start. */
    if (!lanepool_i_workers_are_stopped(&pool->workers) &&
        load_relaxed(&wait->verdict) == LANEPOOL_I_MAY_WAIT && find_awaited(wait)) {
        choose_needed_locked(pool, wait, &ready, &grants);
        if (wait->helping == NULL && pump != NULL) {
            choose_needed_locked(pool, wait, &pump->ready, &grants);
            lanepool_i_pump_update_flag_locked(pump);
        }
    }
    lanepool_i_mutex_unlock(&pool->waits.lock);
    /* Not as newly ready tasks: that would wake the other waiters, and these would wake this one in
     * turn. */
    lanepool_i_workers_put_back(&pool->workers, worker_index_of(record), &ready);
    lanepool_i_router_pass_on(pool, record, &grants);
}
