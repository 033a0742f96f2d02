/* Owns the count that tells whether all that is left is held up; see standstill.h. */
#include "standstill.h"

static size_t count_kept(lanepool_i_failures *failures, uint64_t *changes)
{
    lanepool_i_mutex_lock(&failures->lock);
    size_t kept = failures->kept;
    *changes = failures->changes;
    lanepool_i_mutex_unlock(&failures->lock);
    return kept;
}

/* Calls that tell tasks of their cancelling may submit; they look again when they have. */
bool lanepool_i_stands_still(lanepool_pool *pool, lanepool_i_local *local)
{
    uint64_t before;
    uint64_t after;
    uint64_t finished = lanepool_i_locals_finished(&pool->locals);
    uint64_t kept = count_kept(&pool->failures, &before);
    if (kept == 0 || load_seq(&pool->lifecycle.cancels) != 0)
        return false;
    lanepool_i_grants grants = lanepool_i_no_grants(local->ring);
    uint64_t waiting = lanepool_i_survey_count_waiting(pool, local, &grants);
    uint64_t accepted = lanepool_i_locals_accepted(&pool->locals);
    (void)count_kept(&pool->failures, &after);
    lanepool_i_count_up(&local->latched, grants.latched);
    lanepool_i_router_put_ready(pool, local, &grants.ready);
    return before == after && accepted - finished == kept + waiting;
}
