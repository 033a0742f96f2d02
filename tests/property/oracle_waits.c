/*
 * Waits inside tasks: their answers must be justified.
 *
 * A wait that answers DEADLOCK must have had a reason: a path in the wait-for graph from the
 * awaited task to the waiting one. Which edges existed at the moment of the judgement is not
 * recorded. Therefore every edge counts that existed at some moment of the wait.
 */
#include <stdlib.h>

#include "property/judge.h"
#include "support/memory.h"

static bool is_called_before(const struct oracle_task *task, uint64_t stamp)
{
    return oracle_when(&task->call_begin) != 0 && oracle_when(&task->call_begin) < stamp;
}

static bool has_ended_before(const struct oracle_task *task, uint64_t stamp)
{
    return oracle_when(&task->call_end) != 0 && oracle_when(&task->call_end) < stamp;
}

/* Returns true if the task blocked no other task any more at the stamp. With claims and lanes per
 * key that holds after its cancelling call; otherwise its tombstone may remain until the tasks that
 * it waited for have finished. */
static bool has_gone_before(const struct judge *judge, uint32_t index, uint64_t stamp)
{
    const struct workload_params *params = &judge->workload->params;

    if (!judge_is_mark(judge, index)) {
        return has_ended_before(&judge->log->tasks[index], stamp);
    }
    return params->rule == RULE_CLAIMS && params->layout == LANEPOOL_PER_KEY &&
           judge->cancelled_by[index] != WORKLOAD_NONE &&
           oracle_when(&judge->log->cancels[judge->cancelled_by[index]].end) < stamp;
}

static bool may_wait_after(const struct judge *judge, uint32_t index, uint64_t stamp)
{
    return judge_is_mark(judge, index) ? !has_gone_before(judge, index, stamp)
                                       : !is_called_before(&judge->log->tasks[index], stamp);
}

/* Returns true if the task's thread ran `other` inside the task's wait. Only first attempts
 * wait. */
static bool helps(const struct oracle_task *task, const struct oracle_task *other)
{
    return other->call == CALL_RUN && other->thread == task->thread &&
           oracle_when(&other->call_begin) > task->wait_begin &&
           oracle_when(&other->first_end) < oracle_when(&task->call_end);
}

static bool awaits(const struct judge *judge, uint32_t task, uint32_t other)
{
    const struct workload_task *what = &judge->workload->tasks[task];

    return what->awaits == other || (what->awaits_group != WORKLOAD_NONE &&
                                     what->awaits_group == judge->workload->tasks[other].group);
}

/* Returns true if `other` may precede `task`. A delayed task may be behind tasks that were
 * submitted after it. */
static bool may_stand_before(const struct judge *judge, uint32_t other, uint32_t task)
{
    return workload_is_late(&judge->workload->tasks[task]) ||
           oracle_when(&judge_place_of(judge->log, judge->workload, other)->submit_begin) <
               oracle_when(&judge_place_of(judge->log, judge->workload, task)->submit_end);
}

/* Returns true if the task exists, or may have existed as a tombstone: a periodic task's next run
 * may have been due and passed its turn. */
static bool may_be_there(const struct judge *judge, uint32_t task)
{
    return judge_is_accepted(&judge->log->tasks[task]) ||
           judge->workload->tasks[task].series != WORKLOAD_NONE;
}

static bool is_heir_of(const struct judge *judge, uint32_t task, uint32_t other)
{
    return judge->workload->tasks[task].is_heir && judge->workload->tasks[task].parent == other;
}

/* Returns true if the tasks may have conflicted in a lane that one of them later left: before the
 * lane was poisoned, the task waited in it. */
static bool may_have_conflicted(const struct judge *judge, uint32_t task, uint32_t other)
{
    return judge->log->misses && workload_conflict(judge->workload, task, other);
}

/* Returns true if both are visits of one cut, and the first one's lane may have waited for the
 * other's, because a visit had failed. */
static bool may_keep_its_lane(const struct judge *judge, uint32_t task, uint32_t other)
{
    const struct workload_task *what = &judge->workload->tasks[task];
    const struct oracle_task *record = &judge->log->tasks[task];
    bool has_passed_at_once = atomic_load(&record->attempts) == 1 && record->has_passed;

    return what->visit_of != WORKLOAD_NONE &&
           what->visit_of == judge->workload->tasks[other].visit_of && !has_passed_at_once;
}

/* Returns true if the task is a visit of a progressive rollup, which has its lane until the rollup
 * has ended. */
static bool is_held_for(const struct judge *judge, uint32_t task, uint32_t other)
{
    return judge->workload->tasks[task].visit_of == other &&
           judge->workload->tasks[other].holds_lanes;
}

/* Returns true if, at some moment from begin to end, the task was blocked by `other`. */
static bool is_held_up_by(const struct judge *judge, uint32_t task, uint32_t other, uint64_t begin,
                          uint64_t end)
{
    const struct oracle_task *a = &judge->log->tasks[task];
    const struct oracle_task *b = &judge->log->tasks[other];

    if (task == other || !may_be_there(judge, other) || has_gone_before(judge, other, begin)) {
        return false;
    }
    if (is_called_before(a, end) && a->wait_begin != 0 && a->wait_begin < end &&
        a->wait_end > begin && (awaits(judge, task, other) || helps(a, b))) {
        return true;
    }
    if (may_keep_its_lane(judge, task, other) || is_held_for(judge, task, other)) {
        return true;
    }
    return may_wait_after(judge, task, begin) && may_stand_before(judge, other, task) &&
           (oracle_conflict_at(judge->log, judge->workload, other, task, 0) ||
            may_have_conflicted(judge, other, task) || is_heir_of(judge, task, other) ||
            judge->workload->tasks[other].visit_of == task ||
            judge_meet_at_a_mark(judge, task, other));
}

