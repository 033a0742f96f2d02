/* Owns sequences as a program sees them: submits, cancelling, pauses; see sequence.h. */
#include "sequence/sequence.h"

#include "base/deadline.h"
#include "base/versioned.h"

#include <string.h>

/* --- submitting --- */

bool lanepool_i_sequence_takes(const lanepool_sequence *sequence, const lanepool_task *task)
{
    return sequence != NULL && task != NULL &&
           lanepool_i_struct_is_valid(task, task->struct_size, sizeof *task) &&
           task->function != NULL && task->claim_count == 0 && task->kind == 0 && task->tag == 0 &&
           task->group == NULL && task->pump == NULL && task->on_failure == NULL;
}

/* What can be told of a task that may be gone: where it stands, if it is this one. */
static bool stands_in(const lanepool_i_sequence_tasks *items, const lanepool_i_sequence_task *item,
                      uint64_t number)
{
    const lanepool_i_sequence_task *at = items->last;
    while (at != NULL && (at != item || at->call.number != number))
        at = at->previous;
    return at != NULL;
}

/* The executor has refused the errand that the task was handed over with. If somebody drains all
 * the same, or has cancelled the task, it was accepted; so were others that came behind it
 * meanwhile: these are run here, since nobody else will. */
static lanepool_status settle_refusal(lanepool_sequence *sequence, lanepool_i_sequence_task *item,
                                      uint64_t number, lanepool_status refusal)
{
    lanepool_i_sequence_work *errand = sequence->errand;
    lanepool_i_mutex_lock(&errand->lock);
    bool refused =
        errand->state == LANEPOOL_I_WORK_HANDED_OVER && stands_in(&sequence->queue, item, number);
    if (refused)
        lanepool_i_sequence_task_take_locked(item);
    if (sequence->queue.first == NULL && errand->state == LANEPOOL_I_WORK_HANDED_OVER)
        errand->state = LANEPOOL_I_WORK_IDLE;
    if (!lanepool_i_drain_here_locked(errand, NULL))
        lanepool_i_mutex_unlock(&errand->lock);
    return refused ? refusal : LANEPOOL_OK;
}

lanepool_status lanepool_i_sequence_enter(lanepool_sequence *sequence,
                                          lanepool_i_sequence_task *item)
{
    lanepool_i_sequence_work *errand = sequence->errand;
    lanepool_i_mutex_lock(&errand->lock);
    bool cancelled = sequence->cancelled;
    uint64_t number = sequence->next_number;
    bool hands_over = false;
    if (!cancelled) {
        sequence->next_number++;
        item->call.number = number;
        item->state = LANEPOOL_I_SEQUENCE_TASK_QUEUED;
        lanepool_i_sequence_tasks_add(&sequence->queue, item);
        hands_over = lanepool_i_drain_begin_locked(sequence);
    }
    lanepool_i_mutex_unlock(&errand->lock);
    lanepool_status status = cancelled ? LANEPOOL_CANCELLED : LANEPOOL_OK;
    if (hands_over)
        status = lanepool_i_sequence_work_hand_over(errand);
    if (hands_over && status != LANEPOOL_OK)
        status = settle_refusal(sequence, item, number, status);
    return status;
}

static lanepool_status submit_now(lanepool_sequence *sequence, const lanepool_task *task)
{
    lanepool_status status;
    lanepool_i_sequence_task *item =
        lanepool_i_sequence_task_make(sequence->errand, task, false, &status);
    if (item == NULL)
        return status;
    status = lanepool_i_sequence_enter(sequence, item);
    if (status != LANEPOOL_OK)
        lanepool_i_sequence_task_unmake(item, task);
    return status;
}

lanepool_status lanepool_sequence_submit(lanepool_sequence *sequence, const lanepool_task *task)
{
    if (task != NULL && task->future != NULL)
        *task->future = NULL;
    if (!lanepool_i_sequence_takes(sequence, task))
        return LANEPOOL_INVALID;
    return submit_now(sequence, task);
}

/* Nobody is there who would make it due. True: it has not become due, nor was cancelled. */
static bool take_undelayed(lanepool_sequence *sequence, lanepool_i_sequence_task *item,
                           uint64_t number)
{
    lanepool_i_mutex_lock(&sequence->errand->lock);
    bool found = stands_in(&sequence->delayed, item, number) &&
                 lanepool_i_timers_remove(&sequence->errand->executor->timers, &item->timer);
    if (found) {
        lanepool_i_sequence_tasks_remove(&sequence->delayed, item);
        item->state = LANEPOOL_I_SEQUENCE_TASK_TAKEN;
    }
    lanepool_i_mutex_unlock(&sequence->errand->lock);
    return found;
}

