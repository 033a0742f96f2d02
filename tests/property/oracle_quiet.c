/*
 * Over-blocking: at a moment when no thread can go on, whoever waits must have a reason.
 *
 * A task is excused if an unfinished one that it conflicts with may stand before it, and that one
 * runs or is itself excused. Two tasks submitted at the same time may stand in either order; but
 * one of them is the first, so that they cannot excuse each other.
 *
 * A cancelled task is a mark once it was told. With a rule, one that is excused excuses others;
 * with claims, a cancelled writer does so for readers behind it, in the lane of that key, whom a
 * reader before it holds up.
 */
#include <stdlib.h>
#include <string.h>

#include "property/judge.h"
#include "property/world.h"

enum { QUIET_TASKS_MAX = 64 };

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

/* Nothing was shut down now: it was a call that cancels. */
static bool is_mark(const struct oracle_task *task)
{
    return task->call == CALL_CANCELLED && oracle_when(&task->call_end) != 0;
}

static bool is_in_progress(const struct oracle_cancel *cancel)
{
    return oracle_when(&cancel->begin) != 0 && oracle_when(&cancel->end) == 0;
}

/* Until they have all been told, it cannot be seen which tasks are cancelled. */
static bool cancels_several(const struct oracle_log *log, const struct workload *workload)
{
    bool any = false;

    for (uint32_t i = 0; i < workload->cancel_count; i++) {
        any |= workload->cancels[i].kind >= CANCEL_LANE && is_in_progress(&log->cancels[i]);
    }
    return any;
}

/* Whatever waits for all others waits for calls that cancel, too. */
static bool cancels_any(const struct oracle_log *log, const struct workload *workload)
{
    bool any = false;

    for (uint32_t i = 0; i < workload->cancel_count; i++) {
        any |= is_in_progress(&log->cancels[i]);
    }
    return any;
}

static bool may_stand_before(const struct oracle_task *other, const struct oracle_task *task)
{
    uint64_t end = oracle_when(&task->submit_end);

    return end == 0 || oracle_when(&other->submit_begin) < end;
}

static bool claims(const struct workload_task *what, uint32_t key)
{
    bool found = false;

    for (uint32_t i = 0; i < what->merged_count; i++) {
        found |= what->merged[i].key == key;
    }
    return found;
}

/* Whether a mark stands behind the other in a lane, and the task behind that. */
static bool is_mark_between(const struct oracle_log *log, const struct workload *workload,
                            uint32_t other, uint32_t task)
{
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        const struct workload_task *what = &workload->tasks[i];

        if (!is_mark(&log->tasks[i]) || what->is_barrier ||
            !may_stand_before(&log->tasks[other], &log->tasks[i]) ||
            !may_stand_before(&log->tasks[i], &log->tasks[task])) {
            continue;
        }
        for (uint32_t c = 0; c < what->merged_count; c++) {
            if (what->merged[c].mode == LANEPOOL_EXCLUSIVE &&
                claims(&workload->tasks[other], what->merged[c].key) &&
                claims(&workload->tasks[task], what->merged[c].key)) {
                return true;
            }
        }
    }
    return false;
}

/* A pause that had not been reached when it ended keeps its place in the lane until it has passed.
 */
static bool is_pause_between(const struct oracle_log *log, const struct workload *workload,
                             uint32_t other, uint32_t task)
{
    uint32_t key = workload->params.pause_key;

    return key != WORKLOAD_NONE && oracle_when(&log->pause.begin) != 0 &&
           claims(&workload->tasks[other], key) && claims(&workload->tasks[task], key);
}

/* A mark that could not wait for all at once waits for all that is older: the rule is not asked. */
static bool may_wait_for_all(const struct oracle_task *task)
{
    return is_mark(task) && world_has_refused();
}

static bool holds_up(const struct oracle_log *log, const struct workload *workload, uint32_t other,
                     uint32_t task)
{
    return may_stand_before(&log->tasks[other], &log->tasks[task]) &&
           (workload_conflict(workload, task, other) ||
            is_pause_between(log, workload, other, task) || may_wait_for_all(&log->tasks[task]) ||
            (workload->params.rule == RULE_CLAIMS && is_mark_between(log, workload, other, task)));
}

