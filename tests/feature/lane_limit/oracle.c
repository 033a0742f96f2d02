/*
 * Lane limits: no submitter that has to wait for room is admitted into a full lane, and none waits
 * while there is room.
 *
 * The pending tasks of a lane cannot be counted exactly. A task certainly counts from the return of
 * its submit to the end of its call. It may count from the beginning of its submit until nothing of
 * it is left. These do not count for certain:
 * * a receiver, which counts instead of its giver;
 * * a periodic task, which counts until it ends;
 * * a cancelled task, whose entries may be gone before its cancelling call.
 *
 * A cut certainly counts in a lane until the end of its last visit there, and not after that.
 *
 * Tasks that are submitted inside others, or run by their submitters, may exceed the limit, and
 * count.
 */
#include "feature/lane_limit/workload.h"

static bool has_lane(const struct workload_task *what, uint32_t key)
{
    bool found = false;

    for (uint32_t i = 0; i < what->merged_count && !what->is_barrier; i++) {
        found |= what->merged[i].key == key;
    }
    return found;
}

static uint64_t or_default(const struct workload *workload, uint32_t pending_max)
{
    return pending_max != 0 ? pending_max : workload->params.lane_pending_max;
}

/* Returns the highest limit that the lane may have had before the stamp. */
static uint64_t limit_most(const struct oracle_log *log, const struct workload *workload,
                           uint32_t key, uint64_t stamp)
{
    uint64_t most = workload->params.lane_pending_max;

    for (uint32_t i = 0; i < workload->limit_count; i++) {
        uint64_t limit = or_default(workload, workload->limits[i].pending_max);
        uint64_t begin = oracle_when(&log->limits[i].begin);

        if (workload->limits[i].key == key && begin != 0 && begin < stamp && limit > most) {
            most = limit;
        }
    }
    return most;
}

/* Returns when a cut has visited the lane; UINT64_MAX if it has not, or the task is no cut. A
 * repeated cut counts until it ends. */
static uint64_t visited_at(const struct oracle_log *log, const struct workload *workload,
                           uint32_t index, uint32_t key)
{
    const struct workload_task *what = &workload->tasks[index];
    uint64_t at = UINT64_MAX;

    for (uint32_t lane = 0; lane < what->merged_count && what->series == WORKLOAD_NONE; lane++) {
        if (what->merged[lane].key == key && oracle_has_passed(log, workload, index, lane)) {
            at = oracle_when(&oracle_visit_of(log, workload, index, lane)->end);
        }
    }
    return at;
}

/* --- no task is accepted into a full lane --- */

static bool counts_all_the_time(const struct oracle_log *log, const struct workload *workload,
                                uint32_t index, uint64_t begin, uint64_t end)
{
    const struct workload_task *what = &workload->tasks[index];
    const struct oracle_task *task = &log->tasks[index];

    return !what->is_heir && what->series == WORKLOAD_NONE && judge_is_accepted(task) &&
           task->call != CALL_CANCELLED && oracle_when(&task->submit_end) < begin &&
           (oracle_when(&task->call_end) == 0 || oracle_when(&task->call_end) > end);
}

static bool has_to_wait_for_room(const struct workload_task *what)
{
    return what->parent == WORKLOAD_NONE && what->form != FORM_OR_RUN && !what->is_heir &&
           !what->is_barrier;
}

static void check_accepted(struct judge *judge, uint32_t index)
{
    const struct workload_task *what = &judge->workload->tasks[index];
    const struct oracle_task *task = &judge->log->tasks[index];
    uint64_t begin = oracle_when(&task->submit_begin);
    uint64_t end = oracle_when(&task->submit_end);

    for (uint32_t c = 0; c < what->merged_count; c++) {
        uint32_t key = what->merged[c].key;
        uint64_t pending = 0;

        for (uint32_t i = 0; i < judge->workload->params.task_count; i++) {
            pending += i != index && has_lane(&judge->workload->tasks[i], key) &&
                       counts_all_the_time(judge->log, judge->workload, i, begin, end) &&
                       visited_at(judge->log, judge->workload, i, key) > end;
        }
        if (pending >= limit_most(judge->log, judge->workload, key, end)) {
            judge_blame(&judge->verdict, "task %u was accepted, and %llu others fill lane %u",
                        index, (unsigned long long)pending, key);
        }
    }
}

