/* Tasks that fail more than once, their policies, and the threads that resolve parked tasks. */
#include "feature/failure/workload.h"

#include <stdlib.h>
#include <string.h>

#include "property/workload_feature.h"
#include "property/world.h"
#include "support/memory.h"

enum { RETRIES_MAX = 3, RESOLVERS_MAX = 2, FAILURES_MAX = 4 };

/* --- drawing --- */

/* Lanes are paused and avoided only if each has a key and there is no rule. */
static lanepool_failure_policy draw_policy(const struct workload_params *params,
                                           struct choices *choices)
{
    static const lanepool_failure_end ends[] = { LANEPOOL_FAILURE_CONTINUE, LANEPOOL_FAILURE_POISON,
                                                 LANEPOOL_FAILURE_POISON, LANEPOOL_FAILURE_PAUSE };
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    bool has_lanes = params->rule == RULE_CLAIMS;

    policy.retries = choose(choices, RETRIES_MAX + 1);
    policy.delay_ns = chance(choices, 2) ? 1 + choose(choices, params->duration_most) : 0;
    policy.delay_max_ns = chance(choices, 2) ? choose(choices, 4 * params->duration_most) : 0;
    policy.at_end = ends[choose(choices, has_lanes ? 4 : 3)];
    policy.at_poison = has_lanes ? (lanepool_at_poison)choose(choices, 3) : LANEPOOL_AT_POISON_WAIT;
    return policy;
}

/* The end of a task that may be parked is recorded by its release callback. That a task was refused
 * in a poisoned lane is recorded by its future. */
static void draw_task(struct workload *workload, uint32_t index, struct choices *choices)
{
    struct workload_task *task = &workload->tasks[index];

    if (task->series != WORKLOAD_NONE) {
        return;
    }
    task->has_policy = chance(choices, 2);
    if (task->has_policy) {
        task->policy = draw_policy(&workload->params, choices);
    }
    if (chance(choices, 3)) {
        task->fails = chance(choices, 3) ? WORKLOAD_EACH : 1 + choose(choices, FAILURES_MAX);
    }
    task->resolves = chance(choices, 12);
    task->has_release |= workload_may_stay(workload, index);
    task->has_future |= workload_policy_of(workload, index)->at_poison == LANEPOOL_AT_POISON_FAIL;
}

static bool waits_in_a_cancel(const struct workload *workload)
{
    for (uint32_t i = 0; i < workload->cancel_count; i++) {
        if (workload->cancels[i].kind == CANCEL_TASK_AND_WAIT) {
            return true;
        }
    }
    return false;
}

/* A submitter waits until its task has run. */
static bool has_submitter_that_runs(const struct workload *workload)
{
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (workload->tasks[i].form == FORM_OR_RUN) {
            return true;
        }
    }
    return false;
}

/* Returns true if no thread waits for a single task, which might stay parked, or behind a parked
 * one, until all others have ended. */
static bool may_resolve_late(const struct workload *workload)
{
    const struct workload_params *params = &workload->params;

    return !has_submitter_that_runs(workload) && !workload_waits_inside(workload) &&
           !waits_in_a_cancel(workload) && !params->holds && params->groups == 0 &&
           params->pumps == 0 && params->pending_max == 0 && params->lane_pending_max == 0 &&
           workload->limit_count == 0 && workload->series_count == 0;
}

/* Adds one cancelling call for each task that may be parked: the resolution that drops the tasks
 * behind it. */
static void add_drops(struct workload *workload)
{
    uint32_t count = workload->cancel_count;
    struct workload_cancel *cancels =
        memory_get((size_t)count + workload->params.task_count, sizeof *cancels);

    if (count > 0) {
        memcpy(cancels, workload->cancels, count * sizeof *cancels);
    }
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (workload_policy_of(workload, i)->at_end == LANEPOOL_FAILURE_POISON &&
            workload->tasks[i].fails > 0) {
            cancels[count++] = (struct workload_cancel){ .kind = CANCEL_BEHIND,
                                                         .target = i,
                                                         .inside = WORKLOAD_NONE,
                                                         .canceller = WORKLOAD_NONE };
        }
    }
    free(workload->cancels);
    workload->cancels = cancels;
    workload->cancel_count = count;
}

static void draw(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    if (params->layout != LANEPOOL_PER_KEY || params->calm || !chance(choices, 4)) {
        return;
    }
    params->failures = true;
    params->policy = (lanepool_failure_policy)LANEPOOL_FAILURE_POLICY_INIT;
    if (chance(choices, 2)) {
        params->policy = draw_policy(params, choices);
    }
    params->resolvers = choose(choices, RESOLVERS_MAX + 1);
    for (uint32_t i = 0; i < params->task_count; i++) {
        draw_task(workload, i, choices);
    }
    params->resolves_late = may_resolve_late(workload) && !chance(choices, 3);
    params->skips_quiesce = params->resolves_late && !params->held_lanes && chance(choices, 2);
    params->stops_when_held = params->resolves_late && chance(choices, 4);
    add_drops(workload);
}

/* --- printing --- */

