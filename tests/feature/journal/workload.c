/* Gives some pools a journal. Its `write` replays the entries one by one: after each, the keys of
 * the entry's task must be as the task has left them. */
#include "feature/journal/workload.h"

#include <stdlib.h>

#include "base/sizes.h"
#include "support/memory.h"

enum { BATCH_MOST = 4, WAIT_MOST = 60 };

#define TICKET_MASK (((uint64_t)1 << 40) - 1)

/* This is not drawn, so that older seeds still draw the same workloads. */
static void draw(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    (void)choices;
    params->has_journal = params->seed % 5 == 2;
    params->completes_when_written = params->seed / 5 % 2 == 0;
    params->journal_batch = (uint32_t)(params->seed / 10 % BATCH_MOST);
    params->journal_wait = 1 + (uint32_t)(params->seed / 40 % WAIT_MOST);
    params->lane_numbers = params->seed / 2400 % 2 == 0;
}

static void print_params(const struct workload *workload, FILE *out)
{
    const struct workload_params *params = &workload->params;

    if (params->has_journal) {
        fprintf(out, ", journal: batches %u, waits %u%s%s", params->journal_batch,
                params->journal_wait,
                params->completes_when_written ? ", completes when written" : "",
                params->lane_numbers ? ", lane numbers" : "");
    }
}

/* --- writing --- */

/* Returns the record if it is that of a visit, else NULL. */
static const struct oracle_visit_record *visit_record_of(const struct oracle_journal *journal,
                                                         const lanepool_journal_entry *entry)
{
    uintptr_t first = (uintptr_t)journal->visits;
    uintptr_t at = (uintptr_t)entry->record;
    bool is_visit = at >= first && at - first < journal->visit_count * sizeof *journal->visits;

    return is_visit ? entry->record : NULL;
}

/* Returns the run of a periodic task that has the entry's ticket. */
static struct task_context *run_with_ticket(struct task_context *first,
                                            const lanepool_journal_entry *entry)
{
    const struct workload *workload = first->run->workload;
    uint32_t runs = workload->series[what_of(first)->series].runs;

    for (uint32_t i = 0; i < runs; i++) {
        if (record_of(first + i)->ticket == (entry->ticket & TICKET_MASK) &&
            record_of(first + i)->call == CALL_RUN) {
            return first + i;
        }
    }
    return first;
}

/* The record tells the runs of a periodic task from one another. A task that was cancelled before a
 * retry has none, nor has a cut that did not call its function. */
static struct task_context *context_of(const struct oracle_journal *journal,
                                       const lanepool_journal_entry *entry)
{
    const struct oracle_visit_record *visit = visit_record_of(journal, entry);
    struct task_context *context = entry->context;

    if (visit != NULL) {
        return visit->cut;
    }
    if (entry->record != NULL) {
        return entry->record;
    }
    return what_of(context)->series != WORKLOAD_NONE ? run_with_ticket(context, entry) : context;
}

/* Returns true if the entry is for the lane that the task gave up, which is its first one. */
static bool is_of_lane(const struct oracle_task *record)
{
    return oracle_when(&record->gave_up_at) != 0 && record->part_number == 0;
}

/* Replays what the entry stands for. */
static void replay_entry(struct run *run, struct task_context *context, bool of_lane)
{
    struct oracle_log *serial = &run->log->journal->serial;
    const struct oracle_task *record = record_of(context);

    if (oracle_when(&record->gave_up_at) != 0) {
        oracle_touch_part(serial, run->workload, context->task, of_lane);
        return;
    }
    oracle_touch_keys(serial, run->workload, context->task);
    run_expect(context, oracle_read_keys(serial, run->workload, context->task) == record->left_keys,
               "what is written is not the state of a serial run");
}

/* Returns true if an entry without a record may be for this lane of its cut. */
static bool may_be_of_lane(const struct run *run, const struct task_context *context,
                           const lanepool_journal_entry *entry, uint32_t lane)
{
    const struct oracle_lane_visit *visit =
        oracle_visit_of(run->log, run->workload, context->task, lane);

    return atomic_load(&visit->calls) > 0 && !atomic_load(&visit->has_passed) &&
           visit->entry_number == 0 &&
           (entry->claim_count == 0 ||
            entry->claims[0].mode == what_of(context)->merged[lane].mode);
}

/* Returns the lane that the entry of a visit is for. An entry without a record comes when its cut
 * ends. It may be for several lanes, which the cut has all kept until then. */