/* Returns true if there is a path in the wait-for graph from task `from` to task `to`. */
static bool leads_to(const struct judge *judge, uint32_t from, uint32_t to, uint64_t begin,
                     uint64_t end)
{
    uint32_t count = judge->workload->params.task_count;
    uint32_t *stack = memory_get(count, sizeof *stack);
    bool *seen = memory_get(count, sizeof *seen);
    uint32_t depth = 0;

    stack[depth++] = from;
    seen[from] = true;
    while (depth > 0 && !seen[to]) {
        uint32_t task = stack[--depth];

        for (uint32_t next = 0; next < count; next++) {
            if (!seen[next] && is_held_up_by(judge, task, next, begin, end)) {
                seen[next] = true;
                stack[depth++] = next;
            }
        }
    }
    bool found = seen[to];
    free(stack);
    free(seen);
    return found;
}

static bool is_deadlock_justified(const struct judge *judge, uint32_t index)
{
    const struct oracle_task *task = &judge->log->tasks[index];

    /* With lanes per worker, tasks also block unrelated tasks behind them on their worker. */
    if (judge->workload->params.layout == LANEPOOL_PER_WORKER) {
        return true;
    }
    for (uint32_t i = 0; i < judge->workload->params.task_count; i++) {
        if (awaits(judge, index, i) && judge_is_accepted(&judge->log->tasks[i]) &&
            leads_to(judge, i, index, task->wait_begin, task->wait_end)) {
            return true;
        }
    }
    return false;
}

/* Returns true if the awaited task has ended; for a group, if all earlier members have. */
static bool have_ended(const struct judge *judge, uint32_t index)
{
    const struct oracle_task *task = &judge->log->tasks[index];

    for (uint32_t i = 0; i < judge->workload->params.task_count; i++) {
        const struct oracle_task *other = &judge->log->tasks[i];

        if (awaits(judge, index, i) && judge_is_accepted(other) &&
            oracle_when(&other->submit_end) < task->wait_begin &&
            !has_ended_before(other, task->wait_end)) {
            return false;
        }
    }
    return true;
}

/* Returns true if the pool has no threads, and an awaited task may have needed more than the
 * waiting thread. Then the wait ends when nothing is left to do. A batch may still be in its submit
 * when one of its tasks waits for another one. If the pool has ended a detached or parked task, its
 * last attempt's end is recorded as its own. A task that its submitter runs may be below the
 * waiting one on the stack. */
static bool may_be_in_vain(const struct judge *judge, uint32_t index)
{
    const struct oracle_task *task = &judge->log->tasks[index];
    bool held = false;

    for (uint32_t i = 0; i < judge->workload->params.task_count; i++) {
        const struct workload_task *what = &judge->workload->tasks[i];
        const struct oracle_task *other = &judge->log->tasks[i];
        bool is_pending = judge_is_accepted(other) && !has_ended_before(other, task->wait_end);

        held |= awaits(judge, index, i) && (is_pending || atomic_load(&other->detached) ||
                                            what->fails != 0 || what->form == FORM_OR_RUN);
    }
    return judge->workload->params.step_seed != 0 && held;
}

static void check_wait(struct judge *judge, uint32_t index)
{
    const struct workload_task *what = &judge->workload->tasks[index];
    const struct oracle_task *task = &judge->log->tasks[index];
    bool allowed = false;

    switch (task->waited) {
    case LANEPOOL_DONE:
        allowed = what->cancel != WORKLOAD_NONE && have_ended(judge, index);
        break;
    case LANEPOOL_OK:
        allowed = have_ended(judge, index);
        break;
    case LANEPOOL_TIMED_OUT:
        allowed = what->patience != LANEPOOL_FOREVER || may_be_in_vain(judge, index);
        break;
    case LANEPOOL_DEADLOCK:
        allowed = is_deadlock_justified(judge, index);
        break;
    case LANEPOOL_SHUT_DOWN:
        allowed = oracle_when(&judge->log->stopping_at) != 0 &&
                  oracle_when(&judge->log->stopping_at) < task->wait_end;
        break;
    default:
        allowed = judge->log->refused &&
                  (task->waited == LANEPOOL_NOMEM || task->waited == LANEPOOL_NO_RESOURCE);
        break;
    }
    if (!allowed) {
        judge_blame(&judge->verdict, "the wait of task %u for %s %u answered %s", index,
                    what->awaits != WORKLOAD_NONE ? "task" : "group",
                    what->awaits != WORKLOAD_NONE ? what->awaits : what->awaits_group,
                    lanepool_status_name(task->waited));
    }
}

void judge_waits(struct judge *judge)
{
    for (uint32_t i = 0; i < judge->workload->params.task_count; i++) {
        if (judge->log->tasks[i].wait_begin != 0) {
            check_wait(judge, i);
        }
    }
}
