/*
 * Owns the pool's beginning and end: its options, the order in which its parts
 * are made and unmade, and what its workers work for.
 */
#include "pool.h"

#include "known.h"
#include "run.h"
#include "threadname.h"

#include <string.h>

#define QUANTUM_TASKS_DEFAULT 64u
#define QUANTUM_NS_DEFAULT    1000000u

/* --- what workers work for --- */

static void begin(void *owner, lanepool_i_worker *worker)
{
    const lanepool_pool *pool = owner;
    lanepool_i_local *local = worker->local;
    lanepool_i_thread_name_worker(pool->name, (unsigned)worker->index);
    lanepool_i_local_enter(local);
    if (pool->options.worker_start == NULL)
        return;
    local->callbacks++;
    worker->context = pool->options.worker_start(pool->options.user, worker->index);
    local->callbacks--;
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

/* While many tasks stand ready nothing is routed: lanes that are not blocked cost less, and whoever
 * lacks work finds some in this worker's queue. In a paused pool that is all that workers do. */
static void look(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    bool wants_more = lanepool_i_runq_count(&worker->queue) < LANEPOOL_I_ENOUGH_READY ||
                      load_relaxed(&pool->crew.halt) != 0;
    if (wants_more && lanepool_i_router_shows_some(&pool->router))
        lanepool_i_router_try_route(pool, worker->local);
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
    call_worker_stop(pool, worker);
    lanepool_i_local_leave(worker->local);
}

static const lanepool_i_work pool_work = {
    .begin = begin,
    .run = run,
    .look = look,
    .own = own,
    .left = left,
    .has_own = has_own,
    .uncertain = uncertain,
    .idle = idle,
    .abandoned = abandoned,
    .end = end,
};

/* --- options --- */

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
           (options->tag_names != NULL || options->tag_name_count == 0);
}

static void fill_defaults(lanepool_options *options)
{
    if (options->workers == 0)
        options->workers = lanepool_i_cpu_count();
    if (options->workers > LANEPOOL_WORKERS_MAX)
        options->workers = LANEPOOL_WORKERS_MAX;
    if (options->pending_max == 0)
        options->pending_max = LANEPOOL_PENDING_DEFAULT;
    if (options->quantum_tasks == 0)
        options->quantum_tasks = QUANTUM_TASKS_DEFAULT;
    if (options->quantum_ns == 0)
        options->quantum_ns = QUANTUM_NS_DEFAULT;
    bool plain = options->is_compatible == NULL && options->layout == LANEPOOL_PER_KEY;
    if (options->routing == LANEPOOL_ROUTING_DEFAULT)
        options->routing = plain ? LANEPOOL_ROUTING_AUTO : LANEPOOL_ROUTING_SUBMITTER;
}

static const lanepool_i_rule *rule_for(const lanepool_options *options)
{
    if (options->layout == LANEPOOL_PER_WORKER)
        return &lanepool_i_rule_workers;
    return options->is_compatible != NULL ? &lanepool_i_rule_predicate : &lanepool_i_rule_keys;
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

static lanepool_status init(lanepool_pool *pool)
{
    lanepool_i_router_init(&pool->router);
    lanepool_i_watch_init(&pool->watch, !pool->router.inbox.links_at_once);
    pool->quiesces.first = NULL;
    pool->quiesces.oldest = 0;
    if (!lanepool_i_slab_init(&pool->slab))
        return LANEPOOL_NOMEM;
    if (!lanepool_i_rings_init(&pool->rings, pool->options.trace_events, pool->options.workers))
        goto fini_slab;
    if (!lanepool_i_locals_init(&pool->locals, &pool->slab, &pool->rings))
        goto fini_rings;
    if (!lanepool_i_admission_init(&pool->admission, &pool->locals, pool->options.pending_max))
        goto fini_locals;
    if (!lanepool_i_waits_init(&pool->waits))
        goto fini_admission;
    if (!lanepool_i_aparts_init(&pool->aparts))
        goto fini_waits;
    if (!lanepool_i_delays_init(pool))
        goto fini_aparts;
    if (!lanepool_i_lifecycle_init(&pool->lifecycle, pool->options.workers))
        goto fini_delays;
    if (!pool->rule->init(pool))
        goto fini_lifecycle;
    if (!lanepool_i_crew_init(&pool->crew, pool->options.workers, &pool_work, pool))
        goto fini_rule;
    pool->crew.quantum_tasks = pool->options.quantum_tasks;
    pool->crew.quantum_ns = pool->options.quantum_ns;
    if (init_locals_of_workers(pool))
        return LANEPOOL_OK;
    lanepool_i_crew_fini(&pool->crew);
fini_rule:
    pool->rule->fini(pool);
fini_lifecycle:
    lanepool_i_lifecycle_fini(&pool->lifecycle);
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
    lanepool_i_crew_fini(&pool->crew);
    pool->rule->fini(pool);
    lanepool_i_lifecycle_fini(&pool->lifecycle);
    lanepool_i_delays_fini(pool);
    lanepool_i_aparts_fini(&pool->aparts);
    lanepool_i_waits_fini(&pool->waits);
    lanepool_i_admission_fini(&pool->admission);
    lanepool_i_locals_fini(&pool->locals);
    lanepool_i_rings_fini(&pool->rings);
    lanepool_i_slab_fini(&pool->slab);
}

lanepool_status lanepool_pool_create(const lanepool_options *options, lanepool_pool **pool)
{
    lanepool_options known;
    if (pool != NULL)
        *pool = NULL;
    if (pool == NULL || !read_options(options, &known))
        return LANEPOOL_INVALID;
    fill_defaults(&known);
    lanepool_pool *made = lanepool_i_memory_alloc(sizeof *made);
    if (made == NULL)
        return LANEPOOL_NOMEM;
    memset(made, 0, sizeof *made);
    made->options = known;
    lanepool_i_thread_name_copy(made->name, known.name);
    made->options.name = made->name;
    made->rule = rule_for(&known);
    made->extension = made->rule->extension != NULL ? made->rule->extension(&known) : 0;
    made->submitter_routes = known.routing == LANEPOOL_ROUTING_SUBMITTER;
    lanepool_status status = init(made);
    if (status == LANEPOOL_OK && !lanepool_i_crew_start(&made->crew)) {
        fini(made);
        status = LANEPOOL_NO_THREAD;
    }
    if (status != LANEPOOL_OK) {
        lanepool_i_memory_free(made);
        return status;
    }
    *pool = made;
    return LANEPOOL_OK;
}

/* --- the end --- */

lanepool_status lanepool_pool_destroy(lanepool_pool *pool)
{
    if (pool == NULL)
        return LANEPOOL_OK;
    const lanepool_i_local *local = lanepool_i_local_find(pool);
    if (local != NULL && lanepool_i_local_is_inside(local))
        return LANEPOOL_DEADLOCK;
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
