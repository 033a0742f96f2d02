/* Draws deadlines. */
#include "property/workload.h"

/* The oracle finds in a task's future that its deadline has passed. A task that is asked to end is
 * not retried, so only tasks without failures get a deadline for their end. */
static void draw_deadlines(struct workload *workload, struct workload_task *task,
                           struct choices *choices)
{
    const struct workload_params *params = &workload->params;

    if (chance(choices, 3)) {
        task->start_within = 1 + choose(choices, 2 * params->duration_most);
        task->has_future = true;
    }
    if (!params->failures && !task->detaches && chance(choices, 4)) {
        task->run_within = 1 + choose(choices, params->duration_most);
    }
}

void workload_draw_deadlines(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    if (params->calm || !chance(choices, 4)) {
        return;
    }
    params->deadlines = true;
    for (uint32_t i = 0; i < params->task_count; i++) {
        if (workload->tasks[i].series == WORKLOAD_NONE) {
            draw_deadlines(workload, &workload->tasks[i], choices);
        }
    }
}
