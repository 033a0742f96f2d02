/* Makes some tasks cuts, and makes their visits. */
#include "feature/cut/workload.h"

#include <stdlib.h>

#include "feature/context/workload.h"
#include "feature/delay/workload.h"
#include "feature/journal/workload.h"

#include "property/workload_feature.h"
#include "property/world.h"
#include "support/event_judge.h"
#include "support/memory.h"
#include "support/random.h"

enum { VISITS_FAIL_MAX = 2 };

/* --- drawing --- */

static bool offers_cuts(const struct workload_params *params)
{
    return params->rule == RULE_CLAIMS && params->layout == LANEPOOL_PER_KEY;
}

static bool has_heir(const struct workload *workload, uint32_t task)
{
    for (uint32_t i = task + 1; i < workload->params.task_count; i++) {
        if (workload->tasks[i].is_heir && workload->tasks[i].parent == task) {
            return true;
        }
    }
    return false;
}

/* A cut's function has no lane that it could give up or hand over. */
static bool can_be_cut(const struct workload *workload, uint32_t index)
{
    const struct workload_task *task = &workload->tasks[index];

    return task->merged_count > 0 && !task->is_barrier && !task->is_heir &&
           task->gives_up == WORKLOAD_NONE && task->pump == WORKLOAD_NONE &&
           !has_heir(workload, index) &&
           workload_policy_of(workload, index)->at_poison != LANEPOOL_AT_POISON_FAIL;
}

/* Runs of a periodic task share their claims with one another, and with the task that they are
 * copies of. They have no policy, but the pool's policy decides whether they may be cuts. */
static bool can_series_be_cut(const struct workload *workload, uint32_t series)
{
    const struct workload_params *params = &workload->params;
    const struct workload_series *what = &workload->series[series];
    const struct workload_claim *claims = workload->tasks[what->first].merged;
    bool can = !params->failures || params->policy.at_poison != LANEPOOL_AT_POISON_FAIL;

    for (uint32_t i = 0; i < what->runs; i++) {
        can &= can_be_cut(workload, what->first + i);
    }
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        can &= workload->tasks[i].merged != claims || !has_heir(workload, i);
    }
    return can;
}

/* Changes modes so that none is COMMUTING, and the merged claims are still those of the claims. */
static void change_modes(struct workload_task *task, bool shares)
{
    for (uint32_t i = 0; i < task->claim_count; i++) {
        if (shares) {
            task->claims[i].mode = LANEPOOL_SHARED;
        } else if (task->claims[i].mode == LANEPOOL_COMMUTING) {
            task->claims[i].mode = LANEPOOL_EXCLUSIVE;
        }
    }
    for (uint32_t i = 0; i < task->merged_count; i++) {
        if (shares) {
            task->merged[i].mode = LANEPOOL_SHARED;
        } else if (task->merged[i].mode == LANEPOOL_COMMUTING) {
            task->merged[i].mode = LANEPOOL_EXCLUSIVE;
        }
    }
}

/* A cut whose visits fail may be ended between two attempts; its future says how. A test's build
 * does not call back for cancelled cuts by itself. */
static void make_cut(struct workload_task *task, bool waits_at_poison, struct choices *choices)
{
    task->is_cut = true;
    task->has_cancelled = true;
    change_modes(task, chance(choices, 2));
    if (task->fails == WORKLOAD_EACH) {
        task->visits_fail =
            chance(choices, 2) ? WORKLOAD_EACH : choose(choices, 1 + VISITS_FAIL_MAX);
    } else {
        task->visits_fail = choose(choices, 1 + task->fails);
    }
    task->has_future |= task->visits_fail > 0;
    task->holds_lanes = waits_at_poison && chance(choices, 3);
}