static uint32_t lane_of_entry(const struct run *run, const struct task_context *context,
                              const lanepool_journal_entry *entry)
{
    const struct oracle_visit_record *visit = visit_record_of(run->log->journal, entry);
    uint32_t lane = 0;

    if (visit != NULL) {
        return visit->lane;
    }
    while (lane + 1 < what_of(context)->merged_count &&
           !may_be_of_lane(run, context, entry, lane)) {
        lane++;
    }
    return lane;
}

/* The fields of the task may just be written by another visit. */
static void check_visit_entry(struct run *run, struct task_context *context,
                              const lanepool_journal_entry *entry)
{
    uint32_t lane = lane_of_entry(run, context, entry);
    struct workload_claim claim = what_of(context)->merged[lane];
    struct oracle_lane_visit *visit = oracle_visit_of(run->log, run->workload, context->task, lane);
    struct oracle_log *serial = &run->log->journal->serial;

    run_expect(context, (entry->ticket & TICKET_MASK) == visit->ticket,
               "the entry of a visit has another ticket");
    run_expect(context, visit->entry_number == 0, "a visit has two entries");
    run_expect(context, atomic_load(&visit->calls) > 0, "a lane without a visit has an entry");
    run_expect(context, atomic_load(&visit->has_passed) == (entry->status == LANEPOOL_OK),
               "the entry of a visit has a wrong status");
    run_expect(context, entry->record != NULL || entry->status != LANEPOOL_OK,
               "the entry of a visit has lost its record");
    run_expect(context,
               !run->workload->params.lane_numbers ||
                   (entry->claim_count == 1 && entry->claims[0].mode == claim.mode),
               "the entry of a visit has other claims");
    visit->entry_number = entry->number;
    (void)oracle_touch_lane(serial, run->workload, context->task, lane);
    run_expect(context, oracle_read_key(serial, claim) == visit->left,
               "what a visit has written is not the state of a serial run");
}

/* The single entry of a progressive rollup stands for all visits that were made. */
static void replay_visits(struct run *run, struct task_context *context)
{
    struct oracle_log *serial = &run->log->journal->serial;

    for (uint32_t lane = 0; lane < what_of(context)->merged_count; lane++) {
        const struct oracle_lane_visit *visit =
            oracle_visit_of(run->log, run->workload, context->task, lane);

        if (atomic_load(&visit->calls) > 0) {
            (void)oracle_touch_lane(serial, run->workload, context->task, lane);
            run_expect(context,
                       oracle_read_key(serial, what_of(context)->merged[lane]) == visit->left,
                       "what a progressive rollup has written is not the state of a serial run");
        }
    }
}

static void check_entry(struct run *run, const lanepool_journal_entry *entry)
{
    struct task_context *context = context_of(run->log->journal, entry);
    struct oracle_task *record = record_of(context);
    bool of_lane = is_of_lane(record);
    bool is_cut = workload_is_cut(run->workload, context->task);

    run_expect(context, entry->number == run->log->journal->next_number++,
               "an entry has another number");
    run_expect(context, record->entry_number == 0, "a task has an entry behind its last one");
    if (is_cut && entry->is_part) {
        check_visit_entry(run, context, entry);
        return;
    }
    run_expect(context, record->call == CALL_RUN && (entry->ticket & TICKET_MASK) == record->ticket,
               "an entry has another ticket than its task");
    run_expect(context, entry->is_part || !of_lane, "the entry of a lane is not marked as a part");
    *(of_lane ? &record->part_number : &record->entry_number) = entry->number;
    if (is_cut && what_of(context)->holds_lanes) {
        replay_visits(run, context);
    } else if (workload_has_claims(run->workload) && !is_cut) {
        replay_entry(run, context, of_lane);
    }
}

/* As an auditor checks what was stored. */
static void audit_entry(struct run *run, const lanepool_journal_entry *entry)
{
    struct oracle_journal *journal = run->log->journal;
    size_t faults = 0;

    if (!run->workload->params.lane_numbers || run->workload->params.rule != RULE_CLAIMS ||
        journal->is_unchecked) {
        return;
    }
    lanepool_status status = LANEPOOL_OK;
    if (journal->check == NULL) {
        status = lanepool_journal_check_create(1, &journal->check);
    }
    if (status == LANEPOOL_OK) {
        status = lanepool_journal_check_add(journal->check, entry, NULL, 0, &faults);
    }
    journal->is_unchecked = run_is_for_want(status);
    oracle_expect(run->log, status == LANEPOOL_OK || journal->is_unchecked,
                  "an entry does not follow those before it");
}

