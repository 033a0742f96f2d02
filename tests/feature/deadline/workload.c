/* Draws deadlines. */
#include "property/workload_feature.h"
#include "property/workload_tasks.h"

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

static void draw(struct workload *workload, struct choices *choices)
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

static void print_task(const struct workload_task *task, FILE *out)
{
    workload_print_number("to start within",
                          task->start_within ? task->start_within : WORKLOAD_NONE, out);
    workload_print_number("to run within", task->run_within ? task->run_within : WORKLOAD_NONE,
                          out);
}

static void describe(const struct task_context *context, lanepool_task *task)
{
    task->start_within_ns = what_of(context)->start_within;
    task->run_within_ns = what_of(context)->run_within;
}

const struct workload_feature workload_feature_deadline = {
    .draw = draw,
    .print_task = print_task,
    .describe = describe,
};
