/**
 * @file
 * Counters of a pool, as a snapshot of plain data.
 */
#ifndef LANEPOOL_STATS_H
#define LANEPOOL_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "lanepool/export.h"
#include "lanepool/pool.h"
#include "lanepool/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What one worker has done since the pool was created. */
typedef struct lanepool_worker_stats {
    uint64_t finished;          /**< tasks that it has run */
    uint64_t ready;             /**< tasks that stand ready in its queue now */
    uint64_t taken_from_others; /**< tasks that it took from other workers' queues */
    uint64_t wake_ups;          /**< how often it was woken */
} lanepool_worker_stats;

/** What the pool has done since it was created, and how it stands now. */
typedef struct lanepool_stats {
    uint64_t accepted;          /**< tasks accepted; delayed ones once they are due */
    uint64_t finished;          /**< tasks whose one call has been made, by whomever */
    uint64_t pending;           /**< accepted, not finished */
    uint64_t ready;             /**< pending tasks that only wait for a worker */
    uint64_t latched_lanes;     /**< lanes blocked by a rollup that waits for others */
    uint64_t live_lanes;        /**< lanes that exist now, idle ones not yet reclaimed included */
    uint64_t taken_from_others; /**< tasks that workers took from one another's queues */
    uint64_t wake_ups;          /**< how often a worker was woken */
    uint64_t delayed;           /**< accepted for later and not yet due, and periodic tasks between
                                     their runs; see delay.h */
    uint64_t contexts;          /**< contexts of keys that are open, in use or not; see context.h */
    uint64_t threads;           /**< workers that have a thread: all of them, unless `workers_min`
                                     is less; until the pool's end */
} lanepool_stats;

/**
 * Takes a snapshot of the counters.
 *
 * While the pool works, the counters are read one after the other, each exact at its own moment;
 * `pending` is never negative. On an idle pool they fit together exactly.
 *
 * @param pool            The pool.
 * @param stats           Receives the pool's counters.
 * @param workers         Receives those of the first `worker_capacity` workers; may be NULL when
 *                        that is 0.
 * @param worker_capacity How many fit; see lanepool_pool_worker_count().
 * @retval LANEPOOL_OK      Done.
 * @retval LANEPOOL_INVALID pool or stats is NULL, or workers is NULL with room for some.
 * @par Threads
 * Any thread, inside tasks too; never blocks.
 * @par Complexity
 * O(workers + threads that have submitted).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pool_stats(lanepool_pool *pool,
                                                                     lanepool_stats *stats,
                                                                     lanepool_worker_stats *workers,
                                                                     size_t worker_capacity);

#ifdef __cplusplus
}
#endif

#endif
