/*
 * Owns creating and destroying a pool: the order in which its parts are made and freed.
 */
#include "route/pool.h"

#include "base/misuse.h"
#include "base/thread_name.h"
#include "base/timer_heap.h"
#include "core/call_record.h"
#include "core/caller_runs.h"
#include "core/run.h"
#include "feature/barrier.h"
#include "feature/check/accesses.h"
#include "feature/context.h"
#include "feature/delay.h"
#include "feature/failures.h"
#include "feature/journal.h"
#include "feature/lane_limit.h"
#include "feature/parked.h"
#include "feature/pause.h"
#include "feature/pump.h"
#include "feature/retry.h"
#include "future/attempts.h"
#include "observe/watchdog.h"
#include "platform/notes.h"
#include "pool/features.h"
#include "pool/pool_options.h"
#include "pool/pool_quiesce.h"
#include "pool/pool_shutdown.h"
#include "pool/worker_loop.h"
#include "wait/deadlock.h"

#include <string.h>

/* --- creating --- */

static bool init_worker_records(lanepool_pool *pool)
{
    for (size_t i = 0; i < pool->workers.worker_count; i++) {
        lanepool_i_worker *worker = &pool->workers.all[i];
        worker->record = lanepool_i_thread_record_create_for_worker(pool, &pool->records, worker);
        if (worker->record == NULL)
            return false;
        const lanepool_i_thread_record *record = worker->record;
        worker->ring = record->ring;
    }
    return true;
}

/* With one order for all workers there are no chains, and the options do not decide the quantum. A
 * pool without threads then has none: its worker checks for other work after each task. */
static void init_quantum(lanepool_pool *pool)
{
    const lanepool_options *options = &pool->options;
    lanepool_i_workers *workers = &pool->workers;
    workers->quantum_tasks = options->quantum_tasks;
    workers->quantum_ns = options->quantum_ns;
    workers->chain_tasks = options->quantum_tasks;
    if (workers->order == NULL)
        return;
    workers->quantum_tasks = pool->driver != NULL ? 0 : LANEPOOL_I_ORDER_QUANTUM_TASKS;
    workers->quantum_ns = LANEPOOL_I_ORDER_QUANTUM_NS;
    workers->chain_tasks = 0;
}

static bool init_workers(lanepool_pool *pool)
{
    const lanepool_options *options = &pool->options;
    init_quantum(pool);
    pool->workers.search_ns = options->search_ns;
    pool->workers.idle_ns = options->worker_idle_ns;
    pool->workers.stack_size = options->worker_stack_size;
    return lanepool_i_workers_init(&pool->workers, options->workers, options->workers_min,
                                   lanepool_i_work_of_pool(pool), pool);
}

static lanepool_status init_parts(lanepool_pool *pool)
{
    lanepool_i_router_init(&pool->router);
    lanepool_i_retention_init(&pool->retention, !pool->router.inbox.links_at_once);
    lanepool_i_list_init(&pool->quiesces->pending);
    pool->quiesces->oldest = 0;
    if (!lanepool_i_slab_init(&pool->slab, pool->options.allocator, LANEPOOL_I_FUTURE_CLASS))
        return LANEPOOL_NOMEM;
    if (!lanepool_i_rings_init(&pool->rings, pool->options.trace_events, pool->options.workers))
        goto fini_slab;
    if (!lanepool_i_thread_records_init(&pool->records, &pool->slab, &pool->rings))
        goto fini_rings;
    if (!lanepool_i_admission_init(&pool->admission, &pool->records, pool->options.pending_max,
                                   pool->limits_lanes ? &pool->lane_quotas : NULL))
        goto fini_records;
    lanepool_i_list_init(&pool->lane_table.gates);
    if (!lanepool_i_waits_init(&pool->waits))
        goto fini_admission;
    if (!lanepool_i_call_records_init(pool->call_records))
        goto fini_waits;
    if (!lanepool_i_delays_init(pool))
        goto fini_call_records;
    lanepool_i_lane_init_void(&pool->failures->void_lane);
    lanepool_i_parked_init(pool->failures);
    lanepool_i_attempts_memory_init(&pool->failures->memory, pool->options.allocator);
    if (!lanepool_i_suspended_tasks_init(&pool->suspended))
        goto fini_delays;
    if (!lanepool_i_lifecycle_init(&pool->lifecycle, pool->options.workers_min))
        goto fini_suspended;
    if (!pool->rule->init(pool))
        goto fini_lifecycle;
    if (!lanepool_i_lane_limits_init(pool))
        goto fini_rule;
    if (!init_workers(pool))
        goto fini_limits;
    if (init_worker_records(pool) && lanepool_i_accesses_init(pool) &&
        lanepool_i_journal_init(pool) && lanepool_i_contexts_init(pool))
        return LANEPOOL_OK;
    lanepool_i_journal_fini(pool);
    lanepool_i_accesses_fini(pool);
    lanepool_i_workers_fini(&pool->workers);
fini_limits:
    lanepool_i_lane_limits_fini(pool);
fini_rule:
    pool->rule->fini(pool);
fini_lifecycle:
    lanepool_i_lifecycle_fini(&pool->lifecycle);
fini_suspended:
    lanepool_i_mutex_fini(&pool->suspended.lock);
fini_delays:
    lanepool_i_attempts_memory_fini(&pool->failures->memory);
    lanepool_i_delays_fini(pool);
fini_call_records:
    lanepool_i_call_records_fini(pool->call_records);
fini_waits:
    lanepool_i_waits_fini(&pool->waits);
fini_admission:
    lanepool_i_admission_fini(&pool->admission);
fini_records:
    lanepool_i_thread_records_fini(&pool->records);
fini_rings:
    lanepool_i_rings_fini(&pool->rings);
fini_slab:
    lanepool_i_slab_fini(&pool->slab, pool->records.futures);
    return LANEPOOL_NOMEM;
}

