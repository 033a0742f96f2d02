/*
 * Owns periodic tasks of sequences: one item that takes a place again and again.
 *
 * Between two runs it stands among the delayed ones, like any other. Its future,
 * which the program does not see, stays incomplete until its last call: by that
 * the series is cancelled as one task is. Who cancels it while it runs asks it to
 * end; it finds that when its run has ended, under the errand's lock, before it
 * could wait again.
 */
#include "feature/delay_timer.h"
#include "sequence/sequence.h"

typedef struct lanepool_i_sequence_periodic {
    lanepool_timer timer;    /* the first member: the program's handle */
    lanepool_future *future; /* I: one reference; the item has another */
} lanepool_i_sequence_periodic;

static lanepool_status cancel(lanepool_timer *timer)
{
    return lanepool_i_sequence_cancel_task(((lanepool_i_sequence_periodic *)timer)->future);
}

static void forget_handle(lanepool_timer *timer)
{
    lanepool_future_release(((lanepool_i_sequence_periodic *)timer)->future);
    lanepool_i_memory_free(timer);
}

void lanepool_i_sequence_periodic_dispose(lanepool_i_sequence_periodic *recurrence)
{
    lanepool_timer_release(&recurrence->timer);
}

bool lanepool_i_sequence_periodic_waits(lanepool_i_sequence_task *item)
{
    lanepool_i_mutex_lock(&item->call.future->lock);
    item->call.future->started = false;
    lanepool_i_mutex_unlock(&item->call.future->lock);
    return !load_relaxed(&item->call.future->asked);
}

/* Without a clock there is no next run: that is its end, too. */
void lanepool_i_sequence_periodic_ran(lanepool_i_sequence_task *item)
{
    uint64_t due_ns = lanepool_i_timer_next_due(&item->recurrence->timer, item->timer.due_ns);
    if (lanepool_i_sequence_delay(item->errand->sequence, item, due_ns) != LANEPOOL_OK)
        lanepool_i_sequence_task_cancel(item);
}

/* Its first run may end, and the series with it, before this returns. */
static lanepool_status start(lanepool_sequence *sequence, lanepool_i_sequence_periodic *recurrence,
                             const lanepool_task *task, int64_t delay_ns)
{
    lanepool_status status;
    lanepool_i_sequence_work *errand = sequence->errand;
    if (!lanepool_i_executor_can_delay(errand->executor))
        return LANEPOOL_NO_THREAD;
    lanepool_task description = *task;
    description.future = &recurrence->future;
    lanepool_i_sequence_task *item =
        lanepool_i_sequence_task_make(errand, &description, true, &status);
    if (item == NULL)
        return status;
    item->recurrence = recurrence;
    item->timer.due_ns = lanepool_i_timer_first_due(delay_ns);
    if (delay_ns > 0)
        status = lanepool_i_sequence_delay(sequence, item, item->timer.due_ns);
    else
        status = lanepool_i_sequence_enter(sequence, item);
    if (status != LANEPOOL_OK)
        lanepool_i_sequence_task_unmake(item, &description);
    return status;
}

lanepool_status lanepool_sequence_submit_every(lanepool_sequence *sequence,
                                               const lanepool_task *task, int64_t delay_ns,
                                               uint64_t period_ns, lanepool_period period,
                                               lanepool_timer **timer)
{
    if (timer != NULL)
        *timer = NULL;
    if (timer == NULL || !lanepool_i_sequence_takes(sequence, task) || task->future != NULL ||
        !lanepool_i_period_is_valid(period_ns, period))
        return LANEPOOL_INVALID;
    lanepool_i_sequence_periodic *recurrence = lanepool_i_memory_alloc(sizeof *recurrence);
    if (recurrence == NULL)
        return LANEPOOL_NOMEM;
    lanepool_i_timer_init(&recurrence->timer, period_ns, period);
    recurrence->timer.cancel = cancel;
    recurrence->timer.forget = forget_handle;
    *timer = &recurrence->timer; /* before the first run, which may want it */
    lanepool_status status = start(sequence, recurrence, task, delay_ns);
    if (status != LANEPOOL_OK) {
        *timer = NULL;
        lanepool_i_memory_free(recurrence);
    }
    return status;
}
