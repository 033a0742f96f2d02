/* Makes some pools elastic. */
#include "property/workload_feature.h"
#include "property/workload_tasks.h"

/* This is not drawn, so that older seeds still draw the same workloads. Idle times are so short
 * that workers end while others submit. */
static void draw(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;
    bool elastic = params->seed % 3 == 1 && params->layout == LANEPOOL_PER_KEY;

    (void)choices;
    params->workers_min = elastic ? 1 + (uint32_t)(params->seed / 3 % params->workers) : 0;
    params->worker_idle = elastic ? 1 + (uint32_t)(params->seed / 7 % 150) : 0;
}

static void print_params(const struct workload *workload, FILE *out)
{
    if (workload->params.workers_min > 0) {
        fprintf(out, ", at least %u workers, idle %u", workload->params.workers_min,
                workload->params.worker_idle);
    }
}

static void fill_options(struct run *run, lanepool_options *options)
{
    options->workers_min = run->workload->params.workers_min;
    options->worker_idle_ns = run->workload->params.worker_idle;
}

const struct workload_feature workload_feature_elastic = {
    .draw = draw,
    .print_params = print_params,
    .fill_options = fill_options,
};
