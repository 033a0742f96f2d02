/*
 * Owns deadlines of tasks: for the start, and for each attempt. Tasks without deadlines pay
 * nothing.
 *
 * A timer for the start is armed after the append, since before it the task could not be cancelled.
 * So the submitter takes a reference to the future of each such task before the append.
 *
 * The clock thread judges the timers that have fired between two batches, where it may call the
 * program. It cancels a task that has not started as lanepool_future_cancel() does; `started` and
 * `cancelled` decide under the future's lock. So the task either starts, or is cancelled.
 */
#include "base/deadline.h"
#include "core/call_record.h"
#include "feature/delay.h"
#include "future/expiry.h"
#include "route/pool.h"
#include "wait/cancel.h"

/* --- building --- */

/* Called on the clock thread, where it makes no callback yet. */
static void fire_deadline(lanepool_i_timer *timer)
{
    lanepool_i_expiry *expiry = (lanepool_i_expiry *)timer;
    lanepool_i_delays *delays = expiry->pool->delays;
    if (expiry->fired++ > 0)
        return;
    expiry->next_fired = delays->expired;
    delays->expired = expiry;
}

static lanepool_status build_expiry(lanepool_pool *pool, lanepool_i_thread_record *record,
                                    const lanepool_task *task, lanepool_i_task *block)
{
    (void)record;
    if ((task->start_within_ns | task->run_within_ns) == 0)
        return LANEPOOL_OK;
    lanepool_i_member *member = lanepool_i_task_member(block);
    lanepool_status status = lanepool_i_delays_start_clock(pool);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_expiry *expiry = lanepool_i_memory_alloc(sizeof *expiry);
    if (expiry == NULL)
        return LANEPOOL_NOMEM;
    *expiry = (lanepool_i_expiry){ .member = member,
                                   .pool = pool,
                                   .timers = &pool->delays->timers,
                                   .start_within_ns = task->start_within_ns,
                                   .run_within_ns = task->run_within_ns };
    expiry->timer.fire = fire_deadline;
    expiry->timer.keeps_its_time = true;
    member->expiry = expiry;
    return LANEPOOL_OK;
}

/* --- on the clock thread --- */

/* Returns what the last of the timer's firings limits; NONE if that was disarmed. */
static lanepool_i_expiry_of judge_locked(lanepool_i_expiry *expiry)
{
    lanepool_i_expiry_of of = LANEPOOL_I_EXPIRY_NONE;
    if (expiry->fired > expiry->late)
        of = expiry->of;
    if (of != LANEPOOL_I_EXPIRY_NONE)
        expiry->of = LANEPOOL_I_EXPIRY_NONE;
    expiry->late = 0;
    return of;
}

/* Ends the task if it is detached and was not completed. Under the lock its record is valid. If the
 * program takes its claim back, this thread must not miss that. A timer that is armed again belongs
 * to a later attempt. */
static void end_detached(lanepool_pool *pool, lanepool_i_thread_record *record,
                         lanepool_i_expiry *expiry)
{
    lanepool_future *future = &expiry->member->future;
    for (bool busy = true; busy;) {
        lanepool_i_word_lock_lock(&future->lock);
        lanepool_i_call_record *detached = expiry->detached;
        busy = false;
        if (expiry->of != LANEPOOL_I_EXPIRY_NONE ||
            (detached != NULL && !lanepool_i_call_record_claim(detached, &busy)))
            detached = NULL;
        lanepool_i_word_lock_unlock(&future->lock);
        if (detached != NULL)
            lanepool_i_call_record_end_claimed(pool, record, detached, LANEPOOL_TIMED_OUT);
        if (busy)
            lanepool_i_yield();
    }
}

static void judge_fired(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_i_expiry *expiry)
{
    lanepool_future *future = &expiry->member->future;
    lanepool_i_word_lock_lock(&future->lock);
    lanepool_i_expiry_of of = judge_locked(expiry);
    if (of == LANEPOOL_I_EXPIRY_ATTEMPT && expiry->detached == NULL)
        store_relaxed(&future->asked_to_end, true);
    lanepool_i_word_lock_unlock(&future->lock);
    if (of == LANEPOOL_I_EXPIRY_START)
        lanepool_i_cancel_expired(pool, record, future);
    else if (of == LANEPOOL_I_EXPIRY_ATTEMPT)
        end_detached(pool, record, expiry);
    uint32_t references = expiry->fired;
    expiry->fired = 0;
    while (references-- > 0)
        lanepool_i_future_release(future);
}

static uint64_t judge_all_fired(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_expiry *expiry;
    while ((expiry = pool->delays->expired) != NULL) {
        pool->delays->expired = expiry->next_fired;
        judge_fired(pool, record, expiry);
    }
    return UINT64_MAX;
}

const lanepool_i_feature lanepool_i_feature_deadline = {
    .build = build_expiry,
    .on_clock = judge_all_fired,
};
