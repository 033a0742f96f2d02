/* Makes some tasks barriers. */
#include <stdlib.h>

#include "property/workload_feature.h"
#include "support/memory.h"

/* For the oracle, a barrier is a task that claims all keys exclusively. */
static void claim_all_keys(struct workload *workload)
{
    uint32_t key_count = workload->params.key_count;

    workload->all_keys = memory_get(key_count, sizeof *workload->all_keys);
    for (uint32_t key = 0; key < key_count; key++) {
        workload->all_keys[key] = (struct workload_claim){ key, LANEPOOL_EXCLUSIVE };
    }
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (workload->tasks[i].is_barrier) {
            workload->tasks[i].merged = workload->all_keys;
            workload->tasks[i].merged_count = key_count;
        }
    }
}

static void draw(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    if (!chance(choices, 4)) {
        return;
    }
    params->barrier_every = 2 + choose(choices, 4 + params->task_count / 4);
    for (uint32_t i = 0; i < params->task_count; i++) {
        workload->tasks[i].is_barrier = chance(choices, params->barrier_every);
    }
    claim_all_keys(workload);
}

static void fini(struct workload *workload)
{
    free(workload->all_keys);
}

const struct workload_feature workload_feature_barrier = {
    .draw = draw,
    .fini = fini,
};
