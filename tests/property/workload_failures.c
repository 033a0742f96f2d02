#include "property/workload_failures.h"

#include "property/world.h"

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
                   record->left_keys ==
                       oracle_read_keys(self->run->log, self->run->workload, self->task),
               "a key was changed between two attempts of the task that has it");
}

bool workload_begin_attempt(struct task_context *self, lanepool_run *call)
{
    struct oracle_task *record = record_of(self);
    unsigned number = lanepool_run_attempt(call);
    bool is_first = atomic_fetch_add(&record->attempts, 1) == 0;

    if (is_first) {
        run_expect(self, number == 1, "the first attempt has another number");
    } else {
        check_another(self, call, number);
        record->begun_anew += number == 1;
    }
    atomic_store(&self->ends_left, 1);
    atomic_store(&record->gave_in_at, 0);
    record->number = number;
    if (self->run->log->misses && self->run->workload->params.rule == RULE_CLAIMS) {
        note_misses(self, call, is_first);
    }
    return is_first;
}

bool workload_fails_now(const struct task_context *context)
{
    return atomic_load(&record_of(context)->attempts) <= what_of(context)->fails;
}

bool workload_end_attempt(struct task_context *context)
{
    struct oracle_task *record = record_of(context);

    oracle_stamp_at(context->run->log, &record->attempt_end);
    if (atomic_load(&record->attempts) == 1) {
        atomic_store(&record->first_end, oracle_when(&record->attempt_end));
    }
    return record->call == CALL_RUN && workload_fails_now(context) &&
           workload_may_stay(context->run->workload, context->task);
}

static void note_pause(const struct task_context *context)
{
    struct run *run = context->run;
    const struct workload_task *what = what_of(context);

    for (uint32_t i = 0; i < what->merged_count && !what->is_barrier; i++) {
        oracle_stamp_at(run->log, &run->log->lanes[what->merged[i].key].paused_at);
    }
}

/* The end of the last attempt counts as the task's end, because its lanes may have been released
 * since then. If the task was resolved, its resolver has recorded the end already. */
void workload_close(struct task_context *context)
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

void workload_note_failure(struct task_context *context, const lanepool_error *error)
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
