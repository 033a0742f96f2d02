/*
 * Limits of lanes: that no task is accepted into a full lane that has to wait for room, and that
 * none waits while there is room.
 *
 * What counts in a lane cannot be seen exactly. A task counts for certain from the return of its
 * submit to the end of its call; at most, from the begin of its submit until nothing is left of
 * it. Heirs count in place of who hands over, periodic tasks as long as their series, and the
 * places of a cancelled task may have gone before it is told: none of these counts for certain
 * here. Tasks that are submitted inside others, or run by their submitters, go over the limit,
 * and count.
 */
#include "property/judge.h"

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

/* The highest limit that the lane may have had by then. */
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

/* --- nobody is accepted into a full lane --- */

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
                       counts_all_the_time(judge->log, judge->workload, i, begin, end);
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

/* --- nobody waits while there is room --- */

static bool is_in_submit(const struct oracle_task *task)
{
    return oracle_when(&task->submit_begin) != 0 && oracle_when(&task->submit_end) == 0;
}

static bool may_be_blocked(const struct oracle_log *log, const struct workload *workload,
                           uint32_t index)
{
    return has_to_wait_for_room(&workload->tasks[index]) && is_in_submit(&log->tasks[index]);
}

/* Others may be writing what is read here; ThreadSanitizer would see judge_is_accepted() do it. Of
 * a batch that has not returned, who knows which of its tasks were accepted. */
static bool may_be_accepted(const struct oracle_log *log, const struct workload *workload,
                            uint32_t index)
{
    const struct oracle_task *task = &log->tasks[index];

    if (is_in_submit(task)) {
        return !may_be_blocked(log, workload, index) || workload->tasks[index].form == FORM_BATCH;
    }
    return oracle_when(&task->submit_end) != 0 && task->submitted == LANEPOOL_OK;
}

/* A mark counts until its turn has come, which others, and pauses, can put off. */
static bool may_count(const struct oracle_log *log, const struct workload *workload, uint32_t index)
{
    const struct oracle_task *task = &log->tasks[index];

    return may_be_accepted(log, workload, index) &&
           (oracle_when(&task->call_end) == 0 || task->call == CALL_CANCELLED);
}

/* An heir counts where who handed over did, also in lanes that were given up before. */
static const struct workload_task *giver_of(const struct workload *workload, uint32_t index)
{
    while (workload->tasks[index].is_heir) {
        index = workload->tasks[index].parent;
    }
    return &workload->tasks[index];
}

/* The last change of all, whose call has returned; changes are made one after the other. */
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
        pending += has_lane(giver_of(workload, i), key) && may_count(log, workload, i);
    }
    return pending >= limit_now(log, workload, key);
}

/* Whether somebody who has to wait is in its way: which of the two came first cannot be seen. */
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

/* Those whose lanes are full come first, then those behind them, so that nobody waits for another
 * who waits for him. A thread that submits a periodic task may wait, too, and be in the way; and
 * the task counts. */
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
