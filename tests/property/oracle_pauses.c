/*
 * Pauses: a task that was submitted after a pause had begun does not start before the pause ends.
 * There are two exceptions: a worker may just be about to start one task, and a thread that waits
 * inside a task runs the tasks that it needs.
 */
#include "property/judge.h"

static bool claims(const struct workload_task *what, uint32_t key)
{
    for (uint32_t i = 0; i < what->merged_count; i++) {
        if (what->merged[i].key == key) {
            return true;
        }
    }
    return false;
}

/* Returns the first stamp at which the pause may have ended: at any resume of the same lane or
 * pool, or at a shutdown. */
static uint64_t may_be_over_at(const struct judge *judge, uint32_t index)
{
    const struct oracle_log *log = judge->log;
    uint64_t over = oracle_when(&log->closing_at);

    over = over != 0 ? over : UINT64_MAX;
    for (uint32_t i = 0; i < judge->workload->pause_count; i++) {
        const struct oracle_pause *other = &log->pauses[i];

        if (judge->workload->pauses[i].key == judge->workload->pauses[index].key &&
            oracle_when(&other->begin) != 0 &&
            oracle_when(&other->resume_end) > oracle_when(&log->pauses[index].begin) &&
            other->resume_begin < over) {
            over = other->resume_begin;
        }
    }
    uint64_t resumed = judge_resumed_at(judge, judge->workload->pauses[index].key,
                                        oracle_when(&log->pauses[index].begin));
    return over < resumed ? over : resumed;
}

static bool runs_inside_a_wait(const struct judge *judge, const struct oracle_task *task)
{
    for (uint32_t i = 0; i < judge->count; i++) {
        const struct oracle_task *other = &judge->log->tasks[judge->by_ticket[i]];

        if (other->wait_begin != 0 && other->thread == task->thread &&
            other->wait_begin < oracle_when(&task->call_begin) &&
            other->wait_end > oracle_when(&task->call_begin)) {
            return true;
        }
    }
    return false;
}

/* Returns true if the pause blocks the task. A receiver has its giver's lanes already, and a
 * barrier has no lanes. */
static bool is_held_up(const struct judge *judge, uint32_t pause, uint32_t task)
{
    const struct workload_task *what = &judge->workload->tasks[task];
    uint32_t key = judge->workload->pauses[pause].key;

    if (key != WORKLOAD_NONE) {
        return !what->is_heir && !what->is_barrier && claims(what, key) &&
               !oracle_misses(judge->log, judge->workload, task, key);
    }
    return judge->log->tasks[task].worker != SIZE_MAX &&
           !runs_inside_a_wait(judge, &judge->log->tasks[task]);
}

static void check_pause(struct judge *judge, uint32_t pause)
{
    const struct oracle_pause *record = &judge->log->pauses[pause];
    bool of_lane = judge->workload->pauses[pause].key != WORKLOAD_NONE;
    uint64_t over_at = may_be_over_at(judge, pause);
    uint32_t started = 0;

    for (uint32_t i = 0; i < judge->count; i++) {
        const struct oracle_task *task = &judge->log->tasks[judge->by_ticket[i]];

        started += task->call == CALL_RUN && oracle_when(&task->submit_begin) > record->end &&
                   oracle_when(&task->call_begin) < over_at &&
                   is_held_up(judge, pause, judge->by_ticket[i]);
    }
    if (started > (of_lane ? 0 : judge->workload->params.workers)) {
        judge_blame(&judge->verdict, "%u tasks started during pause %u", started, pause);
    }
}

static void check_status(struct judge *judge, lanepool_status status, uint64_t end)
{
    uint64_t closing_at = oracle_when(&judge->log->closing_at);
    bool lacks =
        judge->log->refused && (status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE);
    bool closed = status == LANEPOOL_SHUT_DOWN && closing_at != 0 && closing_at < end;

    if (status != LANEPOOL_OK && !lacks && !closed) {
        judge_blame(&judge->verdict, "a pause or resume answered %s", lanepool_status_name(status));
    }
}

void judge_pauses(struct judge *judge)
{
    for (uint32_t i = 0; i < judge->workload->pause_count; i++) {
        const struct oracle_pause *record = &judge->log->pauses[i];

        if (oracle_when(&record->begin) == 0) {
            continue;
        }
        check_status(judge, record->status, record->end);
        check_status(judge, record->resumed, oracle_when(&record->resume_end));
        if (record->status == LANEPOOL_OK) {
            check_pause(judge, i);
        }
    }
}
