/* Owns sequences as the program uses them: create, submit, cancel, pause; see sequence.h. */
#include "sequence/sequence.h"

#include "base/misuse.h"
#include "core/task_check.h"
#include "platform/notes.h"

#include <string.h>

/* --- submit --- */

static lanepool_status submit_now(lanepool_sequence *sequence, const lanepool_task *description)
{
    lanepool_i_sequence_task *task = lanepool_i_sequence_task_make(
        sequence->work, description, false, &lanepool_i_sequence_future_owner);
    if (task == NULL)
        return LANEPOOL_NOMEM;
    lanepool_status status = lanepool_i_sequence_enqueue(sequence, task);
    if (status != LANEPOOL_OK)
        lanepool_i_sequence_task_unmake(task, description);
    return status;
}

lanepool_status lanepool_sequence_submit(lanepool_sequence *sequence, const lanepool_task *task)
{
    lanepool_task room;
    if (!lanepool_i_description_read(&task, &room))
        return LANEPOOL_INVALID;
    lanepool_status status = lanepool_i_sequence_task_check(sequence, task);
    return status == LANEPOOL_OK ? submit_now(sequence, task) : status;
}

static lanepool_status submit_delayed(lanepool_sequence *sequence, const lanepool_task *description,
                                      uint64_t due_ns)
{
    lanepool_status status;
    lanepool_i_sequence_work *work = sequence->work;
    if (!lanepool_i_executor_can_delay(work->executor))
        return LANEPOOL_NO_RESOURCE;
    lanepool_i_sequence_task *task =
        lanepool_i_sequence_task_make(work, description, true, &lanepool_i_sequence_future_owner);
    if (task == NULL)
        return LANEPOOL_NOMEM;
    status = lanepool_i_sequence_delay(sequence, task, due_ns);
    if (status != LANEPOOL_OK)
        lanepool_i_sequence_task_unmake(task, description);
    return status;
}

lanepool_status lanepool_sequence_submit_after(lanepool_sequence *sequence,
                                               const lanepool_task *task, int64_t delay_ns)
{
    lanepool_task room;
    if (!lanepool_i_description_read(&task, &room))
        return LANEPOOL_INVALID;
    lanepool_status status = lanepool_i_sequence_task_check(sequence, task);
    if (status != LANEPOOL_OK)
        return status;
    if (delay_ns <= 0)
        return submit_now(sequence, task);
    return submit_delayed(
        sequence, task,
        lanepool_i_driver_deadline(sequence->work->executor->timers->driver, (uint64_t)delay_ns));
}

/* --- cancel --- */

lanepool_status lanepool_sequence_cancel(lanepool_sequence *sequence)
{
    if (sequence == NULL)
        return LANEPOOL_INVALID;
    lanepool_i_mutex_lock(&sequence->work->lock);
    lanepool_i_sequence_cancel_locked(sequence, LANEPOOL_CANCELLED);
    return LANEPOOL_OK;
}

bool lanepool_sequence_is_cancelled(const lanepool_sequence *sequence)
{
    if (LANEPOOL_I_MISUSED(sequence == NULL, "sequence is NULL"))
        return true;
    lanepool_i_mutex_lock(&sequence->work->lock);
    bool cancelled = sequence->cancelled;
    lanepool_i_mutex_unlock(&sequence->work->lock);
    return cancelled;
}

/* --- pause --- */

lanepool_status lanepool_sequence_pause(lanepool_sequence *sequence)
{
    if (sequence == NULL)
        return LANEPOOL_INVALID;
    lanepool_i_mutex_lock(&sequence->work->lock);
    sequence->paused = true;
    lanepool_i_mutex_unlock(&sequence->work->lock);
    return LANEPOOL_OK;
}

/* If the executor refuses and no thread drains the sequence anyway, pauses the sequence again. */
lanepool_status lanepool_sequence_resume(lanepool_sequence *sequence)
{
    if (sequence == NULL)
        return LANEPOOL_INVALID;
    lanepool_i_sequence_work *work = sequence->work;
    lanepool_i_note_release(work);
    lanepool_i_mutex_lock(&work->lock);
    sequence->paused = false;
    bool must_hand_over = lanepool_i_drain_begin_locked(sequence);
    lanepool_i_mutex_unlock(&work->lock);
    lanepool_status status = LANEPOOL_OK;
    if (must_hand_over)
        status = lanepool_i_sequence_work_hand_over(work);
    if (status == LANEPOOL_OK)
        return LANEPOOL_OK;
    lanepool_i_mutex_lock(&work->lock);
    if (work->state != LANEPOOL_I_WORK_HANDED_OVER) {
        status = LANEPOOL_OK;
    } else {
        work->state = LANEPOOL_I_WORK_IDLE;
        sequence->paused = true;
    }
    lanepool_i_mutex_unlock(&work->lock);
    return status;
}

/* --- create and destroy --- */

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
    lanepool_i_list_init(&made->queue);
    lanepool_i_list_init(&made->delayed);
    lanepool_i_list_init(&made->waiters);
    static const lanepool_work functions = { lanepool_i_drain_run, lanepool_i_drain_cancel };
    made->work = lanepool_i_sequence_work_take(executor, &functions);
    if (made->work == NULL) {
        lanepool_i_memory_free(made);
        return LANEPOOL_NOMEM;
    }
    lanepool_i_mutex_lock(&made->work->lock);
    made->work->sequence = made;
    lanepool_i_mutex_unlock(&made->work->lock);
    *sequence = made;
    return LANEPOOL_OK;
}

lanepool_status lanepool_sequence_destroy(lanepool_sequence *sequence)
{
    if (sequence == NULL)
        return LANEPOOL_OK;
    lanepool_i_sequence_work *work = sequence->work;
    if (lanepool_i_drain_find(work) != NULL)
        return LANEPOOL_DEADLOCK;
    lanepool_status status = lanepool_sequence_cancel(sequence);
    if (status == LANEPOOL_OK)
        status = lanepool_i_sequence_await_drain(sequence);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_mutex_lock(&work->lock);
    lanepool_i_sequence_wake_locked(sequence);
    work->sequence = NULL;
    work->state = LANEPOOL_I_WORK_IDLE;
    lanepool_i_mutex_unlock(&work->lock);
    lanepool_i_sequence_work_give(work);
    lanepool_i_memory_free(sequence);
    return LANEPOOL_OK;
}
