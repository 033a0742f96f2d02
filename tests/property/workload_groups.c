#include "property/workload_groups.h"

#include <stdlib.h>

#include "property/world.h"
#include "support/memory.h"

enum { PUMPED_MAX = 3 };

static bool is_for_want(lanepool_status status)
{
    return world_has_refused() && (status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE);
}

/* --- groups --- */

void workload_make_groups(struct run *run)
{
    lanepool_group_options options = LANEPOOL_GROUP_OPTIONS_INIT;

    options.keeps_completions = run->workload->params.keeps_completions;
    run->groups = memory_get(run->workload->params.groups, sizeof *run->groups);
    for (uint32_t i = 0; i < run->workload->params.groups; i++) {
        run_note_failure(run, lanepool_group_create(&options, &run->groups[i]));
    }
}

static void stamp_once(struct oracle_log *log, _Atomic uint64_t *at)
{
    uint64_t never = 0;

    atomic_compare_exchange_strong(at, &never, oracle_stamp(log));
}

static lanepool_status close_group(struct run *run, uint32_t group)
{
    struct oracle_closing *record = &run->log->closings[group];

    stamp_once(run->log, &record->begin);
    lanepool_status status = lanepool_group_close(run->groups[group]);
    stamp_once(run->log, &record->end);
    return status;
}

void workload_close_groups(struct run *run)
{
    for (uint32_t i = 0; i < run->workload->params.groups; i++) {
        run_note_failure(run, close_group(run, i));
    }
}

void workload_wait_for_group(const struct task_context *self)
{
    const struct workload_task *what = &self->run->workload->tasks[self->task];
    struct oracle_task *record = &self->run->log->tasks[self->task];

    if (what->awaits_group == WORKLOAD_NONE) {
        return;
    }
    record->wait_begin = oracle_stamp(self->run->log);
    record->waited = lanepool_group_wait(self->run->groups[what->awaits_group], what->patience);
    record->wait_end = oracle_stamp(self->run->log);
}

/* The call is recorded before it is made, because it may let another thread find the group
 * empty. */
static lanepool_status take(struct run *run, lanepool_group *group, uint64_t patience)
{
    uint64_t begin = oracle_stamp(run->log);
    lanepool_completion completion;
    lanepool_status status = lanepool_group_next(group, patience, &completion);

    if (status == LANEPOOL_OK) {
        const struct task_context *context = completion.context;
        struct oracle_task *record = &run->log->tasks[context->task];

        atomic_fetch_add(&record->taken, 1);
        record->taken_from = begin;
        record->completion = completion.result;
    }
    return status;
}

void workload_visit_all_of_one(struct run *run, uint32_t visitor)
{
    for (uint32_t i = 0; i < run->workload->visit_count; i++) {
        const struct workload_visit *what = &run->workload->visits[i];
        struct oracle_group_call *record = &run->log->visits[i];

        if (what->visitor != visitor) {
            continue;
        }
        world_sleep(what->after);
        record->begin = oracle_stamp(run->log);
        if (what->closes) {
            record->status = close_group(run, what->group);
        } else if (what->takes) {
            record->status = take(run, run->groups[what->group], what->patience);
        } else {
            record->status = lanepool_group_wait(run->groups[what->group], what->patience);
        }
        record->end = oracle_stamp(run->log);
    }
}

/* Takes the untaken completions; there is nothing left to wait for. */
static void end_group(struct run *run, lanepool_group *group)
{
    lanepool_status status = LANEPOOL_DONE;

    if (lanepool_group_pending(group) != 0) {
        run_note_failure(run, LANEPOOL_INVALID);
    }
    run_note_failure(run, lanepool_group_close(group));
    if (run->workload->params.keeps_completions) {
        do {
            status = take(run, group, 0);
        } while (status == LANEPOOL_OK);
    }
    if (status != LANEPOOL_DONE && !is_for_want(status)) {
        run_note_failure(run, status);
    }
    lanepool_group_destroy(group);
}

void workload_end_groups(struct run *run)
{
    for (uint32_t i = 0; run->groups && i < run->workload->params.groups; i++) {
        if (run->groups[i]) {
            end_group(run, run->groups[i]);
        }
    }
    free(run->groups);
}

/* --- pumps --- */

void workload_make_pumps(struct run *run)
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
    if (is_for_want(status)) {
        world_stop_refusing();
        return true;
    }
    if (status != LANEPOOL_OK && status != LANEPOOL_TIMED_OUT && status != LANEPOOL_SHUT_DOWN) {
        run_note_failure(run, status);
    }
    return status != LANEPOOL_SHUT_DOWN;
}

/* Sometimes waits for tasks of the pump; sometimes only polls, and then sleeps. */
void workload_run_pump(struct run *run, uint32_t pump)
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

/* To be called when the pool has ended. */
void workload_end_pumps(struct run *run)
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
