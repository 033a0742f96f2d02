/*
 * Journals: each task that has run has one entry, and no other task has any; conflicting tasks have
 * entries in the order of their tickets; a watermark covers what is below it; and what waits for a
 * write ends after it.
 */
#include "feature/journal/workload.h"

#include "base/sizes.h"

enum { TICKET_BITS = 40 };

static uint64_t ticket_of(const struct oracle_task *record)
{
    return (record->ticket - LANEPOOL_I_FIRST_TICKET) & (((uint64_t)1 << TICKET_BITS) - 1);
}

/* Each visit has its entry before its cut has. */
static void check_visit_entries(struct judge *judge, uint32_t cut)
{
    uint64_t last = judge->log->tasks[cut].entry_number;

    for (uint32_t lane = 0; lane < judge->workload->tasks[cut].merged_count; lane++) {
        const struct oracle_lane_visit *visit =
            oracle_visit_of(judge->log, judge->workload, cut, lane);

        if ((atomic_load(&visit->calls) > 0) != (visit->entry_number != 0)) {
            judge_blame(&judge->verdict, "a visit of cut %u has no entry, or one too many", cut);
        }
        if (visit->entry_number > last) {
            judge_blame(&judge->verdict, "cut %u has an entry before that of a visit", cut);
        }
    }
}

static void check_entries(struct judge *judge)
{
    for (uint32_t i = 0; i < judge->workload->params.task_count; i++) {
        const struct oracle_task *record = &judge->log->tasks[i];
        bool has_run = judge_is_accepted(record) && record->call == CALL_RUN;

        if (has_run != (record->entry_number != 0)) {
            judge_blame(&judge->verdict,
                        has_run ? "task %u has run, and has no entry"
                                : "task %u has not run, and has an entry",
                        i);
        }
        if (workload_is_cut(judge->workload, i) && !workload_holds_lanes(judge->workload, i)) {
            check_visit_entries(judge, i);
        }
    }
}

/* For rules that only answer for pairs. With claims, `write` has replayed the entries. */
static void check_order(struct judge *judge)
{
    const struct oracle_task *tasks = judge->log->tasks;

    if (workload_has_claims(judge->workload)) {
        return;
    }
    for (uint32_t i = 0; i < judge->count; i++) {
        for (uint32_t j = i + 1; j < judge->count; j++) {
            uint32_t a = judge->by_ticket[i];
            uint32_t b = judge->by_ticket[j];

            if (tasks[a].entry_number > tasks[b].entry_number && tasks[b].entry_number != 0 &&
                workload_conflict(judge->workload, a, b)) {
                judge_blame(&judge->verdict, "the entry of task %u precedes that of task %u", b, a);
            }
        }
    }
}

/* A task that has run and whose ticket is below a watermark is in that call or an earlier one. */
static void check_watermarks(struct judge *judge)
{
    const struct oracle_journal *journal = judge->log->journal;

    for (size_t call = 0; call < journal->write_count; call++) {
        uint64_t below = journal->writes[call].watermark - LANEPOOL_I_FIRST_TICKET;

        for (uint32_t i = 0; i < judge->workload->params.task_count; i++) {
            const struct oracle_task *record = &judge->log->tasks[i];

            if (record->entry_number >= journal->writes[call].end_number &&
                ticket_of(record) < below) {
                judge_blame(&judge->verdict, "a watermark is above task %u, which is not written",
                            i);
            }
        }
        if (call > 0 && journal->writes[call].watermark < journal->writes[call - 1].watermark) {
            judge_blame(&judge->verdict, "a watermark is below the one before");
        }
    }
}

static void check_waits(struct judge *judge, uint32_t index)
{
    const struct workload_task *what = &judge->workload->tasks[index];
    const struct oracle_task *record = &judge->log->tasks[index];

    if (what->awaits != WORKLOAD_NONE && record->wait_begin != 0 && record->waited == LANEPOOL_OK &&
        judge->log->tasks[what->awaits].entry_number != 0 &&
        oracle_when(&judge->log->tasks[what->awaits].written_at) > record->wait_end &&
        judge->workload->params.completes_when_written) {
        judge_blame(&judge->verdict, "task %u has waited for a task that was not written", index);
    }
}

static void check_ends(struct judge *judge)
{
    const struct oracle_visit *quiesce = &judge->log->quiesce;

    for (uint32_t i = 0; i < judge->workload->params.task_count; i++) {
        const struct oracle_task *record = &judge->log->tasks[i];
        uint64_t written_at = oracle_when(&record->written_at);

        check_waits(judge, i);
        if (record->entry_number == 0) {
            continue;
        }
        if (oracle_when(&record->released_at) != 0 &&
            judge->workload->tasks[i].series == WORKLOAD_NONE &&
            oracle_when(&record->released_at) < written_at) {
            judge_blame(&judge->verdict, "task %u was released before it was written", i);
        }
        if (oracle_when(&quiesce->end) != 0 && quiesce->status == LANEPOOL_OK &&
            oracle_when(&record->submit_end) < quiesce->begin &&
            !workload_is_late(&judge->workload->tasks[i]) &&
            written_at > oracle_when(&quiesce->end)) {
            judge_blame(&judge->verdict, "a quiesce has not waited until task %u was written", i);
        }
    }
}

void judge_journal(struct judge *judge)
{
    if (judge->log->journal == NULL) {
        return;
    }
    check_entries(judge);
    check_order(judge);
    check_watermarks(judge);
    check_ends(judge);
}
