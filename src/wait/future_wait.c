/*
 * Owns lanepool_future_wait(), outside of tasks and inside them; see waiters.h. deadlock.c owns
 * what the role's holder does for a wait.
 */
#include "route/waiters.h"

#include "core/run.h"
#include "feature/pump.h"
#include "future/attempts.h"
#include "platform/notes.h"
#include "route/pool.h"
#include "wait/deadlock.h"
#include "wait/future_wait.h"

#include <string.h>

/* --- one wait --- */

static void notice_completion(void *context, const lanepool_result *result)
{
    (void)result;
    lanepool_i_wait *wait = context;
    store_release(&wait->complete, true);
    lanepool_i_semaphore_post(&wait->waiter.waiter.semaphore);
    lanepool_i_wait_drop(wait);
}

/* --- helping --- */

static bool is_undecided(const lanepool_i_wait *wait)
{
    return load_acquire(&wait->verdict) == LANEPOOL_I_UNDECIDED;
}

/* Whether a message that must be carried out first is in the inbox: the wait's own, or one of a
 * task that has failed. */
static bool has_message_to_route(const lanepool_pool *pool, const lanepool_i_wait *wait)
{
    return is_undecided(wait) || load_seq(&pool->failures->messages) > 0;
}

/* With lanes per worker, each ready task is pinned to its worker, unless it is in a pump. */
static bool may_run_ready_tasks(const lanepool_pool *pool, const lanepool_i_wait *wait)
{
    return (pool->options.layout != LANEPOOL_PER_WORKER || wait->waiter.pump != NULL) &&
           !lanepool_i_workers_are_stopped(&pool->workers);
}

/*
 * One step of a wait, in one hold of the role. Routes a batch if the inbox has a message that the
 * wait needs, and sets `helping` to a ready task that the wait needs. If the role is taken, its
 * holder posts the waiter later: the holder may have ready tasks in its hands at this moment.
 *
 * Returns true if the inbox has more to route. If the message is there, but nothing can be routed,
 * a link is missing; the thread that makes the link wakes the waits.
 */
static bool route_and_find_needed(lanepool_i_pool_waiter *waiter)
{
    lanepool_i_wait *wait = (lanepool_i_wait *)waiter;
    lanepool_pool *pool = waiter->pool;
    bool helps = may_run_ready_tasks(pool, wait);
    bool routes = has_message_to_route(pool, wait);
    if ((!helps && !routes) || !lanepool_i_pool_waiter_take_role(waiter))
        return false;
    if (routes)
        lanepool_i_router_route(pool, waiter->record);
    if (helps && (waiter->pump != NULL || lanepool_i_workers_have_ready(&pool->workers)))
        lanepool_i_wait_find_needed(pool, waiter->record, wait);
    bool more = has_message_to_route(pool, wait) && lanepool_i_pool_waiter_has_more(waiter);
    lanepool_i_role_give_back(pool, waiter->record);
    return more;
}

/* --- waiting inside a task --- */

/* True if the pool is stopping, and the task has not started or waits for a retry. */
static bool will_never_end(const lanepool_pool *pool, lanepool_future *future)
{
    if (load_seq(pool->lifecycle.state) != LANEPOOL_I_STOPPING)
        return false;
    lanepool_i_word_lock_lock(&future->lock);
    bool hopeless = lanepool_i_future_phase(future) != LANEPOOL_I_PHASE_RUNNING &&
                    lanepool_i_future_phase(future) != LANEPOOL_I_PHASE_DONE;
    lanepool_i_word_lock_unlock(&future->lock);
    return hopeless;
}

static lanepool_status read_wait_status(const lanepool_i_wait *wait)
{
    if (load_acquire(&wait->complete))
        return LANEPOOL_OK;
    if (load_acquire(&wait->verdict) == LANEPOOL_I_WOULD_DEADLOCK)
        return LANEPOOL_DEADLOCK;
    if (load_acquire(&wait->verdict) == LANEPOOL_I_OUT_OF_MEMORY)
        return LANEPOOL_NOMEM;
    return will_never_end(wait->waiter.pool, wait->future) ? LANEPOOL_SHUT_DOWN
                                                           : LANEPOOL_TIMED_OUT;
}

