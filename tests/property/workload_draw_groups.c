/* Draws groups and pumps, and the tasks and threads that use them. */
#include <stdlib.h>
#include <string.h>

#include "property/workload.h"
#include "support/memory.h"

enum { GROUPS_MAX = 2, PUMPS_MAX = 2, VISITS_MAX = 4 };

static void draw_members(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    for (uint32_t i = 0; i < params->task_count; i++) {
        struct workload_task *task = &workload->tasks[i];

        if (!workload_is_late(task) && !chance(choices, 3)) {
            task->group = choose(choices, params->groups);
        }
        if (params->waits && task->series == WORKLOAD_NONE && task->awaits == WORKLOAD_NONE &&
            chance(choices, 6)) {
            task->awaits_group = choose(choices, params->groups);
            task->patience =
                chance(choices, 4) ? choose(choices, params->duration_most) : LANEPOOL_FOREVER;
        }
    }
}

static void draw_visits(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    params->visitors = 1 + choose(choices, 2);
    workload->visit_count = choose(choices, VISITS_MAX + 1);
    workload->visits = memory_get(workload->visit_count, sizeof *workload->visits);
    for (uint32_t i = 0; i < workload->visit_count; i++) {
        struct workload_visit *visit = &workload->visits[i];

        visit->group = choose(choices, params->groups);
        visit->visitor = choose(choices, params->visitors);
        visit->after = chance(choices, 2) ? choose(choices, params->duration_most) : 0;
        visit->patience =
            chance(choices, 2) ? choose(choices, params->duration_most) : LANEPOOL_FOREVER;
        visit->takes = params->keeps_completions && !chance(choices, 3);
        visit->closes = chance(choices, 8);
    }
}

/* Adds one call that cancels a group. */
static void draw_cancel(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;
    struct workload_cancel *cancels =
        memory_get((size_t)workload->cancel_count + 1, sizeof *cancels);
    struct workload_cancel *cancel = &cancels[workload->cancel_count];

    if (workload->cancel_count > 0) {
        memcpy(cancels, workload->cancels, workload->cancel_count * sizeof *cancels);
    }
    free(workload->cancels);
    workload->cancels = cancels;
    workload->cancel_count++;
    params->cancellers = params->cancellers > 0 ? params->cancellers : 1;
    cancel->kind = CANCEL_GROUP;
    cancel->target = choose(choices, params->groups);
    cancel->inside = chance(choices, 3) ? choose(choices, params->task_count) : WORKLOAD_NONE;
    cancel->canceller = choose(choices, params->cancellers);
    cancel->after = choose(choices, 2 * params->duration_most);
}

static bool has_waits(const struct workload *workload)
{
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (workload->tasks[i].awaits != WORKLOAD_NONE ||
            workload->tasks[i].awaits_group != WORKLOAD_NONE) {
            return true;
        }
    }
    return false;
}

/* The submitter of a pump's task cannot run it. If tasks of two pumps wait for one another's tasks,
 * each thread may wait for the other: lanes cannot prevent that. So there is only one pump if tasks
 * wait. */
static void draw_pumps(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    params->pumps = 1 + choose(choices, has_waits(workload) ? 1 : PUMPS_MAX);
    for (uint32_t i = 0; i < params->task_count; i++) {
        struct workload_task *task = &workload->tasks[i];

        if (workload_is_late(task) || !chance(choices, 3)) {
            continue;
        }
        task->pump = choose(choices, params->pumps);
        task->form = task->form == FORM_OR_RUN ? FORM_SUBMIT : task->form;
    }
}

void workload_draw_groups(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    if (chance(choices, 4)) {
        params->groups = 1 + choose(choices, GROUPS_MAX);
        params->keeps_completions = chance(choices, 2);
        draw_members(workload, choices);
        draw_visits(workload, choices);
        if (chance(choices, 3)) {
            draw_cancel(workload, choices);
        }
    }
    if (chance(choices, 4)) {
        draw_pumps(workload, choices);
    }
}
