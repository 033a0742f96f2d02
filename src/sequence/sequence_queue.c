/* Owns how tasks enter and leave the queue of a sequence; see sequence.h. */
#include "sequence/sequence.h"

/* --- entering --- */

lanepool_status lanepool_i_sequence_task_check(const lanepool_sequence *sequence,
                                               const lanepool_task *description)
{
    if (sequence == NULL || description->function == NULL)
        return LANEPOOL_INVALID;
    bool is_offered = description->claim_count == 0 && description->kind == 0 &&
                      description->at_lane == NULL && description->at_grant == NULL &&
                      description->tag == 0 && description->priority == 0 &&
                      description->group == NULL && description->pump == NULL &&
                      description->on_failure == NULL && description->start_within_ns == 0 &&
                      description->run_within_ns == 0;
    return is_offered ? LANEPOOL_OK : LANEPOOL_UNSUPPORTED;
}

/* The task may be freed, and its block reused, so only tasks in the list are read. */
static bool list_has_task(const lanepool_i_list *list, const lanepool_i_sequence_task *task,
                          uint64_t number)
{
    LANEPOOL_I_EACH(const lanepool_i_sequence_task, each, list, link)
        if (each == task && each->call.number == number)
            return true;
    return false;
}

/* Called after the executor has refused the work. The task counts as accepted if another thread
 * drains the sequence anyway, or has cancelled the task. Tasks behind it were accepted in any case:
 * this thread drains them, because no other thread will. */
static lanepool_status handle_refusal(lanepool_sequence *sequence, lanepool_i_sequence_task *task,
                                      uint64_t number, lanepool_status refusal)
{
    lanepool_i_sequence_work *work = sequence->work;
    lanepool_i_mutex_lock(&work->lock);
    bool refused =
        work->state == LANEPOOL_I_WORK_HANDED_OVER && list_has_task(&sequence->queue, task, number);
    if (refused)
        lanepool_i_sequence_task_take_locked(task);
    if (lanepool_i_list_is_empty(&sequence->queue) && work->state == LANEPOOL_I_WORK_HANDED_OVER)
        work->state = LANEPOOL_I_WORK_IDLE;
    if (!lanepool_i_drain_here_locked(work, NULL))
        lanepool_i_mutex_unlock(&work->lock);
    return refused ? refusal : LANEPOOL_OK;
}

lanepool_status lanepool_i_sequence_enqueue(lanepool_sequence *sequence,
                                            lanepool_i_sequence_task *task)
{
    lanepool_i_sequence_work *work = sequence->work;
    lanepool_i_mutex_lock(&work->lock);
    bool cancelled = sequence->cancelled;
    uint64_t number = sequence->next_number;
    bool must_hand_over = false;
    if (!cancelled) {
        sequence->next_number++;
        task->call.number = number;
        task->state = LANEPOOL_I_SEQUENCE_TASK_QUEUED;
        lanepool_i_list_add(&sequence->queue, &task->link);
        must_hand_over = lanepool_i_drain_begin_locked(sequence);
    }
    lanepool_i_mutex_unlock(&work->lock);
    lanepool_status status = cancelled ? LANEPOOL_CANCELLED : LANEPOOL_OK;
    if (must_hand_over)
        status = lanepool_i_sequence_work_hand_over(work);
    if (must_hand_over && status != LANEPOOL_OK)
        status = handle_refusal(sequence, task, number, status);
    return status;
}

/* Takes a delayed task back, because no thread would fire its timer. Returns false if the task has
 * become due or was cancelled. */
static bool withdraw_delayed_task(lanepool_sequence *sequence, lanepool_i_sequence_task *task,
                                  uint64_t number)
{
    lanepool_i_mutex_lock(&sequence->work->lock);
    bool found = list_has_task(&sequence->delayed, task, number) &&
                 lanepool_i_timers_remove(sequence->work->executor->timers, &task->timer);
    if (found) {
        lanepool_i_unlink(&task->link);
        task->state = LANEPOOL_I_SEQUENCE_TASK_TAKEN;
    }
    lanepool_i_mutex_unlock(&sequence->work->lock);
    return found;
}

