/*
 * Owns the hand-back. It collects all tasks that have not started, wherever they are, sorts them by
 * ticket, and hands each back or cancels it. No task runs any more, and nothing is allocated: tasks
 * are linked through themselves, their entries become claims in place, and lists are merged into
 * order.
 */
#include "pool/hand_back.h"

#include "core/run.h"
#include "core/task_check.h"
#include "feature/barrier.h"
#include "feature/cut.h"
#include "feature/delay_every.h"
#include "feature/pump.h"
#include "feature/retry.h"
#include "future/expiry.h"
#include "future/member.h"
#include "lane/visits.h"
#include "route/lane_handle.h"
#include "route/offers.h"
#include "route/pool.h"

/* --- collecting --- */

static void route_everything(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_router_route(pool, record);
    lanepool_i_barriers_route_all(pool, record);
}

/* Routes everything in the inbox and closes it. If there is nothing to take and the inbox cannot be
 * closed, an append is half linked: only then does this thread yield to the appender. If it always
 * yielded, threads that send messages again and again (as for a quiesce) could outrun it.
 *
 * Once the inbox is closed, the predicate is not called any more. From then on, a canceller may
 * release the context of a cancelled task itself. */
static void empty_inbox(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    route_everything(pool, record);
    while (!lanepool_i_inbox_try_close(&pool->router.inbox)) {
        if (!lanepool_i_inbox_more(&pool->router.inbox))
            lanepool_i_yield();
        route_everything(pool, record);
    }
}

static bool is_accepted_before(const lanepool_i_task *a, const lanepool_i_task *b)
{
    return lanepool_i_ticket_before(lanepool_i_task_ticket(a), lanepool_i_task_ticket(b));
}

static lanepool_i_task *merge_by_ticket(lanepool_i_task *a, lanepool_i_task *b)
{
    lanepool_i_task *first = NULL;
    lanepool_i_task *last = NULL;
    while (a != NULL || b != NULL) {
        bool take_a = b == NULL || (a != NULL && is_accepted_before(a, b));
        lanepool_i_task *task = take_a ? a : b;
        if (take_a)
            a = load_relaxed(&a->next);
        else
            b = load_relaxed(&b->next);
        if (last == NULL)
            first = task;
        else
            store_relaxed(&last->next, task);
        last = task;
    }
    if (last != NULL)
        store_relaxed(&last->next, NULL);
    return first;
}

/* Bottom-up merge sort: runs[i] is empty or holds 2^i tasks in order. */
static lanepool_i_task *sort_by_ticket(lanepool_i_tasks *tasks)
{
    lanepool_i_task *runs[64] = { NULL };
    lanepool_i_task *task;
    while ((task = lanepool_i_tasks_take(tasks)) != NULL) {
        store_relaxed(&task->next, NULL);
        size_t i = 0;
        for (; runs[i] != NULL; i++) {
            task = merge_by_ticket(runs[i], task);
            runs[i] = NULL;
        }
        runs[i] = task;
    }
    lanepool_i_task *sorted = NULL;
    for (size_t i = 0; i < 64; i++)
        sorted = merge_by_ticket(runs[i], sorted);
    return sorted;
}

static void collect_ready(lanepool_pool *pool, lanepool_i_tasks *tasks)
{
    lanepool_i_tasks ready = { NULL, NULL, 0 };
    lanepool_i_task *task;
    lanepool_i_workers_take_all(&pool->workers, &ready);
    lanepool_i_workers_take_all_pinned(&pool->workers, &ready);
    lanepool_i_pumps_take_all(&pool->waits, &ready);
    while ((task = lanepool_i_tasks_take(&ready)) != NULL)
        lanepool_i_tasks_add_unvisited(tasks, lanepool_i_task_or_cut(task));
}

/* --- handing back --- */

static lanepool_i_callbacks callbacks_of(const lanepool_i_task *task)
{
    lanepool_i_callbacks callbacks = lanepool_i_periodic_callbacks(task);
    if (task->function == lanepool_i_run_work)
        callbacks.cancelled = lanepool_i_cancel_work;
    return callbacks;
}

/* Ends a task that is not handed back. A periodic task ends here when it is disposed of. */
static void cancel_task(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_i_task *task)
{
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_CANCEL, task, 0);
    lanepool_i_run_call_cancelled(record, callbacks_of(task).cancelled, task->context,
                                  lanepool_i_periodic_shutdown_reason(task));
    lanepool_i_run_complete_cancelled(record, lanepool_i_task_future(task), LANEPOOL_CANCELLED);
    lanepool_i_run_dispose(pool, record, task);
}

