/*
 * Draws priorities, and judges them.
 *
 * Priorities: of the ready tasks, one of the highest level is called.
 *
 * That can be judged only if one worker runs everything, no task's level rises by waiting, and no
 * other thread was in a call of the library while the worker chose. A thread that is routing may
 * have removed a ready task from the inbox. So only calm workloads are judged. In them, only those
 * choices between two calls are judged that no submit overlaps. The first call must have taken
 * virtual time, which passes only when no other thread is ready. Runs with delayed stores are not
 * judged.
 */
#include <stdlib.h>

#include "property/judge.h"
#include "property/workload_feature.h"
#include "property/workload_tasks.h"
#include "property/world.h"

/* --- drawing --- */

/* Returns true if only submits interact with the worker, so that its choices can be judged. */
static bool can_be_calm(const struct workload *workload)
{
    const struct workload_params *params = &workload->params;

    return params->rule == RULE_CLAIMS && !params->waits && workload->cancel_count == 0 &&
           params->pausers == 0 && !params->holds && !params->delays &&
           workload->series_count == 0 && params->groups == 0 && params->pumps == 0 &&
           !params->contexts;
}

static void make_calm(struct workload *workload)
{
    struct workload_params *params = &workload->params;

    params->calm = true;
    params->priority_age_ns = LANEPOOL_FOREVER;
    params->workers = 1;
    params->workers_min = 0;
    params->worker_idle = 0;
    params->pending_max = 0;
    params->ending = END_DESTROY;
    params->quiesce_at = 0;
    params->look_at = 0;
    for (uint32_t i = 0; i < params->task_count; i++) {
        struct workload_task *task = &workload->tasks[i];

        task->form = task->form == FORM_OR_RUN ? FORM_SUBMIT : task->form;
    }
}

static void draw(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    bool calm = can_be_calm(workload);

    if (params->layout == LANEPOOL_PER_WORKER || !chance(choices, calm ? 2 : 3)) {
        return;
    }
    params->has_priorities = true;
    params->priority_age_ns =
        chance(choices, 2) ? 1 + choose(choices, params->duration_most) : LANEPOOL_FOREVER;
    for (uint32_t i = 0; i < params->task_count; i++) {
        if (chance(choices, 2)) {
            workload->tasks[i].priority = choose(choices, LANEPOOL_PRIORITY_MAX + 1);
        }
    }
    if (calm && !chance(choices, 4)) {
        make_calm(workload);
    }
}

static void print_params(const struct workload *workload, FILE *out)
{
    if (workload->params.has_priorities) {
        fprintf(out, workload->params.calm ? ", calm priorities" : ", priorities");
    }
}

static void print_task(const struct workload_task *task, FILE *out)
{
    if (task->priority > 0) {
        fprintf(out, ", priority %u", task->priority);
    }
}

/* --- the run --- */

static void fill_options(struct run *run, lanepool_options *options)
{
    options->priorities = run->workload->params.has_priorities;
    options->priority_age_ns = run->workload->params.priority_age_ns;
}

static void describe(const struct task_context *context, lanepool_task *task)
{
    task->priority = what_of(context)->priority;
}

/* --- the oracle --- */

enum { CALM_TASKS_MAX = 64, LEVELS_MAX = 512 };

/* One choice of the worker. */
struct choice {
    const struct oracle_log *log;
    const struct workload *workload;
    const uint32_t *by_ticket; /* accepted tasks */
    uint32_t count;
    uint32_t before; /* the task that ended */
    uint32_t chosen;
    uint32_t levels[LEVELS_MAX]; /* by task; visits of cuts are tasks, too */
};

static uint64_t began(const struct choice *choice, uint32_t task)
{
    return oracle_when(&choice->log->tasks[task].call_begin);
}

/* Returns true if the task had been submitted before the choice. */
static bool was_submitted(const struct choice *choice, uint32_t task)
{
    return oracle_when(&choice->log->tasks[task].submit_begin) < began(choice, choice->chosen);
}

static bool had_started(const struct choice *choice, uint32_t task)
{
    return began(choice, task) < began(choice, choice->chosen);
}

/* The lanes of a progressive rollup are blocked until it has ended. */
static bool had_ended(const struct choice *choice, uint32_t task)
{
    uint64_t end = oracle_when(&choice->log->tasks[task].call_end);

    return had_started(choice, task) && end != 0 && end < began(choice, choice->chosen);
}

static bool is_calm(const struct choice *choice)
{
    uint64_t from = oracle_when(&choice->log->tasks[choice->before].call_end);
    uint64_t to = began(choice, choice->chosen);

    for (uint32_t i = 0; i < choice->workload->params.task_count; i++) {
        const struct oracle_task *task = &choice->log->tasks[i];
        uint64_t begin = oracle_when(&task->submit_begin);
        uint64_t end = oracle_when(&task->submit_end);

        if (begin != 0 && begin < to && (end == 0 || end > from)) {
            return false;
        }
    }
    return from < to && choice->workload->tasks[choice->before].duration > 0;
}

static bool has_unmade_visit(const struct choice *choice, uint32_t cut)
{
    for (uint32_t i = 0; i < choice->count; i++) {
        uint32_t task = choice->by_ticket[i];

        if (choice->workload->tasks[task].visit_of == cut && !had_started(choice, task)) {
            return true;
        }
    }
    return false;
}

