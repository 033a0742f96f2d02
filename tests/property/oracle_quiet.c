/*
 * Blocking without a reason: at a moment when no thread is ready, every waiting task must have one.
 *
 * A task is excused if it conflicts with an unfinished task that may precede it, and that runs or
 * is itself excused. Two tasks that were submitted at the same time may have either order. But one
 * of them is the first, so they cannot excuse one another.
 *
 * A cancelled task is a tombstone once it had its cancelling call. With a rule, an excused
 * tombstone excuses other tasks. With claims, a cancelled writer excuses readers behind it in the
 * lane of that key, if a reader before it blocks the tombstone. Only workers remove tombstones, so
 * a pump's task may wait for one.
 */
#include <stdlib.h>
#include <string.h>

#include "feature/cut/workload.h"
#include "property/judge.h"
#include "property/world.h"

/* Cuts are split up into their visits. */
enum { QUIET_TASKS_MAX = 64, QUIET_NODES_MAX = 512 };

static bool is_submitted(const struct oracle_task *task)
{
    return oracle_when(&task->submit_begin) != 0 &&
           (oracle_when(&task->submit_end) == 0 || task->submitted == LANEPOOL_OK);
}

static bool is_running(const struct oracle_task *task)
{
    return oracle_when(&task->call_begin) != 0 && oracle_when(&task->call_end) == 0;
}

static bool is_waiting(const struct oracle_task *task)
{
    return is_submitted(task) && oracle_when(&task->call_begin) == 0;
}

/* Returns true if a tombstone of the task may remain: a call has cancelled it, or its periodic task
 * has ended. To be called if the pool was not stopped. */
static bool is_mark(const struct oracle_log *log, const struct workload *workload, uint32_t index)
{
    const struct oracle_task *task = &log->tasks[index];
    uint32_t series = workload->tasks[index].series;

    if (series != WORKLOAD_NONE) {
        return atomic_load(&log->series[series].ends) > 0 && oracle_when(&task->call_begin) == 0;
    }
    return task->call == CALL_CANCELLED && oracle_when(&task->call_end) != 0;
}

static bool is_in_progress(const struct oracle_cancel *cancel)
{
    return oracle_when(&cancel->begin) != 0 && oracle_when(&cancel->end) == 0;
}

/* Returns true while a call cancels several tasks: it is not known yet which tasks are
 * cancelled. */
static bool cancels_several(const struct oracle_log *log, const struct workload *workload)
{
    bool any = atomic_load(&log->dropping) > 0;

    for (uint32_t i = 0; i < workload->cancel_count; i++) {
        any |= workload->cancels[i].kind >= CANCEL_LANE && is_in_progress(&log->cancels[i]);
    }
    return any;
}

/* Returns true while a task that may have expired gets its cancelling call, on the clock thread. */
static bool is_clock_busy(const struct oracle_log *log, const struct workload *workload)
{
    bool any = false;

    for (uint32_t i = 0; i < workload->params.task_count && workload->params.deadlines; i++) {
        any |= workload->tasks[i].start_within != 0 && is_running(&log->tasks[i]) &&
               log->tasks[i].call == CALL_CANCELLED;
    }
    return any;
}

/* Returns true while any call cancels. A barrier waits for such calls, too. */
static bool cancels_any(const struct oracle_log *log, const struct workload *workload)
{
    bool any = atomic_load(&log->dropping) > 0 || is_clock_busy(log, workload);

    for (uint32_t i = 0; i < workload->cancel_count; i++) {
        any |= is_in_progress(&log->cancels[i]);
    }
    return any;
}

/* Returns true if a task is not written. A barrier waits until all tasks before it are,
 * and the tasks behind it until it is. */
static bool is_any_unwritten(const struct oracle_log *log, const struct workload *workload)
{
    bool any = false;

    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        any |= oracle_is_unwritten(log, &log->tasks[i]);
    }
    return any;
}

