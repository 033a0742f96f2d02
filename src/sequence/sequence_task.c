/* Owns the tasks of sequences, from their making to the last of them; see sequence.h. */
#include "core/run.h"
#include "sequence/sequence.h"

#include <string.h>

/* --- making --- */

static bool make_future(lanepool_i_sequence_task *item, lanepool_future **future,
                        lanepool_status *status)
{
    item->call.future = NULL;
    if (future == NULL)
        return true;
    item->call.future = lanepool_i_future_create(
        NULL, sizeof(lanepool_future), item->errand->executor->creator, NULL, NULL, status);
    if (item->call.future == NULL)
        return false;
    item->call.future->item = item;
    *future = item->call.future;
    return true;
}

lanepool_i_sequence_task *lanepool_i_sequence_task_make(lanepool_i_sequence_work *errand,
                                                        const lanepool_task *task, bool delayed,
                                                        lanepool_status *status)
{
    size_t size =
        delayed ? sizeof(lanepool_i_sequence_task) : offsetof(lanepool_i_sequence_task, timer);
    lanepool_i_sequence_task *item = lanepool_i_memory_alloc(size);
    *status = LANEPOOL_NOMEM;
    if (item == NULL)
        return NULL;
    memset(item, 0, size);
    item->errand = errand;
    item->function = task->function;
    item->context = task->context;
    item->release = task->release;
    if (delayed)
        item->timer.fire = lanepool_i_sequence_task_fires;
    if (make_future(item, task->future, status))
        return item;
    lanepool_i_memory_free(item);
    return NULL;
}

void lanepool_i_sequence_task_unmake(lanepool_i_sequence_task *item, const lanepool_task *task)
{
    if (item->call.future != NULL) {
        lanepool_future_release(item->call.future);
        lanepool_future_release(item->call.future);
        *task->future = NULL;
    }
    lanepool_i_memory_free(item);
}

/* --- lists --- */

void lanepool_i_sequence_tasks_add(lanepool_i_sequence_tasks *items, lanepool_i_sequence_task *item)
{
    item->previous = items->last;
    item->next = NULL;
    if (items->last == NULL)
        items->first = item;
    else
        items->last->next = item;
    items->last = item;
}

void lanepool_i_sequence_tasks_remove(lanepool_i_sequence_tasks *items,
                                      lanepool_i_sequence_task *item)
{
    if (item->previous == NULL)
        items->first = item->next;
    else
        item->previous->next = item->next;
    if (item->next == NULL)
        items->last = item->previous;
    else
        item->next->previous = item->previous;
}

/* If the clock has taken the timer, it comes to see that the task is not delayed any more. */
void lanepool_i_sequence_task_take_locked(lanepool_i_sequence_task *item)
{
    lanepool_sequence *sequence = item->errand->sequence;
    bool delayed = item->state == LANEPOOL_I_SEQUENCE_TASK_DELAYED;
    item->state = LANEPOOL_I_SEQUENCE_TASK_TAKEN;
    lanepool_i_sequence_tasks_remove(delayed ? &sequence->delayed : &sequence->queue, item);
    item->has_late_timer =
        delayed && !lanepool_i_timers_remove(&item->errand->executor->timers, &item->timer);
}

/* --- the last of a task --- */

/* By both, who has taken the task and the timer that comes too late; with the lock, which it gives
 * back. */
static void drop_locked(lanepool_i_sequence_task *item)
{
    bool last = item->dropped;
    item->dropped = true;
    lanepool_i_mutex_unlock(&item->errand->lock);
    if (last)
        lanepool_i_memory_free(item);
}

static void let_go(lanepool_i_sequence_task *item, const lanepool_result *result)
{
    if (item->call.future != NULL)
        lanepool_i_future_complete(item->call.future, result);
    if (item->release != NULL)
        item->release(item->context);
    if (item->recurrence != NULL)
        lanepool_i_sequence_periodic_dispose(item->recurrence);
    if (!item->has_late_timer) {
        lanepool_i_memory_free(item);
        return;
    }
    lanepool_i_mutex_lock(&item->errand->lock);
    drop_locked(item);
}

static int call(lanepool_i_sequence_task *item, lanepool_call why, void **value)
{
    lanepool_run run = { .of_sequence = &item->call, .worker = SIZE_MAX };
    int code = item->function(&run, item->context, why);
    *value = run.value;
    return code;
}

void lanepool_i_sequence_task_run(lanepool_i_sequence_task *item,
                                  lanepool_i_sequence_task **running)
{
    lanepool_result result;
    *running = item;
    result.code = call(item, LANEPOOL_CALL_RUN, &result.value);
    *running = NULL;
    result.status = result.code == 0 ? LANEPOOL_OK : LANEPOOL_FAILED;
    if (item->recurrence != NULL)
        lanepool_i_sequence_periodic_ran(item);
    else
        let_go(item, &result);
}

void lanepool_i_sequence_task_abandon(lanepool_i_sequence_task *item)
{
    if (item->recurrence != NULL)
        lanepool_i_sequence_periodic_ran(item);
    else
        let_go(item, &(lanepool_result){ LANEPOOL_ABANDONED, 0, NULL });
}

void lanepool_i_sequence_task_cancel(lanepool_i_sequence_task *item)
{
    void *value;
    (void)call(item, LANEPOOL_CALL_CANCELLED, &value);
    let_go(item, &(lanepool_result){ LANEPOOL_CANCELLED, 0, NULL });
}

void lanepool_i_sequence_task_fires(lanepool_i_timer *timer)
{
    lanepool_i_sequence_task *item =
        (lanepool_i_sequence_task *)((char *)timer - offsetof(lanepool_i_sequence_task, timer));
    lanepool_i_sequence_work *errand = item->errand;
    lanepool_i_mutex_lock(&errand->lock);
    if (item->state != LANEPOOL_I_SEQUENCE_TASK_DELAYED) {
        drop_locked(item);
        return;
    }
    lanepool_sequence *sequence = errand->sequence;
    lanepool_i_sequence_tasks_remove(&sequence->delayed, item);
    item->state = LANEPOOL_I_SEQUENCE_TASK_QUEUED;
    lanepool_i_sequence_tasks_add(&sequence->queue, item);
    bool hands_over = lanepool_i_drain_begin_locked(sequence);
    lanepool_i_mutex_unlock(&errand->lock);
    if (hands_over)
        lanepool_i_drain_hand_over(errand);
}
