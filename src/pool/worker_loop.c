/* Owns what a pool's worker does between two tasks, when it begins and when it ends, and how an
 * elastic pool starts a worker's thread. The workers' loop calls these functions; see worker.h. */
#include "pool/worker_loop.h"

#include "base/thread_name.h"
#include "core/call_record.h"
#include "core/run.h"
#include "feature/pool_step.h"
#include "platform/notes.h"
#include "pool/pool_trim.h"

static void call_worker_start(lanepool_pool *pool, lanepool_i_worker *worker)
{
    lanepool_i_thread_record *record = worker->record;
    lanepool_i_note_acquire(&pool->notes.controls);
    lanepool_i_note_acquire(&pool->notes.submits);
    for (size_t i = 0; pool->slots.begin_worker[i] != NULL; i++)
        pool->slots.begin_worker[i]->begin_worker(pool);
    if (pool->options.worker_start == NULL)
        return;
    record->callbacks++;
    worker->context = pool->options.worker_start(pool->options.user, worker->index);
    record->callbacks--;
    lanepool_i_note_release(worker);
}

static void pool_work_begin_thread(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    lanepool_i_thread_name_worker(pool->name, (unsigned)worker->index);
    lanepool_i_thread_record_enter(worker->record);
    call_worker_start(pool, worker);
}

/* A link that was missing may be made by now. */
static bool may_work_be_left(lanepool_pool *pool)
{
    return lanepool_i_workers_have_ready(&pool->workers) ||
           lanepool_i_router_has_work(&pool->router) ||
           lanepool_i_inbox_is_half_linked(&pool->router.inbox);
}

/* A thread that saw this worker search may have left work to it, but the worker has found another
 * task. So it reaps, since a blocked submitter may wait for that. If all workers are busy now, it
 * wakes the waits inside tasks, which route and run what they need themselves. */
static void pool_work_run_chain(void *owner, lanepool_i_worker *worker, lanepool_i_task *task)
{
    lanepool_pool *pool = owner;
    if (pool->rule->reap != NULL)
        lanepool_i_router_try_reap(pool, worker->record);
    if (load_seq(&pool->waits.sleeping) != 0 &&
        lanepool_i_sleepers_all_busy(&pool->workers.sleepers) && may_work_be_left(pool))
        lanepool_i_waits_wake(&pool->waits, LANEPOOL_I_EVERYONE);
    lanepool_i_run_chain(pool, worker, task);
}

/* With many ready tasks, a worker skips routing. Routing later costs less, since fewer lanes are
 * blocked by then, and an idle worker can steal from this ring. While the lanes are crowded, a
 * single ready task is enough. At most PUT_OFF_MAX times in a row: tasks in the inbox may be ready,
 * and each ready task here may have a long backlog behind it. */
static bool is_enough_ready(const lanepool_pool *pool, lanepool_i_worker *worker)
{
    bool is_crowded = load_relaxed(&pool->router.inbox.crowded) != 0;
    uint32_t enough = is_crowded ? 1 : LANEPOOL_I_ENOUGH_READY;
    if (lanepool_i_ready_ring_count(&worker->queue) < enough ||
        ++worker->routing_put_off > LANEPOOL_I_PUT_OFF_MAX)
        worker->routing_put_off = 0;
    return worker->routing_put_off > 0;
}

/* Routes and attends to the counters. In a paused pool, workers do nothing else. */
static void pool_work_bring_ready(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    bool wants_more = !is_enough_ready(pool, worker) || load_relaxed(&pool->workers.halt) != 0;
    if (wants_more && lanepool_i_router_may_have_work(&pool->router))
        lanepool_i_router_try_route(pool, worker->record);
    if (lanepool_i_lifecycle_wants_attention(&pool->lifecycle))
        lanepool_i_lifecycle_attend(pool, worker->record);
}

/* While the role is taken, its holder decides anew. A check of the role keeps the workers from
 * napping again and again while its holder is in a long callback. */
static bool pool_work_is_crowded(void *owner)
{
    const lanepool_i_inbox *inbox = &((const lanepool_pool *)owner)->router.inbox;
    return load_relaxed(&inbox->crowded) != 0 && load_relaxed(&inbox->role) == 0 &&
           lanepool_i_inbox_may_have_nodes(inbox);
}

/* In one order for all workers, a worker is to choose among everything accepted before. Another
 * thread may have stopped at a missing link that is made by now. No thread would route behind it
 * before this worker has run all ready tasks, so that is checked here, too. */
