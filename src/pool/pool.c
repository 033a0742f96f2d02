/*
 * Owns the pool's beginning and end: its options, the order in which its parts
 * are made and unmade, and what its workers work for.
 */
#include "route/pool.h"

#include "base/thread_name.h"
#include "base/versioned.h"
#include "core/run.h"
#include "feature/lane_limit.h"

#include <string.h>

#define QUANTUM_TASKS_DEFAULT   64u
#define QUANTUM_NS_DEFAULT      1000000u
#define SLOW_TASK_NS_DEFAULT    UINT64_C(1000000000)
#define STALLED_NS_DEFAULT      UINT64_C(10000000000)
#define IDLE_NS_DEFAULT         UINT64_C(10000000000)
#define PRIORITY_AGE_NS_DEFAULT UINT64_C(1000000000)

/* --- what workers work for --- */

static void call_worker_start(const lanepool_pool *pool, lanepool_i_worker *worker)
{
    lanepool_i_local *local = worker->local;
    if (pool->options.worker_start == NULL)
        return;
    local->callbacks++;
    worker->context = pool->options.worker_start(pool->options.user, worker->index);
    local->callbacks--;
}

static void begin(void *owner, lanepool_i_worker *worker)
{
    const lanepool_pool *pool = owner;
    lanepool_i_thread_name_worker(pool->name, (unsigned)worker->index);
    lanepool_i_local_enter(worker->local);
    call_worker_start(pool, worker);
}

/* Whether there may be something to run or to route; a missing link may have been made meanwhile.
 */
static bool may_be_left(lanepool_pool *pool)
{
    return lanepool_i_crew_has_ready(&pool->crew) || lanepool_i_router_left(&pool->router) ||
           lanepool_i_inbox_is_stalled(&pool->router.inbox);
}

/* Who saw this worker search may have left something to it; it has found another task. Waits inside
 * tasks route and run what they need themselves, and a blocked submitter may wait for a reaping. */
static void run(void *owner, lanepool_i_worker *worker, lanepool_i_task *task)
{
    lanepool_pool *pool = owner;
    if (pool->rule->reap != NULL)
        lanepool_i_router_try_reap(pool, worker->local);
    if (load_seq(&pool->waits.sleeping) != 0 && lanepool_i_park_all_busy(&pool->crew.park) &&
        may_be_left(pool))
        lanepool_i_waits_wake(&pool->waits, LANEPOOL_I_EVERYONE);
    lanepool_i_run_chain(pool, worker, task);
}

/* While many tasks stand ready routing is put off: lanes that are not blocked cost less, and
 * whoever lacks work finds some in this worker's queue. Not for long: what is to be routed may be
 * ready, and those that stand here have many others behind them. */
static bool is_enough_ready(lanepool_i_worker *worker)
{
    if (lanepool_i_runq_count(&worker->queue) < LANEPOOL_I_ENOUGH_READY ||
        ++worker->put_off > LANEPOOL_I_PUT_OFF_MAX)
        worker->put_off = 0;
    return worker->put_off > 0;
}

/* In a paused pool that is all that workers do. */
static void look(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    bool wants_more = !is_enough_ready(worker) || load_relaxed(&pool->crew.halt) != 0;
    if (wants_more && lanepool_i_router_shows_some(&pool->router))
        lanepool_i_router_try_route(pool, worker->local);
    if (lanepool_i_lifecycle_wants_attention(&pool->lifecycle))
        lanepool_i_lifecycle_attend(pool, worker->local);
}

/* With priorities: a worker chooses among all that was accepted before. Where others stopped at a
 * missing link, which has been made since, it goes on: else nothing would, before it has run all
 * that is ready. */
static void look_at_all(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    if (lanepool_i_router_shows_some(&pool->router) ||
        lanepool_i_inbox_is_stalled(&pool->router.inbox))
        lanepool_i_router_try_route_all(pool, worker->local);
    if (lanepool_i_lifecycle_wants_attention(&pool->lifecycle))
        lanepool_i_lifecycle_attend(pool, worker->local);
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
    return load_seq(&pool->router.inbox.role) == 0 && lanepool_i_router_left(&pool->router);
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
        lanepool_i_role_give_back(pool, worker->local);
    }
    return lanepool_i_inbox_is_stalled(&pool->router.inbox);
}