/* Tasks that end between the check and the stamp have later entries. */
static int write_entries(void *user, const lanepool_journal_entry *entries, size_t count,
                         uint64_t watermark)
{
    struct run *run = user;
    struct oracle_journal *journal = run->log->journal;
    struct oracle_write *call = &journal->writes[journal->write_count++];

    oracle_expect(run->log, atomic_fetch_add(&journal->inside, 1) == 0,
                  "two calls of write overlap");
    journal->serial.misses = run->log->misses;
    for (size_t i = 0; i < count; i++) {
        check_entry(run, &entries[i]);
        audit_entry(run, &entries[i]);
    }
    call->end_number = journal->next_number;
    call->watermark = watermark;
    world_pass(run->workload->params.journal_wait);
    for (size_t i = 0; i < count; i++) {
        struct oracle_task *record = record_of(context_of(journal, &entries[i]));

        if (record->entry_number == entries[i].number) {
            oracle_stamp_at(run->log, &record->written_at);
        }
    }
    atomic_fetch_sub(&journal->inside, 1);
    return 0;
}

static void note_destroyed(struct run *run)
{
    if (run->log->journal != NULL) {
        lanepool_journal_check_destroy(run->log->journal->check);
    }
}

static void fill_options(struct run *run, lanepool_options *options)
{
    const struct workload_params *params = &run->workload->params;

    if (!params->has_journal) {
        return;
    }
    run->journal = (lanepool_journal_options)LANEPOOL_JOURNAL_OPTIONS_INIT;
    run->journal.write = write_entries;
    run->journal.batch_max = params->journal_batch;
    run->journal.wait_ns = params->journal_wait;
    run->journal.completes_when_written = params->completes_when_written;
    run->journal.lane_numbers = params->lane_numbers;
    options->journal = &run->journal;
}

void workload_set_record(struct task_context *self, lanepool_run *call)
{
    lanepool_status wanted =
        self->run->workload->params.has_journal ? LANEPOOL_OK : LANEPOOL_UNSUPPORTED;

    run_expect(self, lanepool_run_set_record(call, self) == wanted, "a record cannot be set");
}

void workload_set_record_of_visit(struct task_context *self, lanepool_run *call, uint32_t lane)
{
    struct oracle_journal *journal = self->run->log->journal;
    struct oracle_visit_record *record;

    if (journal == NULL) {
        workload_set_record(self, call);
        return;
    }
    if (what_of(self)->holds_lanes) {
        run_expect(self, lanepool_run_set_record(call, self) == LANEPOOL_UNSUPPORTED,
                   "a record is set in a visit of a progressive rollup");
        return;
    }
    record = &journal->visits[what_of(self)->first_visit + lane];
    *record = (struct oracle_visit_record){ self, lane };
    run_expect(self, lanepool_run_set_record(call, record) == LANEPOOL_OK,
               "a record cannot be set in a visit");
}

/* --- the log --- */

static void init_log(struct oracle_log *log, const struct workload *workload)
{
    if (!workload->params.has_journal) {
        return;
    }
    log->journal = memory_get(1, sizeof *log->journal);
    log->journal->next_number = 1;
    log->journal->serial.tasks = memory_get(workload->params.task_count, sizeof *log->tasks);
    log->journal->serial.keys = memory_get(workload->params.key_count, sizeof *log->keys);
    if (workload->params.cuts) {
        log->journal->visit_count = workload->lane_visit_count;
        log->journal->visits = memory_get(log->journal->visit_count, sizeof *log->journal->visits);
    }
    /* A task has at most two entries, a cut one more for each visit, and a call at least one. */
    log->journal->writes =
        memory_get(2 * (size_t)workload->params.task_count + log->journal->visit_count + 1,
                   sizeof *log->journal->writes);
}

static void fini_log(struct oracle_log *log)
{
    if (log->journal == NULL) {
        return;
    }
    free(log->journal->serial.tasks);
    free(log->journal->serial.keys);
    free(log->journal->writes);
    free(log->journal->visits);
    free(log->journal);
}

const struct workload_feature workload_feature_journal = {
    .draw = draw,
    .print_params = print_params,
    .fill_options = fill_options,
    .note_destroyed = note_destroyed,
    .begin_body = workload_set_record,
    .init_log = init_log,
    .fini_log = fini_log,
    .judge = judge_journal,
};