static void draw_series(struct workload *workload, uint32_t series, struct choices *choices)
{
    const struct workload_series *what = &workload->series[series];
    bool shares = chance(choices, 2);

    if (!can_series_be_cut(workload, series) || !chance(choices, 2)) {
        return;
    }
    bool holds_lanes = (!workload->params.failures ||
                        workload->params.policy.at_poison == LANEPOOL_AT_POISON_WAIT) &&
                       chance(choices, 3);
    for (uint32_t i = 0; i < what->runs; i++) {
        workload->tasks[what->first + i].is_cut = true;
        workload->tasks[what->first + i].holds_lanes = holds_lanes;
        change_modes(&workload->tasks[what->first + i], shares);
    }
}

static void number_visits(struct workload *workload)
{
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        workload->tasks[i].first_visit = workload->lane_visit_count;
        if (workload_is_cut(workload, i)) {
            workload->lane_visit_count += workload->tasks[i].merged_count;
        }
    }
}

static void draw(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    if (!offers_cuts(params) || chance(choices, 4)) {
        return;
    }
    params->cuts = true;
    for (uint32_t i = 0; i < params->task_count; i++) {
        bool is_wide = workload->tasks[i].merged_count > 1;

        if (workload->tasks[i].series == WORKLOAD_NONE && can_be_cut(workload, i) &&
            chance(choices, is_wide ? 2 : 6)) {
            make_cut(&workload->tasks[i],
                     workload_policy_of(workload, i)->at_poison == LANEPOOL_AT_POISON_WAIT,
                     choices);
        }
    }
    for (uint32_t i = 0; i < workload->series_count; i++) {
        draw_series(workload, i, choices);
    }
    number_visits(workload);
}

bool workload_has_cuts(const struct workload *workload)
{
    bool any = false;

    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        any |= workload_is_cut(workload, i);
    }
    return any;
}

/* The visits of one lane fail as often as any visits of the cut do. */
uint32_t workload_visits_fail(const struct workload *workload, uint32_t task, uint32_t lane)
{
    const struct workload_task *what = &workload->tasks[task];
    uint64_t dice = workload_dice_of(workload, task, lane);

    if (what->visits_fail == 0 ||
        lane == workload_dice_of(workload, task, UINT32_MAX) % what->merged_count) {
        return what->visits_fail;
    }
    if (what->visits_fail == WORKLOAD_EACH) {
        return dice % 3 == 0 ? WORKLOAD_EACH : (uint32_t)(dice >> 8) % 2;
    }
    return (uint32_t)(dice % (what->visits_fail + 1));
}

bool workload_submits_in_visit(const struct workload *workload, uint32_t task)
{
    return workload_is_cut(workload, task) &&
           workload_dice_of(workload, task, UINT32_MAX - 1) % 2 == 0;
}

static void print_params(const struct workload *workload, FILE *out)
{
    if (workload->params.cuts) {
        fprintf(out, ", cuts");
    }
}

static void print_task(const struct workload_task *task, FILE *out)
{
    if (task->is_cut) {
        fprintf(out, task->holds_lanes ? ", progressive" : ", cut");
        workload_print_number("of its failed attempts in visits", task->visits_fail, out);
    }
}

/* --- visits --- */

/* Each key is visited under the number of its first claim. */
static uint32_t lane_of(const struct task_context *self, size_t index)
{
    const struct workload_task *what = what_of(self);
    bool is_known = index < what->claim_count;
    uint32_t lane = 0;

    for (size_t i = 0; is_known && i < index; i++) {
        is_known = what->claims[i].key != what->claims[index].key;
    }
    run_expect(self, is_known, "a visit has a wrong number");
    while (is_known && what->merged[lane].key != what->claims[index].key) {
        lane++;
    }
    return lane;
}

static struct oracle_lane_visit *visit_of(const struct task_context *self, uint32_t lane)
{
    return oracle_visit_of(self->run->log, self->run->workload, self->task, lane);
}

