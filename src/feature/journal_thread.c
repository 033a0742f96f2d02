/* Owns the journal's thread: it waits for entries, collects them, has them written, and ends their
 * tasks; see journal.h. */
#include "feature/journal_thread.h"

#include "base/planted.h"
#include "base/thread_name.h"
#include "core/run.h"
#include "lane/visits.h"
#include "platform/notes.h"

/* --- what was written --- */

static lanepool_result result_of(const lanepool_i_journal_room *room, bool is_written)
{
    uint32_t status = load_relaxed(&room->state) >> LANEPOOL_I_JOURNAL_STATUS_SHIFT;
    if (!is_written)
        return (lanepool_result){ LANEPOOL_UNWRITTEN, 0, NULL };
    return (lanepool_result){ (lanepool_status)status, room->code, room->value };
}

static void end_written_task(lanepool_i_journal *journal, lanepool_i_task *task)
{
    const lanepool_i_journal_room *room = lanepool_i_journal_room_of(journal->pool, task);
    uint32_t state = load_relaxed(&room->state);
    if ((state & LANEPOOL_I_JOURNAL_VISIT) != 0)
        return;
    if ((state & LANEPOOL_I_JOURNAL_RELEASED) != 0) {
        lanepool_i_journal_free_part(journal->pool, journal->record, task);
        return;
    }
    lanepool_result result = result_of(room, !journal->has_failed);
    if (journal->options.completes_when_written && !PLANTED(COMPLETES_UNWRITTEN))
        lanepool_i_run_complete(journal->record, lanepool_i_task_future(task), &result);
    lanepool_i_run_dispose(journal->pool, journal->record, task);
}

static void end_written_tasks(lanepool_i_journal *journal)
{
    for (size_t i = 0; i < journal->count; i++)
        end_written_task(journal, journal->tasks[i]);
    journal->count = 0;
    journal->batch++;
}

/* --- writing --- */

/* A part does not settle its ticket: another entry follows, or the receiver is disposed of. */
static uint64_t settle_batch_locked(lanepool_i_journal *journal)
{
    for (size_t i = 0; i < journal->count; i++) {
        lanepool_journal_entry *entry = &journal->entries[i];
        entry->ticket = lanepool_i_watermark_whole(&journal->watermark, entry->ticket);
        if (!entry->is_part || PLANTED(PART_SETTLES))
            lanepool_i_watermark_settle(&journal->watermark, entry->ticket);
    }
    return journal->watermark.unsettled;
}

static int call_write(lanepool_i_journal *journal, uint64_t watermark)
{
    const lanepool_pool *pool = journal->pool;
    lanepool_i_note_callback_begins(&pool->notes);
    journal->record->callbacks++;
    int code =
        journal->options.write(pool->options.user, journal->entries, journal->count, watermark);
    journal->record->callbacks--;
    lanepool_i_note_callback_ends(&pool->notes);
    return code;
}

/* The pool stops before a task ends as unwritten: no task that starts can see that. It may have
 * stopped before. */
static void stop_after_failure(lanepool_i_journal *journal, int code)
{
    journal->has_failed = true;
    lanepool_i_mutex_lock(&journal->lock);
    journal->state.code = code;
    lanepool_i_mutex_unlock(&journal->lock);
    journal->pool->host->stop_now(journal->pool);
}

/* Also without entries: a call of `idle_ns`. */
static void write_or_stop(lanepool_i_journal *journal)
{
    lanepool_i_mutex_lock(&journal->lock);
    uint64_t watermark = settle_batch_locked(journal);
    lanepool_i_mutex_unlock(&journal->lock);
    if (!journal->has_failed) {
        int code = call_write(journal, watermark);
        if (code != 0)
            stop_after_failure(journal, code);
    }
    if (!journal->has_failed) {
        lanepool_i_mutex_lock(&journal->lock);
        journal->state.written += journal->count;
        journal->state.watermark = watermark;
        lanepool_i_mutex_unlock(&journal->lock);
    }
    end_written_tasks(journal);
}

static void write_batch(lanepool_i_journal *journal)
{
    if (journal->count > 0)
        write_or_stop(journal);
}

/* --- taking --- */