/* Whether it can be excused. */
static bool is_held_up(const struct workload *workload, uint32_t index,
                       const struct oracle_task *task)
{
    return is_waiting(task) || (is_mark(task) && workload->params.rule != RULE_CLAIMS &&
                                !workload->tasks[index].is_barrier);
}

/* Lets every task excuse those behind it, until nothing changes. */
static void excuse(const struct oracle_log *log, const struct workload *workload, bool *excused)
{
    uint32_t count = workload->params.task_count;
    bool changed = true;

    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < count; i++) {
            if (excused[i] || !is_held_up(workload, i, &log->tasks[i])) {
                continue;
            }
            excused[i] = workload->tasks[i].is_barrier && cancels_any(log, workload);
            for (uint32_t j = 0; j < count && !excused[i]; j++) {
                excused[i] = j != i && (excused[j] || is_running(&log->tasks[j])) &&
                             holds_up(log, workload, j, i);
            }
            changed |= excused[i];
        }
    }
}

static void check_tasks(const struct oracle_log *log, const struct workload *workload,
                        struct oracle_verdict *verdict)
{
    bool excused[QUIET_TASKS_MAX] = { false };

    if (cancels_several(log, workload)) {
        return;
    }
    excuse(log, workload, excused);
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (oracle_when(&log->tasks[i].submit_end) != 0 && is_waiting(&log->tasks[i]) &&
            !excused[i]) {
            judge_blame(verdict, "task %u could run, and a worker sleeps", i);
        }
    }
}

static bool is_pending(const struct oracle_task *task)
{
    return is_submitted(task) && oracle_when(&task->call_end) == 0;
}

/* A mark counts until its turn has come, which only others that are pending can put off. */
static uint32_t count_pending(const struct oracle_log *log, const struct workload *workload)
{
    uint32_t count = 0;
    uint32_t marks = 0;

    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        count += is_pending(&log->tasks[i]);
        marks += is_mark(&log->tasks[i]);
    }
    return count > 0 ? count + marks : 0;
}

/* Who is in a submit that may block, from outside. */
static bool is_blocked(const struct workload_task *what, const struct oracle_task *task)
{
    return what->parent == WORKLOAD_NONE && what->form != FORM_OR_RUN && what->form != FORM_BATCH &&
           oracle_when(&task->submit_begin) != 0 && oracle_when(&task->submit_end) == 0;
}

static void check_submitters(const struct oracle_log *log, const struct workload *workload,
                             struct oracle_verdict *verdict)
{
    uint32_t pending = count_pending(log, workload);
    uint32_t blocked = 0;
    uint32_t last = 0;

    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (is_blocked(&workload->tasks[i], &log->tasks[i])) {
            blocked++;
            last = i;
        }
    }
    /* Tasks that are being submitted were counted as pending. */
    if (blocked > 0 &&
        (workload->params.pending_max == 0 || pending - blocked < workload->params.pending_max)) {
        judge_blame(verdict, "task %u waits to be submitted, and the pool is not full", last);
    }
}

static void check_quiesce(const struct oracle_log *log, const struct workload *workload,
                          struct oracle_verdict *verdict)
{
    if (log->quiesce.begin == 0 || oracle_when(&log->quiesce.end) != 0 ||
        cancels_any(log, workload)) {
        return;
    }
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (is_pending(&log->tasks[i])) {
            return;
        }
    }
    judge_blame(verdict, "a quiesce waits, and nothing is pending");
}

struct oracle_verdict oracle_judge_quiet(const struct oracle_log *log,
                                         const struct workload *workload, size_t idle_workers)
{
    struct oracle_verdict verdict = { .passed = true };

    bool pauses = oracle_when(&log->pause.begin) != 0 && oracle_when(&log->pause.resumed) == 0;

    if (workload->params.task_count > QUIET_TASKS_MAX || pauses ||
        oracle_when(&log->stopping_at) != 0) {
        return verdict;
    }
    if (idle_workers > 0 && workload->params.layout == LANEPOOL_PER_KEY) {
        check_tasks(log, workload, &verdict);
    }
    check_submitters(log, workload, &verdict);
    check_quiesce(log, workload, &verdict);
    return verdict;
}