static void fini_parts(lanepool_pool *pool)
{
    lanepool_i_watchdog_fini(pool->watchdog);
    lanepool_i_contexts_fini(pool);
    lanepool_i_journal_fini(pool);
    lanepool_i_accesses_fini(pool);
    lanepool_i_workers_fini(&pool->workers);
    lanepool_i_lane_limits_fini(pool);
    lanepool_i_gates_fini(pool);
    pool->rule->fini(pool);
    lanepool_i_lifecycle_fini(&pool->lifecycle);
    lanepool_i_mutex_fini(&pool->suspended.lock);
    lanepool_i_attempts_memory_fini(&pool->failures->memory);
    lanepool_i_parked_fini(pool->failures);
    lanepool_i_delays_fini(pool);
    lanepool_i_call_records_fini(pool->call_records);
    lanepool_i_waits_fini(&pool->waits);
    lanepool_i_admission_fini(&pool->admission);
    lanepool_i_thread_records_fini(&pool->records);
    lanepool_i_rings_fini(&pool->rings);
    lanepool_i_slab_fini(&pool->slab, pool->records.futures);
}

/* The clock thread first, if the pool needs it now: if it cannot be started, no worker has to be
 * stopped. */
static lanepool_status start_threads(lanepool_pool *pool)
{
    if (pool->driver != NULL) {
        (void)lanepool_i_contexts_start(pool); /* starts no thread, and cannot fail */
        return LANEPOOL_OK;
    }
    lanepool_status status = lanepool_i_watchdog_start(pool);
    if (status == LANEPOOL_OK &&
        !(lanepool_i_journal_start(pool) && lanepool_i_contexts_start(pool) &&
          lanepool_i_workers_start(&pool->workers)))
        status = LANEPOOL_NO_RESOURCE;
    if (status == LANEPOOL_OK)
        return LANEPOOL_OK;
    lanepool_i_journal_join(pool);
    lanepool_i_timers_end(&pool->delays->timers);
    lanepool_i_timers_join(&pool->delays->timers);
    fini_parts(pool);
    return status;
}

static bool notify_caller_or_pump(lanepool_pool *pool, lanepool_i_task *task)
{
    return lanepool_i_task_is_for_pump(task) ? lanepool_i_pump_add_ready(pool, task)
                                             : lanepool_i_caller_notify(pool, task);
}

/* It may have been stopped before. */
static void stop_without_hand_back(lanepool_pool *pool)
{
    lanepool_status status = lanepool_pool_shutdown_now(pool, NULL, NULL);
    (void)status;
}

static const lanepool_i_router_host host = {
    .check_counters = lanepool_i_pool_check_counters,
    .notify_caller = notify_caller_or_pump,
    .route_barrier = lanepool_i_barrier_route,
    .dispose = lanepool_i_run_dispose,
    .dispose_silently = lanepool_i_run_dispose_silently,
    .stop_now = stop_without_hand_back,
    .recheck_waits = lanepool_i_waits_recheck,
};

/* The pool and the parts of its features, in one piece of memory. Behind it are the parts that the
 * table of features asks for. */
struct whole {
    lanepool_pool pool;
    lanepool_i_call_records call_records;
    lanepool_i_delays delays;
    lanepool_i_failures failures;
    lanepool_i_contexts contexts;
    lanepool_i_quiesces quiesces;
    lanepool_i_watchdog watchdog;
};

static void free_pool(lanepool_pool *pool)
{
#if defined(LANEPOOL_CHECKED)
    lanepool_i_quarantine_close(pool->quarantine);
#endif
    lanepool_i_memory_free(pool);
}

static lanepool_pool *allocate_pool(const lanepool_options *options)
{
    size_t size =
        sizeof(struct whole) + lanepool_i_features_part_size(lanepool_i_features, options);
    struct whole *whole = lanepool_i_memory_alloc(size);
    if (whole == NULL)
        return NULL;
    memset(whole, 0, size);
    lanepool_pool *pool = &whole->pool;
    pool->call_records = &whole->call_records;
    pool->delays = &whole->delays;
    pool->failures = &whole->failures;
    pool->contexts = &whole->contexts;
    pool->quiesces = &whole->quiesces;
    pool->watchdog = &whole->watchdog;
#if defined(LANEPOOL_CHECKED)
    pool->quarantine = lanepool_i_quarantine_open();
    if (pool->quarantine == NULL) {
        lanepool_i_memory_free(pool);
        return NULL;
    }
#endif
    return pool;
}

