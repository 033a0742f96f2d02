/* Lane limits, and the thread that changes them. */
#include "feature/lane_limit/workload.h"

#include <stdlib.h>

#include "property/workload_feature.h"
#include "property/world.h"
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

static void draw(struct workload *workload, struct choices *choices)
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

static void fini(struct workload *workload)
{
    free(workload->limits);
}

static void print_params(const struct workload *workload, FILE *out)
{
    if (workload->params.lane_pending_max > 0) {
        fprintf(out, ", pending in a lane at most %u with %u changes",
                workload->params.lane_pending_max, workload->limit_count);
    }
}

/* --- the run --- */

static void fill_options(struct run *run, lanepool_options *options)
{
    options->lane_pending_max = run->workload->params.lane_pending_max;
}

static uint32_t count_threads(const struct workload *workload)
{
    return workload->limit_count > 0;
}

static void act(struct run *run, uint32_t thread)
{
    (void)thread;
    for (uint32_t i = 0; i < run->workload->limit_count; i++) {
        const struct workload_limit *what = &run->workload->limits[i];
        lanepool_key key = lanepool_key_id(what->key);
        lanepool_lane *lane;

        world_sleep(what->after);
        if (lanepool_lane_acquire(run->pool, key, &lane) != LANEPOOL_OK) {
            if (!world_has_refused()) {
                run_note_failure(run, LANEPOOL_INVALID);
            }
            continue;
        }
        oracle_stamp_at(run->log, &run->log->limits[i].begin);
        run_note_failure(run, lanepool_lane_set_pending_max(lane, what->pending_max));
        oracle_stamp_at(run->log, &run->log->limits[i].end);
        lanepool_lane_release(lane);
    }
}

/* --- the oracle --- */

static void init_log(struct oracle_log *log, const struct workload *workload)
{
    log->limits = memory_get(workload->limit_count, sizeof *log->limits);
}

static void fini_log(struct oracle_log *log)
{
    free(log->limits);
}

const struct workload_feature workload_feature_lane_limit = {
    .draw = draw,
    .fini = fini,
    .print_params = print_params,
    .fill_options = fill_options,
    .count_threads = count_threads,
    .act = act,
    .init_log = init_log,
    .fini_log = fini_log,
    .judge = judge_lane_limits,
};