static bool is_result_known(lanepool_i_wait *wait)
{
    wait->status = read_wait_status(wait);
    return wait->status != LANEPOOL_TIMED_OUT;
}

static bool is_wait_over(lanepool_i_pool_waiter *waiter)
{
    lanepool_i_wait *wait = (lanepool_i_wait *)waiter;
    return wait->helping != NULL || is_result_known(wait);
}

static bool is_due(lanepool_i_pool_waiter *waiter)
{
    lanepool_i_wait *wait = (lanepool_i_wait *)waiter;
    lanepool_i_word_lock_lock(&wait->future->lock);
    bool delayed = wait->future->delayed != NULL;
    lanepool_i_word_lock_unlock(&wait->future->lock);
    return is_result_known(wait) || !delayed;
}

static bool act_on_nothing(lanepool_i_pool_waiter *waiter)
{
    (void)waiter;
    return false;
}

static lanepool_i_wait *create_wait(lanepool_i_thread_record *record, lanepool_future *future,
                                    uint64_t deadline_ns, lanepool_status *status)
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
    wait->waiter.pump = lanepool_i_pump_of(record->run);
    atomic_init(&wait->references, 3);
    if (lanepool_i_pool_waiter_enter(&wait->waiter, record->run->pool, record, deadline_ns))
        return wait;
    lanepool_i_memory_free(wait);
    *status = LANEPOOL_NO_RESOURCE;
    return NULL;
}

/* The listener has one of the wait's references. Returns false if the future is already complete.
 */
static bool add_wait_listener(lanepool_i_wait *wait)
{
    wait->listener = (lanepool_i_listener){ .then = notice_completion, .context = wait };
    bool listens = lanepool_i_future_listen(wait->future, &wait->listener);
    if (!listens) {
        store_release(&wait->complete, true);
        lanepool_i_wait_drop(wait);
    }
    return listens;
}

/* A delayed task has no entries, so a deadlock could not be found yet. Becoming due needs no other
 * task to run, so this wait cannot be part of a cycle. The message that asks for the check is sent
 * when the task is due. */
static lanepool_status check_and_wait(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      lanepool_i_wait *wait)
{
    bool due = lanepool_i_pool_waiter_wait(&wait->waiter, is_due, act_on_nothing);
    bool waits = due && wait->status == LANEPOOL_TIMED_OUT;
    if (!waits || !lanepool_i_router_send(pool, record, &wait->message))
        lanepool_i_wait_drop(wait);
    while (waits &&
           lanepool_i_pool_waiter_wait(&wait->waiter, is_wait_over, route_and_find_needed) &&
           wait->helping != NULL)
        lanepool_i_run_alone(pool, record, wait->helping, wait);
    return wait->status;
}

static lanepool_status wait_inside(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   lanepool_future *future, uint64_t deadline_ns)
{
    if (record->callbacks > 0 || record->waits == LANEPOOL_I_NESTED_WAITS_MAX)
        return LANEPOOL_DEADLOCK;
    lanepool_status status;
    lanepool_i_wait *wait = create_wait(record, future, deadline_ns, &status);
    if (wait == NULL)
        return status;
    bool listens = add_wait_listener(wait);
    record->waits++;
    lanepool_i_mutex_lock(&pool->waits.lock);
    lanepool_i_list_add(&pool->waits.inside, &wait->inside);
    lanepool_i_mutex_unlock(&pool->waits.lock);
    status = check_and_wait(pool, record, wait);
    lanepool_i_mutex_lock(&pool->waits.lock);
    lanepool_i_wait_unlink_locked(wait);
    lanepool_i_mutex_unlock(&pool->waits.lock);
    record->waits--;
    if (listens && lanepool_i_future_unlisten(future, &wait->listener))
        lanepool_i_wait_drop(wait);
    lanepool_i_wait_drop(wait);
    return status;
}

/* --- waiting outside --- */

/* Under the lock a pending task cannot end, so its pool is not gone. In a child of a fork, another
 * thread of the parent may have held the lock. */
