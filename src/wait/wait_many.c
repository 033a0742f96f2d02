/*
 * Owns waiting for several tasks at once. For all of them: one wait after the other, under one
 * deadline. For any of them: a listener with each, all posting one semaphore. For the tasks that
 * conflict with some claims: a task with these claims that does nothing is submitted and waited
 * for.
 */
#include "lanepool/future.h"

#include "core/run.h"
#include "future/future.h"
#include "route/offers.h"
#include "sched/thread_record.h"
#include "wait/cancel.h"
#include "wait/future_wait.h"

static bool are_futures(lanepool_future *const *futures, size_t count)
{
    if (futures == NULL)
        return count == 0;
    for (size_t i = 0; i < count; i++)
        if (futures[i] == NULL)
            return false;
    return true;
}

/* Returns the driver of the first task that is pending in a pool without threads, or NULL. */
static lanepool_i_driver *find_any_driver(lanepool_future *const *futures, size_t count)
{
    lanepool_i_driver *driver = NULL;
    for (size_t i = 0; i < count && driver == NULL; i++)
        driver = lanepool_i_future_driver(futures[i]);
    return driver;
}

/* --- all --- */

lanepool_status lanepool_future_wait_all(lanepool_future *const *futures, size_t future_count,
                                         uint64_t wait_max_ns)
{
    if (!are_futures(futures, future_count))
        return LANEPOOL_INVALID;
    lanepool_i_driver *driver = find_any_driver(futures, future_count);
    uint64_t deadline_ns = lanepool_i_driver_deadline(driver, wait_max_ns);
    lanepool_status status = LANEPOOL_OK;
    for (size_t i = 0; i < future_count && status == LANEPOOL_OK; i++)
        status = lanepool_future_wait(futures[i],
                                      lanepool_i_driver_deadline_left(driver, deadline_ns), NULL);
    return status;
}

/* --- any --- */

/* Stops at the first future that has ended. Returns the number of listeners added. */
static size_t listen_to_all(lanepool_future *const *futures, size_t count,
                            lanepool_i_listener *listeners, lanepool_i_semaphore *semaphore)
{
    for (size_t i = 0; i < count; i++) {
        listeners[i] = (lanepool_i_listener){ .semaphore = semaphore };
        if (!lanepool_i_future_listen(futures[i], &listeners[i]))
            return i;
    }
    return count;
}

/* A listener that is being served posts once, and the semaphore must exist until then. So this
 * waits for each such post; `posts` of them were waited for already. */
static void remove_listeners(lanepool_future *const *futures, size_t count,
                             lanepool_i_listener *listeners, lanepool_i_semaphore *semaphore,
                             size_t posts)
{
    size_t served = 0;
    for (size_t i = 0; i < count; i++)
        served += !lanepool_i_future_unlisten(futures[i], &listeners[i]);
    for (; posts < served; posts++)
        lanepool_i_semaphore_wait(semaphore);
}

/* Returns TIMED_OUT if none has ended; FORKED if none has and one never will. */
static lanepool_status find_ended(lanepool_future *const *futures, size_t count, size_t *index)
{
    lanepool_status found = LANEPOOL_TIMED_OUT;
    for (size_t i = 0; i < count; i++) {
        lanepool_status status = lanepool_future_wait(futures[i], 0, NULL);
        if (status == LANEPOOL_OK) {
            *index = i;
            return LANEPOOL_OK;
        }
        if (status == LANEPOOL_FORKED)
            found = LANEPOOL_FORKED;
    }
    return found;
}

/* Makes a step of a pool without threads that one of the tasks is in, or lets the time of such a
 * pool pass, by the deadline. Returns false if there is nothing left to do. */
static bool step_one(lanepool_future *const *futures, size_t count, bool in_time,
                     uint64_t deadline_ns)
{
    for (size_t i = 0; i < count; i++) {
        lanepool_i_driver *driver = lanepool_i_future_driver(futures[i]);
        if (driver == NULL || lanepool_i_driver_now(driver) >= deadline_ns)
            continue;
        if (in_time ? driver->pass_time(driver, deadline_ns) : driver->step(driver))
            return true;
    }
    return false;
}

/* Makes steps until a task has ended, or nothing is left to do. */
static lanepool_status step_until_ended(lanepool_future *const *futures, size_t count,
                                        uint64_t deadline_ns, size_t *index)
{
    lanepool_status status = LANEPOOL_TIMED_OUT;
    bool stepped = true;
    while (stepped && status == LANEPOOL_TIMED_OUT) {
        stepped = step_one(futures, count, false, deadline_ns);
        status = find_ended(futures, count, index);
        if (!stepped && status == LANEPOOL_TIMED_OUT) {
            stepped = step_one(futures, count, true, deadline_ns);
            status = find_ended(futures, count, index);
        }
    }
    return status;
}

/* Returns true if a task is pending in a pool with threads, or of a sequence. */
static bool may_end_without_steps(lanepool_future *const *futures, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (lanepool_i_future_driver(futures[i]) == NULL)
            return true;
    return false;
}

