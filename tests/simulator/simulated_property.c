#include "simulator/simulated_property.h"

#include <stdio.h>
#include <string.h>

#include "property/workload_run.h"
#include "property/world.h"
#include "route/pool.h"

struct property {
    const struct workload *workload;
    struct oracle_log log;
    lanepool_pool *pool; /* NULL if there is none now */
    lanepool_status status;
};

static size_t idle_workers(const lanepool_pool *pool)
{
    uint64_t word = atomic_load_explicit(&pool->workers.sleepers.word, memory_order_relaxed);

    return lanepool_i_sleepers_sleeping(word);
}

static void judge_quiet(void *context)
{
    const struct property *property = context;

    if (property->pool == NULL)
        return;
    struct oracle_verdict verdict =
        oracle_judge_quiet(&property->log, property->workload, idle_workers(property->pool));
    if (!verdict.passed)
        sim_fail("at %llu ns: %s", (unsigned long long)sim_now(), verdict.why);
}

static bool is_for_want(lanepool_status status)
{
    return world_has_refused() && (status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE);
}

static void run_workload(void *argument)
{
    struct property *property = argument;

    property->status = workload_run(property->workload, &property->log, &property->pool);
    if (property->status != LANEPOOL_OK && !is_for_want(property->status))
        sim_fail("a call answered %s", lanepool_status_name(property->status));
}

static struct oracle_counts counts;

const struct oracle_counts *property_counts(void)
{
    return &counts;
}

bool property_holds(const struct workload *workload, const struct sim_options *schedule,
                    struct sim_report *report)
{
    struct property property = { .workload = workload };
    struct sim_options options = *schedule;

    options.quiet = judge_quiet;
    options.context = &property;
    oracle_log_init(&property.log, workload);
    if (sim_run(&options, run_workload, &property, report) && property.status == LANEPOOL_OK) {
        struct oracle_verdict verdict = oracle_judge(&property.log, workload);
        report->failed = !verdict.passed;
        memcpy(report->why, verdict.why, sizeof report->why);
        oracle_count(&property.log, workload, &counts);
        counts.choices += verdict.choices;
    }
    oracle_log_fini(&property.log);
    return !report->failed;
}

/* --- shrinking --- */

enum { SCHEDULES_TRIED = 300 };

/* Returns true if the workload fails under this schedule or under one of some others. Stores the
 * schedule that failed in *schedule. */
static bool fails_somehow(const struct workload *workload, struct sim_options *schedule,
                          struct sim_report *report)
{
    struct sim_options tried = *schedule;

    for (uint32_t i = 0; i < SCHEDULES_TRIED; i++) {
        if (!property_holds(workload, &tried, report)) {
            *schedule = tried;
            return true;
        }
        tried = sim_options_draw(schedule->seed + i + 1);
        tried.fault = schedule->fault;
        tried.faults_stay = schedule->faults_stay;
    }
    return false;
}

static void copy_dropped(struct workload *to, const bool *dropped)
{
    for (uint32_t i = 0; i < to->params.task_count; i++)
        to->tasks[i].dropped = dropped[i];
}

void property_shrink(struct workload *workload, struct sim_options *schedule,
                     struct sim_report *report)
{
    bool before[1 << 8];
    bool smaller = true;

    while (smaller) {
        smaller = false;
        for (uint32_t i = workload->params.task_count; i-- > 0;) {
            struct sim_report other;
            if (workload->tasks[i].dropped)
                continue;
            for (uint32_t j = 0; j < workload->params.task_count; j++)
                before[j] = workload->tasks[j].dropped;
            workload_drop(workload, i);
            if (fails_somehow(workload, schedule, &other)) {
                *report = other;
                smaller = true;
            } else {
                copy_dropped(workload, before);
            }
        }
    }
}