lanepool_i_driver *lanepool_i_future_driver(lanepool_future *future)
{
    if (!lanepool_i_future_is_here(future))
        return NULL;
    const lanepool_i_future_owner *owner = lanepool_i_future_owner_of(future);
    if (owner != NULL)
        return owner->driver(future);
    lanepool_i_word_lock_lock(&future->lock);
    const lanepool_pool *pool = lanepool_i_future_pool_locked(future);
    lanepool_i_driver *driver = pool != NULL ? pool->driver : NULL;
    lanepool_i_word_lock_unlock(&future->lock);
    return driver;
}

static lanepool_status wait_outside(lanepool_future *future, lanepool_i_driver *driver,
                                    uint64_t deadline_ns)
{
    lanepool_i_semaphore semaphore;
    if (!lanepool_i_semaphore_init(&semaphore))
        return LANEPOOL_NO_RESOURCE;
    lanepool_i_listener listener = { .semaphore = &semaphore };
    lanepool_status status = LANEPOOL_OK;
    if (lanepool_i_future_listen(future, &listener) &&
        !lanepool_i_driver_wait(driver, &semaphore, deadline_ns)) {
        if (lanepool_i_future_unlisten(future, &listener))
            status = LANEPOOL_TIMED_OUT;
        else
            lanepool_i_semaphore_wait(&semaphore);
    }
    lanepool_i_semaphore_fini(&semaphore);
    return status;
}

/* --- both --- */

enum future_state { COMPLETE, PENDING, PENDING_FORKED };

/* Reads from the pool under the lock: there a pending task cannot end, so the pool is not gone. */
static enum future_state read_state(lanepool_future *future, lanepool_pool **pool,
                                    lanepool_i_driver **driver)
{
    lanepool_i_word_lock_lock(&future->lock);
    enum future_state state =
        lanepool_i_future_phase(future) == LANEPOOL_I_PHASE_DONE ? COMPLETE : PENDING;
    *pool = lanepool_i_future_pool_locked(future);
    *driver = *pool != NULL ? (*pool)->driver : NULL;
    if (*pool != NULL && lanepool_i_pool_is_forked(*pool))
        state = PENDING_FORKED;
    lanepool_i_word_lock_unlock(&future->lock);
    return state;
}

lanepool_status lanepool_future_wait(lanepool_future *future, uint64_t wait_max_ns,
                                     lanepool_result *result)
{
    if (future == NULL)
        return LANEPOOL_INVALID;
    if (!lanepool_i_future_is_here(future))
        return LANEPOOL_FORKED;
    lanepool_pool *pool;
    lanepool_i_driver *driver;
    lanepool_status status = LANEPOOL_OK;
    enum future_state state = read_state(future, &pool, &driver);
    if (state == PENDING_FORKED)
        return LANEPOOL_FORKED;
    if (state == PENDING) {
        if (wait_max_ns == 0)
            return LANEPOOL_TIMED_OUT;
        lanepool_i_thread_record *record = lanepool_i_thread_record_find(pool);
        uint64_t deadline_ns = lanepool_i_driver_deadline(driver, wait_max_ns);
        const lanepool_i_future_owner *owner = lanepool_i_future_owner_of(future);
        if (owner != NULL)
            status = owner->await(future, wait_max_ns);
        else if (record != NULL && lanepool_i_thread_is_inside_pool(record))
            status = wait_inside(pool, record, future, deadline_ns);
        else
            status = wait_outside(future, driver, deadline_ns);
    }
    if (status == LANEPOOL_OK)
        lanepool_i_note_acquire(future);
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
    lanepool_i_driver *driver;
    if (read_state(future, &pool, &driver) == PENDING_FORKED)
        return LANEPOOL_FORKED;
    lanepool_i_listener *listener = lanepool_i_memory_alloc(sizeof *listener);
    if (listener == NULL)
        return LANEPOOL_NOMEM;
    *listener = (lanepool_i_listener){ .then = then, .context = context, .is_owned = true };
    lanepool_i_note_release(future);
    if (lanepool_i_future_listen(future, listener))
        return LANEPOOL_OK;
    lanepool_i_memory_free(listener);
    lanepool_i_note_acquire(future);
    then(context, &future->result);
    return LANEPOOL_OK;
}
