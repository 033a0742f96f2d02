/* Owns the check whether only parked tasks, and tasks behind them, are left; see stalled.h. */
#include "pool/stalled.h"

#include "base/planted.h"
#include "feature/barrier.h"
#include "future/attempts.h"

/* Returns the number of parked tasks. Sets *blocks if parked tasks or paused lanes block others, no
 * parked task is being dropped, and no lane is being notified. */
static uint64_t count_parked(lanepool_pool *pool, uint64_t *changes, bool *blocks)
{
    const lanepool_i_failures *failures = pool->failures;
    lanepool_i_mutex_lock(&pool->suspended.lock);
    size_t parked = failures->parked;
    *blocks = parked + failures->paused > 0 && failures->unsettled == 0;
    *changes = failures->changes;
    lanepool_i_mutex_unlock(&pool->suspended.lock);
    return parked;
}

/* Returns true if the role's holder has nothing to route, and no barrier to place. `finished` also
 * contains tasks to be routed once more. */
static bool is_everything_routed(lanepool_pool *pool, uint64_t accepted)
{
    return accepted == lanepool_i_router_routed(pool) && load_seq(&pool->router.finished) == NULL &&
           !lanepool_i_barrier_is_due(pool);
}

/* While `cancels` is not 0, CANCELLED calls are being made, and these may submit tasks; the
 * cancellers attend to the counters afterwards. */
bool lanepool_i_only_parked_left(lanepool_pool *pool)
{
    uint64_t before;
    uint64_t after;
    bool blocks;
    uint64_t finished = lanepool_i_thread_records_finished(&pool->records);
    uint64_t parked = count_parked(pool, &before, &blocks);
    if (!blocks || load_seq(&pool->lifecycle.cancels) != 0)
        return false;
    uint64_t readied = lanepool_i_thread_records_readied(&pool->records);
    uint64_t accepted = lanepool_i_thread_records_accepted(&pool->records);
    (void)count_parked(pool, &after, &blocks);
    bool none_active = readied - finished == parked || PLANTED(PARKED_TOO_SOON);
    return before == after && accepted != finished && none_active &&
           is_everything_routed(pool, accepted);
}
