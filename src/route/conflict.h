/* Asks the caller's rule about two tasks. */
#ifndef LANEPOOL_SRC_ROUTE_CONFLICT_H
#define LANEPOOL_SRC_ROUTE_CONFLICT_H

#include "route/pool.h"

/* A wide task's front is what the rule sees of it. */
static inline const lanepool_task_view *lanepool_i_task_view(const lanepool_i_task *task)
{
    return (const lanepool_task_view *)task;
}

_Static_assert(offsetof(lanepool_task_view, kind) == offsetof(lanepool_i_task, as.wide.kind),
               "a wide task begins like a view");

/* Role's holder: the callback may submit, and a wait in it must be refused. */
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
