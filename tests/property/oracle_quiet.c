/*
 * Over-blocking: at a moment when no thread can go on, whoever waits must have a reason.
 *
 * A task is excused if an unfinished one that it conflicts with may stand before it, and that one
 * runs or is itself excused. Two tasks submitted at the same time may stand in either order; but
 * one of them is the first, so that they cannot excuse each other.
 */
#include <stdlib.h>
#include <string.h>

#include "property/judge.h"

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

static bool may_stand_before(const struct oracle_task *other, const struct oracle_task *task)
{
    uint64_t end = oracle_when(&task->submit_end);

    return end == 0 || oracle_when(&other->submit_begin) < end;
}

/* Lets every task excuse those behind it, until nothing changes. */
static void excuse(const struct oracle_log *log, const struct workload *workload, bool *excused)
{
    uint32_t count = workload->params.task_count;
    bool changed = true;

    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < count; i++) {
            if (excused[i] || !is_waiting(&log->tasks[i])) {
                continue;
            }
            for (uint32_t j = 0; j < count && !excused[i]; j++) {
                excused[i] = j != i && (excused[j] || is_running(&log->tasks[j])) &&
                             workload_conflict(workload, i, j) &&
                             may_stand_before(&log->tasks[j], &log->tasks[i]);
            }
            changed |= excused[i];
        }
    }
}

static void check_tasks(const struct oracle_log *log, const struct workload *workload,
                        struct oracle_verdict *verdict)
{
    bool excused[QUIET_TASKS_MAX] = { false };

    excuse(log, workload, excused);
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (oracle_when(&log->tasks[i].submit_end) != 0 && is_waiting(&log->tasks[i]) &&
            !excused[i]) {
            judge_blame(verdict, "task %u could run, and a worker sleeps", i);
        }
    }
}

static uint32_t count_pending(const struct oracle_log *log, const struct workload *workload)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        count += is_submitted(&log->tasks[i]) && oracle_when(&log->tasks[i].call_end) == 0;
    }
    return count;
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
    if (log->quiesce.begin == 0 || oracle_when(&log->quiesce.end) != 0) {
        return;
    }
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        const struct oracle_task *task = &log->tasks[i];

        if (is_submitted(task) && oracle_when(&task->call_end) == 0) {
            return;
        }
    }
    judge_blame(verdict, "a quiesce waits, and nothing is pending");
}

struct oracle_verdict oracle_judge_quiet(const struct oracle_log *log,
                                         const struct workload *workload, size_t idle_workers)
{
    struct oracle_verdict verdict = { .passed = true };

    if (workload->params.task_count > QUIET_TASKS_MAX || oracle_when(&log->stopping_at) != 0) {
        return verdict;
    }
    if (idle_workers > 0 && workload->params.layout == LANEPOOL_PER_KEY) {
        check_tasks(log, workload, &verdict);
    }
    check_submitters(log, workload, &verdict);
    check_quiesce(log, workload, &verdict);
    return verdict;
}
