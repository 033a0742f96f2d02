/*
 * Owns waiting for sequences and their tasks.
 *
 * A thread of the executor's own, inside a task, does not only sleep: while the
 * sequence's errand is HANDED it drains the sequence itself, as far as it needs.
 * Otherwise all threads of an executor could wait for what only they could run.
 * It is known to be one of them by a drain that it is inside of, or by a task of
 * the pool whose workers they are.
 *
 * An onlooker is posted, and taken out of the list, under the errand's lock:
 * whenever a drain leaves the sequence, or its errand becomes HANDED.
 */
#include "base/deadline.h"
#include "route/pool.h"
#include "sequence/sequence.h"

/* --- who may wait --- */

static bool is_inside_pool(const lanepool_pool *pool, bool *in_callback)
{
    const lanepool_i_thread_record *record =
        pool != NULL ? lanepool_i_thread_record_find(pool) : NULL;
    *in_callback = record != NULL && record->callbacks > 0;
    return record != NULL && lanepool_i_thread_is_inside_pool(record);
}

/* DEADLOCK: a call that the thread is in has to return first. */
static lanepool_status judge(const lanepool_i_sequence_work *errand, bool *helps)
{
    bool in_callback;
    uint32_t depth = 0;
    *helps = is_inside_pool(errand->executor->pool, &in_callback);
    const lanepool_i_drain *drain = lanepool_i_thread_drains();
    for (; drain != NULL && drain->errand != errand; drain = drain->outer) {
        *helps |= drain->errand->executor == errand->executor;
        depth++;
    }
    bool deadlock = drain != NULL || in_callback || depth >= LANEPOOL_I_NESTED_WAITS_MAX;
    return deadlock ? LANEPOOL_DEADLOCK : LANEPOOL_OK;
}

/* --- one look --- */

/* On the stack of who waits. */
typedef struct onlook {
    lanepool_i_sequence_waiter onlooker;
    uint32_t posted;   /* how often it was posted as an onlooker */
    uint32_t received; /* how many posts it has taken */
    bool helps;
} onlook;

static bool begin(onlook *look, bool helps)
{
    look->posted = 0;
    look->received = 0;
    look->helps = helps;
    return lanepool_i_semaphore_init(&look->onlooker.semaphore);
}

static void enter_locked(lanepool_sequence *sequence, lanepool_i_sequence_waiter *onlooker)
{
    onlooker->posted = false;
    onlooker->next = sequence->onlookers;
    sequence->onlookers = onlooker;
}

/* Not posted: the sequence is there, since its end posts. */
static void leave_locked(lanepool_sequence *sequence, const lanepool_i_sequence_waiter *onlooker)
{
    lanepool_i_sequence_waiter **at = &sequence->onlookers;
    while (*at != onlooker)
        at = &(*at)->next;
    *at = onlooker->next;
}

static bool sleep_once(onlook *look, uint64_t deadline_ns)
{
    bool posted = lanepool_i_semaphore_wait_until(&look->onlooker.semaphore, deadline_ns);
    look->received += posted;
    return posted;
}

/* With the lock, given up meanwhile: helps, or sleeps. False: the time has passed. */
static bool pass_time_locked(onlook *look, lanepool_i_sequence_work *errand, lanepool_future *until,
                             uint64_t deadline_ns)
{
    if (look->helps && lanepool_i_drain_here_locked(errand, until)) {
        lanepool_i_mutex_lock(&errand->lock);
        return lanepool_i_clock_now() < deadline_ns;
    }
    lanepool_sequence *sequence = errand->sequence;
    enter_locked(sequence, &look->onlooker);
    lanepool_i_mutex_unlock(&errand->lock);
    bool in_time = sleep_once(look, deadline_ns);
    lanepool_i_mutex_lock(&errand->lock);
    look->posted += look->onlooker.posted;
    if (!look->onlooker.posted)
        leave_locked(sequence, &look->onlooker);
    return in_time;
}

/* --- for a sequence --- */

static bool is_running_locked(const lanepool_sequence *sequence)
{
    return sequence->errand->state == LANEPOOL_I_WORK_RUNNING;
}