static lanepool_status wait_for_any(lanepool_future *const *futures, size_t count,
                                    lanepool_i_listener *listeners, uint64_t deadline_ns)
{
    lanepool_i_semaphore semaphore;
    if (!lanepool_i_semaphore_init(&semaphore))
        return LANEPOOL_NO_RESOURCE;
    size_t asked = listen_to_all(futures, count, listeners, &semaphore);
    size_t posts =
        asked == count ? lanepool_i_semaphore_wait_until(&semaphore, deadline_ns) : (size_t)0;
    remove_listeners(futures, asked, listeners, &semaphore, posts);
    lanepool_i_semaphore_fini(&semaphore);
    return LANEPOOL_OK;
}

lanepool_status lanepool_future_wait_any(lanepool_future *const *futures, size_t future_count,
                                         uint64_t wait_max_ns, size_t *index)
{
    if (!are_futures(futures, future_count) || future_count == 0 || index == NULL)
        return LANEPOOL_INVALID;
    lanepool_status status = find_ended(futures, future_count, index);
    if (status != LANEPOOL_TIMED_OUT || wait_max_ns == 0)
        return status;
    if (lanepool_i_thread_is_inside_any())
        return LANEPOOL_DEADLOCK;
    uint64_t deadline_ns =
        lanepool_i_driver_deadline(find_any_driver(futures, future_count), wait_max_ns);
    status = step_until_ended(futures, future_count, deadline_ns, index);
    if (status != LANEPOOL_TIMED_OUT || !may_end_without_steps(futures, future_count))
        return status;
    if (future_count > SIZE_MAX / sizeof(lanepool_i_listener))
        return LANEPOOL_NOMEM;
    lanepool_i_listener *listeners =
        lanepool_i_memory_alloc(future_count * sizeof(lanepool_i_listener));
    if (listeners == NULL)
        return LANEPOOL_NOMEM;
    status = wait_for_any(futures, future_count, listeners, deadline_ns);
    lanepool_i_memory_free(listeners);
    if (status == LANEPOOL_OK)
        status = find_ended(futures, future_count, index);
    return status;
}

/* --- tasks that conflict with some claims --- */

static uint64_t left_until(const lanepool_pool *pool, uint64_t deadline_ns)
{
    return lanepool_i_driver_deadline_left(pool->driver, deadline_ns);
}

/* The result of a task that was just ending when the wait for it failed. */
static bool has_ended(lanepool_status cancelled, lanepool_future *future, lanepool_result *result)
{
    return cancelled == LANEPOOL_DONE && lanepool_future_wait(future, 0, result) == LANEPOOL_OK;
}

/* If the wait fails, the task is cancelled, so that it does not block others. The memory for that
 * is reserved before. */
static lanepool_status wait_behind_claims(lanepool_pool *pool, const lanepool_claim *claims,
                                          size_t count, uint64_t deadline_ns,
                                          lanepool_result *result)
{
    lanepool_future *future;
    lanepool_i_thread_record *record;
    lanepool_status entered = lanepool_i_pool_enter(pool, &record);
    if (entered != LANEPOOL_OK)
        return entered;
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = lanepool_i_run_nothing;
    task.claims = claims;
    task.claim_count = count;
    task.future = &future;
    lanepool_i_tombstone_message *cancel = lanepool_i_cancel_reserve(pool);
    if (cancel == NULL)
        return LANEPOOL_NOMEM;
    lanepool_status status =
        lanepool_pool_submit_within(pool, &task, left_until(pool, deadline_ns));
    if (status == LANEPOOL_OK)
        status = lanepool_future_wait(future, left_until(pool, deadline_ns), result);
    else
        future = NULL;
    if (status == LANEPOOL_OK || future == NULL)
        lanepool_i_cancel_unreserve(pool, cancel);
    else if (has_ended(lanepool_i_cancel_reserved(pool, future, cancel), future, result))
        status = LANEPOOL_OK;
    lanepool_i_future_release(future);
    return status == LANEPOOL_FULL ? LANEPOOL_TIMED_OUT : status;
}

/* Cancelling all tasks of a lane cancels the task of this call, too, but not the tasks that run.
 * Then this call waits behind those again. */
lanepool_status lanepool_pool_wait_claims(lanepool_pool *pool, const lanepool_claim *claims,
                                          size_t claim_count, uint64_t wait_max_ns)
{
    if (pool == NULL || claim_count == 0 || wait_max_ns == 0)
        return LANEPOOL_INVALID;
    if (!lanepool_i_pool_offers(pool, LANEPOOL_I_WAIT_CLAIMS))
        return LANEPOOL_UNSUPPORTED;
    lanepool_result result = { LANEPOOL_CANCELLED, 0, NULL };
    lanepool_status status = LANEPOOL_OK;
    uint64_t deadline_ns = lanepool_i_driver_deadline(pool->driver, wait_max_ns);
    while (status == LANEPOOL_OK && result.status == LANEPOOL_CANCELLED)
        status = wait_behind_claims(pool, claims, claim_count, deadline_ns, &result);
    return status;
}