/* The first visit may be recorded after another one that is made in parallel. */
static void set_earliest(_Atomic uint64_t *at, uint64_t stamp)
{
    uint64_t old = atomic_load(at);

    while ((old == 0 || old > stamp) && !atomic_compare_exchange_strong(at, &old, stamp)) {
    }
}

static void set_latest(_Atomic uint64_t *at, uint64_t stamp)
{
    uint64_t old = atomic_load(at);

    while (old < stamp && !atomic_compare_exchange_strong(at, &old, stamp)) {
    }
}

static void record_first(struct task_context *self, lanepool_run *call)
{
    struct oracle_task *record = record_of(self);

    atomic_fetch_add_explicit(&record->calls, 1, memory_order_relaxed);
    record->call = CALL_RUN;
    record->ticket = lanepool_run_ticket(call);
    record->worker = lanepool_run_worker(call);
    record->thread = world_thread();
    record->call_ns = world_now();
}

/* Records an attempt that may begin with any of its visits, or with the function. */
static void begin_attempt(struct task_context *self, lanepool_run *call, uint64_t stamp)
{
    struct oracle_task *record = record_of(self);

    set_earliest(&record->call_begin, stamp);
    if (atomic_exchange(&record->is_open, true)) {
        return;
    }
    bool is_first = atomic_fetch_add(&record->attempts, 1) == 0;

    EACH_FEATURE(begin_attempt, self, call, is_first);
    record->has_called = false;
    if (is_first) {
        record_first(self, call);
    }
}

static void begin_visit(struct task_context *self, lanepool_run *call, uint32_t lane)
{
    struct oracle_log *log = self->run->log;
    struct oracle_lane_visit *visit = visit_of(self, lane);
    struct workload_claim claim = what_of(self)->merged[lane];
    uint64_t stamp = oracle_stamp(log);

    run_expect(self, !atomic_exchange(&visit->inside, true), "two visits of one lane overlap");
    run_expect(self,
               !atomic_load(&visit->has_passed) && !atomic_load(&visit->is_held) &&
                   !oracle_misses(log, self->run->workload, self->task, claim.key),
               "a lane is visited after its cut has left it");
    run_expect(self,
               oracle_when(&record_of(self)->body_begin) == 0 &&
                   atomic_load(&record_of(self)->parts) == 0 &&
                   oracle_when(&record_of(self)->call_end) == 0,
               "a visit of a cut that is complete");
    begin_attempt(self, call, stamp);
    workload_set_record_of_visit(self, call, lane);
    visit->ticket = lanepool_run_ticket(call);
    if (atomic_fetch_add(&visit->calls, 1) > 0) {
        run_expect(self, visit->left == oracle_read_key(log, claim),
                   "a key was changed between two visits of the cut that has it");
        return;
    }
    atomic_store(&visit->begin, stamp);
    visit->thread = world_thread();
    visit->worker = lanepool_run_worker(call);
    visit->seen = oracle_touch_lane(log, self->run->workload, self->task, lane);
    visit->left = oracle_read_key(log, claim);
}

static int do_nothing(lanepool_run *call, void *context)
{
    (void)call;
    (void)context;
    return 0;
}

/* Calls that are not possible inside a visit. */
static void try_impossible(struct task_context *self, lanepool_run *call, uint32_t lane)
{
    struct run *run = self->run;
    lanepool_key key = lanepool_key_id(what_of(self)->merged[lane].key);
    lanepool_key foreign = lanepool_key_id(key.id + 1);
    lanepool_detached *detached;
    lanepool_task receiver = LANEPOOL_TASK_INIT;
    void *context;

    receiver.function = do_nothing;
    run_expect(self, lanepool_run_release(call, key) == LANEPOOL_DEADLOCK,
               "a visit gives up its lane");
    run_expect(self, lanepool_run_detach(call, &detached) == LANEPOOL_UNSUPPORTED,
               "a visit is detached");
    run_expect(self, lanepool_run_hand_over(call, &receiver) == LANEPOOL_DEADLOCK,
               "a visit hands its lane over");
    run_expect(self, lanepool_pool_quiesce(run->pool, LANEPOOL_FOREVER) == LANEPOOL_DEADLOCK,
               "a visit waits for the pool");
    run_expect(self, lanepool_run_context(call, foreign, &context, NULL) == LANEPOOL_INVALID,
               "a visit uses the context of another lane");
}