/* A delayed task has no position before it is due. */
static bool may_be_due_before(const struct oracle_log *log, const struct workload *workload,
                              uint32_t other, uint32_t task)
{
    uint64_t due_ns = oracle_when(&log->tasks[other].due_min_ns);
    bool is_placed =
        !workload_is_late(&workload->tasks[task]) && oracle_when(&log->tasks[task].submit_end) != 0;

    return due_ns <= world_now() &&
           (!is_placed || due_ns <= oracle_when(&log->tasks[task].due_max_ns));
}

/* Returns true if the task is certainly due. A drain cancels tasks that are not due, one after the
 * other. */
static bool is_due(const struct oracle_log *log, const struct workload *workload, uint32_t task)
{
    bool drains = oracle_when(&log->closing_at) != 0 || oracle_when(&log->ending_at) != 0;

    return !workload_is_late(&workload->tasks[task]) ||
           ((!drains || workload->params.waits_for_delayed) && !is_clock_busy(log, workload) &&
            oracle_when(&log->tasks[task].due_max_ns) <= world_now());
}

static bool may_stand_before(const struct oracle_log *log, const struct workload *workload,
                             uint32_t other, uint32_t task)
{
    uint64_t end = oracle_when(&judge_place_of(log, workload, task)->submit_end);

    if (workload_is_late(&workload->tasks[other])) {
        return may_be_due_before(log, workload, other, task);
    }
    if (workload_is_late(&workload->tasks[task])) {
        return true;
    }
    return end == 0 || oracle_when(&judge_place_of(log, workload, other)->submit_begin) < end;
}

/* Returns the task's claim of the key, or NULL. */
static const struct workload_claim *claim_of(const struct workload_task *what, uint32_t key)
{
    const struct workload_claim *found = NULL;

    for (uint32_t i = 0; i < what->merged_count; i++) {
        if (what->merged[i].key == key) {
            found = &what->merged[i];
        }
    }
    return found;
}

static bool claims(const struct workload_task *what, uint32_t key)
{
    return claim_of(what, key) != NULL;
}

/* Returns true if, in a lane, a tombstone may be behind `other` and before `task`. */
static bool is_mark_between(const struct oracle_log *log, const struct workload *workload,
                            uint32_t other, uint32_t task)
{
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        const struct workload_task *what = &workload->tasks[i];

        if (!is_mark(log, workload, i) || what->is_barrier ||
            !may_stand_before(log, workload, other, i) ||
            !may_stand_before(log, workload, i, task)) {
            continue;
        }
        for (uint32_t c = 0; c < what->merged_count; c++) {
            const struct workload_claim *own =
                claim_of(&workload->tasks[task], what->merged[c].key);

            if (own != NULL && judge_mark_divides(what->merged[c].mode, own->mode) &&
                claims(&workload->tasks[other], own->key)) {
                return true;
            }
        }
    }
    return false;
}

/* Returns true if a pause's gate may be between the two tasks. A gate that was not at the head when
 * its pause ended stays in the lane until its turn. */
static bool is_pause_between(const struct oracle_log *log, const struct workload *workload,
                             uint32_t other, uint32_t task)
{
    bool any = false;

    for (uint32_t i = 0; i < workload->pause_count; i++) {
        uint32_t key = workload->pauses[i].key;

        any |= key != WORKLOAD_NONE && oracle_when(&log->pauses[i].begin) != 0 &&
               claims(&workload->tasks[other], key) && claims(&workload->tasks[task], key);
    }
    for (uint32_t key = 0; key < workload->params.key_count && log->misses; key++) {
        any |= oracle_when(&log->lanes[key].paused_at) != 0 &&
               claims(&workload->tasks[other], key) && claims(&workload->tasks[task], key);
    }
    return any;
}

/* Returns true if a parked task has poisoned the lane, so that tasks that avoid poison have left
 * it. */
static bool is_poisoned(const struct oracle_log *log, const struct workload *workload, uint32_t key)
{
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (oracle_is_kept(log, workload, i) && !workload->tasks[i].is_barrier &&
            claims(&workload->tasks[i], key) && !oracle_misses(log, workload, i, key) &&
            (workload->tasks[i].gives_up != key || oracle_when(&log->tasks[i].gave_up_at) == 0)) {
            return true;
        }
    }
    return false;
}

