/* Draws which tasks use contexts of their keys, and how long these stay open when idle. Only a
 * share of the seeds has contexts. They are drawn last, so that older features are drawn as
 * before. */
#include "property/workload.h"

enum { ASKS_MAX = 2 };

void workload_draw_contexts(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    if (params->rule != RULE_CLAIMS || params->layout != LANEPOOL_PER_KEY || !chance(choices, 2)) {
        return;
    }
    params->contexts = true;
    params->linger_min = 1 + choose(choices, 1 + params->duration_most);
    params->linger_max = params->linger_min + choose(choices, 1 + 4 * params->duration_most);
    params->lingering_max = 1 + choose(choices, 1 + params->key_count);
    params->opens_fail = chance(choices, 3) ? 2 + choose(choices, 4) : 0;
    params->uses_fail = chance(choices, 2) ? 1 + choose(choices, 4) : 0;
    for (uint32_t i = 0; i < params->task_count; i++) {
        workload->tasks[i].asks = choose(choices, 1 + ASKS_MAX);
        /* A shutdown now may end a detached task, and close its contexts, at any moment. */
        if (workload->tasks[i].detaches && workload->params.ending != END_DESTROY) {
            workload->tasks[i].asks = 0;
        }
    }
}
