/* Owns the final judgement of a scenario's tasks. */
#include "simulated/notes.h"

/* `cancelled` does not say a task's ticket. */
static bool has_ticket(const struct scene_task *task)
{
    return noted_call(task) != SCENE_CANCELLED;
}

/* Returns true if task `a` was accepted before task `b`, as far as is known. */
static bool comes_before(const struct scene_task *a, const struct scene_task *b)
{
    if (!has_ticket(a) || !has_ticket(b))
        return noted_at(&a->submit_end) < noted_at(&b->submit_begin);
    uint64_t mask = ((uint64_t)1 << 40) - 1;

    return ((noted_at(&b->ticket) - noted_at(&a->ticket)) & mask) < mask / 2;
}

static void judge_cancels(const struct scene_task *task)
{
    uint32_t cancels = atomic_load_explicit(&task->cancels, memory_order_relaxed);

    if (cancels > 1 || (cancels == 1 && noted_call(task) != SCENE_CANCELLED))
        sim_fail("task %d: %u calls say that they have cancelled it", noted_index(task), cancels);
    if (atomic_load(&task->told_running) && noted_call(task) != SCENE_RAN)
        sim_fail("task %d never started, but a cancelling call answered RUNNING",
                 noted_index(task));
}

static void judge_one(const struct scene_task *task)
{
    uint32_t calls = atomic_load_explicit(&task->calls, memory_order_relaxed);
    uint32_t releases = atomic_load_explicit(&task->releases, memory_order_relaxed);
    uint32_t thens = atomic_load_explicit(&task->thens, memory_order_relaxed);
    bool accepted = noted_is_accepted(task);

    if (calls != accepted)
        sim_fail("task %d was %saccepted and called %u times", noted_index(task),
                 accepted ? "" : "not ", calls);
    if (!accepted)
        return;
    if (noted_at(&task->call_end) == 0)
        sim_fail("the call of task %d has not ended", noted_index(task));
    if (noted_call(task) != SCENE_RAN && !atomic_load(&scene.stops) && !task->may_be_cancelled &&
        atomic_load(&scene.cancels) == 0)
        sim_fail("task %d was not run, although the pool was not stopped", noted_index(task));
    judge_cancels(task);
    if (releases != (task->has_release && noted_call(task) != SCENE_HANDED_BACK))
        sim_fail("task %d was released %u times", noted_index(task), releases);
    if (thens != task->then_asked)
        sim_fail("task %d: its continuation was called %u times", noted_index(task), thens);
}

/* Each task that was neither run nor handed back must have been cancelled by one of the calls. */
static void judge_counts(void)
{
    size_t told = 0;
    size_t said = atomic_load_explicit(&scene.counted, memory_order_relaxed);

    for (uint32_t i = 0; i < scene.task_count; i++) {
        told += noted_is_accepted(&scene.tasks[i]) && !scene.tasks[i].may_be_cancelled &&
                noted_call(&scene.tasks[i]) == SCENE_CANCELLED;
        said += atomic_load_explicit(&scene.tasks[i].cancels, memory_order_relaxed);
    }
    if (said > told || (said < told && !atomic_load(&scene.stops)))
        sim_fail("%zu tasks were cancelled, but the calls counted %zu", told, said);
}

static bool is_of_stopped_pool(const struct scene_task *task)
{
    return noted_at(&scene.stopped) != 0 && (task->pool == NULL || task->pool == scene.pool);
}

/* Judges the order of two tasks, of which `first` was accepted first. */
static void judge_pair(const struct scene_task *first, const struct scene_task *second)
{
    bool both_ran = noted_call(first) == SCENE_RAN && noted_call(second) == SCENE_RAN;
    /* False if single tasks were cancelled: that happens at any moment, perhaps before a ticket was
     * given. */
    bool all_stopped =
        atomic_load(&scene.cancels) == 0 && !first->may_be_cancelled && !second->may_be_cancelled;
    bool none_ran = noted_call(first) != SCENE_RAN && noted_call(second) != SCENE_RAN;

    if (noted_at(&second->submit_end) < noted_at(&first->submit_begin) &&
        (all_stopped || (noted_call(first) == SCENE_RAN && noted_call(second) == SCENE_RAN)))
        sim_fail("task %d was submitted after task %d and accepted before it", noted_index(first),
                 noted_index(second));
    if (both_ran && scene_conflict(first, second) && !scene_before(first, second))
        sim_fail("task %d began before task %d had ended", noted_index(second), noted_index(first));
    if (both_ran && scene_conflict(first, second) && is_of_stopped_pool(first) &&
        noted_at(&first->call_end) > noted_at(&scene.stopped))
        sim_fail("task %d waited for task %d when the pool had stopped, but ran",
                 noted_index(second), noted_index(first));
    if (none_ran && all_stopped && !scene_before(first, second))
        sim_fail("task %d was given back before task %d", noted_index(second), noted_index(first));
    if (noted_call(second) == SCENE_RAN && noted_call(first) != SCENE_RAN && all_stopped &&
        scene_conflict(first, second))
        sim_fail("task %d ran, but task %d before it did not", noted_index(second),
                 noted_index(first));
}

void scene_judge_end(void)
{
    for (uint32_t i = 0; i < scene.task_count; i++)
        judge_one(&scene.tasks[i]);
    judge_counts();
    for (uint32_t i = 0; i < scene.task_count; i++)
        for (uint32_t j = 0; j < scene.task_count; j++)
            if (i != j && scene.tasks[i].pool == scene.tasks[j].pool &&
                noted_is_accepted(&scene.tasks[i]) && noted_is_accepted(&scene.tasks[j]) &&
                comes_before(&scene.tasks[i], &scene.tasks[j]))
                judge_pair(&scene.tasks[i], &scene.tasks[j]);
}
