/*
 * Owns the drain of a sequence: one at a time, on the thread on which the executor calls the work,
 * without recursion.
 *
 * An executor may call the work inside `execute`.
 *
 * - If a submit to an idle sequence called `execute`, the submit drains. Submits inside the
 *   sequence's tasks find the work RUNNING and only append to the queue.
 * - If the drain called `execute`, to hand the work over after a batch, the inner call only
 *   sets `called_in_execute`. Then the drain runs the next batch.
 *
 * A thread of the executor may wait inside a task for a task of another sequence. It claims that
 * sequence's work if it is HANDED_OVER, and drains as far as it needs.
 */
#include "sequence/sequence.h"

#include "base/sizes.h"
#include "platform/notes.h"

void lanepool_i_sequence_wake_locked(lanepool_sequence *sequence)
{
    while (lanepool_i_waiter_call_first_locked(&sequence->waiters))
        ;
}

static bool has_runnable_task_locked(const lanepool_sequence *sequence)
{
    return !lanepool_i_list_is_empty(&sequence->queue) && !sequence->paused;
}

bool lanepool_i_drain_begin_locked(lanepool_sequence *sequence)
{
    lanepool_i_sequence_work *work = sequence->work;
    if (work->state != LANEPOOL_I_WORK_IDLE || !has_runnable_task_locked(sequence))
        return false;
    work->state = LANEPOOL_I_WORK_HANDED_OVER;
    lanepool_i_sequence_wake_locked(sequence);
    return true;
}

/* Makes HANDED_OVER work RUNNING and returns true: this thread must drain the sequence. */
static bool claim_drain_locked(lanepool_i_sequence_work *work)
{
    if (work->sequence == NULL || work->state != LANEPOOL_I_WORK_HANDED_OVER)
        return false;
    lanepool_i_drain *drain = lanepool_i_drain_find(work);
    if (drain != NULL && drain->is_handing_over) {
        drain->called_in_execute = true;
        return false;
    }
    work->state = LANEPOOL_I_WORK_RUNNING;
    return true;
}

static bool has_reached_goal(const lanepool_i_drain *drain)
{
    return drain->until != NULL && lanepool_i_future_is_complete(drain->until);
}

static void run_batch_locked(lanepool_i_drain *drain)
{
    lanepool_i_sequence_work *work = drain->work;
    for (uint32_t i = 0; i < LANEPOOL_I_DRAIN_BATCH; i++) {
        if (!has_runnable_task_locked(work->sequence) || has_reached_goal(drain))
            return;
        lanepool_i_sequence_task *task =
            LANEPOOL_I_FIRST(&work->sequence->queue, lanepool_i_sequence_task, link);
        lanepool_i_sequence_task_take_locked(task);
        if (task->call.future != NULL)
            (void)lanepool_i_future_start(task->call.future);
        lanepool_i_mutex_unlock(&work->lock);
        lanepool_i_note_acquire(work);
        lanepool_i_sequence_task_run(task, &drain->running);
        lanepool_i_note_release(work);
        lanepool_i_mutex_lock(&work->lock);
    }
}

/* Leaves the sequence after a batch. Returns false if this thread must run the next one: the
 * executor refused the work or called it inside `execute`. Once the work is handed over, another
 * thread may drain or destroy the sequence. */
static bool leave_sequence_locked(lanepool_i_drain *drain)
{
    lanepool_i_sequence_work *work = drain->work;
    work->state = LANEPOOL_I_WORK_IDLE;
    if (!lanepool_i_drain_begin_locked(work->sequence)) {
        lanepool_i_sequence_wake_locked(work->sequence);
        return true;
    }
    drain->is_handing_over = true;
    drain->called_in_execute = false;
    lanepool_i_mutex_unlock(&work->lock);
    bool refused = lanepool_i_sequence_work_hand_over(work) != LANEPOOL_OK;
    lanepool_i_mutex_lock(&work->lock);
    drain->is_handing_over = false;
    drain->until = NULL;
    return !(refused || drain->called_in_execute) || !claim_drain_locked(work);
}

static void run_batches_locked(lanepool_i_drain *drain)
{
    lanepool_i_sequence_work *work = drain->work;
    do
        run_batch_locked(drain);
    while (!leave_sequence_locked(drain));
    lanepool_i_mutex_unlock(&work->lock);
    lanepool_i_thread_drains_set(drain->outer);
    lanepool_i_executor_release(work->executor);
}

/* Continues the drain of a thread that ends inside a task's function: the tasks behind it must
 * still run. */
static void resume_abandoned_drain(void *argument)
{
    lanepool_i_drain *drain = argument;
    lanepool_i_thread_drains_set(drain);
    if (drain->running != NULL)
        lanepool_i_sequence_task_abandon(drain->running);
    drain->running = NULL;
    lanepool_i_mutex_lock(&drain->work->lock);
    run_batches_locked(drain);
}

/* Releases the lock and the caller's reference on the executor. The sequence and the executor may
 * be freed as soon as the drain has left. */
static void drain_claimed_locked(lanepool_i_sequence_work *work, lanepool_future *until)
{
    lanepool_i_drain drain = { .outer = lanepool_i_thread_drains(), .work = work, .until = until };
    lanepool_i_thread_drains_set(&drain);
    LANEPOOL_I_THREAD_END_PUSH(resume_abandoned_drain, &drain);
    run_batches_locked(&drain);
    LANEPOOL_I_THREAD_END_POP();
}

void lanepool_i_drain_run(lanepool_work *base)
{
    lanepool_i_sequence_work *work = (lanepool_i_sequence_work *)base;
    lanepool_executor *executor = work->executor;
    lanepool_i_mutex_lock(&work->lock);
    bool counted = work->calls_due > 0;
    work->calls_due -= counted;
    bool claimed = claim_drain_locked(work);
    if (claimed && !counted)
        lanepool_i_executor_retain(executor);
    if (claimed) {
        drain_claimed_locked(work, NULL);
        return;
    }
    lanepool_i_mutex_unlock(&work->lock);
    if (counted)
        lanepool_i_executor_release(executor);
}

/* Nothing is left to run then, and the run is only counted. */
void lanepool_i_drain_cancel(lanepool_work *base, lanepool_status why)
{
    lanepool_i_sequence_work *work = (lanepool_i_sequence_work *)base;
    lanepool_i_mutex_lock(&work->lock);
    if (work->sequence != NULL)
        lanepool_i_sequence_cancel_locked(work->sequence, why);
    else
        lanepool_i_mutex_unlock(&work->lock);
    lanepool_i_drain_run(base);
}

bool lanepool_i_drain_here_locked(lanepool_i_sequence_work *work, lanepool_future *until)
{
    if (!claim_drain_locked(work))
        return false;
    lanepool_i_executor_retain(work->executor);
    drain_claimed_locked(work, until);
    return true;
}

void lanepool_i_drain_hand_over(lanepool_i_sequence_work *work)
{
    if (lanepool_i_sequence_work_hand_over(work) == LANEPOOL_OK)
        return;
    lanepool_i_mutex_lock(&work->lock);
    if (!lanepool_i_drain_here_locked(work, NULL))
        lanepool_i_mutex_unlock(&work->lock);
}
