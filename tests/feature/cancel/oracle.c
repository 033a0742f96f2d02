/*
 * Cancelling calls. If nothing was shut down, each task that did not run got its one call from a
 * cancelling call: on the thread of that call, and before it returned. The answers of the calls
 * agree with the histories of the tasks.
 *
 * A cancelled task may remain as a tombstone for some time. With claims and lanes per key, a
 * tombstone blocks only tasks behind it in a lane in which it has not reached the head. With a
 * rule, it blocks tasks that conflict with it, while the tasks that it waits for are unfinished.
 */
#include "feature/cancel/workload.h"

#include "base/sizes.h"
#include "feature/cut/workload.h"

/* --- which call has cancelled which task --- */

static bool claims(const struct workload_task *what, uint32_t key)
{
    for (uint32_t i = 0; i < what->merged_count; i++) {
        if (what->merged[i].key == key) {
            return true;
        }
    }
    return false;
}

/* Returns true if the call covers the task. A barrier has no lanes. */
static bool covers(const struct judge *judge, uint32_t cancel, uint32_t task)
{
    const struct workload_cancel *what = &judge->workload->cancels[cancel];
    const struct workload_task *claimer = &judge->workload->tasks[task];

    switch (what->kind) {
    case CANCEL_POOL:
        return true;
    case CANCEL_GROUP:
        return claimer->group == what->target;
    case CANCEL_LANE:
        return !claimer->is_barrier && claims(claimer, what->target) &&
               !oracle_misses(judge->log, judge->workload, task, what->target);
    case CANCEL_BEHIND:
        return !claimer->is_barrier && judge_share_a_lane(judge, what->target, task);
    default:
        return what->target == task && judge->log->cancels[cancel].status == LANEPOOL_OK;
    }
}

/* Also covers a receiver whose giver claimed the key, and gave it up later. */
static bool may_cover(const struct judge *judge, uint32_t cancel, uint32_t task)
{
    const struct workload_task *what = &judge->workload->tasks[task];

    return covers(judge, cancel, task) ||
           (what->is_heir && judge->workload->cancels[cancel].kind != CANCEL_GROUP &&
            covers(judge, cancel, what->parent));
}

static bool has_told(const struct judge *judge, uint32_t cancel, uint32_t task)
{
    const struct oracle_cancel *record = &judge->log->cancels[cancel];
    const struct oracle_task *told = &judge->log->tasks[task];

    return oracle_when(&record->begin) != 0 && record->thread == told->thread &&
           oracle_when(&record->begin) < oracle_when(&told->call_begin) &&
           oracle_when(&told->call_end) < oracle_when(&record->end) &&
           may_cover(judge, cancel, task);
}

static void note_mark(struct judge *judge, uint32_t task)
{
    const struct workload_task *what = &judge->workload->tasks[task];

    for (uint32_t i = 0; i < what->merged_count && !what->is_barrier; i++) {
        judge->marks[what->merged[i].key] |= 1u << what->merged[i].mode;
    }
}

void judge_find_cancelled(struct judge *judge)
{
    for (uint32_t i = 0; i < judge->workload->params.task_count; i++) {
        judge->cancelled_by[i] = WORKLOAD_NONE;
        for (uint32_t c = 0;
             c < judge->workload->cancel_count && judge->log->tasks[i].call == CALL_CANCELLED;
             c++) {
            if (has_told(judge, c, i)) {
                judge->cancelled_by[i] = c;
                note_mark(judge, i);
            }
        }
        if (judge_has_expired(judge, i)) {
            note_mark(judge, i);
        }
    }
    /* A call that cancels several tasks may cancel a waiting run of a periodic task. */
    for (uint32_t i = 0; i < judge->workload->series_count; i++) {
        note_mark(judge, judge->workload->series[i].first);
    }
}

static bool is_divided(const struct judge *judge, const struct workload_claim *claim)
{
    bool any = false;

    for (uint32_t mode = 0; mode < JUDGE_MODES; mode++) {
        any |= (judge->marks[claim->key] >> mode & 1) != 0 &&
               judge_mark_divides((lanepool_mode)mode, claim->mode);
    }
    return any;
}