lanepool_status lanepool_pool_create(const lanepool_options *options, lanepool_pool **pool)
{
    lanepool_options read_options;
    lanepool_context_options contexts;
    if (pool != NULL)
        *pool = NULL;
    if (pool == NULL)
        return LANEPOOL_INVALID;
    lanepool_status status = lanepool_i_options_read(options, &read_options, &contexts);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_pool *created = allocate_pool(&read_options);
    if (created == NULL)
        return LANEPOOL_NOMEM;
    created->options = read_options;
    created->creator = lanepool_i_creator_self();
    lanepool_i_thread_name_copy(created->name, read_options.name);
    created->options.name = created->name;
    created->contexts->options = contexts;
    created->rule = lanepool_i_options_rule(&read_options);
    created->host = &host;
    created->extension =
        created->rule->extension != NULL ? created->rule->extension(&read_options) : 0;
    lanepool_i_features_open(created, lanepool_i_features, (struct whole *)created + 1);
    created->options.contexts = NULL; /* the program's memory, and copied above */
    created->submitter_routes = read_options.routing == LANEPOOL_ROUTING_SUBMITTER;
    status = lanepool_i_failures_read_policy(created);
    if (status != LANEPOOL_OK) {
        free_pool(created);
        return status;
    }
    created->limits_lanes = read_options.lane_pending_max != 0;
    created->all_wide |= !lanepool_i_failures_allow_plain(created->failures);
    created->has_simple = created->rule->reap == NULL && created->slots.call[0] == NULL &&
                          !created->limits_lanes && read_options.journal == NULL &&
                          !created->failures->has_policy;
    created->has_bare = created->has_simple && created->slots.room[0] == NULL;
    status = init_parts(created);
    lanepool_i_note_release(&created->notes.controls);
    if (status == LANEPOOL_OK)
        status = start_threads(created);
    if (status != LANEPOOL_OK) {
        free_pool(created);
        return status;
    }
    *pool = created;
    return LANEPOOL_OK;
}

/* --- destroying --- */

/* In a child of fork(): the system has copied the memory page by page while the pool's threads ran
 * on. So only memory that has not changed since the pool was made, and this thread's own record,
 * can be found and freed. */
static void free_in_child(lanepool_pool *pool)
{
    lanepool_i_thread_record_free_in_child(pool);
    lanepool_i_sleepers_fini(&pool->workers.sleepers);
    lanepool_i_memory_free(pool->workers.all);
    lanepool_i_memory_free(pool->contexts->buckets);
    lanepool_i_memory_free(pool->accesses);
    lanepool_i_memory_free(pool->journal);
    lanepool_i_pages_free(pool->lifecycle.state, LANEPOOL_I_PAGE_SIZE);
    free_pool(pool);
}

static lanepool_status shut_down_now(lanepool_pool *pool)
{
    lanepool_status status = lanepool_pool_shutdown_now(pool, NULL, NULL);
    return status == LANEPOOL_SHUT_DOWN ? LANEPOOL_OK : status;
}

static lanepool_status destroy_pool(lanepool_pool *pool,
                                    lanepool_status (*shut_down)(lanepool_pool *))
{
    if (pool == NULL)
        return LANEPOOL_OK;
    const lanepool_i_thread_record *record = lanepool_i_thread_record_find(pool);
    if (record != NULL && lanepool_i_thread_is_inside_pool(record))
        return LANEPOOL_DEADLOCK;
    if (lanepool_i_pool_is_forked(pool)) {
        free_in_child(pool);
        return LANEPOOL_OK;
    }
    lanepool_status status = shut_down(pool);
    if (status == LANEPOOL_OK)
        status = lanepool_pool_await(pool, LANEPOOL_FOREVER);
    bool has_ended = status == LANEPOOL_OK || status == LANEPOOL_UNWRITTEN;
    if (has_ended && !lanepool_i_lifecycle_await_unpinned(&pool->lifecycle))
        return LANEPOOL_NO_RESOURCE;
    if (!has_ended)
        return status;
    fini_parts(pool);
    lanepool_i_note_acquire(&pool->notes.ends);
    free_pool(pool);
    return status;
}

lanepool_status lanepool_pool_destroy(lanepool_pool *pool)
{
    return destroy_pool(pool, lanepool_pool_shutdown);
}

lanepool_status lanepool_pool_destroy_now(lanepool_pool *pool)
{
    return destroy_pool(pool, shut_down_now);
}

size_t lanepool_pool_worker_count(const lanepool_pool *pool)
{
    if (LANEPOOL_I_MISUSED(pool == NULL, "pool is NULL"))
        return 0;
    return pool->workers.worker_count;
}
