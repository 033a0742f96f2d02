/* Delayed and periodic tasks. */
#include "feature/delay/workload.h"

#include <stdlib.h>
#include <string.h>

#include "feature/cancel/workload.h"
#include "feature/cut/workload.h"
#include "feature/journal/workload.h"
#include "property/workload_feature.h"
#include "property/world.h"
#include "support/memory.h"

enum { SERIES_MAX = 2, RUNS_MAX = 4 };

/* --- drawing delayed tasks --- */

/* Returns true if another task or a call waits for the task's end, so that the task must be due
 * some time. */
static bool is_awaited(const struct workload *workload, uint32_t task)
{
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (workload->tasks[i].awaits == task) {
            return true;
        }
    }
    for (uint32_t i = 0; i < workload->cancel_count; i++) {
        if (workload->cancels[i].kind == CANCEL_TASK_AND_WAIT &&
            workload->cancels[i].target == task) {
            return true;
        }
    }
    return false;
}

static bool is_alone(const struct workload *workload, uint32_t task)
{
    bool alone = !workload->tasks[task].detaches && !is_awaited(workload, task);

    for (uint32_t i = task + 1; i < workload->params.task_count; i++) {
        alone &= workload->tasks[i].parent != task;
    }
    return alone;
}

/* A task that is never due would occupy a limited pool for ever. In eager runs it becomes due after
 * all, when no thread is left that completes it. */
static int64_t draw_delay(const struct workload *workload, uint32_t task, struct choices *choices)
{
    const struct workload_params *params = &workload->params;
    uint32_t dice = choose(choices, 100);

    if (dice < 10) {
        return 0;
    }
    if (dice < 15) {
        return -1 - (int64_t)choose(choices, params->duration_most);
    }
    if (dice < 20 && params->pending_max == 0 && !params->waits_for_delayed &&
        is_alone(workload, task)) {
        return WORKLOAD_NEVER;
    }
    return 1 + (int64_t)choose(choices, (dice < 70 ? 1 : 4) * params->duration_most);
}

static void delay_some(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    params->delays = true;
    params->waits_for_delayed = chance(choices, 3);
    for (uint32_t i = 0; i < params->task_count; i++) {
        struct workload_task *task = &workload->tasks[i];

        if (task->is_heir || !chance(choices, 3)) {
            continue;
        }
        task->is_delayed = true;
        task->delay = draw_delay(workload, i, choices);
        task->form = FORM_SUBMIT;
    }
}

/* --- drawing periodic tasks --- */

/* Makes a run a copy of some other task, without the parts that involve other tasks. */
static void copy_run(struct workload *workload, uint32_t run, uint32_t model, uint32_t series)
{
    struct workload_task *task = &workload->tasks[run];

    *task = workload->tasks[model];
    task->parent = WORKLOAD_NONE;
    task->form = FORM_SUBMIT;
    task->awaits = WORKLOAD_NONE;
    task->cancel = WORKLOAD_NONE;
    task->completes = WORKLOAD_NONE;
    task->gives_up = WORKLOAD_NONE;
    task->series = series;
    task->asked_as = workload->series[series].first;
    task->detaches = false;
    task->completes_itself = false;
    task->is_delayed = false;
    task->has_future = false;
    task->has_then = false;
    task->has_release = false;
    task->fails = 0;
}

static void draw_one_series(struct workload *workload, uint32_t index, struct choices *choices)
{
    struct workload_series *series = &workload->series[index];
    struct workload_params *params = &workload->params;
    uint32_t model = choose(choices, series->first);

    series->delay = (int64_t)choose(choices, params->duration_most) - 2;
    series->period_ns = 1 + choose(choices, params->duration_most);
    series->period = chance(choices, 2) ? LANEPOOL_FIXED_RATE : LANEPOOL_FIXED_DELAY;
    series->after = choose(choices, params->duration_most);
    series->cancel_after =
        chance(choices, 3) ? choose(choices, 4 * params->duration_most) : WORKLOAD_NONE;
    series->awaits_end = chance(choices, 2);
    while (model > 0 && workload->tasks[model].is_heir) {
        model--; /* receivers have claims of their own, which must not be freed twice */
    }
    for (uint32_t i = 0; i < series->runs; i++) {
        copy_run(workload, series->first + i, model, index);
    }
}

static void draw_series(struct workload *workload, struct choices *choices)
{
    uint32_t count = workload->params.task_count;
    uint32_t total = count;

    workload->series_count = 1 + choose(choices, SERIES_MAX);
    workload->series = memory_get(workload->series_count, sizeof *workload->series);
    for (uint32_t i = 0; i < workload->series_count; i++) {
        workload->series[i].first = total;
        workload->series[i].runs = 1 + choose(choices, RUNS_MAX);
        total += workload->series[i].runs;
    }
    struct workload_task *tasks = memory_get(total, sizeof *tasks);

    memcpy(tasks, workload->tasks, count * sizeof *tasks);
    free(workload->tasks);
    workload->tasks = tasks;
    for (uint32_t i = 0; i < workload->series_count; i++) {
        draw_one_series(workload, i, choices);
    }
    workload->params.task_count = total;
}

static void draw(struct workload *workload, struct choices *choices)
{
    if (chance(choices, 4)) {
        delay_some(workload, choices);
    }
    if (chance(choices, 6)) {
        draw_series(workload, choices);
    }
}

static void fini(struct workload *workload)
{
    free(workload->series);
}

