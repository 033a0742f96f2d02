/*
 * Owns waiting for sequences and their tasks.
 *
 * A thread of the executor that waits inside a task does not only sleep: it drains HANDED_OVER work
 * itself, as far as it needs. Otherwise all threads of an executor could wait for tasks that only
 * they could run. Such a thread is inside a drain, or inside a task of the executor's pool.
 *
 * Waiters are called under the work's lock: when a drain leaves, when the work becomes HANDED_OVER,
 * and when tasks are cancelled.
 */
#include "platform/notes.h"
#include "route/pool.h"
#include "sequence/sequence.h"

/* --- permission to wait --- */

static bool is_inside_pool(const lanepool_pool *pool, bool *in_callback)
{
    const lanepool_i_thread_record *record =
        pool != NULL ? lanepool_i_thread_record_find(pool) : NULL;
    *in_callback = record != NULL && record->callbacks > 0;
    return record != NULL && lanepool_i_thread_is_inside_pool(record);
}

/* Returns LANEPOOL_DEADLOCK if a call that the thread is inside must return first, or if too many
 * drains are nested. Sets *helps if the thread belongs to the executor. */
static lanepool_status check_may_wait(const lanepool_i_sequence_work *work, bool *helps)
{
    bool in_callback;
    uint32_t depth = 0;
    *helps = is_inside_pool(work->executor->pool, &in_callback);
    const lanepool_i_drain *drain = lanepool_i_thread_drains();
    bool is_cancelling = false;
    for (; drain != NULL && drain->work != work; drain = drain->outer) {
        is_cancelling |= drain->is_cancelling;
        *helps |= drain->work->executor == work->executor;
        depth++;
    }
    bool deadlock =
        drain != NULL || is_cancelling || in_callback || depth >= LANEPOOL_I_NESTED_WAITS_MAX;
    return deadlock ? LANEPOOL_DEADLOCK : LANEPOOL_OK;
}

/* --- one wait --- */

/* On the stack of the waiting thread. */
typedef struct wait_frame {
    lanepool_i_waiter waiter;
    uint32_t called;   /* how often it was called */
    uint32_t received; /* posts that it has taken */
    bool helps;
} wait_frame;

static lanepool_i_driver *driver_of(const lanepool_i_sequence_work *work)
{
    return work->executor->timers->driver;
}

/* Without a driver, waits for other threads only. */
static bool init_wait_frame(wait_frame *frame, lanepool_i_driver *driver, bool helps,
                            uint64_t deadline_ns)
{
    frame->called = 0;
    frame->received = 0;
    frame->helps = helps;
    bool has_semaphore = lanepool_i_waiter_init(&frame->waiter, deadline_ns);
    frame->waiter.driver = driver;
    return has_semaphore;
}

static bool sleep_until_posted(wait_frame *frame, uint64_t deadline_ns)
{
    bool posted =
        lanepool_i_driver_wait(frame->waiter.driver, &frame->waiter.semaphore, deadline_ns);
    frame->received += posted;
    return posted;
}

/* Drains the sequence, if the thread helps and the work is HANDED_OVER, or sleeps. Releases and
 * retakes the lock. Returns false if the deadline has passed. */
static bool help_or_sleep_locked(wait_frame *frame, lanepool_i_sequence_work *work,
                                 lanepool_future *until)
{
    if (frame->helps && lanepool_i_drain_here_locked(work, until)) {
        lanepool_i_mutex_lock(&work->lock);
        return lanepool_i_driver_now(frame->waiter.driver) < frame->waiter.deadline_ns;
    }
    lanepool_i_waiter_enter_locked(&frame->waiter, &work->sequence->waiters);
    lanepool_i_mutex_unlock(&work->lock);
    bool in_time = sleep_until_posted(frame, frame->waiter.deadline_ns);
    lanepool_i_mutex_lock(&work->lock);
    frame->called += frame->waiter.called;
    lanepool_i_unlink(&frame->waiter.link);
    return in_time;
}

/* --- for a sequence --- */

static bool is_running_locked(const lanepool_sequence *sequence)
{
    return sequence->work->state == LANEPOOL_I_WORK_RUNNING;
}

static bool is_busy_locked(const lanepool_sequence *sequence)
{
    return !lanepool_i_list_is_empty(&sequence->queue) || is_running_locked(sequence);
}

