/* Owns the ends of tasks: what follows a failure, cancelled tasks, tasks whose call has a record,
 * futures and callbacks. */
#include "core/run_end.h"

#include "future/attempts.h"
#include "lane/visits.h"

/* --- disposing of a task --- */

/* A pump's task has a reference to its member until its block is given back. */
static void release_pump_member(const lanepool_i_task *task)
{
    if (lanepool_i_task_is_for_pump(task))
        lanepool_i_future_release(task->as.wide.future);
}

/* Returns true if a feature disposes of the task later. */
static bool is_postponed(lanepool_pool *pool, lanepool_i_task *task, bool silently)
{
    const lanepool_i_feature *feature = pool->slots.postpones[0];
    return feature != NULL && feature->postpones(pool, task, silently);
}

static bool recycle_block(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_task *task)
{
    bool taken = false;
    for (size_t i = 0; pool->slots.recycle[i] != NULL && !taken; i++)
        taken = pool->slots.recycle[i]->recycle(pool, record, task);
    return taken;
}

/* A task whose block is kept for another run is not released: it continues. */
static __attribute__((noinline)) void dispose_wide(lanepool_pool *pool,
                                                   lanepool_i_thread_record *record,
                                                   lanepool_i_task *task, uint64_t word)
{
    if (is_postponed(pool, task, false))
        return;
    if (recycle_block(pool, record, task)) {
        lanepool_i_run_count_finished(pool, record, word);
        return;
    }
    lanepool_i_run_call_release(record, lanepool_i_task_callbacks(task).release, task->context);
    release_pump_member(task);
    lanepool_i_features_dispose(pool, record, task);
    lanepool_i_run_give_back(pool, record, task, word, lanepool_i_word_class(word));
}

/* Disposes of a plain task in a pool whose features have room in it. */
static void dispose_roomy(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_task *task, uint64_t word, bool silently)
{
    if (is_postponed(pool, task, silently))
        return;
    lanepool_i_features_dispose_plain(pool, record, task);
    lanepool_i_run_give_back(pool, record, task, word, lanepool_i_word_class(word));
}

static inline void dispose_plain(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 lanepool_i_task *task, uint64_t word, bool silently)
{
    if (pool->slots.in_plain[0] == NULL)
        lanepool_i_run_give_back(pool, record, task, word, LANEPOOL_I_PLAIN_CLASS);
    else
        dispose_roomy(pool, record, task, word, silently);
}

static inline void dispose_task(lanepool_pool *pool, lanepool_i_thread_record *record,
                                lanepool_i_task *task, uint64_t word)
{
    if ((word & LANEPOOL_I_WIDE) != 0)
        dispose_wide(pool, record, task, word);
    else
        dispose_plain(pool, record, task, word, false);
}

void lanepool_i_run_call_release(lanepool_i_thread_record *record, lanepool_release_fn release,
                                 void *context)
{
    if (release == NULL)
        return;
    const lanepool_i_pool_notes *notes = &load_relaxed(&record->pool)->notes;
    lanepool_i_note_callback_begins(notes);
    record->callbacks++;
    release(context);
    record->callbacks--;
    lanepool_i_note_callback_ends(notes);
}

void lanepool_i_run_dispose_silently(lanepool_pool *pool, lanepool_i_thread_record *record,
                                     lanepool_i_task *task)
{
    uint64_t word = load_relaxed(&task->word);
    if ((word & LANEPOOL_I_WIDE) == 0) {
        dispose_plain(pool, record, task, word, true);
        return;
    }
    if (is_postponed(pool, task, true))
        return;
    lanepool_i_features_dispose(pool, record, task);
    release_pump_member(task);
    lanepool_i_run_give_back(pool, record, task, word, lanepool_i_word_class(word));
}

void lanepool_i_run_dispose(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_task *task)
{
    dispose_task(pool, record, task, load_relaxed(&task->word));
}

static void complete_future(lanepool_i_thread_record *record, const lanepool_i_ending *end)
{
    record->callbacks++;
    lanepool_i_future_complete(end->future, record, &end->result);
    record->callbacks--;
    lanepool_i_note_callback_ends(&load_relaxed(&record->pool)->notes);
}

