/* Owns deadlines of tasks; see deadline.h. */
#include "feature/deadline.h"

#include "base/deadline.h"
#include "feature/delay.h"
#include "feature/detach.h"
#include "route/pool.h"
#include "wait/cancel.h"

static lanepool_i_expiry *expiry_of(lanepool_future *future)
{
    return future != NULL && future->is_member ? lanepool_i_member_of(future)->expiry : NULL;
}

/* --- building and arming --- */

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

lanepool_status lanepool_i_deadline_add(lanepool_pool *pool, lanepool_future *future,
                                        const lanepool_task *description)
{
    lanepool_status status = lanepool_i_delays_start_clock(pool);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_expiry *expiry = lanepool_i_memory_alloc(sizeof *expiry);
    if (expiry == NULL)
        return LANEPOOL_NOMEM;
    *expiry = (lanepool_i_expiry){ .member = lanepool_i_member_of(future),
                                   .pool = pool,
                                   .timers = &pool->delays->timers,
                                   .start_within_ns = description->start_within_ns,
                                   .run_within_ns = description->run_within_ns };
    expiry->timer.fire = fire_deadline;
    expiry->timer.keeps_its_time = true;
    lanepool_i_member_of(future)->expiry = expiry;
    return LANEPOOL_OK;
}

void lanepool_i_deadline_expect(const lanepool_i_task *task, lanepool_i_expiry **list)
{
    lanepool_i_expiry *expiry = expiry_of(task->as.wide.future);
    if (expiry == NULL || expiry->start_within_ns == 0)
        return;
    (void)lanepool_i_future_retain(&expiry->member->future);
    expiry->next_submitted = *list;
    *list = expiry;
}

void lanepool_i_deadline_arm(lanepool_future *future)
{
    lanepool_i_expiry *expiry = expiry_of(future);
    if (expiry == NULL || expiry->start_within_ns == 0)
        return;
    uint64_t due_ns = lanepool_i_deadline(expiry->start_within_ns);
    lanepool_i_mutex_lock(&future->lock);
    if (!future->started && !future->cancelled && !future->complete)
        lanepool_i_expiry_arm_locked(expiry, LANEPOOL_I_EXPIRY_START, due_ns);
    lanepool_i_mutex_unlock(&future->lock);
}

void lanepool_i_deadlines_expected(lanepool_i_expiry **list, bool accepted)
{
    while (*list != NULL) {
        lanepool_i_expiry *expiry = *list;
        lanepool_future *future = &expiry->member->future;
        *list = expiry->next_submitted;
        if (accepted)
            lanepool_i_deadline_arm(future);
        lanepool_i_future_release(future);
    }
}

void lanepool_i_deadline_describe(lanepool_future *future, lanepool_task *description)
{
    const lanepool_i_expiry *expiry = expiry_of(future);
    if (expiry == NULL)
        return;
    description->start_within_ns = expiry->start_within_ns;
    description->run_within_ns = expiry->run_within_ns;
}

/* --- attempts --- */

void lanepool_i_deadline_started(lanepool_future *future)
{
    lanepool_i_expiry *expiry = expiry_of(future);
    if (expiry == NULL)
        return;
    uint64_t due_ns = expiry->run_within_ns != 0 ? lanepool_i_deadline(expiry->run_within_ns) : 0;
    lanepool_i_mutex_lock(&future->lock);
    bool disarmed = lanepool_i_expiry_disarm_locked(expiry);
    if (due_ns != 0)
        lanepool_i_expiry_arm_locked(expiry, LANEPOOL_I_EXPIRY_ATTEMPT, due_ns);
    lanepool_i_mutex_unlock(&future->lock);
    if (disarmed)
        lanepool_i_future_release(future);
}

bool lanepool_i_deadline_set_detached(lanepool_future *future, lanepool_i_detach *detached)
{
    lanepool_i_expiry *expiry = expiry_of(future);
    if (expiry == NULL || expiry->run_within_ns == 0)
        return true;
    lanepool_i_mutex_lock(&future->lock);
    bool in_time = expiry->of == LANEPOOL_I_EXPIRY_ATTEMPT || detached == NULL;
    if (in_time)
        expiry->detached = detached;
    lanepool_i_mutex_unlock(&future->lock);
    return in_time;
}

void lanepool_i_deadline_paused(lanepool_future *future)
{
    lanepool_i_expiry *expiry = expiry_of(future);
    if (expiry == NULL)
        return;
    lanepool_i_mutex_lock(&future->lock);
    bool disarmed = lanepool_i_expiry_disarm_locked(expiry);
    lanepool_i_mutex_unlock(&future->lock);
    if (disarmed)
        lanepool_i_future_release(future);
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
        lanepool_i_mutex_lock(&future->lock);
        lanepool_i_detach *detached = expiry->detached;
        busy = false;
        if (expiry->of != LANEPOOL_I_EXPIRY_NONE ||
            (detached != NULL && !lanepool_i_detach_claim(detached, &busy)))
            detached = NULL;
        lanepool_i_mutex_unlock(&future->lock);
        if (detached != NULL)
            lanepool_i_detach_end_claimed(pool, record, detached, LANEPOOL_TIMED_OUT);
        if (busy)
            lanepool_i_yield();
    }
}

static void judge_fired(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_i_expiry *expiry)
{
    lanepool_future *future = &expiry->member->future;
    lanepool_i_mutex_lock(&future->lock);
    lanepool_i_expiry_of of = judge_locked(expiry);
    if (of == LANEPOOL_I_EXPIRY_ATTEMPT && expiry->detached == NULL)
        store_relaxed(&future->asked_to_end, true);
    lanepool_i_mutex_unlock(&future->lock);
    if (of == LANEPOOL_I_EXPIRY_START)
        lanepool_i_cancel_expired(pool, record, future);
    else if (of == LANEPOOL_I_EXPIRY_ATTEMPT)
        end_detached(pool, record, expiry);
    uint32_t references = expiry->fired;
    expiry->fired = 0;
    while (references-- > 0)
        lanepool_i_future_release(future);
}

void lanepool_i_deadlines_judge(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_expiry *expiry;
    while ((expiry = pool->delays->expired) != NULL) {
        pool->delays->expired = expiry->next_fired;
        judge_fired(pool, record, expiry);
    }
}