/* A wait answers DEADLOCK, unless it need not wait. */
static void try_to_wait(struct task_context *self)
{
    uint32_t awaited = what_of(self)->awaits;
    lanepool_future *future = awaited != WORKLOAD_NONE
                                  ? atomic_load(&self->run->contexts[awaited].published_future)
                                  : NULL;

    if (future != NULL) {
        lanepool_status status = lanepool_future_wait(future, LANEPOOL_FOREVER, NULL);

        run_expect(self, status == LANEPOOL_DEADLOCK || status == LANEPOOL_OK,
                   "a visit waits for a task");
    }
}

static bool end_visit(struct task_context *self, uint32_t lane)
{
    struct oracle_log *log = self->run->log;
    struct oracle_lane_visit *visit = visit_of(self, lane);
    uint64_t stamp = oracle_stamp(log);
    bool fails =
        atomic_load(&visit->calls) <= workload_visits_fail(self->run->workload, self->task, lane);

    if (atomic_load(&visit->calls) == 1) {
        atomic_store(&visit->first_end, stamp);
    }
    atomic_store(&visit->end, stamp);
    set_latest(&record_of(self)->attempt_end, stamp);
    set_latest(&record_of(self)->returned_at, stamp);
    atomic_store(what_of(self)->holds_lanes ? &visit->is_held : &visit->has_passed, !fails);
    atomic_store(&visit->inside, false);
    return fails;
}

/* A repeated cut is asked to end by its timer, whose calls are recorded elsewhere. */
static bool is_asked(const struct task_context *self, const lanepool_run *call)
{
    return lanepool_run_is_cancelled(call) && what_of(self)->series == WORKLOAD_NONE;
}

static int visit_lane(lanepool_run *call, void *argument, size_t index)
{
    struct task_context *self = workload_current_run(argument);
    const struct workload *workload = self->run->workload;
    const struct workload_task *what = what_of(self);
    uint32_t lane = lane_of(self, index);
    struct oracle_lane_visit *visit = visit_of(self, lane);

    begin_visit(self, call, lane);
    run_expect(self, lanepool_run_claim_count(call) == 1, "a visit has not one claim");
    workload_check_visit_claims(self, call, lane);
    workload_use_in_visit(self, call, lane);
    if (lane == 0 && atomic_load(&visit->calls) == 1 &&
        workload_submits_in_visit(workload, self->task)) {
        run_submit_nested(self, call);
    }
    if (workload_dice_of(workload, self->task, 100 + lane) % 4 == 0) {
        try_impossible(self, call, lane);
        try_to_wait(self);
    }
    world_pass(workload_visit_takes(workload, self->task, lane));
    visit->was_asked |= is_asked(self, call);
    lanepool_run_set_result(call, self);
    workload_stop_using(self, what->merged[lane].key);
    return end_visit(self, lane) ? 2 : 0;
}

/* --- the function, and the end --- */

/* Each lane has been visited that the cut has not left. */
static void note_left_lanes(const struct task_context *self)
{
    struct run *run = self->run;
    const struct workload *workload = run->workload;
    bool avoids = run->log->misses != NULL && workload_avoids_poison(workload, self->task);

    for (uint32_t lane = 0; lane < what_of(self)->merged_count && avoids; lane++) {
        uint32_t key = what_of(self)->merged[lane].key;

        if (atomic_load(&visit_of(self, lane)->calls) == 0) {
            run->log->misses[self->task * workload->params.key_count + key] = true;
        }
    }
    if (record_of(self)->left_until == 0) {
        record_of(self)->left_until = oracle_stamp(run->log);
    }
}