/* Returns true if the task waits for `other` only in lanes that it has left. */
static bool has_left_its_lanes(const struct oracle_log *log, const struct workload *workload,
                               uint32_t other, uint32_t task)
{
    const struct workload_task *what = &workload->tasks[task];
    const struct workload_task *before = &workload->tasks[oracle_claimant(log, workload, other)];

    if (!log->misses || !workload_avoids_poison(workload, task) ||
        workload->tasks[other].is_barrier || oracle_when(&log->tasks[task].submit_end) == 0) {
        return false;
    }
    for (uint32_t i = 0; i < what->merged_count; i++) {
        if (claims(before, what->merged[i].key) &&
            !is_poisoned(log, workload, what->merged[i].key)) {
            return false;
        }
    }
    return true;
}

static bool may_have_been_kept(const struct oracle_task *record, uint64_t since)
{
    for (unsigned i = 0; i < ORACLE_KEEPS_MAX; i++) {
        uint64_t to = oracle_when(&record->keeps[i].to);

        if (oracle_when(&record->keeps[i].from) != 0 && (to == 0 || to > since)) {
            return true;
        }
    }
    return atomic_load(&record->keep_count) > ORACLE_KEEPS_MAX;
}

/* Returns true if the task is a visit that is not made because its cut may have left the lane. */
static bool may_have_left(const struct oracle_log *log, const struct workload *workload,
                          uint32_t visit)
{
    const struct workload_task *what = &workload->tasks[visit];
    uint64_t since = oracle_when(&log->tasks[visit].submit_begin);

    if (what->visit_of == WORKLOAD_NONE || !log->misses ||
        !workload_avoids_poison(workload, visit)) {
        return false;
    }
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (workload->tasks[i].visit_of != what->visit_of &&
            claims(&workload->tasks[i], what->merged->key) &&
            may_have_been_kept(&log->tasks[i], since)) {
            return true;
        }
    }
    return false;
}

/* Returns true if the task's tombstone may wait for all older tasks. It does if memory was refused,
 * because then the rule is not called. */
static bool may_wait_for_all(const struct oracle_log *log, const struct workload *workload,
                             uint32_t task)
{
    return is_mark(log, workload, task) && world_has_refused();
}

static bool holds_up(const struct oracle_log *log, const struct workload *workload, uint32_t other,
                     uint32_t task)
{
    if (workload->tasks[other].visit_of == task) {
        return !log->tasks[other].is_held;
    }
    if (workload->tasks[task].is_heir && workload->tasks[task].parent == other) {
        return true;
    }
    return may_stand_before(log, workload, other, task) &&
           !has_left_its_lanes(log, workload, other, task) &&
           (oracle_conflict_at(log, workload, other, task, UINT64_MAX) ||
            is_pause_between(log, workload, other, task) || may_wait_for_all(log, workload, task) ||
            (workload->params.rule == RULE_CLAIMS && is_mark_between(log, workload, other, task)));
}

/* Returns true if the task waits and may have a reason. */
static bool is_held_up(const struct oracle_log *log, const struct workload *workload,
                       uint32_t index)
{
    return is_waiting(&log->tasks[index]) ||
           (is_mark(log, workload, index) && workload->params.rule != RULE_CLAIMS &&
            !workload->tasks[index].is_barrier);
}

/* Returns true if a task that is to pause its lanes runs, and has a lane in common with this
 * one. */
static bool is_just_paused(const struct oracle_log *log, const struct workload *workload,
                           uint32_t task)
{
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (workload_policy_of(workload, i)->at_end != LANEPOOL_FAILURE_PAUSE ||
            !is_running(&log->tasks[i]) || workload->tasks[i].fails == 0) {
            continue;
        }
        for (uint32_t c = 0; c < workload->tasks[i].merged_count; c++) {
            if (claims(&workload->tasks[task], workload->tasks[i].merged[c].key)) {
                return true;
            }
        }
    }
    return false;
}

