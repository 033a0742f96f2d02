/*
 * Owns lanepool_future_wait(), outside of tasks and inside them; see waiters.h. What
 * the role's holder does for a wait is deadlock.c's.
 */
#include "route/waiters.h"

#include "base/deadline.h"
#include "core/run.h"
#include "feature/pump.h"
#include "future/attempts.h"
#include "route/pool.h"
#include "sequence/sequence.h"
#include "wait/deadlock.h"

#include <string.h>

/* --- one wait --- */

static void future_completes(void *context, const lanepool_result *result)
{
    (void)result;
    lanepool_i_wait *wait = context;
    store_release(&wait->complete, true);
    lanepool_i_semaphore_post(&wait->waiter.semaphore);
    lanepool_i_wait_drop(wait);
}

/* --- helping --- */

static bool is_undecided(const lanepool_i_wait *wait)
{
    return load_acquire(&wait->verdict) == LANEPOOL_I_UNDECIDED;
}

/* Its own message stands in the inbox, or one of a task that has failed: what this wait needs may
 * go on only after that. */
static bool is_to_route(const lanepool_pool *pool, const lanepool_i_wait *wait)
{
    return is_undecided(wait) || load_seq(&pool->failures->messages) > 0;
}

/* With lanes per worker nothing stands ready but in pumps. */
static bool may_help(const lanepool_pool *pool, const lanepool_i_wait *wait)
{
    return (pool->options.layout != LANEPOOL_PER_WORKER || wait->pump != NULL) &&
           !lanepool_i_workers_is_stopped(&pool->workers);
}

/*
 * One look, in one hold of the role: routes a batch if a message still stands in the inbox that the
 * wait needs, and leaves a ready task that it needs in *needed. If the role is taken, its holder
 * wakes the waiter: ready tasks may be in its hands for a moment. True: the inbox holds more; if it
 * does not although the message is there, a link is missing, whose maker wakes the waits.
 */
static bool look(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_wait *wait,
                 lanepool_i_task **needed)
{
    bool helps = may_help(pool, wait);
    bool routes = is_to_route(pool, wait);
    if ((!helps && !routes) || !lanepool_i_waiter_take_role(&wait->waiter, &pool->router))
        return false;
    if (routes)
        lanepool_i_router_route(pool, record);
    if (helps && (wait->pump != NULL || lanepool_i_workers_has_ready(&pool->workers)))
        *needed = lanepool_i_wait_take_needed(pool, record, wait);
    bool more = is_to_route(pool, wait) && lanepool_i_waiter_has_more(&wait->waiter, &pool->router);
    lanepool_i_role_give_back(pool, record);
    return more;
}

/* --- waiting inside a task --- */

/* The pool was told to stop and the awaited task has not started, or is not running any more: it
 * never will. */
static bool is_hopeless(const lanepool_pool *pool, lanepool_future *future)
{
    if (load_seq(pool->lifecycle.state) != LANEPOOL_I_STOPPING)
        return false;
    lanepool_i_mutex_lock(&future->lock);
    bool hopeless = !future->complete && (!future->started || future->awaits_retry);
    lanepool_i_mutex_unlock(&future->lock);
    return hopeless;
}

/* False: nothing yet. */
static bool is_settled(const lanepool_pool *pool, lanepool_i_wait *wait, lanepool_status *status)
{
    if (load_acquire(&wait->complete))
        *status = LANEPOOL_OK;
    else if (load_acquire(&wait->verdict) == LANEPOOL_I_WOULD_DEADLOCK)
        *status = LANEPOOL_DEADLOCK;
    else if (load_acquire(&wait->verdict) == LANEPOOL_I_OUT_OF_MEMORY)
        *status = LANEPOOL_NOMEM;
    else if (is_hopeless(pool, wait->future))
        *status = LANEPOOL_SHUT_DOWN;
    else
        return false;
    return true;
}

/* Has its message routed, or runs what it needs, or sleeps; false: the time has passed. Counted as
 * sleeping before it looks: who changes something, or was asked to, looks at the count after. */