/* Behind the lock it may be due, have ended, and be gone: it is known by its number. */
lanepool_status lanepool_i_sequence_delay(lanepool_sequence *sequence,
                                          lanepool_i_sequence_task *item, uint64_t due_ns)
{
    lanepool_i_sequence_work *errand = sequence->errand;
    lanepool_i_mutex_lock(&errand->lock);
    bool cancelled = sequence->cancelled ||
                     (item->recurrence != NULL && !lanepool_i_sequence_periodic_waits(item));
    uint64_t number = sequence->next_number;
    if (!cancelled) {
        sequence->next_number++;
        item->call.number = number;
        item->state = LANEPOOL_I_SEQUENCE_TASK_DELAYED;
        lanepool_i_sequence_tasks_add(&sequence->delayed, item);
        lanepool_i_timers_add(&errand->executor->timers, &item->timer, due_ns);
    }
    lanepool_i_mutex_unlock(&errand->lock);
    if (cancelled)
        return LANEPOOL_CANCELLED;
    bool measured = lanepool_i_executor_look(errand->executor);
    return measured || !take_undelayed(sequence, item, number) ? LANEPOOL_OK : LANEPOOL_NO_THREAD;
}

static lanepool_status submit_delayed(lanepool_sequence *sequence, const lanepool_task *task,
                                      uint64_t due_ns)
{
    lanepool_status status;
    lanepool_i_sequence_work *errand = sequence->errand;
    if (!lanepool_i_executor_can_delay(errand->executor))
        return LANEPOOL_NO_THREAD;
    lanepool_i_sequence_task *item = lanepool_i_sequence_task_make(errand, task, true, &status);
    if (item == NULL)
        return status;
    status = lanepool_i_sequence_delay(sequence, item, due_ns);
    if (status != LANEPOOL_OK)
        lanepool_i_sequence_task_unmake(item, task);
    return status;
}

lanepool_status lanepool_sequence_submit_after(lanepool_sequence *sequence,
                                               const lanepool_task *task, int64_t delay_ns)
{
    if (task != NULL && task->future != NULL)
        *task->future = NULL;
    if (!lanepool_i_sequence_takes(sequence, task))
        return LANEPOOL_INVALID;
    if (delay_ns <= 0)
        return submit_now(sequence, task);
    return submit_delayed(sequence, task, lanepool_i_deadline((uint64_t)delay_ns));
}

/* --- cancelling --- */

static lanepool_i_sequence_tasks take_all_locked(lanepool_sequence *sequence)
{
    lanepool_i_sequence_tasks taken = { NULL, NULL };
    lanepool_i_sequence_tasks *const places[] = { &sequence->queue, &sequence->delayed };
    for (size_t i = 0; i < 2; i++) {
        while (places[i]->first != NULL) {
            lanepool_i_sequence_task *item = places[i]->first;
            lanepool_i_sequence_task_take_locked(item);
            lanepool_i_sequence_tasks_add(&taken, item);
        }
    }
    return taken;
}

void lanepool_i_sequence_cancel_locked(lanepool_sequence *sequence)
{
    lanepool_i_sequence_work *errand = sequence->errand;
    sequence->cancelled = true;
    lanepool_i_sequence_tasks taken = take_all_locked(sequence);
    lanepool_i_sequence_wake_locked(sequence);
    lanepool_i_mutex_unlock(&errand->lock);
    while (taken.first != NULL) {
        lanepool_i_sequence_task *item = taken.first;
        taken.first = item->next;
        lanepool_i_sequence_task_cancel(item);
    }
}

lanepool_status lanepool_sequence_cancel(lanepool_sequence *sequence)
{
    if (sequence == NULL)
        return LANEPOOL_INVALID;
    lanepool_i_mutex_lock(&sequence->errand->lock);
    lanepool_i_sequence_cancel_locked(sequence);
    return LANEPOOL_OK;
}

bool lanepool_sequence_is_cancelled(lanepool_sequence *sequence)
{
    lanepool_i_mutex_lock(&sequence->errand->lock);
    bool cancelled = sequence->cancelled;
    lanepool_i_mutex_unlock(&sequence->errand->lock);
    return cancelled;
}

/* While the task has not ended its sequence is there, and so is the executor: that is kept then. */
lanepool_i_sequence_work *lanepool_i_sequence_work_pin(lanepool_future *future)
{
    lanepool_i_sequence_work *errand = NULL;
    lanepool_i_mutex_lock(&future->lock);
    if (future->item != NULL) {
        errand = future->item->errand;
        lanepool_i_executor_retain(errand->executor);
    }
    lanepool_i_mutex_unlock(&future->lock);
    return errand;
}

