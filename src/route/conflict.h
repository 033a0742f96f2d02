/* Asks the program's predicate about two tasks. */
#ifndef LANEPOOL_SRC_ROUTE_CONFLICT_H
#define LANEPOOL_SRC_ROUTE_CONFLICT_H

#include "platform/notes.h"
#include "route/pool.h"

/* Returns what the predicate sees of a task: the front of a wide task's block. */
static inline const lanepool_task_view *lanepool_i_task_view(const lanepool_i_task *task)
{
    return (const lanepool_task_view *)task;
}

_Static_assert(offsetof(lanepool_task_view, kind) == offsetof(lanepool_i_task, as.wide.kind),
               "a wide task begins like a view");

/* Role's holder, inside a callback: returns true if the rule lets the tasks overlap in either order
 * of the two. */
static inline bool lanepool_i_rule_permits(const lanepool_pool *pool, const lanepool_i_task *a,
                                           const lanepool_i_task *b)
{
    const lanepool_task_view *view_a = lanepool_i_task_view(a);
    const lanepool_task_view *view_b = lanepool_i_task_view(b);
    return pool->options.is_compatible(view_a, view_b, pool->options.user) &&
           pool->options.is_compatible(view_b, view_a, pool->options.user);
}

/* Role's holder: returns true if the two tasks conflict. Counts as a callback: the predicate may
 * submit, but must not wait. */
static inline bool lanepool_i_tasks_conflict(lanepool_pool *pool, lanepool_i_thread_record *record,
                                             const lanepool_i_task *new_one,
                                             const lanepool_i_task *old)
{
    lanepool_i_note_acquire(&pool->notes.submits);
    record->callbacks++;
    bool compatible = lanepool_i_rule_permits(pool, new_one, old);
    record->callbacks--;
    for (size_t i = 0; pool->slots.asked[i] != NULL; i++)
        pool->slots.asked[i]->asked(pool, record, new_one, old, compatible);
    lanepool_i_note_release(&pool->notes.asked);
    return !compatible;
}

#endif