static void print_task(const struct workload_task *task, FILE *out)
{
    if (task->is_delayed) {
        fprintf(out, ", after %lld ns", (long long)task->delay);
    }
    workload_print_number("a run of series", task->series, out);
}

static void print_series(const struct workload_series *series, FILE *out)
{
    fprintf(out,
            "  periodic task, from task %u: %u runs, submitted after %u ns, first after %lld, then "
            "%s %llu",
            series->first, series->runs, series->after, (long long)series->delay,
            series->period == LANEPOOL_FIXED_RATE ? "every" : "each after",
            (unsigned long long)series->period_ns);
    workload_print_number("cancelled after", series->cancel_after, out);
    fprintf(out, "\n");
}

static void print_calls(const struct workload *workload, FILE *out)
{
    for (uint32_t i = 0; i < workload->series_count; i++) {
        print_series(&workload->series[i], out);
    }
}

/* --- the run --- */

static void fill_options(struct run *run, lanepool_options *options)
{
    options->drain_waits_for_delayed = run->workload->params.waits_for_delayed;
}

static uint32_t count_threads(const struct workload *workload)
{
    return workload->series_count;
}

/* A quiesce does not wait for delayed tasks, which may claim a handle's lane until the end. */
static bool must_end(const struct workload *workload)
{
    return workload->params.delays || workload->series_count > 0;
}

static bool submit(struct task_context *context, const lanepool_task *task, lanepool_status *status)
{
    const struct workload_task *what = what_of(context);

    if (what->is_delayed) {
        do {
            *status = lanepool_pool_submit_after(context->run->pool, task, what->delay);
        } while (*status == LANEPOOL_TIMED_OUT && world_waits_again());
    }
    return what->is_delayed;
}

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

struct task_context *workload_current_run(struct task_context *first)
{
    if (what_of(first)->series == WORKLOAD_NONE) {
        return first;
    }
    uint32_t runs = series_record_of(first)->runs;
    run_expect(first, runs < series_of(first)->runs, "a periodic task has a run too many");
    return first + (runs < series_of(first)->runs ? runs : 0);
}

static void begin_run(struct task_context *now, lanepool_run *call)
{
    struct run *run = now->run;

    if (workload_is_cut(run->workload, now->task)) {
        (void)workload_begin_body_of_cut(now, call);
        return;
    }
    run_record_call(now, CALL_RUN, lanepool_run_ticket(call));
    run->log->tasks[now->task].worker = lanepool_run_worker(call);
    if (workload_has_claims(run->workload)) {
        oracle_touch_keys(run->log, run->workload, now->task);
        run->log->tasks[now->task].left_keys = oracle_read_keys(run->log, run->workload, now->task);
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
    begin_run(now, call);
    workload_set_record(now, call);
    workload_cancel_inside(run, now->task);
    world_pass(run->workload->tasks[now->task].duration);
    prepare_next(first, now);
    oracle_stamp_at(run->log, &run->log->tasks[now->task].call_end);
}

/* --- its end --- */

static void end_series(struct task_context *first)
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

    if (why == LANEPOOL_IN_PARTS) {
        workload_end_cut_in_parts(workload_current_run(first));
        series_record_of(first)->runs++;
    } else {
        workload_check_why(first->run, why);
    }
    atomic_fetch_add(&series_record_of(first)->ends, 1);
    end_series(first);
}

static bool take_back(struct task_context *first)
{
    if (what_of(first)->series == WORKLOAD_NONE) {
        return false;
    }
    atomic_fetch_add(&series_record_of(first)->returned, 1);
    end_series(first);
    return true;
}

static void series_released(void *argument)
{
    atomic_fetch_add(&series_record_of(argument)->releases, 1);
}

static void note_destroyed(struct run *run)
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

static lanepool_status submit_series(struct task_context *first)
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
    do {
        status = lanepool_pool_submit_every(first->run->pool, &task, what->delay, what->period_ns,
                                            what->period, &first->timer);
    } while (status == LANEPOOL_TIMED_OUT && world_waits_again());
    run->submitted = status;
    oracle_stamp_at(first->run->log, &run->submit_end);
    if (status != LANEPOOL_OK) {
        disarm(first->run, first->task);
        run_settle(first);
    }
    return status;
}

static void cancel_series(struct task_context *first)
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

static void act(struct run *run, uint32_t series)
{
    const struct workload_series *what = &run->workload->series[series];
    struct task_context *first = &run->contexts[what->first];

    if (run->workload->tasks[what->first].dropped) {
        return;
    }
    world_sleep(what->after);
    series_record_of(first)->submitted = submit_series(first);
    oracle_stamp_at(run->log, &series_record_of(first)->submit_end);
    if (series_record_of(first)->submitted == LANEPOOL_OK && what->cancel_after != WORKLOAD_NONE) {
        cancel_series(first);
    }
    while (what->awaits_end && !atomic_load(&first->settled)) {
        world_rest(1 + what->period_ns);
    }
}

/* --- the oracle --- */

static void init_log(struct oracle_log *log, const struct workload *workload)
{
    log->series = memory_get(workload->series_count, sizeof *log->series);
}

static void fini_log(struct oracle_log *log)
{
    free(log->series);
}

const struct workload_feature workload_feature_delay = {
    .draw = draw,
    .fini = fini,
    .print_task = print_task,
    .print_calls = print_calls,
    .fill_options = fill_options,
    .count_threads = count_threads,
    .act = act,
    .must_end = must_end,
    .note_destroyed = note_destroyed,
    .submit = submit,
    .take_back = take_back,
    .init_log = init_log,
    .fini_log = fini_log,
    .judge = judge_delays,
};
