/*
 * Owns the drain of a sequence: one at a time, on the thread that the executor
 * calls with the errand, without recursion.
 *
 * An executor may call inside of `execute`. If that is a submit to an idle
 * sequence, the submit drains; submits inside of its tasks find the errand
 * RUNNING and only add to the queue. If it is the drain itself, which hands the
 * errand over after a batch, the call leaves word in the drain that it came
 * back, and the drain goes on with the next batch.
 *
 * A thread of the executor's that waits inside a task for a task of another
 * sequence takes an errand that is HANDED before the executor comes to it, and
 * drains as far as it needs.
 */
#include "sequence/sequence.h"

#include "base/sizes.h"

void lanepool_i_sequence_wake_locked(lanepool_sequence *sequence)
{
    lanepool_i_sequence_waiter *onlooker = sequence->onlookers;
    sequence->onlookers = NULL;
    while (onlooker != NULL) {
        lanepool_i_sequence_waiter *next = onlooker->next;
        onlooker->posted = true;
        lanepool_i_semaphore_post(&onlooker->semaphore);
        onlooker = next;
    }
}

static bool has_more_locked(const lanepool_sequence *sequence)
{
    return sequence->queue.first != NULL && !sequence->paused;
}

bool lanepool_i_drain_begin_locked(lanepool_sequence *sequence)
{
    lanepool_i_sequence_work *errand = sequence->errand;
    if (errand->state != LANEPOOL_I_WORK_IDLE || !has_more_locked(sequence))
        return false;
    errand->state = LANEPOOL_I_WORK_HANDED_OVER;
    lanepool_i_sequence_wake_locked(sequence);
    return true;
}

/* True: the sequence is this thread's to drain. */
static bool claim_locked(lanepool_i_sequence_work *errand)
{
    if (errand->sequence == NULL || errand->state != LANEPOOL_I_WORK_HANDED_OVER)
        return false;
    lanepool_i_drain *drain = lanepool_i_drain_find(errand);
    if (drain != NULL && drain->hands_over) {
        drain->came_back = true;
        return false;
    }
    errand->state = LANEPOOL_I_WORK_RUNNING;
    return true;
}

static bool is_over(const lanepool_i_drain *drain)
{
    return drain->until != NULL && lanepool_i_future_is_complete(drain->until);
}

static void run_batch_locked(lanepool_i_drain *drain)
{
    lanepool_i_sequence_work *errand = drain->errand;
    for (uint32_t i = 0; i < LANEPOOL_I_DRAIN_BATCH; i++) {
        if (!has_more_locked(errand->sequence) || is_over(drain))
            return;
        lanepool_i_sequence_task *item = errand->sequence->queue.first;
        lanepool_i_sequence_task_take_locked(item);
        if (item->call.future != NULL)
            (void)lanepool_i_future_start(item->call.future);
        lanepool_i_mutex_unlock(&errand->lock);
        lanepool_i_sequence_task_run(item, &drain->running);
        lanepool_i_mutex_lock(&errand->lock);
    }
}

/* After a batch. False: it is this thread's again, since the executor refused, or called it here.
 * While the errand is handed over the sequence may be drained elsewhere, and be destroyed. */
static bool leave_locked(lanepool_i_drain *drain)
{
    lanepool_i_sequence_work *errand = drain->errand;
    errand->state = LANEPOOL_I_WORK_IDLE;
    if (!lanepool_i_drain_begin_locked(errand->sequence)) {
        lanepool_i_sequence_wake_locked(errand->sequence);
        return true;
    }
    drain->hands_over = true;
    drain->came_back = false;
    lanepool_i_mutex_unlock(&errand->lock);
    bool refused = lanepool_i_sequence_work_hand_over(errand) != LANEPOOL_OK;
    lanepool_i_mutex_lock(&errand->lock);
    drain->hands_over = false;
    drain->until = NULL;
    return !(refused || drain->came_back) || !claim_locked(errand);
}

static void go_on_locked(lanepool_i_drain *drain)
{
    lanepool_i_sequence_work *errand = drain->errand;
    do
        run_batch_locked(drain);
    while (!leave_locked(drain));
    lanepool_i_mutex_unlock(&errand->lock);
    lanepool_i_thread_drains_set(drain->outer);
    lanepool_i_executor_release(errand->executor);
}

/* The frames of the task are gone; what stands behind it is not. */
static void abandoned(void *argument)
{
    lanepool_i_drain *drain = argument;
    lanepool_i_thread_drains_set(drain);
    if (drain->running != NULL)
        lanepool_i_sequence_task_abandon(drain->running);
    drain->running = NULL;
    lanepool_i_mutex_lock(&drain->errand->lock);
    go_on_locked(drain);
}

/* With a reference on the executor, which it gives back like the lock: the sequence and the
 * executor may be gone as soon as the drain has left. */
static void drain_claimed_locked(lanepool_i_sequence_work *errand, lanepool_future *until)
{
    lanepool_i_drain drain = { lanepool_i_thread_drains(), errand, NULL, until, false, false };
    lanepool_i_thread_drains_set(&drain);
    LANEPOOL_I_THREAD_END_PUSH(abandoned, &drain);
    go_on_locked(&drain);
    LANEPOOL_I_THREAD_END_POP();
}

void lanepool_i_drain_run(lanepool_work *work)
{
    lanepool_i_sequence_work *errand = (lanepool_i_sequence_work *)work;
    lanepool_executor *executor = errand->executor;
    lanepool_i_mutex_lock(&errand->lock);
    bool counted = errand->handed > 0;
    errand->handed -= counted;
    bool mine = claim_locked(errand);
    if (mine && !counted)
        lanepool_i_executor_retain(executor);
    if (mine) {
        drain_claimed_locked(errand, NULL);
        return;
    }
    lanepool_i_mutex_unlock(&errand->lock);
    if (counted)
        lanepool_i_executor_release(executor);
}

bool lanepool_i_drain_here_locked(lanepool_i_sequence_work *errand, lanepool_future *until)
{
    if (!claim_locked(errand))
        return false;
    lanepool_i_executor_retain(errand->executor);
    drain_claimed_locked(errand, until);
    return true;
}

void lanepool_i_drain_hand_over(lanepool_i_sequence_work *errand)
{
    if (lanepool_i_sequence_work_hand_over(errand) == LANEPOOL_OK)
        return;
    lanepool_i_mutex_lock(&errand->lock);
    if (!lanepool_i_drain_here_locked(errand, NULL))
        lanepool_i_mutex_unlock(&errand->lock);
}