/* Returns true if a pause may block the task: a pause of the pool, or of a lane that the task
 * claims. For WORKLOAD_NONE any pause counts. */
static bool may_be_paused(const struct oracle_log *log, const struct workload *workload,
                          uint32_t task)
{
    bool any = false;

    for (uint32_t i = 0; i < workload->pause_count; i++) {
        uint32_t key = workload->pauses[i].key;

        any |=
            oracle_when(&log->pauses[i].begin) != 0 &&
            oracle_when(&log->pauses[i].resume_end) == 0 &&
            (key == WORKLOAD_NONE || task == WORKLOAD_NONE || claims(&workload->tasks[task], key));
    }
    for (uint32_t key = 0; key < workload->params.key_count && log->misses; key++) {
        any |= oracle_when(&log->lanes[key].paused_at) > oracle_when(&log->lanes[key].resumed_at) &&
               (task == WORKLOAD_NONE || claims(&workload->tasks[task], key));
    }
    return any || (task != WORKLOAD_NONE && is_just_paused(log, workload, task));
}

/* Returns true if a thread waits that could run the task. A pump's thread may be busy with another
 * task. */
static bool somebody_is_idle(const struct oracle_log *log, const struct workload *workload,
                             uint32_t task, size_t idle_workers)
{
    uint32_t pump = workload->tasks[task].pump;
    bool busy = false;

    if (pump == WORKLOAD_NONE) {
        return idle_workers > 0;
    }
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        busy |= is_running(&log->tasks[i]) && log->tasks[i].thread == log->pumps[pump].thread;
    }
    return !busy && atomic_load(&log->pumps[pump].waits);
}

/* Returns true if the task is a visit of a cut that makes as many visits at once as it can: as many
 * as there are workers. Threads that wait inside tasks make visits, too. */
static bool are_visitors_busy(const struct oracle_log *log, const struct workload *workload,
                              uint32_t task)
{
    uint32_t cut = workload->tasks[task].visit_of;
    uint32_t busy = 0;

    for (uint32_t i = 0; i < workload->params.task_count && cut != WORKLOAD_NONE; i++) {
        busy += workload->tasks[i].visit_of == cut && log->tasks[i].has_called;
    }
    return cut != WORKLOAD_NONE && busy >= workload->params.workers;
}

/* Finds the excused tasks, until no more are found. */
static void excuse(const struct oracle_log *log, const struct workload *workload,
                   size_t idle_workers, bool *excused)
{
    uint32_t count = workload->params.task_count;
    bool changed = true;

    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < count; i++) {
            if (excused[i] || !is_held_up(log, workload, i)) {
                continue;
            }
            excused[i] = (workload->tasks[i].is_barrier &&
                          (cancels_any(log, workload) || is_any_unwritten(log, workload))) ||
                         may_be_paused(log, workload, i) || !is_due(log, workload, i) ||
                         !somebody_is_idle(log, workload, i, idle_workers) ||
                         are_visitors_busy(log, workload, i);
            for (uint32_t j = 0; j < count && !excused[i]; j++) {
                excused[i] =
                    j != i && holds_up(log, workload, j, i) &&
                    (excused[j] || is_running(&log->tasks[j]) ||
                     (workload->tasks[j].is_barrier && oracle_is_unwritten(log, &log->tasks[j])) ||
                     (idle_workers == 0 && is_mark(log, workload, j)));
            }
            changed |= excused[i];
        }
    }
}

static void check_tasks(const struct oracle_log *log, const struct workload *workload,
                        size_t idle_workers, struct oracle_verdict *verdict)
{
    bool excused[QUIET_NODES_MAX] = { false };

    if (cancels_several(log, workload) || workload->params.task_count > QUIET_NODES_MAX) {
        return;
    }
    excuse(log, workload, idle_workers, excused);
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (oracle_when(&log->tasks[i].submit_end) != 0 && is_waiting(&log->tasks[i]) &&
            !excused[i] && !may_have_left(log, workload, i)) {
            judge_blame(verdict, "task %u could run, but %s", i,
                        workload->tasks[i].pump != WORKLOAD_NONE ? "its pump waits"
                                                                 : "a worker sleeps");
        }
    }
}