static bool go_on(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_wait *wait,
                  uint64_t deadline_ns)
{
    lanepool_status status;
    bool in_time = true;
    lanepool_i_task *needed = NULL;
    fetch_add_seq(&pool->waits.sleeping, 1);
    bool more = look(pool, record, wait, &needed);
    if (needed == NULL && more)
        in_time = lanepool_i_clock_now() < deadline_ns;
    else if (needed == NULL && !is_settled(pool, wait, &status))
        in_time = lanepool_i_semaphore_wait_until(&wait->waiter.semaphore, deadline_ns);
    fetch_sub_seq(&pool->waits.sleeping, 1);
    if (needed != NULL)
        lanepool_i_run_alone(pool, record, needed, wait);
    return in_time;
}

static bool is_delayed(lanepool_future *future)
{
    lanepool_i_mutex_lock(&future->lock);
    bool delayed = future->delayed != NULL;
    lanepool_i_mutex_unlock(&future->lock);
    return delayed;
}

/* A task that is not due has no place yet, so that nothing can be said about it: the judgement
 * waits until it has. That needs nobody's turn, and cannot close a circle. OK: it has a place. */
static lanepool_status wait_until_due(lanepool_pool *pool, lanepool_i_wait *wait,
                                      uint64_t deadline_ns)
{
    lanepool_status status = LANEPOOL_OK;
    bool in_time = true;
    while (is_delayed(wait->future) && !is_settled(pool, wait, &status)) {
        if (!in_time)
            return LANEPOOL_TIMED_OUT;
        fetch_add_seq(&pool->waits.sleeping, 1);
        if (is_delayed(wait->future) && !is_settled(pool, wait, &status))
            in_time = lanepool_i_semaphore_wait_until(&wait->waiter.semaphore, deadline_ns);
        fetch_sub_seq(&pool->waits.sleeping, 1);
    }
    return status;
}

static lanepool_status wait_judged(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   lanepool_i_wait *wait, uint64_t deadline_ns)
{
    lanepool_status status;
    bool in_time = true;
    while (!is_settled(pool, wait, &status)) {
        if (!in_time)
            return LANEPOOL_TIMED_OUT;
        in_time = go_on(pool, record, wait, deadline_ns);
    }
    return status;
}

static lanepool_i_wait *make(lanepool_i_thread_record *record, lanepool_future *future,
                             lanepool_status *status)
{
    lanepool_i_wait *wait = lanepool_i_memory_alloc(sizeof *wait);
    *status = LANEPOOL_NOMEM;
    if (wait == NULL)
        return NULL;
    memset(wait, 0, sizeof *wait);
    wait->message.carry_out = lanepool_i_wait_check_deadlock;
    wait->message.urgent = true;
    wait->task = record->run->task;
    wait->future = future;
    wait->pump = lanepool_i_pump_of(record->run);
    atomic_init(&wait->references, 3);
    if (lanepool_i_waiter_init(&wait->waiter))
        return wait;
    lanepool_i_memory_free(wait);
    *status = LANEPOOL_NO_THREAD;
    return NULL;
}

static void enter(lanepool_i_waits *waits, lanepool_i_wait *wait)
{
    lanepool_i_mutex_lock(&waits->lock);
    wait->next = waits->first;
    waits->first = wait;
    lanepool_i_mutex_unlock(&waits->lock);
}

/* From here on nobody posts it or walks over it. */
static void leave(lanepool_i_waits *waits, lanepool_i_wait *wait)
{
    lanepool_i_mutex_lock(&waits->lock);
    wait->left = true;
    lanepool_i_wait **at = &waits->first;
    while (*at != wait)
        at = &(*at)->next;
    *at = wait->next;
    lanepool_i_mutex_unlock(&waits->lock);
}

/* The listener holds one of the wait's references; it goes with the listener. */
static lanepool_i_listener *listen(lanepool_i_wait *wait, lanepool_i_listener *listener)
{
    *listener = (lanepool_i_listener){ NULL, future_completes, wait, NULL };
    if (lanepool_i_future_listen(wait->future, listener))
        return listener;
    lanepool_i_memory_free(listener);
    store_release(&wait->complete, true);
    lanepool_i_wait_drop(wait);
    return NULL;
}

static void stop_listening(lanepool_i_wait *wait, lanepool_i_listener *listener)
{
    if (listener == NULL || !lanepool_i_future_unlisten(wait->future, listener))
        return;
    lanepool_i_memory_free(listener);
    lanepool_i_wait_drop(wait);
}

