/* Owns the check whether only parked tasks, and tasks behind them, are left; see stalled.h. */
#include "pool/stalled.h"

#include "base/planted.h"
#include "feature/barrier.h"
#include "future/attempts.h"
#include "observe/take_census.h"

/* Returns the number of parked tasks. Sets *blocks if parked tasks or paused lanes block others, no
 * parked task is being dropped, and no lane is being notified. */
static size_t count_parked(lanepool_i_failures *failures, uint64_t *changes, bool *blocks)
{
    lanepool_i_mutex_lock(&failures->lock);
    size_t parked = failures->parked;
    *blocks = parked + failures->paused > 0 && failures->notifying + failures->dropped == 0;
    *changes = failures->changes;
    lanepool_i_mutex_unlock(&failures->lock);
    return parked;
}

/* While `cancels` is not 0, CANCELLED calls are being made, and these may submit tasks; the
 * cancellers attend to the counters afterwards. A barrier that is due needs only the next check to
 * progress. */
bool lanepool_i_only_parked_left(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    uint64_t before;
    uint64_t after;
    uint64_t finished = lanepool_i_thread_records_finished(&pool->records);
    bool blocks;
    uint64_t parked = count_parked(pool->failures, &before, &blocks);
    if (!blocks || load_seq(&pool->lifecycle.cancels) != 0)
        return false;
    lanepool_i_grants grants = lanepool_i_no_grants(record->ring);
    uint64_t waiting = lanepool_i_census_count_waiting(pool, record, &grants);
    uint64_t accepted = lanepool_i_thread_records_accepted(&pool->records);
    (void)count_parked(pool->failures, &after, &blocks);
    lanepool_i_count_up(&record->latched, grants.latched);
    lanepool_i_router_put_ready(pool, record, &grants.ready);
    bool all = accepted - finished == parked + waiting || PLANTED(HELD_TOO_SOON);
    return before == after && parked + waiting > 0 && all && !lanepool_i_barrier_is_due(pool);
}
