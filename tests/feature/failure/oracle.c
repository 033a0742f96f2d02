/*
 * Tasks that fail.
 * * Each has the right number of attempts.
 * * Each parked task is resolved once for each time that it was parked.
 * * Lanes that a failure paused remain paused until they are resumed.
 * * Tasks are refused, or run without lanes, only if these lanes were poisoned.
 *
 * The conditions of each attempt were checked during the attempt. That no conflicting task starts
 * between two attempts is a part of order and exclusion, where a task runs from its first attempt
 * to its end.
 */
#include "feature/failure/workload.h"

#include "base/sizes.h"

enum { TICKET_BITS = 40 };

const lanepool_failure_policy *workload_policy_of(const struct workload *workload, uint32_t task)
{
    static const lanepool_failure_policy none = LANEPOOL_FAILURE_POLICY_INIT;
    const struct workload_task *what = &workload->tasks[task];

    if (!workload->params.failures || what->series != WORKLOAD_NONE) {
        return &none;
    }
    return what->has_policy ? &what->policy : &workload->params.policy;
}

static const lanepool_failure_policy *policy_of(const struct judge *judge, uint32_t task)
{
    return workload_policy_of(judge->workload, task);
}

static bool has_failed(const struct judge *judge, uint32_t task)
{
    return judge->log->tasks[task].call == CALL_RUN &&
           judge_result_of(judge, task) == LANEPOOL_FAILED;
}

static bool has_handed_over(const struct judge *judge, uint32_t task)
{
    for (uint32_t i = task + 1; i < judge->workload->params.task_count; i++) {
        if (judge->workload->tasks[i].is_heir && judge->workload->tasks[i].parent == task &&
            judge_is_accepted(&judge->log->tasks[i])) {
            return true;
        }
    }
    return false;
}

/* Returns true if the task held a lane of the key at its last failure. */
static bool has_lane(const struct judge *judge, uint32_t task, uint32_t key)
{
    uint32_t claimant = oracle_claimant(judge->log, judge->workload, task);
    const struct workload_task *what = &judge->workload->tasks[claimant];
    bool gave_up =
        oracle_when(&judge->log->tasks[claimant].gave_up_at) != 0 && what->gives_up == key;

    for (uint32_t i = 0; i < what->merged_count && !what->is_barrier; i++) {
        if (what->merged[i].key == key) {
            return !gave_up && !oracle_misses(judge->log, judge->workload, task, key) &&
                   !oracle_has_passed(judge->log, judge->workload, claimant, i);
        }
    }
    return false;
}

bool judge_share_a_lane(const struct judge *judge, uint32_t kept, uint32_t task)
{
    const struct workload_task *what = &judge->workload->tasks[task];

    for (uint32_t i = 0; i < what->merged_count; i++) {
        if (has_lane(judge, kept, what->merged[i].key) &&
            !oracle_misses(judge->log, judge->workload, task, what->merged[i].key)) {
            return true;
        }
    }
    return false;
}

/* --- attempts --- */

static bool is_stopped(const struct judge *judge)
{
    return oracle_when(&judge->log->stopping_at) != 0;
}

/* Returns true if something may have prevented another attempt. */
static bool is_disturbed(const struct judge *judge, uint32_t task)
{
    bool cancels = false;

    for (uint32_t i = 0; i < judge->workload->cancel_count; i++) {
        cancels |= judge->workload->cancels[i].kind != CANCEL_BEHIND;
    }
    return cancels || is_stopped(judge) || has_handed_over(judge, task) ||
           oracle_when(&judge->log->tasks[task].gave_up_at) != 0;
}

static void check_attempts(struct judge *judge, uint32_t task)
{
    const struct oracle_task *record = &judge->log->tasks[task];
    uint64_t fails = judge->workload->tasks[task].fails;
    uint64_t attempts = atomic_load(&record->attempts);
    uint64_t times = 1 + (uint64_t)atomic_load(&record->tried_anew);
    uint64_t most = (1 + (uint64_t)policy_of(judge, task)->retries) * times;

    most = most < fails + 1 ? most : fails + 1;
    if (attempts > most || (attempts < most && !is_disturbed(judge, task))) {
        judge_blame(&judge->verdict, "%llu attempts at task %u, not %llu",
                    (unsigned long long)attempts, task, (unsigned long long)most);
    }
    if (record->begun_anew != times - 1 && !is_stopped(judge)) {
        judge_blame(&judge->verdict, "task %u was resolved by a retry %u times, not %llu", task,
                    record->begun_anew, (unsigned long long)times - 1);
    }
}

static void check_resolutions(struct judge *judge, uint32_t task)
{
    const struct oracle_task *record = &judge->log->tasks[task];
    unsigned skipped = atomic_load(&record->skipped);
    bool poisons = policy_of(judge, task)->at_end == LANEPOOL_FAILURE_POISON;
    bool was_kept = poisons && has_failed(judge, task) && !has_handed_over(judge, task);

    if (skipped > was_kept || (skipped < was_kept && !is_stopped(judge))) {
        judge_blame(&judge->verdict, "task %u, which was %sparked, was skipped %u times", task,
                    was_kept ? "" : "not ", skipped);
    }
    if (atomic_load(&record->tried_anew) > 0 && !poisons) {
        judge_blame(&judge->verdict, "task %u was resolved by a retry, but never parked", task);
    }
}