/* Whether a task that is not there to be cancelled runs, or has ended, is the future's to say: it
 * starts under the errand's lock. */
lanepool_status lanepool_i_sequence_cancel_task(lanepool_future *future)
{
    lanepool_i_sequence_work *errand = lanepool_i_sequence_work_pin(future);
    if (errand == NULL)
        return LANEPOOL_DONE;
    lanepool_i_mutex_lock(&errand->lock);
    lanepool_i_mutex_lock(&future->lock);
    lanepool_i_sequence_task *item = future->item;
    bool waits = item != NULL && item->state != LANEPOOL_I_SEQUENCE_TASK_TAKEN;
    bool runs = item != NULL && future->started;
    if (runs)
        store_relaxed(&future->asked, true);
    lanepool_i_mutex_unlock(&future->lock);
    if (waits) {
        lanepool_i_sequence_task_take_locked(item);
        lanepool_i_sequence_wake_locked(errand->sequence);
    }
    lanepool_i_mutex_unlock(&errand->lock);
    if (waits)
        lanepool_i_sequence_task_cancel(item);
    lanepool_i_executor_release(errand->executor);
    if (waits)
        return LANEPOOL_OK;
    return runs ? LANEPOOL_RUNNING : LANEPOOL_DONE;
}

/* --- pauses --- */

lanepool_status lanepool_sequence_pause(lanepool_sequence *sequence)
{
    if (sequence == NULL)
        return LANEPOOL_INVALID;
    lanepool_i_mutex_lock(&sequence->errand->lock);
    sequence->paused = true;
    lanepool_i_mutex_unlock(&sequence->errand->lock);
    return LANEPOOL_OK;
}

/* If the executor refuses and nobody drains all the same, it is as before. */
lanepool_status lanepool_sequence_resume(lanepool_sequence *sequence)
{
    if (sequence == NULL)
        return LANEPOOL_INVALID;
    lanepool_i_sequence_work *errand = sequence->errand;
    lanepool_i_mutex_lock(&errand->lock);
    sequence->paused = false;
    bool hands_over = lanepool_i_drain_begin_locked(sequence);
    lanepool_i_mutex_unlock(&errand->lock);
    lanepool_status status = LANEPOOL_OK;
    if (hands_over)
        status = lanepool_i_sequence_work_hand_over(errand);
    if (status == LANEPOOL_OK)
        return LANEPOOL_OK;
    lanepool_i_mutex_lock(&errand->lock);
    if (errand->state != LANEPOOL_I_WORK_HANDED_OVER) {
        status = LANEPOOL_OK;
    } else {
        errand->state = LANEPOOL_I_WORK_IDLE;
        sequence->paused = true;
    }
    lanepool_i_mutex_unlock(&errand->lock);
    return status;
}

/* --- beginning and end --- */

lanepool_status lanepool_sequence_create(lanepool_executor *executor, lanepool_sequence **sequence)
{
    if (sequence != NULL)
        *sequence = NULL;
    if (executor == NULL || sequence == NULL)
        return LANEPOOL_INVALID;
    lanepool_sequence *made = lanepool_i_memory_alloc(sizeof *made);
    if (made == NULL)
        return LANEPOOL_NOMEM;
    memset(made, 0, sizeof *made);
    made->errand = lanepool_i_sequence_work_take(executor, lanepool_i_drain_run);
    if (made->errand == NULL) {
        lanepool_i_memory_free(made);
        return LANEPOOL_NOMEM;
    }
    lanepool_i_mutex_lock(&made->errand->lock);
    made->errand->sequence = made;
    lanepool_i_mutex_unlock(&made->errand->lock);
    *sequence = made;
    return LANEPOOL_OK;
}

lanepool_status lanepool_sequence_destroy(lanepool_sequence *sequence)
{
    if (sequence == NULL)
        return LANEPOOL_OK;
    lanepool_i_sequence_work *errand = sequence->errand;
    if (lanepool_i_drain_find(errand) != NULL)
        return LANEPOOL_DEADLOCK;
    lanepool_status status = lanepool_sequence_cancel(sequence);
    if (status == LANEPOOL_OK)
        status = lanepool_i_sequence_await_drain(sequence);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_mutex_lock(&errand->lock);
    errand->sequence = NULL;
    errand->state = LANEPOOL_I_WORK_IDLE;
    lanepool_i_mutex_unlock(&errand->lock);
    lanepool_i_sequence_work_give(errand);
    lanepool_i_memory_free(sequence);
    return LANEPOOL_OK;
}