static void print_policy(const lanepool_failure_policy *policy, FILE *out)
{
    static const char *const ends[] = { "goes on", "poisons", "pauses" };
    static const char *const at_poison[] = { "waits", "fails", "goes without" };

    fprintf(out, "%u retries after %llu to %llu ns, %s, at poison %s", policy->retries,
            (unsigned long long)policy->delay_ns, (unsigned long long)policy->delay_max_ns,
            ends[policy->at_end], at_poison[policy->at_poison]);
}

static void print_params(const struct workload *workload, FILE *out)
{
    const struct workload_params *params = &workload->params;

    if (params->failures) {
        fprintf(out, ", the pool's policy: ");
        print_policy(&params->policy, out);
        fprintf(out, "; %u resolvers%s%s%s", params->resolvers,
                params->resolves_late ? ", late" : "", params->skips_quiesce ? ", no quiesce" : "",
                params->stops_when_held ? ", stops" : "");
    }
}

static void print_task(const struct workload_task *task, FILE *out)
{
    if (task->fails == WORKLOAD_EACH) {
        fprintf(out, ", always fails");
    } else if (task->fails > 0) {
        fprintf(out, ", fails %u times", task->fails);
    }
    if (task->has_policy) {
        fprintf(out, ", policy: ");
        print_policy(&task->policy, out);
    }
    if (task->resolves) {
        fprintf(out, ", resolves");
    }
}

/* --- attempts --- */

/* Returns true if the task may be without the lane of the key: its giver may have given it up. */
static bool may_lack(const struct task_context *self, uint32_t key)
{
    const struct workload_task *what = what_of(self);

    return what->is_heir && self->run->workload->tasks[what->parent].gives_up == key;
}

/* Records which lanes the task has: all of them, unless it runs without poisoned ones. */
static void note_misses(struct task_context *self, lanepool_run *call, bool is_first)
{
    struct run *run = self->run;
    const struct workload_task *what = what_of(self);
    bool avoids = workload_avoids_poison(run->workload, self->task) &&
                  run_policy_of(self)->at_poison == LANEPOOL_AT_POISON_RUN_WITHOUT;

    for (uint32_t i = 0; i < what->merged_count && !what->is_barrier; i++) {
        uint32_t key = what->merged[i].key;
        lanepool_key wanted = lanepool_key_id(key);
        bool holds = lanepool_run_holds(call, wanted);
        bool *misses = &run->log->misses[self->task * run->workload->params.key_count + key];

        if (is_first && avoids) {
            *misses = !holds;
        } else {
            run_expect(self,
                       holds == !oracle_misses(run->log, run->workload, self->task, key) ||
                           (!holds && may_lack(self, key)),
                       "a task does not have the lanes that it should have");
        }
    }
}

static void check_another(const struct task_context *self, const lanepool_run *call,
                          unsigned number)
{
    const struct oracle_task *record = record_of(self);
    uint32_t pump = what_of(self)->pump;
    bool anew = number == 1;

    run_expect(self, anew || number == record->number + 1, "an attempt has a wrong number");
    run_expect(self, !anew || run_policy_of(self)->at_end == LANEPOOL_FAILURE_POISON,
               "a task that was not parked is retried");
    run_expect(self, anew || world_now() >= record->not_before_ns, "an attempt came too early");
    run_expect(self, lanepool_run_ticket(call) == record->ticket, "an attempt has another ticket");
    run_expect(self, oracle_when(&record->call_end) == 0, "an attempt at a task that has ended");
    run_expect(self, oracle_when(&record->gave_up_at) == 0,
               "a task that has given up a lane is retried");
    run_expect(self, pump == WORKLOAD_NONE || self->run->log->pumps[pump].thread == world_thread(),
               "an attempt is not made in the task's pump");
    run_expect(self,
               !workload_has_claims(self->run->workload) ||
                   workload_is_cut(self->run->workload, self->task) ||
                   record->left_keys ==
                       oracle_read_keys(self->run->log, self->run->workload, self->task),
               "a key was changed between two attempts of the task that has it");
}

static void begin_attempt(struct task_context *self, lanepool_run *call, bool is_first)
{
    struct oracle_task *record = record_of(self);
    unsigned number = lanepool_run_attempt(call);

    if (is_first) {
        run_expect(self, number == 1, "the first attempt has another number");
    } else {
        check_another(self, call, number);
        record->begun_anew += number == 1;
    }
    atomic_store(&record->gave_in_at, 0);
    record->number = number;
    if (self->run->log->misses && self->run->workload->params.rule == RULE_CLAIMS &&
        !workload_is_cut(self->run->workload, self->task)) {
        note_misses(self, call, is_first);
    }
}

/* Returns true if the task may not have ended. */
static bool end_attempt(struct task_context *context)
{
    return record_of(context)->call == CALL_RUN && run_fails_now(context) &&
           workload_may_stay(context->run->workload, context->task);
}

static void note_pause(const struct task_context *context)
{
    struct run *run = context->run;
    const struct workload_task *what = what_of(context);

    for (uint32_t i = 0; i < what->merged_count && !what->is_barrier; i++) {
        if (!oracle_has_passed(run->log, run->workload, context->task, i)) {
            oracle_stamp_at(run->log, &run->log->lanes[what->merged[i].key].paused_at);
        }
    }
}

