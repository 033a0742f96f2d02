/*
 * Collects what has not started from wherever it stands (inbox, lanes, queues),
 * sorts it by ticket, and calls each once. Nothing runs any more and nothing
 * is allocated: the tasks are linked through themselves, their entries become
 * claims in place, and the order comes from merging lists.
 */
#include "pool/hand_back.h"

#include "core/run.h"
#include "feature/barrier.h"
#include "feature/delay_every.h"
#include "feature/pump.h"
#include "feature/retry.h"
#include "future/member.h"
#include "route/lane_handle.h"
#include "route/pool.h"

/* --- collecting --- */

static void place_all(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_router_route(pool, record);
    lanepool_i_barriers_end(pool, record);
}

/* Routed in the ordinary way: what stands in the inbox gets its ticket and its place. If there is
 * nothing to take and it cannot be closed, an append is half made, by a thread that this one must
 * let go on; otherwise it does not, since those who send messages again and again, as for a
 * quiesce, would send more meanwhile than is routed. The rule is not asked any more once it is
 * closed: contexts of cancelled tasks are let go then. */
static void empty_inbox(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    place_all(pool, record);
    while (!lanepool_i_inbox_try_close(&pool->router.inbox)) {
        if (!lanepool_i_inbox_more(&pool->router.inbox))
            lanepool_i_yield();
        place_all(pool, record);
    }
}

static bool comes_first(const lanepool_i_task *a, const lanepool_i_task *b)
{
    return lanepool_i_ticket_before(lanepool_i_task_ticket(a), lanepool_i_task_ticket(b));
}

static lanepool_i_task *merge(lanepool_i_task *a, lanepool_i_task *b)
{
    lanepool_i_task *first = NULL;
    lanepool_i_task *last = NULL;
    while (a != NULL || b != NULL) {
        bool take_a = b == NULL || (a != NULL && comes_first(a, b));
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
static lanepool_i_task *sort(lanepool_i_tasks *tasks)
{
    lanepool_i_task *runs[64] = { NULL };
    lanepool_i_task *task;
    while ((task = lanepool_i_tasks_take(tasks)) != NULL) {
        store_relaxed(&task->next, NULL);
        size_t i = 0;
        for (; runs[i] != NULL; i++) {
            task = merge(runs[i], task);
            runs[i] = NULL;
        }
        runs[i] = task;
    }
    lanepool_i_task *sorted = NULL;
    for (size_t i = 0; i < 64; i++)
        sorted = merge(runs[i], sorted);
    return sorted;
}

static void collect_ready(lanepool_pool *pool, lanepool_i_tasks *tasks)
{
    lanepool_i_tasks ready = { NULL, NULL, 0 };
    lanepool_i_task *task;
    lanepool_i_workers_take_all(&pool->workers, &ready);
    lanepool_i_pumps_take_all(&pool->waits, &ready);
    while ((task = lanepool_i_tasks_take(&ready)) != NULL)
        lanepool_i_tasks_collect(tasks, task);
}

/* --- handing back --- */

static uint32_t priority_of(const lanepool_pool *pool, lanepool_i_task *task)
{
    return pool->options.priorities
               ? lanepool_i_priority_queue_rank_of(&pool->priority_queue, task)->priority
               : 0;
}

static void hand_back(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task)
{
    lanepool_claim narrow[2];
    lanepool_task description = LANEPOOL_TASK_INIT;
    description.function = task->function;
    description.context = task->context;
    if (lanepool_i_task_is_barrier(task)) {
        narrow[0] = lanepool_claim_all();
        description.claims = narrow;
        description.claim_count = 1;
    } else if (pool->options.is_compatible == NULL)
        description.claims = pool->rule->claims(pool, task, narrow, &description.claim_count);
    lanepool_future *future = NULL;
    if (lanepool_i_task_is_wide(task)) {
        description.kind = pool->options.is_compatible != NULL ? task->as.wide.kind : 0;
        description.release = lanepool_i_periodic_release_of(task);
        description.priority = priority_of(pool, task);
        future = task->as.wide.future;
        if (future != NULL && future->is_member)
            description.group = lanepool_i_member_group(future);
        const lanepool_i_attempts *attempts = lanepool_i_attempts_of_future(future);
        if (attempts != NULL && attempts->is_own)
            description.on_failure = &attempts->policy;
    }
    lanepool_result result = { LANEPOOL_CANCELLED, 0, NULL };
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_CANCEL, task, 0);
    record->callbacks++;
    pool->lifecycle.handback(pool->lifecycle.handback_context, &description,
                             lanepool_i_task_ticket(task));
    if (future != NULL)
        lanepool_i_future_complete(future, &result);
    record->callbacks--;
    lanepool_i_run_dispose_silently(pool, record, task);
}

/* A cancelled task has had its call, or will have it from who cancels it. */
static bool pass_over_mark(lanepool_pool *pool, lanepool_i_thread_record *record,
                           lanepool_i_task *task)
{
    uint64_t word = load_relaxed(&task->word);
    if ((word & (LANEPOOL_I_TOMBSTONE | LANEPOOL_I_STARTED)) != LANEPOOL_I_TOMBSTONE) {
        lanepool_future *future = lanepool_i_task_is_wide(task) ? task->as.wide.future : NULL;
        if (future == NULL || lanepool_i_future_give_up(future))
            return false;
        lanepool_i_run_set_tombstone(record, task);
        lanepool_i_future_drop_tombstone(future);
    }
    lanepool_i_run_dispose_silently(pool, record, task);
    return true;
}

void lanepool_i_handback(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_tasks tasks = { NULL, NULL, 0 };
    lanepool_i_router_reap(pool, record); /* what is periodic is delayed again */
    lanepool_i_delays_hand_in(pool, record);
    empty_inbox(pool, record);
    collect_ready(pool, &tasks);
    lanepool_i_retry_collect(pool, &tasks);
    pool->rule->collect(pool, &tasks);
    lanepool_i_task *task = sort(&tasks);
    while (task != NULL) {
        lanepool_i_task *next = load_relaxed(&task->next);
        if (!lanepool_i_retry_end_at_stop(pool, record, task) &&
            !pass_over_mark(pool, record, task)) {
            if (pool->lifecycle.handback != NULL && task->function != lanepool_i_run_nothing)
                hand_back(pool, record, task);
            else
                lanepool_i_run_cancelled(pool, record, task);
        }
        task = next;
    }
}
