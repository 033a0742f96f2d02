/* Pumps: their tasks run on their threads, and on no others. */
#include <stdlib.h>

#include "property/judge.h"
#include "property/workload_feature.h"
#include "property/workload_tasks.h"
#include "property/world.h"
#include "support/memory.h"

enum { PUMPS_MAX = 2, PUMPED_MAX = 3 };

/* The submitter of a pump's task cannot run it. If tasks of two pumps wait for one another's tasks,
 * each thread may wait for the other: lanes cannot prevent that. So there is only one pump if tasks
 * wait. */
static void draw(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    if (!chance(choices, 4)) {
        return;
    }
    params->pumps = 1 + choose(choices, workload_waits_inside(workload) ? 1 : PUMPS_MAX);
    for (uint32_t i = 0; i < params->task_count; i++) {
        struct workload_task *task = &workload->tasks[i];

        if (workload_is_late(task) || !chance(choices, 3)) {
            continue;
        }
        task->pump = choose(choices, params->pumps);
        task->form = task->form == FORM_OR_RUN ? FORM_SUBMIT : task->form;
    }
}

static void print_task(const struct workload_task *task, FILE *out)
{
    workload_print_number("in pump", task->pump, out);
}

/* --- the run --- */

static uint32_t count_threads(const struct workload *workload)
{
    return workload->params.pumps;
}

static void describe(const struct task_context *context, lanepool_task *task)
{
    uint32_t pump = what_of(context)->pump;

    task->pump = pump != WORKLOAD_NONE ? context->run->pumps[pump] : NULL;
}

static void begin(struct run *run)
{
    run->pumps = memory_get(run->workload->params.pumps, sizeof *run->pumps);
    for (uint32_t i = 0; i < run->workload->params.pumps; i++) {
        run_note_failure(run, lanepool_pump_create(run->pool, &run->pumps[i]));
    }
}

/* Returns true if the pump may get more tasks. */
static bool run_some(struct run *run, uint32_t pump, size_t most, uint64_t patience)
{
    struct oracle_pump *record = &run->log->pumps[pump];
    lanepool_status status;
    size_t count = 0;

    atomic_store(&record->waits, true);
    status = lanepool_pump_run(run->pumps[pump], most, patience, &count);
    atomic_store(&record->waits, false);
    record->ran += count;
    if ((status == LANEPOOL_OK) != (count > 0) || count > most) {
        run_note_failure(run, LANEPOOL_INVALID);
    }
    if (run_is_for_want(status)) {
        world_stop_refusing();
        return true;
    }
    if (status != LANEPOOL_OK && status != LANEPOOL_TIMED_OUT && status != LANEPOOL_SHUT_DOWN) {
        run_note_failure(run, status);
    }
    return status != LANEPOOL_SHUT_DOWN;
}

/* Sometimes waits for tasks of the pump; sometimes only polls, and then sleeps. */
static void act(struct run *run, uint32_t pump)
{
    uint32_t duration_most = run->workload->params.duration_most;
    bool goes_on = true;

    run->log->pumps[pump].thread = world_thread();
    for (uint32_t looks = 0; goes_on && atomic_load(&run->unsettled) > 0; looks++) {
        goes_on = run_some(run, pump, 1 + looks % PUMPED_MAX, looks % 2 * duration_most);
        if (looks % 2 == 0) {
            world_rest(1 + duration_most / 4);
        }
    }
}

/* A pump must not be destroyed before its tasks have ended, and not after the pool is destroyed. */
static bool must_end(const struct workload *workload)
{
    return workload->params.pumps > 0;
}

static void note_ended(struct run *run)
{
    for (uint32_t i = 0; run->pumps && i < run->workload->params.pumps; i++) {
        if (run->pumps[i]) {
            /* At the second call no resource is refused any more. */
            if (run_some(run, i, 1, LANEPOOL_FOREVER) && run_some(run, i, 1, LANEPOOL_FOREVER)) {
                run_note_failure(run, LANEPOOL_INVALID);
            }
            run_note_failure(run, lanepool_pump_destroy(run->pumps[i]));
        }
    }
}

static void note_destroyed(struct run *run)
{
    free(run->pumps);
}

/* --- the oracle --- */

static void init_log(struct oracle_log *log, const struct workload *workload)
{
    log->pumps = memory_get(workload->params.pumps, sizeof *log->pumps);
}

static void fini_log(struct oracle_log *log)
{
    free(log->pumps);
}

static void check_thread(struct judge *judge, uint32_t index)
{
    const struct oracle_task *task = &judge->log->tasks[index];
    uint32_t pump = judge->workload->tasks[index].pump;

    if (pump != WORKLOAD_NONE && task->call == CALL_RUN &&
        (task->thread != judge->log->pumps[pump].thread || task->worker != SIZE_MAX)) {
        judge_blame(&judge->verdict, "task %u did not run in its pump", index);
    }
}

static void judge_pumps(struct judge *judge)
{
    for (uint32_t i = 0; i < judge->count; i++) {
        check_thread(judge, judge->by_ticket[i]);
    }
}

const struct workload_feature workload_feature_pump = {
    .draw = draw,
    .print_task = print_task,
    .begin = begin,
    .count_threads = count_threads,
    .act = act,
    .must_end = must_end,
    .note_ended = note_ended,
    .note_destroyed = note_destroyed,
    .describe = describe,
    .init_log = init_log,
    .fini_log = fini_log,
    .judge = judge_pumps,
};
