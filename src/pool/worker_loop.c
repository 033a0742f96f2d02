/* Owns what a pool's workers do between tasks, and how an elastic pool starts one; see worker.h. */
#include "pool/worker_loop.h"

#include "base/thread_name.h"
#include "core/run.h"

static void call_worker_start(const lanepool_pool *pool, lanepool_i_worker *worker)
{
    lanepool_i_thread_record *record = worker->record;
    if (pool->options.worker_start == NULL)
        return;
    record->callbacks++;
    worker->context = pool->options.worker_start(pool->options.user, worker->index);
    record->callbacks--;
}

static void begin(void *owner, lanepool_i_worker *worker)
{
    const lanepool_pool *pool = owner;
    lanepool_i_thread_name_worker(pool->name, (unsigned)worker->index);
    lanepool_i_thread_record_enter(worker->record);
    call_worker_start(pool, worker);
}

/* Whether there may be something to run or to route; a missing link may have been made meanwhile.
 */
static bool may_be_left(lanepool_pool *pool)
{
    return lanepool_i_workers_has_ready(&pool->workers) ||
           lanepool_i_router_has_work(&pool->router) ||
           lanepool_i_inbox_is_half_linked(&pool->router.inbox);
}

/* Who saw this worker search may have left something to it; it has found another task. Waits inside
 * tasks route and run what they need themselves, and a blocked submitter may wait for a reaping. */
static void run(void *owner, lanepool_i_worker *worker, lanepool_i_task *task)
{
    lanepool_pool *pool = owner;
    if (pool->rule->reap != NULL)
        lanepool_i_router_try_reap(pool, worker->record);
    if (load_seq(&pool->waits.sleeping) != 0 &&
        lanepool_i_sleepers_all_busy(&pool->workers.sleepers) && may_be_left(pool))
        lanepool_i_waits_wake(&pool->waits, LANEPOOL_I_EVERYONE);
    lanepool_i_run_chain(pool, worker, task);
}

/* While many tasks stand ready routing is put off: lanes that are not blocked cost less, and
 * whoever lacks work finds some in this worker's queue. Not for long: what is to be routed may be
 * ready, and those that stand here have many others behind them. */
static bool is_enough_ready(lanepool_i_worker *worker)
{
    if (lanepool_i_ready_ring_count(&worker->queue) < LANEPOOL_I_ENOUGH_READY ||
        ++worker->put_off > LANEPOOL_I_PUT_OFF_MAX)
        worker->put_off = 0;
    return worker->put_off > 0;
}

/* In a paused pool that is all that workers do. */
static void look(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    bool wants_more = !is_enough_ready(worker) || load_relaxed(&pool->workers.halt) != 0;
    if (wants_more && lanepool_i_router_may_have_work(&pool->router))
        lanepool_i_router_try_route(pool, worker->record);
    if (lanepool_i_lifecycle_wants_attention(&pool->lifecycle))
        lanepool_i_lifecycle_attend(pool, worker->record);
}

/* With priorities: a worker chooses among all that was accepted before. Where others stopped at a
 * missing link, which has been made since, it goes on: else nothing would, before it has run all
 * that is ready. */
static void look_at_all(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    if (lanepool_i_router_may_have_work(&pool->router) ||
        lanepool_i_inbox_is_half_linked(&pool->router.inbox))
        lanepool_i_router_try_route_all(pool, worker->record);
    if (lanepool_i_lifecycle_wants_attention(&pool->lifecycle))
        lanepool_i_lifecycle_attend(pool, worker->record);
}

static lanepool_i_task *own(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    return pool->rule->own != NULL ? pool->rule->own(pool, worker) : NULL;
}

/* Inbox work counts only while the role is free: its holder looks again when it gives it back. */
static bool left(void *owner, lanepool_i_worker *worker)
{
    (void)worker;
    lanepool_pool *pool = owner;
    return load_seq(&pool->router.inbox.role) == 0 && lanepool_i_router_has_work(&pool->router);
}

static bool has_own(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    return pool->rule->has_own != NULL && pool->rule->has_own(pool, worker);
}

/* A missing link may have been made meanwhile, and its maker has left it to who searched. If the
 * role is taken it cannot be told yet whether one is missing: then the holder looks when it gives
 * it back. */
static bool uncertain(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    if (load_seq(&pool->router.inbox.role) != 0) {
        if (!lanepool_i_role_try_or_ask(&pool->router))
            return false;
        lanepool_i_role_give_back(pool, worker->record);
    }
    return lanepool_i_inbox_is_half_linked(&pool->router.inbox);
}

static void idle(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    lanepool_i_router_refresh(pool, worker->record);
    lanepool_i_lifecycle_attend(pool, worker->record);
    lanepool_i_admission_idle(&pool->admission);
}

