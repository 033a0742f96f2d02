/*
 * Groups: the tasks that a wait has waited for have ended. Every member that has ended is taken
 * once, with the result that its future has.
 */
#include <stdlib.h>
#include <string.h>

#include "property/judge.h"
#include "property/workload_feature.h"
#include "property/workload_tasks.h"
#include "property/world.h"
#include "support/memory.h"

enum { GROUPS_MAX = 2, VISITS_MAX = 4 };

/* --- drawing --- */

static void draw_members(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    for (uint32_t i = 0; i < params->task_count; i++) {
        struct workload_task *task = &workload->tasks[i];

        if (!workload_is_late(task) && !chance(choices, 3)) {
            task->group = choose(choices, params->groups);
        }
        if (params->waits && task->series == WORKLOAD_NONE && task->awaits == WORKLOAD_NONE &&
            chance(choices, 6)) {
            task->awaits_group = choose(choices, params->groups);
            task->patience =
                chance(choices, 4) ? choose(choices, params->duration_most) : LANEPOOL_FOREVER;
        }
    }
}

static void draw_visits(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    params->visitors = 1 + choose(choices, 2);
    workload->visit_count = choose(choices, VISITS_MAX + 1);
    workload->visits = memory_get(workload->visit_count, sizeof *workload->visits);
    for (uint32_t i = 0; i < workload->visit_count; i++) {
        struct workload_visit *visit = &workload->visits[i];

        visit->group = choose(choices, params->groups);
        visit->visitor = choose(choices, params->visitors);
        visit->after = chance(choices, 2) ? choose(choices, params->duration_most) : 0;
        visit->patience =
            chance(choices, 2) ? choose(choices, params->duration_most) : LANEPOOL_FOREVER;
        visit->takes = params->keeps_completions && !chance(choices, 3);
        visit->closes = chance(choices, 8);
    }
}

/* Adds one call that cancels a group. */
static void draw_cancel(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;
    struct workload_cancel *cancels =
        memory_get((size_t)workload->cancel_count + 1, sizeof *cancels);
    struct workload_cancel *cancel = &cancels[workload->cancel_count];

    if (workload->cancel_count > 0) {
        memcpy(cancels, workload->cancels, workload->cancel_count * sizeof *cancels);
    }
    free(workload->cancels);
    workload->cancels = cancels;
    workload->cancel_count++;
    params->cancellers = params->cancellers > 0 ? params->cancellers : 1;
    cancel->kind = CANCEL_GROUP;
    cancel->target = choose(choices, params->groups);
    cancel->inside = chance(choices, 3) ? choose(choices, params->task_count) : WORKLOAD_NONE;
    cancel->canceller = choose(choices, params->cancellers);
    cancel->after = choose(choices, 2 * params->duration_most);
}

static void draw(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    if (!chance(choices, 4)) {
        return;
    }
    params->groups = 1 + choose(choices, GROUPS_MAX);
    params->keeps_completions = chance(choices, 2);
    draw_members(workload, choices);
    draw_visits(workload, choices);
    if (chance(choices, 3)) {
        draw_cancel(workload, choices);
    }
}

static void fini(struct workload *workload)
{
    free(workload->visits);
}

static void print_task(const struct workload_task *task, FILE *out)
{
    workload_print_number("member of group", task->group, out);
    workload_print_number("waits for group", task->awaits_group, out);
}

static void print_visit(const struct workload_visit *visit, FILE *out)
{
    fprintf(out, "  %s group %u, by %u after %u ns",
            visit->closes  ? "close"
            : visit->takes ? "taking from"
                           : "wait for",
            visit->group, visit->visitor, visit->after);
    if (!visit->closes && visit->patience != LANEPOOL_FOREVER) {
        fprintf(out, ", for %llu ns", (unsigned long long)visit->patience);
    }
    fprintf(out, "\n");
}

static void print_calls(const struct workload *workload, FILE *out)
{
    for (uint32_t i = 0; i < workload->visit_count; i++) {
        print_visit(&workload->visits[i], out);
    }
}

/* --- the run --- */

static uint32_t count_threads(const struct workload *workload)
{
    return workload->params.visitors;
}

static void describe(const struct task_context *context, lanepool_task *task)
{
    uint32_t group = what_of(context)->group;

    task->group = group != WORKLOAD_NONE ? context->run->groups[group] : NULL;
}

static void begin(struct run *run)
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

static void note_settled(struct run *run)
{
    for (uint32_t i = 0; i < run->workload->params.groups; i++) {
        run_note_failure(run, close_group(run, i));
    }
}

static void wait_inside(struct task_context *self)
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

static lanepool_status visit(struct run *run, const struct workload_visit *what)
{
    lanepool_group *group = run->groups[what->group];
    /* Without threads and members, no other thread would end the wait. */
    bool polls = run->workload->params.step_seed != 0 && lanepool_group_pending(group) == 0;
    uint64_t patience = polls ? 0 : what->patience;

    if (what->closes) {
        return close_group(run, what->group);
    }
    return what->takes ? take(run, group, patience) : lanepool_group_wait(group, patience);
}