/* Once the lock is released, the task may be freed. So it is recognized by its number. */
lanepool_status lanepool_i_sequence_delay(lanepool_sequence *sequence,
                                          lanepool_i_sequence_task *task, uint64_t due_ns)
{
    lanepool_i_sequence_work *work = sequence->work;
    lanepool_i_mutex_lock(&work->lock);
    bool cancelled = sequence->cancelled ||
                     (task->periodic != NULL && !lanepool_i_sequence_periodic_waits(task));
    uint64_t number = sequence->next_number;
    if (!cancelled) {
        sequence->next_number++;
        task->call.number = number;
        task->state = LANEPOOL_I_SEQUENCE_TASK_DELAYED;
        lanepool_i_list_add(&sequence->delayed, &task->link);
        lanepool_i_timers_add(work->executor->timers, &task->timer, due_ns);
    }
    lanepool_i_mutex_unlock(&work->lock);
    if (cancelled)
        return LANEPOOL_CANCELLED;
    bool has_clock = lanepool_i_executor_serve_timers(work->executor);
    return has_clock || !withdraw_delayed_task(sequence, task, number) ? LANEPOOL_OK
                                                                       : LANEPOOL_NO_RESOURCE;
}

/* --- cancel --- */

static void take_tasks_locked(lanepool_i_list *from, lanepool_i_list *taken)
{
    LANEPOOL_I_EACH(lanepool_i_sequence_task, task, from, link) {
        lanepool_i_sequence_task_take_locked(task);
        lanepool_i_list_add(taken, &task->link);
    }
}

void lanepool_i_sequence_cancel_locked(lanepool_sequence *sequence, lanepool_status why)
{
    lanepool_i_sequence_work *work = sequence->work;
    sequence->cancelled = true;
    lanepool_i_list taken;
    lanepool_i_list_init(&taken);
    take_tasks_locked(&sequence->queue, &taken);
    take_tasks_locked(&sequence->delayed, &taken);
    lanepool_i_sequence_wake_locked(sequence);
    lanepool_i_mutex_unlock(&work->lock);
    LANEPOOL_I_EACH(lanepool_i_sequence_task, task, &taken, link)
        lanepool_i_sequence_task_cancel(task, why);
}

/* While the future points to its task, the executor exists: a reference can be taken. */
lanepool_i_sequence_work *lanepool_i_sequence_work_pin(lanepool_future *future)
{
    lanepool_i_sequence_work *work = NULL;
    lanepool_i_word_lock_lock(&future->lock);
    const lanepool_i_sequence_task *task = lanepool_i_sequence_task_of_locked(future);
    if (task != NULL) {
        work = task->work;
        lanepool_i_executor_retain(work->executor);
    }
    lanepool_i_word_lock_unlock(&future->lock);
    return work;
}

/* The future of a taken task tells whether it runs or has ended: a task starts under the work's
 * lock. */
lanepool_status lanepool_i_sequence_cancel_task(lanepool_future *future)
{
    lanepool_i_sequence_work *work = lanepool_i_sequence_work_pin(future);
    if (work == NULL)
        return LANEPOOL_DONE;
    lanepool_i_mutex_lock(&work->lock);
    lanepool_i_word_lock_lock(&future->lock);
    lanepool_i_sequence_task *task = lanepool_i_sequence_task_of_locked(future);
    bool waits = task != NULL && task->state != LANEPOOL_I_SEQUENCE_TASK_TAKEN;
    bool runs = task != NULL && lanepool_i_future_phase(future) == LANEPOOL_I_PHASE_RUNNING;
    if (runs)
        store_relaxed(&future->asked_to_end, true);
    lanepool_i_word_lock_unlock(&future->lock);
    if (waits) {
        lanepool_i_sequence_task_take_locked(task);
        lanepool_i_sequence_wake_locked(work->sequence);
    }
    lanepool_i_mutex_unlock(&work->lock);
    if (waits)
        lanepool_i_sequence_task_cancel(task, LANEPOOL_CANCELLED);
    lanepool_i_executor_release(work->executor);
    if (waits)
        return LANEPOOL_OK;
    return runs ? LANEPOOL_RUNNING : LANEPOOL_DONE;
}
