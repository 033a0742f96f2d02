#include "stepped/stepped_property.h"

#include <stdio.h>
#include <string.h>

#include "property/workload_run.h"
#include "simulator/simulator.h"
#include "stepped/world.h"
#include "support/random.h"

struct property {
    const struct workload *workload;
    struct oracle_log log;
    lanepool_pool *pool; /* NULL if there is none now */
    lanepool_status status;
};

static struct oracle_counts counts;

const struct oracle_counts *stepped_counts(void)
{
    return &counts;
}

/* Such a pool has one worker and no watchdog. Calm workloads expect that a worker routes before it
 * chooses, and the seed draws that, too. */
void stepped_draw(struct workload *workload, uint64_t seed)
{
    struct choices choices = choices_from_seed(seed);
    struct workload_params *params = &workload->params;

    workload_draw(workload, &workload_small, seed, &choices);
    params->layout = LANEPOOL_PER_KEY;
    if (params->workers_min != 0) {
        params->workers_min = params->workers;
    }
    params->calm = false;
    params->options &= ~(uint32_t)WORKLOAD_WATCHDOG;
    params->step_seed = random_mix(seed) | 1;
}

static void run_workload(void *argument)
{
    struct property *property = argument;

    property->status = workload_run(property->workload, &property->log, &property->pool);
    if (property->status != LANEPOOL_OK) {
        sim_fail("a call answered %s", lanepool_status_name(property->status));
    }
}

/* --- what a run did --- */

static void fold(uint64_t *hash, uint64_t value)
{
    *hash = random_mix(*hash ^ value);
}

static uint64_t hash_of(const struct oracle_log *log, const struct workload *workload)
{
    uint64_t hash = oracle_when(&log->clock);

    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        const struct oracle_task *task = &log->tasks[i];

        fold(&hash, (uint64_t)task->submitted);
        fold(&hash, oracle_when(&task->submit_end));
        fold(&hash, (uint64_t)task->call);
        fold(&hash, oracle_when(&task->call_begin));
        fold(&hash, oracle_when(&task->call_end));
        fold(&hash, task->call_ns);
        fold(&hash, task->ticket);
        fold(&hash, (uint64_t)task->result.status);
    }
    return hash;
}

/* --- one run --- */

/* The platform runs one fiber at a time, because the others wait for their turns: its schedule has
 * nothing to choose. */
bool stepped_holds(const struct workload *workload, struct stepped_report *report)
{
    struct property property = { .workload = workload };
    struct sim_options options = { .seed = 1 };
    struct sim_report simulated;

    stepped_world_begin(&property.pool, random_mix(workload->params.step_seed));
    oracle_log_init(&property.log, workload);
    (void)sim_run(&options, run_workload, &property, &simulated);
    *report = (struct stepped_report){ .failed = simulated.failed };
    memcpy(report->why, simulated.why, sizeof report->why);
    if (!simulated.failed) {
        struct oracle_verdict verdict = oracle_judge(&property.log, workload);

        report->failed = !verdict.passed;
        memcpy(report->why, verdict.why, sizeof report->why);
        oracle_count(&property.log, workload, &counts);
    }
    report->hash = hash_of(&property.log, workload);
    oracle_log_fini(&property.log);
    return !report->failed;
}

/* --- smaller cases --- */

enum { SEEDS_TRIED = 100, TASKS_MAX = 1 << 8, DRAWS_MAX = 1 << 20 };

/* Returns true if the workload fails with this seed or with one of some others, which it stores. */
static bool fails_somehow(struct workload *workload, struct stepped_report *report)
{
    uint64_t seed = workload->params.step_seed;

    for (uint32_t i = 0; i < SEEDS_TRIED; i++) {
        if (!stepped_holds(workload, report)) {
            return true;
        }
        workload->params.step_seed = random_mix(seed + i) | 1;
    }
    workload->params.step_seed = seed;
    return false;
}

static bool leave_out(struct workload *workload, uint32_t task, struct stepped_report *report)
{
    bool before[TASKS_MAX];
    struct stepped_report other;

    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        before[i] = workload->tasks[i].dropped;
    }
    workload_drop(workload, task);
    if (fails_somehow(workload, &other)) {
        *report = other;
        return true;
    }
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        workload->tasks[i].dropped = before[i];
    }
    return false;
}

/* Finds a number of draws that suffices, while one less does not. */
static void end_draws_early(struct workload *workload, struct stepped_report *report)
{
    uint64_t *from = &workload->params.step_plain_from;
    uint64_t passes = 0;
    uint64_t fails = 1;

    for (*from = fails; stepped_holds(workload, report) && fails < DRAWS_MAX; *from = fails) {
        passes = fails;
        fails *= 2;
    }
    while (fails - passes > 1) {
        *from = passes + (fails - passes) / 2;
        if (stepped_holds(workload, report)) {
            passes = *from;
        } else {
            fails = *from;
        }
    }
    *from = fails;
    (void)stepped_holds(workload, report);
}

void stepped_shrink(struct workload *workload, struct stepped_report *report)
{
    bool smaller = true;

    while (smaller) {
        smaller = false;
        for (uint32_t i = workload->params.task_count; i-- > 0;) {
            smaller |= !workload->tasks[i].dropped && leave_out(workload, i, report);
        }
    }
    end_draws_early(workload, report);
}
