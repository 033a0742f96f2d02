/*
 * The countdown that makes a task ready. It starts at the number of grants that the task waits for,
 * plus one that the router holds until it has routed the task. Under a predicate it counts the
 * tasks to wait for, in place of grants.
 *
 * Only the decrement that reaches zero schedules the task. It is acquire and release: what each
 * arrival did before its decrement happens before the task runs. The last arrival need not
 * decrement: if it reads, with acquire, exactly what it would subtract, all others have arrived,
 * and it is ordered after them.
 */
#ifndef LANEPOOL_SRC_TASK_COUNTDOWN_H
#define LANEPOOL_SRC_TASK_COUNTDOWN_H

#include "base/planted.h"
#include "task/task.h"

/* Returns where a plain task's countdown starts. With one claim it is 1: the router holds nothing
 * back, and the only grant finds 1 and need not count. */
static inline uint32_t lanepool_i_countdown_start(size_t claim_count)
{
    return claim_count <= 1 ? 1 : (uint32_t)claim_count + 1;
}

/* Sets the countdown before the first entry is appended. Role's holder only. */
static inline void lanepool_i_countdown_set(lanepool_i_task *task, uint32_t count)
{
    uint64_t word = load_relaxed(&task->word);
    if ((word & LANEPOOL_I_WIDE) != 0)
        store_relaxed(&task->as.wide.countdown, count);
    else
        store_relaxed(&task->word, (word & ~LANEPOOL_I_COUNTDOWN_MASK) | count);
}

/* Records in the countdown that the task has started, under rules that reap tasks. A plain store:
 * before a thread reads it, it calls lanepool_i_membarrier_others(); see census.h. */
#define LANEPOOL_I_COUNTDOWN_STARTED UINT32_MAX

static inline void lanepool_i_countdown_set_started(lanepool_i_task *task)
{
    store_relaxed(&task->as.wide.countdown, LANEPOOL_I_COUNTDOWN_STARTED);
}

static inline bool lanepool_i_countdown_has_started(const lanepool_i_task *task)
{
    return load_relaxed(&task->as.wide.countdown) == LANEPOOL_I_COUNTDOWN_STARTED;
}

/* Makes a waiting task wait for one thing more. Role's holder only. */
static inline void lanepool_i_countdown_hold(lanepool_i_task *task)
{
    if (lanepool_i_task_is_wide(task))
        fetch_add_relaxed(&task->as.wide.countdown, 1);
    else
        fetch_add_relaxed(&task->word, 1);
}

static inline bool lanepool_i_countdown_arrive_wide(lanepool_i_task *task, uint32_t arrivals)
{
    if (load_acquire(&task->as.wide.countdown) == arrivals)
        return true;
    if (PLANTED(RELAXED_COUNTDOWN))
        return fetch_sub_relaxed(&task->as.wide.countdown, arrivals) == arrivals;
    return fetch_sub_acq_rel(&task->as.wide.countdown, arrivals) == arrivals;
}

static inline bool lanepool_i_countdown_arrive_plain(lanepool_i_task *task, uint32_t arrivals)
{
    if ((load_acquire(&task->word) & LANEPOOL_I_COUNTDOWN_MASK) == arrivals)
        return true;
    return (fetch_sub_acq_rel(&task->word, arrivals) & LANEPOOL_I_COUNTDOWN_MASK) == arrivals;
}

/* Counts down by `arrivals`. Returns true if the task is ready; then the caller schedules it. */
static inline bool lanepool_i_countdown_arrive(lanepool_i_task *task, uint32_t arrivals)
{
    if (PLANTED(COUNTDOWN_TWICE) && arrivals == 1)
        arrivals = 2;
    if (lanepool_i_task_is_wide(task))
        return lanepool_i_countdown_arrive_wide(task, arrivals);
    return lanepool_i_countdown_arrive_plain(task, arrivals);
}

#endif