/* The claim of a barrier, and its number. */
static const lanepool_claim claim_of_all = { .key = { .type = LANEPOOL_KEY_ALL },
                                             .mode = LANEPOOL_EXCLUSIVE };
static const uint64_t number_of_all;

/* A copy has one place for its numbers. If a giver and its receiver are in one batch, the giver's
 * part is written first. */
static void write_before_numbering(lanepool_i_journal *journal, lanepool_i_claims_copy *claims)
{
    if (claims != NULL && claims->batch == journal->batch)
        write_batch(journal);
    if (claims != NULL)
        claims->batch = journal->batch;
}

static void number_visit(lanepool_i_journal *journal, const lanepool_i_journal_room *room,
                         lanepool_journal_entry *entry)
{
    size_t i = (uintptr_t)room->value;
    if (room->claims == NULL)
        return;
    lanepool_i_lane_numbers_give_one(&journal->lanes, journal->record, room->claims, i);
    entry->claims = &room->claims->claims[i];
    entry->lane_numbers = &room->claims->numbers[i];
    entry->claim_count = 1;
}

static void number_lanes(lanepool_i_journal *journal, const lanepool_i_task *task,
                         lanepool_i_claims_copy *claims, lanepool_journal_entry *entry)
{
    if (lanepool_i_task_is_barrier(task) && journal->options.lane_numbers) {
        entry->claims = &claim_of_all;
        entry->lane_numbers = &number_of_all;
        entry->claim_count = 1;
    } else if (claims != NULL && claims->count > 0) {
        lanepool_i_lane_numbers_give(&journal->lanes, journal->record, claims);
        entry->claims = claims->claims;
        entry->lane_numbers = claims->numbers;
        entry->claim_count = claims->count;
    }
}

/* Adds an entry to the batch. The lanes of a cut are in the entries of its visits. Its copy of
 * claims is used by all of these, which number each claim once. */
static void add_to_batch(lanepool_i_journal *journal, lanepool_i_task *task)
{
    const lanepool_i_journal_room *room = lanepool_i_journal_room_of(journal->pool, task);
    uint32_t state = load_relaxed(&room->state);
    bool is_visit = (state & LANEPOOL_I_JOURNAL_VISIT) != 0;
    bool is_whole = !is_visit && !lanepool_i_task_has_parts(task);
    lanepool_i_note_acquire(room);
    if (is_whole)
        write_before_numbering(journal, room->claims);
    lanepool_journal_entry *entry = &journal->entries[journal->count];
    lanepool_result result = result_of(room, true);
    *entry = (lanepool_journal_entry){
        .number = journal->next_number++,
        .ticket = lanepool_i_task_ticket(task),
        .record = room->record,
        .function = task->function,
        .context = task->context,
        .tag = lanepool_i_task_tag(task),
        .status = result.status,
        .code = result.code,
        .is_part = (state & LANEPOOL_I_JOURNAL_GOES_ON) != 0,
    };
    if (is_visit)
        number_visit(journal, room, entry);
    else if (is_whole)
        number_lanes(journal, task, room->claims, entry);
    journal->tasks[journal->count++] = task;
}

/* A note is behind the entries before it: these are written first. The ticket is settled when the
 * task is disposed of. */
static void end_noted_task(lanepool_i_journal *journal, lanepool_i_task *task, uint32_t state)
{
    write_batch(journal);
    if ((state & LANEPOOL_I_JOURNAL_SILENT) != 0)
        lanepool_i_run_dispose_silently(journal->pool, journal->record, task);
    else
        lanepool_i_run_dispose(journal->pool, journal->record, task);
}

static void take_block(lanepool_i_journal *journal, lanepool_i_task *task)
{
    uint32_t state = load_relaxed(&lanepool_i_journal_room_of(journal->pool, task)->state);
    if ((state & LANEPOOL_I_JOURNAL_NOTE) != 0)
        end_noted_task(journal, task, state);
    else
        add_to_batch(journal, task);
    if (journal->count == journal->options.batch_max)
        write_batch(journal);
}

/* Waits for a link whose appender has moved `tail`. */
static lanepool_i_task *await_link(const _Atomic(lanepool_i_task *) *link)
{
    lanepool_i_task *task;
    while ((task = load_acquire(link)) == NULL)
        lanepool_i_yield();
    return task;
}