/* Returns true if a feature completes the future later. */
static bool is_completed_later(lanepool_pool *pool, lanepool_i_task *task,
                               const lanepool_result *result, bool was_called, bool has_lanes)
{
    const lanepool_i_feature *feature = pool->slots.ended[0];
    return feature != NULL && feature->ended(pool, task, result, was_called, has_lanes);
}

/* --- ending a task --- */

void lanepool_i_run_report_failure(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   const lanepool_i_task *task, const lanepool_result *result,
                                   bool is_last)
{
    const lanepool_i_attempts *attempts = lanepool_i_attempts_of(task);
    if (pool->options.on_error == NULL || (attempts != NULL && attempts->ends_uncalled))
        return;
    lanepool_error error = { task->function, task->context, lanepool_i_task_ticket(task),
                             result->status, result->code,  attempts != NULL ? attempts->failed : 1,
                             is_last };
    record->callbacks++;
    pool->options.on_error(pool->options.user, &error);
    record->callbacks--;
    lanepool_i_note_callback_ends(&pool->notes);
    for (size_t i = 0; pool->slots.reported[i] != NULL; i++)
        pool->slots.reported[i]->reported(pool, (lanepool_i_task *)task);
}

static bool calls_back(const lanepool_i_task *task, const lanepool_i_ending *end)
{
    return lanepool_i_task_callbacks(task).release != NULL ||
           (end->future != NULL && lanepool_i_future_has_callbacks(end->future));
}

static LANEPOOL_I_COLD bool take_failed(lanepool_pool *pool, lanepool_i_thread_record *record,
                                        lanepool_i_task *task, const lanepool_i_ending *end,
                                        bool has_lanes, lanepool_i_grants *grants)
{
    bool taken = false;
    for (size_t i = 0; pool->slots.failed[i] != NULL && !taken; i++)
        taken = pool->slots.failed[i]->failed(pool, record, task, &end->result, has_lanes, grants);
    return taken;
}

static LANEPOOL_I_COLD void end_uncalled(lanepool_pool *pool, lanepool_i_thread_record *record,
                                         const lanepool_i_task *task)
{
    if (lanepool_i_task_is_cut(task))
        pool->slots.cut->ends_uncalled(record, task);
}

/* Ends a task whose function was called in this attempt, or was not; unless it is retried or
 * parked. Leaves the tasks that became ready in the grants, unless a callback might delay them.
 *
 * Without `has_lanes` a receiver has the task's lanes, and they are not released. The task's
 * entries still name them, since a census may be reading the task, but it does not have them any
 * more. */
static inline void settle_task(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_i_task *task, const lanepool_i_ending *end, bool was_called,
                               bool has_lanes, lanepool_i_grants *grants)
{
    uint64_t word = load_relaxed(&task->word);
    *grants = lanepool_i_no_grants(record->ring);
    if (end->result.status != LANEPOOL_OK &&
        take_failed(pool, record, task, end, has_lanes, grants))
        return;
    lanepool_i_count_up(&record->ran, 1);
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_END, task, (uint32_t)end->result.status);
    if (end->result.status != LANEPOOL_OK) {
        lanepool_i_run_report_failure(pool, record, task, &end->result, true);
        end_uncalled(pool, record, task);
    }
    bool queue_first =
        ((word & LANEPOOL_I_WIDE) != 0 || end->future != NULL) && calls_back(task, end);
    bool is_later = !PLANTED(NUMBERED_LATE) &&
                    is_completed_later(pool, task, &end->result, was_called, has_lanes);
    if (has_lanes)
        pool->rule->finish(pool, record, task, grants);
    lanepool_i_count_grants(record, grants);
    if (queue_first)
        lanepool_i_router_put_ready(pool, record, &grants->ready);
    if (PLANTED(NUMBERED_LATE))
        is_later = is_completed_later(pool, task, &end->result, was_called, has_lanes);
    if (end->future != NULL && !is_later)
        complete_future(record, end);
    if (pool->rule->reap == NULL)
        dispose_task(pool, record, task, word);
    else
        lanepool_i_router_reap_later(pool, record, task);
    if (PLANTED(LATE_TOUCH))
        task->context = NULL;
}