/* Returns true if an earlier task that has not ended prevents this one from being ready. With
 * by_barriers_only: if an earlier barrier prevents it from being routed. */
static bool is_kept(const struct choice *choice, uint32_t index, bool by_barriers_only)
{
    const struct workload *workload = choice->workload;
    uint32_t task = choice->by_ticket[index];

    if (!by_barriers_only && has_unmade_visit(choice, task)) {
        return true;
    }
    for (uint32_t i = 0; i < index; i++) {
        uint32_t other = choice->by_ticket[i];

        if (was_submitted(choice, other) && !had_ended(choice, other) &&
            workload_conflict(workload, other, task) &&
            (!by_barriers_only || workload->tasks[other].is_barrier)) {
            return true;
        }
    }
    return false;
}

/* Gives a level to all visits and the function of a progressive rollup. */
static void raise_rollup(struct choice *choice, uint32_t part)
{
    const struct workload_task *tasks = choice->workload->tasks;
    uint32_t rollup = tasks[part].visit_of;

    if (!tasks[part].holds_lanes) {
        return;
    }
    for (uint32_t i = 0; i < choice->count; i++) {
        uint32_t task = choice->by_ticket[i];

        if ((task == rollup || tasks[task].visit_of == rollup) &&
            choice->levels[task] < choice->levels[part]) {
            choice->levels[task] = choice->levels[part];
        }
    }
}

/* Finds the levels, the newest task first, because older tasks inherit from newer ones. A task
 * that is held back behind a barrier has no entries yet, and no priority is inherited through a
 * barrier. A visit of a cut inherits in its lane. */
static void find_levels(struct choice *choice)
{
    const struct workload *workload = choice->workload;

    for (uint32_t i = 0; i < choice->count; i++) {
        choice->levels[choice->by_ticket[i]] = workload->tasks[choice->by_ticket[i]].priority;
    }
    for (uint32_t i = choice->count; i-- > 0;) {
        uint32_t task = choice->by_ticket[i];

        for (uint32_t j = i + 1; j < choice->count; j++) {
            uint32_t other = choice->by_ticket[j];

            if (was_submitted(choice, other) && !workload->tasks[other].is_barrier &&
                !workload->tasks[task].is_barrier && !is_kept(choice, j, true) &&
                workload_conflict(workload, task, other) &&
                choice->levels[other] > choice->levels[task]) {
                choice->levels[task] = choice->levels[other];
            }
        }
        if (workload->tasks[task].visit_of != WORKLOAD_NONE) {
            raise_rollup(choice, task);
        }
    }
}

static void check_choice(struct choice *choice, struct oracle_verdict *verdict)
{
    uint32_t chosen = choice->chosen;
    bool any_other = false;

    find_levels(choice);
    for (uint32_t i = 0; i < choice->count; i++) {
        uint32_t task = choice->by_ticket[i];

        if (task == chosen || !was_submitted(choice, task) || had_started(choice, task) ||
            choice->levels[task] == choice->levels[chosen] || is_kept(choice, i, false)) {
            continue;
        }
        any_other = true;
        if (choice->levels[task] > choice->levels[chosen]) {
            judge_blame(verdict, "task %u of level %u was ready when task %u of level %u started",
                        task, choice->levels[task], chosen, choice->levels[chosen]);
        }
    }
    verdict->choices += any_other;
}

/* Returns the task that began last before the chosen one, or WORKLOAD_NONE if there is none. */
static uint32_t task_before(const struct choice *choice)
{
    uint32_t before = WORKLOAD_NONE;

    for (uint32_t i = 0; i < choice->count; i++) {
        uint32_t task = choice->by_ticket[i];

        if (had_started(choice, task) &&
            (before == WORKLOAD_NONE || began(choice, task) > began(choice, before))) {
            before = task;
        }
    }
    return before;
}

/* From a failed visit on, a cut inherits as a whole. */
static bool have_failed_visits(const struct workload *workload)
{
    bool any = false;

    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        any |= workload->tasks[i].is_cut && workload->tasks[i].visits_fail > 0;
    }
    return any;
}

static void judge_priorities(struct judge *judge)
{
    const struct workload_params *params = &judge->workload->params;
    const struct judge *lanes = judge->by_lane;
    struct choice choice = { .log = lanes->log,
                             .workload = lanes->workload,
                             .by_ticket = lanes->by_ticket,
                             .count = lanes->count };

    if (!params->calm || params->task_count > CALM_TASKS_MAX ||
        lanes->workload->params.task_count > LEVELS_MAX || have_failed_visits(judge->workload) ||
        !world_is_strict()) {
        return;
    }
    for (uint32_t i = 0; i < choice.count; i++) {
        choice.chosen = choice.by_ticket[i];
        choice.before = task_before(&choice);
        if (choice.before != WORKLOAD_NONE && is_calm(&choice)) {
            check_choice(&choice, &judge->verdict);
        }
    }
}

const struct workload_feature workload_feature_priority = {
    .draw = draw,
    .print_params = print_params,
    .print_task = print_task,
    .fill_options = fill_options,
    .describe = describe,
    .judge = judge_priorities,
};
