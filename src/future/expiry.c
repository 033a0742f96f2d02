/* Owns arming and disarming the timers of tasks with a deadline; see expiry.h. */
#include "future/expiry.h"

static lanepool_i_expiry *expiry_of(lanepool_future *future)
{
    return future != NULL && lanepool_i_future_is_member(future)
               ? lanepool_i_member_of(future)->expiry
               : NULL;
}

/* --- the start --- */

void lanepool_i_expiry_expect(const lanepool_i_task *task, lanepool_i_expiry **list)
{
    lanepool_i_expiry *expiry = expiry_of(task->as.wide.future);
    if (expiry == NULL || expiry->start_within_ns == 0)
        return;
    (void)lanepool_i_future_retain(&expiry->member->future);
    expiry->next_submitted = *list;
    *list = expiry;
}

void lanepool_i_expiry_arm(lanepool_future *future)
{
    lanepool_i_expiry *expiry = expiry_of(future);
    if (expiry == NULL || expiry->start_within_ns == 0)
        return;
    uint64_t due_ns = lanepool_i_driver_deadline(expiry->timers->driver, expiry->start_within_ns);
    lanepool_i_word_lock_lock(&future->lock);
    if (lanepool_i_future_phase(future) == LANEPOOL_I_PHASE_PENDING)
        lanepool_i_expiry_arm_locked(expiry, LANEPOOL_I_EXPIRY_START, due_ns);
    lanepool_i_word_lock_unlock(&future->lock);
}

void lanepool_i_expiries_accepted(lanepool_i_expiry **list, bool accepted)
{
    while (*list != NULL) {
        lanepool_i_expiry *expiry = *list;
        lanepool_future *future = &expiry->member->future;
        *list = expiry->next_submitted;
        if (accepted)
            lanepool_i_expiry_arm(future);
        lanepool_i_future_release(future);
    }
}

void lanepool_i_expiry_describe(lanepool_future *future, lanepool_task *description)
{
    const lanepool_i_expiry *expiry = expiry_of(future);
    if (expiry == NULL)
        return;
    description->start_within_ns = expiry->start_within_ns;
    description->run_within_ns = expiry->run_within_ns;
}

/* --- attempts --- */

void lanepool_i_expiry_started(lanepool_future *future)
{
    lanepool_i_expiry *expiry = expiry_of(future);
    if (expiry == NULL)
        return;
    uint64_t due_ns = lanepool_i_driver_deadline(expiry->timers->driver, expiry->run_within_ns);
    lanepool_i_word_lock_lock(&future->lock);
    bool disarmed = lanepool_i_expiry_disarm_locked(expiry);
    if (due_ns != 0)
        lanepool_i_expiry_arm_locked(expiry, LANEPOOL_I_EXPIRY_ATTEMPT, due_ns);
    lanepool_i_word_lock_unlock(&future->lock);
    if (disarmed)
        lanepool_i_future_release(future);
}

bool lanepool_i_expiry_set_detached(lanepool_future *future, struct lanepool_detached *detached)
{
    lanepool_i_expiry *expiry = expiry_of(future);
    if (expiry == NULL || expiry->run_within_ns == 0)
        return true;
    lanepool_i_word_lock_lock(&future->lock);
    bool in_time = expiry->of == LANEPOOL_I_EXPIRY_ATTEMPT || detached == NULL;
    if (in_time)
        expiry->detached = detached;
    lanepool_i_word_lock_unlock(&future->lock);
    return in_time;
}

void lanepool_i_expiry_paused(lanepool_future *future)
{
    lanepool_i_expiry *expiry = expiry_of(future);
    if (expiry == NULL)
        return;
    lanepool_i_word_lock_lock(&future->lock);
    bool disarmed = lanepool_i_expiry_disarm_locked(expiry);
    lanepool_i_word_lock_unlock(&future->lock);
    if (disarmed)
        lanepool_i_future_release(future);
}