static void idle(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    lanepool_i_router_refresh(pool, worker->local);
    lanepool_i_lifecycle_attend(pool, worker->local);
    lanepool_i_admission_idle(&pool->admission);
}

static void abandoned(void *owner, lanepool_i_worker *worker)
{
    lanepool_i_run_abandoned(owner, worker->local);
}

/* The hand-back may have been on this thread, so that only now nothing else is called on it. The
 * pool counts as terminated meanwhile, but its memory stays until the thread is joined. */
static void call_worker_stop(const lanepool_pool *pool, lanepool_i_worker *worker)
{
    lanepool_i_local *local = worker->local;
    if (pool->options.worker_stop == NULL)
        return;
    local->callbacks++;
    pool->options.worker_stop(pool->options.user, worker->index, worker->context);
    local->callbacks--;
}

/* Something may have been left to this worker while it searched, and it searches no more. */
static void end(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    lanepool_i_waits_wake(&pool->waits, LANEPOOL_I_EVERYONE);
    lanepool_i_lifecycle_worker_left(pool, worker->local);
    if (!worker->leaves)
        call_worker_stop(pool, worker);
    lanepool_i_local_leave(worker->local);
}

/* While it was claimed others may have found its flag taken, and left their work to it, as to a
 * sleeper that somebody wakes. The workers that there are come to it when they have a moment; waits
 * inside tasks and blocked submitters cannot wait for that. */
