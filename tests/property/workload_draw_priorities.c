/* Draws priorities. */
#include "property/workload.h"

/* Returns true if only submits interact with the worker, so that its choices can be judged. */
static bool can_be_calm(const struct workload *workload)
{
    const struct workload_params *params = &workload->params;

    return params->rule == RULE_CLAIMS && !params->waits && workload->cancel_count == 0 &&
           params->pausers == 0 && !params->holds && !params->delays &&
           workload->series_count == 0 && params->groups == 0 && params->pumps == 0 &&
           !params->contexts;
}

static void make_calm(struct workload *workload)
{
    struct workload_params *params = &workload->params;

    params->calm = true;
    params->priority_age_ns = LANEPOOL_FOREVER;
    params->workers = 1;
    params->workers_min = 0;
    params->worker_idle = 0;
    params->pending_max = 0;
    params->ending = END_DESTROY;
    params->quiesce_at = 0;
    params->look_at = 0;
    for (uint32_t i = 0; i < params->task_count; i++) {
        struct workload_task *task = &workload->tasks[i];

        task->form = task->form == FORM_OR_RUN ? FORM_SUBMIT : task->form;
    }
}

void workload_draw_priorities(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    bool calm = can_be_calm(workload);

    if (params->layout == LANEPOOL_PER_WORKER || !chance(choices, calm ? 2 : 3)) {
        return;
    }
    params->has_priorities = true;
    params->priority_age_ns =
        chance(choices, 2) ? 1 + choose(choices, params->duration_most) : LANEPOOL_FOREVER;
    for (uint32_t i = 0; i < params->task_count; i++) {
        if (chance(choices, 2)) {
            workload->tasks[i].priority = choose(choices, LANEPOOL_PRIORITY_MAX + 1);
        }
    }
    if (calm && !chance(choices, 4)) {
        make_calm(workload);
    }
}