bool judge_meet_at_a_mark(const struct judge *judge, uint32_t task, uint32_t other)
{
    const struct workload_params *params = &judge->workload->params;
    const struct workload_task *what = &judge->workload->tasks[task];
    bool any = judge->workload->cancel_count > 0 || params->pausers > 0 ||
               judge->workload->series_count > 0 || params->failures || params->deadlines;

    for (uint32_t i = 0; i < what->merged_count && any; i++) {
        uint32_t key = what->merged[i].key;

        if ((is_divided(judge, &what->merged[i]) || workload_pauses(judge->workload, key) ||
             oracle_when(&judge->log->lanes[key].paused_at) != 0) &&
            claims(&judge->workload->tasks[other], key)) {
            return true;
        }
    }
    return false;
}

/* --- one task --- */

static bool may_lack(const struct judge *judge, lanepool_status status)
{
    return judge->log->refused && (status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE);
}

static bool ended_before(const struct oracle_task *task, uint64_t stamp)
{
    return oracle_when(&task->call_end) != 0 && oracle_when(&task->call_end) < stamp;
}

/* Returns true if the task has ended, is getting a cancelling call from an earlier canceller, or
 * was cancelled because the pool ends. */
static bool is_done(const struct judge *judge, uint32_t task, uint64_t end)
{
    uint32_t by = judge->cancelled_by[task];

    return ended_before(&judge->log->tasks[task], end) ||
           (by != WORKLOAD_NONE && oracle_when(&judge->log->cancels[by].begin) < end) ||
           (judge->log->tasks[task].call != CALL_RUN &&
            (oracle_when(&judge->log->stopping_at) != 0 || by == WORKLOAD_NONE));
}

/* Returns true if the task has started, and its context was not released before the call. */
static bool can_be_running(const struct oracle_task *task, uint64_t begin)
{
    uint64_t released = oracle_when(&task->released_at);

    return task->call == CALL_RUN && (released == 0 || released > begin);
}

/* Returns true if a wait for the task, in a pool without threads, may have ended because nothing
 * was left to do; as for other waits (oracle_waits.c). */
static bool may_be_in_vain(const struct judge *judge, uint32_t index, uint64_t end)
{
    const struct oracle_task *target = &judge->log->tasks[index];
    const struct workload_task *what = &judge->workload->tasks[index];

    return !ended_before(target, end) || atomic_load(&target->detached) || what->fails != 0 ||
           what->form == FORM_OR_RUN;
}

static void check_one(struct judge *judge, uint32_t cancel)
{
    const struct workload_cancel *what = &judge->workload->cancels[cancel];
    const struct oracle_cancel *record = &judge->log->cancels[cancel];
    const struct oracle_task *target = &judge->log->tasks[what->target];
    bool waits = what->kind == CANCEL_TASK_AND_WAIT;
    uint64_t end = oracle_when(&record->end);
    bool allowed = may_lack(judge, record->status);

    switch (record->status) {
    case LANEPOOL_OK:
        allowed = judge->cancelled_by[what->target] == cancel;
        break;
    case LANEPOOL_RUNNING:
        allowed = !waits && can_be_running(target, oracle_when(&record->begin));
        break;
    case LANEPOOL_DONE:
        allowed = waits ? ended_before(target, end) : is_done(judge, what->target, end);
        break;
    case LANEPOOL_TIMED_OUT:
        /* Without threads, a wait inside a task also ends if nothing is left to do. */
        allowed =
            waits && (what->patience != LANEPOOL_FOREVER ||
                      (judge->workload->params.step_seed != 0 && what->inside != WORKLOAD_NONE &&
                       may_be_in_vain(judge, what->target, end)));
        break;
    case LANEPOOL_DEADLOCK:
    case LANEPOOL_SHUT_DOWN:
        allowed = waits && what->inside != WORKLOAD_NONE; /* judged as a wait */
        break;
    default:
        break;
    }
    if (!allowed) {
        judge_blame(&judge->verdict, "cancelling task %u answered %s", what->target,
                    lanepool_status_name(record->status));
    }
    if (record->status == LANEPOOL_RUNNING && end < target->end_of_body && !target->was_asked) {
        judge_blame(&judge->verdict, "task %u was not asked to end", what->target);
    }
}