static bool is_busy_locked(const lanepool_sequence *sequence)
{
    return sequence->queue.first != NULL || is_running_locked(sequence);
}

/* Without a semaphore if it need not wait. */
static lanepool_status await(lanepool_sequence *sequence, bool helps,
                             bool (*goes_on_locked)(const lanepool_sequence *sequence),
                             uint64_t deadline_ns)
{
    lanepool_i_sequence_work *errand = sequence->errand;
    onlook look;
    lanepool_i_mutex_lock(&errand->lock);
    bool goes_on = goes_on_locked(sequence);
    lanepool_i_mutex_unlock(&errand->lock);
    if (!goes_on || deadline_ns == 0)
        return goes_on ? LANEPOOL_TIMED_OUT : LANEPOOL_OK;
    if (!begin(&look, helps))
        return LANEPOOL_NO_THREAD;
    lanepool_i_mutex_lock(&errand->lock);
    bool in_time = true;
    while ((goes_on = goes_on_locked(sequence)) && in_time)
        in_time = pass_time_locked(&look, errand, NULL, deadline_ns);
    lanepool_i_mutex_unlock(&errand->lock);
    lanepool_i_semaphore_fini(&look.onlooker.semaphore);
    return goes_on ? LANEPOOL_TIMED_OUT : LANEPOOL_OK;
}

lanepool_status lanepool_sequence_wait(lanepool_sequence *sequence, uint64_t wait_ns_max)
{
    bool helps;
    if (sequence == NULL)
        return LANEPOOL_INVALID;
    lanepool_status status = judge(sequence->errand, &helps);
    if (status != LANEPOOL_OK)
        return status;
    return await(sequence, helps, is_busy_locked, lanepool_i_deadline(wait_ns_max));
}

lanepool_status lanepool_i_sequence_await_drain(lanepool_sequence *sequence)
{
    return await(sequence, false, is_running_locked, UINT64_MAX);
}

/* --- for one of its tasks --- */

/* Until the task has ended its sequence may be in the midst of being destroyed: then the task is
 * being cancelled, and nothing but its future posts. */
static bool look_for_task(onlook *look, lanepool_i_sequence_work *errand, lanepool_future *future,
                          uint64_t deadline_ns)
{
    bool in_time = true;
    lanepool_i_mutex_lock(&errand->lock);
    bool there = look->helps && errand->sequence != NULL;
    if (there)
        in_time = pass_time_locked(look, errand, future, deadline_ns);
    lanepool_i_mutex_unlock(&errand->lock);
    return there ? in_time : sleep_once(look, deadline_ns);
}

/* A listener that is being served is posted once more, whatever else was posted. */
static bool stop_listening(onlook *look, lanepool_future *future, lanepool_i_listener *listener)
{
    if (lanepool_i_future_unlisten(future, listener))
        return false;
    while (look->received < look->posted + 1)
        (void)sleep_once(look, UINT64_MAX);
    return true;
}

static lanepool_status await_task(lanepool_i_sequence_work *errand, lanepool_future *future,
                                  bool helps, uint64_t deadline_ns)
{
    onlook look;
    if (!begin(&look, helps))
        return LANEPOOL_NO_THREAD;
    lanepool_i_listener listener = { NULL, NULL, NULL, &look.onlooker.semaphore };
    bool complete = !lanepool_i_future_listen(future, &listener);
    bool in_time = true;
    if (!complete) {
        while (!lanepool_i_future_is_complete(future) && in_time)
            in_time = look_for_task(&look, errand, future, deadline_ns);
        complete = stop_listening(&look, future, &listener);
    }
    lanepool_i_semaphore_fini(&look.onlooker.semaphore);
    return complete ? LANEPOOL_OK : LANEPOOL_TIMED_OUT;
}

lanepool_status lanepool_i_sequence_await_task(lanepool_future *future, uint64_t deadline_ns)
{
    bool helps;
    lanepool_i_sequence_work *errand = lanepool_i_sequence_work_pin(future);
    if (errand == NULL)
        return LANEPOOL_OK;
    lanepool_status status = judge(errand, &helps);
    if (status == LANEPOOL_OK)
        status = await_task(errand, future, helps, deadline_ns);
    lanepool_i_executor_release(errand->executor);
    return status;
}