static void abandoned(void *owner, lanepool_i_worker *worker)
{
    lanepool_i_run_abandoned(owner, worker->record);
}

/* The hand-back may have been on this thread, so that only now nothing else is called on it. The
 * pool counts as terminated meanwhile, but its memory stays until the thread is joined. */
static void call_worker_stop(const lanepool_pool *pool, lanepool_i_worker *worker)
{
    lanepool_i_thread_record *record = worker->record;
    if (pool->options.worker_stop == NULL)
        return;
    record->callbacks++;
    pool->options.worker_stop(pool->options.user, worker->index, worker->context);
    record->callbacks--;
}

/* Something may have been left to this worker while it searched, and it searches no more. */
static void end(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    lanepool_i_waits_wake(&pool->waits, LANEPOOL_I_EVERYONE);
    lanepool_i_lifecycle_count_out(pool, worker->record);
    if (!worker->leaves)
        call_worker_stop(pool, worker);
    lanepool_i_thread_record_leave(worker->record);
}

/* While it was claimed others may have found its flag taken, and left their work to it, as to a
 * sleeper that somebody wakes. The workers that there are come to it when they have a moment; waits
 * inside tasks and blocked submitters cannot wait for that. */
static void lack(lanepool_pool *pool, lanepool_i_thread_record *record, size_t index)
{
    lanepool_i_workers_thread_failed(&pool->workers, index);
    if (record != NULL && pool->rule->reap != NULL)
        lanepool_i_router_try_reap(pool, record);
    lanepool_i_waits_wake(&pool->waits, LANEPOOL_I_EVERYONE);
}

/* What was published may have found its worker by now. A taken role says nothing. */
static bool is_wanted(lanepool_pool *pool)
{
    return load_seq(&pool->router.inbox.role) != 0 || may_be_left(pool);
}

/* Both this thread and the new one count as workers that have not left their loop, and then the
 * look whether the workers are to stop, in the total order: so nothing is joined before what is
 * started here is written down, and nothing is started afterwards. */
static void start_thread(lanepool_pool *pool, lanepool_i_thread_record *record, size_t index)
{
    fetch_add_seq(&pool->lifecycle.workers_left, 2);
    if (lanepool_i_workers_is_stopped(&pool->workers) ||
        !lanepool_i_workers_start_absent(&pool->workers, index)) {
        lack(pool, record, index);
        fetch_sub_seq(&pool->lifecycle.workers_left, 1);
    }
    lanepool_i_lifecycle_count_out(pool, record);
}

/* A thread costs more than a wake-up: none is started in vain. Then the worker is absent again, and
 * this thread looks once more, for those who have found its flag taken. */
static void start_absent(void *owner, size_t index)
{
    lanepool_pool *pool = owner;
    lanepool_i_thread_record *record = lanepool_i_pool_local(pool);
    if (record == NULL) {
        lack(pool, record, index);
    } else if (is_wanted(pool)) {
        start_thread(pool, record, index);
    } else {
        lanepool_i_sleepers_set_absent(&pool->workers.sleepers, index);
        if (is_wanted(pool))
            lanepool_i_sleepers_wake(&pool->workers.sleepers);
    }
}

static void leave(void *owner, lanepool_i_worker *worker)
{
    call_worker_stop(owner, worker);
}

static void come_back(void *owner, lanepool_i_worker *worker)
{
    call_worker_start(owner, worker);
}

static void look_and_try_again(void *owner, lanepool_i_worker *worker)
{
    lanepool_i_worker_retry_threads(worker);
    look(owner, worker);
}

static void look_at_all_and_try_again(void *owner, lanepool_i_worker *worker)
{
    lanepool_i_worker_retry_threads(worker);
    look_at_all(owner, worker);
}

#define WORK(look_function)                                                      \
    .begin = begin, .run = run, .look = look_function, .own = own, .left = left, \
    .has_own = has_own, .uncertain = uncertain, .idle = idle, .abandoned = abandoned, .end = end
#define ELASTIC .leave = leave, .come_back = come_back, .start = start_absent

static const lanepool_i_work fixed_work = { WORK(look) };
static const lanepool_i_work fixed_work_with_priorities = { WORK(look_at_all) };
static const lanepool_i_work elastic_work = { WORK(look_and_try_again), ELASTIC };
static const lanepool_i_work elastic_work_with_priorities = { WORK(look_at_all_and_try_again),
                                                              ELASTIC };

const lanepool_i_work *lanepool_i_work_of_pool(const lanepool_options *options)
{
    if (options->workers_min < options->workers)
        return options->priorities ? &elastic_work_with_priorities : &elastic_work;
    return options->priorities ? &fixed_work_with_priorities : &fixed_work;
}