/* A task finds that it was asked to end only if a call has asked it. */
static void check_asked(struct judge *judge, uint32_t task)
{
    const struct oracle_task *record = &judge->log->tasks[task];

    if (judge->workload->tasks[task].run_within != 0) {
        return;
    }
    for (uint32_t i = 0; i < judge->workload->cancel_count; i++) {
        const struct workload_cancel *what = &judge->workload->cancels[i];
        uint64_t begin = oracle_when(&judge->log->cancels[i].begin);
        bool of_group = what->kind == CANCEL_GROUP && covers(judge, i, task);
        bool of_task = what->kind <= CANCEL_TASK_AND_WAIT && what->target == task;

        if ((of_group || of_task) && begin != 0 && begin < oracle_when(&record->returned_at)) {
            return;
        }
    }
    judge_blame(&judge->verdict, "task %u finds that it was asked to end, but no call asked it",
                task);
}

/* --- several --- */

static bool started_after(const struct judge *judge, uint32_t cancel, uint32_t task)
{
    const struct oracle_cancel *record = &judge->log->cancels[cancel];
    const struct oracle_task *left = &judge->log->tasks[task];

    return judge_is_accepted(left) && left->call == CALL_RUN &&
           !workload_is_late(&judge->workload->tasks[task]) &&
           oracle_when(&left->submit_end) < oracle_when(&record->begin) &&
           oracle_when(&left->call_begin) > oracle_when(&record->end) &&
           covers(judge, cancel, task);
}

/* Returns true if the task at this position by ticket waited for another one when the call
 * returned. */
static bool was_place_held_up(const struct judge *judge, uint32_t place, uint64_t end)
{
    for (uint32_t i = 0; i < place; i++) {
        const struct oracle_task *before = &judge->log->tasks[judge->by_ticket[i]];

        if (before->call == CALL_RUN && oracle_when(&before->call_end) > end &&
            oracle_conflict_at(judge->log, judge->workload, judge->by_ticket[i],
                               judge->by_ticket[place], end)) {
            return true;
        }
    }
    return false;
}

/* Returns true if the thread of this task has made no call since the task ended: it may still be
 * releasing the task's lanes. */
static bool is_letting_go(const struct judge *judge, uint32_t task, uint64_t end)
{
    const struct oracle_task *last = &judge->log->tasks[task];

    for (uint32_t i = 0; i < judge->count; i++) {
        const struct oracle_task *other = &judge->log->tasks[judge->by_ticket[i]];

        if (other->thread == last->thread &&
            oracle_when(&other->call_begin) > oracle_when(&last->call_end) &&
            oracle_when(&other->call_begin) < end) {
            return false;
        }
    }
    return true;
}

/* Returns true if the task at this position by ticket may just be released. Then the thread that
 * ran the last of the tasks it waited for has not put it into a ring yet. One task's end can
 * release any number of tasks. */
static bool is_place_let_go(const struct judge *judge, uint32_t place, uint64_t end)
{
    uint32_t last = WORKLOAD_NONE;

    for (uint32_t i = 0; i < place; i++) {
        uint32_t earlier = judge->by_ticket[i];
        uint64_t ended_at = oracle_when(&judge->log->tasks[earlier].call_end);

        if (judge->log->tasks[earlier].call == CALL_RUN && ended_at != 0 && ended_at < end &&
            (last == WORKLOAD_NONE || ended_at > oracle_when(&judge->log->tasks[last].call_end)) &&
            oracle_conflict_at(judge->log, judge->workload, earlier, judge->by_ticket[place], 0)) {
            last = earlier;
        }
    }
    return last != WORKLOAD_NONE && is_letting_go(judge, last, end);
}

/* Returns true if a task with this number in the run that is split up is the task, or a visit of
 * it. */
static bool is_part_of(const struct judge *judge, uint32_t part, uint32_t task)
{
    return workload_is_cut(judge->workload, task)
               ? judge->by_lane->workload->tasks[part].visit_of == task
               : part == task;
}

/* A cut has to wait if it has to wait in each lane. */
static bool was_held_up(const struct judge *judge, uint32_t task, uint64_t end)
{
    bool any = false;

    for (uint32_t i = 0; i < judge->by_lane->count; i++) {
        if (is_part_of(judge, judge->by_lane->by_ticket[i], task)) {
            if (!was_place_held_up(judge->by_lane, i, end)) {
                return false;
            }
            any = true;
        }
    }
    return any;
}