/* Clears `head` before `tail`: an appender that finds `tail` empty sets `head` anew, and that must
 * not be overwritten. `busy` is set before `tail` is cleared, so a thread that finds neither knows
 * that all is written. */
static void write_all(lanepool_i_journal *journal)
{
    store_seq(&journal->busy, 1);
    lanepool_i_task *task = await_link(&journal->head);
    store_relaxed(&journal->head, NULL);
    const lanepool_i_task *last = exchange_seq(&journal->tail, NULL);
    for (bool more = true; more;) {
        more = task != last;
        /* Read before the task's block is given back. */
        lanepool_i_task *next = NULL;
        if (more) {
            next = await_link(&lanepool_i_journal_room_of(journal->pool, task)->next);
            lanepool_i_prefetch(next);
            lanepool_i_prefetch(next + 1);
        }
        take_block(journal, task);
        task = next;
    }
    write_batch(journal);
    store_seq(&journal->busy, 0);
    lanepool_i_lifecycle_attend(journal->pool, journal->record);
}

static bool has_appended(const lanepool_i_journal *journal)
{
    return load_seq(&journal->tail) != NULL;
}

bool lanepool_i_journal_is_drained(const lanepool_pool *pool)
{
    const lanepool_i_journal *journal = pool->journal;
    return journal == NULL || (!has_appended(journal) && load_seq(&journal->busy) == 0);
}

/* --- the thread --- */

/* Returns false after `idle_ns` without a post. */
static bool await_post(lanepool_i_journal *journal)
{
    uint64_t idle_ns = journal->options.idle_ns;
    if (idle_ns != 0)
        return lanepool_i_semaphore_wait_until(&journal->semaphore,
                                               lanepool_i_clock_now() + idle_ns);
    lanepool_i_semaphore_wait(&journal->semaphore);
    return true;
}

/* Sleeps until something is appended or the journal ends; returns false after `idle_ns`. A post
 * that comes for a sleep that does not happen is taken. */
static bool sleep_until_append(lanepool_i_journal *journal)
{
    store_seq(&journal->sleeps, 1);
    bool sleeps = !has_appended(journal) && load_seq(&journal->ends) == 0;
    if (sleeps && await_post(journal))
        return true;
    bool is_posted = exchange_seq(&journal->sleeps, 0) == 0;
    if (is_posted)
        lanepool_i_semaphore_wait(&journal->semaphore);
    return is_posted || !sleeps;
}

/* Returns false at the end. */
static bool await_entries(lanepool_i_journal *journal)
{
    while (!has_appended(journal)) {
        if (load_seq(&journal->ends) != 0)
            return false;
        if (!sleep_until_append(journal) && !journal->has_failed)
            write_or_stop(journal);
    }
    if (load_seq(&journal->ends) == 0)
        lanepool_i_nap(journal->options.wait_ns);
    return true;
}

static void *run_journal(void *argument)
{
    lanepool_i_journal *journal = argument;
    lanepool_i_thread_name_journal(journal->pool->name);
    lanepool_i_note_acquire(&journal->pool->notes.controls);
    lanepool_i_thread_record_enter(journal->record);
    while (await_entries(journal))
        write_all(journal);
    lanepool_i_thread_record_leave(journal->record);
    return NULL;
}

bool lanepool_i_journal_start(lanepool_pool *pool)
{
    lanepool_i_journal *journal = pool->journal;
    if (journal != NULL)
        journal->is_started = lanepool_i_thread_start(&journal->thread, 0, run_journal, journal);
    return journal == NULL || journal->is_started;
}

void lanepool_i_journal_join(lanepool_pool *pool)
{
    lanepool_i_journal *journal = pool->journal;
    if (journal == NULL || !journal->is_started)
        return;
    store_seq(&journal->ends, 1);
    lanepool_i_journal_wake(journal);
    lanepool_i_thread_join(&journal->thread);
}

bool lanepool_i_journal_step(lanepool_pool *pool)
{
    lanepool_i_journal *journal = pool->journal;
    if (journal == NULL || !has_appended(journal))
        return false;
    lanepool_i_thread_record *own = lanepool_i_thread_record_swap(pool, journal->record);
    write_all(journal);
    (void)lanepool_i_thread_record_swap(pool, own);
    return true;
}