/* Creates a semaphore only if it has to wait. */
static lanepool_status
wait_while_condition(lanepool_sequence *sequence, lanepool_i_driver *driver, bool helps,
                     bool (*condition_locked)(const lanepool_sequence *sequence),
                     uint64_t deadline_ns)
{
    lanepool_i_sequence_work *work = sequence->work;
    wait_frame frame;
    lanepool_i_mutex_lock(&work->lock);
    bool must_wait = condition_locked(sequence);
    lanepool_i_mutex_unlock(&work->lock);
    lanepool_i_note_acquire(work);
    if (!must_wait || deadline_ns == 0)
        return must_wait ? LANEPOOL_TIMED_OUT : LANEPOOL_OK;
    if (!init_wait_frame(&frame, driver, helps, deadline_ns))
        return LANEPOOL_NO_RESOURCE;
    lanepool_i_mutex_lock(&work->lock);
    bool in_time = true;
    while ((must_wait = condition_locked(sequence)) && in_time)
        in_time = help_or_sleep_locked(&frame, work, NULL);
    lanepool_i_mutex_unlock(&work->lock);
    lanepool_i_waiter_fini(&frame.waiter);
    lanepool_i_note_acquire(work);
    return must_wait ? LANEPOOL_TIMED_OUT : LANEPOOL_OK;
}

lanepool_status lanepool_sequence_wait(lanepool_sequence *sequence, uint64_t wait_max_ns)
{
    bool helps;
    if (sequence == NULL)
        return LANEPOOL_INVALID;
    lanepool_status status = check_may_wait(sequence->work, &helps);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_driver *driver = driver_of(sequence->work);
    return wait_while_condition(sequence, driver, helps, is_busy_locked,
                                lanepool_i_driver_deadline(driver, wait_max_ns));
}

/* A drain that runs is on another thread, or this call would be a deadlock. */
lanepool_status lanepool_i_sequence_await_drain(lanepool_sequence *sequence)
{
    return wait_while_condition(sequence, NULL, false, is_running_locked, UINT64_MAX);
}

/* --- for one of its tasks --- */

/* If the work has no sequence any more, the task is being cancelled, and only its future posts. */
static bool help_or_sleep_for_task(wait_frame *frame, lanepool_i_sequence_work *work,
                                   lanepool_future *future)
{
    bool in_time = true;
    lanepool_i_mutex_lock(&work->lock);
    bool has_sequence = frame->helps && work->sequence != NULL;
    if (has_sequence)
        in_time = help_or_sleep_locked(frame, work, future);
    lanepool_i_mutex_unlock(&work->lock);
    return has_sequence ? in_time : sleep_until_posted(frame, frame->waiter.deadline_ns);
}

/* Returns true if the future is complete. Then takes all posts: the one by the future, and those to
 * the waiter. */
static bool remove_listener(wait_frame *frame, lanepool_future *future,
                            lanepool_i_listener *listener)
{
    if (lanepool_i_future_unlisten(future, listener))
        return false;
    frame->waiter.driver = NULL;
    while (frame->received < frame->called + 1)
        (void)sleep_until_posted(frame, UINT64_MAX);
    return true;
}

static lanepool_status wait_for_task(lanepool_i_sequence_work *work, lanepool_future *future,
                                     bool helps, uint64_t deadline_ns)
{
    wait_frame frame;
    if (!init_wait_frame(&frame, driver_of(work), helps, deadline_ns))
        return LANEPOOL_NO_RESOURCE;
    lanepool_i_listener listener = { .semaphore = &frame.waiter.semaphore };
    bool complete = !lanepool_i_future_listen(future, &listener);
    bool in_time = true;
    if (!complete) {
        while (!lanepool_i_future_is_complete(future) && in_time)
            in_time = help_or_sleep_for_task(&frame, work, future);
        complete = remove_listener(&frame, future, &listener);
    }
    lanepool_i_waiter_fini(&frame.waiter);
    return complete ? LANEPOOL_OK : LANEPOOL_TIMED_OUT;
}

static lanepool_status await_task(lanepool_future *future, uint64_t wait_max_ns)
{
    bool helps;
    lanepool_i_sequence_work *work = lanepool_i_sequence_work_pin(future);
    if (work == NULL)
        return LANEPOOL_OK;
    lanepool_status status = check_may_wait(work, &helps);
    if (status == LANEPOOL_OK)
        status = wait_for_task(work, future, helps,
                               lanepool_i_driver_deadline(driver_of(work), wait_max_ns));
    lanepool_i_executor_release(work->executor);
    return status;
}

static lanepool_i_driver *driver_of_task(lanepool_future *future)
{
    lanepool_i_sequence_work *work = lanepool_i_sequence_work_pin(future);
    if (work == NULL)
        return NULL;
    lanepool_i_driver *driver = driver_of(work);
    lanepool_i_executor_release(work->executor);
    return driver;
}

const lanepool_i_future_owner lanepool_i_sequence_future_owner = {
    .cancel = lanepool_i_sequence_cancel_task,
    .await = await_task,
    .driver = driver_of_task,
};
