#include "property/workload_delays.h"

#include "property/workload_cancels.h"
#include "property/world.h"

static uint32_t index_of(const struct task_context *first)
{
    return first->run->workload->tasks[first->task].series;
}

static const struct workload_series *series_of(const struct task_context *first)
{
    return &first->run->workload->series[index_of(first)];
}

static struct oracle_series *series_record_of(const struct task_context *first)
{
    return &first->run->log->series[index_of(first)];
}

/* --- runs --- */

/* Records that there is a next run, which becomes due between due_min_ns and now. */
static void arm(struct task_context *next, uint64_t due_min_ns)
{
    struct oracle_task *record = &next->run->log->tasks[next->task];

    atomic_store(&record->due_min_ns, due_min_ns);
    atomic_store(&record->due_max_ns, UINT64_MAX);
    record->submitted = LANEPOOL_OK;
    oracle_stamp_at(next->run->log, &record->submit_begin);
    oracle_stamp_at(next->run->log, &record->submit_end);
}

static void disarm(struct run *run, uint32_t task)
{
    struct oracle_task *record = &run->log->tasks[task];

    atomic_store(&record->submit_begin, 0);
    atomic_store(&record->submit_end, 0);
}

static void prepare_next(struct task_context *first, struct task_context *now)
{
    const struct workload_series *what = series_of(first);
    struct oracle_task *record = &now->run->log->tasks[now->task];
    lanepool_status status;

    if (series_record_of(first)->runs < what->runs) {
        arm(now + 1, what->period == LANEPOOL_FIXED_RATE
                         ? atomic_load(&record->due_min_ns) + what->period_ns
                         : world_now() + what->period_ns);
        return;
    }
    status = lanepool_timer_cancel(first->timer);
    if (status != LANEPOOL_RUNNING) {
        run_note_failure(now->run, LANEPOOL_INVALID);
    }
}

static void make_run(struct task_context *first, lanepool_run *call)
{
    struct task_context *now = first + series_record_of(first)->runs;
    struct run *run = first->run;

    if (series_record_of(first)->runs++ == series_of(first)->runs) {
        /* One run too many: the last one should have ended it. */
        run_note_failure(run, LANEPOOL_INVALID);
        return;
    }
    run_record_call(now, CALL_RUN, lanepool_run_ticket(call));
    run->log->tasks[now->task].worker = lanepool_run_worker(call);
    if (workload_has_claims(run->workload)) {
        oracle_touch_keys(run->log, run->workload, now->task);
    }
    workload_cancel_inside(run, now->task);
    world_pass(run->workload->tasks[now->task].duration);
    prepare_next(first, now);
    oracle_stamp_at(run->log, &run->log->tasks[now->task].call_end);
}

/* --- its end --- */

static void end(struct task_context *first)
{
    struct oracle_series *record = series_record_of(first);

    if (record->runs < series_of(first)->runs) {
        disarm(first->run, first->task + record->runs);
    }
    record->ended_at = oracle_stamp(first->run->log);
    run_settle(first);
}

static int series_body(lanepool_run *call, void *argument)
{
    struct task_context *first = argument;

    make_run(first, call);
    return 0;
}

static void series_cancelled(void *argument, lanepool_status why)
{
    struct task_context *first = argument;

    workload_check_why(first->run, why);
    atomic_fetch_add(&series_record_of(first)->ends, 1);
    end(first);
}

void workload_series_returns(struct task_context *first)
{
    atomic_fetch_add(&series_record_of(first)->returned, 1);
    end(first);
}

static void series_released(void *argument)
{
    atomic_fetch_add(&series_record_of(argument)->releases, 1);
}

void workload_end_series(struct run *run)
{
    for (uint32_t i = 0; i < run->workload->params.task_count; i++) {
        if (run->workload->tasks[i].series != WORKLOAD_NONE &&
            run->log->tasks[i].call == CALL_NONE) {
            disarm(run, i);
        }
    }
    for (uint32_t i = 0; i < run->workload->series_count; i++) {
        lanepool_timer_release(run->contexts[run->workload->series[i].first].timer);
    }
}

/* --- its thread --- */

static lanepool_status submit(struct task_context *first)
{
    const struct workload_series *what = series_of(first);
    lanepool_task task = run_describe(first);
    uint64_t delay = what->delay > 0 ? (uint64_t)what->delay : 0;
    struct oracle_task *run = &first->run->log->tasks[first->task];
    lanepool_status status;

    task.function = series_body;
    task.cancelled = series_cancelled;
    task.release = series_released;
    atomic_store(&run->due_min_ns, world_now() + delay);
    atomic_store(&run->due_max_ns, UINT64_MAX);
    oracle_stamp_at(first->run->log, &run->submit_begin);
    status = lanepool_pool_submit_every(first->run->pool, &task, what->delay, what->period_ns,
                                        what->period, &first->timer);
    run->submitted = status;
    oracle_stamp_at(first->run->log, &run->submit_end);
    if (status != LANEPOOL_OK) {
        disarm(first->run, first->task);
        run_settle(first);
    }
    return status;
}

static void cancel(struct task_context *first)
{
    lanepool_status status;

    world_sleep(series_of(first)->cancel_after);
    status = lanepool_timer_cancel(first->timer);
    if (status != LANEPOOL_OK && status != LANEPOOL_RUNNING && status != LANEPOOL_DONE) {
        run_note_failure(first->run, status);
    }
    series_record_of(first)->cancelled = status;
    series_record_of(first)->cancelled_at = oracle_stamp(first->run->log);
}

void workload_run_series(struct run *run, uint32_t series)
{
    const struct workload_series *what = &run->workload->series[series];
    struct task_context *first = &run->contexts[what->first];

    if (run->workload->tasks[what->first].dropped) {
        return;
    }
    world_sleep(what->after);
    series_record_of(first)->submitted = submit(first);
    oracle_stamp_at(run->log, &series_record_of(first)->submit_end);
    if (series_record_of(first)->submitted == LANEPOOL_OK && what->cancel_after != WORKLOAD_NONE) {
        cancel(first);
    }
    while (what->awaits_end && !atomic_load(&first->settled)) {
        world_rest(1 + what->period_ns);
    }
}
