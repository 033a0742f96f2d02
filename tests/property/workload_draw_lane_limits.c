/* Draws lane limits, and the thread that changes them. */
#include "property/workload.h"
#include "support/memory.h"

enum { LIMITS_MAX = 3, PENDING_MOST = 4 };

/* In a calm workload no submitter may be blocked, because the worker's choices are judged. Tasks
 * that are never due might fill a lane for ever. */
static bool cannot_have_limits(const struct workload *workload)
{
    bool any = workload->params.calm;

    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        any |= workload->tasks[i].is_delayed && workload->tasks[i].delay == WORKLOAD_NEVER;
    }
    return any;
}

void workload_draw_lane_limits(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    if (params->rule != RULE_CLAIMS || !chance(choices, 3) || cannot_have_limits(workload)) {
        return;
    }
    params->lane_pending_max = 1 + choose(choices, PENDING_MOST);
    workload->limit_count = choose(choices, LIMITS_MAX + 1);
    workload->limits = memory_get(workload->limit_count, sizeof *workload->limits);
    for (uint32_t i = 0; i < workload->limit_count; i++) {
        struct workload_limit *limit = &workload->limits[i];

        limit->key = choose(choices, params->key_count);
        limit->pending_max = choose(choices, PENDING_MOST + 2);
        limit->after = choose(choices, params->duration_most);
    }
}