static void act(struct run *run, uint32_t visitor)
{
    for (uint32_t i = 0; i < run->workload->visit_count; i++) {
        const struct workload_visit *what = &run->workload->visits[i];
        struct oracle_group_call *record = &run->log->visits[i];

        if (what->visitor != visitor) {
            continue;
        }
        world_sleep(what->after);
        record->begin = oracle_stamp(run->log);
        do {
            record->status = visit(run, what);
        } while (record->status == LANEPOOL_TIMED_OUT && what->patience == LANEPOOL_FOREVER &&
                 world_waits_again());
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
    if (status != LANEPOOL_DONE && !run_is_for_want(status)) {
        run_note_failure(run, status);
    }
    lanepool_group_destroy(group);
}

static void note_destroyed(struct run *run)
{
    for (uint32_t i = 0; run->groups && i < run->workload->params.groups; i++) {
        if (run->groups[i]) {
            end_group(run, run->groups[i]);
        }
    }
    free(run->groups);
}

/* --- the oracle --- */

static void init_log(struct oracle_log *log, const struct workload *workload)
{
    log->closings = memory_get(workload->params.groups, sizeof *log->closings);
    log->visits = memory_get(workload->visit_count, sizeof *log->visits);
}

static void fini_log(struct oracle_log *log)
{
    free(log->visits);
    free(log->closings);
}

static bool lacks(const struct judge *judge, lanepool_status status)
{
    return judge->log->refused && (status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE);
}

/* --- waits and takes --- */

/* Returns true if all earlier members have ended. For a call that takes completions: if all of
 * theirs have been taken. */
static bool are_done(const struct judge *judge, const struct workload_visit *visit,
                     const struct oracle_group_call *record)
{
    for (uint32_t i = 0; i < judge->count; i++) {
        uint32_t task = judge->by_ticket[i];
        const struct oracle_task *member = &judge->log->tasks[task];

        if (judge->workload->tasks[task].group == visit->group &&
            oracle_when(&member->submit_end) < record->begin &&
            (visit->takes ? member->taken_from : oracle_when(&member->call_end)) > record->end) {
            return false;
        }
    }
    return true;
}

static void check_visit(struct judge *judge, uint32_t index)
{
    const struct workload_visit *visit = &judge->workload->visits[index];
    const struct oracle_group_call *record = &judge->log->visits[index];
    bool allowed = lacks(judge, record->status);

    if (visit->closes) {
        return; /* its answer is the run's first failure if it is not OK */
    }
    switch (record->status) {
    case LANEPOOL_OK:
        allowed = visit->takes || are_done(judge, visit, record);
        break;
    case LANEPOOL_DONE:
        allowed = visit->takes && judge_may_be_closed(judge, visit->group, record->end) &&
                  are_done(judge, visit, record);
        break;
    case LANEPOOL_TIMED_OUT:
        allowed = visit->patience != LANEPOOL_FOREVER;
        break;
    default:
        break;
    }
    if (!allowed) {
        judge_blame(&judge->verdict, "call %u for a group answered %s", index,
                    lanepool_status_name(record->status));
    }
}

/* --- members --- */

bool judge_may_be_closed(const struct judge *judge, uint32_t group, uint64_t stamp)
{
    uint64_t begin = group != WORKLOAD_NONE ? oracle_when(&judge->log->closings[group].begin) : 0;

    return begin != 0 && begin < stamp;
}

static void check_acceptance(struct judge *judge, uint32_t index)
{
    uint32_t group = judge->workload->tasks[index].group;
    uint64_t end = group != WORKLOAD_NONE ? oracle_when(&judge->log->closings[group].end) : 0;

    if (end != 0 && end < oracle_when(&judge->log->tasks[index].submit_begin)) {
        judge_blame(&judge->verdict, "task %u was accepted by group %u, which was closed", index,
                    group);
    }
}

static void check_completion(struct judge *judge, uint32_t index)
{
    const struct workload_task *what = &judge->workload->tasks[index];
    const struct oracle_task *task = &judge->log->tasks[index];
    bool kept = what->group != WORKLOAD_NONE && judge->workload->params.keeps_completions;
    lanepool_status status = judge_result_of(judge, index);

    if (atomic_load(&task->taken) != kept) {
        judge_blame(&judge->verdict, "the completion of task %u was taken %u times", index,
                    atomic_load(&task->taken));
    }
    if (kept && (task->completion.status != status ||
                 task->completion.value != judge_value_of(judge, index) ||
                 task->completion.code != judge_code_of(judge, index))) {
        judge_blame(&judge->verdict, "the completion of task %u says %s, code %d", index,
                    lanepool_status_name(task->completion.status), task->completion.code);
    }
}

static void judge_groups(struct judge *judge)
{
    for (uint32_t i = 0; i < judge->workload->visit_count; i++) {
        if (judge->log->visits[i].begin != 0) {
            check_visit(judge, i);
        }
    }
    for (uint32_t i = 0; i < judge->count; i++) {
        check_acceptance(judge, judge->by_ticket[i]);
        check_completion(judge, judge->by_ticket[i]);
    }
}

const struct workload_feature workload_feature_group = {
    .draw = draw,
    .fini = fini,
    .print_task = print_task,
    .print_calls = print_calls,
    .begin = begin,
    .count_threads = count_threads,
    .act = act,
    .note_settled = note_settled,
    .note_destroyed = note_destroyed,
    .describe = describe,
    .wait_inside = wait_inside,
    .init_log = init_log,
    .fini_log = fini_log,
    .judge = judge_groups,
};
