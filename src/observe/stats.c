/* Owns the snapshot of the counters that other modules maintain. */
#include "lanepool/pool.h"

#include "feature/context.h"
#include "feature/delay.h"
#include "route/pool.h"

static uint64_t count_ready_tasks(const lanepool_pool *pool, size_t index)
{
    const lanepool_i_ready_ring *queue = &pool->workers.all[index].queue;
    return lanepool_i_ready_ring_count(queue) + lanepool_i_ready_ring_has_pinned(queue);
}

static void read_worker_stats(lanepool_pool *pool, size_t index, lanepool_worker_stats *stats)
{
    const lanepool_i_worker *worker = &pool->workers.all[index];
    const lanepool_i_thread_record *record = worker->record;
    *stats = (lanepool_worker_stats){
        .finished = load_relaxed(&record->ran),
        .ready = count_ready_tasks(pool, index),
        .taken_from_others = load_relaxed(&worker->stolen),
        .wake_ups = load_relaxed(&pool->workers.sleepers.all[index].wake_ups),
    };
}

lanepool_status lanepool_pool_stats(lanepool_pool *pool, lanepool_stats *stats,
                                    lanepool_worker_stats *workers, size_t worker_capacity)
{
    if (pool == NULL || stats == NULL || (workers == NULL && worker_capacity > 0))
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(pool))
        return LANEPOOL_FORKED;
    *stats = (lanepool_stats){ 0 };
    /* Finished before accepted: a task counts as accepted first. */
    stats->finished = lanepool_i_thread_records_finished(&pool->records);
    stats->accepted = lanepool_i_thread_records_accepted(&pool->records);
    stats->pending = stats->accepted - stats->finished;
    stats->ready = load_relaxed(&pool->workers.overflow_count);
    stats->latched_lanes = lanepool_i_thread_records_latched(&pool->records);
    if ((int64_t)stats->latched_lanes < 0 || load_seq(&pool->lifecycle.stopped))
        stats->latched_lanes = 0;
    stats->delayed = lanepool_i_delays_count(pool);
    stats->contexts = lanepool_i_contexts_count(pool);
    stats->live_lanes = load_relaxed(&pool->router.lanes_live);
    for (size_t i = 0; i < pool->workers.worker_count; i++) {
        lanepool_worker_stats worker;
        read_worker_stats(pool, i, &worker);
        stats->threads +=
            pool->driver == NULL && !lanepool_i_sleepers_is_absent(&pool->workers.sleepers, i);
        stats->ready += worker.ready;
        stats->taken_from_others += worker.taken_from_others;
        stats->wake_ups += worker.wake_ups;
        if (i < worker_capacity)
            workers[i] = worker;
    }
    if (load_seq(&pool->lifecycle.stopped))
        stats->threads = 0;
    return LANEPOOL_OK;
}