/* Ends a plain task that has succeeded, and has no record. */
static void end_roomy_success(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_task *task, lanepool_i_grants *grants)
{
    uint64_t word = load_relaxed(&task->word);
    const lanepool_result result = { LANEPOOL_OK, 0, NULL };
    *grants = lanepool_i_no_grants(record->ring);
    lanepool_i_count_up(&record->ran, 1);
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_END, task, LANEPOOL_OK);
    if (!PLANTED(NUMBERED_LATE))
        (void)is_completed_later(pool, task, &result, true, true);
    pool->rule->finish(pool, record, task, grants);
    lanepool_i_count_grants(record, grants);
    if (PLANTED(NUMBERED_LATE))
        (void)is_completed_later(pool, task, &result, true, true);
    dispose_roomy(pool, record, task, word, false);
    if (PLANTED(LATE_TOUCH))
        task->context = NULL;
}

/* Ends a simple task that has succeeded. It has no release callback and no record, so step 5 and
 * all that features add are left out. No rule that reaps has simple tasks. */
static void end_simple_success(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_i_task *task, const lanepool_i_ending *end,
                               lanepool_i_grants *grants)
{
    uint64_t word = load_relaxed(&task->word);
    *grants = lanepool_i_no_grants(record->ring);
    lanepool_i_count_up(&record->ran, 1);
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_END, task, LANEPOOL_OK);
    pool->rule->finish(pool, record, task, grants);
    lanepool_i_count_grants(record, grants);
    if (end->future != NULL) {
        if (lanepool_i_future_has_callbacks(end->future))
            lanepool_i_router_put_ready(pool, record, &grants->ready);
        complete_future(record, end);
    }
    lanepool_i_run_give_back(pool, record, task, word, lanepool_i_word_class(word));
    if (PLANTED(LATE_TOUCH))
        task->context = NULL;
}

/* --- tombstones --- */

void lanepool_i_run_set_tombstone(lanepool_i_thread_record *record, lanepool_i_task *task)
{
    uint64_t bits = LANEPOOL_I_TOMBSTONE | LANEPOOL_I_STARTED;
    if ((fetch_or_acq_rel(&task->word, bits) & LANEPOOL_I_TOMBSTONE) == 0)
        lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_CANCEL, task, 0);
}

/* Releases a tombstone's lanes. Its canceller calls it, completes its future, and releases its
 * context. */
static LANEPOOL_I_COLD void run_tombstone(lanepool_pool *pool, lanepool_i_thread_record *record,
                                          lanepool_i_task *task, const lanepool_i_ending *end,
                                          lanepool_i_grants *grants)
{
    *grants = lanepool_i_no_grants(record->ring);
    lanepool_i_run_set_tombstone(record, task);
    if (end->future != NULL)
        lanepool_i_future_drop_tombstone(end->future);
    pool->rule->finish(pool, record, task, grants);
    lanepool_i_count_grants(record, grants);
    if (pool->rule->reap == NULL)
        lanepool_i_run_dispose_silently(pool, record, task);
    else
        lanepool_i_router_reap_later(pool, record, task);
}

/* --- tasks whose call has a record --- */

/* A receiver becomes the first of the ready tasks. It counts as ready before the giver counts as
 * finished. */
static LANEPOOL_I_COLD void settle_with_record(lanepool_pool *pool,
                                               lanepool_i_thread_record *record,
                                               lanepool_i_task *task, const lanepool_i_ending *end,
                                               lanepool_i_grants *grants)
{
    bool detached = lanepool_i_call_record_is_detached(end->call);
    lanepool_i_task *receiver = lanepool_i_call_record_end(pool, end->call);
    lanepool_i_count_up(&record->readied, receiver != NULL);
    settle_task(pool, record, task, end, true, receiver == NULL, grants);
    if (receiver != NULL)
        lanepool_i_grants_add(grants, receiver);
    if (detached) {
        lanepool_i_router_put_ready(pool, record, &grants->ready);
        lanepool_i_lifecycle_count_out(pool, record);
    }
}