/* The end of the last attempt counts as the task's end, because its lanes may have been released
 * since then. If the task was resolved, its resolver has recorded the end already. */
static void note_released(struct task_context *context)
{
    struct oracle_task *record = record_of(context);

    if (oracle_when(&record->call_end) == 0) {
        if (run_policy_of(context)->at_end == LANEPOOL_FAILURE_PAUSE) {
            note_pause(context);
        }
        atomic_store(&record->call_end, oracle_when(&record->attempt_end));
    }
    run_settle(context);
}

/* --- failures --- */

static bool has_heir(const struct task_context *context)
{
    const struct run *run = context->run;

    for (uint32_t i = context->first_nested; i != WORKLOAD_NONE; i = run->contexts[i].next_nested) {
        if (run->workload->tasks[i].is_heir && oracle_when(&run->log->tasks[i].submit_end) != 0 &&
            run->log->tasks[i].submitted == LANEPOOL_OK) {
            return true;
        }
    }
    return false;
}

static uint64_t delay_before(const lanepool_failure_policy *policy, unsigned attempt)
{
    uint64_t delay = policy->delay_ns;
    uint64_t most = policy->delay_max_ns < delay ? delay : policy->delay_max_ns;

    for (unsigned i = 1; i < attempt; i++) {
        delay = 2 * delay < most ? 2 * delay : most;
    }
    return delay;
}

struct oracle_keep *workload_add_keep(struct oracle_task *record, uint64_t from)
{
    unsigned index = atomic_fetch_add(&record->keep_count, 1);

    if (index >= ORACLE_KEEPS_MAX) {
        return NULL;
    }
    atomic_store(&record->keeps[index].from, from);
    return &record->keeps[index];
}

static void begin_keep(struct task_context *context)
{
    (void)workload_add_keep(record_of(context), oracle_stamp(context->run->log));
    oracle_stamp_at(context->run->log, &record_of(context)->gave_in_at);
}

static void note_error(struct task_context *context, const lanepool_error *error)
{
    const lanepool_failure_policy *policy = run_policy_of(context);
    struct oracle_task *record = record_of(context);
    bool must_be_last = error->attempt > policy->retries || oracle_when(&record->gave_up_at) != 0 ||
                        has_heir(context);

    run_expect(context, error->attempt == record->number,
               "a failure of another attempt is reported");
    run_expect(context, error->is_last || !must_be_last,
               "a further attempt is announced, but cannot be made");
    run_expect(context,
               !error->is_last || must_be_last || context->run->workload->cancel_count > 0 ||
                   oracle_when(&context->run->log->stopping_at) != 0,
               "a failure is reported as the last one too early");
    record->awaits_retry = !error->is_last;
    if (!error->is_last) {
        record->not_before_ns = world_now() + delay_before(policy, error->attempt);
    } else if (policy->at_end == LANEPOOL_FAILURE_POISON && !has_heir(context)) {
        begin_keep(context);
    }
}

/* --- the run --- */

static void fill_options(struct run *run, lanepool_options *options)
{
    const struct workload_params *params = &run->workload->params;

    options->on_failure = params->failures ? &params->policy : NULL;
}

static void describe(const struct task_context *context, lanepool_task *task)
{
    task->on_failure = what_of(context)->has_policy ? &what_of(context)->policy : NULL;
}

/* The last thread resolves only the parked tasks that block the pool. */
static uint32_t count_threads(const struct workload *workload)
{
    const struct workload_params *params = &workload->params;

    return params->resolvers + (params->failures && !params->resolves_late);
}

static void act(struct run *run, uint32_t thread)
{
    if (thread < run->workload->params.resolvers) {
        workload_resolve_all_of_one(run, thread);
    } else {
        workload_relieve(run);
    }
}

static void do_inside(struct task_context *self, lanepool_run *call)
{
    (void)call;
    workload_resolve_inside(self);
}

static bool unblock(struct run *run, uint32_t resolved)
{
    if (run->workload->params.failures) {
        workload_relieve_at_end(run, resolved);
    }
    return run->workload->params.failures;
}

/* --- the oracle --- */

static void init_log(struct oracle_log *log, const struct workload *workload)
{
    const struct workload_params *params = &workload->params;

    log->lanes = memory_get(params->key_count, sizeof *log->lanes);
    if (params->failures) {
        log->misses =
            memory_get((size_t)params->task_count * params->key_count, sizeof *log->misses);
    }
}

static void fini_log(struct oracle_log *log)
{
    free(log->lanes);
    free(log->misses);
}

const struct workload_feature workload_feature_failure = {
    .draw = draw,
    .print_params = print_params,
    .print_task = print_task,
    .fill_options = fill_options,
    .count_threads = count_threads,
    .act = act,
    .unblock = unblock,
    .describe = describe,
    .begin_attempt = begin_attempt,
    .do_inside = do_inside,
    .end_attempt = end_attempt,
    .note_error = note_error,
    .note_released = note_released,
    .init_log = init_log,
    .fini_log = fini_log,
    .judge = judge_failures,
};
