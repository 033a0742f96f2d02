/* Draws delayed and periodic tasks. */
#include <stdlib.h>
#include <string.h>

#include "property/workload.h"
#include "support/memory.h"

enum { SERIES_MAX = 2, RUNS_MAX = 4 };

/* --- delayed tasks --- */

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

/* --- periodic tasks --- */

/* Makes a run a copy of some other task, without the parts that involve other tasks. */
static void make_run(struct workload *workload, uint32_t run, uint32_t model, uint32_t series)
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
        make_run(workload, series->first + i, model, index);
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

void workload_draw_delays(struct workload *workload, struct choices *choices)
{
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        workload->tasks[i].series = WORKLOAD_NONE;
        workload->tasks[i].asked_as = i;
        workload->tasks[i].group = WORKLOAD_NONE;
        workload->tasks[i].awaits_group = WORKLOAD_NONE;
        workload->tasks[i].pump = WORKLOAD_NONE;
    }
    if (chance(choices, 4)) {
        delay_some(workload, choices);
    }
    if (chance(choices, 6)) {
        draw_series(workload, choices);
    }
}
