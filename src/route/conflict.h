/* Asks the program's predicate about two tasks. */
#ifndef LANEPOOL_SRC_ROUTE_CONFLICT_H
#define LANEPOOL_SRC_ROUTE_CONFLICT_H

#include "route/pool.h"

/* Returns what the predicate sees of a task: the front of a wide task's block. */
static inline const lanepool_task_view *lanepool_i_task_view(const lanepool_i_task *task)
{
    return (const lanepool_task_view *)task;
}

_Static_assert(offsetof(lanepool_task_view, kind) == offsetof(lanepool_i_task, as.wide.kind),
               "a wide task begins like a view");

/* Role's holder: returns true if the two tasks conflict. Counts as a callback: the predicate may
 * submit, but must not wait. */
static inline bool lanepool_i_tasks_conflict(lanepool_pool *pool, lanepool_i_thread_record *record,
                                             const lanepool_i_task *new_one,
                                             const lanepool_i_task *old)
{
    const lanepool_task_view *a = lanepool_i_task_view(new_one);
    const lanepool_task_view *b = lanepool_i_task_view(old);
    record->callbacks++;
    bool compatible = pool->options.is_compatible(a, b, pool->options.user) &&
                      pool->options.is_compatible(b, a, pool->options.user);
    record->callbacks--;
    return !compatible;
}

#endif
