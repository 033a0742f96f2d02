/* Tasks that hold their lanes for longer or shorter than their call, or hand them over. */
#include "feature/detach/workload.h"

/* Returns true if the claims meet in another key than this one. */
static bool meet_elsewhere(const struct oracle_log *log, const struct workload *workload,
                           uint32_t first, uint32_t second, uint32_t key)
{
    const struct workload_task *a = &workload->tasks[first];
    const struct workload_task *b = &workload->tasks[second];

    for (uint32_t i = 0; i < a->merged_count; i++) {
        for (uint32_t j = 0; j < b->merged_count && a->merged[i].key != key; j++) {
            if (a->merged[i].key == b->merged[j].key &&
                !lanepool_modes_overlap(a->merged[i].mode, b->merged[j].mode) &&
                !oracle_misses(log, workload, first, a->merged[i].key) &&
                !oracle_misses(log, workload, second, a->merged[i].key)) {
                return true;
            }
        }
    }
    return false;
}

/* Returns true if one of the two tasks may run without a lane. */
static bool may_miss(const struct oracle_log *log, const struct workload *workload, uint32_t first,
                     uint32_t second)
{
    return log->misses && workload->params.rule == RULE_CLAIMS &&
           !workload->tasks[first].is_barrier && !workload->tasks[second].is_barrier;
}

static bool conflict(const struct oracle_log *log, const struct workload *workload, uint32_t first,
                     uint32_t second)
{
    return may_miss(log, workload, first, second)
               ? meet_elsewhere(log, workload, first, second, WORKLOAD_NONE)
               : workload_conflict(workload, first, second);
}

static bool has_given_up(const struct oracle_task *task, uint64_t stamp)
{
    uint64_t gave_up_at = oracle_when(&task->gave_up_at);

    return gave_up_at != 0 && gave_up_at <= stamp;
}

uint32_t oracle_claimant(const struct oracle_log *log, const struct workload *workload,
                         uint32_t task)
{
    uint32_t giver = workload->tasks[task].parent;
    bool has_all = workload->tasks[task].is_heir && oracle_when(&log->tasks[giver].gave_up_at) == 0;

    return has_all ? giver : task;
}

bool oracle_conflict_at(const struct oracle_log *log, const struct workload *workload,
                        uint32_t first, uint32_t second, uint64_t stamp)
{
    const struct workload_task *what = &workload->tasks[first];

    /* A receiver also has the lanes that its giver has not given up. */
    if (what->is_heir && !has_given_up(&log->tasks[what->parent], stamp)) {
        return conflict(log, workload, what->parent, second);
    }
    if (!has_given_up(&log->tasks[first], stamp) || workload->tasks[second].is_barrier) {
        return conflict(log, workload, first, second);
    }
    return meet_elsewhere(log, workload, first, second, what->gives_up);
}

/* A receiver has its giver's ticket, and starts after its end. */
static void check_heir(struct judge *judge, uint32_t index)
{
    const struct oracle_task *heir = &judge->log->tasks[index];
    const struct oracle_task *giver = &judge->log->tasks[judge->workload->tasks[index].parent];

    if (judge_has_ticket(heir) && heir->ticket != giver->ticket) {
        judge_blame(&judge->verdict, "task %u does not have the ticket of its giver", index);
    }
    if (heir->call == CALL_RUN && oracle_when(&heir->call_begin) < oracle_when(&giver->call_end)) {
        judge_blame(&judge->verdict, "task %u started before its giver had ended", index);
    }
}

void judge_held(struct judge *judge)
{
    for (uint32_t i = 0; i < judge->count; i++) {
        if (judge->workload->tasks[judge->by_ticket[i]].is_heir) {
            check_heir(judge, judge->by_ticket[i]);
        }
    }
}