static void pool_work_route_all(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    if (lanepool_i_router_may_have_work(&pool->router) ||
        lanepool_i_inbox_is_half_linked(&pool->router.inbox))
        lanepool_i_router_try_route_all(pool, worker->record);
}

static void pool_work_ready_left(void *owner)
{
    lanepool_pool *pool = owner;
    lanepool_i_sleepers_wake(&pool->workers.sleepers);
    lanepool_i_router_wake_waits_if_busy(pool);
}

static void pool_work_bring_all_ready(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    pool_work_route_all(owner, worker);
    if (lanepool_i_lifecycle_wants_attention(&pool->lifecycle))
        lanepool_i_lifecycle_attend(pool, worker->record);
}

/* Only while the role is free: its holder checks again when it gives the role back. */
static bool pool_work_is_left(void *owner, lanepool_i_worker *worker)
{
    (void)worker;
    lanepool_pool *pool = owner;
    return load_seq(&pool->router.inbox.role) == 0 && lanepool_i_router_has_work(&pool->router);
}

/* A link that was missing may be made by now, and its maker has left the rest to searching workers.
 * While the role is taken, this cannot be known; then its holder checks when it gives the role
 * back. */
static bool pool_work_may_be_hidden(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    if (load_seq(&pool->router.inbox.role) != 0) {
        if (!lanepool_i_role_try_or_ask(&pool->router))
            return false;
        lanepool_i_role_give_back(pool, worker->record);
    }
    return lanepool_i_inbox_is_half_linked(&pool->router.inbox);
}

static void pool_work_before_sleep(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    lanepool_i_router_refresh(pool, worker->record);
    lanepool_i_lifecycle_attend(pool, worker->record);
    lanepool_i_admission_serve_before_sleep(&pool->admission);
}

static void pool_work_end_abandoned(void *owner, lanepool_i_worker *worker)
{
    lanepool_i_run_abandoned(owner, worker->record);
}

/* The hand-back may have run on this thread, so only now is no other callback called on it. The
 * pool may count as terminated already, but its memory stays until the thread is joined. */
static void call_worker_stop(const lanepool_pool *pool, lanepool_i_worker *worker)
{
    lanepool_i_thread_record *record = worker->record;
    if (pool->options.worker_stop == NULL)
        return;
    lanepool_i_note_acquire(&pool->notes.submits);
    record->callbacks++;
    pool->options.worker_stop(pool->options.user, worker->index, worker->context);
    record->callbacks--;
}

/* A thread that saw this worker search may have left work to it, and it does not search any more.
 */
static void pool_work_end_thread(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    lanepool_i_waits_wake(&pool->waits, LANEPOOL_I_EVERYONE);
    if (load_seq(pool->lifecycle.state) == LANEPOOL_I_STOPPING)
        lanepool_i_call_records_end_all(pool, worker->record, false);
    lanepool_i_lifecycle_count_out(pool, worker->record);
    if (!worker->is_leaving)
        call_worker_stop(pool, worker);
    lanepool_i_note_release(&pool->notes.ends);
    lanepool_i_thread_record_leave(worker->record);
}

/* While the worker was claimed, other threads may have found its flag taken and left their work to
 * it. Other workers find that work when they next check. Waits inside tasks and blocked submitters
 * cannot wait until then. */
static void handle_thread_failure(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  size_t index)
{
    lanepool_i_workers_thread_failed(&pool->workers, index);
    if (record != NULL && pool->rule->reap != NULL)
        lanepool_i_router_try_reap(pool, record);
    lanepool_i_waits_wake(&pool->waits, LANEPOOL_I_EVERYONE);
}

/* Another worker may have taken the work by now. While the role is taken, this cannot be known. */
static bool is_thread_wanted(lanepool_pool *pool)
{
    return load_seq(&pool->router.inbox.role) != 0 || may_work_be_left(pool);
}

/* This thread and the new one count as workers that have not left their loop, before the check
 * whether the workers are stopped; both in the total order. So no thread is joined before its
 * handle is written here, and no thread is started after the stop. */