static void hand_back_task(lanepool_pool *pool, lanepool_i_thread_record *record,
                           lanepool_i_task *task)
{
    lanepool_claim plain_claims[2];
    lanepool_task description = LANEPOOL_TASK_INIT;
    description.function = task->function;
    description.context = task->context;
    if (lanepool_i_task_is_barrier(task)) {
        plain_claims[0] = lanepool_claim_all();
        description.claims = plain_claims;
        description.claim_count = 1;
    } else if (lanepool_i_pool_offers(pool, LANEPOOL_I_CLAIMS))
        description.claims = pool->rule->claims(pool, task, plain_claims, &description.claim_count);
    lanepool_future *future = NULL;
    lanepool_i_callbacks callbacks = callbacks_of(task);
    description.release = callbacks.release;
    description.cancelled = callbacks.cancelled;
    if (lanepool_i_task_is_wide(task)) {
        description.kind = pool->options.is_compatible != NULL ? task->as.wide.kind : 0;
        description.tag = task->as.wide.tag;
        future = task->as.wide.future;
        if (future != NULL && lanepool_i_future_is_member(future)) {
            description.group = lanepool_i_member_group(future);
            description.pump = lanepool_i_member_of(future)->pump;
        }
        lanepool_i_expiry_describe(future, &description);
        const lanepool_i_attempts *attempts = lanepool_i_attempts_of_future(future);
        if (attempts != NULL && attempts->is_own)
            description.on_failure = &attempts->policy;
        for (size_t i = 0; pool->slots.hand_back[i] != NULL; i++)
            pool->slots.hand_back[i]->hand_back(pool, task, &description);
    } else {
        for (size_t i = 0; pool->slots.in_plain[i] != NULL; i++)
            if (pool->slots.in_plain[i]->hand_back != NULL)
                pool->slots.in_plain[i]->hand_back(pool, task, &description);
    }
    description.struct_size = lanepool_i_struct_shortest_size(&description, sizeof description,
                                                              LANEPOOL_I_TASK_FIRST_SIZE);
    lanepool_result result = { LANEPOOL_CANCELLED, 0, NULL };
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_CANCEL, task, 0);
    lanepool_i_note_callback_begins(&pool->notes);
    record->callbacks++;
    pool->lifecycle.handback(pool->lifecycle.handback_context, &description,
                             lanepool_i_task_ticket(task));
    lanepool_i_note_callback_ends(&pool->notes);
    if (future != NULL)
        lanepool_i_future_complete(future, record, &result);
    record->callbacks--;
    lanepool_i_run_dispose_silently(pool, record, task);
}

/* Disposes of a cancelled task, whose canceller makes its call. Returns false if it was not
 * cancelled. */
static bool dispose_if_cancelled(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 lanepool_i_task *task)
{
    if (!lanepool_i_word_is_cancelled(load_relaxed(&task->word))) {
        lanepool_future *future = lanepool_i_task_future(task);
        if (future == NULL || lanepool_i_future_give_up(future))
            return false;
        lanepool_i_run_set_tombstone(record, task);
        lanepool_i_future_drop_tombstone(future);
    }
    lanepool_i_run_dispose_silently(pool, record, task);
    return true;
}

static lanepool_cancelled_fn cancelled_of_series(const lanepool_i_task *task)
{
    bool is_periodic = lanepool_i_word_is_periodic(load_relaxed(&task->word));
    return is_periodic ? lanepool_i_periodic_callbacks(task).cancelled : NULL;
}

void lanepool_i_hand_back_tasks(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_tasks tasks = { NULL, NULL, 0 };
    lanepool_i_router_reap(pool, record); /* puts periodic tasks back into the timer heap */
    lanepool_i_delays_append_all(pool, record);
    empty_inbox(pool, record);
    collect_ready(pool, &tasks);
    lanepool_i_retry_collect(pool, &tasks);
    pool->rule->collect(pool, &tasks);
    lanepool_i_task *task = sort_by_ticket(&tasks);
    while (task != NULL) {
        lanepool_i_task *next = load_relaxed(&task->next);
        if (!lanepool_i_cut_end_at_stop(pool, record, task, cancelled_of_series(task)) &&
            !lanepool_i_retry_end_at_stop(pool, record, task) &&
            !dispose_if_cancelled(pool, record, task)) {
            if (pool->lifecycle.handback != NULL && task->function != lanepool_i_run_nothing)
                hand_back_task(pool, record, task);
            else
                cancel_task(pool, record, task);
        }
        task = next;
    }
}