/* --- poisoned lanes --- */

static uint64_t place_of(const struct oracle_task *task)
{
    return (task->ticket - LANEPOOL_I_FIRST_TICKET) & (((uint64_t)1 << TICKET_BITS) - 1);
}

/* Returns true if the task was, or may have been, parked at some moment between these stamps. */
static bool was_kept(const struct judge *judge, uint32_t task, uint64_t begin, uint64_t end)
{
    const struct oracle_task *record = &judge->log->tasks[task];

    for (unsigned i = 0; i < ORACLE_KEEPS_MAX; i++) {
        uint64_t from = oracle_when(&record->keeps[i].from);
        uint64_t to = oracle_when(&record->keeps[i].to);

        if (from != 0 && from < end && (to == 0 || to > begin)) {
            return true;
        }
    }
    /* Not all of its times are recorded. */
    return atomic_load(&record->keep_count) > ORACLE_KEEPS_MAX &&
           oracle_when(&record->attempt_end) < end && oracle_when(&record->released_at) > begin;
}

/* Returns true if the task had a lane of the key after one of its failures. A retried visit of a
 * cut may have succeeded since. */
static bool had_lane(const struct judge *judge, uint32_t task, uint32_t key)
{
    const struct workload_task *what = &judge->workload->tasks[task];
    bool had = has_lane(judge, task, key);

    for (uint32_t i = 0; workload_is_cut(judge->workload, task) && i < what->merged_count; i++) {
        had |= what->merged[i].key == key && workload_visits_fail(judge->workload, task, i) > 0;
    }
    return had;
}

/* Returns the end of the time in which the task may leave poisoned lanes. A cut waits in lanes
 * until its first attempt has failed, or has called its function. */
static uint64_t may_leave_until(const struct judge *judge, uint32_t task)
{
    const struct oracle_task *record = &judge->log->tasks[task];

    return record->left_until != 0 ? record->left_until : oracle_when(&record->call_begin);
}

/* Returns true if the lane was poisoned while the task may have waited in it. */
static bool was_poisoned(const struct judge *judge, uint32_t task, uint32_t key)
{
    const struct oracle_task *avoider = &judge->log->tasks[task];

    for (uint32_t i = 0; i < judge->count; i++) {
        uint32_t other = judge->by_ticket[i];
        const struct oracle_task *record = &judge->log->tasks[other];

        if (other != task && record->call == CALL_RUN &&
            policy_of(judge, other)->at_end == LANEPOOL_FAILURE_POISON &&
            had_lane(judge, other, key) &&
            (!judge_has_ticket(avoider) || place_of(record) < place_of(avoider)) &&
            was_kept(judge, other, oracle_when(&avoider->submit_begin),
                     may_leave_until(judge, task))) {
            return true;
        }
    }
    return false;
}

static void check_who_avoids(struct judge *judge, uint32_t task)
{
    const struct workload_task *what = &judge->workload->tasks[task];
    bool refused = judge_was_refused(judge, task);
    bool any = false;

    for (uint32_t i = 0; i < what->merged_count && !what->is_heir; i++) {
        uint32_t key = what->merged[i].key;

        if (refused) {
            any |= was_poisoned(judge, task, key);
        } else if (oracle_misses(judge->log, judge->workload, task, key) &&
                   !was_poisoned(judge, task, key)) {
            judge_blame(&judge->verdict,
                        "task %u ran without the lane of key %u, which was not poisoned", task,
                        key);
        }
    }
    if (refused && (!any || !workload_avoids_poison(judge->workload, task) ||
                    policy_of(judge, task)->at_poison != LANEPOOL_AT_POISON_FAIL)) {
        judge_blame(&judge->verdict, "task %u was refused, but none of its lanes was poisoned",
                    task);
    }
}

/* --- paused lanes --- */

uint64_t judge_resumed_at(const struct judge *judge, uint32_t key, uint64_t stamp)
{
    uint64_t at = UINT64_MAX;

    if (key == WORKLOAD_NONE) {
        return at;
    }
    const struct oracle_lane_failure *record = &judge->log->lanes[key];
    unsigned count = atomic_load(&record->resume_count);

    if (count > ORACLE_RESUMES_MAX) {
        return 0;
    }
    for (unsigned i = 0; i < count; i++) {
        uint64_t begin = oracle_when(&record->resumes[i].begin);

        if (record->resumes[i].end > stamp && begin < at) {
            at = begin;
        }
    }
    return at;
}

/* Returns the begin of the first resume of the lane that ended after `stamp`, by any thread. */
static uint64_t may_go_on_at(const struct judge *judge, uint32_t key, uint64_t stamp)
{
    uint64_t at = judge_resumed_at(judge, key, stamp);

    for (uint32_t i = 0; i < judge->workload->pause_count; i++) {
        const struct oracle_pause *pause = &judge->log->pauses[i];

        if (judge->workload->pauses[i].key == key && oracle_when(&pause->begin) != 0 &&
            oracle_when(&pause->resume_end) > stamp && pause->resume_begin < at) {
            at = pause->resume_begin;
        }
    }
    return at;
}