static void start_thread(lanepool_pool *pool, lanepool_i_thread_record *record, size_t index)
{
    fetch_add_seq(&pool->lifecycle.workers_left, 2);
    if (lanepool_i_workers_are_stopped(&pool->workers) ||
        !lanepool_i_workers_start_absent(&pool->workers, index)) {
        handle_thread_failure(pool, record, index);
        fetch_sub_seq(&pool->lifecycle.workers_left, 1);
    }
    lanepool_i_lifecycle_count_out(pool, record);
}

/* A thread costs more than a wake-up, so none is started if the work is gone. Then the worker
 * becomes absent again, and this thread checks once more for those that have found its flag taken.
 */
static void pool_work_start_absent(void *owner, size_t index)
{
    lanepool_pool *pool = owner;
    lanepool_i_thread_record *record = lanepool_i_pool_thread_record(pool);
    if (record == NULL) {
        handle_thread_failure(pool, record, index);
    } else if (is_thread_wanted(pool)) {
        start_thread(pool, record, index);
    } else {
        lanepool_i_sleepers_set_absent(&pool->workers.sleepers, index);
        if (is_thread_wanted(pool))
            lanepool_i_sleepers_wake(&pool->workers.sleepers);
    }
}

static void pool_work_leave(void *owner, lanepool_i_worker *worker)
{
    call_worker_stop(owner, worker);
}

static void pool_work_come_back(void *owner, lanepool_i_worker *worker)
{
    call_worker_start(owner, worker);
}

/* --- a worker without a thread --- */

static void pool_work_begin_step(void *owner, lanepool_i_worker *worker)
{
    lanepool_i_thread_record_enter(worker->record);
    if (!worker->begun)
        call_worker_start(owner, worker);
    worker->begun = true;
}

static void pool_work_end_step(void *owner, lanepool_i_worker *worker)
{
    (void)owner;
    lanepool_i_thread_record_leave(worker->record);
}

static void pool_work_draw_and_bring_ready(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    if (load_relaxed(&pool->workers.halt) != 0 || lanepool_i_step_routes(pool))
        pool_work_bring_all_ready(owner, worker);
}

/* --- the tables --- */

static void pool_work_retry_and_bring_ready(void *owner, lanepool_i_worker *worker)
{
    lanepool_i_worker_retry_threads(worker);
    pool_work_bring_ready(owner, worker);
}

static void pool_work_retry_and_bring_all(void *owner, lanepool_i_worker *worker)
{
    lanepool_i_worker_retry_threads(worker);
    pool_work_bring_all_ready(owner, worker);
}

#define WORK(bring_function)                                                                    \
    .begin = pool_work_begin_thread, .run = pool_work_run_chain, .bring_ready = bring_function, \
    .is_crowded = pool_work_is_crowded, .is_work_left = pool_work_is_left,                      \
    .may_work_be_hidden = pool_work_may_be_hidden, .before_sleep = pool_work_before_sleep,      \
    .may_trim = lanepool_i_pool_may_trim, .trim_asleep = lanepool_i_pool_trim_asleep,           \
    .trim_busy = lanepool_i_pool_trim_busy, .end_abandoned = pool_work_end_abandoned,           \
    .end = pool_work_end_thread
#define IN_ONE_ORDER .route_all = pool_work_route_all, .ready_left = pool_work_ready_left
#define ELASTIC                                                              \
    .worker_leaves = pool_work_leave, .worker_returns = pool_work_come_back, \
    .start = pool_work_start_absent

static const lanepool_i_work fixed_work = { WORK(pool_work_bring_ready) };
static const lanepool_i_work fixed_work_in_one_order = { WORK(pool_work_bring_all_ready),
                                                         IN_ONE_ORDER };
static const lanepool_i_work elastic_work = { WORK(pool_work_retry_and_bring_ready), ELASTIC };
static const lanepool_i_work elastic_work_in_one_order = { WORK(pool_work_retry_and_bring_all),
                                                           ELASTIC, IN_ONE_ORDER };

static const lanepool_i_work stepped_work = { WORK(pool_work_draw_and_bring_ready),
                                              .worker_leaves = pool_work_end_step,
                                              .worker_returns = pool_work_begin_step };

const lanepool_i_work *lanepool_i_work_of_pool(const lanepool_pool *pool)
{
    bool in_one_order = pool->workers.order != NULL;
    if (pool->driver != NULL)
        return &stepped_work;
    if (pool->options.workers_min < pool->options.workers)
        return in_one_order ? &elastic_work_in_one_order : &elastic_work;
    return in_one_order ? &fixed_work_in_one_order : &fixed_work;
}