static bool is_let_go(const struct judge *judge, uint32_t task, uint64_t end)
{
    bool any = false;

    for (uint32_t i = 0; i < judge->by_lane->count; i++) {
        any |= is_part_of(judge, judge->by_lane->by_ticket[i], task) &&
               is_place_let_go(judge->by_lane, i, end);
    }
    return any;
}

/* Counts the tasks that a cancel of several tasks has left to run. Each thread may just be about to
 * start one, or may be releasing some; a worker may be moving some that it has stolen. A task that
 * has to wait must not be left. A delayed task may. */
static void check_who_is_left(struct judge *judge, uint32_t cancel)
{
    const struct workload_params *params = &judge->workload->params;
    bool of_group = judge->workload->cancels[cancel].kind == CANCEL_GROUP;
    uint32_t may_be_left =
        (of_group ? 1 : LANEPOOL_I_TAKE_MAX) * params->workers + params->submitters + params->pumps;
    uint64_t end = oracle_when(&judge->log->cancels[cancel].end);
    uint32_t left = 0;

    for (uint32_t i = 0; i < judge->count && judge->verdict.passed; i++) {
        uint32_t task = judge->by_ticket[i];

        if (!started_after(judge, cancel, task)) {
            continue;
        }
        left += !is_let_go(judge, task, end);
        if (was_held_up(judge, task, end)) {
            judge_blame(&judge->verdict, "task %u had to wait, but was not cancelled", task);
        }
    }
    if (left > may_be_left) {
        judge_blame(&judge->verdict, "%u tasks were not cancelled", left);
    }
}

/* Returns true if a resource was refused, so that no task may have been cancelled. Members of a
 * group are cancelled one by one, so that some may have been. */
static bool lacked(const struct judge *judge, uint32_t cancel)
{
    lanepool_status status = judge->log->cancels[cancel].status;

    return judge->workload->cancels[cancel].kind != CANCEL_GROUP &&
           (status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE);
}

/* During a hand-back, its thread may make cancelling calls, too. */
static void check_several(struct judge *judge, uint32_t cancel)
{
    const struct oracle_cancel *record = &judge->log->cancels[cancel];
    bool ends = oracle_when(&judge->log->closing_at) != 0;
    bool stops = oracle_when(&judge->log->stopping_at) != 0;
    uint32_t told = 0;

    for (uint32_t i = 0; i < judge->workload->params.task_count; i++) {
        told += judge->cancelled_by[i] == cancel;
    }
    if (told > 0 && !stops && lacked(judge, cancel)) {
        judge_blame(&judge->verdict,
                    "a cancel failed for lack of a resource, but made %u cancelling calls", told);
    }
    if (judge->workload->cancels[cancel].kind == CANCEL_BEHIND) {
        check_who_is_left(judge, cancel);
        return;
    }
    if (record->count > told + judge->workload->series_count || (record->count < told && !stops)) {
        judge_blame(&judge->verdict, "a cancel counts %zu tasks, but made %u cancelling calls",
                    record->count, told);
    }
    if (record->status == LANEPOOL_OK) {
        check_who_is_left(judge, cancel);
    } else if (!may_lack(judge, record->status) &&
               !(record->status == LANEPOOL_SHUT_DOWN && ends)) {
        judge_blame(&judge->verdict, "cancelling several tasks answered %s",
                    lanepool_status_name(record->status));
    }
}

void judge_cancels(struct judge *judge)
{
    for (uint32_t i = 0; i < judge->workload->cancel_count && judge->verdict.passed; i++) {
        if (oracle_when(&judge->log->cancels[i].begin) == 0) {
            continue;
        }
        if (judge->workload->cancels[i].kind <= CANCEL_TASK_AND_WAIT) {
            check_one(judge, i);
        } else {
            check_several(judge, i);
        }
    }
    for (uint32_t i = 0; i < judge->workload->params.task_count; i++) {
        if (judge->log->tasks[i].was_asked || judge_was_visit_asked(judge, i)) {
            check_asked(judge, i);
        }
    }
}
