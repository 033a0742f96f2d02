/*
 * The countdown that makes a task ready: it starts at the number of things the
 * task waits for, plus one that the router holds until it has placed them all.
 *
 * Only the decrement that reaches zero schedules the task. It is acquire and
 * release: what every arrival did before it happens before the task runs. A
 * decrement that can see that it is the last one need not be made: the value 1
 * was left by the other arrivals, and reading it with acquire orders the same.
 */
#ifndef LANEPOOL_SRC_TASK_COUNTDOWN_H
#define LANEPOOL_SRC_TASK_COUNTDOWN_H

#include "base/planted.h"
#include "task/task.h"

/* What the latch of a narrow task with so many claims starts at. A single grant that finds 1 need
 * not count: with one claim there is nothing that the router would have to hold back. */
static inline uint32_t lanepool_i_countdown_start(size_t claim_count)
{
    return claim_count <= 1 ? 1 : (uint32_t)claim_count + 1;
}

/* By the role's holder, before the first place is taken. */
static inline void lanepool_i_countdown_set(lanepool_i_task *task, uint32_t count)
{
    uint64_t word = load_relaxed(&task->word);
    if ((word & LANEPOOL_I_WIDE) != 0)
        store_relaxed(&task->as.wide.wait, count);
    else
        store_relaxed(&task->word, (word & ~LANEPOOL_I_WAIT_MASK) | count);
}

/* Where tasks are reaped: what the latch of one that has started says. A plain store: who wants to
 * know has all others pass a barrier; see census.h. */
#define LANEPOOL_I_COUNTDOWN_STARTED UINT32_MAX

static inline void lanepool_i_countdown_set_started(lanepool_i_task *task)
{
    store_relaxed(&task->as.wide.wait, LANEPOOL_I_COUNTDOWN_STARTED);
}

static inline bool lanepool_i_countdown_has_started(const lanepool_i_task *task)
{
    return load_relaxed(&task->as.wide.wait) == LANEPOOL_I_COUNTDOWN_STARTED;
}

/* Of a task that waits, by the role's holder: it waits for one thing more. */
static inline void lanepool_i_countdown_hold(lanepool_i_task *task)
{
    if (lanepool_i_task_is_wide(task))
        fetch_add_relaxed(&task->as.wide.wait, 1);
    else
        fetch_add_relaxed(&task->word, 1);
}

static inline bool lanepool_i_countdown_arrive_wide(lanepool_i_task *task, uint32_t arrivals)
{
    if (load_acquire(&task->as.wide.wait) == arrivals)
        return true;
    if (PLANTED(RELAXED_COUNTDOWN))
        return fetch_sub_relaxed(&task->as.wide.wait, arrivals) == arrivals;
    return fetch_sub_acq_rel(&task->as.wide.wait, arrivals) == arrivals;
}

static inline bool lanepool_i_countdown_arrive_narrow(lanepool_i_task *task, uint32_t arrivals)
{
    if ((load_acquire(&task->word) & LANEPOOL_I_WAIT_MASK) == arrivals)
        return true;
    return (fetch_sub_acq_rel(&task->word, arrivals) & LANEPOOL_I_WAIT_MASK) == arrivals;
}

/* Counts `arrivals` down at once; true: the task is ready, and the caller schedules it. */
static inline bool lanepool_i_countdown_arrive(lanepool_i_task *task, uint32_t arrivals)
{
    if (PLANTED(COUNTDOWN_TWICE) && arrivals == 1)
        arrivals = 2;
    if (lanepool_i_task_is_wide(task))
        return lanepool_i_countdown_arrive_wide(task, arrivals);
    return lanepool_i_countdown_arrive_narrow(task, arrivals);
}

#endif
