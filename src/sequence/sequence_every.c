/*
 * Owns periodic tasks of sequences: one task that is queued again and again.
 *
 * Between two runs the task is in the delayed list. Its future, which the program does not see,
 * stays incomplete until the last call; cancelling the future cancels the periodic task. A cancel
 * during a run asks the task to end. The request is read after the run, under the work's lock.
 */
#include "core/task_check.h"
#include "feature/delay_timer.h"
#include "sequence/sequence.h"

typedef struct lanepool_i_sequence_periodic {
    lanepool_timer timer;    /* first member: the program's handle */
    lanepool_future *future; /* I: one reference; the task has another */
} lanepool_i_sequence_periodic;

static lanepool_status cancel_periodic_task(lanepool_timer *timer)
{
    return lanepool_i_sequence_cancel_task(((lanepool_i_sequence_periodic *)timer)->future);
}

static void free_sequence_periodic_handle(lanepool_timer *timer)
{
    lanepool_i_future_release(((lanepool_i_sequence_periodic *)timer)->future);
    lanepool_i_memory_free(timer);
}

void lanepool_i_sequence_periodic_dispose(lanepool_i_sequence_periodic *periodic)
{
    lanepool_timer_release(&periodic->timer);
}

bool lanepool_i_sequence_periodic_waits(lanepool_i_sequence_task *task)
{
    lanepool_i_word_lock_lock(&task->call.future->lock);
    if (lanepool_i_future_phase(task->call.future) == LANEPOOL_I_PHASE_RUNNING)
        lanepool_i_future_enter_locked(task->call.future, LANEPOOL_I_PHASE_PENDING);
    lanepool_i_word_lock_unlock(&task->call.future->lock);
    return !load_relaxed(&task->call.future->asked_to_end);
}

/* There is no next run if the task was asked to end, or no clock thread can be started. */
void lanepool_i_sequence_periodic_ran(lanepool_i_sequence_task *task)
{
    uint64_t due_ns = lanepool_i_timer_next_due(
        &task->periodic->timer, task->work->executor->timers->driver, task->timer.due_ns);
    if (lanepool_i_sequence_delay(task->work->sequence, task, due_ns) != LANEPOOL_OK)
        lanepool_i_sequence_task_cancel(task, LANEPOOL_CANCELLED);
}

/* The first run, and the whole periodic task, may end before this function returns. */
static lanepool_status start_periodic_task(lanepool_sequence *sequence,
                                           lanepool_i_sequence_periodic *periodic,
                                           const lanepool_task *description, int64_t delay_ns)
{
    lanepool_status status;
    lanepool_i_sequence_work *work = sequence->work;
    if (!lanepool_i_executor_can_delay(work->executor))
        return LANEPOOL_NO_RESOURCE;
    lanepool_task with_future = *description;
    with_future.future = &periodic->future;
    lanepool_i_sequence_task *task = lanepool_i_sequence_task_make(work, &with_future, true, NULL);
    if (task == NULL)
        return LANEPOOL_NOMEM;
    task->periodic = periodic;
    task->timer.due_ns = lanepool_i_timer_first_due(work->executor->timers->driver, delay_ns);
    if (delay_ns > 0)
        status = lanepool_i_sequence_delay(sequence, task, task->timer.due_ns);
    else
        status = lanepool_i_sequence_enqueue(sequence, task);
    if (status != LANEPOOL_OK)
        lanepool_i_sequence_task_unmake(task, &with_future);
    return status;
}

lanepool_status lanepool_sequence_submit_every(lanepool_sequence *sequence,
                                               const lanepool_task *task, int64_t delay_ns,
                                               uint64_t period_ns, lanepool_period period,
                                               lanepool_timer **timer)
{
    if (timer != NULL)
        *timer = NULL;
    lanepool_task room;
    if (timer == NULL || !lanepool_i_description_read(&task, &room) ||
        !lanepool_i_period_is_valid(period_ns, period))
        return LANEPOOL_INVALID;
    lanepool_status status = lanepool_i_sequence_task_check(sequence, task);
    if (status == LANEPOOL_OK && task->future != NULL)
        status = LANEPOOL_UNSUPPORTED;
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_sequence_periodic *periodic = lanepool_i_memory_alloc(sizeof *periodic);
    if (periodic == NULL)
        return LANEPOOL_NOMEM;
    lanepool_i_timer_init(&periodic->timer, period_ns, period);
    periodic->timer.cancel = cancel_periodic_task;
    periodic->timer.forget = free_sequence_periodic_handle;
    *timer = &periodic->timer; /* before the first run, which may read it */
    status = start_periodic_task(sequence, periodic, task, delay_ns);
    if (status != LANEPOOL_OK) {
        *timer = NULL;
        lanepool_i_memory_free(periodic);
    }
    return status;
}
