/*
 * Owns the judgement of quiet moments: when no thread can go on, nobody may wait without a reason.
 *
 * A task that was accepted and has not started is excused by an unfinished one that it conflicts
 * with, may stand behind, and that runs or is excused itself; or if no worker sleeps; or if it is a
 * pump's, which waits for whoever pumps. A submitter from outside is excused if the pool is full,
 * or one of its lanes, or if another that is excused wants one of them, too; a submit inside a task
 * by nothing. A cancelled task is a mark that holds others up as long as something holds it up
 * itself: with a rule those that conflict with it; with claims readers behind a writer, in the
 * writer's lane.
 *
 * It is called on any thread's stack, and reads what others write: ThreadSanitizer must not see it.
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

/* Whether it can be excused. */
static bool is_held_up(const struct scene_task *task)
{
    return (is_pending(task) && noted_at(&task->call_begin) == 0) ||
           (is_mark(task) && scene.options.is_compatible != NULL && *task->claims != '*');
}

/* Whether another task that runs or is excused holds this one up. */
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
            sim_fail("task %u could run, and a worker sleeps", i);
}

/* From outside: inside a task nobody may block. */
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

/* One of its lanes is full, or wanted by one that has to wait: who came first cannot be seen. */
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

/* Those whose lanes are full come first, then those behind them, so that nobody waits for another
 * who waits for him. */
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
            sim_fail("task %u waits to be submitted, and there is room for it", i);
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
