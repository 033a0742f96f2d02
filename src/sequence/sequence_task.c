/* Owns the tasks of sequences, from creation to disposal; see sequence.h. */
#include "core/run.h"
#include "platform/notes.h"
#include "sequence/sequence.h"

#include <string.h>

/* --- create --- */

static bool create_task_future(lanepool_i_sequence_task *task, lanepool_future **future,
                               const lanepool_i_future_owner *owner)
{
    task->call.future = NULL;
    if (future == NULL)
        return true;
    task->call.future = lanepool_i_future_create_owned(task->work->executor->creator, owner, task);
    if (task->call.future == NULL)
        return false;
    LANEPOOL_I_QUARANTINE_NAME(task->call.future, task->work->executor->quarantine);
    *future = task->call.future;
    return true;
}

lanepool_i_sequence_task *lanepool_i_sequence_task_make(lanepool_i_sequence_work *work,
                                                        const lanepool_task *description,
                                                        bool delayed,
                                                        const lanepool_i_future_owner *owner)
{
    size_t size =
        delayed ? sizeof(lanepool_i_sequence_task) : offsetof(lanepool_i_sequence_task, timer);
    lanepool_i_sequence_task *task = lanepool_i_memory_alloc(size);
    if (task == NULL)
        return NULL;
    memset(task, 0, size);
    task->work = work;
    task->function = description->function;
    task->context = description->context;
    task->callbacks = (lanepool_i_callbacks){ description->release, description->cancelled };
    lanepool_i_note_release(work);
    if (delayed)
        task->timer.fire = lanepool_i_sequence_task_fires;
    if (delayed)
        task->timer.keeps_its_time = work->executor->timers->driver != NULL;
    if (create_task_future(task, description->future, owner))
        return task;
    lanepool_i_memory_free(task);
    return NULL;
}

void lanepool_i_sequence_task_unmake(lanepool_i_sequence_task *task,
                                     const lanepool_task *description)
{
    if (task->call.future != NULL) {
        lanepool_i_future_release(task->call.future);
        lanepool_i_future_release(task->call.future);
        *description->future = NULL;
    }
    lanepool_i_memory_free(task);
}

/* If the timer is already firing, its callback will find the task TAKEN. */
void lanepool_i_sequence_task_take_locked(lanepool_i_sequence_task *task)
{
    bool delayed = task->state == LANEPOOL_I_SEQUENCE_TASK_DELAYED;
    task->state = LANEPOOL_I_SEQUENCE_TASK_TAKEN;
    lanepool_i_unlink(&task->link);
    task->has_late_timer =
        delayed && !lanepool_i_timers_remove(task->work->executor->timers, &task->timer);
}

/* --- run and dispose --- */

/* Called by the thread that took the task, and by its late timer; the second call frees the task.
 * Releases the lock. */
static void drop_task_locked(lanepool_i_sequence_task *task)
{
    bool last = task->dropped;
    task->dropped = true;
    lanepool_i_mutex_unlock(&task->work->lock);
    if (last)
        lanepool_i_memory_free(task);
}

static void dispose_sequence_task(lanepool_i_sequence_task *task, const lanepool_result *result)
{
    if (task->call.future != NULL)
        lanepool_i_future_complete(task->call.future, NULL, result);
    if (task->callbacks.release != NULL)
        task->callbacks.release(task->context);
    if (task->periodic != NULL)
        lanepool_i_sequence_periodic_dispose(task->periodic);
    if (!task->has_late_timer) {
        lanepool_i_memory_free(task);
        return;
    }
    lanepool_i_mutex_lock(&task->work->lock);
    drop_task_locked(task);
}

void lanepool_i_sequence_task_run(lanepool_i_sequence_task *task,
                                  lanepool_i_sequence_task **running)
{
    lanepool_run run = { .of_sequence = &task->call, .worker = SIZE_MAX };
    *running = task;
    int code = task->function(&run, task->context);
    *running = NULL;
    lanepool_result result = { code == 0 ? LANEPOOL_OK : LANEPOOL_FAILED, code, run.value };
    if (task->periodic != NULL)
        lanepool_i_sequence_periodic_ran(task);
    else
        dispose_sequence_task(task, &result);
}

void lanepool_i_sequence_task_abandon(lanepool_i_sequence_task *task)
{
    if (task->periodic != NULL)
        lanepool_i_sequence_periodic_ran(task);
    else
        dispose_sequence_task(task, &(lanepool_result){ LANEPOOL_ABANDONED, 0, NULL });
}

void lanepool_i_sequence_task_cancel(lanepool_i_sequence_task *task, lanepool_status why)
{
    lanepool_i_drain frame = { .outer = lanepool_i_thread_drains(),
                               .work = task->work,
                               .is_cancelling = true };
    if (task->callbacks.cancelled != NULL) {
        lanepool_i_thread_drains_set(&frame);
        lanepool_i_note_acquire(task->work);
        task->callbacks.cancelled(task->context, why);
        lanepool_i_thread_drains_set(frame.outer);
    }
    dispose_sequence_task(task, &(lanepool_result){ LANEPOOL_CANCELLED, 0, NULL });
}

void lanepool_i_sequence_task_fires(lanepool_i_timer *timer)
{
    lanepool_i_sequence_task *task = LANEPOOL_I_ITEM(timer, lanepool_i_sequence_task, timer);
    lanepool_i_sequence_work *work = task->work;
    lanepool_i_mutex_lock(&work->lock);
    if (task->state != LANEPOOL_I_SEQUENCE_TASK_DELAYED) {
        drop_task_locked(task);
        return;
    }
    lanepool_sequence *sequence = work->sequence;
    lanepool_i_unlink(&task->link);
    task->state = LANEPOOL_I_SEQUENCE_TASK_QUEUED;
    lanepool_i_list_add(&sequence->queue, &task->link);
    bool must_hand_over = lanepool_i_drain_begin_locked(sequence);
    lanepool_i_mutex_unlock(&work->lock);
    if (must_hand_over)
        lanepool_i_drain_hand_over(work);
}