static void check_split_tasks(const struct oracle_log *log, const struct workload *workload,
                              size_t idle_workers, struct oracle_verdict *verdict)
{
    struct oracle_split split;

    oracle_split_cuts(&split, log, workload);
    check_tasks(&split.log, &split.workload, idle_workers, verdict);
    oracle_split_fini(&split);
}

static bool is_pending(const struct oracle_log *log, const struct oracle_task *task)
{
    return is_submitted(task) &&
           (oracle_when(&task->call_end) == 0 || oracle_is_unwritten(log, task));
}

/* Counts the pending tasks. A tombstone counts until its turn, which only pending tasks can
 * delay. */
static uint32_t count_pending(const struct oracle_log *log, const struct workload *workload)
{
    uint32_t count = 0;
    uint32_t marks = 0;

    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        count += is_pending(log, &log->tasks[i]);
        marks += is_mark(log, workload, i);
    }
    return count > 0 ? count + marks : 0;
}

/* Returns true if the task's submitter is in a submit that may block. Submits inside tasks do not
 * block. */
static bool is_blocked(const struct workload_task *what, const struct oracle_task *task)
{
    return what->parent == WORKLOAD_NONE && what->form != FORM_OR_RUN && what->form != FORM_BATCH &&
           oracle_when(&task->submit_begin) != 0 && oracle_when(&task->submit_end) == 0;
}

/* A periodic task whose timer was cancelled is pending until the clock thread has ended it. */
static void check_submitters(const struct oracle_log *log, const struct workload *workload,
                             struct oracle_verdict *verdict)
{
    uint32_t pending = count_pending(log, workload);
    bool waits[QUIET_TASKS_MAX] = { false };
    uint32_t blocked = 0;

    if (workload->series_count > 0 && is_clock_busy(log, workload)) {
        return;
    }
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        blocked += is_blocked(&workload->tasks[i], &log->tasks[i]);
    }
    /* Tasks that are being submitted were counted as pending. */
    if (workload->params.pending_max != 0 && pending - blocked >= workload->params.pending_max) {
        return;
    }
    oracle_find_waits_for_lanes(log, workload, waits);
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (is_blocked(&workload->tasks[i], &log->tasks[i]) && !waits[i]) {
            judge_blame(verdict, "task %u waits to be submitted, but there is room for it", i);
        }
    }
}

static void check_quiesce(const struct oracle_log *log, const struct workload *workload,
                          struct oracle_verdict *verdict)
{
    if (log->quiesce.begin == 0 || oracle_when(&log->quiesce.end) != 0 ||
        cancels_any(log, workload) || may_be_paused(log, workload, WORKLOAD_NONE)) {
        return;
    }
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        bool is_to_come = workload_is_late(&workload->tasks[i]) &&
                          oracle_when(&log->tasks[i].due_min_ns) > world_now();

        if (is_pending(log, &log->tasks[i]) && !is_to_come) {
            return;
        }
    }
    judge_blame(verdict, "a quiesce waits, but no task is pending");
}

struct oracle_verdict oracle_judge_quiet(const struct oracle_log *log,
                                         const struct workload *workload, size_t idle_workers)
{
    struct oracle_verdict verdict = { .passed = true };

    if (workload->params.task_count > QUIET_TASKS_MAX || oracle_when(&log->stopping_at) != 0) {
        return verdict;
    }
    if ((idle_workers > 0 || workload->params.pumps > 0) &&
        workload->params.layout == LANEPOOL_PER_KEY) {
        check_split_tasks(log, workload, idle_workers, &verdict);
    }
    if (!judge_contexts_are_few(log, workload)) {
        judge_blame(&verdict, "more contexts are idle than allowed");
    }
    check_submitters(log, workload, &verdict);
    check_quiesce(log, workload, &verdict);
    return verdict;
}
