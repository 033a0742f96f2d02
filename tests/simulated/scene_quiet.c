/*
 * Owns the judgement of quiet moments: when no thread can go on, nobody may wait without a reason.
 *
 * A task that was accepted and has not started is excused by an unfinished one that it conflicts
 * with, may stand behind, and that runs or is excused itself; or if no worker sleeps; or if it is a
 * pump's, which waits for whoever pumps. A submitter
 * from outside is excused if the pool is full, a submit inside a task by nothing.
 *
 * It is called on any thread's stack, and reads what others write: ThreadSanitizer must not see it.
 */
#include "pool.h"
#include "simulated/notes.h"

static bool may_stand_before(const struct scene_task *other, const struct scene_task *task)
{
    return noted_at(&task->submit_end) == 0 ||
           noted_at(&other->submit_begin) < noted_at(&task->submit_end);
}

static bool is_pending(const struct scene_task *task)
{
    return task->pool == NULL && (noted_is_accepted(task) || noted_is_in_submit(task)) &&
           noted_at(&task->call_end) == 0;
}

/* With a rule, marks keep their places until what they waited for has finished. */
static bool may_be_a_mark(const struct scene_task *task)
{
    return scene.options.is_compatible != NULL && task->may_be_cancelled &&
           noted_call(task) == SCENE_CANCELLED;
}

/* Whether another task that runs or is excused holds this one up. */
static bool has_excuse(const struct scene_task *task, const bool *excused)
{
    for (uint32_t i = 0; i < scene.task_count; i++) {
        const struct scene_task *other = &scene.tasks[i];
        bool may_hold_up = may_be_a_mark(other) ||
                           (is_pending(other) && (excused[i] || noted_at(&other->call_begin) != 0));
        if (other != task && may_hold_up && scene_conflict(task, other) &&
            may_stand_before(other, task))
            return true;
    }
    return false;
}

static void judge_waiting_tasks(void)
{
    bool excused[SCENE_TASKS_MAX] = { false };
    bool changed = true;

    for (uint32_t i = 0; i < scene.task_count; i++)
        excused[i] = scene.tasks[i].pump != NULL;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < scene.task_count; i++) {
            const struct scene_task *task = &scene.tasks[i];
            if (!excused[i] && is_pending(task) && noted_at(&task->call_begin) == 0 &&
                has_excuse(task, excused))
                excused[i] = changed = true;
        }
    }
    for (uint32_t i = 0; i < scene.task_count; i++)
        if (noted_is_accepted(&scene.tasks[i]) && scene.tasks[i].pool == NULL &&
            noted_at(&scene.tasks[i].call_begin) == 0 && !excused[i])
            sim_fail("task %u could run, and a worker sleeps", i);
}

static void judge_submitters(void)
{
    uint64_t limit = scene.options.pending_max;
    uint64_t pending = scene.pool->delays.count;
    const struct scene_task *blocked = NULL;

    for (uint32_t i = 0; i < scene.task_count; i++) {
        const struct scene_task *task = &scene.tasks[i];
        bool waits = noted_is_in_submit(task) &&
                     atomic_load_explicit(&task->form, memory_order_relaxed) == SCENE_WAITS;
        if (waits)
            blocked = task;
        else
            pending += is_pending(task);
    }
    if (blocked != NULL && (limit == 0 || pending < limit))
        sim_fail("task %d waits to be submitted, and the pool is not full", noted_index(blocked));
}

void scene_judge_quiet(void *context)
{
    (void)context;
    if (scene.pool == NULL || atomic_load_explicit(&scene.stops, memory_order_relaxed))
        return;
    uint64_t word = atomic_load_explicit(&scene.pool->crew.park.word, memory_order_relaxed);
    if (lanepool_i_park_sleeping(word) > 0 && scene.options.layout == LANEPOOL_PER_KEY)
        judge_waiting_tasks();
    judge_submitters();
}