static lanepool_status be_judged_and_wait(lanepool_pool *pool, lanepool_i_thread_record *record,
                                          lanepool_i_wait *wait, uint64_t deadline_ns)
{
    record->waits++;
    enter(&pool->waits, wait);
    lanepool_status status = wait_until_due(pool, wait, deadline_ns);
    if (status != LANEPOOL_OK || !lanepool_i_router_send(pool, record, &wait->message))
        lanepool_i_wait_drop(wait);
    if (status == LANEPOOL_OK)
        status = wait_judged(pool, record, wait, deadline_ns);
    leave(&pool->waits, wait);
    record->waits--;
    return status;
}

static lanepool_status wait_inside(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   lanepool_future *future, uint64_t deadline_ns)
{
    if (record->callbacks > 0 || record->waits == LANEPOOL_I_NESTED_WAITS_MAX)
        return LANEPOOL_DEADLOCK;
    lanepool_status status = LANEPOOL_NOMEM;
    lanepool_i_listener *listener = lanepool_i_memory_alloc(sizeof *listener);
    lanepool_i_wait *wait = listener != NULL ? make(record, future, &status) : NULL;
    if (wait == NULL) {
        lanepool_i_memory_free(listener);
        return status;
    }
    listener = listen(wait, listener);
    status = be_judged_and_wait(pool, record, wait, deadline_ns);
    stop_listening(wait, listener);
    lanepool_i_wait_drop(wait);
    return status;
}

/* --- waiting outside --- */

static lanepool_status wait_outside(lanepool_future *future, uint64_t deadline_ns)
{
    lanepool_i_semaphore semaphore;
    if (!lanepool_i_semaphore_init(&semaphore))
        return LANEPOOL_NO_THREAD;
    lanepool_i_listener listener = { NULL, NULL, NULL, &semaphore };
    lanepool_status status = LANEPOOL_OK;
    if (lanepool_i_future_listen(future, &listener) &&
        !lanepool_i_semaphore_wait_until(&semaphore, deadline_ns)) {
        if (lanepool_i_future_unlisten(future, &listener))
            status = LANEPOOL_TIMED_OUT;
        else
            lanepool_i_semaphore_wait(&semaphore);
    }
    lanepool_i_semaphore_fini(&semaphore);
    return status;
}

/* --- both --- */

static bool is_complete(lanepool_future *future, lanepool_pool **pool)
{
    lanepool_i_mutex_lock(&future->lock);
    bool complete = future->complete;
    *pool = future->pool;
    lanepool_i_mutex_unlock(&future->lock);
    return complete;
}

lanepool_status lanepool_future_wait(lanepool_future *future, uint64_t wait_ns_max,
                                     lanepool_result *result)
{
    if (future == NULL)
        return LANEPOOL_INVALID;
    if (!lanepool_i_future_is_here(future))
        return LANEPOOL_FORKED;
    lanepool_pool *pool;
    lanepool_status status = LANEPOOL_OK;
    if (!is_complete(future, &pool)) {
        if (pool != NULL && lanepool_i_pool_is_forked(pool))
            return LANEPOOL_FORKED;
        if (wait_ns_max == 0)
            return LANEPOOL_TIMED_OUT;
        lanepool_i_thread_record *record = lanepool_i_thread_record_find(pool);
        uint64_t deadline_ns = lanepool_i_deadline(wait_ns_max);
        if (pool == NULL)
            status = lanepool_i_sequence_await_task(future, deadline_ns);
        else if (record != NULL && lanepool_i_thread_is_inside_pool(record))
            status = wait_inside(pool, record, future, deadline_ns);
        else
            status = wait_outside(future, deadline_ns);
    }
    if (status == LANEPOOL_OK && result != NULL)
        *result = future->result;
    return status;
}

lanepool_status lanepool_future_then(lanepool_future *future, lanepool_then_fn then, void *context)
{
    if (future == NULL || then == NULL)
        return LANEPOOL_INVALID;
    if (!lanepool_i_future_is_here(future))
        return LANEPOOL_FORKED;
    lanepool_pool *pool;
    if (!is_complete(future, &pool) && pool != NULL && lanepool_i_pool_is_forked(pool))
        return LANEPOOL_FORKED;
    lanepool_i_listener *listener = lanepool_i_memory_alloc(sizeof *listener);
    if (listener == NULL)
        return LANEPOOL_NOMEM;
    *listener = (lanepool_i_listener){ NULL, then, context, NULL };
    if (lanepool_i_future_listen(future, listener))
        return LANEPOOL_OK;
    lanepool_i_memory_free(listener);
    then(context, &future->result);
    return LANEPOOL_OK;
}