static LANEPOOL_I_COLD void return_with_record(lanepool_pool *pool,
                                               lanepool_i_thread_record *record,
                                               lanepool_i_task *task, lanepool_i_ending *end,
                                               lanepool_i_grants *grants)
{
    *grants = lanepool_i_no_grants(record->ring);
    if (lanepool_i_call_record_returned(end->call, &end->result))
        settle_with_record(pool, record, task, end, grants);
    else if (load_seq(pool->lifecycle.state) == LANEPOOL_I_STOPPING)
        lanepool_i_call_records_end_all(pool, record, false);
}

void lanepool_i_run_end_suspended(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  lanepool_i_task *task, lanepool_i_call_record *call,
                                  lanepool_result result)
{
    lanepool_i_grants grants;
    lanepool_i_ending end = { lanepool_i_task_future(task), result, call };
    if (call != NULL) {
        settle_with_record(pool, record, task, &end, &grants);
    } else {
        settle_task(pool, record, task, &end, false, true, &grants);
        lanepool_i_router_put_ready(pool, record, &grants.ready);
    }
    lanepool_i_lifecycle_attend(pool, record);
}

void lanepool_i_run_end(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_i_task *task, lanepool_i_outcome outcome, lanepool_i_ending *end,
                        lanepool_i_grants *grants)
{
    if (outcome == LANEPOOL_I_SIMPLE_SUCCEEDED)
        end_simple_success(pool, record, task, end, grants);
    else if (outcome == LANEPOOL_I_PLAIN_SUCCEEDED)
        end_roomy_success(pool, record, task, grants);
    else if (outcome == LANEPOOL_I_ENDED || outcome == LANEPOOL_I_ENDED_UNCALLED)
        settle_task(pool, record, task, end, outcome == LANEPOOL_I_ENDED, true, grants);
    else if (outcome == LANEPOOL_I_RETURNED_WITH_RECORD)
        return_with_record(pool, record, task, end, grants);
    else if (outcome == LANEPOOL_I_VISITS || outcome == LANEPOOL_I_VISIT_ABANDONED)
        pool->slots.cut->visits(pool, record, task, outcome == LANEPOOL_I_VISIT_ABANDONED, grants);
    else
        run_tombstone(pool, record, task, end, grants);
}

/* --- for other callers --- */

void lanepool_i_run_call_cancelled(lanepool_i_thread_record *record,
                                   lanepool_cancelled_fn cancelled, void *context,
                                   lanepool_status why)
{
    if (cancelled == NULL)
        return;
    const lanepool_i_pool_notes *notes = &load_relaxed(&record->pool)->notes;
    lanepool_i_note_callback_begins(notes);
    record->callbacks++;
    cancelled(context, why);
    record->callbacks--;
    lanepool_i_note_callback_ends(notes);
}

void lanepool_i_run_complete(lanepool_i_thread_record *record, lanepool_future *future,
                             const lanepool_result *result)
{
    lanepool_i_ending end = { future, *result, NULL };
    if (future != NULL)
        complete_future(record, &end);
}

void lanepool_i_run_complete_cancelled(lanepool_i_thread_record *record, lanepool_future *future,
                                       lanepool_status status)
{
    lanepool_i_run_complete(record, future, &(lanepool_result){ status, 0, NULL });
}

void lanepool_i_run_end_after_failure(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      lanepool_i_task *task, const lanepool_result *result)
{
    lanepool_i_ending end = { lanepool_i_task_future(task), *result, NULL };
    lanepool_i_count_up(&record->ran, 1);
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_END, task, (uint32_t)result->status);
    end_uncalled(pool, record, task);
    if (!is_completed_later(pool, task, result, true, true))
        complete_future(record, &end);
    lanepool_i_run_dispose(pool, record, task);
}

/* If the pool is STOPPING, a wait inside another task gives up when it sees SUSPENDED. If it has
 * checked before that, this thread sees STOPPING and wakes it to check again. */
void lanepool_i_run_suspend(lanepool_pool *pool, lanepool_future *future)
{
    lanepool_i_word_lock_lock(&future->lock);
    lanepool_i_future_enter_locked(future, LANEPOOL_I_PHASE_SUSPENDED);
    lanepool_i_word_lock_unlock(&future->lock);
    if (load_seq(pool->lifecycle.state) == LANEPOOL_I_STOPPING)
        lanepool_i_waits_wake(&pool->waits, LANEPOOL_I_EVERYONE);
}