void judge_lane_limits(struct judge *judge)
{
    if (judge->workload->params.lane_pending_max == 0) {
        return;
    }
    for (uint32_t i = 0; i < judge->workload->params.task_count; i++) {
        const struct workload_task *what = &judge->workload->tasks[i];

        if (judge_is_accepted(&judge->log->tasks[i]) && what->series == WORKLOAD_NONE &&
            has_to_wait_for_room(what)) {
            check_accepted(judge, i);
        }
    }
}

/* --- no submitter waits while there is room --- */

static bool is_in_submit(const struct oracle_task *task)
{
    return oracle_when(&task->submit_begin) != 0 && oracle_when(&task->submit_end) == 0;
}

static bool may_be_blocked(const struct oracle_log *log, const struct workload *workload,
                           uint32_t index)
{
    return has_to_wait_for_room(&workload->tasks[index]) && is_in_submit(&log->tasks[index]);
}

/* Returns true if the task may be accepted. Other threads may be writing the fields read here, and
 * ThreadSanitizer would report judge_is_accepted(). While a batch has not returned, it is not known
 * which of its tasks are accepted. */
static bool may_be_accepted(const struct oracle_log *log, const struct workload *workload,
                            uint32_t index)
{
    const struct oracle_task *task = &log->tasks[index];

    if (is_in_submit(task)) {
        return !may_be_blocked(log, workload, index) || workload->tasks[index].form == FORM_BATCH;
    }
    return oracle_when(&task->submit_end) != 0 && task->submitted == LANEPOOL_OK;
}

/* Returns true if the task may count. A tombstone counts until its turn, which other tasks and
 * pauses can delay. */
static bool may_count(const struct oracle_log *log, const struct workload *workload, uint32_t index)
{
    const struct oracle_task *task = &log->tasks[index];

    return may_be_accepted(log, workload, index) &&
           (oracle_when(&task->call_end) == 0 || task->call == CALL_CANCELLED ||
            oracle_is_unwritten(log, task));
}

/* Returns the task instead of which a receiver counts: its giver, also in lanes that the giver gave
 * up before. */
static const struct workload_task *giver_of(const struct workload *workload, uint32_t index)
{
    while (workload->tasks[index].is_heir) {
        index = workload->tasks[index].parent;
    }
    return &workload->tasks[index];
}

/* Returns the lane's limit after the last change whose call has returned. Changes are made one
 * after the other. */
static uint64_t limit_now(const struct oracle_log *log, const struct workload *workload,
                          uint32_t key)
{
    uint64_t limit = workload->params.lane_pending_max;

    for (uint32_t i = 0; i < workload->limit_count; i++) {
        if (workload->limits[i].key == key && oracle_when(&log->limits[i].end) != 0) {
            limit = or_default(workload, workload->limits[i].pending_max);
        }
    }
    return limit;
}

static bool may_be_full(const struct oracle_log *log, const struct workload *workload, uint32_t key)
{
    uint64_t pending = 0;

    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        pending += has_lane(giver_of(workload, i), key) && may_count(log, workload, i) &&
                   visited_at(log, workload, i, key) == UINT64_MAX;
    }
    return pending >= limit_now(log, workload, key);
}

/* Returns true if another waiting submitter may precede this one. Their order cannot be seen
 * here. */
static bool is_in_the_way(const struct oracle_log *log, const struct workload *workload,
                          uint32_t key, const bool *waits)
{
    bool any = false;

    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        any |= waits[i] && has_lane(&workload->tasks[i], key) && may_be_blocked(log, workload, i);
    }
    return any;
}

static bool has_reason(const struct oracle_log *log, const struct workload *workload,
                       uint32_t index, const bool *waits)
{
    const struct workload_task *what = &workload->tasks[index];
    bool found = false;

    for (uint32_t c = 0; c < what->merged_count && !found; c++) {
        found = may_be_full(log, workload, what->merged[c].key) ||
                is_in_the_way(log, workload, what->merged[c].key, waits);
    }
    return found;
}

/* Finds the submitters whose lanes are full, and then those behind them. In this order no two
 * submitters excuse one another. A thread that submits a periodic task may also wait and precede
 * others, and its task counts. */
void oracle_find_waits_for_lanes(const struct oracle_log *log, const struct workload *workload,
                                 bool *waits)
{
    bool changed = workload->params.lane_pending_max != 0;

    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < workload->params.task_count; i++) {
            if (!waits[i] && may_be_blocked(log, workload, i) &&
                (workload->series_count > 0 || has_reason(log, workload, i, waits))) {
                waits[i] = changed = true;
            }
        }
    }
}