static bool claims(const struct workload_task *what, struct workload_claim claim)
{
    for (uint32_t i = 0; i < what->merged_count && !what->is_barrier; i++) {
        if (what->merged[i].key == claim.key) {
            return !lanepool_modes_overlap(claim.mode, what->merged[i].mode);
        }
    }
    return false;
}

/* A conflicting task was not granted the lane before the failed one had ended, so none may have
 * started before the resume. */
static void check_lane(struct judge *judge, uint32_t task, struct workload_claim claim)
{
    uint64_t end = oracle_when(&judge->log->tasks[task].call_end);
    uint64_t until = may_go_on_at(judge, claim.key, end);

    const struct judge *lanes = judge->by_lane;

    for (uint32_t i = 0; i < lanes->count; i++) {
        uint32_t other = lanes->by_ticket[i];
        const struct oracle_task *record = &lanes->log->tasks[other];

        if (record->call == CALL_RUN && oracle_when(&record->call_begin) > end &&
            oracle_when(&record->call_begin) < until && !lanes->workload->tasks[other].is_heir &&
            claims(&lanes->workload->tasks[other], claim) &&
            !oracle_misses(lanes->log, lanes->workload, other, claim.key)) {
            judge_blame(&judge->verdict, "task %u started in a lane that task %u had paused", other,
                        task);
        }
    }
}

static void check_pauses(struct judge *judge, uint32_t task)
{
    const struct workload_task *what = &judge->workload->tasks[task];

    if (policy_of(judge, task)->at_end != LANEPOOL_FAILURE_PAUSE || !has_failed(judge, task) ||
        what->is_heir || has_handed_over(judge, task) || is_stopped(judge)) {
        return;
    }
    for (uint32_t i = 0; i < what->merged_count; i++) {
        if (has_lane(judge, task, what->merged[i].key)) {
            check_lane(judge, task, what->merged[i]);
        }
    }
}

/* --- blocked by parked tasks --- */

static bool may_hold_up(const struct judge *judge, uint32_t task, uint64_t begin, uint64_t end)
{
    const struct oracle_task *record = &judge->log->tasks[task];

    switch (policy_of(judge, task)->at_end) {
    case LANEPOOL_FAILURE_POISON:
        return record->call == CALL_RUN && was_kept(judge, task, begin, end);
    case LANEPOOL_FAILURE_PAUSE:
        return has_failed(judge, task) && oracle_when(&record->attempt_end) < end;
    default:
        return false;
    }
}

/* Returns when the pool stopped counting the task, which ran, as running. A shutdown now ends a
 * detached task before the program completes it. */
static uint64_t when_ended(const struct oracle_task *record)
{
    if (!atomic_load(&record->abandoned)) {
        return oracle_when(&record->attempt_end);
    }
    return oracle_when(atomic_load(&record->releases) > 0 ? &record->released_at
                                                          : &record->call_end);
}

void judge_held_up(struct judge *judge, const struct oracle_visit *visit, const char *what)
{
    uint64_t end = oracle_when(&visit->end);
    bool any = false;

    for (uint32_t i = 0; i < judge->count; i++) {
        any |= may_hold_up(judge, judge->by_ticket[i], visit->begin, end);
    }
    for (uint32_t i = 0; i < judge->by_lane->count; i++) {
        uint32_t task = judge->by_lane->by_ticket[i];
        const struct oracle_task *record = &judge->by_lane->log->tasks[task];

        if (record->call == CALL_RUN && atomic_load(&record->attempts) == 1 &&
            oracle_when(&record->call_begin) < visit->begin && when_ended(record) > end) {
            judge_blame(&judge->verdict, "the %s answered PARKED, but task %u runs", what, task);
        }
    }
    if (!any) {
        judge_blame(&judge->verdict, "the %s answered PARKED, but no task is parked", what);
    }
}

bool oracle_is_kept(const struct oracle_log *log, const struct workload *workload, uint32_t task)
{
    const struct oracle_task *record = &log->tasks[task];

    return workload_policy_of(workload, task)->at_end == LANEPOOL_FAILURE_POISON &&
           oracle_when(&record->gave_in_at) != 0 && atomic_load(&record->resolving) == 0 &&
           oracle_when(&record->call_end) == 0;
}

void judge_failures(struct judge *judge)
{
    for (uint32_t i = 0; i < judge->count && judge->verdict.passed; i++) {
        uint32_t task = judge->by_ticket[i];

        if (judge->workload->tasks[task].series != WORKLOAD_NONE) {
            continue;
        }
        if (judge->log->tasks[task].call == CALL_RUN) {
            check_attempts(judge, task);
            check_resolutions(judge, task);
            check_pauses(judge, task);
        }
        check_who_avoids(judge, task);
    }
}