static void check_all_passed(const struct task_context *self)
{
    const struct run *run = self->run;

    for (uint32_t lane = 0; lane < what_of(self)->merged_count; lane++) {
        const struct oracle_lane_visit *visit = visit_of(self, lane);
        struct workload_claim claim = what_of(self)->merged[lane];
        bool has_left = oracle_misses(run->log, run->workload, self->task, claim.key);
        bool is_held = atomic_load(&visit->is_held);

        run_expect(self,
                   ((atomic_load(&visit->has_passed) || is_held) && !atomic_load(&visit->inside)) ||
                       has_left,
                   "a cut's function is called before its last visit");
        run_expect(self, !is_held || visit->left == oracle_read_key(run->log, claim),
                   "a key was changed while a progressive rollup had its lane");
    }
}

bool workload_begin_body_of_cut(struct task_context *self, lanepool_run *call)
{
    struct oracle_task *record = record_of(self);
    bool is_first = oracle_when(&record->body_begin) == 0;
    uint64_t stamp = oracle_stamp(self->run->log);

    note_left_lanes(self);
    check_all_passed(self);
    run_expect(self,
               atomic_load(&record->parts) == 0 &&
                   lanepool_run_claim_count(call) ==
                       (what_of(self)->holds_lanes ? what_of(self)->merged_count : 0),
               "the function of a cut has other claims than it should");
    run_expect(self, atomic_load(&self->failed_checks) >= atomic_load(&self->failed_in_visits),
               "checks in visits do not fail");
    begin_attempt(self, call, stamp);
    run_expect(self, run_code_of(self) == 1,
               "a cut's function is called although a visit has failed");
    atomic_store(&record->is_open, false);
    record->has_called = true;
    if (is_first) {
        record->body_thread = world_thread();
        record->body_worker = lanepool_run_worker(call);
        atomic_store(&record->body_begin, stamp);
    }
    return is_first;
}

void workload_end_cut_in_parts(struct task_context *self)
{
    struct oracle_task *record = record_of(self);

    run_expect(self,
               workload_is_cut(self->run->workload, self->task) &&
                   atomic_load(&record->attempts) > 0 && !record->has_called,
               "a task ends in parts that is no cut, or that has called its function");
    for (uint32_t lane = 0; lane < what_of(self)->merged_count; lane++) {
        run_expect(self, !atomic_load(&visit_of(self, lane)->inside), "a cut ends during a visit");
    }
    atomic_fetch_add(&record->parts, 1);
    if (atomic_load(&record->is_open)) {
        oracle_stamp_at(self->run->log, &record->call_end); /* no failure has been reported */
    }
    run_end_attempt(self);
}

static void note_error(struct task_context *context, const lanepool_error *error)
{
    (void)error;
    if (workload_is_cut(context->run->workload, context->task)) {
        note_left_lanes(context);
    }
    atomic_store(&record_of(context)->is_open, false);
}

static void describe(const struct task_context *context, lanepool_task *task)
{
    if (workload_is_cut(context->run->workload, context->task)) {
        *(what_of(context)->holds_lanes ? &task->at_grant : &task->at_lane) = visit_lane;
    }
}

/* --- the log --- */

static void init_log(struct oracle_log *log, const struct workload *workload)
{
    if (workload->params.cuts) {
        log->lane_visits = memory_get(workload->lane_visit_count, sizeof *log->lane_visits);
    }
}

static void fini_log(struct oracle_log *log)
{
    free(log->lane_visits);
}

const struct workload_feature workload_feature_cut = {
    .draw = draw,
    .print_params = print_params,
    .print_task = print_task,
    .describe = describe,
    .note_error = note_error,
    .init_log = init_log,
    .fini_log = fini_log,
    .judge = judge_cuts,
};
