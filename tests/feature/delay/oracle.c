/*
 * Delayed tasks: none starts before it is due, and each gets its ticket when it is due. Periodic
 * tasks: their runs are delayed tasks, one after the other; then there is one last call.
 */
#include "feature/delay/workload.h"

#include "base/sizes.h"

enum { TICKET_BITS = 40 };

static uint64_t ticket_of(const struct oracle_task *task)
{
    return (task->ticket - LANEPOOL_I_FIRST_TICKET) & (((uint64_t)1 << TICKET_BITS) - 1);
}

/* --- delayed tasks --- */

/* Returns true if the first task was certainly in the inbox before the second one could be. If the
 * first is delayed, the clock thread must have known it by then. */
static bool is_due_before(const struct oracle_task *first, const struct oracle_task *second)
{
    uint64_t latest_ns = oracle_when(&first->due_max_ns);
    uint64_t earliest_ns = oracle_when(&second->due_min_ns);

    return latest_ns < earliest_ns ||
           (latest_ns == earliest_ns &&
            oracle_when(&first->submit_end) < oracle_when(&second->submit_begin));
}

static void check_due(struct judge *judge, uint32_t index)
{
    const struct oracle_task *task = &judge->log->tasks[index];

    if (task->call != CALL_RUN) {
        return;
    }
    if (task->call_ns < oracle_when(&task->due_min_ns)) {
        judge_blame(&judge->verdict, "task %u started before it was due", index);
    }
    for (uint32_t i = 0; i < judge->count; i++) {
        uint32_t other = judge->by_ticket[i];
        const struct oracle_task *before = &judge->log->tasks[other];

        if (before->call == CALL_RUN && !judge->workload->tasks[other].is_heir &&
            is_due_before(before, task) && ticket_of(before) > ticket_of(task)) {
            judge_blame(&judge->verdict, "task %u was due before task %u, but has a later ticket",
                        other, index);
        }
    }
}

/* --- periodic tasks --- */

static bool lacks(const struct judge *judge, lanepool_status status)
{
    return judge->log->refused && (status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE);
}

/* Returns true if the periodic task may have ended otherwise than by its last run: it was
 * cancelled, or the pool ended. */
static bool is_disturbed(const struct judge *judge, const struct workload_series *what)
{
    return !what->awaits_end || what->cancel_after != WORKLOAD_NONE ||
           judge->workload->cancel_count > 0 || oracle_when(&judge->log->closing_at) != 0;
}

static void check_end(struct judge *judge, uint32_t index)
{
    const struct oracle_series *record = &judge->log->series[index];
    unsigned ends = atomic_load(&record->ends);
    unsigned returned = atomic_load(&record->returned);

    if (ends + returned != 1) {
        judge_blame(&judge->verdict, "periodic task %u has ended %u times", index, ends + returned);
    }
    if (atomic_load(&record->releases) != ends) {
        judge_blame(&judge->verdict, "the release callback of periodic task %u was called %u times",
                    index, atomic_load(&record->releases));
    }
    if (returned > 0 && judge->workload->params.ending != END_HANDBACK) {
        judge_blame(&judge->verdict, "periodic task %u was handed back", index);
    }
    if (record->runs < judge->workload->series[index].runs &&
        !is_disturbed(judge, &judge->workload->series[index])) {
        judge_blame(&judge->verdict, "periodic task %u has ended after %u runs", index,
                    record->runs);
    }
}

static void check_runs(struct judge *judge, uint32_t index)
{
    const struct workload_series *what = &judge->workload->series[index];
    const struct oracle_series *record = &judge->log->series[index];
    const struct oracle_task *run = &judge->log->tasks[what->first];
    uint32_t late = 0; /* a cancel that answered RUNNING allows one such run */

    for (uint32_t i = 0; i < record->runs; i++) {
        if (i > 0 && (oracle_when(&run[i].call_begin) < oracle_when(&run[i - 1].call_end) ||
                      ticket_of(&run[i]) < ticket_of(&run[i - 1]))) {
            judge_blame(&judge->verdict,
                        "run %u of periodic task %u began before the previous one ended", i, index);
        }
        if (oracle_when(&run[i].call_end) > record->ended_at) {
            judge_blame(&judge->verdict,
                        "periodic task %u got its last call before its last run ended", index);
        }
        late += record->cancelled_at != 0 && oracle_when(&run[i].call_begin) > record->cancelled_at;
    }
    if (late > (record->cancelled == LANEPOOL_RUNNING)) {
        judge_blame(&judge->verdict, "a run of periodic task %u started after its cancel", index);
    }
}

static void check_series(struct judge *judge, uint32_t index)
{
    const struct oracle_series *record = &judge->log->series[index];
    uint64_t closing_at = oracle_when(&judge->log->closing_at);

    if (oracle_when(&record->submit_end) == 0) {
        return;
    }
    if (record->submitted == LANEPOOL_OK) {
        check_end(judge, index);
        check_runs(judge, index);
        return;
    }
    if (!lacks(judge, record->submitted) &&
        !(record->submitted == LANEPOOL_SHUT_DOWN && closing_at != 0 &&
          closing_at < oracle_when(&record->submit_end))) {
        judge_blame(&judge->verdict, "the submit of periodic task %u answered %s", index,
                    lanepool_status_name(record->submitted));
    }
    if (record->runs + atomic_load(&record->ends) + atomic_load(&record->returned) +
            atomic_load(&record->releases) >
        0) {
        judge_blame(&judge->verdict, "periodic task %u was refused, but called", index);
    }
}

void judge_delays(struct judge *judge)
{
    for (uint32_t i = 0; i < judge->count && judge->verdict.passed; i++) {
        if (workload_is_late(&judge->workload->tasks[judge->by_ticket[i]])) {
            check_due(judge, judge->by_ticket[i]);
        }
    }
    for (uint32_t i = 0; i < judge->workload->series_count; i++) {
        check_series(judge, i);
    }
}
