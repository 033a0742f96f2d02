/*
 * Groups: the tasks that a wait has waited for have ended. Every member that has ended is taken
 * once, with the result that its future has. Pumps: their tasks run on their threads, and on no
 * others.
 */
#include "property/judge.h"

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
                 task->completion.value !=
                     (task->call == CALL_RUN && !atomic_load(&task->abandoned) ? what : NULL) ||
                 task->completion.code != judge_code_of(judge, index))) {
        judge_blame(&judge->verdict, "the completion of task %u says %s, code %d", index,
                    lanepool_status_name(task->completion.status), task->completion.code);
    }
}

static void check_thread(struct judge *judge, uint32_t index)
{
    const struct oracle_task *task = &judge->log->tasks[index];
    uint32_t pump = judge->workload->tasks[index].pump;

    if (pump != WORKLOAD_NONE && task->call == CALL_RUN &&
        (task->thread != judge->log->pumps[pump].thread || task->worker != SIZE_MAX)) {
        judge_blame(&judge->verdict, "task %u did not run in its pump", index);
    }
}

void judge_groups(struct judge *judge)
{
    for (uint32_t i = 0; i < judge->workload->visit_count; i++) {
        if (judge->log->visits[i].begin != 0) {
            check_visit(judge, i);
        }
    }
    for (uint32_t i = 0; i < judge->count; i++) {
        check_acceptance(judge, judge->by_ticket[i]);
        check_completion(judge, judge->by_ticket[i]);
        check_thread(judge, judge->by_ticket[i]);
    }
}