static void lack(lanepool_pool *pool, lanepool_i_local *local, size_t index)
{
    lanepool_i_crew_lack(&pool->crew, index);
    if (local != NULL && pool->rule->reap != NULL)
        lanepool_i_router_try_reap(pool, local);
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
static void start_thread(lanepool_pool *pool, lanepool_i_local *local, size_t index)
{
    fetch_add_seq(&pool->lifecycle.workers_left, 2);
    if (lanepool_i_crew_is_stopped(&pool->crew) ||
        !lanepool_i_crew_start_absent(&pool->crew, index)) {
        lack(pool, local, index);
        fetch_sub_seq(&pool->lifecycle.workers_left, 1);
    }
    lanepool_i_lifecycle_worker_left(pool, local);
}

/* A thread costs more than a wake-up: none is started in vain. Then the worker is absent again, and
 * this thread looks once more, for those who have found its flag taken. */
static void start_absent(void *owner, size_t index)
{
    lanepool_pool *pool = owner;
    lanepool_i_local *local = lanepool_i_pool_local(pool);
    if (local == NULL) {
        lack(pool, local, index);
    } else if (is_wanted(pool)) {
        start_thread(pool, local, index);
    } else {
        lanepool_i_park_be_absent(&pool->crew.park, index);
        if (is_wanted(pool))
            lanepool_i_park_wake(&pool->crew.park);
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
    lanepool_i_worker_try_again(worker);
    look(owner, worker);
}

static void look_at_all_and_try_again(void *owner, lanepool_i_worker *worker)
{
    lanepool_i_worker_try_again(worker);
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

/* --- options --- */

/* With lanes per worker each worker's order is that of its lane. */
static bool may_have_priorities(const lanepool_options *options)
{
    return options->priorities ? options->layout == LANEPOOL_PER_KEY
                               : options->priority_age_ns == 0;
}

static bool read_options(const lanepool_options *given, lanepool_options *options)
{
    *options = (lanepool_options)LANEPOOL_OPTIONS_INIT;
    if (given == NULL)
        return true;
    if (!lanepool_i_is_known(given, given->struct_size, sizeof *given))
        return false;
    *options = *given;
    options->struct_size = sizeof *options;
    return options->workers <= LANEPOOL_WORKERS_MAX &&
           (unsigned)options->layout <= LANEPOOL_PER_WORKER &&
           (unsigned)options->routing <= LANEPOOL_ROUTING_SUBMITTER &&
           options->trace_events <= LANEPOOL_TRACE_EVENTS_MAX &&
           (options->on_slow_task != NULL || options->slow_task_ns == 0) &&
           (options->on_stalled != NULL || options->stalled_ns == 0) &&
           (options->allocator == NULL ||
            (options->allocator->allocate != NULL && options->allocator->deallocate != NULL)) &&
           (options->tag_names != NULL || options->tag_name_count == 0) &&
           (options->workers_min != 0 || options->worker_idle_ns == 0) &&
           may_have_priorities(options) &&
           (options->lane_pending_max == 0 || options->is_compatible == NULL);
}

static void fill_defaults(lanepool_options *options)
{
    if (options->workers == 0)
        options->workers = lanepool_i_cpu_count();
    if (options->workers > LANEPOOL_WORKERS_MAX)
        options->workers = LANEPOOL_WORKERS_MAX;
    if (options->workers_min == 0)
        options->workers_min = options->workers;
    if (options->worker_idle_ns == 0)
        options->worker_idle_ns = IDLE_NS_DEFAULT;
    if (options->pending_max == 0)
        options->pending_max = LANEPOOL_PENDING_DEFAULT;
    if (options->quantum_tasks == 0)
        options->quantum_tasks = QUANTUM_TASKS_DEFAULT;
    if (options->quantum_ns == 0)
        options->quantum_ns = QUANTUM_NS_DEFAULT;
    if (options->slow_task_ns == 0)
        options->slow_task_ns = SLOW_TASK_NS_DEFAULT;
    if (options->stalled_ns == 0)
        options->stalled_ns = STALLED_NS_DEFAULT;
    if (options->priority_age_ns == 0)
        options->priority_age_ns = PRIORITY_AGE_NS_DEFAULT;
    bool plain = options->is_compatible == NULL && options->layout == LANEPOOL_PER_KEY;
    if (options->routing == LANEPOOL_ROUTING_DEFAULT)
        options->routing = plain ? LANEPOOL_ROUTING_AUTO : LANEPOOL_ROUTING_SUBMITTER;
}

/* Once they are filled in. A lane of a worker's own cannot do without its thread. */
static bool fit_together(const lanepool_options *options)
{
    return options->workers_min <= options->workers &&
           (options->workers_min == options->workers || options->layout == LANEPOOL_PER_KEY);
}

static const lanepool_i_rule *rule_for(const lanepool_options *options)
{
    if (options->layout == LANEPOOL_PER_WORKER)
        return &lanepool_i_rule_workers;
    if (options->is_compatible != NULL)
        return &lanepool_i_rule_predicate;
    return options->priorities ? &lanepool_i_rule_keys_lending : &lanepool_i_rule_keys;
}

/* --- making --- */

static bool init_locals_of_workers(lanepool_pool *pool)
{
    for (size_t i = 0; i < pool->crew.worker_count; i++) {
        lanepool_i_worker *worker = &pool->crew.workers[i];
        worker->local = lanepool_i_local_make_for_worker(pool, &pool->locals, worker);
        if (worker->local == NULL)
            return false;
        const lanepool_i_local *local = worker->local;
        worker->ring = local->ring;
    }
    return true;
}

static const lanepool_i_work *work_for(const lanepool_options *options)
{
    if (options->workers_min < options->workers)
        return options->priorities ? &elastic_work_with_priorities : &elastic_work;
    return options->priorities ? &fixed_work_with_priorities : &fixed_work;
}

/* With priorities there is no quantum: a worker looks around after each task. */
static bool init_crew(lanepool_pool *pool)
{
    const lanepool_options *options = &pool->options;
    pool->crew.quantum_tasks = options->priorities ? 0 : options->quantum_tasks;
    pool->crew.quantum_ns = options->quantum_ns;
    pool->crew.idle_ns = options->worker_idle_ns;
    return lanepool_i_crew_init(&pool->crew, options->workers, options->workers_min,
                                work_for(options), pool,
                                options->priorities ? &pool->levels : NULL);
}

static lanepool_status init(lanepool_pool *pool)
{
    lanepool_i_router_init(&pool->router);
    lanepool_i_watch_init(&pool->watch, !pool->router.inbox.links_at_once);
    pool->quiesces.first = NULL;
    pool->quiesces.oldest = 0;
    if (!lanepool_i_slab_init(&pool->slab, pool->options.allocator))
        return LANEPOOL_NOMEM;
    if (!lanepool_i_rings_init(&pool->rings, pool->options.trace_events, pool->options.workers))
        goto fini_slab;
    if (!lanepool_i_locals_init(&pool->locals, &pool->slab, &pool->rings))
        goto fini_rings;
    if (!lanepool_i_admission_init(&pool->admission, &pool->locals, pool->options.pending_max,
                                   pool->limits_lanes ? &pool->quotas : NULL))
        goto fini_locals;
    if (!lanepool_i_waits_init(&pool->waits))
        goto fini_admission;
    if (!lanepool_i_aparts_init(&pool->aparts))
        goto fini_waits;
    if (!lanepool_i_delays_init(pool))
        goto fini_aparts;
    lanepool_i_lane_init_void(&pool->failures.nowhere);
    if (!lanepool_i_mutex_init(&pool->failures.lock))
        goto fini_delays;
    if (!lanepool_i_lifecycle_init(&pool->lifecycle, pool->options.workers_min))
        goto fini_failures;
    if (!pool->rule->init(pool))
        goto fini_lifecycle;
    if (!lanepool_i_lane_limits_init(pool))
        goto fini_rule;
    if (!init_crew(pool))
        goto fini_limits;
    if (init_locals_of_workers(pool) && lanepool_i_contexts_init(pool))
        return LANEPOOL_OK;
    lanepool_i_crew_fini(&pool->crew);
fini_limits:
    lanepool_i_lane_limits_fini(pool);
fini_rule:
    pool->rule->fini(pool);
fini_lifecycle:
    lanepool_i_lifecycle_fini(&pool->lifecycle);
fini_failures:
    lanepool_i_mutex_fini(&pool->failures.lock);
fini_delays:
    lanepool_i_delays_fini(pool);
fini_aparts:
    lanepool_i_aparts_fini(&pool->aparts);
fini_waits:
    lanepool_i_waits_fini(&pool->waits);
fini_admission:
    lanepool_i_admission_fini(&pool->admission);
fini_locals:
    lanepool_i_locals_fini(&pool->locals);
fini_rings:
    lanepool_i_rings_fini(&pool->rings);
fini_slab:
    lanepool_i_slab_fini(&pool->slab);
    return LANEPOOL_NOMEM;
}

static void fini(lanepool_pool *pool)
{
    lanepool_i_watchdog_fini(&pool->watchdog);
    lanepool_i_contexts_fini(pool);
    lanepool_i_crew_fini(&pool->crew);
    lanepool_i_lane_limits_fini(pool);
    pool->rule->fini(pool);
    lanepool_i_lifecycle_fini(&pool->lifecycle);
    lanepool_i_mutex_fini(&pool->failures.lock);
    lanepool_i_delays_fini(pool);
    lanepool_i_aparts_fini(&pool->aparts);
    lanepool_i_waits_fini(&pool->waits);
    lanepool_i_admission_fini(&pool->admission);
    lanepool_i_locals_fini(&pool->locals);
    lanepool_i_rings_fini(&pool->rings);
    lanepool_i_slab_fini(&pool->slab);
}

/* Where ranks stand in blocks: behind the entries; or, where the rule has an extension, at its end.
 */
static size_t add_rank(lanepool_pool *pool)
{
    if (pool->extension == 0)
        return 0;
    size_t at = sizeof(lanepool_i_task) + pool->extension;
    pool->extension += lanepool_i_rank_size(0);
    return at;
}

/* The clock thread first, if it is needed: it ends by itself, and others need not be told. */
static lanepool_status start(lanepool_pool *pool)
{
    lanepool_status status = lanepool_i_watchdog_start(pool);
    if (status == LANEPOOL_OK &&
        !(lanepool_i_contexts_start(pool) && lanepool_i_crew_start(&pool->crew)))
        status = LANEPOOL_NO_THREAD;
    if (status == LANEPOOL_OK)
        return LANEPOOL_OK;
    lanepool_i_timers_end(&pool->delays.timers);
    lanepool_i_timers_join(&pool->delays.timers);
    fini(pool);
    return status;
}

lanepool_status lanepool_pool_create(const lanepool_options *options, lanepool_pool **pool)
{
    lanepool_options known;
    lanepool_context_options contexts;
    if (pool != NULL)
        *pool = NULL;
    if (pool == NULL || !read_options(options, &known) ||
        !lanepool_i_contexts_read_options(&known, &contexts))
        return LANEPOOL_INVALID;
    fill_defaults(&known);
    if (!fit_together(&known))
        return LANEPOOL_INVALID;
    lanepool_pool *made = lanepool_i_memory_alloc(sizeof *made);
    if (made == NULL)
        return LANEPOOL_NOMEM;
    memset(made, 0, sizeof *made);
    made->options = known;
    made->origin = lanepool_i_origin_here();
    made->options.contexts = NULL;
    lanepool_i_thread_name_copy(made->name, known.name);
    made->options.name = made->name;
    made->contexts.options = contexts;
    made->rule = rule_for(&known);
    made->extension = made->rule->extension != NULL ? made->rule->extension(&known) : 0;
    if (known.priorities)
        lanepool_i_levels_init(&made->levels, known.priority_age_ns, add_rank(made));
    made->submitter_routes = known.routing == LANEPOOL_ROUTING_SUBMITTER;
    if (!lanepool_i_failures_read_policy(made)) {
        lanepool_i_memory_free(made);
        return LANEPOOL_INVALID;
    }
    made->limits_lanes = known.lane_pending_max != 0;
    made->all_wide = made->rule->all_wide || made->failures.has_policy || made->limits_lanes;
    lanepool_status status = init(made);
    if (status == LANEPOOL_OK)
        status = start(made);
    if (status != LANEPOOL_OK) {
        lanepool_i_memory_free(made);
        return status;
    }
    *pool = made;
    return LANEPOOL_OK;
}

/* --- the end --- */

/* In a child of fork(). Its memory is not that of one moment: the pool's threads have gone on while
 * it was copied, page by page. So only what has not changed since the pool was made, and what is
 * this thread's own, can be found and freed. */
static void leave_behind(lanepool_pool *pool)
{
    lanepool_i_local_leave_behind(pool);
    lanepool_i_park_fini(&pool->crew.park);
    lanepool_i_memory_free(pool->crew.workers);
    lanepool_i_memory_free(pool->contexts.buckets);
    lanepool_i_pages_free(pool->lifecycle.state, LANEPOOL_I_PAGE_SIZE);
    lanepool_i_memory_free(pool);
}

lanepool_status lanepool_pool_destroy(lanepool_pool *pool)
{
    if (pool == NULL)
        return LANEPOOL_OK;
    const lanepool_i_local *local = lanepool_i_local_find(pool);
    if (local != NULL && lanepool_i_local_is_inside(local))
        return LANEPOOL_DEADLOCK;
    if (lanepool_i_pool_is_forked(pool)) {
        leave_behind(pool);
        return LANEPOOL_OK;
    }
    lanepool_status status = lanepool_pool_shutdown(pool);
    if (status == LANEPOOL_OK)
        status = lanepool_pool_await(pool, LANEPOOL_FOREVER);
    if (status != LANEPOOL_OK)
        return status;
    fini(pool);
    lanepool_i_memory_free(pool);
    return LANEPOOL_OK;
}

size_t lanepool_pool_worker_count(const lanepool_pool *pool)
{
    return pool->crew.worker_count;
}
