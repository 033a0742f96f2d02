/*
 * Draws tasks that fail more than once, their policies, and the threads that resolve parked tasks.
 * Only a share of the seeds has such tasks. They are drawn last, so that older features are drawn
 * as before.
 */
#include <stdlib.h>
#include <string.h>

#include "property/workload.h"
#include "support/memory.h"

enum { RETRIES_MAX = 3, RESOLVERS_MAX = 2, FAILURES_MAX = 4 };

const lanepool_failure_policy *workload_policy_of(const struct workload *workload, uint32_t task)
{
    static const lanepool_failure_policy none = LANEPOOL_FAILURE_POLICY_INIT;
    const struct workload_task *what = &workload->tasks[task];

    if (!workload->params.failures || what->series != WORKLOAD_NONE) {
        return &none;
    }
    return what->has_policy ? &what->policy : &workload->params.policy;
}

/* Lanes are paused and avoided only if each has a key and there is no rule. */
static lanepool_failure_policy draw_policy(const struct workload_params *params,
                                           struct choices *choices)
{
    static const lanepool_failure_end ends[] = { LANEPOOL_FAILURE_CONTINUE, LANEPOOL_FAILURE_POISON,
                                                 LANEPOOL_FAILURE_POISON, LANEPOOL_FAILURE_PAUSE };
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    bool has_lanes = params->rule == RULE_CLAIMS;

    policy.retries = choose(choices, RETRIES_MAX + 1);
    policy.delay_ns = chance(choices, 2) ? 1 + choose(choices, params->duration_most) : 0;
    policy.delay_max_ns = chance(choices, 2) ? choose(choices, 4 * params->duration_most) : 0;
    policy.at_end = ends[choose(choices, has_lanes ? 4 : 3)];
    policy.at_poison = has_lanes ? (lanepool_at_poison)choose(choices, 3) : LANEPOOL_AT_POISON_WAIT;
    return policy;
}

/* The end of a task that may be parked is recorded by its release callback. That a task was refused
 * in a poisoned lane is recorded by its future. */
static void draw_task(struct workload *workload, uint32_t index, struct choices *choices)
{
    struct workload_task *task = &workload->tasks[index];

    if (task->series != WORKLOAD_NONE) {
        return;
    }
    task->has_policy = chance(choices, 2);
    if (task->has_policy) {
        task->policy = draw_policy(&workload->params, choices);
    }
    if (chance(choices, 3)) {
        task->fails = chance(choices, 3) ? WORKLOAD_EACH : 1 + choose(choices, FAILURES_MAX);
    }
    task->resolves = chance(choices, 12);
    task->has_release |= workload_may_stay(workload, index);
    task->has_future |= workload_policy_of(workload, index)->at_poison == LANEPOOL_AT_POISON_FAIL;
}

bool workload_waits_inside(const struct workload *workload)
{
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (workload->tasks[i].awaits != WORKLOAD_NONE ||
            workload->tasks[i].awaits_group != WORKLOAD_NONE) {
            return true;
        }
    }
    return false;
}

static bool waits_in_a_cancel(const struct workload *workload)
{
    for (uint32_t i = 0; i < workload->cancel_count; i++) {
        if (workload->cancels[i].kind == CANCEL_TASK_AND_WAIT) {
            return true;
        }
    }
    return false;
}

/* Returns true if no thread waits for a single task, which might stay parked until all others have
 * ended. */
static bool may_resolve_late(const struct workload *workload)
{
    const struct workload_params *params = &workload->params;

    return !workload_waits_inside(workload) && !waits_in_a_cancel(workload) && !params->holds &&
           params->groups == 0 && params->pumps == 0 && params->pending_max == 0 &&
           params->lane_pending_max == 0 && workload->limit_count == 0 &&
           workload->series_count == 0;
}

/* Adds one cancelling call for each task that may be parked: the resolution that drops the tasks
 * behind it. */
static void add_drops(struct workload *workload)
{
    uint32_t count = workload->cancel_count;
    struct workload_cancel *cancels =
        memory_get((size_t)count + workload->params.task_count, sizeof *cancels);

    if (count > 0) {
        memcpy(cancels, workload->cancels, count * sizeof *cancels);
    }
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (workload_policy_of(workload, i)->at_end == LANEPOOL_FAILURE_POISON &&
            workload->tasks[i].fails > 0) {
            cancels[count++] = (struct workload_cancel){ .kind = CANCEL_BEHIND,
                                                         .target = i,
                                                         .inside = WORKLOAD_NONE,
                                                         .canceller = WORKLOAD_NONE };
        }
    }
    free(workload->cancels);
    workload->cancels = cancels;
    workload->cancel_count = count;
}

void workload_draw_failures(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    if (params->layout != LANEPOOL_PER_KEY || params->calm || !chance(choices, 4)) {
        return;
    }
    params->failures = true;
    params->policy = (lanepool_failure_policy)LANEPOOL_FAILURE_POLICY_INIT;
    if (chance(choices, 2)) {
        params->policy = draw_policy(params, choices);
    }
    params->resolvers = choose(choices, RESOLVERS_MAX + 1);
    for (uint32_t i = 0; i < params->task_count; i++) {
        draw_task(workload, i, choices);
    }
    params->resolves_late = may_resolve_late(workload) && !chance(choices, 3);
    params->ends_held = params->resolves_late && !params->held_lanes && chance(choices, 2);
    params->stops_when_held = params->resolves_late && chance(choices, 4);
    add_drops(workload);
}
