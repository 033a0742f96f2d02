/*
 * Owns the judgement of quiet moments: when no thread is ready, no thread may wait without a
 * reason.
 *
 * An accepted task that has not started has one of these reasons:
 * * It conflicts with an unfinished task that may precede it and that runs, or has a reason itself.
 * * No worker sleeps.
 * * It belongs to a pump, and waits for a thread that pumps.
 *
 * A submitter outside of the pool's tasks has a reason if the pool is full, if one of its lanes is
 * full, or if another submitter with a reason wants one of its lanes. A submit inside a task has
 * none.
 *
 * A cancelled task is a tombstone, which blocks other tasks while it is blocked itself. With a rule
 * it blocks those that conflict with it. With claims it blocks readers behind a writer in the
 * writer's lane.
 *
 * The judgement runs on any thread's stack, and reads what other threads write. ThreadSanitizer
 * must not instrument it.
 */
#include <string.h>

#include "feature/delay.h"
#include "route/pool.h"
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

static bool is_mark(const struct scene_task *task)
{
    return noted_is_accepted(task) && noted_call(task) == SCENE_CANCELLED &&
           noted_at(&task->call_end) != 0;
}

static bool claims(const struct scene_task *task, char key)
{
    return strchr(task->claims, toupper(key)) != NULL || strchr(task->claims, tolower(key)) != NULL;
}

static bool is_mark_between(const struct scene_task *other, const struct scene_task *task)
{
    for (uint32_t i = 0; i < scene.task_count; i++) {
        const struct scene_task *mark = &scene.tasks[i];
        for (const char *key = mark->claims; is_mark(mark) && *key; key++)
            if (isupper(*key) && claims(other, *key) && claims(task, *key) &&
                may_stand_before(other, mark) && may_stand_before(mark, task))
                return true;
    }
    return false;
}

static bool holds_up(const struct scene_task *other, const struct scene_task *task)
{
    return may_stand_before(other, task) &&
           (scene_conflict(task, other) ||
            (scene.options.is_compatible == NULL && is_mark_between(other, task)));
}

/* Returns true if the task waits and may have a reason. */
static bool is_held_up(const struct scene_task *task)
{
    return (is_pending(task) && noted_at(&task->call_begin) == 0) ||
           (is_mark(task) && scene.options.is_compatible != NULL && *task->claims != '*');
}

/* Returns true if the task is blocked by another one that runs or has a reason. */
static bool has_excuse(const struct scene_task *task, const bool *excused)
{
    for (uint32_t i = 0; i < scene.task_count; i++) {
        const struct scene_task *other = &scene.tasks[i];
        bool goes_on = is_pending(other) && noted_at(&other->call_begin) != 0;
        if (other != task && (excused[i] || goes_on) && holds_up(other, task))
            return true;
    }
    return false;
}

static void judge_waiting_tasks(void)
{
    bool excused[SCENE_TASKS_MAX] = { false };
    bool changed = true;

    if (atomic_load(&scene.paused))
        return;
    for (uint32_t i = 0; i < scene.task_count; i++)
        excused[i] = scene.tasks[i].pump != NULL && is_pending(&scene.tasks[i]);
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < scene.task_count; i++) {
            const struct scene_task *task = &scene.tasks[i];
            if (!excused[i] && is_held_up(task) && has_excuse(task, excused))
                excused[i] = changed = true;
        }
    }
    for (uint32_t i = 0; i < scene.task_count; i++)
        if (noted_is_accepted(&scene.tasks[i]) && scene.tasks[i].pool == NULL &&
            noted_at(&scene.tasks[i].call_begin) == 0 && !excused[i])
            sim_fail("task %u could run, but a worker sleeps", i);
}

/* Returns true if the task's submitter blocks. Submitters outside of tasks do; inside a task no
 * call blocks. */
static bool is_blocked(const struct scene_task *task)
{
    return noted_is_in_submit(task) &&
           atomic_load_explicit(&task->form, memory_order_relaxed) == SCENE_WAITS;
}

static bool counts(const struct scene_task *task)
{
    return !is_blocked(task) && (is_pending(task) || is_mark(task));
}

static bool is_full(char key)
{
    uint64_t own = scene.limits[toupper(key) - 'A'];
    uint64_t limit = own != 0 ? own : scene.options.lane_pending_max;
    uint64_t pending = 0;

    for (uint32_t i = 0; i < scene.task_count; i++)
        pending += counts(&scene.tasks[i]) && claims(&scene.tasks[i], key);
    return limit != 0 && pending >= limit;
}

/* Returns true if one of the task's lanes is full, or is wanted by a submitter that has to wait.
 * The order of submitters cannot be seen here. */
static bool waits_for_lanes(const struct scene_task *task, const bool *waits)
{
    for (const char *key = task->claims; *key; key++) {
        if (is_full(*key))
            return true;
        for (uint32_t i = 0; i < scene.task_count; i++)
            if (waits[i] && claims(&scene.tasks[i], *key))
                return true;
    }
    return false;
}

/* Finds the submitters whose lanes are full, and then those behind them. In this order no two
 * submitters excuse one another. */
static void find_waits_for_lanes(bool *waits)
{
    bool changed = scene.options.lane_pending_max != 0;

    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < scene.task_count; i++) {
            const struct scene_task *task = &scene.tasks[i];
            if (!waits[i] && is_blocked(task) && waits_for_lanes(task, waits))
                waits[i] = changed = true;
        }
    }
}

static void judge_submitters(void)
{
    uint64_t limit = scene.options.pending_max;
    uint64_t pending = scene.pool->delays->count;
    bool waits[SCENE_TASKS_MAX] = { false };

    for (uint32_t i = 0; i < scene.task_count; i++)
        pending += counts(&scene.tasks[i]);
    if (limit != 0 && pending >= limit)
        return;
    find_waits_for_lanes(waits);
    for (uint32_t i = 0; i < scene.task_count; i++)
        if (is_blocked(&scene.tasks[i]) && !waits[i])
            sim_fail("task %u waits to be submitted, but there is room for it", i);
}

void scene_judge_quiet(void *context)
{
    (void)context;
    if (scene.pool == NULL || atomic_load_explicit(&scene.stops, memory_order_relaxed))
        return;
    uint64_t word = atomic_load_explicit(&scene.pool->workers.sleepers.word, memory_order_relaxed);
    bool cancels = atomic_load_explicit(&scene.cancelling, memory_order_relaxed) != 0;
    if (lanepool_i_sleepers_sleeping(word) > 0 && !cancels &&
        scene.options.layout == LANEPOOL_PER_KEY)
        judge_waiting_tasks();
    judge_submitters();
}
